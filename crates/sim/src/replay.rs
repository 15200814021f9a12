//! One pass over the runs of a trace with one policy and one memory size.
//!
//! The loop is compiled for each policy. A hit under a bit-driven policy is one load from the page table and
//! one OR into the frame's state; everything that is counted is counted on faults, and hits are the rest.

mod admission;
mod chunks;
mod drops;
mod feed;
mod groups;
mod observer;
mod recording;
#[cfg(test)]
mod tests;

use std::num::NonZeroU64;

use clockhand_policy::catalog::{ResolvedPolicy, Size, Visitor};
use clockhand_policy::page::{AccessDriven, BitDriven, Fault, Offline, PagePolicy};
use clockhand_policy::{Frame, Frames, Memory, Op, PageId, Replaced, Step};
use clockhand_prefetch::prefetch;
use clockhand_trace::{Record, RunLengths};

use crate::intervals::{Cuts, Noted, Notes, grows};
use crate::next_use::NextUse;
use crate::{Progress, SimError};

pub(crate) use admission::{Admission, Everything};
use chunks::CellChunks;
pub(crate) use chunks::Runs;
use drops::DropsAhead;
pub(crate) use feed::{ByAccess, ByExactBits, ByFuture, ByReference, Feed, first_op};
use feed::{ByMappedBits, BySensedBits};
pub use observer::GaugeSample;
pub(crate) use observer::{Observed, PageLog};
use observer::{Observer, Unobserved};
use recording::Recording;
pub use recording::{Listed, ListedKind, WatchedStep};

/// Where read and write bits come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Bits {
    /// Every hit sets its bit: the papers' rule.
    #[default]
    Exact,
    /// As real memory shows it: the faulting access is retried and sets its own bit; after a write, reads stay
    /// unseen until the bits are cleared.
    Mapped,
    /// As real memory shows it to a policy that looks: a translation that is back says that its page was referenced,
    /// whatever the access did; a period of the policy ends with a miss, since nothing looks between misses.
    Sensed,
}

impl Bits {
    /// What options and rows call them.
    pub const WORDS: [(&'static str, Bits); 3] =
        [("exact", Bits::Exact), ("mapped", Bits::Mapped), ("sensed", Bits::Sensed)];
}

/// What a write fault reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WriteMiss {
    /// The page is fetched before it is modified.
    #[default]
    Fetch,
    /// Nothing: the page is written as a whole.
    Blind,
}

impl WriteMiss {
    /// What options and rows call them.
    pub const WORDS: [(&'static str, WriteMiss); 2] =
        [("fetch", WriteMiss::Fetch), ("blind", WriteMiss::Blind)];
}

/// The word of a value.
pub(crate) fn word_of<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    let (word, _) = words.iter().find(|(_, other)| other == value).expect("each value has a word");
    word
}

/// Options of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ReplayOptions {
    /// The source of read and write bits; access-driven policies have none.
    pub bits: Bits,
    /// What a write fault reads.
    pub write_miss: WriteMiss,
    /// Writes dirty pages when the trace ends.
    pub flush_at_end: bool,
}

/// What one replay counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counts {
    /// Read references that faulted, except those that were bypassed.
    pub read_misses: u64,
    /// Write references that faulted, except those that were bypassed.
    pub write_misses: u64,
    /// Read references to pages that were not in memory and were refused by an admission.
    pub bypassed_reads: u64,
    /// Write references to pages that were not in memory and were refused by an admission.
    pub bypassed_writes: u64,
    /// Pages read from the device.
    pub read_ios: u64,
    /// Pages that left clean.
    pub clean_evictions: u64,
    /// Pages that were written because they left.
    pub dirty_evictions: u64,
    /// Pages that were written and stayed.
    pub write_backs: u64,
    /// Pages that were written when the trace ended.
    pub flush_writes: u64,
    /// Pages that left clean because their content ended.
    pub dropped_clean: u64,
    /// Pages that left unwritten because their content ended.
    pub dropped_dirty: u64,
    /// Accesses to pages in memory that memory had to fault for, so that its bits were seen.
    pub permission_faults: u64,
}

grows!(Counts {
    read_misses,
    write_misses,
    bypassed_reads,
    bypassed_writes,
    read_ios,
    clean_evictions,
    dirty_evictions,
    write_backs,
    flush_writes,
    dropped_clean,
    dropped_dirty,
    permission_faults,
});

