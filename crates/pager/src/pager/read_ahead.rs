//! Pages that are read ahead, together with a page that the program waits for.
//!
//! Prefetched pages are in memory but in no frame of the policy, which does not know of them. An access to one is a
//! miss that needs no read. [`Predictors`] choose them.

mod in_memory;

use std::collections::VecDeque;

use clockhand_policy::PageId;
use clockhand_prefetch::{Guess, Likely, PredictorSet, Predictors, Wanted, Window};

use self::in_memory::InMemory;
use super::PAGE_BYTES;
use super::pages::Pages;
use super::reading::Reading;
use super::residency::Residence;
use super::write_back::WriteBack;
use crate::parts::PagerError;
use crate::store::{Page, PageAddress, Slot};

/// Pages that have been read ahead and not been accessed yet. Pages of zeros may be among them.
pub(super) struct ReadAhead {
    /// How many pages there may be, and for how many of them there is no room, since others are there.
    capacity: usize,
    lent: usize,
    /// The pages, in the order they were read.
    waiting: VecDeque<Waiting>,
    predictors: Predictors,
    /// For pages of zeros that follow one which is touched, and for those that lead up to one.
    zeros: [Window; 2],
    /// Where in its memory the program waits, in bytes.
    waits_at: u64,
    /// The read of the page that is waited for, if it was begun before others are loaded.
    early: Option<Reading>,
    /// A read whose page the program has already, while others beside it are still read.
    background: Option<Reading>,
}

/// A page that has been read ahead.
struct Waiting {
    page: PageId,
    /// The number of pages that have been needed since that were not at hand.
    misses: u32,
    guess: Guess,
}

