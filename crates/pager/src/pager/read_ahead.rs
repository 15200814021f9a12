//! Pages that are read ahead, together with a page that the program waits for.
//!
//! They are in memory but in no frame of the policy, which is not told of them: an access to one is a miss like any
//! other, for which nothing need be read. The pages read are those in the slots beside the wanted one: pages that
//! left together are likely to be wanted together, and the drive reads them in the same operation. How many are read
//! depends on how many of the previous ones were used, by Linux's rule for its swap (`__swapin_nr_pages` in
//! mm/swap_state.c).

use std::collections::VecDeque;
use std::io;
use std::time::Instant;

use clockhand_policy::PageId;

use super::page_states::{ASIDE, IN_FLIGHT, PRESENT, READ_AHEAD};
use super::{PAGE_BYTES, Pager};
use crate::parts::PagerError;
use crate::store::{PageAddress, Slot, Store};
use crate::watchdog::{Waits, during};

/// The most pages that are read together.
const MOST_TOGETHER: u32 = 16;

/// Pages that have been read ahead and not been accessed yet. Pages of zeros may be among them.
#[derive(Debug)]
pub(super) struct ReadAhead {
    /// How many pages there may be.
    capacity: usize,
    /// The pages, in the order in which they were read.
    pub(super) waiting: VecDeque<Waiting>,
    /// How many pages are being read beside one that is waited for.
    under_way: usize,
    slots: Window,
    /// For pages of zeros that follow one which is touched, and for those that lead up to one.
    zeros: [Window; 2],
}

/// A page that has been read ahead.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) page: PageId,
    /// How many pages have been needed since that were not at hand.
    misses: u32,
}

/// A read under way: a page that the program waits for, and others beside it.
pub(super) struct Reading {
    page: PageId,
    slot: Slot,
    others: Vec<(PageId, Slot)>,
    state: State,
}

/// How far a read is.
enum State {
    UnderWay,
    /// Read, or not even begun.
    Ended(io::Result<()>),
}

impl Reading {
    /// The page that the program waits for.
    pub(super) fn page(&self) -> PageId {
        self.page
    }

    /// How many pages are read beside it.
    pub(super) fn others(&self) -> usize {
        self.others.len()
    }

    /// Waits until the store has read, or could not.
    fn end(&mut self, store: &mut dyn Store) {
        if let State::UnderWay = self.state {
            self.state = State::Ended(store.end_read());
        }
    }

    /// The page that the program waits for and its slot, the others, and whether all of them have been read.
    fn ended(
        mut self,
        store: &mut dyn Store,
    ) -> (PageId, Slot, Vec<(PageId, Slot)>, io::Result<()>) {
        self.end(store);
        let State::Ended(result) = self.state else { unreachable!("it was waited for") };
        (self.page, self.slot, self.others, result)
    }
}

/// How many pages are read together.
#[derive(Debug)]
struct Window {
    /// Pages that were accessed since the last time pages were read ahead.
    used: u32,
    /// How many were read together the last time.
    last_together: u32,
    /// Where the last page was that the program waited for.
    last_place: u32,
}

impl Default for Window {
    fn default() -> Self {
        Window { used: 0, last_together: 1, last_place: u32::MAX }
    }
}

impl Window {
    /// How many pages to read together, the one at `place` included: a power of two, and no more than there is room for.
    fn pages_together(&self, place: u32, capacity: usize) -> usize {
        let is_neighbour = place.abs_diff(self.last_place) == 1;
        let by_use = match self.used {
            0 if !is_neighbour => 1,
            used => (used + 2).next_power_of_two(),
        };
        let most = MOST_TOGETHER.min(capacity as u32 + 1);
        by_use.max(self.last_together / 2).min(1 << most.ilog2()) as usize
    }

    /// So many pages are read together.
    fn moves(&mut self, place: u32, together: usize) {
        *self = Window { used: 0, last_together: together as u32, last_place: place };
    }
}