impl Counts {
    pub(crate) fn misses(&self) -> u64 {
        self.read_misses + self.write_misses
    }

    /// Pages written to the device.
    pub fn write_ios(&self) -> u64 {
        self.dirty_evictions + self.write_backs + self.flush_writes
    }
}

/// References between two checks of the progress clock and for a cancellation.
pub(crate) const CHUNK_RECORDS: usize = 1 << 18;

/// Metadata of pages is prefetched this many records ahead. Fewer gain less, more are forgotten again.
const LOOK_AHEAD_RECORDS: usize = 32;

/// Records that are replayed in [`groups`] or one by one, as those before them missed often or not.
const BLOCK_RECORDS: usize = 1 << 12;

/// One cell of a simulation: the runs of a trace, the future for offline policies, and how to replay.
pub(crate) struct Cell<'a> {
    pub runs: Runs<'a>,
    pub next_use: Option<&'a NextUse>,
    /// The frames of the policy.
    pub frames: u32,
    pub options: ReplayOptions,
    pub progress: &'a Progress,
}

/// What is noted of a replay: its counts, and those of an observer and an admission.
type Seen<O, A> = (Counts, <O as Observer>::Seen, <A as Admission>::Seen);

/// A replay that is done.
type Replayed<O, A> = Result<(Noted<Seen<O, A>>, O), SimError>;

impl<'a> Cell<'a> {
    /// The records as policy `P` wants them.
    fn chunks<P: PagePolicy>(self, ahead: usize) -> CellChunks<'a> {
        CellChunks::new(self.runs, self.next_use, ahead, P::PAGE_NUMBERS_MATTER)
    }
}

impl Cell<'_> {
    /// Replays the view under `policy`.
    ///
    /// More frames than pages change nothing, so that a cell costs no more memory than its footprint.
    pub(crate) fn replay(self, policy: &ResolvedPolicy) -> Result<Counts, SimError> {
        self.replay_noting(policy, Cuts::NONE).map(Noted::into_whole)
    }

    /// As [`Cell::replay`], with the counts at cuts of the trace; if there are any, the view is not folded.
    pub(crate) fn replay_noting(
        self,
        policy: &ResolvedPolicy,
        cuts: &Cuts,
    ) -> Result<Noted<Counts>, SimError> {
        let (noted, Unobserved) = self.replay_by(policy, Unobserved, Everything, cuts)?;
        Ok(noted.map(|(counts, (), ())| counts))
    }

    /// As [`Cell::replay_noting`], with a rule that hears of every miss and may refuse pages; with what it counts. If it refuses
    /// any, the view is not folded, since a run of references may be refused at first.
    pub(crate) fn replay_admitting<A: Admission>(
        self,
        policy: &ResolvedPolicy,
        admission: A,
        cuts: &Cuts,
    ) -> Result<Noted<(Counts, A::Seen)>, SimError> {
        let sees_all = !A::REFUSES || self.runs.are_single_references();
        assert!(sees_all, "an admission that refuses sees every reference");
        assert_eq!(self.options.bits, Bits::Exact, "an admission comes with exact bits");
        let (noted, Unobserved) = self.replay_by(policy, Unobserved, admission, cuts)?;
        Ok(noted.map(|(counts, (), seen)| (counts, seen)))
    }

    /// As [`Cell::replay_noting`], slower: counts hand movements, and samples the gauges at the first fault and then
    /// after every `gauge_every` faults. With a log of what is read and written, the view is not folded.
    pub(crate) fn replay_observed<'l>(
        self,
        policy: &ResolvedPolicy,
        gauge_every: Option<NonZeroU64>,
        log: Option<PageLog<'l>>,
        cuts: &Cuts,
    ) -> Result<(Noted<(Counts, u64)>, Observed<'l>), SimError> {
        let sees_all = log.is_none() || self.runs.are_single_references();
        assert!(sees_all, "a log has the times of references");
        let observer = Observed { gauge_every, log, ..Observed::default() };
        let (noted, observed) = self.replay_by(policy, observer, Everything, cuts)?;
        Ok((noted.map(|(counts, hand_movements, ())| (counts, hand_movements)), observed))
    }

    /// As [`Cell::replay_observed`], with a recording of every step. The view is not folded, so that each reference
    /// is a step.
    pub(crate) fn replay_recorded(
        self,
        policy: &ResolvedPolicy,
    ) -> Result<(Counts, Observed<'static>), SimError> {
        assert!(self.runs.are_single_references(), "every reference is a step");
        let recording = Some(Recording::default());
        let observer = Observed { recording, ..Observed::default() };
        let whole = Cuts::NONE;
        let (noted, observed) = self.replay_by(policy, observer, Everything, whole)?;
        Ok((noted.into_whole().0, observed))
    }

    fn replay_by<O: Observer, A: Admission>(
        self,
        policy: &ResolvedPolicy,
        observer: O,
        admission: A,
        cuts: &Cuts,
    ) -> Replayed<O, A> {
        let is_cut_anywhere = cuts.is_empty() || self.runs.are_single_references();
        assert!(is_cut_anywhere, "counts are noted between single references");
        let pages = self.runs.pages();
        let size = Size { frames: self.frames.min(pages), pages };
        policy.build(size, CellVisitor { cell: self, size, observer, admission, cuts })
    }
}

