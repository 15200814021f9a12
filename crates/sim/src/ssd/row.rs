//! One row of a result about drives. Names and order are the contract that scripts rely on.

use crate::columns::columns;

columns! {
    /// What a write buffer and a flash drive make of a trace. Everything is counted in pages of the drive, but for
    /// batches and erased blocks.
    pub struct SsdRow of intervals {
        /// The trace as the user named it.
        pub trace: String,
        /// The buffer as the user wrote it.
        pub buffer: String,
        /// Pages of the buffer, DRAM and NVM together.
        pub buffer_pages: u32,
        /// The drive as the user wrote it.
        pub ssd: String,
        /// References.
        pub references: u64,
        /// Reads of buffered pages.
        pub read_hits: u64,
        /// Writes to buffered pages.
        pub write_hits: u64,
        /// Dirty pages that the buffer wrote to flash.
        pub dirty_pages_flushed: u64,
        /// Clean pages that the buffer wrote to flash along with dirty ones.
        pub clean_pages_flushed: u64,
        /// Write batches that the buffer sent to flash.
        pub batches: u64,
        /// Pages written to NVM.
        pub nvm_writes: u64,
        /// Dirty pages in the buffer when the run ends.
        pub residual_dirty: u64,
        /// Pages that the buffer wrote to flash.
        pub host_writes: u64,
        /// Pages programmed: host writes, relocations and translation pages.
        pub flash_programs: u64,
        /// Blocks erased.
        pub erases: u64,
        /// Write amplification: flash_programs over host_writes; none if nothing was written.
        pub waf: Option<f64>,
        /// References that read.
        pub read_references: u64,
        /// References that write.
        pub write_references: u64,
        /// Hits over references.
        pub hit_ratio: f64,
        /// Write hits over write references; none without writes.
        pub write_hit_ratio: Option<f64>,
        /// Hits of pages in NVM.
        pub nvm_hits: u64,
        /// Pages read from flash only to be written along with dirty ones.
        pub padding_reads: u64,
        /// Pages that moved from DRAM to NVM.
        pub migrations: u64,
        /// Pages moved by garbage collection.
        pub relocations: u64,
        /// Pages read from flash, by the buffer and by garbage collection.
        pub flash_reads: u64,
        /// True if a block was collected; otherwise waf and erases say nothing of an aged drive.
        pub collection_started: bool,
        /// Erases of the average block.
        pub erases_mean: f64,
        /// Erases of the most worn block.
        pub erases_max: u32,
        /// Runs of the trace before the average block is worn out; none without an endurance or erases.
        pub life_repetitions: Option<f64>,
        /// Runs of the trace before the most worn block is worn out, if it remains the most worn one.
        pub life_repetitions_first_block: Option<f64>,
        /// Years of life at the trace's rate; none without real times or a steady run.
        pub life_years: Option<f64>,
        /// The host's drive writes per day with which the drive lasts five years.
        pub drive_writes_per_day_5_years: Option<f64>,
        /// Runs of the trace before the NVM is worn out, if its cells wear alike.
        pub nvm_life_repetitions: Option<f64>,
        /// Years of that at the trace's rate; none without real times.
        pub nvm_life_years: Option<f64>,
        /// Pages of DRAM in the buffer.
        pub dram_pages: u32,
        /// Pages of NVM in the buffer.
        pub nvm_pages: u32,
        /// Page size in bytes.
        pub page_bytes: u32,
        /// Distinct pages referenced.
        pub footprint_pages: u32,
        /// The buffer with every default.
        pub buffer_resolved: String,
        /// The drive with every option.
        pub ssd_resolved: String,
        /// How the drive was aged before the run.
        pub precondition: String,
        /// Rule for addresses beyond the drive's end: `original`, `wrap` or `compact`.
        pub map: &'static str,
        /// True if dirty pages were written when the trace ended.
        pub drain: bool,
        /// Runs of the trace; counts are of all runs together.
        pub repetitions: u32,
        /// Writes to flash, in capacities of the drive; below 1, waf and life depend on how the drive was aged.
        pub drive_writes: f64,
        /// True if the write amplification of the last drive write is within 1 % of the one before.
        pub is_steady: bool,
        /// Write amplification of the last window of a steady run; none if the run did not become steady.
        pub steady_waf: Option<f64>,
        /// Arrivals as given with `--arrivals`; only timed runs have this and the columns up to `window_us`.
        pub arrivals: Option<String>,
        /// Requests, FLUSH and TRIM included.
        pub requests: Option<u64>,
        /// Requests completed: all, or the run fails.
        pub requests_served: Option<u64>,
        /// From the first arrival to the last completion, in microseconds.
        pub duration_us: Option<f64>,
        /// Reads and writes completed per second.
        pub iops: Option<f64>,
        /// Bytes of whole pages read per second, in 10^6.
        pub read_mb_s: Option<f64>,
        /// Bytes of whole pages written per second, in 10^6.
        pub write_mb_s: Option<f64>,
        /// Mean latency of reads, from arrival to completion.
        pub read_mean_us: Option<f64>,
        /// Percentiles of the latency of reads, at most 0.1 % too high; `p999` is 99.9 %.
        pub read_p50_us: Option<f64>,
        /// Percentiles of the latency of reads, at most 0.1 % too high; `p999` is 99.9 %.
        pub read_p95_us: Option<f64>,
        /// Percentiles of the latency of reads, at most 0.1 % too high; `p999` is 99.9 %.
        pub read_p99_us: Option<f64>,
        /// Percentiles of the latency of reads, at most 0.1 % too high; `p999` is 99.9 %.
        pub read_p999_us: Option<f64>,
        /// Percentiles of the latency of reads, at most 0.1 % too high; `p999` is 99.9 %.
        pub read_p9999_us: Option<f64>,
        /// The longest latency of reads.
        pub read_max_us: Option<f64>,
        /// Mean latency of writes, forced ones included, from arrival to completion.
        pub write_mean_us: Option<f64>,
        /// Percentiles of the latency of writes, at most 0.1 % too high; `p999` is 99.9 %.
        pub write_p50_us: Option<f64>,
        /// Percentiles of the latency of writes, at most 0.1 % too high; `p999` is 99.9 %.
        pub write_p95_us: Option<f64>,
        /// Percentiles of the latency of writes, at most 0.1 % too high; `p999` is 99.9 %.
        pub write_p99_us: Option<f64>,
        /// Percentiles of the latency of writes, at most 0.1 % too high; `p999` is 99.9 %.
        pub write_p999_us: Option<f64>,
        /// Percentiles of the latency of writes, at most 0.1 % too high; `p999` is 99.9 %.
        pub write_p9999_us: Option<f64>,
        /// The longest latency of writes.
        pub write_max_us: Option<f64>,
        /// Latency of FLUSH: the mean and the longest.
        pub flush_mean_us: Option<f64>,
        /// Latency of FLUSH: the mean and the longest.
        pub flush_max_us: Option<f64>,
        /// Busy share of the front end.
        pub front_utilisation: Option<f64>,
        /// Busy share of a channel: the mean and the busiest.
        pub channel_utilisation: Option<f64>,
        /// Busy share of a channel: the mean and the busiest.
        pub channel_utilisation_max: Option<f64>,
        /// Share of the time in which a die has an operation, suspended or not: the mean and the busiest.
        pub die_utilisation: Option<f64>,
        /// Share of the time in which a die has an operation, suspended or not: the mean and the busiest.
        pub die_utilisation_max: Option<f64>,
        /// Channel and array time of collection, merges and folds, over the time of all dies.
        pub collection_share: Option<f64>,
        /// Written pages that waited for a place in the buffer.
        pub stalled_pages: Option<u64>,
        /// Sum of their waits, in microseconds.
        pub stall_us: Option<f64>,
        /// Reads from flash of pages whose program was not complete.
        pub in_flight_reads: Option<u64>,
        /// Reads of pages never written, or trimmed.
        pub unmapped_reads: Option<u64>,
        /// Operations suspended for a read.
        pub suspensions: Option<u64>,
        /// Blocks erased by collection in the background.
        pub background_erases: Option<u64>,
        /// True if a full queue was still waiting when the last request arrived; none if requests waited for each
        /// other.
        pub is_saturated: Option<bool>,
        /// The busiest part: `front`, or a channel or die with its number.
        pub bottleneck: Option<String>,
        /// Time of writing the remaining dirty pages after the last completion, in microseconds.
        pub drain_us: Option<f64>,
        /// Start of the row's window, in microseconds; none for a whole run.
        pub window_us: Option<f64>,
        /// Time of all flash operations in sequence, in microseconds; none if the profile lacks a time or has an SLC
        /// region.
        pub device_busy_us: Option<f64>,
        /// Log blocks that became data blocks as they were; this and the next two with `bast` and `fast`.
        pub switch_merges: Option<u64>,
        /// Log blocks that became data blocks after the remaining pages were copied into them.
        pub partial_merges: Option<u64>,
        /// Data blocks copied into new ones.
        pub full_merges: Option<u64>,
        /// Look-ups of cached map entries; this and the next four with `dftl`.
        pub cmt_hits: Option<u64>,
        /// Look-ups of map entries that were not cached.
        pub cmt_misses: Option<u64>,
        /// Translation pages read, for a look-up or a change.
        pub translation_reads: Option<u64>,
        /// Translation pages programmed with new entries.
        pub translation_programs: Option<u64>,
        /// Translation pages moved by garbage collection.
        pub translation_relocations: Option<u64>,
        /// Pages moved from the SLC region to the main one; they count as relocations too.
        pub folded_pages: Option<u64>,
        /// Blocks of the SLC region erased; they count as erases too.
        pub slc_erases: Option<u64>,
        /// Zones of which a TRIM named only a part, without effect; this and the next with `zoned`.
        pub ignored_trims: Option<u64>,
        /// Pages that a zone wrote elsewhere than asked.
        pub misplaced_writes: Option<u64>,
        /// Malformed records of the trace, which are skipped.
        pub skipped_requests: u64,
    }
}

