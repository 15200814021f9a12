//! One paged memory: the policy decides as in the simulator, and what it decides is carried out on real pages.

use std::io;
use std::time::{Duration, Instant};

use clockhand_policy::page::{BitDriven, Fault, Inspector};
use clockhand_policy::{Frame, Frames, HitBits, Memory, Op, PageId};

use crate::frames::UnmappingFrames;
use crate::program_memory::ProgramMemory;
use crate::statistics::{Counts, Times};
use crate::store::{PageAddress, Slot, Store, WriteTicket};

/// What stops a pager.
#[derive(Debug, thiserror::Error)]
pub enum PagerError {
    /// The store failed; no page is lost, and what failed can be tried again.
    #[error("page {} cannot be {operation} the store: {source}", page.0)]
    Store {
        /// `read from` or `written to`.
        operation: &'static str,
        /// The page.
        page: PageId,
        /// What the store said.
        source: io::Error,
    },
    /// The program has ended, or the kernel refuses.
    #[error("the program's memory cannot be handled any more: {0}")]
    Memory(#[from] io::Error),
}

/// What happened, in the order in which it happened: for logs, and for comparisons with the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An access was seen.
    Reference {
        /// The page.
        page: PageId,
        /// What the access did.
        op: Op,
        /// Whether the page was not in memory.
        is_miss: bool,
    },
    /// A page left memory.
    Eviction {
        /// The page.
        page: PageId,
        /// Whether it left dirty.
        is_dirty: bool,
    },
    /// A page was written back and stayed.
    WriteBack {
        /// The page.
        page: PageId,
    },
}

/// Is told of every event.
pub trait EventSink: Send {
    /// Something happened.
    fn event(&mut self, event: Event);
}

impl<F: FnMut(Event) + Send> EventSink for F {
    fn event(&mut self, event: Event) {
        self(event);
    }
}

/// The page's content is in the memory file.
const PRESENT: u8 = 1;
/// The program has a translation.
const MAPPED: u8 = 2;
/// The program has a translation that allows writes.
const WRITABLE: u8 = 4;
/// The page has been accessed.
const TOUCHED: u8 = 8;
/// The page's content waits to be written, or is being written.
const IN_FLIGHT: u8 = 16;
/// The program has been told to drop its translation, and has not answered yet: it may still use it.
const UNMAPPING: u8 = 32;

/// What the pager knows of each page of the program, beyond what the policy's memory knows.
struct PageStates {
    flags: Vec<u8>,
    /// The slot plus one, or 0 for a page that reads as zeros when it is not in memory.
    slots: Vec<u32>,
    /// All pages that have been accessed, in that order: the others need never be looked at.
    footprint: Vec<PageId>,
}

impl PageStates {
    fn new(pages: u32) -> Self {
        // Zeroed, so that pages which are never accessed cost address space only.
        let (flags, slots) = (vec![0; pages as usize], vec![0; pages as usize]);
        PageStates { flags, slots, footprint: Vec::new() }
    }

    fn touch(&mut self, page: PageId) {
        if !self.has(page, TOUCHED) {
            self.set(page, TOUCHED);
            self.footprint.push(page);
        }
    }

    fn has(&self, page: PageId, flag: u8) -> bool {
        self.flags[page.index()] & flag != 0
    }

    fn set(&mut self, page: PageId, flags: u8) {
        self.flags[page.index()] |= flags;
    }

    fn clear(&mut self, page: PageId, flags: u8) {
        self.flags[page.index()] &= !flags;
    }

    fn slot(&self, page: PageId) -> Option<Slot> {
        self.slots[page.index()].checked_sub(1).map(Slot)
    }

    fn set_slot(&mut self, page: PageId, slot: Option<Slot>) {
        self.slots[page.index()] = slot.map_or(0, |slot| slot.0 + 1);
    }
}

