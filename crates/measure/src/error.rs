//! Why something could not be measured.

use std::io;
use std::path::Path;

use clockhand_quantity::{Sentence, Text};

/// One sentence with the place and what to do.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The request cannot be carried out.
    #[error("{0}")]
    Usage(Sentence),
    /// It was tried and failed.
    #[error("{0}")]
    Failed(String),
}

impl MeasureError {
    /// The request cannot be carried out.
    pub(crate) fn usage(problem: impl Into<Text>, remedy: impl Into<Text>) -> Self {
        MeasureError::Usage(Sentence::new(problem, remedy))
    }

    /// A failed operation on a file.
    pub(crate) fn file(path: &Path, what: &str, error: impl Into<io::Error>) -> Self {
        let error = error.into();
        MeasureError::Failed(format!("{}: {what}: {error}", path.display()))
    }

    /// A failed request to the system.
    pub(crate) fn system(what: &str, error: impl Into<io::Error>) -> Self {
        let error = error.into();
        MeasureError::Failed(format!("{what}: {error}"))
    }
}
