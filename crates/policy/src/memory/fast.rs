//! What the loops of the simulator and the pager need of a [`Memory`] beside its own functions.
//!
//! An embedder needs none of it. The simulator serves a fault in one call and a run of hits in another; the pager carries
//! out what a policy does to the translations of real memory; both ask for counts. The traits add these functions to
//! `Memory`, and nothing is called through a table.
//!
//! ```
//! use clockhand_policy::catalog::{Size, built};
//! use clockhand_policy::memory::fast::FastMemory;
//! use clockhand_policy::page::{Fault, lru::Lru};
//! use clockhand_policy::{Memory, Op, PageId, Ratio};
//!
//! let size = Size { frames: 1, pages: 2 };
//! let mut memory = Memory::new(size.frames, size.pages, built::<Lru>("", size, Ratio::whole(8))?);
//! memory.replace(Fault::new(PageId(0), Op::Write));
//! let replaced = memory.replace(Fault::new(PageId(1), Op::Read)).expect("an ordinary fault");
//! assert_eq!((replaced.page, replaced.was_dirty), (Some(PageId(0)), true));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{AllPinned, Memory, Step};
use crate::counting::CountingFrames;
use crate::page::{BitDriven, Fault, PagePolicy};
use crate::{Frame, Op, PageId, PageTable};

/// A page took the frame of another, or a free one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// The frame.
    pub frame: Frame,
    /// The page that left, if the frame was not free.
    pub page: Option<PageId>,
    /// True if it was dirty, and so was written back.
    pub was_dirty: bool,
}

/// A run of references to one page: what the first does, and what the others do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run(usize);

impl Run {
    /// Bit 0 says that the first reference is a write, bit 1 that a later one reads, bit 2 that a later one writes. Higher
    /// bits are not looked at.
    #[inline(always)]
    pub const fn of_flags(flags: usize) -> Self {
        Run(flags & 7)
    }

    #[inline(always)]
    pub(super) const fn flags(self) -> usize {
        self.0 & 7
    }
}

/// Hits of references to pages in memory, whose bits are in the simulator's frames.
pub trait Hits {
    /// A run of references to a page in memory: one OR.
    fn hit_run(&mut self, run: Run, frame: Frame);
    /// The rest of a run after its first reference, which faulted.
    fn hit_rest(&mut self, run: Run, frame: Frame);
    /// A reference by a call to a page in memory. It sets the bits as one to memory does, unless the policy [learns of
    /// calls](BitDriven::SEES_CALLS).
    fn call(&mut self, op: Op, frame: Frame);
}