/// The pages that left, or are to be clean, and are not yet in the store.
#[derive(Default)]
struct Flight {
    /// Collected, to be written together.
    waiting: Vec<PageId>,
    /// Being written.
    under_way: Vec<(WriteTicket, Vec<PageId>)>,
    /// Of all these, pages that left memory: each holds one page of the reserve.
    departed: usize,
}

/// How a paged memory starts: empty, or as the copy that a fork made.
pub type InitialPages = Vec<(PageId, Slot)>;

/// A paged memory as those see it who need not know its policy.
pub trait Paging {
    /// Serves an access that waits: afterwards it goes on.
    ///
    /// # Errors
    ///
    /// [`PagerError::Store`]: no page is lost; ask again, and the same victim is written.
    fn serve(&mut self, page: PageId, op: Op) -> Result<(), PagerError>;

    /// Forgets the content of pages, which read as zeros from now on.
    ///
    /// # Errors
    ///
    /// If the memory cannot be given back. A store that fails is no reason: it is not asked to write these pages.
    fn discard(&mut self, first: PageId, pages: u32) -> Result<(), PagerError>;

    /// Puts a copy of all pages into slots, and forbids all writes until the next access is served.
    ///
    /// # Errors
    ///
    /// If a page cannot be written; the slots have been given back then.
    fn copy_for_fork(&mut self) -> Result<InitialPages, PagerError>;

    /// Takes notice of writes that have finished. Called when nothing else is to do.
    ///
    /// # Errors
    ///
    /// As [`Paging::serve`]; a write that failed is tried again when its page's room is needed.
    fn make_use_of_leisure(&mut self) -> Result<(), PagerError>;

    /// The program has ended: nobody needs what still waits to be written. Waits for the writes under way, so that
    /// the counts are the last ones.
    ///
    /// # Errors
    ///
    /// If the memory cannot be handled any more; a store that fails is no reason.
    fn end(&mut self) -> Result<(), PagerError>;

    /// What was counted.
    fn counts(&self) -> Counts;

    /// Where time went.
    fn times(&self) -> &Times;

    /// A fault has been served, so long after the pager learned of it.
    fn fault_served(&mut self, time: Duration);

    /// The values by which the policy adapts.
    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64));

    /// The policy's lists.
    fn inspect(&self, inspector: &mut dyn Inspector);

    /// Bytes that the store occupies.
    fn occupied_bytes(&self) -> u64;

    /// Recounts everything, for tests.
    ///
    /// # Panics
    ///
    /// If anything disagrees.
    fn check_invariants(&self);
}

/// What a paged memory consists of, beside its policy.
pub struct Parts {
    /// The program's memory.
    pub program: Box<dyn ProgramMemory>,
    /// Where pages are that are not in it.
    pub store: Box<dyn Store>,
    /// Who is told what happens.
    pub events: Box<dyn EventSink>,
    /// Pages that are in the store at the beginning.
    pub initial: InitialPages,
}

/// A paged memory under the policy `P`.
pub(crate) struct Pager<P> {
    memory: Memory<P, UnmappingFrames>,
    program: Box<dyn ProgramMemory>,
    store: Box<dyn Store>,
    events: Box<dyn EventSink>,
    pages: PageStates,
    /// Frames that are not the policy's: their pages are free, or hold content on its way to the store.
    reserve: usize,
    flight: Flight,
    /// Pages whose translations the program has been told to drop, without an answer yet.
    unmapping: Vec<PageId>,
    /// The page whose write is being prepared, which may fail and be tried again.
    taken_up: Option<PageId>,
    /// The page that the policy wants written back and whose write is being prepared.
    requested: Option<Frame>,
    references_until_tick: u64,
    counts: Counts,
    times: Times,
}

