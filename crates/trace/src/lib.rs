//! Traces: what a program or a device was asked to read and write, in any known format, as one kind
//! of request.
//!
//! ```text
//! file → decompression → format → (CPU cache) → batches of Request
//! recipe and seed → synthetic patterns        → batches of Request
//!
//! batches of Request → PageView       dense page ids, folded runs: what a simulator replays
//!                    → TraceInfo      what `clockhand trace info` shows
//!                    → ParquetWriter  what `clockhand trace convert` writes
//! ```
//!
//! Nothing is dropped silently: whatever a reader passes over is counted in its [`ReadReport`] with
//! the first reasons. This crate knows nothing of policies.

mod columns;
mod cpu_cache;
mod detect;
mod digest;
mod error;
mod fields;
mod footprint;
mod format;
mod formats;
mod info;
mod lines;
mod objects;
mod output;
mod page_view;
mod panics;
mod parquet_writer;
mod quantity;
mod reader;
mod records;
mod reorder;
mod report;
mod request;
mod request_columns;
mod sample;
mod scan;
mod source;
mod synthetic;
mod time_check;
mod units;

pub use cpu_cache::{CpuCache, CpuCacheConfig};
pub use error::TraceError;
pub use format::Format;
pub use formats::{find_format, formats};
pub use info::{TraceInfo, TraceInfoBuilder};
pub use page_view::{Folding, PageView, PageViewBuilder, Record};
pub use parquet_writer::ParquetWriter;
pub use quantity::bytes_with_unit;
pub use reader::{OpenOptions, Reader, TraceReader};
pub use report::{ReadReport, SkippedRecord};
pub use request::{Access, AccessKind, Op, Request};
pub use request_columns::{ColumnReader, RequestColumns};
pub use source::Progress;
pub use synthetic::{
    Arrivals, Overrides, Pattern, Phase, Place, Recipe, RequestSizes, Share, SyntheticReader,
    named_recipes,
};
