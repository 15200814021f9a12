//! Columns of the tables of `locality`.

use super::table;
use crate::pages::Row;

table! {
    /// `locality`: how the references of a trace lie on its pages, a row per ranking and operation.
    Summary {
        trace: String = Row,
        page_bytes: u64 = Row,
        /// What pages are ranked by: `recency` or `frequency`.
        ranking: String,
        /// References that count: `all`, `read` or `write`.
        op: String,
        /// References of the operation.
        references: u64,
        /// Distinct pages referenced.
        pages: u64,
        /// References to pages referenced before.
        re_references: u64,
        /// Share of the references to the first 1, 10 or 100 ranks.
        top_1_share: Option<f64>,
        /// Share of the references to the first 1, 10 or 100 ranks.
        top_10_share: Option<f64>,
        /// Share of the references to the first 1, 10 or 100 ranks.
        top_100_share: Option<f64>,
        /// Share of the references to the first 1 or 10 % of the ranks.
        top_1_percent_share: Option<f64>,
        /// Share of the references to the first 1 or 10 % of the ranks.
        top_10_percent_share: Option<f64>,
        /// Share of the re-references that inversions displace.
        inversion_share: Option<f64>,
        /// Ranks within inverted ranges.
        inverted_ranks: u64,
        skipped_requests: u64 = Row,
    }
}

table! {
    /// `locality --rows ranks`: a row per rank.
    Ranks {
        trace: String = Row,
        page_bytes: u64 = Row,
        ranking: String = Summary,
        op: String = Summary,
        /// The rank, from 1.
        rank: u64,
        /// References to pages while they had the rank.
        references: u64,
        /// These over all references made while a page had the rank.
        re_reference_probability: Option<f64>,
        skipped_requests: u64 = Row,
    }
}

table! {
    /// `locality --rows inversions`: a row per range of ranks with more references than better ones.
    Inversions {
        trace: String = Row,
        page_bytes: u64 = Row,
        ranking: String = Summary,
        op: String = Summary,
        /// First and last rank of the range.
        first_rank: u64,
        /// First and last rank of the range.
        last_rank: u64,
        /// References to its ranks.
        references: u64,
        /// How far its ranks lie above their mean, summed.
        displaced_references: f64,
        /// These over all re-references.
        displaced_share: Option<f64>,
        skipped_requests: u64 = Row,
    }
}

table! {
    /// `locality --rows miss-curve`: LRU at each memory size.
    MissCurve {
        trace: String = Row,
        frames: u64 = Row,
        page_bytes: u64 = Row,
        device: String = Row,
        references: u64 = Row,
        /// References that read.
        read_references: u64,
        /// References that write.
        write_references: u64,
        /// References to pages that were not in memory.
        misses: u64,
        /// Misses of read references.
        read_misses: u64,
        /// Misses of write references.
        write_misses: u64,
        read_ios: u64 = Row,
        /// Pages written to the device: dirty evictions and the final flush.
        write_ios: u64,
        io_time_us: f64 = Row,
        footprint_pages: u64 = Row,
        memory_share: f64 = Row,
        misses_standard_error: Option<f64> = Row,
        write_ios_standard_error: Option<f64> = Row,
        skipped_requests: u64 = Row,
    }
}

table! {
    /// `locality --rows working-set`: Denning's working set, a row per operation and window.
    WorkingSet {
        trace: String = Row,
        page_bytes: u64 = Row,
        op: String = Summary,
        /// Window, in references.
        window_references: u64,
        /// Pages of the working set, the mean over the trace.
        mean_pages: f64,
        skipped_requests: u64 = Row,
    }
}

table! {
    /// `locality --rows recency`: other pages between two references to a page, by what the later one does.
    Recency {
        trace: String = Row,
        page_bytes: u64 = Row,
        /// Other pages referenced in between.
        recency_pages: u64,
        /// Later references that read.
        read_references: u64,
        /// Later references that write.
        write_references: u64,
        skipped_requests: u64 = Row,
    }
}

table! {
    /// `locality --rows intervals`: a row per interval of a trace.
    Intervals {
        trace: String = Row,
        page_bytes: u64 = Row,
        /// Number of the interval, from 0, with `--every`; an interval without references has no row.
        interval: u64,
        /// References before the interval.
        from_reference: u64,
        from_us: Option<f64> = Row,
        /// References of the interval.
        references: u64,
        /// References of the interval that read.
        read_references: u64,
        /// References of the interval that write.
        write_references: u64,
        pages: u64 = Summary,
        /// Distinct pages written.
        written_pages: u64,
        /// Pages referenced for the first time.
        new_pages: u64,
        skipped_requests: u64 = Row,
    }
}

table! {
    /// `locality --rows window`: what windows of CFLRU would save, a row per position of an LRU list.
    Window {
        trace: String = Row,
        page_bytes: u64 = Row,
        device: String = Row,
        frames: u64 = Row,
        /// Place on the LRU list, 1 the most recent; in `benefit_us` the window size.
        position: u64,
        /// Share of the pages that came to this position and were referenced again.
        future_reference_probability: Option<f64>,
        /// What a window of this size would save, in microseconds.
        benefit_us: Option<f64>,
        /// The smallest window that saves most, 0 if none does.
        predicted_window: u64,
    }
}
