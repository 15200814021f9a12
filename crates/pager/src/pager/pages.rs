//! The pages of a program: which of them frames hold, where their contents are, and the ways between.

use std::ops::Range;
use std::time::Instant;

use clockhand_policy::{Op, PageId};

use super::discovered::Discovered;
use super::observation::Observation;
use super::residency::{Residence, Residency};
use crate::any_memory::AnyMemory;
use crate::pace::{Waits, during};
use crate::parts::PagerError;
use crate::statistics::{Counts, Times};
use crate::store::{PageAddress, Store};

/// What a pager's parts work on.
pub(super) struct Pages {
    /// The policy and its frames. The parts look at frames; only the pager itself asks the policy.
    pub(super) memory: Box<dyn AnyMemory>,
    pub(super) residency: Residency,
    pub(super) observation: Observation,
    pub(super) discovered: Discovered,
    pub(super) store: Box<dyn Store>,
    pub(super) counts: Counts,
    pub(super) times: Times,
}

impl Pages {
    /// The number of pages of the program.
    pub(super) fn number(&self) -> u32 {
        self.observation.program.pages()
    }

    /// The place of a page's content, if it has any.
    pub(super) fn address(&mut self, page: PageId) -> PageAddress {
        self.observation.address(page, &mut self.residency)
    }

    /// Gives a page without content zeros.
    pub(super) fn bring_zeros(&mut self, page: PageId) -> Result<(), PagerError> {
        self.observation.bring_zeros(page, &mut self.residency)
    }

    /// Begins to drop translations of pages whose bits were cleared.
    pub(super) fn begin_dropping(&mut self) -> Result<(), PagerError> {
        self.observation.begin_dropping(&mut *self.memory, &mut self.residency)
    }

    /// Waits until translations that the program was told to drop are gone.
    pub(super) fn finish_dropping(&mut self) -> Result<(), PagerError> {
        self.observation.finish_dropping(&mut *self.memory, &mut self.residency)
    }

    /// Returns whether the page is to leave, and is still where the program reaches it.
    pub(super) fn is_leaving(&self, page: PageId) -> bool {
        self.observation.shows_writes()
            && self.residency.is_in_flight(page)
            && !self.residency.swap_cache.has(page)
    }

    /// The page's content is not needed in memory any more.
    pub(super) fn leave(&mut self, page: PageId) -> Result<(), PagerError> {
        self.observation.forget(page, &mut self.residency)?;
        self.residency.moves(page, Residence::Absent);
        Ok(())
    }

    /// A page leaves whose content is on its way to the store.
    pub(super) fn withdraw(&mut self, page: PageId) -> Result<(), PagerError> {
        self.residency.moves(page, Residence::Evicted);
        self.residency.keep_to_frames(0);
        self.observation.withdraw(page, &mut *self.memory, &mut self.residency)
    }

    /// A page leaves that is in the store as it is. If the program does not reach it, its content is kept for a while.
    pub(super) fn release(&mut self, page: PageId) -> Result<(), PagerError> {
        let is_hidden = self.residency.is_present(page) && self.residency.is_cached(page);
        let is_stored = self.residency.slot(page).is_some();
        let is_kept = self.observation.shows_writes() && is_hidden && is_stored;
        if !is_kept || self.discovered.has(page) {
            return self.leave(page);
        }
        if !self.residency.swap_cache.has(page) {
            self.observation.cache_taken(page, &mut self.residency);
        }
        self.residency.moves(page, Residence::Left);
        self.residency.keep_to_frames(0);
        Ok(())
    }

    /// Keeps the page that was taken last, and is to be loaded again.
    pub(super) fn keep_for_refault(&mut self, page: PageId) {
        self.observation.cache_taken(page, &mut self.residency);
        self.residency.moves(page, Residence::Refaults);
        self.discovered.add_written(page);
        self.residency.keep_to_frames(0);
    }

    /// Forgets the contents of pages, none of which is being written or read. Those in frames stay there, without content.
    pub(super) fn free(&mut self, numbers: Range<u32>) -> Result<(), PagerError> {
        // Of memory that is reserved and given back most was never used.
        let used = numbers.clone().map(PageId).filter(|&page| self.residency.is_used(page));
        let used: Vec<_> = used.collect();
        for &page in &used {
            if let Some(slot) = self.residency.slot(page) {
                self.store.release(slot);
                self.residency.set_slot(page, None);
            }
            let is_in_frame = self.residency.is_in_frame(page);
            self.residency
                .moves(page, if is_in_frame { Residence::Freed } else { Residence::Absent });
            self.residency.swap_cache.remove(page);
            self.observation.forgot(page, &mut self.residency);
        }
        self.observation.forbid_writes_of_freed(used, &self.residency)?;
        Ok(self.observation.program.forget(PageId(numbers.start), numbers.len() as u32)?)
    }

    /// Finds those of the pages that have been accessed without a message and are not known to have been.
    pub(super) fn discover(&mut self, mut pages: Vec<PageId>) -> Vec<PageId> {
        if !self.observation.shows_writes() {
            return Vec::new();
        }
        pages.retain(|&page| !self.discovered.has(page));
        pages.sort_unstable();
        let seen = self.memory.frames_mut().look_at(&pages);
        let accessed = pages.into_iter().zip(seen).filter(|(_, seen)| seen.is_translated);
        let discovered = accessed.map(|(page, seen)| {
            self.discovered.add(page, if seen.is_written { Op::Write } else { Op::Read });
            page
        });
        discovered.collect()
    }

    /// Waits for the store to read, and counts the time.
    pub(super) fn wait_for_read<T>(&mut self, wait: impl FnOnce(&mut dyn Store) -> T) -> T {
        let started = Instant::now();
        let result = during(Waits::ForRead, || wait(&mut *self.store));
        self.times.read_wait += started.elapsed();
        result
    }
}
