//! Why a server does not start, or does not end well.

/// A sentence with the place and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServeError {
    /// The request makes no sense.
    #[error("{0}")]
    Usage(String),
    /// It was refused, or a file failed.
    #[error("{0}")]
    Failed(String),
}
