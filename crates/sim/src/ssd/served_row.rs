//! One row of a server whose write buffer is that of `ssd`. Their common counts are declared once.

use super::row::SsdRow;
use crate::columns::columns;

columns! {
    /// What a write buffer made of the requests that a server had. What is counted in pages counts those of 4096 bytes.
    pub struct ServeRow {
        /// The disk as the user named it.
        pub disk: String,
        pub buffer: String = SsdRow,
        pub buffer_pages: u32 = SsdRow,
        pub references: u64 = SsdRow,
        pub read_hits: u64 = SsdRow,
        pub write_hits: u64 = SsdRow,
        pub dirty_pages_flushed: u64 = SsdRow,
        pub clean_pages_flushed: u64 = SsdRow,
        pub batches: u64 = SsdRow,
        pub nvm_writes: u64 = SsdRow,
        pub residual_dirty: u64 = SsdRow,
        pub host_writes: u64 = SsdRow,
        pub read_references: u64 = SsdRow,
        pub write_references: u64 = SsdRow,
        pub hit_ratio: f64 = SsdRow,
        pub write_hit_ratio: Option<f64> = SsdRow,
        pub nvm_hits: u64 = SsdRow,
        pub padding_reads: u64 = SsdRow,
        pub migrations: u64 = SsdRow,
        pub dram_pages: u32 = SsdRow,
        pub nvm_pages: u32 = SsdRow,
        pub page_bytes: u32 = SsdRow,
        pub buffer_resolved: String = SsdRow,
        /// From the first possible connection to the last page on the disk.
        pub seconds: f64,
        /// Connections of clients.
        pub connections: u64,
        /// Requests that read.
        pub read_requests: u64,
        /// Requests that write, those with force unit access included.
        pub write_requests: u64,
        /// Requests that write with force unit access.
        pub forced_writes: u64,
        /// FLUSH requests.
        pub flushes: u64,
        /// TRIM requests.
        pub trims: u64,
        /// WRITE_ZEROES requests.
        pub zeroes: u64,
        /// Bytes read.
        pub read_bytes: u64,
        /// Bytes written, except zeros.
        pub written_bytes: u64,
        /// Whole pages discarded or made zeros.
        pub trimmed_pages: u64,
        /// Pages read from the disk to complete a page written in part.
        pub fill_reads: u64,
        /// Pages read from the disk.
        pub disk_pages_read: u64,
        /// Pages written to the disk, except zeros of trims.
        pub disk_pages_written: u64,
        /// Syncs of the disk.
        pub disk_syncs: u64,
        /// Syncs of the NVM file.
        pub nvm_syncs: u64,
        /// Bytes written to the NVM file: pages, entries and headers.
        pub nvm_bytes_written: u64,
        /// Median and 99th percentile of the latency of reads, writes and flushes; none without any.
        pub read_us_p50: Option<f64>,
        /// Median and 99th percentile of the latency of reads, writes and flushes; none without any.
        pub read_us_p99: Option<f64>,
        /// Median and 99th percentile of the latency of reads, writes and flushes; none without any.
        pub write_us_p50: Option<f64>,
        /// Median and 99th percentile of the latency of reads, writes and flushes; none without any.
        pub write_us_p99: Option<f64>,
        /// Median and 99th percentile of the latency of reads, writes and flushes; none without any.
        pub flush_us_p50: Option<f64>,
        /// Median and 99th percentile of the latency of reads, writes and flushes; none without any.
        pub flush_us_p99: Option<f64>,
        /// Failures: requests that files refused, and pages held because the disk refused them.
        pub errors: u64,
        /// Pages that recovery wrote from NVM to the disk.
        pub recovered_pages: u64,
        /// Page versions cut off by a crash.
        pub torn_versions: u64,
        /// Pages and entries of the NVM file given up as damaged.
        pub damaged_pages: u64,
    }
}
