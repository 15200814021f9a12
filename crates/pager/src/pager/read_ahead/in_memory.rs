//! The program's memory, as far as predictors may look.

use std::collections::VecDeque;

use clockhand_policy::{Frames, PageId};
use clockhand_prefetch::View;

use super::Waiting;
use crate::pager::pages::Pages;
use crate::pager::residency::Residence;
use crate::store::Slot;

/// What predictors may look at.
pub(super) struct InMemory<'a> {
    pub(super) pages: &'a Pages,
    pub(super) waiting: &'a VecDeque<Waiting>,
}

impl View for InMemory<'_> {
    fn pages(&self) -> u32 {
        self.pages.number()
    }

    fn first_address(&self) -> u64 {
        self.pages.observation.program.first_address()
    }

    fn peek(&self, first: u64, words: &mut [u64]) {
        self.pages.observation.program.peek(first, words);
    }

    fn pages_in_reach(&self) -> Vec<PageId> {
        let frames = self.pages.memory.resident_frames().into_iter();
        let loaded = frames.map(|frame| self.pages.memory.frames().page(frame));
        let waiting = self.waiting.iter().map(|waiting| waiting.page);
        let mut pages: Vec<_> = loaded.chain(waiting).collect();
        pages.retain(|&page| self.pages.residency.is_in_file(page));
        pages.sort_unstable();
        pages
    }

    /// A page that is in the swap cache and not in memory is being read; a discovered page that has left again is about to be.
    fn slot_to_read(&self, page: PageId) -> Option<u32> {
        let Pages { residency, discovered, .. } = self.pages;
        let is_absent = residency.of(page) == Residence::Absent && !residency.is_cached(page);
        let slot = residency.slot(page).filter(|_| is_absent && !discovered.has(page));
        slot.map(|slot| slot.0)
    }

    fn page_in(&self, slot: u32) -> Option<PageId> {
        self.pages.residency.page_in(Slot(slot))
    }
}
