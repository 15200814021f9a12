//! Writes pages to the store: at once, or collected and together while the program goes on.

use std::io;
use std::time::{Duration, Instant};

use clockhand_policy::{Frame, Frames, PageId};

use super::page_states::{IN_FLIGHT, IN_SWAP_CACHE, PRESENT, PageStates};
use super::{PAGE_BYTES, Pager};
use crate::any_memory::AnyMemory;
use crate::parts::{Event, InitialPages, PagerError};
use crate::store::{PageAddress, Slot, Store, WriteTicket};
use crate::watchdog::{Waits, during};

/// The most pages in one write.
pub(super) const MAX_CLUSTER_PAGES: usize = 256;

/// The write-back queue: pages that were evicted, or are to become clean, and are not yet in the store.
#[derive(Default)]
pub(super) struct WriteQueue {
    /// Collected, to be written together.
    pub(super) waiting: Vec<PageId>,
    /// Of those that wait and are still where the program reaches them: pages that it had no translation of when they were to
    /// leave.
    pub(super) untouched: Vec<PageId>,
    /// Being written.
    pub(super) under_way: Vec<(WriteTicket, Vec<PageId>)>,
    /// Of all these, pages that were evicted: each holds one frame of the reserve.
    pub(super) evicted: usize,
}

/// Which pages are taken away from a program that can still reach them, although they are to leave.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Departing {
    /// Those that it has not accessed since.
    Unwanted,
    All,
}

/// The outcome for a page that is to be written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    Stays,
    Leaves,
}

impl Pager {
    /// Writes a page that is in memory; with a reserve, queues it.
    ///
    /// After a failure the page is not lost, and the caller asks again.
    pub(super) fn write(&mut self, page: PageId, then: Then) -> Result<(), PagerError> {
        if self.pages.has(page, PRESENT) {
            self.enqueue(page, then)?;
            if self.reserve == 0 {
                self.write_all()?;
            }
        } else {
            self.counts.pages_not_written += 1;
        }
        self.preparing = None;
        Ok(())
    }

    /// Writes a page that stays.
    pub(super) fn write_back(&mut self, frame: Frame) -> Result<(), PagerError> {
        let page = self.memory.frames().page(frame);
        self.write(page, Then::Stays)?;
        self.memory.written_back(frame);
        self.counts.write_backs += 1;
        self.decided(Event::WriteBack { page });
        Ok(())
    }

    /// Queues a page to be written, and keeps room in the reserve for one more eviction.
    fn enqueue(&mut self, page: PageId, then: Then) -> Result<(), PagerError> {
        // If the page is queued already, one write serves both.
        self.cancel_write(page);
        // A write under way holds the page's content from before it was changed.
        while self.pages.has(page, IN_FLIGHT) {
            self.reap(true)?;
        }
        // The content does not change from here until its write has started. Pages that leave are taken away later,
        // several together.
        let leaves_later = self.silent.is_some()
            && then == Then::Leaves
            && self.reserve > 0
            && !self.pages.has(page, IN_SWAP_CACHE);
        if !leaves_later && self.take_content(page, then)? {
            self.spare(page);
            return Ok(());
        }
        while self.reserve > 0 && self.write_queue.evicted >= self.reserve {
            if let Err(error) = self.wait_for_a_departure() {
                self.forget_copy(page);
                return Err(error);
            }
        }
        self.pages.set(page, IN_FLIGHT);
        self.write_queue.waiting.push(page);
        self.preparing = Some(page);
        self.write_queue.untouched.retain(|&untouched| untouched != page);
        if self.memory.frames().is_untouched(self.memory.frame_of(page)) {
            self.write_queue.untouched.push(page);
        }
        if self.write_queue.waiting.len() >= self.cluster_pages() {
            self.start_writes(Departing::Unwanted)?;
            // It has been taken away, and was zeros.
            if !self.pages.has(page, IN_FLIGHT) {
                self.spare(page);
            }
        }
        Ok(())
    }

