//! The swap slots of anonymous pages: each takes the lowest free slot.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

const NONE: u32 = u32::MAX;

/// The slot of each page that was written, and the page of each used slot.
#[derive(Debug)]
pub(super) struct SwapSlots {
    slot_of_page: Vec<u32>,
    /// [`NONE`] for a free slot.
    page_of_slot: Vec<u32>,
    /// Free slots below the end of `page_of_slot`.
    free: BinaryHeap<Reverse<u32>>,
}

impl SwapSlots {
    /// No slot in use yet, for `pages` pages.
    pub(super) fn new(pages: usize) -> Self {
        SwapSlots {
            slot_of_page: vec![NONE; pages],
            page_of_slot: Vec::new(),
            free: BinaryHeap::new(),
        }
    }

    /// The page has been written: it gets the lowest free slot unless it has one.
    pub(super) fn written(&mut self, page: u32) {
        if self.slot_of_page[page as usize] != NONE {
            return;
        }
        let slot = self.free.pop().map_or_else(
            || {
                self.page_of_slot.push(NONE);
                self.page_of_slot.len() as u32 - 1
            },
            |Reverse(slot)| slot,
        );
        self.page_of_slot[slot as usize] = page;
        self.slot_of_page[page as usize] = slot;
    }

    /// The content of the page's slot is no longer needed.
    pub(super) fn release(&mut self, page: u32) {
        let slot = std::mem::replace(&mut self.slot_of_page[page as usize], NONE);
        if slot != NONE {
            self.page_of_slot[slot as usize] = NONE;
            self.free.push(Reverse(slot));
        }
    }

    /// The pages in the aligned group of `group_slots` slots around the page's own, ascending by slot; none if the
    /// page has no slot.
    pub(super) fn around(&self, page: u32, group_slots: u32) -> &[u32] {
        let slot = self.slot_of_page[page as usize];
        if slot == NONE {
            return &[];
        }
        let first = (slot - slot % group_slots) as usize;
        let end = (first + group_slots as usize).min(self.page_of_slot.len());
        &self.page_of_slot[first..end]
    }

    /// The slot of a page that has one.
    pub(super) fn slot_of(&self, page: u32) -> u64 {
        self.slot_of_page[page as usize].into()
    }

    /// Returns whether what [`SwapSlots::around`] gives is a page and not a free slot.
    pub(super) fn is_page(entry: u32) -> bool {
        entry != NONE
    }

    /// Used slots and their pages, for tests.
    #[cfg(test)]
    pub(super) fn used(&self) -> Vec<(u32, u32)> {
        let slots = (0..).zip(&self.page_of_slot);
        slots.filter(|&(_, &page)| page != NONE).map(|(slot, &page)| (slot, page)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_gets_the_lowest_free_slot_and_keeps_it() {
        let mut slots = SwapSlots::new(9);
        [4, 5, 6, 7].into_iter().for_each(|page| slots.written(page));
        slots.written(5);
        slots.release(6);
        slots.release(4);
        slots.release(4);
        assert_eq!(slots.around(7, 2), [NONE, 7]);
        slots.written(8);
        slots.written(1);
        slots.written(2);
        assert_eq!(slots.used(), [(0, 8), (1, 5), (2, 1), (3, 7), (4, 2)]);
        assert_eq!(slots.around(2, 4), [2]);
        assert_eq!(slots.around(3, 4), [0; 0]);
    }
}
