//! # linux24: reclaim of Linux 2.4, simplified
//!
//! This is an approximation of a kernel, defined by this text.
//!
//! **What it keeps.** Two lists, `active` and `inactive`. Per page a flag *referenced*, and whether the page is
//! *mapped*: reached by a memory reference since it was last unmapped. Its accessed bit, which the hardware sets at
//! each memory reference, including the one that faults. Swap-out goes round the mapped pages in ascending order of
//! (object, page) and remembers the page that it examined last. Shown: both lists from the newest page, those of their
//! pages that are referenced and that are mapped, and `last_looked_at`.
//!
//! *Touch:* an inactive page that is referenced goes to the head of `active` and is no longer referenced; any other
//! page becomes referenced. An incoming page goes to the head of `inactive`; it is touched, unless it is read ahead. A
//! call touches its page. So does a memory reference to a page that is not mapped, which maps it.
//!
//! **Victim.** Reclaim makes `batch` frames free, or as many as are needed, for each of the priorities 6, 5, … 1 until
//! it has. *Refill:* `floor(batch * |active| / (2 * (|inactive| + 1)))` pages go from the tail of `active` to the head
//! of `inactive` and become referenced; a referenced one instead goes to the head of `active` and loses the flag.
//! *Scan:* at most `L = max(1, floor(|inactive| / priority))` pages from the tail of `inactive`. A mapped one goes to
//! the head, and when there were more than `min(batch * 2^(10 - priority), floor(L / 10))` of them the scan ends with a
//! swap-out; a dirty one is written, stays, and goes to the head; a clean one leaves. *Swap-out:* examines `max(1,
//! floor(|mapped| / priority))` mapped pages, until `batch` have been unmapped. An accessed one loses the bit and is
//! touched; of the others those in `inactive` are unmapped. If nothing has left, the tail of `inactive` leaves, or that
//! of `active`, mapped or not.
//!
//! **On a write.** Nothing. Only pages that are not mapped are written while they stay.
//!
//! **Parameters.** `batch`: frames that one call makes free (default a quarter of the frames, at most 32).
//!
//! **Cost per hit and per victim.** One OR and one test of the bits; constant on average. 18 bytes per frame and 4 per
//! page of the footprint.
//!
//! **Deviations from the paper.** The kernel has zones, more than one process at a time, caches of inodes and directory
//! entries, and a swap cache; none of them is modelled. A pinned page goes to the head of `inactive` in a scan and is passed
//! over by a swap-out.
//!
//! **Reference.** D. P. Bovet, M. Cesati: Understanding the Linux Kernel, second edition. O'Reilly, 2003 (Linux 2.4.18).

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use super::{
    BitDriven, Capabilities, Cause, Fault, Inspector, PagePolicy, Reclaim, first_unpinned,
};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::parts::{FrameList, FrameSet, Links};
use crate::{Frame, Frames, HitBits, PageId, Step};

/// The batch of all kernels.
pub(super) const BATCH: Parameter = Parameter {
    name: "batch",
    summary: "frames that one call of reclaim makes free, at most all",
    domain: Domain::Count { min: 1, max: u32::MAX as u64 },
    default: Default::QuarterOfFrames { most: 32 },
    only_with: None,
};

/// The value of [`BATCH`].
pub(super) fn batch_of(settings: &Settings, frames: u32) -> u32 {
    let batch = settings.count(BATCH.name).expect("the batch has a default");
    batch.min(frames.into()) as u32
}

/// One call of reclaim.
pub(super) struct Call<'a> {
    /// Frames that the call is to make free.
    pub(super) goal: u32,
    pub(super) freed: u32,
    pub(super) steps: &'a mut VecDeque<Step>,
}

impl<'a> Call<'a> {
    /// A call for a batch, or for as many frames as are wanted.
    pub(super) fn new(batch: u32, Reclaim { free, wanted, steps }: Reclaim<'a>) -> Self {
        Call { goal: batch.max(wanted).saturating_sub(free), freed: 0, steps }
    }

    pub(super) fn is_done(&self) -> bool {
        self.freed >= self.goal
    }

