//! Writing requests to Parquet, the format of the project's own traces.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Int8Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use crate::anonymous::AnonymousPages;
use crate::error::TraceError;
use crate::request::{Op, Request};
use crate::unfinished::Unfinished;

/// Rows that are written, and later read, as one piece; what the writer holds in memory.
const ROW_GROUP_ROWS: usize = 1 << 20;

/// The key of the address space of a captured program.
pub(crate) const SEGMENTS_KEY: &str = "clockhand.segments";
/// The key of the pages of a captured program that would go to swap.
pub(crate) const ANONYMOUS_PAGES_KEY: &str = "clockhand.anonymous_pages";

/// Columns that a file has if its requests have what they hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OptionalColumns {
    /// Times in nanoseconds.
    pub times: bool,
    /// Classes of records.
    pub classes: bool,
}

impl OptionalColumns {
    /// What the first of these requests has; all of a trace are alike.
    pub fn of(requests: &[Request]) -> Self {
        let has = |part: &dyn Fn(&Request) -> bool| requests.first().is_some_and(part);
        Self {
            times: has(&|request| request.time_ns.is_some()),
            classes: has(&|request| request.class.is_some()),
        }
    }
}

/// Writes requests to a Parquet file with the columns `op` (`R`, `W`), `address` and `size` in
/// bytes, `stream` and, when the requests have them, `time_ns` and `class` (`I`, `R`, `A`, `W`).
///
/// The rows go to a file beside `path` that takes its place in [`finish`](Self::finish); a writer
/// that is dropped before leaves nothing.
pub struct ParquetWriter {
    unfinished: Unfinished,
    rows: ArrowWriter<File>,
    schema: SchemaRef,
    columns: OptionalColumns,
    written_requests: u64,
}

impl ParquetWriter {
    /// Begins a file at `path` that carries `labels` as key and value pairs.
    ///
    /// # Errors
    /// [`TraceError::Io`] when nothing can be written beside `path`.
    pub fn create(
        path: impl AsRef<Path>,
        labels: &[(String, String)],
        columns: OptionalColumns,
    ) -> Result<Self, TraceError> {
        let (file, unfinished) = Unfinished::create(path.as_ref())?;
        let schema = schema(columns);
        let rows = ArrowWriter::try_new(file, schema.clone(), Some(properties(labels)))
            .map_err(|error| unfinished.failed(0, io::Error::from(error)))?;
        Ok(Self { unfinished, rows, schema, columns, written_requests: 0 })
    }

    /// Appends requests.
    ///
    /// # Errors
    /// [`TraceError::Unwritable`] when a request has a time or a class and there is no column for it,
    /// or the reverse; [`TraceError::Io`] when the disk refuses.
    pub fn write(&mut self, requests: &[Request]) -> Result<(), TraceError> {
        let misfit = requests.iter().enumerate().find_map(|(index, request)| {
            self.misfit(request).map(|reason| (self.written_requests + index as u64, reason))
        });
        if let Some((index, reason)) = misfit {
            let file = self.unfinished.path().display().to_string();
            return Err(TraceError::Unwritable { file, index, reason: reason.to_owned() });
        }
        let columns = columns(requests, self.columns);
        let batch = RecordBatch::try_new(self.schema.clone(), columns)
            .map_err(|error| self.failed(error.into()))?;
        self.rows.write(&batch).map_err(|error| self.failed(error))?;
        self.written_requests += requests.len() as u64;
        Ok(())
    }