/// What drivers may ask of a memory, and do to it, step by step or at once.
pub trait FastMemory<P, T> {
    /// The frame that holds `page`, if it is in memory.
    fn find(&self, page: PageId) -> Option<Frame>;
    /// Returns whether `page` is in memory.
    fn contains(&self, page: PageId) -> bool;
    /// Passes the addresses of what memory and policy will read of this page to `fetch`, so that the processor has it at hand
    /// when the page is referenced. Worth its time for policies that [say so](crate::page::Capabilities::LOOKS_AHEAD).
    fn fetch_ahead(&self, page: PageId, fetch: impl Fn(&u32));
    /// Pages are numbered below `pages` from now on, if that is more than before.
    ///
    /// # Panics
    ///
    /// If it is more, and the policy does not [take more](crate::page::Capabilities::TAKES_MORE_PAGES).
    fn take_more_pages(&mut self, pages: u32);
    /// Returns whether a page must leave before the next one is loaded.
    fn is_full(&self) -> bool;
    /// The number of frames that hold no page.
    fn free_frames(&self) -> u32;
    /// The number of pages in memory.
    fn resident_pages(&self) -> u32;
    /// The frames that hold a page, in the order of their numbers.
    fn resident_frames(&self) -> impl Iterator<Item = Frame> + '_;
    /// The number of pages in memory that are dirty, counted now.
    fn dirty_pages(&self) -> u32;
    /// The policy, to tell an offline one the future.
    fn policy_mut(&mut self) -> &mut P;
    /// The state of the frames, for a driver that carries out what a policy did to them.
    fn frames_mut(&mut self) -> &mut T;
    /// Serves an ordinary fault in one call, with the result of the single steps. If memory is full, a page leaves and
    /// is written back first if it is dirty. The page of `fault` takes its frame, or the next one that was never used.
    ///
    /// `None` if a driver has to go step by step: a frame has become free, a page is pinned or pending, or pages leave
    /// in batches. The same holds if the policy has chosen a victim, which is pending now, and asks for write-backs of
    /// pages that stay.
    ///
    /// # Panics
    ///
    /// If the page is in memory already.
    fn replace(&mut self, fault: Fault) -> Option<Replaced>;
    /// As [`Memory::load`], for a page whose write went to where it was before: it is clean.
    fn load_clean(&mut self, fault: Fault) -> Frame;
    /// The page that is to leave: the pending one, or the policy's choice, which then is pending. A fault asks only
    /// when memory is full; a driver that needs several frames at once asks until enough are free.
    ///
    /// # Errors
    ///
    /// [`AllPinned`] if no frame can be evicted; the policy has not been asked.
    ///
    /// # Panics
    ///
    /// If memory is empty.
    fn propose_victim(&mut self) -> Result<Frame, AllPinned>;
    /// As [`propose_victim`](FastMemory::propose_victim), to make room for a fault on `page`. A driver that knows the page says
    /// so: some policies choose by it.
    ///
    /// # Errors
    ///
    /// [`AllPinned`] if no frame can be evicted; the policy has not been called.
    fn propose_victim_for(&mut self, page: PageId) -> Result<Frame, AllPinned>;
    /// As [`propose_victim_for`](FastMemory::propose_victim_for), slower: also counts the frames that the policy examined in its search,
    /// which for a clock are the movements of its hand. A victim that is pending already costs none.
    ///
    /// # Errors
    ///
    /// [`AllPinned`] if no frame can be evicted; the policy has not been called.
    fn propose_victim_counted(&mut self, page: PageId) -> Result<(Frame, u64), AllPinned>;
    /// The page that [`propose_victim`](FastMemory::propose_victim) would propose, without a change: `None` if the policy
    /// [cannot tell](crate::page::Capabilities::CAN_PEEK), or if no page can leave.
    fn peek_victim(&self) -> Option<Frame>;
    /// As [`Memory::next_step`], slower: also counts the frames that a policy which reclaims in batches examined, at
    /// the first step of a call. For other policies see [`propose_victim_counted`](FastMemory::propose_victim_counted).
    ///
    /// # Errors
    ///
    /// [`AllPinned`] if too few frames are free and no page can leave.
    fn next_step_counted(&mut self, frames: u32) -> Result<(Option<Step>, u64), AllPinned>;
    /// A page that the policy asked to write back while it stays in memory, once per request and only if
    /// the page is dirty. The driver writes it and calls [`Memory::written_back`], or leaves it dirty.
    fn next_write_back(&mut self) -> Option<Frame>;
    /// The page in `frame` differs from the backing store without having been referenced: the last page of a truncated
    /// file.
    fn make_dirty(&mut self, frame: Frame);
    /// The mapping of the page in `frame` is gone; the page stays in memory.
    fn unmap(&mut self, frame: Frame);
    /// The policy's period has ended.
    fn tick(&mut self);
    /// A reference to a page in memory whose bits are those of its mapping: after a bit has been cleared
    /// the next access sets its own bit and maps the page, after which reads stay unseen. Says whether memory has to
    /// fault for the reference to be seen.
    fn hit_mapped(&mut self, op: Op, frame: Frame) -> bool
    where
        P: BitDriven;
    /// A reference to a page in memory whose translation comes back by itself after a bit was cleared, and is found
    /// later. The translation says that the page was referenced, so the first access sets the read bit even if it
    /// writes. A write also sets the write bit and the dirty state. Later reads stay unseen, as for
    /// [`hit_mapped`](FastMemory::hit_mapped).
    fn hit_sensed(&mut self, op: Op, frame: Frame)
    where
        P: BitDriven;
    /// Recounts page table, frames and pins, and lets the policy do the same.
    ///
    /// # Panics
    ///
    /// If they disagree.
    fn check_invariants(&self);
}

impl<P: PagePolicy, T: PageTable> FastMemory<P, T> for Memory<P, T> {
    #[inline(always)]
    fn find(&self, page: PageId) -> Option<Frame> {
        self.residents.get(page)
    }

    #[inline(always)]
    fn contains(&self, page: PageId) -> bool {
        self.residents.contains(page)
    }

    #[inline(always)]
    fn fetch_ahead(&self, page: PageId, fetch: impl Fn(&u32)) {
        fetch(self.residents.entry(page));
        self.policy.look_ahead(page, fetch);
    }

    fn take_more_pages(&mut self, pages: u32) {
        if pages > self.residents.pages() {
            assert!(P::TAKES_MORE_PAGES, "the policy was built for fewer pages");
            self.residents.take_more(pages);
            self.policy.take_more_pages(pages);
        }
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.free.is_empty() && self.used_frames == self.frames.frames()
    }

    #[inline]
    fn free_frames(&self) -> u32 {
        self.free.len() as u32 + (self.frames.frames() - self.used_frames)
    }

    #[inline]
    fn resident_pages(&self) -> u32 {
        self.used_frames - self.free.len() as u32
    }

