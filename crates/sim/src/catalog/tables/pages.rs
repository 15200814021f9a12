//! Columns of the tables beside the rows of page policies.

use super::table;
use crate::pages::Row;

table! {
    /// `simulate --gauges`: the values by which policies adapt, a row per sample of one value.
    Gauges {
        trace: String = Row,
        policy: String = Row,
        policy_resolved: String = Row,
        frames: u64 = Row,
        page_bytes: u64 = Row,
        /// Misses so far.
        fault: u64,
        /// Frames examined so far in searches for victims.
        hand_movements: u64,
        /// Name of the value.
        gauge: String,
        /// The value.
        value: f64,
    }
}

table! {
    /// `recommend`: the question as asked and its variations, a row each.
    Situations {
        trace: String = Row,
        device: String = Row,
        page_bytes: u64 = Row,
        /// What differs from the question; `as asked` in the first row.
        situation: String,
        frames: u64 = Row,
        memory_share: f64 = Row,
        /// A write's time over a read's.
        write_read_ratio: f64,
        /// The recommended policy.
        recommended: String,
        /// Its I/O time in microseconds.
        recommended_io_time_us: f64,
        /// The policy with the least I/O time.
        best: String,
        /// Its I/O time in microseconds.
        best_io_time_us: f64,
        /// CLOCK's I/O time in microseconds.
        clock_io_time_us: f64,
        /// Lower bound of any I/O time, in microseconds.
        bound_io_time_us: Option<f64>,
        /// The answer in sentences, in the first row.
        answer: Option<String>,
    }
}
