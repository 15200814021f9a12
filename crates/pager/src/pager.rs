//! One paged memory: the policy decides as in the simulator, and its decisions are carried out on real pages.

mod invariants;
mod left;
mod offsets;
mod page_states;
mod read_ahead;
mod sensing;
mod silent_accesses;
mod swap_cache;
mod trails;
mod window;
mod write_back;

use std::collections::VecDeque;
use std::time::Duration;

use clockhand_policy::page::{BitDriven, Fault, Inspector};
use clockhand_policy::{Frame, Frames, HitBits, Memory, Op, PageId, Step};

use self::page_states::{
    IN_FLIGHT, IN_SWAP_CACHE, MAPPED, PRESENT, PageStates, READ_AHEAD, UNMAPPING, WRITABLE,
};
use self::read_ahead::{ReadAhead, Reading};
use self::sensing::Decision;
use self::silent_accesses::SilentAccesses;
use self::swap_cache::SwapCache;
use self::write_back::{Then, WriteQueue};
use crate::any_memory::AnyMemory;
use crate::frames::UnmappingFrames;
use crate::parts::{Event, EventSink, InitialPages, PagerError, Parts};
use crate::program_memory::ProgramMemory;
use crate::statistics::{Counts, Times};
use crate::store::{PageAddress, Store};
use crate::watchdog::{Waits, during};

/// The division of the page frames.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameShares {
    pub(crate) policy: u32,
    /// For writes under way.
    pub(crate) reserve: u32,
    /// For pages that were read ahead.
    pub(crate) read_ahead: u32,
}

/// A paged memory under some policy.
pub struct Pager {
    memory: Box<dyn AnyMemory>,
    program: Box<dyn ProgramMemory>,
    store: Box<dyn Store>,
    events: Box<dyn EventSink>,
    pages: PageStates,
    /// Frames that are not the policy's: their pages are free, or hold content on its way to the store.
    reserve: usize,
    write_queue: WriteQueue,
    read_ahead: ReadAhead,
    /// Where in its memory the program waits, in bytes.
    waits_at: u64,
    /// Pages that have left and whose content is still in the swap cache, in the order they left.
    left: VecDeque<PageId>,
    /// The read of the page that is waited for, if it was begun before others are loaded.
    early: Option<Reading>,
    /// A read whose page the program has already, while others beside it are still read.
    background_read: Option<Reading>,
    /// Sensed bits: contents that the program must not reach.
    swap_cache: SwapCache,
    /// `None` with mapped bits.
    decision: Option<Decision>,
    /// `None` if the program waits for each page and for each first write.
    silent: Option<SilentAccesses>,
    /// Pages whose translations the program has been told to drop, without an answer yet.
    unmapping: Vec<PageId>,
    /// The page whose write is being prepared, which may fail and be tried again.
    preparing: Option<PageId>,
    /// The page that the policy wants written back and whose write is being prepared.
    requested: Option<Frame>,
    references_until_tick: u64,
    /// A period of the policy has ended, and it has not been told.
    period_has_ended: bool,
    counts: Counts,
    times: Times,
}

