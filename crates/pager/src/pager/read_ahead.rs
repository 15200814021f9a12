//! Pages that are read ahead, together with a page that the program waits for.
//!
//! Prefetched pages are in memory but in no frame of the policy, which does not know of them. An access to one is a
//! miss that needs no read. Four predictors choose them. *Slots* choose pages that left together: they are likely to be
//! wanted together, and the drive reads neighbouring slots in one operation. The next page of a sequential stream comes
//! from [Streams], a page that a pointer leads to from [Trails], and one at a recurring distance from [Offsets]. A
//! drive reads eight pages from anywhere in hardly twice the time of one. The number grows when prefetched pages are
//! used and shrinks when they are not.

use std::collections::VecDeque;
use std::io;
use std::time::Instant;

use clockhand_policy::{Frames, PageId};

use super::offsets::{Expected, Offsets};
use super::page_states::{IN_FLIGHT, IN_SWAP_CACHE, PRESENT, READ_AHEAD};
use super::trails::Trails;
use super::window::{StreamId, Streams, Window};
use super::{PAGE_BYTES, Pager};
use crate::parts::PagerError;
use crate::store::{PageAddress, Slot, Store};
use crate::watchdog::{Waits, during};

/// The most pages that are read together because pointers lead to them.
const MOST_BY_POINTERS: usize = 16;

/// The most pages at distances that recur that are read together.
const MOST_BY_OFFSETS: usize = 8;

/// Pages that have been read ahead and not been accessed yet. Pages of zeros may be among them.
#[derive(Debug)]
pub(super) struct ReadAhead {
    /// How many pages there may be.
    capacity: usize,
    /// The pages, in the order they were read.
    pub(super) waiting: VecDeque<Waiting>,
    /// The number of pages that are being read beside one that is waited for.
    under_way: usize,
    slots: Window,
    streams: Streams,
    offsets: Offsets,
    pub(super) trails: Trails,
    /// For pages of zeros that follow one which is touched, and for those that lead up to one.
    zeros: [Window; 2],
}

/// A page that has been read ahead.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) page: PageId,
    /// The number of pages that have been needed since that were not at hand.
    misses: u32,
    guess: Guess,
}

/// Why a page is read with another one: if for none of these reasons, a pointer leads to it, or it is zeros.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Guess {
    /// Its slot is beside.
    is_beside: bool,
    /// It is the next one of a stream.
    stream: Option<StreamId>,
    /// It is at a distance that recurs.
    expected: Option<Expected>,
}

/// A page that is read with another one.
#[derive(Clone, Copy, Debug)]
struct Other {
    page: PageId,
    slot: Slot,
    guess: Guess,
}

/// A read under way: a page that the program waits for, and others beside it.
pub(super) struct Reading {
    page: PageId,
    slot: Slot,
    others: Vec<Other>,
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

    /// The number of pages that are read beside it.
    pub(super) fn others(&self) -> usize {
        self.others.len()
    }

    /// Waits until the store has read, or could not.
    fn end(&mut self, store: &mut dyn Store) {
        if let State::UnderWay = self.state {
            self.state = State::Ended(store.end_read());
        }
    }

    /// Returns whether the page that the program waits for may have been read while the others are still read. It is
    /// likely to want one of the others at once if they are neighbours, or pointers lead to them, and would wait again.
    fn may_go_on(&self) -> bool {
        matches!(self.state, State::UnderWay)
            && !self.others.is_empty()
            && self.others.iter().all(|other| other.guess.expected.is_some())
    }

    /// The page that the program waits for and its slot, the others, and whether all of them have been read.
    fn ended(mut self, store: &mut dyn Store) -> (PageId, Slot, Vec<Other>, io::Result<()>) {
        self.end(store);
        let State::Ended(result) = self.state else { unreachable!("it was waited for") };
        (self.page, self.slot, self.others, result)
    }
}