    pub(super) fn evict(&mut self, frame: Frame) {
        self.freed += 1;
        self.steps.push_back(Step::Evict(frame));
    }
}

/// Asks a policy that reclaims in batches for one page: it is the last step of a call that wants one.
pub(super) fn one_page<P: PagePolicy, F: Frames>(
    policy: &mut P,
    frames: &mut F,
    reclaim: impl FnOnce(&mut P, Call, &mut F),
) -> Frame {
    let mut steps = VecDeque::new();
    reclaim(policy, Call { goal: 1, freed: 0, steps: &mut steps }, frames);
    let Some(Step::Evict(victim)) = steps.pop_back() else {
        unreachable!("the last step of a call that wants one page is that it leaves")
    };
    for step in steps {
        if let Step::WriteBack(frame) = step {
            frames.request_write_back(frame);
        }
    }
    victim
}

const LISTED: u8 = 1;
const ACTIVE: u8 = 2;
const REFERENCED: u8 = 4;
const MAPPED: u8 = 8;

/// The lists, each from its tail, the oldest page.
#[derive(Clone, Debug)]
pub struct Linux24 {
    batch: u32,
    links: Links,
    active: FrameList,
    inactive: FrameList,
    flags: Vec<u8>,
    frame_of_page: Vec<Frame>,
    mapped: FrameSet<PageId>,
    mapped_pages: u32,
    last_looked_at: Option<PageId>,
    calls: u64,
    scanned: u64,
    /// The call that last had a page written; it counts as clean within that call.
    written_by_call: Vec<u64>,
}

impl Cataloged for Linux24 {
    const DESCRIPTION: Description = Description {
        name: "linux24",
        summary: "reclaim of Linux 2.4, simplified: two lists, swap-out by a walk over mapped pages",
        paper: "Bovet, Cesati 2003",
        parameters: &[BATCH],
        source: include_str!("linux24.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        Linux24 {
            batch: batch_of(settings, size.frames),
            links: Links::new(size.frames),
            active: FrameList::EMPTY,
            inactive: FrameList::EMPTY,
            flags: vec![0; size.frames as usize],
            frame_of_page: vec![Frame::NONE; size.pages as usize],
            mapped: FrameSet::new(size.pages),
            mapped_pages: 0,
            last_looked_at: None,
            calls: 0,
            scanned: 0,
            written_by_call: vec![0; size.frames as usize],
        }
    }
}

impl Linux24 {
    fn has(&self, frame: Frame, flag: u8) -> bool {
        self.flags[frame.index()] & flag != 0
    }

    fn set(&mut self, frame: Frame, flag: u8, value: bool) {
        let flags = &mut self.flags[frame.index()];
        *flags = if value { *flags | flag } else { *flags & !flag };
    }

    /// `mark_page_accessed`.
    fn touch(&mut self, frame: Frame) {
        if self.has(frame, ACTIVE) || !self.has(frame, REFERENCED) {
            return self.set(frame, REFERENCED, true);
        }
        self.inactive.remove(&mut self.links, frame);
        self.active.push_tail(&mut self.links, frame);
        self.set(frame, REFERENCED, false);
        self.set(frame, ACTIVE, true);
    }

    fn map(&mut self, frame: Frame, page: PageId) {
        self.mapped.insert(page);
        self.mapped_pages += 1;
        self.set(frame, MAPPED, true);
    }

    fn unmap(&mut self, frame: Frame, page: PageId) {
        if self.has(frame, MAPPED) {
            self.mapped.remove(page);
            self.mapped_pages -= 1;
            self.set(frame, MAPPED, false);
        }
    }

    fn forget<F: Frames>(&mut self, frame: Frame, frames: &F) {
        let page = frames.page(frame);
        self.unmap(frame, page);
        let list = if self.has(frame, ACTIVE) { &mut self.active } else { &mut self.inactive };
        list.remove(&mut self.links, frame);
        self.flags[frame.index()] = 0;
        self.frame_of_page[page.index()] = Frame::NONE;
    }