impl ReadAhead {
    pub(super) fn new(capacity: u32, predictors: PredictorSet) -> Self {
        let capacity = capacity as usize;
        ReadAhead {
            capacity,
            lent: 0,
            waiting: VecDeque::new(),
            predictors: Predictors::new(predictors, capacity),
            zeros: Default::default(),
            waits_at: 0,
            early: None,
            background: None,
        }
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// The number of frames that it has lent.
    pub(super) fn lent(&self) -> usize {
        self.lent
    }

    /// Returns whether frames may be lent: pages on their way fill those for which they were chosen.
    pub(super) fn may_lend(&self) -> bool {
        self.early.is_none() && self.background.is_none()
    }

    /// Lends frames, and takes back those that it has lent before.
    pub(super) fn lend(&mut self, lent: usize) {
        if lent != self.lent {
            self.lent = lent;
            self.predictors.set_capacity(self.room());
        }
    }

    fn room(&self) -> usize {
        self.capacity - self.lent
    }

    /// The pages that have been read ahead, in the order they were.
    pub(super) fn waiting(&self) -> impl Iterator<Item = PageId> + Clone {
        self.waiting.iter().map(|waiting| waiting.page)
    }

    /// The program waits for this byte of its memory.
    pub(super) fn waits_at(&mut self, offset: u64) {
        self.waits_at = offset;
    }

    /// A page has come into memory.
    pub(super) fn arrived(&mut self, page: PageId) {
        self.predictors.arrived(page);
    }

    /// Begins to read the page that the program waits for, and others beside it, for which room must be made before they
    /// have been read.
    pub(super) fn begin(&mut self, page: PageId, slot: Slot, pages: &mut Pages) -> Reading {
        // A store reads for one at a time.
        for reading in self.early.iter_mut().chain(&mut self.background) {
            reading.end(&mut *pages.store);
        }
        let waits_here = self.waits_at / PAGE_BYTES == u64::from(page.0);
        let offset = waits_here.then_some(self.waits_at);
        let wanted = Wanted { page, slot: slot.0, offset };
        let view = InMemory { pages, waiting: &self.waiting };
        let others = self.predictors.likely_with(wanted, &view);
        others.iter().for_each(|other| pages.residency.moves(other.page, Residence::Coming));
        pages.residency.keep_to_frames(0);
        let wanted =
            others.iter().map(|other| (other.page, Slot(other.slot))).chain([(page, slot)]);
        let mut reads: Vec<(Slot, PageAddress)> = wanted
            .map(|(page, slot)| (slot, pages.observation.place_to_read(page, &mut pages.residency)))
            .collect();
        reads.sort_unstable_by_key(|&(slot, _)| slot.0);
        // Most stores have read when they return.
        // SAFETY: none of the pages has content or a translation, and this thread alone handles them, and nothing else with
        // them before the read has ended.
        let begun = pages.wait_for_read(|store| unsafe { store.begin_read(&reads) });
        Reading::new(page, slot, others, begun)
    }

    /// The same when frames have been made free already.
    pub(super) fn begin_in_freed_frames(
        &mut self,
        page: PageId,
        slot: Slot,
        pages: &mut Pages,
        write_back: &mut WriteBack,
    ) -> Result<Reading, PagerError> {
        let reading = self.begin(page, slot, pages);
        if let Err(error) = self.make_room(0, pages, write_back) {
            reading.abandon(pages)?;
            return Err(error);
        }
        Ok(reading)
    }

    /// If the page must be read, begins that: the store reads while others are looked at and loaded.
    pub(super) fn begin_early(&mut self, page: PageId, pages: &mut Pages) {
        if pages.discovered.begun().is_some() || pages.discovered.has(page) {
            return;
        }
        if let Some(slot) = pages.residency.slot(page) {
            self.early = Some(self.begin(page, slot, pages));
        }
    }

    /// Takes out the read of the page that was begun early, if it was.
    pub(super) fn early(&mut self, page: PageId) -> Option<Reading> {
        self.early.take_if(|reading| reading.page() == page)
    }

    /// Returns whether a read was begun early and has not been taken out.
    pub(super) fn reads_early(&self) -> bool {
        self.early.is_some()
    }

    /// Gives up a read that was begun early: something has failed, and will be tried again.
    pub(super) fn abandon_early(&mut self, pages: &mut Pages) -> Result<(), PagerError> {
        self.early.take().map_or(Ok(()), |reading| reading.abandon(pages))
    }

    /// Waits for what has been read, or only for the page that the program waits for: then the others
    /// [go on](Self::end_background). If the pages could not be read together, the one that the program waits for is read
    /// alone.
    pub(super) fn end(&mut self, reading: Reading, pages: &mut Pages) -> Result<(), PagerError> {
        let may_go_on =
            pages.observation.shows_writes() && self.background.is_none() && reading.may_go_on();
        let slot = reading.slot();
        if may_go_on && pages.wait_for_read(|store| store.end_read_of(slot)) {
            self.background = Some(reading);
        } else {
            let others = reading.whole(pages)?;
            self.have_been_read(others, pages)?;
        }
        pages.counts.read_operations += 1;
        pages.counts.bytes_read += PAGE_BYTES;
        Ok(())
    }

    /// Waits for the pages read beside one that the program has already: before anything else is done.
    pub(super) fn end_background(&mut self, pages: &mut Pages) -> Result<(), PagerError> {
        let Some(reading) = self.background.take() else { return Ok(()) };
        let others = reading.beside(pages)?;
        self.have_been_read(others, pages)
    }

    /// Pages have been read with another one.
    fn have_been_read(&mut self, others: Vec<Likely>, pages: &mut Pages) -> Result<(), PagerError> {
        for &Likely { page, guess, .. } in &others {
            self.push(page, guess, pages);
        }
        pages.counts.pages_read_ahead += others.len() as u64;
        pages.counts.bytes_read += PAGE_BYTES * others.len() as u64;
        let others = others.into_iter().map(|other| other.page).collect();
        pages.observation.expose(others, &mut pages.residency)
    }

    /// A page has been read ahead.
    fn push(&mut self, page: PageId, guess: Guess, pages: &mut Pages) {
        pages.residency.moves(page, Residence::Ahead);
        self.arrived(page);
        self.waiting.push_back(Waiting { page, misses: 0, guess });
    }

    /// Exposes pages of zeros beside this one, which is touched for the first time.
    pub(super) fn expose_zeros_beside(
        &mut self,
        page: PageId,
        pages: &mut Pages,
        write_back: &mut WriteBack,
    ) -> Result<(), PagerError> {
        if !pages.observation.shows_writes() {
            return Ok(());
        }
        let (is_upwards, others) = self.zeros_beside(page, pages);
        let room = self.room();
        let window = &mut self.zeros[usize::from(is_upwards)];
        let together = window.pages_together(page.0, room);
        window.moves(page.0, together);
        let Some(&first) = others.iter().min() else { return Ok(()) };
        self.make_room(others.len(), pages, write_back)?;
        pages.residency.keep_to_frames(others.len());
        pages.observation.program.fill_unmapped(first, &vec![&Page::ZEROS; others.len()])?;
        others.into_iter().for_each(|other| self.push(other, Guess::default(), pages));
        Ok(())
    }

    /// The pages of zeros to expose with this one: those that follow it, or lead up to it if the next page has been touched
    /// already, since a program may fill its memory from the end, or from both ends. Returns also whether they follow.
    fn zeros_beside(&self, page: PageId, pages: &Pages) -> (bool, Vec<PageId>) {
        let is_untouched = |page: &PageId| {
            pages.residency.of(*page) == Residence::Absent && pages.residency.slot(*page).is_none()
        };
        let following = (page.0 + 1..pages.number()).map(PageId).take_while(is_untouched);
        let is_upwards = following.clone().next().is_some();
        let window = &self.zeros[usize::from(is_upwards)];
        let others = window.pages_together(page.0, self.room()) - 1;
        let leading = (0..page.0).rev().map(PageId).take_while(is_untouched);
        let beside = match is_upwards {
            true => following.take(others).collect(),
            false => leading.take(others).collect(),
        };
        (is_upwards, beside)
    }

    /// A page is needed that is not at hand: looks at exposed pages, which others may replace. Of those that came, it looks
    /// at the first such page, since their use says whether reading ahead pays, and then at the second, the fourth, and
    /// so on; and at all that are about to be dropped.
    pub(super) fn look_before_others_come(&mut self, page: PageId, pages: &mut Pages) {
        for waiting in &mut self.waiting {
            waiting.misses = waiting.misses.saturating_add(1);
        }
        let due = self.waiting.iter().filter(|waiting| waiting.misses.is_power_of_two());
        let due: Vec<_> = due.map(|waiting| waiting.page).collect();
        self.look(due.clone(), pages);
        let others = match &self.early {
            Some(reading) => reading.others(),
            None => self.zeros_beside(page, pages).1.len(),
        };
        let staying = self.waiting().filter(|&page| !pages.discovered.has(page));
        let leaving = (staying.clone().count() + others).saturating_sub(self.room());
        let leaving = staying.take(leaving).filter(|page| !due.contains(page)).collect();
        self.look(leaving, pages);
    }

    /// Looks which of these pages have been accessed.
    fn look(&mut self, at: Vec<PageId>, pages: &mut Pages) {
        for page in pages.discover(at) {
            self.was_used(page, pages);
        }
    }

    /// Before a fork: finds which pages have been accessed.
    pub(super) fn look_at_all(&mut self, pages: &mut Pages) {
        self.look(self.waiting().collect(), pages);
    }

    /// A page that waits has been accessed.
    fn was_used(&mut self, page: PageId, pages: &Pages) {
        if pages.residency.slot(page).is_none() {
            self.zeros.iter_mut().for_each(Window::was_used);
        } else if let Some(waiting) = self.waiting.iter().find(|waiting| waiting.page == page) {
            self.predictors.used(waiting.guess);
        }
    }

    /// A page that was read ahead, or was otherwise at hand, is loaded for an access.
    pub(super) fn load(&mut self, page: PageId, pages: &mut Pages) {
        if pages.residency.of(page) != Residence::Ahead {
            // It has left, or refaults.
            pages.counts.pages_rescued += 1;
            return;
        }
        if !pages.discovered.has(page) {
            self.was_used(page, pages);
        }
        self.remove(page);
        match pages.residency.slot(page) {
            None => pages.counts.pages_zero_filled += 1,
            Some(_) => pages.counts.pages_read += 1,
        }
    }

    /// A page waits no more.
    fn remove(&mut self, page: PageId) {
        let at = self.waiting.iter().position(|waiting| waiting.page == page);
        at.and_then(|at| self.waiting.remove(at));
    }

    /// The program has freed these pages.
    pub(super) fn forget(&mut self, is_freed: impl Fn(PageId) -> bool) {
        self.waiting.retain(|waiting| !is_freed(waiting.page));
    }

    /// Drops the pages that have waited longest, for those being read and for `others` more, but not the one being
    /// loaded. Room for early reads is made when their page is loaded.
    pub(super) fn make_room(
        &mut self,
        others: usize,
        pages: &mut Pages,
        write_back: &mut WriteBack,
    ) -> Result<(), PagerError> {
        let early = self.early.as_ref().map_or(0, Reading::others);
        while pages.residency.frames_ahead() - early + others > self.room() {
            let loaded = pages.discovered.begun();
            let Some(page) = self.waiting().find(|&page| Some(page) != loaded) else { break };
            self.drop(page, pages, write_back)?;
        }
        Ok(())
    }

    /// Drops a page that waits to be accessed. If it has been written in its last moment it refaults.
    fn drop(
        &mut self,
        page: PageId,
        pages: &mut Pages,
        write_back: &mut WriteBack,
    ) -> Result<(), PagerError> {
        let refaults = write_back.take_clean(page, pages)?;
        self.remove(page);
        if refaults {
            pages.keep_for_refault(page);
            return Ok(());
        }
        pages.counts.pages_read_in_vain += u64::from(pages.residency.slot(page).is_some());
        pages.leave(page)
    }

    /// Drops all pages that wait.
    pub(super) fn drop_all(
        &mut self,
        pages: &mut Pages,
        write_back: &mut WriteBack,
    ) -> Result<(), PagerError> {
        while let Some(waiting) = self.waiting.front() {
            self.drop(waiting.page, pages, write_back)?;
        }
        Ok(())
    }
}