impl ReadAhead {
    pub(super) fn new(capacity: u32) -> Self {
        ReadAhead {
            capacity: capacity as usize,
            waiting: VecDeque::new(),
            under_way: 0,
            slots: Window::default(),
            zeros: Default::default(),
        }
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// A page is needed that is not at hand. Returns the pages that are worth a look: at the first such page after they came,
    /// since their use says whether reading ahead pays, and then at the second, the fourth, and so on.
    pub(super) fn due(&mut self) -> Vec<PageId> {
        for waiting in &mut self.waiting {
            waiting.misses = waiting.misses.saturating_add(1);
        }
        let due = self.waiting.iter().filter(|waiting| waiting.misses.is_power_of_two());
        due.map(|waiting| waiting.page).collect()
    }

    /// The pages that are dropped for so many others, apart from those that have been discovered.
    pub(super) fn about_to_leave(
        &self,
        others: usize,
        is_discovered: impl Fn(PageId) -> bool,
    ) -> Vec<PageId> {
        let waiting = self.waiting.iter().map(|waiting| waiting.page);
        let mut staying: Vec<_> = waiting.filter(|&page| !is_discovered(page)).collect();
        let leaving = (staying.len() + others).saturating_sub(self.capacity);
        staying.truncate(leaving);
        staying
    }

    /// A page has been read ahead.
    pub(super) fn push(&mut self, page: PageId) {
        self.waiting.push_back(Waiting { page, misses: 0 });
    }

    /// How many pages of zeros to offer together, the one that the program waits for included.
    pub(super) fn zeros_together(&self, page: PageId, is_upwards: bool) -> usize {
        self.zeros[usize::from(is_upwards)].pages_together(page.0, self.capacity)
    }

    /// So many pages of zeros are offered together.
    pub(super) fn zeros_are_offered(&mut self, page: PageId, is_upwards: bool, together: usize) {
        self.zeros[usize::from(is_upwards)].moves(page.0, together);
    }

    /// A page is accessed.
    fn used(&mut self, is_zeros: bool) {
        match is_zeros {
            true => self.zeros.iter_mut().for_each(|window| window.used += 1),
            false => self.slots.used += 1,
        }
    }
}

impl Pager {
    /// Begins to read the page that the program waits for, and others beside it, for which room must be made before they
    /// have been read.
    pub(super) fn begin_reading(&mut self, page: PageId, slot: Slot) -> Reading {
        // A store reads for one at a time.
        if let Some(reading) = &mut self.early {
            reading.end(&mut *self.store);
        }
        let others = self.beside(slot);
        let together = self.read_ahead.slots.pages_together(slot.0, self.read_ahead.capacity);
        self.read_ahead.slots.moves(slot.0, together);
        self.read_ahead.under_way += others.len();
        self.keep_to_frames(0);
        let wanted = others.iter().copied().chain([(page, slot)]);
        let mut reads: Vec<(Slot, PageAddress)> =
            wanted.map(|(page, slot)| (slot, self.place_to_read(page))).collect();
        reads.sort_unstable_by_key(|&(slot, _)| slot.0);
        // SAFETY: none of the pages has content or a translation, and this thread alone handles them, and nothing else with
        // them before the read has ended.
        let begin = || unsafe { self.store.begin_read(&reads) };
        let started = Instant::now();
        // Most stores have read when they return.
        let begun = during(Waits::ForRead, begin);
        self.times.read_wait += started.elapsed();
        let state = match begun {
            Ok(()) => State::UnderWay,
            failed => State::Ended(failed),
        };
        Reading { page, slot, others, state }
    }

    /// The same when frames have been made free already.
    pub(super) fn begin_reading_late(
        &mut self,
        page: PageId,
        slot: Slot,
    ) -> Result<Reading, PagerError> {
        let reading = self.begin_reading(page, slot);
        if let Err(error) = self.make_room_to_read_ahead(0) {
            self.abandon_reading(reading)?;
            return Err(error);
        }
        Ok(reading)
    }