    /// Returns whether the page differs from the backing store after the steps of this call.
    fn is_dirty<F: Frames>(&self, frame: Frame, frames: &F) -> bool {
        frames.is_dirty(frame) && self.written_by_call[frame.index()] != self.calls
    }

    fn refill(&mut self) {
        let active = u64::from(self.batch) * u64::from(self.active.len());
        let mut to_move = active / (2 * (u64::from(self.inactive.len()) + 1));
        while to_move > 0 && self.active.len() > 0 {
            let frame = self.active.head();
            if self.has(frame, REFERENCED) {
                self.set(frame, REFERENCED, false);
                self.active.move_to_tail(&mut self.links, frame);
            } else {
                self.active.remove(&mut self.links, frame);
                self.inactive.push_tail(&mut self.links, frame);
                self.set(frame, REFERENCED, true);
                self.set(frame, ACTIVE, false);
                to_move -= 1;
            }
        }
    }

    fn scan<F: Frames>(&mut self, priority: u32, call: &mut Call, frames: &mut F) {
        let at_most = (self.inactive.len() / priority).max(1);
        let bearable = (u64::from(self.batch) << (10 - priority)).min(u64::from(at_most / 10));
        let mut mapped_seen = 0;
        for _ in 0..at_most {
            if self.inactive.len() == 0 || call.is_done() {
                return;
            }
            self.scanned += 1;
            let frame = self.inactive.head();
            if frames.is_pinned(frame) {
                self.inactive.move_to_tail(&mut self.links, frame);
            } else if self.has(frame, MAPPED) {
                self.inactive.move_to_tail(&mut self.links, frame);
                mapped_seen += 1;
                if mapped_seen > bearable {
                    return self.swap_out((self.mapped_pages / priority).max(1), false, frames);
                }
            } else if self.is_dirty(frame, frames) {
                call.steps.push_back(Step::WriteBack(frame));
                self.written_by_call[frame.index()] = self.calls;
                self.inactive.move_to_tail(&mut self.links, frame);
            } else {
                self.forget(frame, frames);
                call.evict(frame);
            }
        }
    }

    fn next_mapped(&mut self) -> Option<PageId> {
        let start = self.last_looked_at.map_or(0, |page| page.0 + 1);
        let next = self.mapped.next_from(start).or_else(|| self.mapped.next_from(0))?;
        self.last_looked_at = Some(next);
        Some(next)
    }

    /// Scans this many mapped pages, or fewer if a batch of them has been unmapped before.
    pub(super) fn swap_out<F: Frames>(&mut self, pages: u32, spares_dirty: bool, frames: &mut F) {
        let mut unmapped = 0;
        for _ in 0..pages {
            let Some(page) = self.next_mapped() else { return };
            let frame = self.frame_of_page[page.index()];
            if frames.is_pinned(frame) || (spares_dirty && self.is_dirty(frame, frames)) {
                continue;
            }
            if frames.is_referenced(frame) {
                frames.clear_bits(frame);
                self.touch(frame);
            } else if !self.has(frame, ACTIVE) {
                self.unmap(frame, page);
                unmapped += 1;
                if unmapped == self.batch {
                    return;
                }
            }
        }
    }

    /// Frees the clean pages that are not mapped among those nearest the tail of `inactive`, whose number is given.
    pub(super) fn free_clean<F: Frames>(&mut self, pages: u64, call: &mut Call, frames: &F) {
        let mut next = self.inactive.head();
        for _ in 0..pages {
            if next == Frame::NONE || call.is_done() {
                return;
            }
            let frame = next;
            next = self.links.next(frame);
            self.scanned += 1;
            let stays = self.has(frame, MAPPED) || self.is_dirty(frame, frames);
            if !stays && !frames.is_pinned(frame) {
                self.forget(frame, frames);
                call.evict(frame);
            }
        }
    }

    pub(super) fn inactive_pages(&self) -> u32 {
        self.inactive.len()
    }

    pub(super) fn mapped_pages(&self) -> u32 {
        self.mapped_pages
    }

    pub(super) fn begin_call(&mut self) {
        self.calls += 1;
    }

    pub(super) fn batch(&self) -> u32 {
        self.batch
    }

