//! Making room: which page leaves next, and what is written before.

use core::fmt;

use super::Memory;
use crate::counting::CountingFrames;
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
    #[inline]
    pub fn propose_victim(&mut self) -> Result<Frame, AllPinned> {
        self.propose(|policy, frames| policy.choose_victim(frames))
    }

    #[inline]
    fn propose<C>(&mut self, choose: C) -> Result<Frame, AllPinned>
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

    /// The page that [`Memory::propose_victim`] would propose, without a change: `None` if the policy
    /// [cannot tell](PagePolicy::CAN_PEEK), or if no page can leave.
    pub fn peek_victim(&self) -> Option<Frame> {
        match self.victim {
            None if self.pinned_frames == self.resident_pages() => None,
            None => self.policy.peek_victim(&self.frames),
            pending => pending,
        }
    }

    /// As [`Memory::propose_victim`], to make room for a fault on `page`. A driver that knows the page says
    /// so: some policies choose by it.
    ///
    /// # Errors
    ///
    /// [`AllPinned`] if no frame can be evicted; the policy has not been called.
    #[inline]
    pub fn propose_victim_for(&mut self, page: PageId) -> Result<Frame, AllPinned> {
        if self.victim.is_none() && self.pinned_frames < self.resident_pages() {
            self.policy.make_room_for(page);
        }
        self.propose_victim()
    }

    /// As [`Memory::propose_victim_for`], slower: also counts the frames that the policy examined in its search,
    /// which for a clock are the movements of its hand. A victim that is pending already costs none.
    ///
    /// # Errors
    ///
    /// [`AllPinned`] if no frame can be evicted; the policy has not been called.
    pub fn propose_victim_counted(&mut self, page: PageId) -> Result<(Frame, u64), AllPinned> {
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

    /// The next step until `frames` frames are free for a fault on `page` and pages that come with it; `None` when they
    /// are. A policy that [reclaims in batches](PagePolicy::RECLAIMS_IN_BATCHES) may free more.
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

    /// As [`Memory::next_step`], slower: also counts the frames that a policy which reclaims in batches examined, at
    /// the first step of a call. For other policies see [`Memory::propose_victim_counted`].
    ///
    /// # Errors
    ///
    /// [`AllPinned`] if too few frames are free and no page can leave.
    pub fn next_step_counted(&mut self, frames: u32) -> Result<(Option<Step>, u64), AllPinned> {
        let mut examined = 0;
        let step = self.next_step_of_batch(frames, |policy, wanted, frames| {
            let mut frames = CountingFrames::new(frames);
            policy.reclaim(wanted, &mut frames);
            examined = frames.examined();
        })?;
        Ok((step, examined))
    }

    fn next_step_of_batch<R>(&mut self, frames: u32, reclaim: R) -> Result<Option<Step>, AllPinned>
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
