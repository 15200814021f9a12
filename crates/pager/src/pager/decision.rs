//! The policy is asked, and what it decides is carried out.

use clockhand_policy::{Frame, Frames, Op, PageId, Step};

use super::Pager;
use super::write_back::Then;
use crate::parts::{Event, PagerError};

impl Pager {
    /// With sensed bits the policy may be asked what to evict, and looks. If a store has failed, this is the same decision as
    /// before.
    pub(super) fn begin_decision(&mut self) -> Result<(), PagerError> {
        let is_asked = self.log.is_deciding() || self.pages.memory.is_full();
        if !is_asked || !self.pages.observation.is_sensed() {
            return Ok(());
        }
        let is_new = self.log.begin_decision();
        self.pages.finish_dropping()?;
        let memory = &mut self.pages.memory;
        memory.frames_mut().begin_decision(is_new);
        if memory.sees_first_accesses() && is_new {
            // A policy that learns of accesses cannot do so while it decides.
            let frames = memory.resident_frames();
            for (page, op) in memory.frames_mut().look_at_all(frames.into_iter()) {
                self.found(page, op);
                let frame = self.pages.memory.frame_of(page);
                self.pages.memory.hit_sensed(op, frame);
            }
        }
        Ok(())
    }

    /// Writes and evicts what the policy chooses, until a frame is free for `incoming`.
    pub(super) fn carry_out_steps(&mut self, incoming: PageId) -> Result<(), PagerError> {
        loop {
            // A page whose write failed is still requested.
            if let Some(frame) = self.requested {
                self.write_back(frame)?;
                self.requested = None;
            }
            let step = self.pages.memory.next_step(incoming);
            self.note_found();
            match step {
                Some(Step::WriteBack(frame)) => self.requested = Some(frame),
                Some(Step::Evict(victim)) => self.evict(victim)?,
                None => return Ok(()),
            }
        }
    }

    /// Notes the accesses that the policy has just been shown.
    fn note_found(&mut self) {
        for (page, op) in self.pages.memory.frames_mut().found() {
            self.found(page, op);
        }
    }

    /// An access was found by looking.
    pub(super) fn found(&mut self, page: PageId, op: Op) {
        self.log.found(page, op, &mut self.pages);
        self.period.count();
    }

    /// Writes a page that stays.
    fn write_back(&mut self, frame: Frame) -> Result<(), PagerError> {
        let page = self.pages.memory.frames().page(frame);
        self.write_back.write(page, Then::Stays, &mut self.pages)?;
        self.pages.memory.written_back(frame);
        self.pages.counts.write_backs += 1;
        self.log.decided(Event::WriteBack { page });
        Ok(())
    }

    fn evict(&mut self, victim: Frame) -> Result<(), PagerError> {
        let page = self.pages.memory.frames().page(victim);
        let is_dirty = self.pages.memory.frames().is_dirty(victim);
        // Looked at just now, if the policy has not asked.
        self.note_found();
        let mut refaults = false;
        if is_dirty {
            self.write_back.write(page, Then::Leaves, &mut self.pages)?;
            self.pages.memory.written_back(victim);
            self.pages.counts.dirty_evictions += 1;
        } else {
            refaults = self.write_back.take_clean(page, &mut self.pages)?;
            self.pages.counts.clean_evictions += 1;
        }
        self.pages.memory.commit_eviction();
        self.write_back.leaves();
        self.log.decided(Event::Eviction { page, is_dirty });
        if refaults {
            self.pages.keep_for_refault(page);
            return self.read_ahead.make_room(0, &mut self.pages, &mut self.write_back);
        }
        // A clean page may be in flight too: it was rescued, or its write-back has not finished.
        match self.pages.residency.is_in_flight(page) {
            true => self.pages.withdraw(page),
            false => self.pages.release(page),
        }
    }
}
