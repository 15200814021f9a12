//! The mechanism: page table, frame allocation, dirty and pinned state, and the pending victim.
//!
//! A victim is a proposal. [`Memory::propose_victim`] asks the policy once and keeps the answer until
//! [`Memory::commit_eviction`]. A driver whose write-back fails asks again and gets the same page: the policy's hand
//! has moved, so the policy must not be asked twice.

mod references;
mod room;

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;

pub use room::{AllPinned, Step};

use crate::page::{Fault, PagePolicy};
use crate::residents::Residents;
use crate::{Frame, FrameTable, Op, PageId, PageTable};

/// The page cannot be pinned: it is the pending victim, or not in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinRefused;

impl fmt::Display for PinRefused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the page is leaving memory or not in it: load it again, then pin it")
    }
}

impl core::error::Error for PinRefused {}

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

/// A memory of a fixed number of frames under one policy. `T` is where the frames' bits come from.
#[derive(Clone, Debug)]
pub struct Memory<P, T = FrameTable> {
    policy: P,
    residents: Residents,
    frames: T,
    /// Frames from here on have never held a page.
    used_frames: u32,
    /// Frames that have held a page and are free; the one that became free last is used first.
    free: Vec<Frame>,
    victim: Option<Frame>,
    /// What is left of the last batch of a policy that reclaims in batches.
    steps: VecDeque<Step>,
    /// A page was evicted and none loaded since: some policies do part of an eviction when the next page comes.
    is_between_pages: bool,
    pinned_frames: u32,
}

impl<P: PagePolicy> Memory<P> {
    /// An empty memory of `frames` frames for pages numbered below `pages`.
    ///
    /// # Panics
    ///
    /// If `frames` is 0.
    pub fn new(frames: u32, pages: u32, policy: P) -> Self {
        Memory::with_frames(FrameTable::new(frames), pages, policy)
    }
}

impl<P: PagePolicy, T: PageTable> Memory<P, T> {
    /// An empty memory for pages numbered below `pages`, in frames that hold no page yet.
    ///
    /// # Panics
    ///
    /// Without a frame.
    pub fn with_frames(frames: T, pages: u32, policy: P) -> Self {
        assert!(frames.frames() > 0, "a memory has at least one frame");
        Memory {
            policy,
            residents: Residents::new(pages),
            frames,
            used_frames: 0,
            free: Vec::new(),
            victim: None,
            steps: VecDeque::new(),
            is_between_pages: false,
            pinned_frames: 0,
        }
    }

    /// Pages are numbered below `pages` from now on, if that is more than before.
    ///
    /// # Panics
    ///
    /// If it is more, and the policy does not [take more](PagePolicy::TAKES_MORE_PAGES).
    pub fn take_more_pages(&mut self, pages: u32) {
        if pages > self.residents.pages() {
            assert!(P::TAKES_MORE_PAGES, "the policy was built for fewer pages");
            self.residents.take_more(pages);
            self.policy.take_more_pages(pages);
        }
    }

    /// The frame that holds `page`, or [`Frame::NONE`].
    #[inline]
    pub fn frame_of(&self, page: PageId) -> Frame {
        self.find(page).unwrap_or(Frame::NONE)
    }

    /// The frame that holds `page`, if it is in memory.
    #[inline(always)]
    pub fn find(&self, page: PageId) -> Option<Frame> {
        self.residents.get(page)
    }

    /// Returns whether `page` is in memory.
    #[inline(always)]
    pub fn contains(&self, page: PageId) -> bool {
        self.residents.contains(page)
    }

    /// Shows `fetch` where that stands what memory and policy will read of a page that is referenced soon, so that the
    /// processor has it at hand by then. Worth its time for policies that [say so](PagePolicy::LOOKS_AHEAD).
    #[inline(always)]
    pub fn fetch_ahead(&self, page: PageId, fetch: impl Fn(&u32)) {
        fetch(self.residents.entry(page));
        self.policy.look_ahead(page, fetch);
    }

