//! One row of a result. Names and order are the contract that scripts rely on.

use crate::columns::columns;

columns! {
    /// What translation and paging make of one trace, at one page size, TLB, memory and storage. Pages are base pages.
    pub struct TranslateRow of intervals {
        /// The trace as the user named it.
        pub trace: String,
        /// Page size in bytes.
        pub page_bytes: u64,
        /// Entries of the first level of the TLB.
        pub tlb_entries: u32,
        /// Page frames.
        pub frames: u64,
        /// References: one per request, or one per page that it touches.
        pub references: u64,
        /// References whose translation was in the first level of the TLB.
        pub tlb_hits: u64,
        /// References whose translation was not there.
        pub tlb_misses: u64,
        /// References to pages that were not in memory.
        pub page_faults: u64,
        /// Mean time of address translation, in nanoseconds; none without references.
        pub t_addr_ns: Option<f64>,
        /// Mean time of the access itself with its page faults, in nanoseconds; none without references.
        pub t_data_ns: Option<f64>,
        /// Mean time of both, in nanoseconds; none without references.
        pub amat_ns: Option<f64>,
        /// Storage's time over memory's, unless storage is a device.
        pub storage_ratio: Option<f64>,
        /// The device as the user wrote it.
        pub device: Option<String>,
        /// First-level misses whose translation was in the second level.
        pub tlb2_hits: u64,
        /// Page-table walks.
        pub walks: u64,
        /// Page-table reads of these walks.
        pub walk_accesses: u64,
        /// Pages written back.
        pub write_ios: u64,
        /// Regions that became huge pages.
        pub promotions: u64,
        /// Huge pages split into base pages.
        pub demotions: u64,
        /// Pages read to complete a huge page.
        pub promotion_fetches: u64,
        /// Pages read along with one that faulted.
        pub prefetched: u64,
        /// Prefetched pages evicted before a reference.
        pub prefetched_in_vain: u64,
        /// Streams killed for their memory.
        pub kills: u64,
        /// Most bytes of page tables at once.
        pub page_table_bytes: u64,
        /// The memory size as given: frames, bytes, or a share of the footprint.
        pub memory: String,
        /// The policy as the user wrote it.
        pub policy: String,
        /// The policy with every default.
        pub policy_resolved: String,
        /// The first level of the TLB: entries, ways, replacement.
        pub tlb: String,
        /// The second level, if there is one.
        pub tlb2: Option<String>,
        /// References that read.
        pub read_references: u64,
        /// References that write.
        pub write_references: u64,
        /// References to pages in memory.
        pub hits: u64,
        /// Pages evicted.
        pub evictions: u64,
        /// First-level hits over references; none without references.
        pub tlb_hit_ratio: Option<f64>,
        /// Page faults over references; none without references.
        pub page_fault_ratio: Option<f64>,
        /// Distinct pages referenced.
        pub footprint_pages: u64,
        /// Frames over footprint.
        pub memory_share: Option<f64>,
        /// The device with every option.
        pub device_resolved: Option<String>,
        /// What the policy needs to know: `bits` (misses and bits), `access` (every hit) or `offline` (the future);
        /// `bound` is a limit.
        pub kind: &'static str,
        /// Malformed records of the trace, which are skipped.
        pub skipped_requests: u64,
    }
}
