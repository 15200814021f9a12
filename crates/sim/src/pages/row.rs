//! One row of a result. Names and order are the contract that scripts rely on.

use crate::columns::columns;

columns! {
    /// What one policy does with one trace, memory size and device. All I/Os and evictions are counted in pages.
    ///
    /// The row of the bound has references, read_ios, write_ios and io_time_us; its other counts are `None`.
    pub struct Row {
        /// The trace as the user named it.
        pub trace: String,
        /// The policy as the user wrote it.
        pub policy: String,
        /// Page frames.
        pub frames: u64,
        /// Page size in bytes.
        pub page_bytes: u64,
        /// The device as the user wrote it.
        pub device: String,
        /// Page references.
        pub references: u64,
        /// Page references that read.
        pub read_references: Option<u64>,
        /// Page references that write.
        pub write_references: Option<u64>,
        /// References to pages in memory.
        pub hits: Option<u64>,
        /// References to pages that were not.
        pub misses: Option<u64>,
        /// Misses of read references.
        pub read_misses: Option<u64>,
        /// Misses of write references.
        pub write_misses: Option<u64>,
        /// Pages read from the device.
        pub read_ios: u64,
        /// Pages written to the device: dirty evictions, write-backs without eviction and the final flush.
        pub write_ios: u64,
        /// Pages that left clean.
        pub clean_evictions: Option<u64>,
        /// Pages that were written because they left.
        pub dirty_evictions: Option<u64>,
        /// I/O time in microseconds.
        pub io_time_us: f64,
        /// I/O energy in microjoules, if the device's profile knows it.
        pub energy_uj: Option<f64>,
        /// The policy with every default.
        pub policy_resolved: String,
        /// The device with every option.
        pub device_resolved: String,
        /// Hits over references.
        pub hit_ratio: Option<f64>,
        /// Distinct pages of the trace.
        pub footprint_pages: u64,
        /// Frames over footprint.
        pub memory_share: f64,
        /// Pages that were written and stayed.
        pub write_backs: Option<u64>,
        /// Pages that were written when the trace ended.
        pub flush_writes: Option<u64>,
        /// Where read and write bits come from: `exact`, `mapped` or `sensed`.
        pub bits: &'static str,
        /// What a write fault reads: `fetch` or `blind`.
        pub write_miss: &'static str,
        /// Frames that the searches for victims examined, if they were counted.
        pub hand_movements: Option<u64>,
        /// Of the frames, those that were kept free for write-backs under way.
        pub reserve: u64,
        /// Accesses to pages in memory that fault so that they are seen, with `mapped` bits.
        pub permission_faults: Option<u64>,
    }
}