impl SsdRow {
    /// The columns that the row of an interval tells, in which all others are empty; `None` if it is of a whole run.
    pub fn filled_columns(&self) -> Option<&'static [&'static str]> {
        match (self.window_us, self.interval) {
            (Some(_), _) => Some(Self::WINDOW_COLUMNS),
            (None, Some(_)) => Some(Self::PART_COLUMNS),
            (None, None) => None,
        }
    }

    /// What a row of a part of a run tells, after a warm-up or of an interval; in such a row all other columns are
    /// empty.
    pub const PART_COLUMNS: &'static [&'static str] = super::parts::PART_COLUMNS;

    /// What a row of a window of a timed run tells; in such a row all other columns are empty.
    pub const WINDOW_COLUMNS: &'static [&'static str] = &[
        "trace",
        "buffer",
        "buffer_pages",
        "ssd",
        "host_writes",
        "flash_programs",
        "erases",
        "waf",
        "relocations",
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
        "arrivals",
        "requests",
        "requests_served",
        "iops",
        "read_mb_s",
        "write_mb_s",
        "read_mean_us",
        "read_p50_us",
        "read_p95_us",
        "read_p99_us",
        "read_p999_us",
        "read_p9999_us",
        "read_max_us",
        "write_mean_us",
        "write_p50_us",
        "write_p95_us",
        "write_p99_us",
        "write_p999_us",
        "write_p9999_us",
        "write_max_us",
        "flush_mean_us",
        "flush_max_us",
        "window_us",
        "interval",
        "from_us",
    ];
}
