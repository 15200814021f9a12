//! Columns that datasets keep beside those of a study's rows, and those of the rules that a policy was tried by.

use super::table;
use crate::columns::{ColumnKind, ColumnValue};

/// A version of the numbers.
struct Version;

impl ColumnValue for Version {
    const KIND: ColumnKind = ColumnKind::U32;
}

table! {
    /// A dataset of a sweep: which cell a row is of. `cell` stands for the columns of the study's key.
    Dataset {
        /// The view, or `none`.
        view: String,
        /// Digest of its file.
        trace_sha256: String,
        /// Its format, or `detected`.
        trace_format: String,
        /// All options.
        cell: String,
        /// Version of the numbers.
        numbers_version: Version,
        /// Version of Clockhand.
        version: String,
    }
}

table! {
    /// `check-policy`: a row per rule that was tried.
    CheckedRules {
        /// The rule.
        rule: String,
        /// True if kept.
        kept: bool,
        /// Memories tried.
        memories: Option<u64>,
        /// References tried.
        references: Option<u64>,
    }
}
