//! From stored bytes to requests: what the formats share.

pub(crate) mod block_requests;
pub(crate) mod columns;
pub(crate) mod fields;
pub(crate) mod labels;
pub(crate) mod lines;
pub(crate) mod objects;
pub(crate) mod output;
pub(crate) mod panics;
pub(crate) mod parquet_check;
pub(crate) mod parquet_pages;
pub(crate) mod records;
pub(crate) mod reorder;
pub(crate) mod scan;
pub(crate) mod time_check;
pub(crate) mod units;
