//! Traces: what a program or a device was asked to read and write, in any known format, as one kind
//! of request.
//!
//! ```text
//! file → decompression → format → (CPU cache, view) → batches of Request
//! recipe and seed → synthetic patterns              → batches of Request
//!
//! batches of Request → PageView       dense page ids, folded runs: what a simulator replays
//!                    → TraceInfo      what `clockhand trace info` shows
//!                    → TraceWriter    what `clockhand trace convert` writes
//! ```
//!
//! Nothing is dropped silently: whatever a reader passes over is counted in its [`ReadReport`] with
//! the first reasons. This crate knows nothing of policies.

mod anonymous;
mod capture;
mod columns;
mod cpu_cache;
mod detect;
mod error;
mod event;
mod event_view;
mod event_writer;
mod fields;
mod footprint;
mod format;
mod formats;
mod info;
mod labels;
mod lines;
mod memory_limit;
mod objects;
mod output;
mod page_view;
mod panics;
mod parquet_check;
mod parquet_pages;
mod parquet_writer;
mod quantity;
mod reader;
mod records;
mod reorder;
mod report;
mod request;
mod request_columns;
mod request_digest;
mod sample;
mod scan;
mod selection;
mod sink;
mod source;
mod stored_digest;
mod synthetic;
mod target;
mod time_check;
mod unfinished;
mod units;
mod view;
mod writer;

pub use anonymous::AnonymousPages;
pub use capture::{CaptureReader, CapturedStream, StreamEnd};
pub use cpu_cache::{CpuCache, CpuCacheConfig};
pub use error::TraceError;
pub use event::{Action, Event, FileLengths, ObjectKind};
pub use event_view::{EventView, EventViewBuilder, Mark, MarkKind, Reference};
pub use event_writer::ObjectNames;
pub use format::Format;
pub use formats::{find_format, formats};
pub use info::{StreamCounts, TraceInfo, TraceInfoBuilder};
pub use memory_limit::default_memory_limit_bytes;
pub use page_view::{Folding, PageView, PageViewBuilder, Record};
pub use parquet_writer::{OptionalColumns, ParquetWriter};
pub use quantity::bytes_with_unit;
pub use reader::{OpenOptions, Reader, TraceReader};
pub use report::{ReadReport, SkippedRecord};
pub use request::{Access, AccessKind, Op, Request};
pub use request_columns::{ColumnReader, RequestColumns};
pub use selection::{SelectedReader, Selection};
pub use source::Progress;
pub use synthetic::{
    Arrivals, Overrides, Pattern, Phase, Place, Recipe, RequestSizes, Share, SyntheticReader,
    named_recipes,
};
pub use target::{Target, find_target, target_of_path, targets};
pub use view::{ClassCounts, Classes, Convention, RecordClass, View};
pub use writer::{TraceWriter, WriteOptions};
