//! What events cost, added one by one (A-131, A-141's `static`, A-142).

use std::collections::{BTreeMap, BTreeSet};

use super::TierEvent;
use crate::{Cost, Op};

/// Costs in ns, each by tier, the fast one first.
#[derive(Clone, Debug)]
pub struct TierPrices {
    /// ns of a read.
    pub read_ns: [Cost; 2],
    /// ns of a write.
    pub write_ns: [Cost; 2],
    /// Bytes per ns that a copy reads.
    pub read_gbps: [Cost; 2],
    /// Bytes per ns that a copy writes.
    pub write_gbps: [Cost; 2],
    /// ns of `migrate`, `remap`, `hint_fault`, `sample`, `scan`, `fault`.
    pub software_ns: [Cost; 6],
    /// ns in which storage reads and writes a page.
    pub storage_ns: [Cost; 2],
    /// True if first touches read from storage.
    pub reads_first_touches: bool,
    /// Bytes of a page.
    pub page_bytes: i128,
    /// Bytes that a line wears.
    pub write_unit_bytes: i128,
}

/// Sums over events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TierTimes {
    /// `access_ns`, `migration_ns`, `overhead_ns`, `storage_ns`.
    pub ns: [Cost; 4],
    /// Bytes that each page wrote to the slow tier.
    pub slow_bytes_written: BTreeMap<u64, i128>,
}

impl TierPrices {
    fn latency(&self, op: Op, is_fast: bool) -> Cost {
        let of_op = if op == Op::Write { &self.write_ns } else { &self.read_ns };
        of_op[usize::from(!is_fast)]
    }

    fn moved(&self, from: usize, to: usize) -> Cost {
        let page = Cost::from(self.page_bytes);
        page / self.read_gbps[from] + page / self.write_gbps[to] + self.software_ns[0]
    }

    /// What a trace's events cost in all.
    pub fn times(&self, events: &[TierEvent]) -> TierTimes {
        let [_, remap, hint, sample, scan, fault] = self.software_ns;
        let mut ns = [Cost::from(0); 4];
        let mut wear: BTreeMap<u64, i128> = BTreeMap::new();
        let mut wears = |page: u64, bytes: i128| *wear.entry(page).or_insert(0) += bytes;
        for event in events {
            match *event {
                TierEvent::Serve(page, op, is_fast) => {
                    ns[0] += self.latency(op, is_fast);
                    if op == Op::Write && !is_fast {
                        wears(page, self.write_unit_bytes);
                    }
                }
                TierEvent::Promote(_) => ns[1] += self.moved(1, 0),
                TierEvent::Demote(page, is_free) => {
                    ns[1] += if is_free { remap } else { self.moved(0, 1) };
                    if !is_free {
                        wears(page, self.page_bytes);
                    }
                }
                TierEvent::Hint(_) => ns[2] += hint,
                TierEvent::Sample => ns[2] += sample,
                TierEvent::Scan(pages) => ns[2] += scan * pages as i128,
                TierEvent::Place(page, is_fast) | TierEvent::Fault(page, is_fast) => {
                    let is_back = matches!(event, TierEvent::Fault(..));
                    if is_back || self.reads_first_touches {
                        ns[3] += self.storage_ns[0] + fault;
                    }
                    if !is_fast {
                        wears(page, self.page_bytes);
                    }
                }
                TierEvent::Evict(_, true) => ns[3] += self.storage_ns[1],
                TierEvent::Evict(_, false) | TierEvent::Refuse(_) | TierEvent::Unshadow(_) => {}
            }
        }
        TierTimes { ns, slow_bytes_written: wear }
    }
}

/// The pages of `static`: those of greatest gain above 0, of equal ones the first in page order.
pub fn static_pages(trace: &[(u64, Op)], frames: usize, prices: &TierPrices) -> BTreeSet<u64> {
    let mut gains: Vec<(u64, Cost)> = Vec::new();
    for &(page, op) in trace {
        let gain = prices.latency(op, false) - prices.latency(op, true);
        match gains.iter_mut().find(|(other, _)| *other == page) {
            Some((_, sum)) => *sum += gain,
            None => gains.push((page, gain)),
        }
    }
    gains.sort_by_key(|(_, gain)| -gain);
    gains.retain(|(_, gain)| *gain > Cost::from(0));
    gains.into_iter().take(frames).map(|(page, _)| page).collect()
}
