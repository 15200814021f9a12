//! One row of a page-cache simulation. Names and order are the contract that scripts rely on.

use crate::columns::columns;

columns! {
    /// One policy's results for a trace of events, a memory size and a pair of devices. All I/Os and evictions are
    /// counted in pages.
    pub struct PageCacheRow of intervals {
        /// The trace as the user named it.
        pub trace: String,
        /// The policy as the user wrote it.
        pub policy: String,
        /// Page frames.
        pub frames: u64,
        /// Page size in bytes.
        pub page_bytes: u64,
        /// The device of anonymous pages as the user wrote it.
        pub device: String,
        /// References, by memory and by calls.
        pub references: u64,
        /// References that read.
        pub read_references: u64,
        /// References that write.
        pub write_references: u64,
        /// References to pages in memory.
        pub hits: u64,
        /// References to pages that were not in memory.
        pub misses: u64,
        /// Misses of read references.
        pub read_misses: u64,
        /// Misses of write references.
        pub write_misses: u64,
        /// Pages read from the devices, those read ahead included.
        pub read_ios: u64,
        /// Pages written to the devices: dirty evictions, write-backs without eviction and the final flush.
        pub write_ios: u64,
        /// Clean pages evicted.
        pub clean_evictions: u64,
        /// Dirty pages evicted, and so written.
        pub dirty_evictions: u64,
        /// I/O time on both devices, in microseconds.
        pub io_time_us: f64,
        /// I/O energy in microjoules, if the profiles of both devices have it.
        pub energy_uj: Option<f64>,
        /// Pages read and written, of anonymous memory and of files.
        pub anon_read_ios: u64,
        /// Pages read and written, of anonymous memory and of files.
        pub anon_write_ios: u64,
        /// Pages read and written, of anonymous memory and of files.
        pub file_read_ios: u64,
        /// Pages read and written, of anonymous memory and of files.
        pub file_write_ios: u64,
        /// Misses on anonymous pages that read nothing, because the page is zero.
        pub zero_fills: u64,
        /// Misses of writing calls that read nothing, because they overwrite the whole page.
        pub blind_fills: u64,
        /// Pages read ahead.
        pub readahead_ios: u64,
        /// Pages read ahead and evicted without a reference.
        pub readahead_unused: u64,
        /// Pages written by syncs.
        pub sync_writes: u64,
        /// Pages written by the flusher.
        pub flusher_writes: u64,
        /// Dirty pages dropped without a write: their file was cut or deleted, or their memory freed.
        pub dropped_dirty: u64,
        /// Clean pages dropped so.
        pub dropped_clean: u64,
        /// Pages read or written past the cache (O_DIRECT); they are not priced.
        pub direct_read_ios: u64,
        /// Pages read or written past the cache (O_DIRECT); they are not priced.
        pub direct_write_ios: u64,
        /// Most dirty pages of files at once: what a power failure would have lost.
        pub dirty_pages_peak: u64,
        /// Dirty pages of files, the mean over references.
        pub dirty_pages_mean: f64,
        /// Longest time that a page of a file was dirty: seconds of the trace, or references without times or with a
        /// flusher in references.
        pub dirty_age_max: f64,
        /// The device of pages of files as the user wrote it.
        pub file_device: String,
        /// The policy with every default.
        pub policy_resolved: String,
        /// The device of anonymous pages with every option.
        pub device_resolved: String,
        /// The device of pages of files with every option.
        pub file_device_resolved: String,
        /// Hits over references.
        pub hit_ratio: f64,
        /// Distinct pages referenced.
        pub footprint_pages: u64,
        /// Frames over footprint.
        pub memory_share: f64,
        /// Pages written without eviction, sync or flusher: as the policy asked, or before O_DIRECT.
        pub write_backs: u64,
        /// Erases if each page written caused one, where both devices have erases.
        pub potential_erases: Option<u64>,
        /// What the first reference to anonymous memory reads: `zero` (nothing) or `read`.
        pub first_touch: &'static str,
        /// What a miss on an anonymous page that was never written reads: `drop` (nothing) or `read`.
        pub zero_clean: &'static str,
        /// The flusher, if there is one.
        pub flusher: Option<String>,
        /// What is read ahead.
        pub read_ahead: String,
        /// Calls of a kernel's reclaim; none for other policies.
        pub reclaims: Option<u64>,
        /// Pages that a kernel's reclaim examined; none for other policies.
        pub scanned_pages: Option<u64>,
        /// What the policy needs to know: `bits` (misses and bits), `access` (every hit) or `offline` (the future);
        /// `bound` is a limit.
        pub kind: &'static str,
        /// Malformed records of the trace, which are skipped.
        pub skipped_requests: u64,
    }
}
