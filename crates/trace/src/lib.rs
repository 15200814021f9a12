//! Traces: what a program reads and writes, or what a device was asked to read and write, in any known format, as
//! one kind of request.
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
//!
//! # From a file to a page view
//!
//! ```
//! use clockhand_trace::{Folding, OpenOptions, PageViewBuilder, Reader, TraceReader};
//!
//! let csv = b"op,address,size\nR,4096,100\nW,4200,8\nR,16384,8192\n".to_vec();
//! let mut reader = TraceReader::from_bytes("a.csv", csv, &OpenOptions::default())?;
//! let mut view = PageViewBuilder::new(4096, Folding::Runs)?;
//! let mut requests = Vec::new();
//! while reader.next_batch(&mut requests)? {
//!     view.extend(&requests);
//! }
//! assert_eq!((reader.report().format, reader.report().requests), ("csv", 3));
//! let view = view.finish()?;
//! // The first two references are one run of page 0, which writes; the last request touches two pages.
//! let pages: Vec<u32> = view.records().iter().map(|record| record.page()).collect();
//! assert_eq!(pages, [0, 1, 2]);
//! assert!(view.records()[0].rest_writes());
//! assert_eq!((view.references(), view.footprint_pages()), (4, 3));
//! # Ok::<(), clockhand_trace::TraceError>(())
//! ```
//!
//! A file on disk is a [`TraceInput`], which also reads a [part](TraceInput::part) of one, arrays in memory
//! ([`RequestTable`]) and synthetic traces ([`Recipe`]), and keeps the view of a trace that is larger than memory in files
//! ([`TraceInput::on_scratch`]).

mod decode;
mod error;
mod event;
mod facts;
mod format;
mod formats;
mod info;
mod memory_limit;
mod pages;
mod processor;
pub mod progress;
mod reader;
mod report;
mod request;
mod request_digest;
mod source;
mod synthetic;
mod write;

use clockhand_quantity as quantity;
pub use clockhand_quantity::{bytes_text, bytes_with_unit, size_bytes};
pub use decode::parquet_pages::unpacked_bytes;
pub use error::TraceError;
pub use event::{Action, Event, FileLengths, ObjectKind};
pub use format::Format;
pub use formats::{find_format, formats};
pub use info::{StreamCounts, TraceInfo, TraceInfoBuilder};
pub use memory_limit::default_memory_limit_bytes;
pub use pages::anonymous::AnonymousPages;
pub use pages::event_view::{EventView, EventViewBuilder, Mark, MarkKind, Reference};
pub use pages::page_counter::{PageCounter, PageCounts};
pub use pages::page_view::{
    Drop, Folding, Numbering, PageView, PageViewBuilder, Record, SharedRequests,
};
pub use pages::run_lengths::RunLengths;
pub use pages::run_stream::RunStream;
pub use pages::scratch::ScratchColumn;
pub use pages::view_chunks::{Chunk, Chunks};
pub use processor::cpu_cache::{CpuCache, CpuCacheConfig};
pub use processor::view::{ClassCounts, Classes, Convention, RecordClass, View};
pub use reader::{OpenOptions, Reader, TraceReader};
pub use report::{ReadReport, SkippedRecord};
pub use request::{Access, AccessKind, Op, Request};
pub use source::Progress;
pub use source::capture::{CaptureReader, CapturedStream, StreamEnd};
pub use source::input::{Batch, RequestTable, TraceInput};
pub use source::joined::JoinOrder;
pub use source::request_columns::{ColumnReader, RequestColumns};
pub use source::selection::{SelectedReader, Selection};
pub use source::stored_digest::file_sha256_hex;
pub use synthetic::{
    Arrivals, Overrides, Pattern, Phase, Place, Recipe, RequestSizes, Share, SyntheticReader,
    named_recipes,
};
pub use write::capture_conversion::{CaptureConversion, convert_capture};
pub use write::conversion::{Conversion, Converted, convert};
pub use write::event_writer::ObjectNames;
pub use write::parquet_writer::{OptionalColumns, ParquetWriter};
pub use write::target::{Target, find_target, target_of_path, targets};
pub use write::timeline_conversion::{CapturedTimeline, convert_timeline};
pub use write::writer::{TraceWriter, WriteOptions};