    /// The pages of the queue that are still where the program reaches them, in ascending order.
    fn leaving(&self) -> Vec<PageId> {
        let waiting = self.write_queue.waiting.iter().copied();
        let mut leaving: Vec<_> = waiting.filter(|&page| self.is_leaving(page)).collect();
        leaving.sort_unstable();
        leaving
    }

    /// While the store reads, takes away pages that are to leave, a row of neighbours at a time. Half of what is written
    /// together is left, since the program may want a page again.
    pub(super) fn depart_while_reading(&mut self) -> Result<(), PagerError> {
        let kept = self.cluster_pages() / 2;
        if self.silent.is_none() || self.write_queue.waiting.len() <= kept {
            return Ok(());
        }
        let leaving = self.leaving();
        let mut left = leaving.len();
        for row in leaving.chunk_by(|page, next| page.0 + 1 == next.0) {
            if left <= kept || self.store.has_read() {
                break;
            }
            left -= row.len();
            self.depart(row.to_vec(), Departing::Unwanted)?;
        }
        Ok(())
    }

    /// Takes away pages that are to leave, in ascending order: only what has gone is what was written last, since writes
    /// cannot be held up.
    fn depart(&mut self, mut leaving: Vec<PageId>, departing: Departing) -> Result<(), PagerError> {
        if departing == Departing::Unwanted {
            self.find_wanted(&mut leaving);
        }
        self.take_to_swap_cache(&leaving)?;
        for page in leaving {
            if self.swap_cache.content(page).is_zeros() {
                self.write_queue.waiting.retain(|&waiting| waiting != page);
                self.pages.clear(page, IN_FLIGHT);
                // The page whose write is only being prepared has not been counted as evicted yet, and leaves at once, unless the
                // write of others fails: then it is prepared again.
                if self.preparing != Some(page) {
                    self.spare(page);
                    self.write_queue.evicted -= 1;
                    self.leave(page)?;
                }
            }
        }
        let mut untouched = std::mem::take(&mut self.write_queue.untouched);
        untouched.retain(|&page| self.is_leaving(page));
        self.write_queue.untouched = untouched;
        Ok(())
    }

    /// A page of zeros needs no write and no slot in the store: a page without a slot reads as zeros.
    fn spare(&mut self, page: PageId) {
        if let Some(former) = self.pages.slot(page) {
            self.store.release(former);
            self.pages.set_slot(page, None);
        }
        self.counts.pages_not_written += 1;
        self.counts.zero_pages_not_written += 1;
    }

    /// Takes the content of a page that is to be written; returns whether it is zeros. With sensed bits a copy is written,
    /// since the page may leave at once.
    fn take_content(&mut self, page: PageId, then: Then) -> Result<bool, PagerError> {
        if self.pages.has(page, IN_SWAP_CACHE) {
            self.forbid_writes(page)?;
            return Ok(self.swap_cache.content(page).is_zeros());
        }
        if self.silent.is_some() && then == Then::Leaves {
            // Writes cannot be held up, so that only the page that has gone is what was written last.
            self.take_to_swap_cache(&[page])?;
            return Ok(self.swap_cache.content(page).is_zeros());
        }
        self.forbid_writes(page)?;
        if !self.is_sensed() {
            // SAFETY: the page has content.
            return Ok(unsafe { self.program.address(page).is_zeros() });
        }
        let copy = self.swap_cache.place(page);
        self.program.copy_content(page, copy)?;
        let is_zeros = copy.is_zeros();
        if is_zeros {
            self.swap_cache.remove(page);
        }
        Ok(is_zeros)
    }

    /// The copy of a page, if it has one, is not going to be written.
    fn forget_copy(&mut self, page: PageId) {
        if !self.pages.has(page, IN_SWAP_CACHE) {
            self.swap_cache.remove(page);
        }
    }

    pub(super) fn cancel_write(&mut self, page: PageId) {
        if self.pages.has(page, IN_FLIGHT) {
            self.cancel_writes(|waiting, _| waiting == page);
        }
    }

