//! Writing traces: targets, files that are either complete or absent, and conversion.

pub(crate) mod capture_conversion;
pub(crate) mod coded_columns;
pub(crate) mod conversion;
pub(crate) mod encoded_file;
pub(crate) mod event_writer;
pub(crate) mod parquet_writer;
pub(crate) mod sink;
pub(crate) mod target;
pub(crate) mod timeline_conversion;
pub(crate) mod unfinished;
pub(crate) mod writer;
