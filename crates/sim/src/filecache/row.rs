//! One row of a result about file caches. Names and order are the contract that scripts rely on.

use crate::columns::columns;

columns! {
    /// One file cache's results for a trace and a device. Everything but times is counted in blocks or references to
    /// them.
    pub struct FileCacheRow of intervals {
        /// The trace as the user named it.
        pub trace: String,
        /// The policy as the user wrote it.
        pub policy: String,
        /// Blocks that the cache holds.
        pub capacity: u64,
        /// References to blocks.
        pub references: u64,
        /// References to blocks in the cache; of the bound, the most that any cache can have.
        pub hits: u64,
        /// References to blocks not in the cache: admitted and bypassed ones.
        pub misses: u64,
        /// Misses that brought their block into the cache; none of the bound.
        pub admitted: Option<u64>,
        /// Time of all references with the cache, in microseconds; of the bound, the least, or none where writes cost.
        pub time_us: Option<f64>,
        /// The rule of admission; none of the bound.
        pub admission: Option<String>,
        /// Bytes of a block.
        pub block_bytes: u64,
        /// Misses that did not; none of the bound.
        pub bypassed: Option<u64>,
        /// Blocks evicted; none of the bound.
        pub evictions: Option<u64>,
        /// Dirty blocks evicted; none of the bound.
        pub dirty_evictions: Option<u64>,
        /// Time of all references without a cache, in microseconds.
        pub time_without_cache_us: f64,
        /// Fewest hits for which caching a block pays; none if it never does.
        pub required_hits: Option<u64>,
        /// What inserting a block takes: `copy`, `half`, `storage`, a device, or nanoseconds (`700ns`).
        pub insert: String,
        /// The device as the user wrote it.
        pub device: String,
        /// The policy with every default.
        pub policy_resolved: String,
        /// The rule of admission with every default; none of the bound.
        pub admission_resolved: Option<String>,
        /// The device with every option.
        pub device_resolved: String,
        /// The device of cached blocks, with every option.
        pub cache_device: String,
        /// References that read.
        pub read_references: u64,
        /// References that write.
        pub write_references: u64,
        /// Hits over references.
        pub hit_ratio: f64,
        /// Distinct blocks of the trace.
        pub footprint_blocks: u64,
        /// Capacity over footprint.
        pub capacity_share: f64,
        /// Bypassed references that write; none of the bound.
        pub bypassed_writes: Option<u64>,
        /// Blocks written without eviction; none of the bound.
        pub write_backs: Option<u64>,
        /// Blocks written when the trace ended; none of the bound.
        pub flush_writes: Option<u64>,
        /// Clean blocks dropped because their content was deleted, discarded or expired; none of the bound.
        pub dropped_clean: Option<u64>,
        /// Dirty blocks dropped so, without a write; none of the bound.
        pub dropped_dirty: Option<u64>,
        /// What writes cost: `free` or `cost`.
        pub writes: &'static str,
        /// Time of a hit, in microseconds.
        pub hit_time_us: f64,
        /// Time of a read past the cache, in microseconds.
        pub bypass_time_us: f64,
        /// Time of a miss that enters the cache, in microseconds.
        pub admit_time_us: f64,
        /// Time of a write to the device, in microseconds.
        pub write_time_us: f64,
        /// What the policy needs to know: `bits` (misses and bits), `access` (every hit) or `offline` (the future);
        /// `bound` is a limit.
        pub kind: &'static str,
        /// Malformed records of the trace, which are skipped.
        pub skipped_requests: u64,
    }
}

columns! {
    /// After how many hits a cache pays on one device, whatever the trace.
    pub struct BreakEvenRow {
        /// The device as the user wrote it.
        pub device: String,
        /// Bytes of a block.
        pub block_bytes: u64,
        /// Fewest hits for which caching a block pays; none if it never does.
        pub required_hits: Option<u64>,
        /// What inserting a block takes: `copy`, `half`, `storage`, a device, or nanoseconds (`700ns`).
        pub insert: String,
        /// Time of a hit, in microseconds.
        pub hit_time_us: f64,
        /// Time of a read past the cache, in microseconds.
        pub bypass_time_us: f64,
        /// Time of a miss that enters the cache, in microseconds.
        pub admit_time_us: f64,
        /// The device with every option.
        pub device_resolved: String,
        /// The device of cached blocks, with every option.
        pub cache_device: String,
    }
}
