//! One row of a result about two tiers. Names and order are the contract that scripts rely on.

use crate::columns::columns;

columns! {
    /// What two tiers of memory make of a trace. Counts are of pages or of references to them.
    pub struct TierRow of intervals {
        /// The trace as the user named it.
        pub trace: String,
        /// The policy as the user wrote it.
        pub policy: String,
        /// The rule of promotion as the user wrote it; null where the policy has its own.
        pub promote: Option<String>,
        /// References that the policy sees; null where the policy decides itself.
        pub see: Option<String>,
        /// Tier of new pages; null where the policy decides itself.
        pub placement: Option<String>,
        /// Frames of the fast tier.
        pub fast_frames: u64,
        /// Frames of the slow tier; null without a limit.
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
        /// References that found their page in the fast tier.
        pub fast_hits: Option<u64>,
        /// `fast_hits` over references; null without references.
        pub fast_share: Option<f64>,
        /// Reads that the fast tier served.
        pub fast_reads: Option<u64>,
        /// Writes that the fast tier served.
        pub fast_writes: Option<u64>,
        /// Reads that the slow tier served.
        pub slow_reads: Option<u64>,
        /// Writes that the slow tier served.
        pub slow_writes: Option<u64>,
        /// First references to a page.
        pub first_touches: Option<u64>,
        /// References to pages that had left for storage.
        pub storage_faults: Option<u64>,
        /// Pages that were written to storage.
        pub storage_writes: Option<u64>,
        /// Pages that moved from the slow tier to the fast one.
        pub promotions: Option<u64>,
        /// Promotions that were refused by the limit, or since no frame was free.
        pub promotions_refused: Option<u64>,
        /// Pages that moved from the fast tier to the slow one.
        pub demotions: Option<u64>,
        /// Demotions without a copy, since a shadow was there.
        pub free_demotions: Option<u64>,
        /// Pages that left for storage.
        pub evictions: Option<u64>,
        /// Promotions soon after the page's last demotion.
        pub ping_pongs: Option<u64>,
        /// Bytes copied between the tiers.
        pub migrated_bytes: Option<u64>,
        /// Accesses to marked pages.
        pub hint_faults: Option<u64>,
        /// References that were sampled.
        pub samples: Option<u64>,
        /// Pages whose bits or marks were looked at.
        pub scanned_pages: Option<u64>,
        /// Pages that were written whole to the slow tier.
        pub slow_entries: Option<u64>,
        /// The most frames of the slow tier in use at once.
        pub slow_pages_peak: Option<u64>,
        /// Bytes written to the slow tier.
        pub slow_bytes_written: Option<u64>,
        /// Time of all accesses in ns.
        pub access_ns: Option<f64>,
        /// Time of all migrations in ns.
        pub migration_ns: Option<f64>,
        /// Time of hint faults, samples and scans in ns.
        pub overhead_ns: Option<f64>,
        /// Time of storage in ns.
        pub storage_ns: Option<f64>,
        /// Time in all in ns; null without references.
        pub time_ns: Option<f64>,
        /// Time per reference in ns; null without references.
        pub mean_ns: Option<f64>,
        /// Time of accesses per reference in ns; null without references.
        pub mean_access_ns: Option<f64>,
        /// Runs of the trace before the slow tier is worn out, with wear levelling.
        pub life_traces: Option<f64>,
        /// The same without wear levelling.
        pub life_traces_unleveled: Option<f64>,
        /// Years of life at the trace's rate; null if it has no times.
        pub life_years: Option<f64>,
        /// Distinct pages.
        pub footprint_pages: u64,
        /// Frames of the fast tier over the footprint; null without references.
        pub fast_memory_share: Option<f64>,
        /// The rule of promotion with every number.
        pub promote_resolved: Option<String>,
        /// The policy with every default.
        pub policy_resolved: String,
        /// The tiers with every value.
        pub tiers_resolved: String,
        /// The device below both tiers.
        pub storage: String,
        /// Input that the policy needs: `bits` (bits, samples or hint faults), `access` (every reference), `offline`
        /// (the future, so that it cannot run), or `bound`.
        pub kind: &'static str,
        /// Records of the trace that were skipped as malformed.
        pub skipped_requests: u64,
    }
}
