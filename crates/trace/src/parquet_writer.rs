//! Writing requests to Parquet, the format of the project's own traces.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int8Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use tempfile::{NamedTempFile, TempPath};

use crate::error::TraceError;
use crate::request::{Op, Request};

/// Rows that are written, and later read, as one piece; what the writer holds in memory.
const ROW_GROUP_ROWS: usize = 1 << 20;

/// Writes requests to a Parquet file with the columns `op` (`R`, `W`), `address` and `size` in
/// bytes, `stream` and, when the requests have times, `time_ns`.
///
/// The rows go to a file beside `path` that takes its place in [`finish`](Self::finish); a writer
/// that is dropped before leaves nothing.
pub struct ParquetWriter {
    path: PathBuf,
    /// Removes the unfinished file when it is dropped.
    unfinished: TempPath,
    rows: ArrowWriter<File>,
    schema: SchemaRef,
    has_times: bool,
    written_requests: u64,
}

impl ParquetWriter {
    /// Begins a file at `path` that carries `labels` as key and value pairs, with a column of times
    /// if `has_times`.
    ///
    /// # Errors
    /// [`TraceError::Io`] when nothing can be written beside `path`.
    pub fn create(
        path: impl AsRef<Path>,
        labels: &[(String, String)],
        has_times: bool,
    ) -> Result<Self, TraceError> {
        let path = path.as_ref().to_owned();
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let failed = |source| io_error(&path, "creating", 0, source);
        let (file, unfinished) = temporary_file(folder).map_err(failed)?.into_parts();
        let schema = schema(has_times);
        let rows = ArrowWriter::try_new(file, schema.clone(), Some(properties(labels)))
            .map_err(|error| failed(io::Error::from(error)))?;
        Ok(Self { path, unfinished, rows, schema, has_times, written_requests: 0 })
    }

    /// Appends requests.
    ///
    /// # Errors
    /// [`TraceError::Unwritable`] when a request has a time and there is no column for it, or the
    /// reverse; [`TraceError::Io`] when the disk refuses.
    pub fn write(&mut self, requests: &[Request]) -> Result<(), TraceError> {
        if let Some(index) =
            requests.iter().position(|request| request.time_ns.is_some() != self.has_times)
        {
            let reason = if self.has_times {
                "has no time although others have; leave the times out of all"
            } else {
                "has a time although the file has no column for it; create the file with times"
            };
            return Err(TraceError::Unwritable {
                file: self.path.display().to_string(),
                index: self.written_requests + index as u64,
                reason: reason.to_owned(),
            });
        }
        let batch = RecordBatch::try_new(self.schema.clone(), columns(requests, self.has_times))
            .map_err(|error| self.failed(error.into()))?;
        self.rows.write(&batch).map_err(|error| self.failed(error))?;
        self.written_requests += requests.len() as u64;
        Ok(())
    }

    /// Adds a key and value pair to those that the file carries.
    pub fn add_label(&mut self, key: &str, value: &str) {
        self.rows.append_key_value_metadata(KeyValue::new(key.to_owned(), value.to_owned()));
    }

    /// Completes the file, makes sure it is on the disk, and puts it at its path, in place of what
    /// was there.
    ///
    /// # Errors
    /// [`TraceError::Io`] when the disk refuses; then nothing has changed at the path.
    pub fn finish(mut self) -> Result<(), TraceError> {
        self.rows.finish().map_err(|error| self.failed(error))?;
        let byte = self.rows.bytes_written() as u64;
        let failed = |source| io_error(&self.path, "writing", byte, source);
        self.rows.inner().sync_all().map_err(failed)?;
        self.unfinished.persist(&self.path).map_err(|refused| failed(refused.error))
    }

    fn failed(&self, error: ParquetError) -> TraceError {
        io_error(&self.path, "writing", self.rows.bytes_written() as u64, disk_error(error))
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

fn io_error(path: &Path, doing: &'static str, byte: u64, source: io::Error) -> TraceError {
    TraceError::Io { file: path.display().to_string(), doing, byte, source }
}

/// An unfinished file, with the permissions that a new file gets and not those of a secret.
fn temporary_file(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".clockhand-").suffix(".unfinished");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

fn schema(has_times: bool) -> SchemaRef {
    let op = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let mut fields = vec![
        Field::new("op", op, false),
        Field::new("address", DataType::UInt64, false),
        Field::new("size", DataType::UInt32, false),
        Field::new("stream", DataType::UInt32, false),
    ];
    if has_times {
        fields.push(Field::new("time_ns", DataType::UInt64, false));
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

fn columns(requests: &[Request], has_times: bool) -> Vec<ArrayRef> {
    let keys: Int8Array =
        requests.iter().map(|request| Some(i8::from(request.op == Op::Write))).collect();
    let words = Arc::new(StringArray::from(vec!["R", "W"]));
    let ops = DictionaryArray::<Int8Type>::new(keys, words);
    let addresses = UInt64Array::from_iter_values(requests.iter().map(|request| request.address));
    let sizes = UInt32Array::from_iter_values(requests.iter().map(|request| request.bytes));
    let streams = UInt32Array::from_iter_values(requests.iter().map(|request| request.stream));
    let mut columns: Vec<ArrayRef> =
        vec![Arc::new(ops), Arc::new(addresses), Arc::new(sizes), Arc::new(streams)];
    if has_times {
        let times =
            UInt64Array::from_iter_values(requests.iter().filter_map(|request| request.time_ns));
        columns.push(Arc::new(times) as Arc<dyn Array>);
    }
    columns
}