struct CellVisitor<'a, O, A> {
    cell: Cell<'a>,
    size: Size,
    observer: O,
    admission: A,
    cuts: &'a Cuts,
}

impl<O: Observer, A: Admission> CellVisitor<'_, O, A> {
    fn run<P: PagePolicy, T: Feed<P>>(self, policy: P, feed: T) -> Replayed<O, A> {
        let CellVisitor { cell, size, observer, admission, cuts } = self;
        let memory = Memory::new(size.frames, size.pages, policy);
        let counted = Counted::default();
        let options = cell.options;
        let mut replay = Replay { memory, feed, observer, admission, options, counted };
        let mut notes = Notes::at(cuts);
        match replay.memory.policy().period() {
            None => replay.run(cell, &mut notes)?,
            Some(period) => replay.run_in_periods(cell, period.get(), &mut notes)?,
        }
        replay.show_flush();
        Ok((notes.finish(replay.seen_at_end()), replay.observer))
    }
}

impl<O: Observer, A: Admission> Visitor for CellVisitor<'_, O, A> {
    type Output = Replayed<O, A>;

    fn bit_driven<P: BitDriven + 'static>(self, policy: P) -> Self::Output {
        if A::HEARS_MISSES {
            // Other bits, which it does not come with, need not be compiled for an admission.
            return self.run(policy, ByExactBits);
        }
        match self.cell.options.bits {
            Bits::Exact => self.run(policy, ByExactBits),
            Bits::Mapped => self.run(policy, ByMappedBits::default()),
            Bits::Sensed => self.run(policy, BySensedBits::default()),
        }
    }

    fn access_driven<P: AccessDriven + 'static>(self, policy: P) -> Self::Output {
        if P::COUNTS_REFERENCES {
            return self.run(policy, ByReference::default());
        }
        self.run(policy, ByAccess)
    }

    fn offline<P: Offline + 'static>(self, policy: P) -> Self::Output {
        assert!(self.cell.next_use.is_some(), "the future is computed for offline policies");
        self.run(policy, ByFuture::default())
    }
}

struct Replay<P, T, O, A> {
    memory: Memory<P>,
    feed: T,
    observer: O,
    admission: A,
    options: ReplayOptions,
    counted: Counted,
}

/// What is counted along the way, as little as possible: [`Counts`] follow from it.
#[derive(Default)]
struct Counted {
    misses: u64,
    write_misses: u64,
    bypassed_reads: u64,
    bypassed_writes: u64,
    dirty_evictions: u64,
    write_backs: u64,
    dropped_clean: u64,
    dropped_dirty: u64,
}

impl<P: PagePolicy, T: Feed<P>, O: Observer, A: Admission> Replay<P, T, O, A> {
    /// Inlined with the ordinary fault in it, since calls, and what they save and restore, take longer than what is called.
    #[inline(always)]
    fn reference(&mut self, record: Record) {
        let page = PageId(record.page());
        self.feed.before(&mut self.memory);
        self.admission.referenced(page);
        let frame = self.memory.find(page);
        if let Some(frame) = frame {
            self.admission.hit(page);
            self.feed.hit(&mut self.memory, record, frame);
        } else if !self.replace(record) {
            self.fault(record);
        }
        self.observer.referenced(&self.memory, frame.is_some());
    }

