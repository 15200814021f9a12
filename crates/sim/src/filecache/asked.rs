//! Requests to a device: the blocks of one record of the trace that miss are one request.

use clockhand_device::Joined;
use clockhand_policy::page::PagePolicy;
use clockhand_policy::{Memory, Op, PageId};
use clockhand_trace::SharedRequests;
use rustc_hash::FxHashMap;

use super::admission::Selective;
use crate::intervals::grows;
use crate::replay::Admission;

/// Which of the blocks that missed were moved by the request of another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    /// Of those read.
    pub(super) read: Joined,
    /// Of those written past the cache, where writes cost.
    pub(super) written: Joined,
}

grows!(Asked { read, written });

/// Puts blocks that miss together, record by record.
#[derive(Debug, Default)]
struct Line {
    /// The last block that missed, as a place in the view.
    last: Option<usize>,
    joined: Joined,
}

impl Line {
    #[inline]
    fn missed(&mut self, record: usize, requests: &SharedRequests) {
        if requests.goes_on(record)
            && let Some(last) = self.last
            && requests.are_together(last, record)
        {
            self.joined.join((record - last - 1) as u64);
        }
        self.last = Some(record);
    }
}

/// Puts the blocks that miss into the requests of the trace's records.
#[derive(Debug)]
pub(super) struct Requests<'a> {
    shared: &'a SharedRequests,
    /// Writes past the cache are requests of their own.
    writes_cost: bool,
    read: Line,
    written: Line,
}

impl<'a> Requests<'a> {
    pub(super) fn new(shared: &'a SharedRequests, writes_cost: bool) -> Self {
        Requests { shared, writes_cost, read: Line::default(), written: Line::default() }
    }

    /// A block missed, at a place in the view.
    #[inline]
    pub(super) fn missed(&mut self, record: usize, op: Op, is_admitted: bool) {
        let is_written = self.writes_cost && op == Op::Write && !is_admitted;
        let line = if is_written { &mut self.written } else { &mut self.read };
        line.missed(record, self.shared);
    }

    pub(super) fn asked(&self) -> Asked {
        Asked { read: self.read.joined.clone(), written: self.written.joined.clone() }
    }
}

/// A rule of admission, and the requests that its misses make, if any are counted. One type for all rules, since the loop
/// is compiled for each.
pub(super) struct Asking<'a> {
    rule: Selective<'a>,
    requests: Option<Requests<'a>>,
    records: usize,
}

impl<'a> Asking<'a> {
    pub(super) fn new(rule: Selective<'a>, requests: Option<Requests<'a>>) -> Self {
        Asking { rule, requests, records: 0 }
    }
}

impl Admission for Asking<'_> {
    const HEARS_MISSES: bool = true;
    type Seen = Asked;

    #[inline]
    fn refuses(&self) -> bool {
        self.rule.refuses()
    }

    fn seen(&self) -> Asked {
        self.requests.as_ref().map(Requests::asked).unwrap_or_default()
    }

    #[inline]
    fn referenced(&mut self, block: PageId) {
        self.records += 1;
        self.rule.referenced(block);
    }

    #[inline]
    fn hit(&mut self, block: PageId) {
        self.rule.hit(block);
    }

    #[inline]
    fn admits<P: PagePolicy>(&mut self, block: PageId, op: Op, memory: &Memory<P>) -> bool {
        self.rule.admits(block, op, memory)
    }

    #[inline]
    fn missed(&mut self, op: Op, is_admitted: bool) {
        if let Some(requests) = &mut self.requests {
            requests.missed(self.records - 1, op, is_admitted);
        }
    }
}

/// The same of LRU at several capacities, from the stack distances of one pass.
///
/// Blocks i and j of a record are neighbours in a request, with hits alone between them, for the capacities from the
/// largest distance between them to below the smaller of their own.
pub(super) struct AskedOfLru<'a> {
    shared: &'a SharedRequests,
    /// Ascending, each once.
    capacities: Vec<u32>,
    /// For each gap, where in `capacities` its count changes, and by how much.
    changes: FxHashMap<u64, Vec<i64>>,
    /// The blocks of the record so far that later ones can be neighbours of, with their distances, which fall.
    open: Vec<(usize, u32)>,
    records: usize,
}

impl<'a> AskedOfLru<'a> {
    pub(super) fn new(
        shared: &'a SharedRequests,
        capacities: impl IntoIterator<Item = u32>,
    ) -> Self {
        let mut capacities: Vec<u32> = capacities.into_iter().collect();
        capacities.sort_unstable();
        capacities.dedup();
        let (changes, open) = (FxHashMap::default(), Vec::new());
        AskedOfLru { shared, capacities, changes, open, records: 0 }
    }

    /// The stack distance of the next record.
    #[inline]
    pub(super) fn reference(&mut self, distance: u32) {
        let record = self.records;
        self.records += 1;
        if self.shared.goes_on(record) {
            self.join(record, distance);
        } else {
            self.open.clear();
        }
        self.open.push((record, distance));
    }

    fn join(&mut self, record: usize, distance: u32) {
        let mut between = 0;
        while let Some(&(earlier, own)) = self.open.last() {
            self.add((record - earlier - 1) as u64, between, own.min(distance));
            if own > distance {
                break;
            }
            between = own;
            self.open.pop();
        }
    }

    /// Two blocks are neighbours for the capacities from `least` to below `end`.
    fn add(&mut self, gap: u64, least: u32, end: u32) {
        let place = |bound: u32| self.capacities.partition_point(|&capacity| capacity < bound);
        let (first, behind) = (place(least), place(end));
        if first < behind {
            let capacities = self.capacities.len();
            let changes = self.changes.entry(gap).or_insert_with(|| vec![0; capacities + 1]);
            changes[first] += 1;
            changes[behind] -= 1;
        }
    }

    /// What is asked for with one of the capacities.
    pub(super) fn at(&self, capacity: u32) -> Asked {
        let place = self.capacities.binary_search(&capacity).expect("it was announced");
        let mut read = Joined::default();
        for (&gap, changes) in &self.changes {
            let pairs: i64 = changes[..=place].iter().sum();
            read.join_all(gap, pairs as u64);
        }
        Asked { read, written: Joined::default() }
    }
}
