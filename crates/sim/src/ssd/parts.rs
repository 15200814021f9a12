//! Parts of a run: what is counted after a warm-up, and in each interval. A request is not divided.

use clockhand_device::flash::{Counters, MappingCounts};

use super::SsdRow;
use super::below::BufferCounts;
use super::placement::Placed;
use super::requests::RequestList;
use crate::error::SimError;
use crate::intervals::{Arrivals, Cuts, Intervals, grows};

/// What is noted of a run: what the buffer counts, and what the drive does.
pub(super) type SsdCounts = (BufferCounts, (Counters, MappingCounts));

grows!(BufferCounts {
    read_hits,
    write_hits,
    read_misses,
    write_misses,
    nvm_hits,
    dirty_pages_flushed,
    clean_pages_flushed,
    batches,
    padding_reads,
    migrations,
    nvm_writes,
} kept { residual_dirty, dram_pages, nvm_pages });

grows!(Counters {
    host_writes,
    host_reads,
    relocations,
    erases,
    translation_reads,
    translation_programs,
    translation_relocations,
});

grows!(MappingCounts {
    switch_merges,
    partial_merges,
    full_merges,
    cmt_hits,
    cmt_misses,
    folded_pages,
    slc_erases,
    ignored_trims,
    misplaced_writes,
});

/// The places in a run where counters are read.
#[derive(Clone, Debug, Default)]
pub(super) struct RunCuts {
    /// By references.
    pub(super) of_references: Cuts,
    /// By ranges of the placed trace.
    pub(super) of_ranges: Cuts,
}

impl RunCuts {
    pub(super) fn new(
        intervals: &Intervals,
        trace: &str,
        list: &RequestList,
        placed: &Placed,
    ) -> Result<Self, SimError> {
        if intervals.is_off() {
            return Ok(RunCuts::default());
        }
        let times = list.times.as_ref().filter(|_| list.span_ns.is_some());
        let mut arrivals = Arrivals::default();
        let (mut requests, mut references, mut before) = (0, 0, Vec::new());
        for range in &placed.ranges {
            requests += usize::from(!range.continues());
            let time_ns = times.map(|times| times.of_requests[requests - 1]);
            let pages = range.pages().len() as u64;
            arrivals.pass(time_ns, pages);
            before.push(references);
            references += pages;
        }
        let of_references = intervals.cuts(trace, references, &arrivals)?;
        let (of_references, of_ranges) = of_references.between_requests(&before);
        Ok(RunCuts { of_references, of_ranges })
    }
}

/// The columns that a row of a part of a run tells; in such a row all others are empty.
pub(super) const PART_COLUMNS: &[&str] = &[
    "trace",
    "buffer",
    "buffer_pages",
    "ssd",
    "references",
    "read_hits",
    "write_hits",
    "dirty_pages_flushed",
    "clean_pages_flushed",
    "batches",
    "nvm_writes",
    "residual_dirty",
    "host_writes",
    "flash_programs",
    "erases",
    "waf",
    "read_references",
    "write_references",
    "hit_ratio",
    "write_hit_ratio",
    "nvm_hits",
    "padding_reads",
    "migrations",
    "relocations",
    "flash_reads",
    "collection_started",
    "dram_pages",
    "nvm_pages",
    "page_bytes",
    "footprint_pages",
    "buffer_resolved",
    "ssd_resolved",
    "precondition",
    "map",
    "drain",
    "repetitions",
    "drive_writes",
    "device_busy_us",
    "switch_merges",
    "partial_merges",
    "full_merges",
    "cmt_hits",
    "cmt_misses",
    "translation_reads",
    "translation_programs",
    "translation_relocations",
    "folded_pages",
    "slc_erases",
    "ignored_trims",
    "misplaced_writes",
    "skipped_requests",
    "interval",
    "from_reference",
    "from_us",
];

/// The row of a part, without what is known of a whole run only: wear, life and whether it became steady.
pub(super) fn without_wear(row: SsdRow) -> SsdRow {
    SsdRow {
        erases_mean: 0.0,
        erases_max: 0,
        life_repetitions: None,
        life_repetitions_first_block: None,
        life_years: None,
        drive_writes_per_day_5_years: None,
        nvm_life_repetitions: None,
        nvm_life_years: None,
        is_steady: false,
        steady_waf: None,
        ..row
    }
}
