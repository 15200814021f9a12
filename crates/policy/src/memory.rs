//! The mechanism: page table, frame allocation, dirty and pinned state, and the pending victim.
//!
//! A victim is a proposal. [`Memory::next_step`] asks the policy once and keeps the answer until
//! [`Memory::commit_eviction`]. A driver whose write-back fails asks again and gets the same page: the policy's hand
//! has moved, so the policy must not be asked twice.

pub mod fast;
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

/// A memory of a fixed number of frames under one policy. `T` is where the frames' bits come from.
///
/// These functions are enough to embed one; [`fast`] has what the simulator and the pager need besides.
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

    /// The frame that holds `page`, or [`Frame::NONE`].
    #[inline]
    pub fn frame_of(&self, page: PageId) -> Frame {
        self.residents.get(page).unwrap_or(Frame::NONE)
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
    /// not been taken with [`next_write_back`](fast::FastMemory::next_write_back).
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

    /// The policy.
    pub fn policy(&self) -> &P {
        &self.policy
    }

    /// The state of the frames.
    #[inline]
    pub fn frames(&self) -> &T {
        &self.frames
    }
}