impl<P: BitDriven> Pager<P> {
    /// A paged memory of `policy_frames` frames for the policy, and `reserve` for writes under way.
    pub(crate) fn new(policy: P, policy_frames: u32, reserve: u32, parts: Parts) -> Self {
        let mut pages = PageStates::new(parts.program.pages());
        for &(page, slot) in &parts.initial {
            pages.set_slot(page, Some(slot));
            pages.touch(page);
        }
        let frames = UnmappingFrames::new(policy_frames);
        Pager {
            references_until_tick: policy.period().map_or(0, |period| period.get()),
            memory: Memory::with_frames(frames, parts.program.pages(), policy),
            program: parts.program,
            store: parts.store,
            events: parts.events,
            pages,
            reserve: reserve as usize,
            flight: Flight::default(),
            unmapping: Vec::new(),
            taken_up: None,
            requested: None,
            counts: Counts::default(),
            times: Times::default(),
        }
    }

    fn seen(&mut self, page: PageId, op: Op, is_miss: bool) {
        self.counts.references += 1;
        match op {
            Op::Read => self.counts.read_references += 1,
            Op::Write => self.counts.write_references += 1,
        }
        self.pages.touch(page);
        self.events.event(Event::Reference { page, op, is_miss });
    }

    /// The page's content is in memory from now on.
    fn arrived(&mut self, page: PageId) {
        self.pages.set(page, PRESENT);
        self.counts.resident_pages += 1;
        self.counts.peak_resident_pages =
            self.counts.peak_resident_pages.max(self.counts.resident_pages);
    }

    /// The page's content is not needed in memory any more.
    fn leave(&mut self, page: PageId) -> Result<(), PagerError> {
        if self.pages.has(page, PRESENT) {
            self.program.forget(page, 1)?;
            self.counts.resident_pages -= 1;
        }
        self.pages.clear(page, PRESENT | MAPPED | WRITABLE);
        Ok(())
    }

    /// Lets the program go on with its access. Writes are allowed if this is one, or if there is nothing to see of them.
    fn map(&mut self, page: PageId, op: Op, frame: Frame) -> Result<(), PagerError> {
        let sees_writes =
            P::HIT_BITS != HitBits::Reference || !self.memory.frames().is_dirty(frame);
        let writable = op == Op::Write || !sees_writes;
        self.finish_unmapping(page)?;
        if writable && self.pages.has(page, MAPPED) {
            self.program.allow_writes(page)?;
        } else {
            self.program.map(page, writable)?;
        }
        self.pages.set(page, MAPPED | if writable { WRITABLE } else { 0 });
        Ok(())
    }

    /// The page is in memory: a bit that was cleared is set again, or the first write is seen.
    fn hit(&mut self, page: PageId, op: Op, frame: Frame) -> Result<(), PagerError> {
        let needed = if op == Op::Write { WRITABLE } else { MAPPED };
        if self.pages.has(page, needed) {
            // Another thread faulted on the page at the same time, and its fault has been served.
            return Ok(self.program.wake(page)?);
        }
        match self.pages.has(page, MAPPED) {
            true => self.counts.write_protect_faults += 1,
            false => self.counts.minor_faults += 1,
        }
        self.seen(page, op, false);
        self.memory.hit_mapped(op, frame);
        if !self.pages.has(page, PRESENT) {
            self.program.fill_with_zeros(page)?;
            self.arrived(page);
        }
        self.map(page, op, frame)?;
        self.reference_done()
    }

    fn miss(&mut self, page: PageId, op: Op) -> Result<(), PagerError> {
        self.reap(false)?;
        while self.memory.is_full() {
            self.evict(page)?;
        }
        self.keep_reserve()?;
        // The content comes before the decision: a read that fails leaves a free frame and can be tried again.
        self.begin_unmapping()?;
        self.bring_content(page)?;
        self.counts.misses += 1;
        match op {
            Op::Read => self.counts.read_misses += 1,
            Op::Write => self.counts.write_misses += 1,
        }
        self.seen(page, op, true);
        let frame = self.memory.load(Fault { page, op, fetched: true });
        self.memory.hit_mapped(op, frame);
        self.begin_unmapping()?;
        self.map(page, op, frame)?;
        self.reference_done()
    }

