//! A whole trace: events and totals (A-01 … A-03).

use crate::{Event, Op, build};

/// The options that a run is charged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// A write fault reads its page first; default true.
    pub write_allocate_fetch: bool,
    /// Each dirty resident page is written once at the end of the trace; default false.
    pub flush_at_end: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { write_allocate_fetch: true, flush_at_end: false }
    }
}

/// Counts over a whole trace, in references, evictions, pages or page I/Os as their names say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// All references.
    pub references: u64,
    /// Read references.
    pub read_references: u64,
    /// Write references.
    pub write_references: u64,
    /// References to a resident page.
    pub hits: u64,
    /// Read references to a resident page.
    pub read_hits: u64,
    /// Write references to a resident page.
    pub write_hits: u64,
    /// Faults.
    pub misses: u64,
    /// Read faults.
    pub read_misses: u64,
    /// Write faults.
    pub write_misses: u64,
    /// Pages read: every fault, without fetching every read fault.
    pub read_ios: u64,
    /// Pages written: dirty evictions, write-backs without eviction, and the flush at the end.
    pub write_ios: u64,
    /// Evictions of clean pages.
    pub clean_evictions: u64,
    /// Evictions of dirty pages.
    pub dirty_evictions: u64,
    /// Write-backs without eviction (eager write-back, A-33).
    pub early_write_backs: u64,
    /// Pages written at the end of the trace, with `flush_at_end`.
    pub flush_ios: u64,
    /// Dirty pages in memory at the end of the trace, before a flush.
    pub dirty_at_end: u64,
    /// Pages in memory at the end of the trace.
    pub resident_at_end: u64,
    /// The most pages in memory after any reference.
    pub max_resident: u64,
}

/// What a whole trace did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// One event for each reference.
    pub events: Vec<Event>,
    /// Their sums.
    pub totals: Totals,
}

/// Runs `policy` over the whole `trace` in a memory of `frames` frames.
///
/// The accounting keeps resident pages and true dirty flags of its own and holds the twin to them.
///
/// # Panics
///
/// As [`build`]; and if an event contradicts the accounting, which is a fault of the twin.
pub fn run(
    policy: &str,
    frames: usize,
    parameters: &[(&str, &str)],
    trace: &[(u64, Op)],
    options: Options,
) -> Run {
    let mut parameters = parameters.to_vec();
    // the only policy whose decisions depend on this option.
    if policy == "cflru-dynamic" && !options.write_allocate_fetch {
        parameters.push(("write_allocate_fetch", "false"));
    }
    let mut twin = build(policy, frames, &parameters, trace);
    let mut accounting = Accounting { options, memory: Vec::new(), totals: Totals::default() };
    let mut events = Vec::new();
    for &(page, op) in trace {
        let event = twin.reference(page, op);
        accounting.charge(page, op, &event);
        assert!(accounting.memory.len() <= frames);
        events.push(event);
    }
    Run { events, totals: accounting.finish() }
}

struct Accounting {
    options: Options,
    /// (page, dirty), in the order of loading.
    memory: Vec<(u64, bool)>,
    totals: Totals,
}

impl Accounting {
    fn charge(&mut self, page: u64, op: Op, event: &Event) {
        let is_resident = self.memory.iter().any(|(other, _)| *other == page);
        assert_eq!(event.hit, is_resident, "page {page}: hit or miss");
        self.count_reference(op, event.hit);
        for written in &event.written_back {
            let position = self.position(*written);
            assert!(self.memory[position].1, "page {written} is written back clean");
            self.memory[position].1 = false;
            self.totals.early_write_backs += 1;
            self.totals.write_ios += 1;
        }
        for evicted in &event.evicted {
            let position = self.position(evicted.0);
            assert_eq!(self.memory.remove(position), *evicted, "dirty flag of a victim");
            self.totals.clean_evictions += u64::from(!evicted.1);
            self.totals.dirty_evictions += u64::from(evicted.1);
            self.totals.write_ios += u64::from(evicted.1);
        }
        if !event.hit {
            self.memory.push((page, false));
        }
        let position = self.position(page);
        self.memory[position].1 |= op == Op::Write;
        let resident = self.memory.len() as u64;
        self.totals.max_resident = self.totals.max_resident.max(resident);
    }

    fn count_reference(&mut self, op: Op, hit: bool) {
        let totals = &mut self.totals;
        totals.references += 1;
        totals.hits += u64::from(hit);
        totals.misses += u64::from(!hit);
        match op {
            Op::Read => {
                totals.read_references += 1;
                totals.read_hits += u64::from(hit);
                totals.read_misses += u64::from(!hit);
            }
            Op::Write => {
                totals.write_references += 1;
                totals.write_hits += u64::from(hit);
                totals.write_misses += u64::from(!hit);
            }
        }
        if !hit && (op == Op::Read || self.options.write_allocate_fetch) {
            totals.read_ios += 1;
        }
    }

    fn position(&self, page: u64) -> usize {
        let mut pages = self.memory.iter();
        pages
            .position(|(other, _)| *other == page)
            .unwrap_or_else(|| panic!("page {page} is not in memory"))
    }

    fn finish(mut self) -> Totals {
        let dirty = self.memory.iter().filter(|(_, dirty)| *dirty).count() as u64;
        self.totals.dirty_at_end = dirty;
        self.totals.resident_at_end = self.memory.len() as u64;
        if self.options.flush_at_end {
            self.totals.flush_ios = dirty;
            self.totals.write_ios += dirty;
        }
        self.totals
    }
}
