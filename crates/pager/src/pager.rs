//! One paged memory: the policy decides as in the simulator, and its decisions are carried out on real pages.
//!
//! What happens to a fault, step by step:
//!
//! 1. **Found pages** ([`Discovered`](discovered::Discovered)): accesses that came without a message are served first.
//! 2. **Read** ([`ReadAhead`]): the store begins to read the page, and others that predictors choose.
//! 3. **Decision**: the policy chooses pages to write and to evict, until a frame is free.
//! 4. **Write-back** ([`WriteBack`]): dirty pages are queued, and written together while the store reads.
//! 5. **Answer** ([`Observation`]): the page is loaded, and the program goes on.
//!
//! [`Residency`] knows where each page is, and [`Pages`] has what the others work on.

mod decision;
mod discovered;
mod fork;
mod interface;
mod invariants;
mod log;
mod observation;
mod pages;
mod period;
mod read_ahead;
mod reading;
mod residency;
mod swap_cache;
mod write_back;

use clockhand_policy::page::{BitDriven, Fault};
use clockhand_policy::{Frame, Frames, HitBits, Memory, Op, PageId};
use clockhand_prefetch::PredictorSet;

use self::discovered::Discovered;
use self::log::Log;
use self::observation::Observation;
use self::pages::Pages;
use self::period::Period;
use self::read_ahead::ReadAhead;
use self::reading::Reading;
use self::residency::{Access, Residence, Residency};
use self::write_back::WriteBack;
use crate::frames::UnmappingFrames;
use crate::parts::{PagerError, Parts};
use crate::statistics::{Counts, Times};
use crate::store::Slot;

/// Bytes of a page.
const PAGE_BYTES: u64 = clockhand_pager_protocol::PAGE_BYTES as u64;

// Predictors count in pages too.
const _: () = assert!(PAGE_BYTES == clockhand_prefetch::PAGE_BYTES);

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
    pages: Pages,
    write_back: WriteBack,
    read_ahead: ReadAhead,
    log: Log,
    period: Period,
    /// The page that the policy wants written back and whose write is being prepared.
    requested: Option<Frame>,
}