    /// Serves an ordinary fault; says whether it was one.
    #[inline(always)]
    fn replace(&mut self, record: Record) -> bool {
        if O::OBSERVES || A::REFUSES {
            return false;
        }
        let fault = self.fault_of(record);
        let Some(Replaced { frame, was_dirty, .. }) = self.memory.replace(fault) else {
            return false;
        };
        self.counted.dirty_evictions += u64::from(was_dirty);
        self.faulted(record, fault, frame);
        true
    }

    #[inline]
    fn fault_of(&self, record: Record) -> Fault {
        let op = first_op(record);
        let fetched = (op == Op::Read) | (self.options.write_miss == WriteMiss::Fetch);
        Fault { fetched, ..Fault::new(PageId(record.page()), op) }
    }

    #[inline(never)]
    fn fault(&mut self, record: Record) {
        let op = first_op(record);
        if !self.admission.admits(PageId(record.page()), op, &self.memory) {
            self.counted.bypassed_reads += u64::from(op == Op::Read);
            self.counted.bypassed_writes += u64::from(op == Op::Write);
            self.admission.missed(op, false);
            return;
        }
        if P::RECLAIMS_IN_BATCHES {
            self.reclaim(record);
        } else {
            while self.memory.is_full() {
                self.evict(record);
            }
        }
        let fault = self.fault_of(record);
        let frame = self.memory.load(fault);
        if fault.fetched {
            self.observer.fetched(fault.page);
        }
        self.faulted(record, fault, frame);
        self.observer.faulted(&self.memory);
    }

    /// The page of the record has been loaded into `frame`.
    #[inline(always)]
    fn faulted(&mut self, record: Record, fault: Fault, frame: Frame) {
        self.counted.misses += 1;
        self.counted.write_misses += u64::from(fault.op == Op::Write);
        self.admission.missed(fault.op, true);
        self.feed.rest(&mut self.memory, record, frame);
    }

    fn evict(&mut self, incoming: Record) {
        let victim = self.observer.victim(&mut self.memory, PageId(incoming.page()));
        while let Some(frame) = self.memory.next_write_back() {
            self.write_back(frame);
        }
        self.carry_out(victim);
    }

    /// A batch of pages leaves, or is written and stays, as the policy says.
    fn reclaim(&mut self, incoming: Record) {
        let incoming = PageId(incoming.page());
        while let Some(step) = self.observer.step(&mut self.memory, incoming) {
            match step {
                Step::WriteBack(frame) => self.write_back(frame),
                Step::Evict(victim) => self.carry_out(victim),
            }
        }
    }

    fn write_back(&mut self, frame: Frame) {
        self.counted.write_backs += 1;
        self.observer.written_back(self.memory.frames().page(frame));
        self.memory.written_back(frame);
    }

    #[inline]
    fn carry_out(&mut self, victim: Frame) {
        let dirty = self.memory.frames().is_dirty(victim);
        self.observer.leaves(self.memory.frames().page(victim), dirty);
        if dirty {
            self.counted.dirty_evictions += 1;
            self.memory.written_back(victim);
        }
        self.memory.commit_eviction();
    }

    fn run(&mut self, cell: Cell, notes: &mut Notes<'_, Seen<O, A>>) -> Result<(), SimError> {
        let (ahead, block_records) = if P::LOOKS_AHEAD {
            (LOOK_AHEAD_RECORDS, LOOK_AHEAD_RECORDS)
        } else {
            (0, BLOCK_RECORDS)
        };
        let progress = cell.progress;
        let mut in_groups = false;
        let mut drops = DropsAhead::of(&cell.runs);
        let mut chunks = cell.chunks::<P>(ahead);
        self.end_content(drops.due());
        while let Some(chunk) = chunks.next(drops.until_next(notes.until_next(CHUNK_RECORDS)))? {
            self.memory.take_more_pages(chunk.pages);
            self.feed.enter(chunk.run_lengths, chunk.next_use);
            let mut ahead = chunk.ahead.chunks(LOOK_AHEAD_RECORDS);
            for block in chunk.records.chunks(block_records) {
                if P::LOOKS_AHEAD {
                    let soon = ahead.next().unwrap_or_default();
                    for record in soon {
                        self.memory.fetch_ahead(PageId(record.page()), prefetch);
                    }
                }
                let misses = self.counted.misses;
                if Self::GROUPS && in_groups {
                    self.references_in_groups(block);
                } else {
                    block.iter().for_each(|&record| self.reference(record));
                }
                in_groups = groups::gain_after(block.len(), self.counted.misses - misses);
            }
            chunk_done(&mut self.memory, progress, chunk.records.len())?;
            notes.passed(chunk.records, || self.seen());
            drops.pass(chunk.records.len());
            self.end_content(drops.due());
        }
        Ok(())
    }

