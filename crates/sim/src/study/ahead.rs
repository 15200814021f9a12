//! The next trace is read and prepared beside the cells of the one before, where there is memory for two.

use clockhand_trace::{TraceError, TraceInput};

use crate::error::SimError;
use clockhand_trace::progress::Progress;

/// Of the memory that a trace may take, each of two may take this share; the rest is for the cells.
const SHARE_OF_EACH: u64 = 4;

/// Work beside the cells of a trace.
pub(crate) struct Beside<'a, T> {
    /// How much memory it may take.
    pub(crate) bytes: u64,
    /// Of the work alone.
    pub(crate) progress: &'a Progress,
    pub(crate) work: Box<dyn FnOnce(&Progress) -> T + Send + 'a>,
}

/// The next trace, as it may be prepared while what was made of the present one, which may be `limit_bytes`, takes
/// `taken_bytes`, and how much memory it may take; `None` if it has to wait. What is too large for its share must be read once more, which pipes cannot be, and scratch files are those of one
/// trace at a time.
pub(crate) fn ahead(
    limit_bytes: u64,
    taken_bytes: u64,
    next: &TraceInput,
) -> Option<(TraceInput, u64)> {
    let limit_bytes = limit_bytes.min(next.memory_limit_bytes());
    let share_bytes = limit_bytes / SHARE_OF_EACH;
    let waits = taken_bytes > share_bytes || !next.can_be_read_again() || next.scratch().is_some();
    if waits { None } else { Some((next.within(share_bytes)?, share_bytes)) }
}

/// The prepared trace, or the error; `None` if only its share was too small.
pub(crate) fn unless_too_large<T>(read: Result<T, SimError>) -> Option<Result<T, SimError>> {
    match read {
        Err(SimError::Trace(TraceError::TooMuchMemory { .. })) => None,
        other => Some(other),
    }
}