    /// The priorities, and what leaves if nothing has left.
    pub(super) fn shrink<F: Frames>(&mut self, mut call: Call, frames: &mut F) {
        for priority in (1..=6).rev() {
            if call.is_done() {
                return;
            }
            self.refill();
            self.scan(priority, &mut call, frames);
        }
        if call.freed > 0 {
            return;
        }
        let oldest = first_unpinned(&self.inactive, &self.links, frames)
            .or_else(|| first_unpinned(&self.active, &self.links, frames))
            .expect("a page is not pinned");
        self.forget(oldest, frames);
        call.evict(oldest);
    }
}

impl PagePolicy for Linux24 {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        self.begin_call();
        one_page(self, frames, Self::shrink)
    }

    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, frames: &mut F) {
        self.flags[frame.index()] = LISTED;
        self.frame_of_page[fault.page.index()] = frame;
        self.inactive.push_tail(&mut self.links, frame);
        if fault.cause == Cause::Memory {
            self.map(frame, fault.page);
            frames.set_read_bit(frame);
        }
        if fault.cause != Cause::Ahead {
            self.touch(frame);
        }
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, frames: &F) {
        self.forget(frame, frames);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        // From the newest page, as kernels show their lists.
        for (name, list) in [("active", &self.active), ("inactive", &self.inactive)] {
            inspector.list(name, &mut list.iter_back(&self.links));
        }
        for (name, flag) in [("referenced", REFERENCED), ("mapped", MAPPED)] {
            let all =
                self.active.iter_back(&self.links).chain(self.inactive.iter_back(&self.links));
            inspector.list(name, &mut all.filter(|&frame| self.has(frame, flag)));
        }
        inspector.ghosts("last_looked_at", &mut self.last_looked_at.into_iter());
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("reclaims", self.calls as f64);
        show("scanned_pages", self.scanned as f64);
        show("active_pages", self.active.len().into());
        show("inactive_pages", self.inactive.len().into());
        show("mapped_pages", self.mapped_pages.into());
    }

    fn check_invariants<F: Frames>(&self, frames: &F) {
        let mut mapped = 0;
        for (list, is_active) in [(&self.active, true), (&self.inactive, false)] {
            list.check_invariants(&self.links);
            for frame in list.iter(&self.links) {
                let page = frames.page(frame);
                assert!(self.has(frame, LISTED), "a page is listed");
                assert_eq!(self.has(frame, ACTIVE), is_active, "a page is in the other list");
                assert_eq!(self.frame_of_page[page.index()], frame, "a page's frame is wrong");
                let is_mapped = self.has(frame, MAPPED);
                assert_eq!(self.mapped.contains(page), is_mapped, "a mapped page is in the walk");
                assert!(is_mapped || !frames.is_referenced(frame), "an accessed page is mapped");
                mapped += u32::from(is_mapped);
            }
        }
        assert_eq!(mapped, self.mapped_pages, "the number of mapped pages");
    }
}

impl Capabilities for Linux24 {
    const PAGE_NUMBERS_MATTER: bool = true;
    const RECLAIMS_IN_BATCHES: bool = true;

    fn reclaim<F: Frames>(&mut self, wanted: Reclaim<'_>, frames: &mut F) {
        self.begin_call();
        self.shrink(Call::new(self.batch, wanted), frames);
    }

    fn unmapped<F: Frames>(&mut self, frame: Frame, frames: &mut F) {
        frames.clear_bits(frame);
        self.unmap(frame, frames.page(frame));
    }
}

impl BitDriven for Linux24 {
    const HIT_BITS: HitBits = HitBits::Reference;
    const SEES_FIRST_ACCESSES: bool = true;
    const SEES_CALLS: bool = true;

    #[inline]
    fn first_access<F: Frames>(&mut self, frame: Frame, frames: &mut F) {
        // A page that is leaving is in no list.
        if self.has(frame, LISTED) && !self.has(frame, MAPPED) {
            self.map(frame, frames.page(frame));
            self.touch(frame);
        }
    }

    fn called<F: Frames>(&mut self, frame: Frame, _: &mut F) {
        self.touch(frame);
    }
}