    /// As [`Replay::run`], with an end of the period after every `period` references; no record crosses it.
    fn run_in_periods(
        &mut self,
        cell: Cell,
        period: u64,
        notes: &mut Notes<'_, Seen<O, A>>,
    ) -> Result<(), SimError> {
        let (mut left_in_period, progress) = (period, cell.progress);
        let mut drops = DropsAhead::of(&cell.runs);
        let mut chunks = cell.chunks::<P>(0);
        self.end_content(drops.due());
        while let Some(chunk) = chunks.next(drops.until_next(notes.until_next(CHUNK_RECORDS)))? {
            self.memory.take_more_pages(chunk.pages);
            self.feed.enter(chunk.run_lengths, chunk.next_use);
            let mut lengths = chunk.run_lengths.into_iter().flat_map(RunLengths::iter);
            for &record in chunk.records {
                let misses = self.counted.misses;
                self.reference(record);
                let length = lengths.next().map_or(1, u64::from);
                left_in_period -= length;
                if left_in_period == 0 {
                    let by_miss = length == 1 && self.counted.misses > misses;
                    self.feed.period_ended(&mut self.memory, by_miss);
                    left_in_period = period;
                }
            }
            chunk_done(&mut self.memory, progress, chunk.records.len())?;
            notes.passed(chunk.records, || self.seen());
            drops.pass(chunk.records.len());
            self.end_content(drops.due());
        }
        Ok(())
    }

    /// Shows the pages that are written when the trace ends.
    fn show_flush(&mut self) {
        if !O::OBSERVES || !self.options.flush_at_end {
            return;
        }
        let frames = self.memory.frames();
        for frame in self.memory.resident_frames().filter(|&frame| frames.is_dirty(frame)) {
            self.observer.written_back(frames.page(frame));
        }
    }

    /// What was counted so far.
    fn seen(&self) -> Seen<O, A> {
        (self.counts(0), self.observer.seen(), self.admission.seen())
    }

    /// What was counted, at the end of the trace.
    fn seen_at_end(&self) -> Seen<O, A> {
        let dirty = if self.options.flush_at_end { self.memory.dirty_pages() } else { 0 };
        (self.counts(dirty.into()), self.observer.seen(), self.admission.seen())
    }

    fn counts(&self, flush_writes: u64) -> Counts {
        let Counted { misses, write_misses, dirty_evictions, write_backs, .. } = self.counted;
        let Counted { dropped_clean, dropped_dirty, .. } = self.counted;
        let left = misses - u64::from(self.memory.resident_pages());
        let evictions = left - dropped_clean - dropped_dirty;
        Counts {
            read_misses: misses - write_misses,
            write_misses,
            bypassed_reads: self.counted.bypassed_reads,
            bypassed_writes: self.counted.bypassed_writes,
            read_ios: match self.options.write_miss {
                WriteMiss::Fetch => misses,
                WriteMiss::Blind => misses - write_misses,
            },
            clean_evictions: evictions - dirty_evictions,
            dirty_evictions,
            write_backs,
            flush_writes,
            dropped_clean,
            dropped_dirty,
            permission_faults: self.feed.permission_faults(),
        }
    }
}

/// Counts records that are done, and ends the replay if the policy failed or the run was cancelled.
pub(crate) fn chunk_done<P: PagePolicy>(
    memory: &mut Memory<P>,
    progress: &Progress,
    records: usize,
) -> Result<(), SimError> {
    progress.add_done(records as u64);
    if let Some(failure) = memory.policy_mut().failure() {
        return Err(SimError::OwnPolicy(failure));
    }
    if progress.is_cancelled() { Err(SimError::Interrupted) } else { Ok(()) }
}
