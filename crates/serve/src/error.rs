//! Why a server does not start, or does not end well.

use clockhand_quantity::{Sentence, Text};

/// A sentence with the place and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServeError {
    /// The request makes no sense.
    #[error("{0}")]
    Usage(Sentence),
    /// It was refused, or a file failed.
    #[error("{0}")]
    Failed(Sentence),
}

impl ServeError {
    /// The request makes no sense; the remedy is empty if the problem says what to do.
    pub fn usage(problem: impl Into<Text>, remedy: impl Into<Text>) -> Self {
        ServeError::Usage(Sentence::new(problem, remedy))
    }

    /// It was refused, or a file failed; the remedy is empty if the problem says what to do.
    pub fn failed(problem: impl Into<Text>, remedy: impl Into<Text>) -> Self {
        ServeError::Failed(Sentence::new(problem, remedy))
    }
}
