//! One row of a result about two tiers. Names and order are the contract that scripts rely on.

use crate::columns::columns;

columns! {
    /// What two tiers of memory make of a trace. Counts are of pages or of references to them.
    pub struct TierRow of intervals {
        /// The trace as the user named it.
        pub trace: String,
        /// The policy as the user wrote it.
        pub policy: String,
        /// The rule of promotion as the user wrote it; none where the policy has its own.
        pub promote: Option<String>,
        /// References that the policy sees; none where the policy decides itself.
        pub see: Option<String>,
        /// Tier of new pages; none where the policy decides itself.
        pub placement: Option<String>,
        /// Frames of the fast tier.
        pub fast_frames: u64,
        /// Frames of the slow tier; none without a limit.
        pub slow_frames: Option<u64>,
        /// Page size in bytes.
        pub page_bytes: u64,
        /// The tiers as the user wrote them.
        pub tiers: String,
        /// References.
        pub references: u64,
        /// References that read.
        pub read_references: Option<u64>,
        /// References that write.
        pub write_references: Option<u64>,
        /// References to pages in the fast tier.
        pub fast_hits: Option<u64>,
        /// `fast_hits` over references; none without references.
        pub fast_share: Option<f64>,
        /// Reads and writes that each tier served.
        pub fast_reads: Option<u64>,
        /// Reads and writes that each tier served.
        pub fast_writes: Option<u64>,
        /// Reads and writes that each tier served.
        pub slow_reads: Option<u64>,
        /// Reads and writes that each tier served.
        pub slow_writes: Option<u64>,
        /// First references to a page.
        pub first_touches: Option<u64>,
        /// References to pages evicted to storage.
        pub storage_faults: Option<u64>,
        /// Pages written to storage.
        pub storage_writes: Option<u64>,
        /// Pages moved from the slow tier to the fast one.
        pub promotions: Option<u64>,
        /// Promotions refused by the limit, or because no frame was free.
        pub promotions_refused: Option<u64>,
        /// Pages moved from the fast tier to the slow one.
        pub demotions: Option<u64>,
        /// Demotions without a copy, because of a shadow.
        pub free_demotions: Option<u64>,
        /// Pages evicted to storage.
        pub evictions: Option<u64>,
        /// Promotions soon after the page's last demotion.
        pub ping_pongs: Option<u64>,
        /// Bytes copied between the tiers.
        pub migrated_bytes: Option<u64>,
        /// Accesses to marked pages.
        pub hint_faults: Option<u64>,
        /// References that were sampled.
        pub samples: Option<u64>,
        /// Pages whose bits or marks were examined.
        pub scanned_pages: Option<u64>,
        /// Pages written whole to the slow tier.
        pub slow_entries: Option<u64>,
        /// Most frames of the slow tier in use at once.
        pub slow_pages_peak: Option<u64>,
        /// Bytes written to the slow tier.
        pub slow_bytes_written: Option<u64>,
        /// Time of all accesses.
        pub access_ns: Option<f64>,
        /// Time of all migrations.
        pub migration_ns: Option<f64>,
        /// Time of hint faults, samples and scans.
        pub overhead_ns: Option<f64>,
        /// Time of storage.
        pub storage_ns: Option<f64>,
        /// Time in all; none without references.
        pub time_ns: Option<f64>,
        /// Time per reference; none without references.
        pub mean_ns: Option<f64>,
        /// Time of accesses per reference; none without references.
        pub mean_access_ns: Option<f64>,
        /// Runs of the trace before the slow tier is worn out, with wear levelling.
        pub life_traces: Option<f64>,
        /// The same without wear levelling.
        pub life_traces_unleveled: Option<f64>,
        /// Years of life at the trace's rate; none without times.
        pub life_years: Option<f64>,
        /// Distinct pages referenced.
        pub footprint_pages: u64,
        /// Frames of the fast tier over footprint; none without references.
        pub fast_memory_share: Option<f64>,
        /// The rule of promotion with every number.
        pub promote_resolved: Option<String>,
        /// The policy with every default.
        pub policy_resolved: String,
        /// The tiers with every value.
        pub tiers_resolved: String,
        /// The device below both tiers.
        pub storage: String,
        /// What the policy needs to know: `bits` (bits, samples or hint faults), `access` (every reference) or
        /// `offline` (the future); `bound` is a limit.
        pub kind: &'static str,
        /// Malformed records of the trace, which are skipped.
        pub skipped_requests: u64,
    }
}
