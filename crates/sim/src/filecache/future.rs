//! A cache that knows the future and may refuse blocks: which stays of blocks it keeps.
//!
//! An *interval* lies between two consecutive references of a block, and is named by its last record. The pass keeps as
//! many as any cache of this capacity can: when too many are open, the one that ends last is dropped.

use std::collections::BinaryHeap;

use clockhand_policy::Op;
use clockhand_trace::{PageView, SharedRequests};

use super::asked::{Asked, Requests};
use crate::chunk::CHUNK_RECORDS;
use crate::error::SimError;
use crate::next_use::NEVER;
use crate::replay::Counts;
use clockhand_trace::progress::Progress;

/// Limit of passes: a pass strikes out stays that are too short, and the next one goes on without
/// them.
const PASSES_MAX: u32 = 16;
/// Ends that have passed are cleared away once this many more of them are stored than open ones.
const HEAP_SLACK: usize = 1024;

/// A bit for each record.
#[derive(Clone, Debug)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(records: usize) -> Self {
        Bits(vec![0; records.div_ceil(u64::BITS as usize)])
    }

    #[inline]
    fn has(&self, record: u32) -> bool {
        self.0[record as usize / 64] >> (record % 64) & 1 == 1
    }

    #[inline]
    fn set(&mut self, record: u32) {
        self.0[record as usize / 64] |= 1 << (record % 64);
    }

    fn clear(&mut self, record: u32) {
        self.0[record as usize / 64] &= !(1 << (record % 64));
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// A trace of single references, and the next one of each block.
#[derive(Clone, Copy)]
pub(super) struct Future<'a> {
    view: &'a PageView,
    /// By record: the next one of the same block, or [`NEVER`].
    next: &'a [u32],
    progress: &'a Progress,
}

/// What a cache that knows the future counts.
pub(super) struct Served {
    pub(super) counts: Counts,
    pub(super) asked: Asked,
}

impl<'a> Future<'a> {
    /// `next` has the next record of each.
    pub(super) fn new(view: &'a PageView, next: &'a [u32], progress: &'a Progress) -> Self {
        Future { view, next, progress }
    }

    /// The intervals that a cache of `capacity` blocks keeps, by their last records; `out` has those that are excluded.
    fn kept(&self, capacity: u32, out: &Bits) -> Result<Bits, SimError> {
        let records = self.next.len();
        let (mut kept, mut open) = (Bits::new(records), Bits::new(records));
        let (mut ends, mut count) = (BinaryHeap::new(), 0_u32);
        for (record, &end) in (0..).zip(self.next) {
            if open.has(record) {
                kept.set(record);
                count -= 1;
            }
            if end != NEVER && !out.has(end) {
                open.set(end);
                ends.push(end);
                count += 1;
                if count > capacity {
                    let last = ends.pop().expect("one is open");
                    open.clear(last);
                    count -= 1;
                }
            }
            if ends.len() > 2 * count as usize + HEAP_SLACK {
                ends.retain(|&end| end > record);
            }
            if (record as usize).is_multiple_of(CHUNK_RECORDS) && self.progress.is_cancelled() {
                return Err(SimError::Interrupted);
            }
        }
        Ok(kept)
    }

    /// Takes out the stays of fewer than `reuse` intervals; whether there were any.
    fn strike(&self, reuse: u64, kept: &mut Bits, out: &mut Bits) -> bool {
        let pages = self.view.footprint_pages() as usize;
        let (mut begins, mut lengths) = (vec![NEVER; pages], vec![0_u64; pages]);
        let mut short = Vec::new();
        for (index, record) in (0..).zip(self.view.records()) {
            let page = record.page() as usize;
            if kept.has(index) {
                lengths[page] += 1;
                continue;
            }
            if (1..reuse).contains(&lengths[page]) {
                short.push((begins[page], lengths[page]));
            }
            (begins[page], lengths[page]) = (index, 0);
        }
        let last = begins.into_iter().zip(lengths);
        short.extend(last.filter(|(_, length)| (1..reuse).contains(length)));
        for &(begin, length) in &short {
            let mut record = begin;
            for _ in 0..length {
                record = self.next[record as usize];
                kept.clear(record);
                out.set(record);
            }
        }
        !short.is_empty()
    }

    /// Serves the trace with stays of at least `reuse` reuses, without any stay for `None`.
    pub(super) fn belady(
        &self,
        capacity: u32,
        reuse: Option<u64>,
        shared: Option<(&SharedRequests, bool)>,
    ) -> Result<Served, SimError> {
        let mut out = Bits::new(self.next.len());
        let mut kept = Bits::new(self.next.len());
        if let Some(reuse) = reuse {
            for _ in 0..PASSES_MAX {
                kept = self.kept(capacity, &out)?;
                if !self.strike(reuse, &mut kept, &mut out) {
                    break;
                }
            }
        }
        Ok(self.serve(&kept, shared))
    }

    fn serve(&self, kept: &Bits, shared: Option<(&SharedRequests, bool)>) -> Served {
        let mut counts = Counts::default();
        let mut requests = shared.map(|(shared, writes_cost)| Requests::new(shared, writes_cost));
        let mut is_dirty = vec![false; self.view.footprint_pages() as usize];
        for (index, record) in (0..).zip(self.view.records()) {
            let (page, is_write) = (record.page() as usize, record.first_is_write());
            let next = self.next[index as usize];
            let stays = next != NEVER && kept.has(next);
            let is_hit = kept.has(index);
            if !is_hit {
                let count = match (stays, is_write) {
                    (true, false) => &mut counts.read_misses,
                    (true, true) => &mut counts.write_misses,
                    (false, false) => &mut counts.bypassed_reads,
                    (false, true) => &mut counts.bypassed_writes,
                };
                *count += 1;
                if let Some(requests) = &mut requests {
                    let op = if is_write { Op::Write } else { Op::Read };
                    requests.missed(index as usize, op, stays);
                }
                is_dirty[page] = stays && is_write;
            } else {
                is_dirty[page] |= is_write;
                if !stays {
                    let dirty = u64::from(is_dirty[page]);
                    counts.dirty_evictions += dirty;
                    counts.clean_evictions += 1 - dirty;
                }
            }
        }
        counts.read_ios = counts.read_misses + counts.write_misses;
        Served { counts, asked: requests.map(|requests| requests.asked()).unwrap_or_default() }
    }

    /// The most hits that a cache of `capacity` blocks can have if only blocks with at least `reuses` further references
    /// may enter.
    pub(super) fn most_hits(&self, capacity: u32, reuses: u64) -> Result<u64, SimError> {
        let mut out = Bits::new(self.next.len());
        if reuses > 1 {
            let further = self.further_references();
            for (record, &end) in self.view.records().iter().zip(self.next) {
                if end != NEVER && further[record.page() as usize] < reuses {
                    out.set(end);
                }
            }
        }
        Ok(self.kept(capacity, &out)?.count())
    }

    /// By block: its references, without the first.
    pub(super) fn further_references(&self) -> Vec<u64> {
        let mut further = vec![0; self.view.footprint_pages() as usize];
        for (record, &end) in self.view.records().iter().zip(self.next) {
            further[record.page() as usize] += u64::from(end != NEVER);
        }
        further
    }
}
