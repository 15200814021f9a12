//! Writes pages to the store: at once, or collected and together while the program goes on.
//!
//! Dirty pages that are to leave may stay where the program reaches them until there are enough to take them away together.

mod departing;
mod holding;

use std::io;
use std::time::{Duration, Instant};

use clockhand_policy::{Frames, PageId};

use self::departing::{Departing, leaving};
use self::holding::Holding;
use super::PAGE_BYTES;
use super::pages::Pages;
use super::residency::Residence;
use crate::pace::{Waits, during};
use crate::parts::{InitialPages, PagerError};
use crate::store::{PageAddress, Slot, WriteTicket};

/// The most pages in one write for a forked child.
const MOST_COPIED_TOGETHER: usize = 256;

/// Pages that were evicted, or are to become clean, and are not yet in the store.
pub(super) struct WriteBack {
    /// Frames that are not the policy's: they are free, or hold pages on their way to the store.
    holding: Holding,
    /// Collected, to be written together, in the order they were.
    waiting: Vec<PageId>,
    /// Of those that wait and are still where the program reaches them: pages that it had no translation of when they were
    /// to leave.
    untouched: Vec<PageId>,
    /// Being written.
    under_way: Vec<(WriteTicket, Vec<PageId>)>,
    /// The page whose write is being prepared, which may fail and be tried again.
    preparing: Option<PageId>,
}

/// The outcome for a page that is to be written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    Stays,
    Leaves,
}

impl WriteBack {
    /// With `reserve` frames, and others that it may borrow from pages which are read ahead.
    pub(super) fn new(reserve: u32, lendable: u32) -> Self {
        WriteBack {
            holding: Holding::new(reserve as usize, lendable as usize),
            waiting: Vec::new(),
            untouched: Vec::new(),
            under_way: Vec::new(),
            preparing: None,
        }
    }

    /// The number of frames for pages on their way to the store, and how many of them are borrowed.
    pub(super) fn frames(&self) -> (usize, usize) {
        (self.holding.frames(), self.holding.borrowed())
    }

    /// Chooses how long pages that are to leave are held. Returns how many frames that borrows.
    pub(super) fn choose_held(&mut self, pages: &Pages) -> usize {
        self.holding.choose(pages.residency.number(Residence::Evicted));
        self.holding.borrowed()
    }

    /// A page leaves.
    pub(super) fn leaves(&mut self) {
        self.holding.leaves();
    }

    /// A page that was to leave, or has just left, is wanted again.
    pub(super) fn came_back(&mut self) {
        self.holding.came_back();
    }

    /// The page whose write has failed, and is prepared again.
    pub(super) fn preparing(&self) -> Option<PageId> {
        self.preparing
    }

    /// The pages that wait to be written, or are being written.
    pub(super) fn pages(&self) -> impl Iterator<Item = PageId> {
        let under_way = self.under_way.iter().flat_map(|(_, pages)| pages);
        self.waiting.iter().chain(under_way).copied()
    }

    /// Writes a page that is in memory; with a reserve, queues it.
    ///
    /// After a failure the page is not lost, and the caller asks again.
    pub(super) fn write(
        &mut self,
        page: PageId,
        then: Then,
        pages: &mut Pages,
    ) -> Result<(), PagerError> {
        if pages.residency.is_present(page) {
            self.enqueue(page, then, pages)?;
            if self.holding.frames() == 0 {
                self.write_all(pages)?;
            }
        } else {
            pages.counts.pages_not_written += 1;
        }
        self.preparing = None;
        Ok(())
    }

    /// Queues a page to be written, and keeps room in the reserve for one more eviction.
    fn enqueue(&mut self, page: PageId, then: Then, pages: &mut Pages) -> Result<(), PagerError> {
        // If the page is queued already, one write serves both.
        self.cancel(page, pages);
        // A write under way holds the page's content from before it was changed.
        while pages.residency.is_in_flight(page) {
            self.reap(true, pages)?;
        }
        // The content does not change from here until its write has started. Pages that leave are taken away later,
        // several together.
        let leaves_later = pages.observation.shows_writes()
            && then == Then::Leaves
            && self.holding.frames() > 0
            && !pages.residency.is_cached(page);
        if !leaves_later && pages.observation.content_to_write(page, then, &mut pages.residency)? {
            spare(page, pages);
            return Ok(());
        }
        let frames = self.holding.frames();
        while frames > 0 && pages.residency.number(Residence::Evicted) >= frames {
            if let Err(error) = self.wait_for_a_departure(pages) {
                forget_copy(page, pages);
                return Err(error);
            }
        }
        pages.residency.set_in_flight(page, true);
        self.waiting.push(page);
        self.preparing = Some(page);
        self.untouched.retain(|&untouched| untouched != page);
        if pages.memory.frames().is_untouched(pages.memory.frame_of(page)) {
            self.untouched.push(page);
        }
        if self.waiting.len() >= self.holding.held() + self.holding.together() {
            self.start_writes(Departing::Unwanted, self.holding.held(), pages)?;
            // It has been taken away, and was zeros.
            if !pages.residency.is_in_flight(page) {
                spare(page, pages);
            }
        }
        Ok(())
    }

