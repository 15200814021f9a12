//! How pages get from memory to the store: at once, or collected and written together while the program goes on.

use std::io;
use std::time::{Duration, Instant};

use clockhand_policy::page::BitDriven;
use clockhand_policy::{Frame, Frames, Memory, PageId};

use super::page_states::{IN_FLIGHT, PRESENT, PageStates};
use super::{PAGE_BYTES, Pager};
use crate::frames::UnmappingFrames;
use crate::paging::{Event, InitialPages, PagerError};
use crate::program_memory::ProgramMemory;
use crate::store::{PageAddress, Slot, Store, WriteTicket};
use crate::watchdog::{Waits, during};

/// Pages that one write takes at most.
pub(super) const MAX_CLUSTER_PAGES: usize = 256;

/// The pages that left, or are to be clean, and are not yet in the store.
#[derive(Default)]
pub(super) struct Flight {
    /// Collected, to be written together.
    pub(super) waiting: Vec<PageId>,
    /// Being written.
    pub(super) under_way: Vec<(WriteTicket, Vec<PageId>)>,
    /// Of all these, pages that left memory: each holds one page of the reserve.
    pub(super) departed: usize,
}

impl<P: BitDriven> Pager<P> {
    /// Writes a page that is in memory; with a reserve, takes it up to be written.
    ///
    /// After a failure the page is not lost and is asked for again.
    pub(super) fn write(&mut self, page: PageId) -> Result<(), PagerError> {
        if self.pages.has(page, PRESENT) {
            self.take_up(page)?;
            if self.reserve == 0 {
                self.write_all()?;
            }
        } else {
            self.counts.pages_not_written += 1;
        }
        self.taken_up = None;
        Ok(())
    }

    /// Writes a page that stays.
    pub(super) fn write_back(&mut self, frame: Frame) -> Result<(), PagerError> {
        let page = self.memory.frames().page(frame);
        self.write(page)?;
        self.memory.written_back(frame);
        self.counts.write_backs += 1;
        self.events.event(Event::WriteBack { page });
        Ok(())
    }

    /// Takes a page up among those to be written, with room in the reserve for one more that departs.
    fn take_up(&mut self, page: PageId) -> Result<(), PagerError> {
        // One write does for both, if it waits to be written already.
        self.withdraw_page(page);
        // What is being written is what the page held before it was changed.
        while self.pages.has(page, IN_FLIGHT) {
            self.reap(true)?;
        }
        // From here on the page does not change until its write has been started.
        self.forbid_writes(page)?;
        // SAFETY: the page has content.
        if unsafe { self.program.address(page).is_zeros() } {
            self.spare(page);
            return Ok(());
        }
        while self.reserve > 0 && self.flight.departed >= self.reserve {
            self.wait_for_a_departure()?;
        }
        self.pages.set(page, IN_FLIGHT);
        self.flight.waiting.push(page);
        self.taken_up = Some(page);
        if self.flight.waiting.len() >= self.cluster_pages() {
            self.start_writes()?;
        }
        Ok(())
    }

    /// A page of zeros needs no write and no place in the store: a page without slot reads as zeros.
    fn spare(&mut self, page: PageId) {
        if let Some(former) = self.pages.slot(page) {
            self.store.release(former);
            self.pages.set_slot(page, None);
        }
        self.counts.pages_not_written += 1;
        self.counts.zero_pages_not_written += 1;
    }

    fn withdraw_page(&mut self, page: PageId) {
        if self.pages.has(page, IN_FLIGHT) {
            self.withdraw(|waiting, _| waiting == page);
        }
    }

    /// Pages that wait and are chosen need not be written: they are given back, or are written later.
    pub(super) fn withdraw(
        &mut self,
        is_chosen: impl Fn(PageId, &Memory<P, UnmappingFrames>) -> bool,
    ) {
        let Self { flight, pages, counts, taken_up, memory, .. } = self;
        flight.waiting.retain(|&page| {
            if !is_chosen(page, memory) {
                return true;
            }
            pages.clear(page, IN_FLIGHT);
            // What is only being prepared has not been counted as leaving yet.
            counts.pages_not_written += u64::from(*taken_up != Some(page));
            flight.departed -= usize::from(memory.frame_of(page) == Frame::NONE);
            false
        });
    }

    /// How many pages are collected before they are written together.
    fn cluster_pages(&self) -> usize {
        self.reserve.div_ceil(2).clamp(1, MAX_CLUSTER_PAGES)
    }

    /// Waits until no more pages have departed than the reserve holds.
    pub(super) fn keep_reserve(&mut self) -> Result<(), PagerError> {
        while self.flight.departed > self.reserve {
            self.wait_for_a_departure()?;
        }
        Ok(())
    }

