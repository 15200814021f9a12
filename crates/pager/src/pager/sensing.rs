//! Sensed bits: the kernel makes translations of pages that have content, and the pager looks for them.
//!
//! The log of references tells what the policy was shown: an access that is found while the policy decides for a miss is
//! logged before that miss, and the evictions that were decided after them.

use clockhand_policy::{Frame, Frames, HitBits, Op, PageId};

use super::Pager;
use super::page_states::{IN_FLIGHT, IN_SWAP_CACHE, PRESENT, WRITABLE};
use crate::parts::{Event, PagerError};
use crate::watchdog::{Waits, during};

/// Translations are dropped in batches: one for each of this number of frames. Accesses in between are not seen, which
/// does not matter while the batch is a small part of the memory.
const FRAMES_PER_DROP: u32 = 64;

/// The most translations that are dropped together.
const MOST_DROPS: u32 = 64;

/// The policy's decisions for misses.
pub(super) struct Decision {
    /// One has been begun and is not carried out yet: a store that fails interrupts it.
    is_open: bool,
    /// Decisions that are logged after the references found during them.
    events: Vec<Event>,
    /// The number of translations that are dropped together.
    drops: usize,
    /// The program has been told to drop translations, and has not answered.
    is_dropping: bool,
}

impl Decision {
    pub(super) fn new(frames: u32) -> Self {
        let drops = (frames / FRAMES_PER_DROP).clamp(1, MOST_DROPS) as usize;
        Decision { is_open: false, events: Vec::new(), drops, is_dropping: false }
    }
}

impl Pager {
    /// The policy is going to be asked. If a store has failed, this is the same decision as before.
    pub(super) fn begin_decision(&mut self) -> Result<(), PagerError> {
        let is_full = self.memory.is_full();
        let Some(decision) = &mut self.decision else { return Ok(()) };
        if !decision.is_open && !is_full {
            return Ok(());
        }
        let is_new = !std::mem::replace(&mut decision.is_open, true);
        self.finish_drops()?;
        self.memory.frames_mut().begin_decision(is_new);
        if self.memory.sees_first_accesses() && is_new {
            // A policy that learns of accesses cannot do so while it decides.
            let frames = self.memory.resident_frames();
            for (page, op) in self.memory.frames_mut().look_at_all(frames.into_iter()) {
                self.found(page, op);
                self.memory.hit_sensed(op, self.memory.frame_of(page));
            }
        }
        Ok(())
    }

    /// The policy has been asked, and what it decided is carried out, or has failed.
    pub(super) fn end_decision(&mut self, is_carried_out: bool) {
        self.memory.frames_mut().end_decision();
        if let Some(decision) = &mut self.decision
            && is_carried_out
        {
            decision.is_open = false;
            for event in decision.events.drain(..) {
                self.events.event(event);
            }
        }
    }

    /// Tells what was decided, with sensed bits after what was found.
    pub(super) fn decided(&mut self, event: Event) {
        match &mut self.decision {
            Some(decision) if decision.is_open => decision.events.push(event),
            _ => self.events.event(event),
        }
    }

    /// Tells of the accesses that the policy has just been shown.
    pub(super) fn sensed(&mut self) {
        for (page, op) in self.memory.frames_mut().found() {
            self.found(page, op);
        }
    }

    /// An access was found. Of one that is not known to have written, how it was made is not known.
    pub(super) fn found(&mut self, page: PageId, op: Op) {
        self.counts.sensed_references += 1;
        self.seen(page, op, false);
        self.count_in_period();
        if op == Op::Write {
            self.pages.set(page, WRITABLE);
        }
    }

    /// Lets the program reach a page, and go on.
    pub(super) fn give(&mut self, page: PageId, writable: bool) -> Result<(), PagerError> {
        if self.pages.has(page, IN_SWAP_CACHE) {
            self.program.fill(page, self.swap_cache.content(page), writable)?;
            self.pages.clear(page, IN_SWAP_CACHE);
            // Its write may be under way.
            if !self.pages.has(page, IN_FLIGHT) {
                self.swap_cache.remove(page);
            }
        } else if writable {
            self.program.allow_writes(page)?;
        } else {
            self.program.wake(page)?;
        }
        if writable {
            self.pages.set(page, WRITABLE);
        }
        Ok(())
    }

    /// Lets a thread retry an access that is allowed: another thread faulted on the page at the same time.
    pub(super) fn let_retry(&mut self, page: PageId) -> Result<(), PagerError> {
        match self.pages.has(page, WRITABLE) {
            // A write that waits is not let go by waking it.
            true => Ok(self.program.allow_writes(page)?),
            false => Ok(self.program.wake(page)?),
        }
    }

    /// A page that is being written leaves: only the copy that is written stays.
    pub(super) fn put_in_swap_cache(&mut self, page: PageId) -> Result<(), PagerError> {
        debug_assert!(self.pages.has(page, PRESENT), "what is written has content");
        if self.pages.has(page, IN_SWAP_CACHE) {
            return Ok(());
        }
        self.program.forget(page, 1)?;
        self.pages.clear(page, WRITABLE);
        self.pages.set(page, IN_SWAP_CACHE);
        Ok(())
    }

    /// Tells the program to drop the translations of pages whose bits were cleared, if there are enough of them, and does
    /// not wait for it.
    pub(super) fn order_drops(&mut self) -> Result<(), PagerError> {
        let least = self.decision.as_ref().map_or(usize::MAX, |decision| decision.drops);
        if self.memory.frames().drops_listed() < least {
            return Ok(());
        }
        self.finish_drops()?;
        let mut pages = self.memory.frames_mut().order_drops();
        let is_within_reach = |&page: &PageId| {
            self.pages.has(page, PRESENT)
                && !self.pages.has(page, IN_SWAP_CACHE)
                && self.memory.frame_of(page) != Frame::NONE
        };
        pages.retain(is_within_reach);
        if self.memory.hit_bits() != HitBits::Reference {
            // The next write is to be seen. Those to a clean page are forbidden already, and one that has gone on
            // nevertheless must not be forgotten.
            let table = &self.memory;
            let is_dirty = |page: &PageId| table.frames().is_dirty(table.frame_of(*page));
            let mut dirty: Vec<_> = pages.iter().copied().filter(is_dirty).collect();
            dirty.sort_unstable();
            for row in dirty.chunk_by(|page, next| page.0 + 1 == next.0) {
                self.program.forbid_writes(row[0], row.len() as u32)?;
                row.iter().for_each(|&page| self.pages.clear(page, WRITABLE));
            }
        }
        self.program.begin_unmapping(&mut pages)?;
        if let Some(decision) = &mut self.decision {
            decision.is_dropping = true;
        }
        Ok(())
    }

    /// Waits until translations that the program was told to drop are gone.
    pub(super) fn finish_drops(&mut self) -> Result<(), PagerError> {
        if let Some(decision) = &mut self.decision
            && std::mem::take(&mut decision.is_dropping)
        {
            during(Waits::ForProgram, || self.program.finish_unmapping())?;
            self.memory.frames_mut().dropped();
        }
        Ok(())
    }
}