    /// Removes a page from the queue, if it waits there.
    pub(super) fn cancel(&mut self, page: PageId, pages: &mut Pages) {
        if pages.residency.is_in_flight(page) {
            self.cancel_all(|waiting, _| waiting == page, pages);
        }
    }

    /// Removes the chosen pages from the queue: the program has freed them, or they will be written later.
    fn cancel_all(&mut self, is_chosen: impl Fn(PageId, &Pages) -> bool, pages: &mut Pages) {
        self.waiting.retain(|&page| {
            if !is_chosen(page, pages) {
                return true;
            }
            pages.residency.set_in_flight(page, false);
            forget_copy(page, pages);
            // A page whose write is only being prepared has not been evicted yet.
            pages.counts.pages_not_written += u64::from(self.preparing != Some(page));
            false
        });
    }

    /// The chosen pages need not be written: waits for those that are being written.
    pub(super) fn forget(
        &mut self,
        is_chosen: impl Fn(PageId) -> bool,
        pages: &mut Pages,
    ) -> Result<(), PagerError> {
        self.wait_for_writes_of(&is_chosen, pages)?;
        self.cancel_all(|page, _| is_chosen(page), pages);
        Ok(())
    }

    /// Waits until the evicted pages fit in the reserve again.
    pub(super) fn keep_reserve(&mut self, pages: &mut Pages) -> Result<(), PagerError> {
        while pages.residency.number(Residence::Evicted) > self.holding.frames() {
            self.wait_for_a_departure(pages)?;
        }
        Ok(())
    }

    fn wait_for_a_departure(&mut self, pages: &mut Pages) -> Result<(), PagerError> {
        let held = self.holding.held();
        self.start_writes(Departing::Unwanted, held, pages)?;
        if self.under_way.is_empty() {
            let others = self.waiting.len().saturating_sub(self.holding.together());
            self.start_writes(Departing::All, held.min(others), pages)?;
        }
        self.reap(true, pages)
    }

    /// Starts to write the queued pages but the last `held` ones, except those that have been changed since: they are in
    /// memory and dirty again.
    ///
    /// Their content does not change before the write has been started: a page in memory is write-protected when it is
    /// queued, and becomes dirty as soon as the protection is lifted.
    fn start_writes(
        &mut self,
        departing: Departing,
        held: usize,
        pages: &mut Pages,
    ) -> Result<(), PagerError> {
        let preparing = self.preparing;
        let is_changed = |page, pages: &Pages| {
            preparing != Some(page)
                && pages.residency.is_in_frame(page)
                && pages.memory.frames().is_dirty(pages.memory.frame_of(page))
        };
        self.cancel_all(is_changed, pages);
        let held = self.waiting.split_off(self.waiting.len().saturating_sub(held));
        let started = self.start_writes_of_waiting(departing, pages);
        self.waiting.extend(held);
        started
    }

    /// The same for all. They are written in the order of their addresses, so that neighbours in memory are neighbours in
    /// the store.
    fn start_writes_of_waiting(
        &mut self,
        departing: Departing,
        pages: &mut Pages,
    ) -> Result<(), PagerError> {
        if pages.observation.shows_writes() {
            self.depart(leaving(&self.waiting, pages), departing, pages)?;
        }
        self.waiting.sort_unstable_by_key(|&page| (pages.is_leaving(page), page));
        let ready = self.waiting.partition_point(|&page| !pages.is_leaving(page));
        let started = &self.waiting[..ready];
        if started.is_empty() {
            return Ok(());
        }
        let writes = place(started, pages);
        // SAFETY: a page in flight keeps its content in the memory file, or in the swap cache, until the write has finished:
        // `leave` is called for it only by `write_finished`, and `discard` waits for its write.
        let ticket = writes.and_then(|writes| unsafe { pages.store.start_write(&writes) });
        let ticket = ticket.map_err(|source| {
            pages.counts.write_errors += 1;
            written_to(started[0], source)
        })?;
        pages.counts.write_operations += 1;
        let others = self.waiting.split_off(ready);
        self.under_way.push((ticket, std::mem::replace(&mut self.waiting, others)));
        Ok(())
    }

