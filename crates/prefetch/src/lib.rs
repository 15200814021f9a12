//! What is wanted next: of a program's memory the pages, for a pager, and of ours the cache lines, for a replay.
//!
//! [`Predictors`] choose pages to read together with one that the program waits for. They see the program's memory through a
//! [`View`], and do no I/O. [`prefetch`] has the processor fetch what is read soon.

mod offsets;
mod pointers;
mod predictors;
mod processor;
mod streams;
mod window;

pub use predictors::{Guess, Likely, Predictor, PredictorSet, Predictors, View, Wanted};
pub use processor::prefetch;
pub use window::Window;

/// Bytes of a page, and of a slot in the store.
pub const PAGE_BYTES: u64 = 4096;
