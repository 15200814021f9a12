//! One pass over the runs of a trace with one policy and one memory size.
//!
//! The loop is compiled for each policy. A hit under a bit-driven policy is one load from the page table and
//! one OR into the frame's state; everything that is counted is counted on faults, and hits are the rest.

mod admission;
mod cell;
mod chunks;
mod counts;
mod drops;
mod feed;
mod groups;
mod observer;
mod periods;
mod recording;

use clockhand_policy::memory::fast::{FastMemory, Replaced};
use clockhand_policy::page::{Fault, PagePolicy};
use clockhand_policy::{Frame, Frames, Memory, Op, PageId, Step};
use clockhand_prefetch::prefetch;
use clockhand_trace::{Record, RunLengths};

use crate::chunk::{CHUNK_RECORDS, chunk_done};
use crate::error::SimError;
use crate::intervals::Notes;

pub(crate) use admission::Admission;
pub(crate) use cell::Cell;
use cell::Seen;
pub use cell::counts_of_view;
use chunks::CellChunk;
pub(crate) use chunks::Runs;
pub(crate) use counts::word_of;
pub use counts::{Bits, Counts, ReplayOptions, WriteMiss};
use drops::DropsAhead;
pub(crate) use feed::{ByAccess, ByExactBits, ByFuture, ByReference, Feed, first_op};
pub use observer::GaugeSample;
use observer::Observer;
pub(crate) use observer::PageLog;
use periods::Periods;
pub use recording::{Listed, ListedKind, WatchedStep};

/// Metadata of pages is prefetched this many records ahead. Fewer gain less, more are forgotten again.
const LOOK_AHEAD_RECORDS: usize = 32;

/// Records that are replayed in groups or one by one, as those before them missed often or not.
pub const BLOCK_RECORDS: usize = 1 << 12;

struct Replay<P, T, O, A> {
    memory: Memory<P>,
    feed: T,
    observer: O,
    admission: A,
    options: ReplayOptions,
    counted: Counted,
    /// Whether the next records are better replayed in [`groups`].
    in_groups: bool,
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
        if O::OBSERVES || self.admission.refuses() {
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
        let mut periods = self.memory.policy().period().map(Periods::of);
        let ahead = if P::LOOKS_AHEAD { LOOK_AHEAD_RECORDS } else { 0 };
        let progress = cell.progress;
        let mut drops = DropsAhead::of(&cell.runs);
        let mut chunks = cell.chunks::<P>(ahead);
        self.end_content(drops.due());
        while let Some(chunk) = chunks.next(drops.until_next(notes.until_next(CHUNK_RECORDS)))? {
            self.memory.take_more_pages(chunk.pages);
            self.feed.enter(chunk.run_lengths, chunk.next_use);
            match &mut periods {
                None => self.references(chunk.records, chunk.ahead),
                Some(periods) => self.references_in_periods(&chunk, periods),
            }
            chunk_done(&mut self.memory, progress, chunk.records.len())?;
            if notes.passed(chunk.records) {
                notes.note(self.seen());
            }
            drops.pass(chunk.records.len());
            self.end_content(drops.due());
        }
        Ok(())
    }

    /// Not inlined: the loop is there once, and by itself.
    #[inline(never)]
    fn references(&mut self, records: &[Record], ahead: &[Record]) {
        let block_records = if P::LOOKS_AHEAD { LOOK_AHEAD_RECORDS } else { BLOCK_RECORDS };
        let mut ahead = ahead.chunks(LOOK_AHEAD_RECORDS);
        for block in records.chunks(block_records) {
            if P::LOOKS_AHEAD {
                let soon = ahead.next().unwrap_or_default();
                for record in soon {
                    self.memory.fetch_ahead(PageId(record.page()), prefetch);
                }
            }
            let misses = self.counted.misses;
            if Self::GROUPS && self.in_groups {
                self.references_in_groups(block);
            } else {
                block.iter().for_each(|&record| self.reference(record));
            }
            self.in_groups = groups::gain_after(block.len(), self.counted.misses - misses);
        }
    }

    /// As [`Replay::references`], with the ends of the policy's periods; no record crosses one.
    fn references_in_periods(&mut self, chunk: &CellChunk<'_>, periods: &mut Periods) {
        let mut lengths = chunk.run_lengths.into_iter().flat_map(RunLengths::iter);
        let mut records = chunk.records;
        while !records.is_empty() {
            let (count, last_length) = periods.until_end(records.len(), &mut lengths);
            let (passed, later) = records.split_at(count);
            records = later;
            let (Some(length), [before @ .., last]) = (last_length, passed) else {
                self.references(passed, &[]);
                continue;
            };
            self.references(before, &[]);
            let misses = self.counted.misses;
            self.single(*last);
            let by_miss = length == 1 && self.counted.misses > misses;
            self.feed.period_ended(&mut self.memory, by_miss);
        }
    }

    /// Shows the pages that are written when the trace ends.
    fn show_flush(&mut self) {
        if O::OBSERVES && self.options.flush_at_end {
            let frames = self.memory.frames();
            for frame in self.memory.resident_frames() {
                if frames.is_dirty(frame) {
                    self.observer.written_back(frames.page(frame));
                }
            }
        }
    }

    /// What was counted so far.
    fn seen(&self) -> Seen<O, A> {
        (self.counts(0), self.observer.seen(), self.admission.seen())
    }

    /// What was counted, at the end of the trace.
    fn seen_at_end(&self) -> Seen<O, A> {
        let dirty = if self.options.flush_at_end { self.memory.dirty_pages() } else { 0 };
        (self.counts(dirty), self.observer.seen(), self.admission.seen())
    }

    fn counts(&self, flush_writes: u32) -> Counts {
        let [resident, flush_writes] = [self.memory.resident_pages(), flush_writes].map(u64::from);
        let permission_faults = self.feed.permission_faults();
        let counts = self.counted.counts(self.options.write_miss, resident);
        Counts { flush_writes, permission_faults, ..counts }
    }
}

impl Counted {
    /// The counts while `resident` pages are in memory.
    fn counts(&self, write_miss: WriteMiss, resident: u64) -> Counts {
        let Counted { misses, write_misses, dirty_evictions, write_backs, .. } = *self;
        let Counted { bypassed_reads, bypassed_writes, dropped_clean, dropped_dirty, .. } = *self;
        let evictions = misses - resident - dropped_clean - dropped_dirty;
        Counts {
            read_misses: misses - write_misses,
            write_misses,
            bypassed_reads,
            bypassed_writes,
            read_ios: match write_miss {
                WriteMiss::Fetch => misses,
                WriteMiss::Blind => misses - write_misses,
            },
            clean_evictions: evictions - dirty_evictions,
            dirty_evictions,
            write_backs,
            dropped_clean,
            dropped_dirty,
            ..Counts::default()
        }
    }
}