    /// Collects writes that have finished; with `wait`, at least one if any is under way.
    pub(super) fn reap(&mut self, wait: bool, pages: &mut Pages) -> Result<(), PagerError> {
        let mut wait = wait;
        while !self.under_way.is_empty() {
            let started = wait.then(Instant::now);
            let waits = if wait { Waits::ForWrite } else { Waits::Works };
            let finished = during(waits, || pages.store.finished_write(wait));
            pages.times.write_wait += started.map_or(Duration::ZERO, |started| started.elapsed());
            let Some((ticket, result)) = finished else { return Ok(()) };
            wait = false;
            let position = self.under_way.iter().position(|(started, _)| *started == ticket);
            let (_, written) = self.under_way.swap_remove(position.expect("every ticket was kept"));
            match result {
                Ok(()) => write_finished(&written, pages)?,
                Err(source) => {
                    // Their content is still in memory, and they are queued again.
                    pages.counts.write_errors += 1;
                    let error = written_to(written[0], source);
                    self.waiting.extend(written);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Waits until no chosen page is being written; pages whose write failed are queued again.
    fn wait_for_writes_of(
        &mut self,
        is_chosen: impl Fn(PageId) -> bool,
        pages: &mut Pages,
    ) -> Result<(), PagerError> {
        let is_written = |under_way: &[(WriteTicket, Vec<PageId>)]| {
            under_way.iter().flat_map(|(_, written)| written).any(|&page| is_chosen(page))
        };
        while is_written(&self.under_way) {
            match self.reap(true, pages) {
                Ok(()) | Err(PagerError::Store { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes everything in the queue, and waits for everything under way.
    pub(super) fn write_all(&mut self, pages: &mut Pages) -> Result<(), PagerError> {
        self.start_writes(Departing::All, 0, pages)?;
        while !self.under_way.is_empty() {
            self.reap(true, pages)?;
        }
        Ok(())
    }
}

/// Copies pages whose newest content is not in the store into slots for a forked child.
pub(super) fn copy_changed(
    changed: &[PageId],
    copies: &mut InitialPages,
    pages: &mut Pages,
) -> Result<(), PagerError> {
    for together in changed.chunks(MOST_COPIED_TOGETHER) {
        let failed = |source| written_to(together[0], source);
        let mut slots = Vec::new();
        pages.store.allocate(together.len(), &mut slots).map_err(failed)?;
        copies.extend(together.iter().copied().zip(slots.iter().copied()));
        let addresses = together.iter().map(|&page| pages.address(page));
        let writes: Vec<_> = slots.into_iter().zip(addresses).collect();
        // SAFETY: the pages are frozen and none is evicted until this function has waited for the write.
        unsafe { pages.store.start_write(&writes) }.map_err(failed)?;
        let (_, result) = pages.store.finished_write(true).expect("one write is under way");
        result.map_err(failed)?;
        pages.counts.write_operations += 1;
        pages.counts.pages_copied_for_forks += together.len() as u64;
        pages.counts.bytes_written += PAGE_BYTES * together.len() as u64;
    }
    Ok(())
}

/// A page of zeros needs no write and no slot in the store: a page without a slot reads as zeros.
fn spare(page: PageId, pages: &mut Pages) {
    if let Some(former) = pages.residency.slot(page) {
        pages.store.release(former);
        pages.residency.set_slot(page, None);
    }
    pages.counts.pages_not_written += 1;
    pages.counts.zero_pages_not_written += 1;
}

/// The copy of a page, if it has one, is not going to be written.
fn forget_copy(page: PageId, pages: &mut Pages) {
    if !pages.residency.is_cached(page) {
        pages.residency.swap_cache.remove(page);
    }
}

/// These pages are now in the store.
fn write_finished(written: &[PageId], pages: &mut Pages) -> Result<(), PagerError> {
    for &page in written {
        pages.counts.pages_written += 1;
        pages.counts.bytes_written += PAGE_BYTES;
        pages.residency.set_in_flight(page, false);
        if pages.residency.of(page) == Residence::Evicted {
            pages.release(page)?;
        }
        forget_copy(page, pages);
    }
    Ok(())
}

fn written_to(page: PageId, source: io::Error) -> PagerError {
    PagerError::Store { operation: "written to", page, source }
}

/// The slot of each page: its old one if it is a single page, else slots next to each other.
fn place(written: &[PageId], pages: &mut Pages) -> io::Result<Vec<(Slot, PageAddress)>> {
    let Pages { store, residency, observation, .. } = pages;
    if let [page] = *written
        && let Some(slot) = residency.slot(page).filter(|&slot| !store.is_shared(slot))
    {
        return Ok(vec![(slot, observation.address_to_write(page, residency))]);
    }
    // The contents stay in memory until they are written, so nothing is lost if no new slots are available.
    for &page in written {
        if let Some(former) = residency.slot(page) {
            store.release(former);
            residency.set_slot(page, None);
        }
    }
    let mut slots = Vec::with_capacity(written.len());
    store.allocate(written.len(), &mut slots)?;
    let placed = written.iter().zip(slots).map(|(&page, slot)| {
        residency.set_slot(page, Some(slot));
        (slot, observation.address_to_write(page, residency))
    });
    Ok(placed.collect())
}