impl Pager {
    /// A paged memory of `frames` frames for the policy, and others for writes under way and for pages read ahead.
    pub(crate) fn new<P: BitDriven + 'static>(
        policy: P,
        frames: FrameShares,
        parts: Parts,
    ) -> Self {
        let mut pages = PageStates::new(parts.program.pages());
        for &(page, slot) in &parts.initial {
            pages.set_slot(page, Some(slot));
            pages.touch(page);
        }
        let decision = parts.translations.is_some().then(|| Decision::new(frames.policy));
        let sees_writes = parts.translations.as_ref().is_some_and(|seen| seen.sees_writes());
        let pages_of_program = parts.program.pages();
        let table =
            UnmappingFrames::new(frames.policy, pages_of_program, P::HIT_BITS, parts.translations);
        Pager {
            references_until_tick: policy.period().map_or(0, |period| period.get()),
            memory: Box::new(Memory::with_frames(table, parts.program.pages(), policy)),
            program: parts.program,
            store: parts.store,
            events: parts.events,
            pages,
            reserve: frames.reserve as usize,
            write_queue: WriteQueue::default(),
            read_ahead: ReadAhead::new(frames.read_ahead),
            waits_at: 0,
            left: VecDeque::new(),
            early: None,
            background_read: None,
            swap_cache: SwapCache::default(),
            decision,
            silent: sees_writes.then(SilentAccesses::default),
            period_has_ended: false,
            unmapping: Vec::new(),
            preparing: None,
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

    /// The page's content is now in memory.
    fn arrived(&mut self, page: PageId) {
        self.pages.set(page, PRESENT);
        self.read_ahead.trails.arrived(page);
        self.counts.resident_pages += 1;
        self.counts.peak_resident_pages =
            self.counts.peak_resident_pages.max(self.counts.resident_pages);
    }

    /// The page's content is not needed in memory any more.
    fn leave(&mut self, page: PageId) -> Result<(), PagerError> {
        if self.pages.has(page, PRESENT) {
            if self.pages.has(page, IN_SWAP_CACHE) {
                self.swap_cache.remove(page);
            } else {
                self.program.forget(page, 1)?;
            }
            self.counts.resident_pages -= 1;
        }
        self.pages.clear(page, PRESENT | MAPPED | WRITABLE | IN_SWAP_CACHE);
        Ok(())
    }

    fn is_sensed(&self) -> bool {
        self.decision.is_some()
    }

    /// Lets the program go on with its access. Writes are allowed if this is one, or if the next write need not be seen.
    fn map(&mut self, page: PageId, op: Op, frame: Frame) -> Result<(), PagerError> {
        let sees_writes =
            self.memory.hit_bits() != HitBits::Reference || !self.memory.frames().is_dirty(frame);
        let writable = op == Op::Write || !sees_writes;
        if self.is_sensed() {
            return self.give(page, writable);
        }
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
        // With sensed bits a page that has content faults only if it is written.
        let is_accessible = match self.is_sensed() {
            true => self.pages.has(page, PRESENT) && !self.pages.has(page, IN_SWAP_CACHE),
            false => self.pages.has(page, MAPPED),
        };
        let is_allowed = is_accessible && (op == Op::Read || self.pages.has(page, WRITABLE));
        if is_allowed && self.is_sensed() {
            return self.let_retry(page);
        }
        if is_allowed {
            // Another thread faulted on the page at the same time, and its fault has been served. Or the kernel has dropped
            // the translation by itself, as it does when it reclaims memory: a thread that is only woken would then fault
            // again forever.
            return Ok(self.program.map_again(page, self.pages.has(page, WRITABLE))?);
        }
        match is_accessible {
            true => self.counts.write_protect_faults += 1,
            false => self.counts.minor_faults += 1,
        }
        self.seen(page, op, false);
        match self.is_sensed() {
            true => self.memory.hit_sensed(op, frame),
            false => {
                self.memory.hit_mapped(op, frame);
            }
        }
        if !self.pages.has(page, PRESENT) {
            self.bring_zeros(page)?;
            self.arrived(page);
        }
        self.map(page, op, frame)?;
        self.reference_done(false)
    }

    fn serve_access(&mut self, page: PageId, op: Op) -> Result<(), PagerError> {
        let op = self.discover_before(page, op)?;
        match self.memory.frame_of(page) {
            Frame::NONE => self.miss(page, op, true),
            frame => self.hit(page, op, frame),
        }
    }

    /// The page is loaded; its access waits for that, or has gone on.
    fn miss(&mut self, page: PageId, op: Op, waits: bool) -> Result<(), PagerError> {
        self.begin_miss(page);
        self.reap(false)?;
        let reading = self.begin_content(page);
        if let Err(error) = self.make_frames(page) {
            reading.map_or(Ok(()), |reading| self.abandon_reading(reading))?;
            return Err(error);
        }
        // The content is read before the page is loaded into a frame: a failed read leaves the frame free and can be
        // tried again.
        self.bring_content(page, reading)?;
        self.counts.misses += 1;
        match op {
            Op::Read => self.counts.read_misses += 1,
            Op::Write => self.counts.write_misses += 1,
        }
        self.seen(page, op, true);
        let frame = self.memory.load(Fault::new(page, op));
        self.memory.hit_mapped(op, frame);
        self.begin_unmapping()?;
        let is_cached = self.pages.has(page, IN_SWAP_CACHE);
        match waits || is_cached && !self.are_silent_accesses_ending() {
            true => self.map(page, op, frame)?,
            false if is_cached => {}
            false if op == Op::Write => self.pages.set(page, WRITABLE),
            false => {}
        }
        self.reference_done(true)?;
        self.end_miss(page);
        Ok(())
    }

    /// Counts a reference towards the policy's period, if it has one.
    fn count_in_period(&mut self) {
        let Some(period) = self.memory.period() else { return };
        self.references_until_tick -= 1;
        if self.references_until_tick == 0 {
            self.references_until_tick = period.get();
            self.period_has_ended = true;
        }
    }

    /// Ends a period of the policy if this reference is its last one; with sensed bits at the next miss.
    fn reference_done(&mut self, is_miss: bool) -> Result<(), PagerError> {
        self.count_in_period();
        if !self.period_has_ended || self.is_sensed() && !is_miss {
            return Ok(());
        }
        self.period_has_ended = false;
        self.memory.tick();
        self.begin_unmapping()
    }

    /// Gives a page without content zeros.
    fn bring_zeros(&mut self, page: PageId) -> Result<(), PagerError> {
        if self.is_sensed() {
            self.swap_cache.place(page).0.fill(0);
            self.pages.set(page, IN_SWAP_CACHE);
            return Ok(());
        }
        Ok(self.program.fill_with_zeros(page)?)
    }

    /// Begins to read a page, unless that has begun already; frames are freed while the drive works.
    fn begin_content(&mut self, page: PageId) -> Option<Reading> {
        if let Some(reading) = self.early.take_if(|reading| reading.page() == page) {
            return Some(reading);
        }
        let slot = self.pages.slot(page)?;
        let is_at_hand = self.pages.has(page, IN_FLIGHT | READ_AHEAD);
        (!is_at_hand).then(|| self.begin_reading(page, slot))
    }

    /// Makes a frame free, and others for pages that are read ahead, and keeps to the reserve.
    fn make_frames(&mut self, incoming: PageId) -> Result<(), PagerError> {
        self.make_room_to_read_ahead(0)?;
        self.make_room(incoming)?;
        self.keep_reserve()?;
        self.begin_unmapping()
    }

    fn bring_content(&mut self, page: PageId, reading: Option<Reading>) -> Result<(), PagerError> {
        if self.pages.has(page, IN_FLIGHT) {
            match self.is_leaving(page) {
                true => self.cancel_write(page),
                false => self.write_queue.evicted -= 1,
            }
            self.counts.pages_rescued += 1;
            return Ok(());
        }
        if self.pages.has(page, READ_AHEAD) {
            self.use_read_ahead(page);
            return Ok(());
        }
        match self.pages.slot(page) {
            None => {
                self.bring_zeros(page)?;
                self.counts.pages_zero_filled += 1;
                self.expose_zeros_beside(page)?;
            }
            Some(slot) => {
                // Its write may have ended only now.
                let reading = match reading {
                    Some(reading) => reading,
                    None => self.begin_reading_in_freed_frames(page, slot)?,
                };
                let departed = self.depart_while_reading();
                let read = self.wait_for_read(|pager| pager.end_reading(reading));
                read.and(departed)?;
                self.counts.pages_read += 1;
            }
        }
        self.arrived(page);
        Ok(())
    }

    /// Tells the program to drop the translations of pages whose bits were cleared, and does not wait for it: clearing
    /// a bit a little later changes nothing.
    fn begin_unmapping(&mut self) -> Result<(), PagerError> {
        if self.is_sensed() {
            return self.order_drops();
        }
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

    /// Waits until the program no longer uses an old translation of `page`.
    fn finish_unmapping(&mut self, page: PageId) -> Result<(), PagerError> {
        if self.pages.has(page, UNMAPPING) { self.finish_all_unmapping() } else { Ok(()) }
    }

    fn finish_all_unmapping(&mut self) -> Result<(), PagerError> {
        if !self.unmapping.is_empty() {
            during(Waits::ForProgram, || self.program.finish_unmapping())?;
            for page in self.unmapping.drain(..) {
                self.pages.clear(page, UNMAPPING);
            }
        }
        Ok(())
    }

    /// The place of a page's content, if it has any.
    fn address(&mut self, page: PageId) -> PageAddress {
        match self.pages.has(page, IN_SWAP_CACHE) {
            true => self.swap_cache.address(page),
            false => self.program.address(page),
        }
    }

    fn forbid_writes(&mut self, page: PageId) -> Result<(), PagerError> {
        self.finish_unmapping(page)?;
        // A write may have been allowed and not been seen yet.
        if self.pages.has(page, WRITABLE) || self.silent.is_some() {
            self.program.forbid_writes(page, 1)?;
            self.pages.clear(page, WRITABLE);
        }
        Ok(())
    }

    /// Evicts pages until a frame is free for `incoming`.
    fn make_room(&mut self, incoming: PageId) -> Result<(), PagerError> {
        self.begin_decision()?;
        let made = self.carry_out_steps(incoming);
        self.end_decision(made.is_ok());
        made
    }

    fn carry_out_steps(&mut self, incoming: PageId) -> Result<(), PagerError> {
        loop {
            // A page whose write failed is still requested.
            if let Some(frame) = self.requested {
                self.write_back(frame)?;
                self.requested = None;
            }
            let step = self.memory.next_step(incoming);
            self.sensed();
            match step {
                Some(Step::WriteBack(frame)) => self.requested = Some(frame),
                Some(Step::Evict(victim)) => self.evict(victim)?,
                None => return Ok(()),
            }
        }
    }

    fn evict(&mut self, victim: Frame) -> Result<(), PagerError> {
        let page = self.memory.frames().page(victim);
        let is_dirty = self.memory.frames().is_dirty(victim);
        // Looked at just now, if the policy has not asked.
        self.sensed();
        let mut refaults = false;
        if is_dirty {
            self.write(page, Then::Leaves)?;
            self.memory.written_back(victim);
            self.counts.dirty_evictions += 1;
        } else {
            refaults = self.take_clean(page)?;
            self.counts.clean_evictions += 1;
        }
        self.memory.commit_eviction();
        self.decided(Event::Eviction { page, is_dirty });
        if refaults {
            self.keep_for_refault(page);
            return self.make_room_to_read_ahead(0);
        }
        // A clean page may be in flight too: it was rescued, or its write-back has not finished.
        if self.pages.has(page, IN_FLIGHT) {
            self.write_queue.evicted += 1;
            self.keep_to_frames(0);
            if self.silent.is_some() {
                // It has been taken, or will be with others.
                self.pages.clear(page, WRITABLE);
                return Ok(());
            }
            if self.is_sensed() {
                return self.put_in_swap_cache(page);
            }
            self.memory.frames_mut().unmapped().push(page);
            return Ok(());
        }
        self.release(page)
    }
}

impl Drop for Pager {
    /// Waits for the writes under way, whose pages are about to be unmapped, and releases all slots.
    fn drop(&mut self) {
        while self.store.finished_write(true).is_some() {}
        for slot in self.pages.footprint.iter().filter_map(|&page| self.pages.slot(page)) {
            self.store.release(slot);
        }
    }
}

/// Bytes of a page.
const PAGE_BYTES: u64 = clockhand_pager_protocol::PAGE_BYTES as u64;

/// What its driver asks of it.
impl Pager {
    /// Serves an access that waits, which can then go on. Returns whether the page was in no frame of the policy.
    ///
    /// # Errors
    ///
    /// [`PagerError::Store`]: no page is lost; ask again, and the same victim is written.
    pub fn serve(&mut self, page: PageId, op: Op) -> Result<bool, PagerError> {
        self.serve_at(u64::from(page.0) * PAGE_BYTES, op)
    }

    /// The same for the access to a byte of the memory: what lies there says what may be wanted next.
    ///
    /// # Errors
    ///
    /// As [`Pager::serve`].
    pub fn serve_at(&mut self, offset: u64, op: Op) -> Result<bool, PagerError> {
        self.end_background_read()?;
        self.waits_at = offset;
        let page = PageId((offset / PAGE_BYTES) as u32);
        let is_miss = self.memory.frame_of(page) == Frame::NONE;
        let served = self.serve_access(page, op);
        // Something has failed, and will be tried again.
        if let Some(reading) = self.early.take() {
            self.abandon_reading(reading)?;
        }
        served.map(|()| is_miss)
    }

    /// Forgets the content of pages, which read as zeros from now on.
    ///
    /// # Errors
    ///
    /// If the memory cannot be given back. A failing store causes no error: it is not asked to write these pages.
    pub fn discard(&mut self, first: PageId, pages: u32) -> Result<(), PagerError> {
        if pages == 0 {
            return Ok(());
        }
        self.end_background_read()?;
        let end = first.0 + pages;
        let is_discarded = |page: PageId| (first.0..end).contains(&page.0);
        self.wait_for_writes_of(is_discarded)?;
        self.cancel_writes(|page, _| is_discarded(page));
        // Of memory that is reserved and given back most was never used.
        let used = (first.0..end).map(PageId).filter(|&page| self.pages.is_used(page));
        let used: Vec<_> = used.collect();
        for &page in &used {
            if let Some(slot) = self.pages.slot(page) {
                self.store.release(slot);
                self.pages.set_slot(page, None);
            }
            self.counts.resident_pages -= u64::from(self.pages.has(page, PRESENT));
            self.swap_cache.remove(page);
            self.pages.clear(page, PRESENT | MAPPED | WRITABLE | READ_AHEAD | IN_SWAP_CACHE);
        }
        self.read_ahead.waiting.retain(|waiting| !is_discarded(waiting.page));
        self.left.retain(|&left| !is_discarded(left));
        self.forget_discovered(is_discarded);
        self.forbid_writes_of_freed(used)?;
        self.counts.discarded_pages += u64::from(pages);
        Ok(self.program.forget(first, pages)?)
    }

    /// Forgets the content of pages over which the program maps something else: they are neither watched nor touched from now on.
    /// One that is in a frame leaves it as a page that is not used.
    ///
    /// # Errors
    ///
    /// As [`Pager::discard`], or if the memory cannot do without them.
    pub fn give_away(&mut self, first: PageId, pages: u32) -> Result<(), PagerError> {
        self.discard(first, pages)?;
        // What the program does later must not reach what it maps there.
        self.finish_all_unmapping()?;
        self.finish_drops()?;
        Ok(self.program.give_away(first, pages)?)
    }

    /// Puts a copy of all pages into slots, and forbids all writes until the next access is served.
    ///
    /// # Errors
    ///
    /// If a page cannot be written; the slots have then been released.
    pub fn copy_for_fork(&mut self) -> Result<InitialPages, PagerError> {
        self.end_background_read()?;
        self.end_silent_accesses()?;
        self.write_all()?;
        let mut changed = Vec::new();
        let mut copies = InitialPages::new();
        for index in 0..self.pages.footprint.len() {
            let page = self.pages.footprint[index];
            self.freeze(page)?;
            let frame = self.memory.frame_of(page);
            let is_dirty = frame != Frame::NONE && self.memory.frames().is_dirty(frame);
            match self.pages.slot(page) {
                // Without a slot a page reads as zeros.
                // SAFETY: the page has content, which does not change.
                _ if is_dirty
                    && self.pages.has(page, PRESENT)
                    && !unsafe { self.address(page).is_zeros() } =>
                {
                    changed.push(page);
                }
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

    /// Collects writes that have finished. Called when there is nothing else to do.
    ///
    /// # Errors
    ///
    /// As [`Pager::serve`]; a failed write is tried again when its page's frame is needed.
    pub fn collect_finished_writes(&mut self) -> Result<(), PagerError> {
        self.reap(false)
    }

    /// The program has ended, so pages still queued need not be written. Waits for the writes under way, so that
    /// the counts are final.
    ///
    /// # Errors
    ///
    /// If the memory is no longer accessible; a failing store causes no error.
    pub fn end(&mut self) -> Result<(), PagerError> {
        self.end_background_read()?;
        self.wait_for_writes_of(|_| true)?;
        self.cancel_writes(|_, _| true);
        Ok(())
    }

    /// What was counted.
    pub fn counts(&self) -> Counts {
        Counts { footprint_pages: self.pages.footprint.len() as u64, ..self.counts }
    }

    /// Where time went.
    pub fn times(&self) -> &Times {
        &self.times
    }

    /// A fault has been served, `time` after the pager learned of it.
    pub fn fault_served(&mut self, time: Duration) {
        self.times.fault_served(time);
    }

    /// The values by which the policy adapts.
    pub fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.memory.gauges(show);
    }

    /// The policy's lists.
    pub fn inspect(&self, inspector: &mut dyn Inspector) {
        self.memory.inspect(inspector);
    }

    /// Bytes that the store occupies.
    pub fn occupied_bytes(&self) -> u64 {
        self.store.occupied_bytes()
    }
}
