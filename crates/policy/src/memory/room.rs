//! Making room: which page leaves next, and what is written before.

use core::fmt;

use super::Memory;
use super::fast::FastMemory;
use crate::page::{PagePolicy, Reclaim};
use crate::{Frame, PageId, PageTable};

/// No page can leave: every frame is pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllPinned;

impl fmt::Display for AllPinned {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("every frame is pinned, so no page can leave: unpin one and ask again")
    }
}

impl core::error::Error for AllPinned {}

/// The next step of a driver that makes room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Write the page in the frame, which stays, and call [`Memory::written_back`].
    WriteBack(Frame),
    /// Write the page in the frame if it is dirty and call [`Memory::written_back`]; then call
    /// [`Memory::commit_eviction`].
    Evict(Frame),
}

impl<P: PagePolicy, T: PageTable> Memory<P, T> {
    #[inline]
    pub(super) fn propose<C>(&mut self, choose: C) -> Result<Frame, AllPinned>
    where
        C: FnOnce(&mut P, &mut T) -> Frame,
    {
        if let Some(frame) = self.victim {
            return Ok(frame);
        }
        let pages = self.resident_pages();
        assert!(pages > 0, "an empty memory has no victim");
        if self.pinned_frames == pages {
            return Err(AllPinned);
        }
        let frame = choose(&mut self.policy, &mut self.frames);
        assert!(!self.frames.is_pinned(frame), "the policy chose a pinned frame");
        self.victim = Some(frame);
        self.is_between_pages = true;
        Ok(frame)
    }

    /// The next step until `frames` frames are free for a fault on `page` and pages that come with it; `None` when they
    /// are. A policy that [reclaims in batches](crate::page::Capabilities::RECLAIMS_IN_BATCHES) may free more.
    ///
    /// # Errors
    ///
    /// [`AllPinned`] if too few frames are free and no page can leave.
    ///
    /// # Panics
    ///
    /// If `frames` is more than memory has.
    #[inline]
    pub fn next_step(&mut self, page: PageId, frames: u32) -> Result<Option<Step>, AllPinned> {
        assert!(frames <= self.frames.frames(), "memory has fewer frames than are wanted");
        if P::RECLAIMS_IN_BATCHES {
            return self.next_step_of_batch(frames, P::reclaim);
        }
        if self.victim.is_none() && self.free_frames() >= frames {
            return Ok(None);
        }
        let victim = self.propose_victim_for(page)?;
        Ok(Some(self.next_write_back().map_or(Step::Evict(victim), Step::WriteBack)))
    }

    pub(super) fn next_step_of_batch<R>(
        &mut self,
        frames: u32,
        reclaim: R,
    ) -> Result<Option<Step>, AllPinned>
    where
        R: FnOnce(&mut P, Reclaim<'_>, &mut T),
    {
        if let Some(frame) = self.victim {
            return Ok(Some(Step::Evict(frame)));
        }
        if self.steps.is_empty() {
            let free = self.free_frames();
            if free >= frames {
                return Ok(None);
            }
            if self.pinned_frames == self.resident_pages() {
                return Err(AllPinned);
            }
            let wanted = Reclaim { free, wanted: frames, steps: &mut self.steps };
            reclaim(&mut self.policy, wanted, &mut self.frames);
        }
        while let Some(step) = self.steps.pop_front() {
            match step {
                Step::Evict(frame) => {
                    self.victim = Some(frame);
                    self.is_between_pages = true;
                    return Ok(Some(step));
                }
                // Not if it was written for another reason in between.
                Step::WriteBack(frame) if self.frames.is_dirty(frame) => return Ok(Some(step)),
                Step::WriteBack(_) => {}
            }
        }
        // All frees come first: what is left of a call were writes.
        self.next_step_of_batch(frames, P::reclaim)
    }
}