    fn wait_for_a_departure(&mut self) -> Result<(), PagerError> {
        self.start_writes()?;
        self.reap(true)
    }

    /// Starts to write what waits, without pages that have been changed since: they are in
    /// memory and dirty again. Pages are written in the order of their addresses, so that neighbours in memory are
    /// neighbours in the store.
    ///
    /// So what is written does not change before the write has been started: a page in memory is write-protected when
    /// it is taken up, and is dirty as soon as that ends.
    fn start_writes(&mut self) -> Result<(), PagerError> {
        let taken_up = self.taken_up;
        self.withdraw(|page, memory| {
            let frame = memory.frame_of(page);
            taken_up != Some(page) && frame != Frame::NONE && memory.frames().is_dirty(frame)
        });
        if self.flight.waiting.is_empty() {
            return Ok(());
        }
        self.flight.waiting.sort_unstable();
        let pages = &self.flight.waiting;
        let writes = place(&mut *self.store, &mut self.pages, &*self.program, pages);
        // SAFETY: a page in flight keeps its content in the memory file until the write has finished: `leave`
        // is called for it only by `landed`, and `discard` waits for its write.
        let started = writes.and_then(|writes| unsafe { self.store.start_write(&writes) });
        let ticket = started.map_err(|source| {
            self.counts.write_errors += 1;
            written_to(pages[0], source)
        })?;
        self.counts.write_operations += 1;
        self.flight.under_way.push((ticket, std::mem::take(&mut self.flight.waiting)));
        Ok(())
    }

    /// Takes notice of writes that have finished; with `wait`, of at least one if any is under way.
    pub(super) fn reap(&mut self, wait: bool) -> Result<(), PagerError> {
        let mut wait = wait;
        while !self.flight.under_way.is_empty() {
            let started = wait.then(Instant::now);
            let waits = if wait { Waits::ForWrite } else { Waits::Works };
            let finished = during(waits, || self.store.finished_write(wait));
            self.times.write_wait += started.map_or(Duration::ZERO, |started| started.elapsed());
            let Some((ticket, result)) = finished else { return Ok(()) };
            wait = false;
            let position = self.flight.under_way.iter().position(|(started, _)| *started == ticket);
            let (_, pages) =
                self.flight.under_way.swap_remove(position.expect("every ticket was kept"));
            match result {
                Ok(()) => self.landed(&pages)?,
                Err(source) => return Err(self.failed(pages, source)),
            }
        }
        Ok(())
    }

    /// These pages are in the store.
    fn landed(&mut self, pages: &[PageId]) -> Result<(), PagerError> {
        for &page in pages {
            self.counts.pages_written += 1;
            self.counts.bytes_written += PAGE_BYTES;
            self.pages.clear(page, IN_FLIGHT);
            if self.reserve > 0 && self.memory.frame_of(page) == Frame::NONE {
                self.flight.departed -= 1;
                self.leave(page)?;
            }
        }
        Ok(())
    }

    /// Waits until no chosen page is being written; pages whose write failed wait to be written again.
    pub(super) fn land_where(
        &mut self,
        is_chosen: impl Fn(PageId) -> bool,
    ) -> Result<(), PagerError> {
        while self
            .flight
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

    /// A write has failed: its pages wait again, their content is still there.
    fn failed(&mut self, pages: Vec<PageId>, source: io::Error) -> PagerError {
        self.counts.write_errors += 1;
        let page = pages[0];
        self.flight.waiting.extend(pages);
        written_to(page, source)
    }

    /// Writes everything that waits, and waits for everything that is under way.
    pub(super) fn write_all(&mut self) -> Result<(), PagerError> {
        self.start_writes()?;
        while !self.flight.under_way.is_empty() {
            self.reap(true)?;
        }
        Ok(())
    }

    /// Slots for the child's copies of pages whose newest content is not in the store.
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
            let writes: Vec<_> = slots
                .into_iter()
                .zip(pages.iter().map(|&page| self.program.address(page)))
                .collect();
            // SAFETY: no write is allowed and nothing leaves until this function has waited for the write.
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

/// Where each page is to be written: where it was, if it is alone, else in slots next to each other.
fn place(
    store: &mut dyn Store,
    states: &mut PageStates,
    program: &dyn ProgramMemory,
    pages: &[PageId],
) -> io::Result<Vec<(Slot, PageAddress)>> {
    if let [page] = *pages
        && let Some(slot) = states.slot(page).filter(|&slot| !store.is_shared(slot))
    {
        return Ok(vec![(slot, program.address(page))]);
    }
    // Their contents are in memory until they are written, so that nothing is lost if there are no new slots.
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
    Ok(slots.into_iter().zip(pages.iter().map(|&page| program.address(page))).collect())
}