impl ReadAhead {
    pub(super) fn new(capacity: u32) -> Self {
        ReadAhead {
            capacity: capacity as usize,
            waiting: VecDeque::new(),
            under_way: 0,
            slots: Window::default(),
            streams: Streams::default(),
            offsets: Offsets::default(),
            trails: Trails::default(),
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

    /// The pages that are dropped for this number of others, apart from discovered ones.
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
    pub(super) fn push(&mut self, page: PageId, guess: Guess) {
        self.waiting.push_back(Waiting { page, misses: 0, guess });
    }

    /// A page waits no more.
    fn remove(&mut self, page: PageId) {
        let at = self.waiting.iter().position(|waiting| waiting.page == page);
        at.and_then(|at| self.waiting.remove(at));
    }

    /// How many pages of zeros to expose together, the one that the program waits for included.
    pub(super) fn zeros_together(&self, page: PageId, is_upwards: bool) -> usize {
        self.zeros[usize::from(is_upwards)].pages_together(page.0, self.capacity)
    }

    /// So many pages of zeros are exposed together.
    pub(super) fn zeros_were_exposed(&mut self, page: PageId, is_upwards: bool, together: usize) {
        self.zeros[usize::from(is_upwards)].moves(page.0, together);
    }

    /// A page is accessed.
    fn used(&mut self, page: PageId, is_zeros: bool) {
        if is_zeros {
            self.zeros.iter_mut().for_each(|window| window.used += 1);
            return;
        }
        let mut waiting = self.waiting.iter();
        let Some(waiting) = waiting.find(|waiting| waiting.page == page) else { return };
        self.slots.used += u32::from(waiting.guess.is_beside);
        if let Some(stream) = waiting.guess.stream {
            self.streams.used(stream);
        }
        if let Some(expected) = waiting.guess.expected {
            self.offsets.used(expected);
        }
    }
}

impl Pager {
    /// Begins to read the page that the program waits for, and others beside it, for which room must be made before they
    /// have been read.
    pub(super) fn begin_reading(&mut self, page: PageId, slot: Slot) -> Reading {
        // A store reads for one at a time.
        for reading in self.early.iter_mut().chain(&mut self.background_read) {
            reading.end(&mut *self.store);
        }
        let others = self.likely_with(page, slot);
        self.read_ahead.under_way += others.len();
        self.keep_to_frames(0);
        let wanted = others.iter().map(|other| (other.page, other.slot)).chain([(page, slot)]);
        let mut reads: Vec<(Slot, PageAddress)> =
            wanted.map(|(page, slot)| (slot, self.place_to_read(page))).collect();
        reads.sort_unstable_by_key(|&(slot, _)| slot.0);
        // Most stores have read when they return.
        // SAFETY: none of the pages has content or a translation, and this thread alone handles them, and nothing else with
        // them before the read has ended.
        let begun = self.wait_for_read(|pager| unsafe { pager.store.begin_read(&reads) });
        let state = match begun {
            Ok(()) => State::UnderWay,
            failed => State::Ended(failed),
        };
        Reading { page, slot, others, state }
    }

    /// The same when frames have been made free already.
    pub(super) fn begin_reading_in_freed_frames(
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

    /// Counts the time as waiting for the store to read.
    pub(super) fn wait_for_read<T>(&mut self, wait: impl FnOnce(&mut Self) -> T) -> T {
        let started = Instant::now();
        let result = during(Waits::ForRead, || wait(self));
        self.times.read_wait += started.elapsed();
        result
    }

    /// Waits for what has been read, or only for the page that the program waits for: then the others [go on](Self::end_background_read).
    /// If the pages could not be read together, the one that the program waits for is read alone.
    pub(super) fn end_reading(&mut self, reading: Reading) -> Result<(), PagerError> {
        let may_go_on =
            self.silent.is_some() && self.background_read.is_none() && reading.may_go_on();
        if may_go_on && self.store.end_read_of(reading.slot) {
            self.counts.read_operations += 1;
            self.counts.bytes_read += PAGE_BYTES;
            self.background_read = Some(reading);
            return Ok(());
        }
        let (page, slot, mut others, mut read) = reading.ended(&mut *self.store);
        self.read_ahead.under_way -= others.len();
        if read.is_err() && !others.is_empty() {
            for other in others.drain(..) {
                self.has_not_been_read(other.page)?;
            }
            let address = self.place_to_read(page);
            // SAFETY: the page has no translation in the program, and this thread alone handles it.
            read = unsafe { self.store.read(slot, address) };
        }
        if let Err(source) = read {
            self.has_not_been_read(page)?;
            return Err(PagerError::Store { operation: "read from", page, source });
        }
        self.counts.read_operations += 1;
        self.counts.bytes_read += PAGE_BYTES;
        self.have_been_read(others)
    }

    /// Waits for the pages read beside one that the program has already: before anything else is done.
    pub(super) fn end_background_read(&mut self) -> Result<(), PagerError> {
        let Some(reading) = self.background_read.take() else { return Ok(()) };
        let (_, _, others, read) = self.wait_for_read(|pager| reading.ended(&mut *pager.store));
        self.read_ahead.under_way -= others.len();
        if read.is_ok() {
            return self.have_been_read(others);
        }
        // No fault depends on these pages; a later fault on one retries and reports the error.
        others.iter().try_for_each(|other| self.has_not_been_read(other.page))
    }

    /// Pages have been read with another one.
    fn have_been_read(&mut self, others: Vec<Other>) -> Result<(), PagerError> {
        for other in &others {
            self.arrived(other.page);
            self.pages.set(other.page, READ_AHEAD);
            self.read_ahead.push(other.page, other.guess);
        }
        self.counts.pages_read_ahead += others.len() as u64;
        self.counts.bytes_read += PAGE_BYTES * others.len() as u64;
        self.expose(others.into_iter().map(|other| other.page).collect())
    }

    /// Waits for what is being read, and leaves nothing behind.
    pub(super) fn abandon_reading(&mut self, reading: Reading) -> Result<(), PagerError> {
        // A read that is not wanted any more may fail.
        let (page, _, others, _) = reading.ended(&mut *self.store);
        self.read_ahead.under_way -= others.len();
        for page in others.into_iter().map(|other| other.page).chain([page]) {
            self.has_not_been_read(page)?;
        }
        Ok(())
    }

    /// The pages to read with the one that the program waits for.
    fn likely_with(&mut self, page: PageId, slot: Slot) -> Vec<Other> {
        let capacity = self.read_ahead.capacity;
        if capacity == 0 {
            return Vec::new();
        }
        let mut others = self.beside(slot);
        let is_of_stream = self.add_next_of_stream(page, &mut others);
        self.add_next_of_trail(page, is_of_stream, &mut others);
        self.add_expected(page, &mut others);
        others
    }

    /// Tells whether a page could be read now, and from where. A page that is in the swap cache and not in memory is being read; a
    /// discovered page that has left again is about to be.
    fn slot_to_read(&self, page: PageId) -> Option<Slot> {
        let is_absent = !self.pages.has(page, PRESENT | IN_FLIGHT | IN_SWAP_CACHE);
        self.pages.slot(page).filter(|_| is_absent && !self.is_discovered(page))
    }

    /// The pages whose slots follow this one, or lead up to it, without a gap. A page that is in memory is a gap.
    fn beside(&mut self, slot: Slot) -> Vec<Other> {
        let together = self.read_ahead.slots.pages_together(slot.0, self.read_ahead.capacity);
        self.read_ahead.slots.moves(slot.0, together);
        let most = together - 1;
        let guess = Guess { is_beside: true, ..Guess::default() };
        let readable = |number: u32| {
            let page = self.pages.page_in(Slot(number))?;
            self.slot_to_read(page).map(|slot| Other { page, slot, guess })
        };
        let behind = (slot.0 + 1..=u32::MAX).map_while(readable).take(most);
        let mut others: Vec<_> = behind.collect();
        let before = (0..slot.0).rev().map_while(readable).take(most - others.len());
        others.extend(before);
        others
    }

    /// Adds the pages that follow in memory, on the way that the program takes. Returns whether it has come that way.
    fn add_next_of_stream(&mut self, page: PageId, others: &mut Vec<Other>) -> bool {
        let room = self.read_ahead.capacity - others.len();
        let (stream, next) = self.read_ahead.streams.follow(page, room);
        let is_of_stream = !next.is_empty();
        for next in next.into_iter().filter(|next| next.0 < self.program.pages()) {
            if let Some(other) = others.iter_mut().find(|other| other.page == next) {
                other.guess.stream = Some(stream);
            } else if let Some(slot) = self.slot_to_read(next) {
                let guess = Guess { stream: Some(stream), ..Guess::default() };
                others.push(Other { page: next, slot, guess });
            }
        }
        is_of_stream
    }

    /// Adds the pages at distances from this one that recur, if there is no better reason to read another one: they would drop
    /// pages that are likelier, and leave gaps in rows of neighbours.
    fn add_expected(&mut self, page: PageId, others: &mut Vec<Other>) {
        if !self.waits_for(page) {
            return;
        }
        let expected = self.read_ahead.offsets.follow(self.waits_at);
        if !others.is_empty() {
            return;
        }
        let most = MOST_BY_OFFSETS.min(self.read_ahead.capacity / 4);
        for expected in expected {
            if others.len() == most {
                break;
            }
            let number = expected.place / PAGE_BYTES;
            if number >= u64::from(self.program.pages()) {
                continue;
            }
            let next = PageId(number as u32);
            let is_new = next != page && others.iter().all(|other| other.page != next);
            if is_new && let Some(slot) = self.slot_to_read(next) {
                let guess = Guess { expected: Some(expected), ..Guess::default() };
                others.push(Other { page: next, slot, guess });
                self.read_ahead.offsets.read(expected);
            }
        }
    }

    /// Returns whether the program waits for this page. It does not for one that was discovered.
    fn waits_for(&self, page: PageId) -> bool {
        self.waits_at / PAGE_BYTES == u64::from(page.0)
    }

    /// Adds the targets of pointers that the program follows.
    fn add_next_of_trail(&mut self, page: PageId, is_of_stream: bool, others: &mut Vec<Other>) {
        if !self.waits_for(page) {
            return;
        }
        let room = self.read_ahead.capacity - others.len();
        let most = MOST_BY_POINTERS.min(self.read_ahead.capacity / 4).min(room);
        let searchable = || {
            let frames = self.memory.resident_frames().into_iter();
            let loaded = frames.map(|frame| self.memory.frames().page(frame));
            let waiting = self.read_ahead.waiting.iter().map(|waiting| waiting.page);
            let mut pages: Vec<_> = loaded.chain(waiting).collect();
            pages.retain(|&page| {
                self.pages.has(page, PRESENT) && !self.pages.has(page, IN_SWAP_CACHE)
            });
            pages.sort_unstable();
            pages
        };
        let next = self.read_ahead.trails.follow(
            self.waits_at,
            &*self.program,
            // No pointer leads to the next page of a table.
            (!is_of_stream).then_some(searchable),
        );
        let mut added = Vec::with_capacity(most);
        for next in next {
            if added.len() == most {
                break;
            }
            let is_new =
                next != page && others.iter().chain(&added).all(|other| other.page != next);
            if is_new && let Some(slot) = self.slot_to_read(next) {
                added.push(Other { page: next, slot, guess: Guess::default() });
            }
        }
        others.extend(added);
    }

    /// Where to read a page's content to.
    fn place_to_read(&mut self, page: PageId) -> PageAddress {
        if self.is_sensed() {
            self.pages.set(page, IN_SWAP_CACHE);
            return self.swap_cache.place(page).address();
        }
        self.program.address(page)
    }

    /// A partial read is worthless.
    fn has_not_been_read(&mut self, page: PageId) -> Result<(), PagerError> {
        if self.is_sensed() {
            self.pages.clear(page, IN_SWAP_CACHE);
            self.swap_cache.remove(page);
            return Ok(());
        }
        Ok(self.program.forget(page, 1)?)
    }

    /// A page that was read ahead is found to have been accessed: that is known before it is loaded.
    pub(super) fn read_ahead_was_used(&mut self, page: PageId) {
        self.read_ahead.used(page, self.pages.slot(page).is_none());
    }

    /// A page that was read ahead, or was otherwise at hand, is accessed.
    pub(super) fn use_read_ahead(&mut self, page: PageId) {
        self.pages.clear(page, READ_AHEAD);
        let is_zeros = self.pages.slot(page).is_none();
        // It has left, or refaults.
        if self.silent.is_some() && self.pages.has(page, IN_SWAP_CACHE) {
            self.left.retain(|&left| left != page);
            self.counts.pages_rescued += 1;
            return;
        }
        if !self.is_discovered(page) {
            self.read_ahead.used(page, is_zeros);
        }
        self.read_ahead.remove(page);
        match is_zeros {
            true => self.counts.pages_zero_filled += 1,
            false => self.counts.pages_read += 1,
        }
    }

    /// The number of frames of pages that were prefetched, refault, or are being read beside a wanted one.
    pub(super) fn frames_ahead(&self) -> usize {
        self.read_ahead.waiting.len() + self.refaulting_pages() + self.read_ahead.under_way
    }

    /// Drops the pages that have waited longest, for those being read and for `others` more, but not the one being
    /// loaded. Room for early reads is made when their page is loaded.
    pub(super) fn make_room_to_read_ahead(&mut self, others: usize) -> Result<(), PagerError> {
        let early = self.early.as_ref().map_or(0, Reading::others);
        while self.frames_ahead() - early + others > self.read_ahead.capacity {
            let mut waiting = self.read_ahead.waiting.iter().map(|waiting| waiting.page);
            let Some(page) = waiting.find(|&page| !self.is_being_loaded(page)) else { break };
            self.drop_ahead(page)?;
        }
        Ok(())
    }

    /// Drops a page that waits to be accessed. If it has been written in its last moment it refaults.
    pub(super) fn drop_ahead(&mut self, page: PageId) -> Result<(), PagerError> {
        let refaults = self.take_clean(page)?;
        self.read_ahead.remove(page);
        if refaults {
            self.keep_for_refault(page);
            return Ok(());
        }
        self.counts.pages_read_in_vain += u64::from(self.pages.slot(page).is_some());
        self.pages.clear(page, READ_AHEAD);
        self.leave(page)
    }
}
