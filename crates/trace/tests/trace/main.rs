//! What readers, views and the writer do, seen from outside the crate.

mod binary_formats;
mod block_formats;
mod classes;
mod compression;
mod csv;
mod detection;
mod errors;
mod event_view;
mod events;
mod excerpts;
mod info;
mod memory;
mod page_view;
mod parquet;
mod reading;
mod request_columns;
mod shared_traces;
mod strace;
mod synthetic;
mod turns;
mod writing;