impl Pager {
    /// A paged memory of `frames` frames for the policy, and others for writes under way and for pages read ahead.
    pub(crate) fn new<P: BitDriven + 'static>(
        policy: P,
        frames: FrameShares,
        predictors: PredictorSet,
        parts: Parts,
    ) -> Self {
        let number = parts.program.pages();
        let mut residency = Residency::new(number, (frames.reserve + frames.read_ahead) as usize);
        for &(page, slot) in &parts.initial {
            residency.set_slot(page, Some(slot));
            residency.touch(page);
        }
        let translations = parts.translations;
        let observation = Observation::new(parts.program, translations.as_deref(), frames.policy);
        let period = Period::new(policy.period());
        let table = UnmappingFrames::new(frames.policy, number, P::HIT_BITS, translations);
        let pages = Pages {
            memory: Box::new(Memory::with_frames(table, number, policy)),
            residency,
            observation,
            discovered: Discovered::default(),
            store: parts.store,
            counts: Counts::default(),
            times: Times::default(),
        };
        Pager {
            pages,
            write_back: WriteBack::new(frames.reserve, frames.read_ahead),
            read_ahead: ReadAhead::new(frames.read_ahead, predictors),
            log: Log::new(parts.events),
            period,
            requested: None,
        }
    }

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
        self.read_ahead.end_background(&mut self.pages)?;
        self.read_ahead.waits_at(offset);
        let page = PageId((offset / PAGE_BYTES) as u32);
        let is_miss = self.pages.memory.frame_of(page) == Frame::NONE;
        let served = self.serve_access(page, op);
        self.read_ahead.abandon_early(&mut self.pages)?;
        served.map(|()| is_miss)
    }

    fn serve_access(&mut self, page: PageId, op: Op) -> Result<(), PagerError> {
        let op = self.serve_found(page, op)?;
        match self.pages.memory.frame_of(page) {
            Frame::NONE => self.miss(page, op, true),
            frame => self.hit(page, op, frame),
        }
    }

    /// Loads the pages that have been accessed without a message, before an access to `page` is served. Returns what that
    /// access then is: a write, if the page was discovered to be written. A miss that was interrupted goes first.
    fn serve_found(&mut self, page: PageId, op: Op) -> Result<Op, PagerError> {
        if !self.pages.observation.shows_writes() {
            return Ok(op);
        }
        if self.pages.discovered.begun() != Some(page) || self.pages.discovered.has(page) {
            if self.pages.residency.of(page) == Residence::Absent {
                self.read_ahead.begin_early(page, &mut self.pages);
                self.read_ahead.look_before_others_come(page, &mut self.pages);
            }
            self.load_discovered()?;
        }
        // Content that is still to be written and was not copied is in the memory file only.
        let is_written = self.pages.discovered.has_written(page) || self.pages.is_leaving(page);
        Ok(if is_written { Op::Write } else { op })
    }

    /// Loads the pages that have been discovered. Those that refault because of it wait until the program, which needs
    /// pages as well, has had its turn.
    fn load_discovered(&mut self) -> Result<(), PagerError> {
        for _ in 0..self.pages.discovered.len() {
            let Some((page, op)) = self.pages.discovered.first() else { break };
            self.miss(page, op, false)?;
        }
        Ok(())
    }

    /// The page is in memory: a bit that was cleared is set again, or the first write is seen.
    fn hit(&mut self, page: PageId, op: Op, frame: Frame) -> Result<(), PagerError> {
        let Pages { residency, observation, .. } = &mut self.pages;
        let is_within_reach = observation.is_within_reach(page, residency);
        if is_within_reach && (op == Op::Read || residency.is_writable(page)) {
            return observation.let_retry(page, residency);
        }
        match is_within_reach {
            true => self.pages.counts.write_protect_faults += 1,
            false => self.pages.counts.minor_faults += 1,
        }
        self.log.seen(page, op, false, &mut self.pages);
        match self.pages.observation.is_sensed() {
            true => self.pages.memory.hit_sensed(op, frame),
            false => self.pages.memory.hit_mapped(op, frame),
        }
        if self.pages.residency.of(page) == Residence::Freed {
            self.pages.bring_zeros(page)?;
            self.arrived(page);
        }
        self.give(page, op, frame)?;
        self.reference_done(false)
    }

    /// The page is loaded; its access waits for that, or has gone on.
    fn miss(&mut self, page: PageId, op: Op, waits: bool) -> Result<(), PagerError> {
        self.pages.discovered.begin_miss(page);
        self.write_back.reap(false, &mut self.pages)?;
        self.share_kept_frames();
        let reading = self.begin_content(page);
        if let Err(error) = self.make_frames(page) {
            reading.map_or(Ok(()), |reading| reading.abandon(&mut self.pages))?;
            return Err(error);
        }
        // The content is read before the page is loaded into a frame: a failed read leaves the frame free and can be
        // tried again.
        self.bring_content(page, reading)?;
        self.pages.counts.misses += 1;
        match op {
            Op::Read => self.pages.counts.read_misses += 1,
            Op::Write => self.pages.counts.write_misses += 1,
        }
        self.log.seen(page, op, true, &mut self.pages);
        let frame = self.pages.memory.load(Fault::new(page, op));
        self.pages.memory.hit_mapped(op, frame);
        self.pages.begin_dropping()?;
        self.answer(page, op, frame, waits)?;
        self.reference_done(true)?;
        self.pages.discovered.end_miss(page);
        Ok(())
    }

    /// Lends frames that are kept for pages read ahead, if pages that are to leave come back.
    fn share_kept_frames(&mut self) {
        if self.read_ahead.may_lend() {
            self.read_ahead.lend(self.write_back.choose_held(&self.pages));
        }
    }

    /// Begins to read a page, unless that has begun already; frames are freed while the drive works.
    fn begin_content(&mut self, page: PageId) -> Option<Reading> {
        if let Some(reading) = self.read_ahead.early(page) {
            return Some(reading);
        }
        let slot = self.pages.residency.slot(page)?;
        let is_absent = self.pages.residency.of(page) == Residence::Absent;
        is_absent.then(|| self.read_ahead.begin(page, slot, &mut self.pages))
    }

    /// Makes a frame free, and others for pages that are read ahead, and keeps to the reserve.
    fn make_frames(&mut self, incoming: PageId) -> Result<(), PagerError> {
        self.read_ahead.make_room(0, &mut self.pages, &mut self.write_back)?;
        self.begin_decision()?;
        let made = self.carry_out_steps(incoming);
        self.pages.memory.frames_mut().end_decision();
        if made.is_ok() {
            self.log.end_decision();
        }
        made?;
        self.write_back.keep_reserve(&mut self.pages)?;
        self.pages.begin_dropping()
    }

    /// Brings the content of a page that is missing.
    fn bring_content(&mut self, page: PageId, reading: Option<Reading>) -> Result<(), PagerError> {
        match self.pages.residency.of(page) {
            Residence::Evicted => {
                if self.pages.is_leaving(page) {
                    self.write_back.cancel(page, &mut self.pages);
                }
                self.write_back.came_back();
                self.pages.counts.pages_rescued += 1;
            }
            residence @ (Residence::Ahead | Residence::Left | Residence::Refaults) => {
                if residence == Residence::Left {
                    self.write_back.came_back();
                }
                self.read_ahead.load(page, &mut self.pages);
            }
            _ => {
                match self.pages.residency.slot(page) {
                    None => self.bring_new(page)?,
                    Some(slot) => self.bring_stored(page, slot, reading)?,
                }
                self.arrived(page);
                return Ok(());
            }
        }
        self.pages.residency.moves(page, Residence::Loaded);
        Ok(())
    }

    /// Gives a page zeros, and exposes others beside it.
    fn bring_new(&mut self, page: PageId) -> Result<(), PagerError> {
        self.pages.bring_zeros(page)?;
        self.pages.counts.pages_zero_filled += 1;
        self.read_ahead.expose_zeros_beside(page, &mut self.pages, &mut self.write_back)
    }

    /// Waits for a page to be read; pages that are to leave are taken away in the meantime.
    fn bring_stored(
        &mut self,
        page: PageId,
        slot: Slot,
        reading: Option<Reading>,
    ) -> Result<(), PagerError> {
        let Pager { pages, write_back, read_ahead, .. } = self;
        // Its write may have ended only now.
        let reading = match reading {
            Some(reading) => reading,
            None => read_ahead.begin_in_freed_frames(page, slot, pages, write_back)?,
        };
        let departed = write_back.depart_while_reading(pages);
        let read = read_ahead.end(reading, pages);
        read.and(departed)?;
        pages.counts.pages_read += 1;
        Ok(())
    }

    /// The content of a page in a frame, or for one, is now in memory.
    fn arrived(&mut self, page: PageId) {
        self.pages.residency.moves(page, Residence::Loaded);
        self.read_ahead.arrived(page);
    }

    /// Lets the program go on with its access to a page that has been loaded, if it waits, or could otherwise not reach it.
    fn answer(
        &mut self,
        page: PageId,
        op: Op,
        frame: Frame,
        waits: bool,
    ) -> Result<(), PagerError> {
        let Pages { residency, discovered, .. } = &mut self.pages;
        let is_cached = residency.is_cached(page);
        if waits || is_cached && !discovered.are_ending {
            return self.give(page, op, frame);
        }
        if !is_cached && op == Op::Write {
            residency.set_access(page, Access::Write);
        }
        Ok(())
    }

    /// Lets the program go on. Writes are allowed if its access is one, or if the next write need not be seen.
    fn give(&mut self, page: PageId, op: Op, frame: Frame) -> Result<(), PagerError> {
        let Pages { memory, observation, residency, .. } = &mut self.pages;
        let sees_writes =
            memory.hit_bits() != HitBits::Reference || !memory.frames().is_dirty(frame);
        observation.give(page, op == Op::Write || !sees_writes, residency)
    }

    /// Ends a period of the policy if this reference is its last one; with sensed bits at the next miss.
    fn reference_done(&mut self, is_miss: bool) -> Result<(), PagerError> {
        self.period.count();
        if !self.pages.observation.may_end_period(is_miss) || !self.period.take_end() {
            return Ok(());
        }
        self.pages.memory.tick();
        self.pages.begin_dropping()
    }
}

impl Drop for Pager {
    /// Waits for the writes under way, whose pages are about to be unmapped, and releases all slots.
    fn drop(&mut self) {
        let Pages { store, residency, .. } = &mut self.pages;
        while store.finished_write(true).is_some() {}
        for slot in residency.footprint().iter().filter_map(|&page| residency.slot(page)) {
            store.release(slot);
        }
    }
}
