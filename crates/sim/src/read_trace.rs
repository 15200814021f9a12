//! What is known of a trace that was read.

use clockhand_trace::ReadReport;
use serde::Serialize;

/// The facts that reading a trace has found.
#[derive(Clone, Debug, Serialize)]
pub struct ReadTrace {
    /// What the rows of the result call it.
    pub name: String,
    /// Format, skipped lines, labels, hash.
    #[serde(flatten)]
    pub report: ReadReport,
    /// Page references.
    pub references: u64,
    /// Page references that read.
    pub read_references: u64,
    /// Page references that write.
    pub write_references: u64,
    /// Distinct pages.
    pub footprint_pages: u32,
    /// Distinct pages that were written.
    pub dirty_footprint_pages: u32,
}