    /// Removes the chosen pages from the queue: the program has freed them, or they will be written later.
    pub(super) fn cancel_writes(&mut self, is_chosen: impl Fn(PageId, &dyn AnyMemory) -> bool) {
        let Self { write_queue, pages, counts, preparing, memory, swap_cache, .. } = self;
        write_queue.waiting.retain(|&page| {
            if !is_chosen(page, &**memory) {
                return true;
            }
            pages.clear(page, IN_FLIGHT);
            if !pages.has(page, IN_SWAP_CACHE) {
                swap_cache.remove(page);
            }
            // A page whose write is only being prepared has not been counted as evicted yet.
            counts.pages_not_written += u64::from(*preparing != Some(page));
            write_queue.evicted -= usize::from(memory.frame_of(page) == Frame::NONE);
            false
        });
    }

    /// The number of pages that are collected before they are written together.
    fn cluster_pages(&self) -> usize {
        self.reserve.div_ceil(2).clamp(1, MAX_CLUSTER_PAGES)
    }

    /// Waits until the evicted pages fit in the reserve again.
    pub(super) fn keep_reserve(&mut self) -> Result<(), PagerError> {
        while self.write_queue.evicted > self.reserve {
            self.wait_for_a_departure()?;
        }
        Ok(())
    }

    fn wait_for_a_departure(&mut self) -> Result<(), PagerError> {
        self.start_writes(Departing::Unwanted)?;
        if self.write_queue.under_way.is_empty() {
            self.start_writes(Departing::All)?;
        }
        self.reap(true)
    }

    /// Starts to write the queued pages, except those that have been changed since: they are in
    /// memory and dirty again. Pages are written in the order of their addresses, so that neighbours in memory are
    /// neighbours in the store.
    ///
    /// Their content does not change before the write has been started: a page in memory is write-protected when it is
    /// queued, and becomes dirty as soon as the protection is lifted.
    fn start_writes(&mut self, departing: Departing) -> Result<(), PagerError> {
        let preparing = self.preparing;
        self.cancel_writes(|page, memory| {
            let frame = memory.frame_of(page);
            preparing != Some(page) && frame != Frame::NONE && memory.frames().is_dirty(frame)
        });
        if self.silent.is_some() {
            self.depart(self.leaving(), departing)?;
        }
        let mut waiting = std::mem::take(&mut self.write_queue.waiting);
        waiting.sort_unstable_by_key(|&page| (self.is_leaving(page), page));
        let ready = waiting.partition_point(|&page| !self.is_leaving(page));
        self.write_queue.waiting = waiting;
        let pages = &self.write_queue.waiting[..ready];
        if pages.is_empty() {
            return Ok(());
        }
        let (is_sensed, swap_cache, program) =
            (self.decision.is_some(), &mut self.swap_cache, &self.program);
        let address =
            |page| if is_sensed { swap_cache.address(page) } else { program.address(page) };
        let writes = place(&mut *self.store, &mut self.pages, address, pages);
        // SAFETY: a page in flight keeps its content in the memory file, or in the swap cache, until the write has finished:
        // `leave` is called for it only by `write_finished`, and `discard` waits for its write.
        let started = writes.and_then(|writes| unsafe { self.store.start_write(&writes) });
        let ticket = started.map_err(|source| {
            self.counts.write_errors += 1;
            written_to(pages[0], source)
        })?;
        self.counts.write_operations += 1;
        let others = self.write_queue.waiting.split_off(ready);
        let started = std::mem::replace(&mut self.write_queue.waiting, others);
        self.write_queue.under_way.push((ticket, started));
        Ok(())
    }

    /// Collects writes that have finished; with `wait`, at least one if any is under way.
    pub(super) fn reap(&mut self, wait: bool) -> Result<(), PagerError> {
        let mut wait = wait;
        while !self.write_queue.under_way.is_empty() {
            let started = wait.then(Instant::now);
            let waits = if wait { Waits::ForWrite } else { Waits::Works };
            let finished = during(waits, || self.store.finished_write(wait));
            self.times.write_wait += started.map_or(Duration::ZERO, |started| started.elapsed());
            let Some((ticket, result)) = finished else { return Ok(()) };
            wait = false;
            let position =
                self.write_queue.under_way.iter().position(|(started, _)| *started == ticket);
            let (_, pages) =
                self.write_queue.under_way.swap_remove(position.expect("every ticket was kept"));
            match result {
                Ok(()) => self.write_finished(&pages)?,
                Err(source) => return Err(self.write_failed(pages, source)),
            }
        }
        Ok(())
    }