    /// Ends a period of the policy, if it has one.
    fn reference_done(&mut self) -> Result<(), PagerError> {
        let Some(period) = self.memory.policy().period() else { return Ok(()) };
        self.references_until_tick -= 1;
        if self.references_until_tick > 0 {
            return Ok(());
        }
        self.references_until_tick = period.get();
        self.memory.tick();
        self.begin_unmapping()
    }

    fn bring_content(&mut self, page: PageId) -> Result<(), PagerError> {
        if self.pages.has(page, IN_FLIGHT) {
            self.flight.departed -= 1;
            self.counts.pages_rescued += 1;
            return Ok(());
        }
        match self.pages.slot(page) {
            None => {
                self.program.fill_with_zeros(page)?;
                self.counts.pages_zero_filled += 1;
            }
            Some(slot) => {
                let started = Instant::now();
                let address = self.program.address(page);
                // SAFETY: the page has no translation in the program, and this thread alone handles it.
                let read = unsafe { self.store.read(slot, address) };
                self.times.read_wait += started.elapsed();
                if let Err(source) = read {
                    // What was read of it means nothing.
                    self.program.forget(page, 1)?;
                    return Err(PagerError::Store { operation: "read from", page, source });
                }
                self.counts.pages_read += 1;
                self.counts.bytes_read += PAGE_BYTES;
            }
        }
        self.arrived(page);
        Ok(())
    }

    /// Tells the program to drop the translations of pages whose bits were cleared, and does not wait for it: that a
    /// bit is cleared a little later changes nothing.
    fn begin_unmapping(&mut self) -> Result<(), PagerError> {
        if self.memory.frames_mut().unmapped().is_empty() {
            return Ok(());
        }
        self.finish_all_unmapping()?;
        let unmapped = self.memory.frames_mut().unmapped();
        for &page in unmapped.iter() {
            self.pages.clear(page, MAPPED | WRITABLE);
            self.pages.set(page, UNMAPPING);
        }
        self.unmapping.extend_from_slice(unmapped);
        Ok(self.program.begin_unmapping(unmapped)?)
    }

    /// Waits until the program uses no former translation of `page` any more.
    fn finish_unmapping(&mut self, page: PageId) -> Result<(), PagerError> {
        if self.pages.has(page, UNMAPPING) { self.finish_all_unmapping() } else { Ok(()) }
    }

    fn finish_all_unmapping(&mut self) -> Result<(), PagerError> {
        if !self.unmapping.is_empty() {
            self.program.finish_unmapping()?;
            for page in self.unmapping.drain(..) {
                self.pages.clear(page, UNMAPPING);
            }
        }
        Ok(())
    }

    fn forbid_writes(&mut self, page: PageId) -> Result<(), PagerError> {
        self.finish_unmapping(page)?;
        if self.pages.has(page, WRITABLE) {
            self.program.forbid_writes(page)?;
            self.pages.clear(page, WRITABLE);
        }
        Ok(())
    }

    /// Makes one page leave for `incoming`.
    fn evict(&mut self, incoming: PageId) -> Result<(), PagerError> {
        let victim = self.memory.propose_victim_for(incoming).expect("the pager pins nothing");
        // One whose write failed is still requested.
        while let Some(frame) = self.requested.or_else(|| self.memory.next_write_back()) {
            self.requested = Some(frame);
            self.write_back(frame)?;
            self.requested = None;
        }
        let page = self.memory.frames().page(victim);
        let is_dirty = self.memory.frames().is_dirty(victim);
        if is_dirty {
            self.write(page)?;
            self.memory.written_back(victim);
            self.counts.dirty_evictions += 1;
        } else {
            self.counts.clean_evictions += 1;
        }
        self.memory.commit_eviction();
        self.events.event(Event::Eviction { page, is_dirty });
        // A clean page may be in flight too: it was rescued, or written back, and that has not ended.
        if self.pages.has(page, IN_FLIGHT) {
            self.flight.departed += 1;
            self.memory.frames_mut().unmapped().push(page);
            return Ok(());
        }
        self.leave(page)
    }