    /// Returns whether a page must leave before the next one is loaded.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.free.is_empty() && self.used_frames == self.frames.frames()
    }

    /// The number of frames that hold no page.
    #[inline]
    pub fn free_frames(&self) -> u32 {
        self.free.len() as u32 + (self.frames.frames() - self.used_frames)
    }

    /// The number of pages in memory.
    #[inline]
    pub fn resident_pages(&self) -> u32 {
        self.used_frames - self.free.len() as u32
    }

    /// The mapping of the page in `frame` is gone; the page stays in memory.
    pub fn unmap(&mut self, frame: Frame) {
        self.policy.unmapped(frame, &mut self.frames);
    }

    /// A page that the policy asked to write back while it stays in memory, once per request and only if
    /// the page is dirty. The driver writes it and calls [`Memory::written_back`], or leaves it dirty.
    #[inline]
    pub fn next_write_back(&mut self) -> Option<Frame> {
        while let Some(frame) = self.frames.take_write_back_request() {
            if self.frames.is_dirty(frame) {
                return Some(frame);
            }
        }
        None
    }

    /// The page in `frame` has been written to the backing store.
    #[inline]
    pub fn written_back(&mut self, frame: Frame) {
        self.frames.clear_dirty(frame);
        self.policy.written_back(frame, &self.frames);
    }

    /// The pending victim leaves memory; its frame is free.
    ///
    /// # Panics
    ///
    /// If no victim is pending, if it is dirty (its content would be lost), or if a requested write-back has
    /// not been taken with [`Memory::next_write_back`].
    #[inline]
    pub fn commit_eviction(&mut self) -> PageId {
        let frame = self.victim.take().expect("a victim is pending");
        assert!(!self.frames.is_dirty(frame), "a dirty page is written back before it leaves");
        assert!(self.frames.has_no_write_back_request(), "requested write-backs are taken first");
        let page = self.frames.page(frame);
        self.residents.remove(page);
        self.free.push(frame);
        page
    }

    /// The page in `frame` leaves at once, out of turn, and is not written: its file was deleted, or its memory was
    /// freed. Returns whether it was dirty.
    ///
    /// # Panics
    ///
    /// If the frame holds no page, or one that is pinned, the pending victim, or asked to be written back.
    pub fn drop_page(&mut self, frame: Frame) -> bool {
        assert!(self.holds_page(frame), "what is dropped is in memory");
        assert!(self.victim != Some(frame), "the pending victim is leaving already");
        assert!(!self.frames.is_pinned(frame), "a pinned page stays");
        assert!(self.frames.has_no_write_back_request(), "requested write-backs are taken first");
        assert!(self.steps.is_empty(), "the steps of a batch are taken first");
        let was_dirty = self.frames.is_dirty(frame);
        self.policy.dropped(frame, &self.frames);
        self.frames.clear_dirty(frame);
        self.frames.clear_bits(frame);
        self.residents.remove(self.frames.page(frame));
        self.free.push(frame);
        was_dirty
    }

    /// The page in `frame` differs from the backing store without having been referenced: the last page of a truncated
    /// file.
    pub fn make_dirty(&mut self, frame: Frame) {
        self.frames.set_dirty(frame);
        self.policy.made_dirty(frame, &self.frames);
    }

    /// As [`Memory::load`], for a page whose write went to where it was before: it is clean.
    pub fn load_clean(&mut self, fault: Fault) -> Frame {
        let frame = self.load(fault);
        self.frames.clear_dirty(frame);
        if fault.op == Op::Write {
            self.policy.loaded_clean(frame, &self.frames);
        }
        frame
    }

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
    #[inline(always)]
    pub fn replace(&mut self, fault: Fault) -> Option<Replaced> {
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

    /// Loads the page of `fault` into a free frame; a write makes it dirty.
    ///
    /// # Panics
    ///
    /// If memory is full or the page is in memory already.
    #[inline]
    pub fn load(&mut self, fault: Fault) -> Frame {
        debug_assert!(self.steps.is_empty(), "the steps of a batch are taken first");
        let frame = self.take_free_frame();
        self.frames.install(frame, fault.page);
        self.map(fault, frame);
        self.is_between_pages = false;
        frame
    }

    /// The page of `fault` has been installed in `frame`.
    #[inline(always)]
    fn map(&mut self, fault: Fault, frame: Frame) {
        let was_absent = self.residents.insert(fault.page, frame);
        assert!(was_absent, "the page is in memory already");
        self.policy.loaded(fault, frame, &mut self.frames);
        self.frames.set_dirty_if(frame, fault.op == Op::Write);
    }

    #[inline]
    fn take_free_frame(&mut self) -> Frame {
        self.free.pop().unwrap_or_else(|| {
            assert!(self.used_frames < self.frames.frames(), "memory is full");
            self.used_frames += 1;
            Frame(self.used_frames - 1)
        })
    }

    /// Keeps the page in `frame` in memory until it is unpinned.
    ///
    /// # Errors
    ///
    /// [`PinRefused`] for the pending victim, whose write-back may be under way, for other pages that leave in its batch,
    /// and for a free frame.
    pub fn pin(&mut self, frame: Frame) -> Result<(), PinRefused> {
        let leaves = self.victim == Some(frame) || self.steps.contains(&Step::Evict(frame));
        if leaves || !self.holds_page(frame) {
            return Err(PinRefused);
        }
        self.pinned_frames += u32::from(!self.frames.is_pinned(frame));
        self.frames.set_pinned(frame, true);
        Ok(())
    }

    /// Lets the page in `frame` leave again.
    pub fn unpin(&mut self, frame: Frame) {
        self.pinned_frames -= u32::from(self.frames.is_pinned(frame));
        self.frames.set_pinned(frame, false);
    }

    fn holds_page(&self, frame: Frame) -> bool {
        frame.0 < self.used_frames && self.frame_of(self.frames.page(frame)) == frame
    }

    /// The policy's period has ended.
    pub fn tick(&mut self) {
        self.policy.tick(&mut self.frames);
    }

    /// The policy.
    pub fn policy(&self) -> &P {
        &self.policy
    }

    /// The policy, to tell an offline one the future.
    #[inline]
    pub fn policy_mut(&mut self) -> &mut P {
        &mut self.policy
    }

    /// The state of the frames.
    #[inline]
    pub fn frames(&self) -> &T {
        &self.frames
    }

    /// The state of the frames, for a driver that carries out what a policy did to them.
    #[inline]
    pub fn frames_mut(&mut self) -> &mut T {
        &mut self.frames
    }

    /// The frames that hold a page, in the order of their numbers.
    pub fn resident_frames(&self) -> impl Iterator<Item = Frame> + '_ {
        (0..self.used_frames).map(Frame).filter(|&frame| self.holds_page(frame))
    }

    /// The number of pages in memory that are dirty, counted now.
    pub fn dirty_pages(&self) -> u32 {
        self.resident_frames().filter(|&frame| self.frames.is_dirty(frame)).count() as u32
    }

    /// Recounts page table, frames and pins, and lets the policy do the same.
    ///
    /// # Panics
    ///
    /// If they disagree.
    pub fn check_invariants(&self) {
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
