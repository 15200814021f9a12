//! Pages that are read ahead, together with a page that the program waits for.
//!
//! They are in memory but in no frame of the policy, which is not told of them: an access to one is a miss like any
//! other, for which nothing need be read. The pages read are those in the slots beside the wanted one: pages that
//! left together are likely to be wanted together, and the drive reads them in the same operation. How many are read
//! depends on how many of the previous ones were used, by Linux's rule for its swap (`__swapin_nr_pages` in
//! mm/swap_state.c).

use std::collections::VecDeque;

use clockhand_policy::PageId;
use clockhand_policy::page::BitDriven;

use super::page_states::{ASIDE, IN_FLIGHT, PRESENT, READ_AHEAD};
use super::{PAGE_BYTES, Pager};
use crate::paging::PagerError;
use crate::store::{PageAddress, Slot};

/// The most pages that are read together.
const MOST_TOGETHER: u32 = 16;

/// Pages that have been read ahead and not been accessed yet.
#[derive(Debug)]
pub(super) struct ReadAhead {
    /// How many pages there may be.
    capacity: usize,
    /// The pages, in the order in which they were read.
    pub(super) waiting: VecDeque<PageId>,
    /// Pages that were accessed since the last time pages were read ahead.
    used: u32,
    /// How many were read together the last time.
    last_together: u32,
    last_slot: Slot,
}

impl ReadAhead {
    pub(super) fn new(capacity: u32) -> Self {
        ReadAhead {
            capacity: capacity as usize,
            waiting: VecDeque::new(),
            used: 0,
            last_together: 1,
            last_slot: Slot(u32::MAX),
        }
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many pages to read together, the one in `slot` included: a power of two, and no more than there is room for.
    fn pages_together(&mut self, slot: Slot) -> u32 {
        let is_neighbour = slot.0.abs_diff(self.last_slot.0) == 1;
        let by_use = match self.used {
            0 if !is_neighbour => 1,
            used => (used + 2).next_power_of_two(),
        };
        let most = MOST_TOGETHER.min(self.capacity as u32 + 1);
        let together = by_use.max(self.last_together / 2).min(1 << most.ilog2());
        (self.used, self.last_together, self.last_slot) = (0, together, slot);
        together
    }

    /// Takes out a page that is accessed.
    pub(super) fn take(&mut self, page: PageId) {
        self.used += 1;
        self.waiting.retain(|&waiting| waiting != page);
    }
}

impl<P: BitDriven> Pager<P> {
    /// Reads the page that the program waits for, and others beside it.
    pub(super) fn read(&mut self, page: PageId, slot: Slot) -> Result<(), PagerError> {
        let together = self.read_ahead.pages_together(slot);
        let others = self.beside(slot, together as usize - 1);
        self.make_room_to_read_ahead(others.len())?;
        if !others.is_empty() && self.read_all(page, slot, &others)? {
            return Ok(());
        }
        let address = self.place_to_read(page);
        // SAFETY: the page has no translation in the program, and this thread alone handles it.
        if let Err(source) = unsafe { self.store.read(slot, address) } {
            self.has_not_been_read(page)?;
            return Err(PagerError::Store { operation: "read from", page, source });
        }
        self.counts.read_operations += 1;
        self.counts.bytes_read += PAGE_BYTES;
        Ok(())
    }

    /// Up to `most` pages that can be read in one operation with the one in `slot`: their slots follow it or lead up to
    /// it without a gap. A page that is in memory is a gap.
    fn beside(&self, slot: Slot, most: usize) -> Vec<(PageId, Slot)> {
        let readable = |number: u32| {
            let page = self.pages.page_in(Slot(number))?;
            let is_wanted = !self.pages.has(page, PRESENT | IN_FLIGHT);
            is_wanted.then_some((page, Slot(number)))
        };
        let behind = (slot.0 + 1..=u32::MAX).map_while(readable).take(most);
        let mut others: Vec<_> = behind.collect();
        let before = (0..slot.0).rev().map_while(readable).take(most - others.len());
        others.extend(before);
        others
    }

    /// Where to read a page's content to.
    fn place_to_read(&mut self, page: PageId) -> PageAddress {
        if self.is_sensed() {
            self.pages.set(page, ASIDE);
            return self.aside.place(page).address();
        }
        self.program.address(page)
    }

    /// A partial read is worthless.
    fn has_not_been_read(&mut self, page: PageId) -> Result<(), PagerError> {
        if self.is_sensed() {
            self.pages.clear(page, ASIDE);
            self.aside.remove(page);
            return Ok(());
        }
        Ok(self.program.forget(page, 1)?)
    }

    /// Reads a page and others with it; returns whether all could be read, and leaves nothing behind if not.
    fn read_all(
        &mut self,
        page: PageId,
        slot: Slot,
        others: &[(PageId, Slot)],
    ) -> Result<bool, PagerError> {
        let wanted = others.iter().copied().chain([(page, slot)]);
        let mut reads: Vec<(Slot, PageAddress)> =
            wanted.map(|(page, slot)| (slot, self.place_to_read(page))).collect();
        reads.sort_unstable_by_key(|&(slot, _)| slot.0);
        // SAFETY: none of the pages has content or a translation, and this thread alone handles them.
        if unsafe { self.store.read_together(&reads) }.is_err() {
            for &(other, _) in others.iter().chain([&(page, slot)]) {
                self.has_not_been_read(other)?;
            }
            return Ok(false);
        }
        for &(other, _) in others {
            self.arrived(other);
            self.pages.set(other, READ_AHEAD);
            self.read_ahead.waiting.push_back(other);
        }
        self.counts.read_operations += 1;
        self.counts.pages_read_ahead += others.len() as u64;
        self.counts.bytes_read += PAGE_BYTES * reads.len() as u64;
        Ok(true)
    }

    /// Drops the pages that have waited longest without being accessed.
    fn make_room_to_read_ahead(&mut self, pages: usize) -> Result<(), PagerError> {
        while self.read_ahead.waiting.len() + pages > self.read_ahead.capacity {
            let Some(page) = self.read_ahead.waiting.pop_front() else { break };
            self.pages.clear(page, READ_AHEAD);
            self.leave(page)?;
            self.counts.pages_read_in_vain += 1;
        }
        Ok(())
    }
}