    /// Writes a page that is in memory; with a reserve, takes it up to be written.
    ///
    /// After a failure the page is not lost and is asked for again.
    fn write(&mut self, page: PageId) -> Result<(), PagerError> {
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
    fn write_back(&mut self, frame: Frame) -> Result<(), PagerError> {
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
        while self.reserve > 0 && self.flight.departed >= self.reserve {
            self.wait_for_a_departure()?;
        }
        // What is being written is what the page held before it was changed.
        while self.pages.has(page, IN_FLIGHT) {
            self.reap(true)?;
        }
        // From here on the page does not change until its write has been started.
        self.forbid_writes(page)?;
        self.pages.set(page, IN_FLIGHT);
        self.flight.waiting.push(page);
        self.taken_up = Some(page);
        if self.flight.waiting.len() >= self.cluster_pages() {
            self.start_writes()?;
        }
        Ok(())
    }

    fn withdraw_page(&mut self, page: PageId) {
        if self.pages.has(page, IN_FLIGHT) {
            self.withdraw(|waiting, _| waiting == page);
        }
    }

    /// Pages that wait and are chosen need not be written: they are given back, or are written later.
    fn withdraw(&mut self, is_chosen: impl Fn(PageId, &Memory<P, UnmappingFrames>) -> bool) {
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
    fn keep_reserve(&mut self) -> Result<(), PagerError> {
        while self.flight.departed > self.reserve {
            self.wait_for_a_departure()?;
        }
        Ok(())
    }

    fn wait_for_a_departure(&mut self) -> Result<(), PagerError> {
        self.start_writes()?;
        self.reap(true)
    }

    /// Starts to write what waits, without pages that have been changed since: they are in memory and dirty again.
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
    fn reap(&mut self, wait: bool) -> Result<(), PagerError> {
        let mut wait = wait;
        while !self.flight.under_way.is_empty() {
            let started = wait.then(Instant::now);
            let finished = self.store.finished_write(wait);
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
    fn land_where(&mut self, is_chosen: impl Fn(PageId) -> bool) -> Result<(), PagerError> {
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
    fn write_all(&mut self) -> Result<(), PagerError> {
        self.start_writes()?;
        while !self.flight.under_way.is_empty() {
            self.reap(true)?;
        }
        Ok(())
    }

    /// Slots for the child's copies of pages whose newest content is not in the store.
    fn copy_changed(
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

impl<P> Drop for Pager<P> {
    /// Waits for the writes under way, whose pages are about to go, and gives all slots back.
    fn drop(&mut self) {
        while self.store.finished_write(true).is_some() {}
        for slot in self.pages.footprint.iter().filter_map(|&page| self.pages.slot(page)) {
            self.store.release(slot);
        }
    }
}

/// Bytes of a page.
const PAGE_BYTES: u64 = clockhand_pager_protocol::PAGE_BYTES as u64;

/// Pages that one write takes at most.
const MAX_CLUSTER_PAGES: usize = 256;

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

impl<P: BitDriven> Paging for Pager<P> {
    fn serve(&mut self, page: PageId, op: Op) -> Result<(), PagerError> {
        match self.memory.frame_of(page) {
            Frame::NONE => self.miss(page, op),
            frame => self.hit(page, op, frame),
        }
    }

    fn discard(&mut self, first: PageId, pages: u32) -> Result<(), PagerError> {
        if pages == 0 {
            return Ok(());
        }
        let end = first.0 + pages;
        let is_discarded = |page: PageId| (first.0..end).contains(&page.0);
        self.land_where(is_discarded)?;
        self.withdraw(|page, _| is_discarded(page));
        for page in (first.0..end).map(PageId) {
            if let Some(slot) = self.pages.slot(page) {
                self.store.release(slot);
                self.pages.set_slot(page, None);
            }
            self.counts.resident_pages -= u64::from(self.pages.has(page, PRESENT));
            self.pages.clear(page, PRESENT | MAPPED | WRITABLE);
        }
        self.counts.discarded_pages += u64::from(pages);
        Ok(self.program.forget(first, pages)?)
    }

    fn copy_for_fork(&mut self) -> Result<InitialPages, PagerError> {
        self.write_all()?;
        let mut changed = Vec::new();
        let mut copies = InitialPages::new();
        for index in 0..self.pages.footprint.len() {
            let page = self.pages.footprint[index];
            self.forbid_writes(page)?;
            let frame = self.memory.frame_of(page);
            let is_dirty = frame != Frame::NONE && self.memory.frames().is_dirty(frame);
            match self.pages.slot(page) {
                _ if is_dirty && self.pages.has(page, PRESENT) => changed.push(page),
                Some(slot) if !is_dirty => {
                    self.store.share(slot);
                    copies.push((page, slot));
                }
                _ => {}
            }
        }
        let result = self.copy_changed(&changed, &mut copies);
        if let Err(error) = result {
            copies.into_iter().for_each(|(_, slot)| self.store.release(slot));
            return Err(error);
        }
        Ok(copies)
    }

    fn make_use_of_leisure(&mut self) -> Result<(), PagerError> {
        self.reap(false)
    }

    fn end(&mut self) -> Result<(), PagerError> {
        self.land_where(|_| true)?;
        self.withdraw(|_, _| true);
        Ok(())
    }

    fn counts(&self) -> Counts {
        Counts { footprint_pages: self.pages.footprint.len() as u64, ..self.counts }
    }

    fn times(&self) -> &Times {
        &self.times
    }

    fn fault_served(&mut self, time: Duration) {
        self.times.fault_served(time);
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.memory.policy().gauges(show);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        self.memory.policy().inspect(inspector);
    }

    fn occupied_bytes(&self) -> u64 {
        self.store.occupied_bytes()
    }

    fn check_invariants(&self) {
        self.memory.check_invariants();
        let mut present = 0;
        let mut departed = 0;
        let mut in_flight = 0;
        for page in (0..self.program.pages()).map(PageId) {
            let is_resident = self.memory.frame_of(page) != Frame::NONE;
            let is_present = self.pages.has(page, PRESENT);
            present += u64::from(is_present);
            departed += usize::from(is_present && !is_resident);
            in_flight += usize::from(self.pages.has(page, IN_FLIGHT));
            assert!(
                is_present || !self.pages.has(page, IN_FLIGHT),
                "what is to be written is gone"
            );
            assert!(!self.pages.has(page, WRITABLE) || self.pages.has(page, MAPPED));
            assert!(!self.pages.has(page, MAPPED) || is_present && is_resident);
            assert!(!is_present || is_resident || self.pages.has(page, IN_FLIGHT));
            if is_resident && self.pages.has(page, WRITABLE) {
                let frame = self.memory.frame_of(page);
                assert!(self.memory.frames().is_dirty(frame), "a clean page can be written unseen");
            }
        }
        let under_way = self.flight.under_way.iter().flat_map(|(_, pages)| pages);
        let mut listed: Vec<_> = self.flight.waiting.iter().chain(under_way).collect();
        assert!(listed.iter().all(|&&page| self.pages.has(page, IN_FLIGHT)));
        listed.sort_unstable();
        listed.dedup();
        assert_eq!(listed.len(), in_flight, "a page in flight is listed once");
        assert_eq!(present, self.counts.resident_pages, "the number of resident pages is wrong");
        assert_eq!(departed, self.flight.departed, "the number of departed pages is wrong");
        assert!(departed <= self.reserve, "more pages are under way than the reserve holds");
    }
}
