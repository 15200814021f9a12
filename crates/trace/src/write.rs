//! Writing traces: targets, files that appear whole or not at all, and conversion.

pub(crate) mod capture_conversion;
pub(crate) mod conversion;
pub(crate) mod event_writer;
pub(crate) mod parquet_writer;
pub(crate) mod sink;
pub(crate) mod target;
pub(crate) mod unfinished;
pub(crate) mod writer;