    fn resident_frames(&self) -> impl Iterator<Item = Frame> + '_ {
        (0..self.used_frames).map(Frame).filter(|&frame| self.holds_page(frame))
    }

    fn dirty_pages(&self) -> u32 {
        self.resident_frames().filter(|&frame| self.frames.is_dirty(frame)).count() as u32
    }

    #[inline]
    fn policy_mut(&mut self) -> &mut P {
        &mut self.policy
    }

    #[inline]
    fn frames_mut(&mut self) -> &mut T {
        &mut self.frames
    }

    #[inline(always)]
    fn replace(&mut self, fault: Fault) -> Option<Replaced> {
        let is_ordinary = self.victim.is_none() && self.pinned_frames == 0 && self.free.is_empty();
        if P::RECLAIMS_IN_BATCHES || !is_ordinary {
            return None;
        }
        if self.used_frames < self.frames.frames() {
            let frame = Frame(self.used_frames);
            self.used_frames += 1;
            self.frames.install(frame, fault.page);
            self.map(fault, frame);
            return Some(Replaced { frame, page: None, was_dirty: false });
        }
        self.policy.make_room_for(fault.page);
        let frame = self.policy.choose_victim(&mut self.frames);
        if !self.frames.has_no_write_back_request() {
            self.victim = Some(frame);
            self.is_between_pages = true;
            return None;
        }
        if P::MINDS_LAST_WRITE_BACK && self.frames.is_dirty(frame) {
            self.policy.written_back(frame, &self.frames);
        }
        let (page, was_dirty) = self.frames.exchange(frame, fault.page);
        self.residents.remove(page);
        self.map(fault, frame);
        Some(Replaced { frame, page: Some(page), was_dirty })
    }

    fn load_clean(&mut self, fault: Fault) -> Frame {
        let frame = self.load(fault);
        self.frames.clear_dirty(frame);
        if fault.op == Op::Write {
            self.policy.loaded_clean(frame, &self.frames);
        }
        frame
    }

    #[inline]
    fn propose_victim(&mut self) -> Result<Frame, AllPinned> {
        self.propose(|policy, frames| policy.choose_victim(frames))
    }

    #[inline]
    fn propose_victim_for(&mut self, page: PageId) -> Result<Frame, AllPinned> {
        if self.victim.is_none() && self.pinned_frames < self.resident_pages() {
            self.policy.make_room_for(page);
        }
        self.propose_victim()
    }

    fn propose_victim_counted(&mut self, page: PageId) -> Result<(Frame, u64), AllPinned> {
        if self.victim.is_none() && self.pinned_frames < self.resident_pages() {
            self.policy.make_room_for(page);
        }
        let mut examined = 0;
        let frame = self.propose(|policy, frames| {
            let mut frames = CountingFrames::new(frames);
            let frame = policy.choose_victim(&mut frames);
            examined = frames.examined();
            frame
        })?;
        Ok((frame, examined))
    }

    fn peek_victim(&self) -> Option<Frame> {
        match self.victim {
            None if self.pinned_frames == self.resident_pages() => None,
            None => self.policy.peek_victim(&self.frames),
            pending => pending,
        }
    }

    fn next_step_counted(&mut self, frames: u32) -> Result<(Option<Step>, u64), AllPinned> {
        let mut examined = 0;
        let step = self.next_step_of_batch(frames, |policy, wanted, frames| {
            let mut frames = CountingFrames::new(frames);
            policy.reclaim(wanted, &mut frames);
            examined = frames.examined();
        })?;
        Ok((step, examined))
    }

    #[inline]
    fn next_write_back(&mut self) -> Option<Frame> {
        while let Some(frame) = self.frames.take_write_back_request() {
            if self.frames.is_dirty(frame) {
                return Some(frame);
            }
        }
        None
    }

    fn make_dirty(&mut self, frame: Frame) {
        self.frames.set_dirty(frame);
        self.policy.made_dirty(frame, &self.frames);
    }

    fn unmap(&mut self, frame: Frame) {
        self.policy.unmapped(frame, &mut self.frames);
    }

    fn tick(&mut self) {
        self.policy.tick(&mut self.frames);
    }

    #[inline]
    fn hit_mapped(&mut self, op: Op, frame: Frame) -> bool
    where
        P: BitDriven,
    {
        self.tell_first_access(frame);
        self.frames.touch_mapped(frame, op, P::HIT_BITS)
    }

    #[inline]
    fn hit_sensed(&mut self, op: Op, frame: Frame)
    where
        P: BitDriven,
    {
        self.hit_mapped(Op::Read, frame);
        if op == Op::Write {
            self.frames.touch_mapped(frame, Op::Write, P::HIT_BITS);
        }
    }

    fn check_invariants(&self) {
        let mut resident = 0;
        for (page, frame) in self.residents.iter() {
            resident += 1;
            assert!(self.holds_page(frame), "a page is mapped to a free frame");
            assert_eq!(self.frames.page(frame), page, "page table and frame disagree");
        }
        assert_eq!(
            resident,
            self.resident_pages() as usize,
            "resident pages and used frames differ"
        );
        let pinned = self.resident_frames().filter(|&frame| self.frames.is_pinned(frame)).count();
        assert_eq!(pinned, self.pinned_frames as usize, "the number of pinned frames is wrong");
        if !self.is_between_pages && self.steps.is_empty() {
            self.policy.check_invariants(&self.frames);
        }
    }
}