    /// These pages are now in the store.
    fn write_finished(&mut self, pages: &[PageId]) -> Result<(), PagerError> {
        for &page in pages {
            self.counts.pages_written += 1;
            self.counts.bytes_written += PAGE_BYTES;
            self.pages.clear(page, IN_FLIGHT);
            if self.reserve > 0 && self.memory.frame_of(page) == Frame::NONE {
                self.write_queue.evicted -= 1;
                self.release(page)?;
            }
            self.forget_copy(page);
        }
        Ok(())
    }

    /// Waits until no chosen page is being written; pages whose write failed are queued again.
    pub(super) fn wait_for_writes_of(
        &mut self,
        is_chosen: impl Fn(PageId) -> bool,
    ) -> Result<(), PagerError> {
        while self
            .write_queue
            .under_way
            .iter()
            .any(|(_, pages)| pages.iter().any(|&page| is_chosen(page)))
        {
            match self.reap(true) {
                Ok(()) | Err(PagerError::Store { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// A write has failed: its pages are queued again; their content is still in memory.
    fn write_failed(&mut self, pages: Vec<PageId>, source: io::Error) -> PagerError {
        self.counts.write_errors += 1;
        let page = pages[0];
        self.write_queue.waiting.extend(pages);
        written_to(page, source)
    }

    /// Writes everything in the queue, and waits for everything under way.
    pub(super) fn write_all(&mut self) -> Result<(), PagerError> {
        self.start_writes(Departing::All)?;
        while !self.write_queue.under_way.is_empty() {
            self.reap(true)?;
        }
        Ok(())
    }

    /// Copies pages whose newest content is not in the store into slots for the child.
    pub(super) fn copy_changed(
        &mut self,
        changed: &[PageId],
        copies: &mut InitialPages,
    ) -> Result<(), PagerError> {
        for pages in changed.chunks(MAX_CLUSTER_PAGES) {
            let mut slots = Vec::new();
            self.store
                .allocate(pages.len(), &mut slots)
                .map_err(|source| written_to(pages[0], source))?;
            copies.extend(pages.iter().copied().zip(slots.iter().copied()));
            let writes: Vec<_> =
                slots.into_iter().zip(pages.iter().map(|&page| self.address(page))).collect();
            // SAFETY: the pages are frozen and none is evicted until this function has waited for the write.
            unsafe { self.store.start_write(&writes) }
                .map_err(|source| written_to(pages[0], source))?;
            let (_, result) = self.store.finished_write(true).expect("one write is under way");
            result.map_err(|source| written_to(pages[0], source))?;
            self.counts.write_operations += 1;
            self.counts.pages_copied_for_forks += pages.len() as u64;
            self.counts.bytes_written += PAGE_BYTES * pages.len() as u64;
        }
        Ok(())
    }
}

fn written_to(page: PageId, source: io::Error) -> PagerError {
    PagerError::Store { operation: "written to", page, source }
}

/// The slot of each page: its old one if it is a single page, else slots next to each other.
fn place(
    store: &mut dyn Store,
    states: &mut PageStates,
    mut address: impl FnMut(PageId) -> PageAddress,
    pages: &[PageId],
) -> io::Result<Vec<(Slot, PageAddress)>> {
    if let [page] = *pages
        && let Some(slot) = states.slot(page).filter(|&slot| !store.is_shared(slot))
    {
        return Ok(vec![(slot, address(page))]);
    }
    // The contents stay in memory until they are written, so nothing is lost if no new slots are available.
    for &page in pages {
        if let Some(former) = states.slot(page) {
            store.release(former);
            states.set_slot(page, None);
        }
    }
    let mut slots = Vec::with_capacity(pages.len());
    store.allocate(pages.len(), &mut slots)?;
    for (&page, &slot) in pages.iter().zip(&slots) {
        states.set_slot(page, Some(slot));
    }
    Ok(slots.into_iter().zip(pages.iter().map(|&page| address(page))).collect())
}