    /// Waits for what has been read. If the pages could not be read together, the one that the program waits for is read
    /// alone.
    pub(super) fn end_reading(&mut self, reading: Reading) -> Result<(), PagerError> {
        let (page, slot, mut others, mut read) = reading.ended(&mut *self.store);
        self.read_ahead.under_way -= others.len();
        if read.is_err() && !others.is_empty() {
            for (other, _) in others.drain(..) {
                self.has_not_been_read(other)?;
            }
            let address = self.place_to_read(page);
            // SAFETY: the page has no translation in the program, and this thread alone handles it.
            read = unsafe { self.store.read(slot, address) };
        }
        if let Err(source) = read {
            self.has_not_been_read(page)?;
            return Err(PagerError::Store { operation: "read from", page, source });
        }
        for &(other, _) in &others {
            self.arrived(other);
            self.pages.set(other, READ_AHEAD);
            self.read_ahead.push(other);
        }
        self.counts.read_operations += 1;
        self.counts.pages_read_ahead += others.len() as u64;
        self.counts.bytes_read += PAGE_BYTES * (others.len() as u64 + 1);
        self.offer(others.into_iter().map(|(other, _)| other).collect())
    }

    /// Waits for what is being read, and leaves nothing behind.
    pub(super) fn abandon_reading(&mut self, reading: Reading) -> Result<(), PagerError> {
        // What is not wanted need not have been read.
        let (page, slot, others, _) = reading.ended(&mut *self.store);
        self.read_ahead.under_way -= others.len();
        for (page, _) in others.into_iter().chain([(page, slot)]) {
            self.has_not_been_read(page)?;
        }
        Ok(())
    }

    /// The pages to read in one operation with the one in `slot`: their slots follow it or lead up to it without a gap. A
    /// page that is in memory is a gap.
    fn beside(&self, slot: Slot) -> Vec<(PageId, Slot)> {
        let most = self.read_ahead.slots.pages_together(slot.0, self.read_ahead.capacity) - 1;
        let readable = |number: u32| {
            let page = self.pages.page_in(Slot(number))?;
            // What is aside and not in memory is being read; what has been discovered and has left again is about to be.
            let is_absent = !self.pages.has(page, PRESENT | IN_FLIGHT | ASIDE);
            let is_wanted = is_absent && !self.is_discovered(page);
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

    /// A page that was read ahead is found to have been accessed: that is known before it is loaded.
    pub(super) fn read_ahead_was_used(&mut self, page: PageId) {
        self.read_ahead.used(self.pages.slot(page).is_none());
    }

    /// A page that was read ahead, or was otherwise at hand, is accessed.
    pub(super) fn use_read_ahead(&mut self, page: PageId) {
        self.pages.clear(page, READ_AHEAD);
        let is_zeros = self.pages.slot(page).is_none();
        // It has left, or is late.
        if self.offers.is_some() && self.pages.has(page, ASIDE) {
            self.left.retain(|&left| left != page);
            self.counts.pages_rescued += 1;
            return;
        }
        if !self.is_discovered(page) {
            self.read_ahead.used(is_zeros);
        }
        self.read_ahead.waiting.retain(|waiting| waiting.page != page);
        match is_zeros {
            true => self.counts.pages_zero_filled += 1,
            false => self.counts.pages_read += 1,
        }
    }

    /// How many frames pages hold that have been read ahead, or are late, or are being read beside one that is waited for.
    pub(super) fn frames_ahead(&self) -> usize {
        self.read_ahead.waiting.len() + self.late_pages() + self.read_ahead.under_way
    }

    /// Drops the pages that have waited longest, for those that are being read and so many others, but not the one that is being
    /// loaded. For what is read early room is made when the page is loaded beside which it is read.
    pub(super) fn make_room_to_read_ahead(&mut self, others: usize) -> Result<(), PagerError> {
        let early = self.early.as_ref().map_or(0, Reading::others);
        while self.frames_ahead() - early + others > self.read_ahead.capacity {
            let mut waiting = self.read_ahead.waiting.iter().map(|waiting| waiting.page);
            let Some(page) = waiting.find(|&page| !self.is_being_loaded(page)) else { break };
            self.drop_ahead(page)?;
        }
        Ok(())
    }

    /// Drops a page that waits to be accessed. If it has been written in its last moment it is late.
    pub(super) fn drop_ahead(&mut self, page: PageId) -> Result<(), PagerError> {
        let is_late = self.take_clean(page)?;
        self.read_ahead.waiting.retain(|waiting| waiting.page != page);
        if is_late {
            self.keep_late(page);
            return Ok(());
        }
        self.counts.pages_read_in_vain += u64::from(self.pages.slot(page).is_some());
        self.pages.clear(page, READ_AHEAD);
        self.leave(page)
    }
}