    /// Why a request does not fit the columns.
    fn misfit(&self, request: &Request) -> Option<&'static str> {
        match (request.time_ns.is_some(), self.columns.times) {
            (false, true) => {
                return Some("has no time although others have; leave the times out of all");
            }
            (true, false) => {
                return Some(
                    "has a time although the file has no column for it; create the file with times",
                );
            }
            _ => {}
        }
        match (request.class.is_some(), self.columns.classes) {
            (false, true) => Some("has no class although others have; take a view of the others"),
            (true, false) => {
                Some("has a class although the file has no column for it; take a view of it")
            }
            _ => None,
        }
    }

    /// Adds a key and value pair to those that the file carries.
    pub fn add_label(&mut self, key: &str, value: &str) {
        self.rows.append_key_value_metadata(KeyValue::new(key.to_owned(), value.to_owned()));
    }

    /// Keeps the address space of a captured program, and which of its pages would go to swap.
    pub fn keep_address_space(&mut self, segments: &[String], pages: &AnonymousPages) {
        self.add_label(SEGMENTS_KEY, &segments.join("\n"));
        self.add_label(ANONYMOUS_PAGES_KEY, &pages.to_string());
    }

    /// Completes the file, makes sure it is on the disk, and puts it at its path, in place of what
    /// was there.
    ///
    /// # Errors
    /// [`TraceError::Io`] when the disk refuses; then nothing has changed at the path.
    pub fn finish(mut self) -> Result<(), TraceError> {
        self.rows.finish().map_err(|error| self.failed(error))?;
        let byte = self.rows.bytes_written() as u64;
        self.unfinished.finish(self.rows.inner(), byte)
    }

    fn failed(&self, error: ParquetError) -> TraceError {
        self.unfinished.failed(self.rows.bytes_written() as u64, disk_error(error))
    }
}

/// What the disk said, without what Parquet wraps around it.
fn disk_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(disk) => *disk,
            Err(other) => io::Error::other(other),
        },
        other => other.into(),
    }
}

fn schema(optional: OptionalColumns) -> SchemaRef {
    let word = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let mut fields = vec![
        Field::new("op", word.clone(), false),
        Field::new("address", DataType::UInt64, false),
        Field::new("size", DataType::UInt32, false),
        Field::new("stream", DataType::UInt32, false),
    ];
    if optional.times {
        fields.push(Field::new("time_ns", DataType::UInt64, false));
    }
    if optional.classes {
        fields.push(Field::new("class", word, false));
    }
    Arc::new(Schema::new(fields))
}

/// Measured on reference strings of SPEC programs and on block traces: addresses are smallest as
/// they are, in large pages, for zstd finds more repetition than a dictionary or deltas do; times
/// are smallest as deltas.
fn properties(labels: &[(String, String)]) -> WriterProperties {
    let pairs =
        labels.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
    let level = ZstdLevel::try_new(9).expect("9 is a zstd level");
    let (addresses, times) = (ColumnPath::from("address"), ColumnPath::from("time_ns"));
    WriterProperties::builder()
        .set_created_by(format!("clockhand {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::ZSTD(level))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_data_page_row_count_limit(ROW_GROUP_ROWS)
        .set_key_value_metadata(Some(pairs))
        .set_column_dictionary_enabled(addresses, false)
        .set_column_dictionary_enabled(times.clone(), false)
        .set_column_encoding(times, Encoding::DELTA_BINARY_PACKED)
        .build()
}

/// A column of a few words, given by their numbers.
fn words(numbers: impl Iterator<Item = i8>, words: Vec<&str>) -> ArrayRef {
    let numbers = Int8Array::from_iter_values(numbers);
    Arc::new(DictionaryArray::<Int8Type>::new(numbers, Arc::new(StringArray::from(words))))
}

fn columns(requests: &[Request], optional: OptionalColumns) -> Vec<ArrayRef> {
    let ops = requests.iter().map(|request| i8::from(request.op == Op::Write));
    let addresses = UInt64Array::from_iter_values(requests.iter().map(|request| request.address));
    let sizes = UInt32Array::from_iter_values(requests.iter().map(|request| request.bytes));
    let streams = UInt32Array::from_iter_values(requests.iter().map(|request| request.stream));
    let mut columns: Vec<ArrayRef> =
        vec![words(ops, vec!["R", "W"]), Arc::new(addresses), Arc::new(sizes), Arc::new(streams)];
    if optional.times {
        let times =
            UInt64Array::from_iter_values(requests.iter().filter_map(|request| request.time_ns));
        columns.push(Arc::new(times));
    }
    if optional.classes {
        let classes = requests.iter().filter_map(|request| Some(request.class? as i8));
        columns.push(words(classes, vec!["I", "R", "A", "W"]));
    }
    columns
}
