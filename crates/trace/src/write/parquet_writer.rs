//! Writing requests to Parquet, the format of the project's own traces.

mod events;

use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use crate::decode::parquet_check::{CheckedPages, SealedFile};
use crate::error::TraceError;
use crate::event::Event;
use crate::pages::anonymous::AnonymousPages;
use crate::request::Request;
use crate::write::coded_columns::{CLASS, OP, RequestColumns, SIZE, STREAM};
use crate::write::unfinished::Unfinished;
use events::event_columns;
pub(crate) use events::objects_text;

/// Rows that are written, and later read, as one piece; what the writer holds in memory.
const ROW_GROUP_ROWS: usize = 1 << 20;

const ADDRESS: &str = "address";
const TIME: &str = "time_ns";

/// The level of zstd of a file that is written at leisure.
const THOROUGH_LEVEL: i32 = 9;

/// The key of the address space of a captured program.
pub(crate) const SEGMENTS_KEY: &str = "clockhand.segments";
/// The key of the pages of a captured program that would go to swap.
pub(crate) const ANONYMOUS_PAGES_KEY: &str = "clockhand.anonymous_pages";
/// The key of what the streams of a table of events are: `NUMBER KIND NAME`, a line each.
pub(crate) const OBJECTS_KEY: &str = "clockhand.objects";

/// Columns that a file has if its requests have what they hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OptionalColumns {
    /// Times in nanoseconds.
    pub times: bool,
    /// Classes of records.
    pub classes: bool,
    /// Who reads or writes, for tables of events; their times may be missing.
    pub events: bool,
}

impl OptionalColumns {
    /// The columns of the first of these requests; all of a trace are alike.
    pub fn of(requests: &[Request]) -> Self {
        let has = |part: &dyn Fn(&Request) -> bool| requests.first().is_some_and(part);
        Self {
            times: has(&|request| request.time_ns.is_some()),
            classes: has(&|request| request.class.is_some()),
            events: false,
        }
    }

    /// What a table of events has.
    pub const EVENTS: Self = Self { times: true, classes: false, events: true };
}

/// Writes requests to a Parquet file with the columns `op` (`R`, `W`), `address` and `size` in
/// bytes, `stream` and, when the requests have them, `time_ns` and `class` (`I`, `R`, `A`, `W`).
///
/// The rows go to a file beside `path` that takes its place in [`finish`](Self::finish); a writer
/// that is dropped before leaves nothing.
pub struct ParquetWriter {
    unfinished: Unfinished,
    file: SerializedFileWriter<SealedFile>,
    row_groups: ArrowRowGroupWriterFactory,
    pages: Arc<CheckedPages>,
    /// The columns of the row group that is not complete, and how many rows it has.
    group: Vec<ArrowColumnWriter>,
    /// The columns of the row group that are written otherwise, of requests.
    coded: RequestColumns,
    level: ZstdLevel,
    group_rows: usize,
    groups: usize,
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
        Self::create_at(THOROUGH_LEVEL, path.as_ref(), labels, columns)
    }

    /// The same, compressed at a level of zstd.
    pub(crate) fn create_at(
        level: i32,
        path: &Path,
        labels: &[(String, String)],
        columns: OptionalColumns,
    ) -> Result<Self, TraceError> {
        let level = ZstdLevel::try_new(level).expect("it is a zstd level");
        let (file, unfinished) = Unfinished::create(path)?;
        let schema = schema(columns);
        let pages = Arc::new(CheckedPages::default());
        let (file, row_groups) = ArrowWriter::try_new(
            SealedFile::new(file),
            schema.clone(),
            Some(properties(labels, level)),
        )
        .and_then(ArrowWriter::into_serialized_writer)
        .map_err(|error| unfinished.failed(0, io::Error::from(error)))?;
        let row_groups = row_groups.with_page_store_factory(pages.clone());
        Ok(Self {
            unfinished,
            file,
            row_groups,
            pages,
            group: Vec::new(),
            coded: RequestColumns::new(columns.classes),
            level,
            group_rows: 0,
            groups: 0,
            schema,
            columns,
            written_requests: 0,
        })
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
            return Err(TraceError::Unwritable { file, index, reason: reason.into() });
        }
        let mut left = requests;
        while !left.is_empty() {
            let (now, later) = left.split_at(left.len().min(ROW_GROUP_ROWS - self.group_rows));
            self.write_requests(now).map_err(|error| self.failed(error))?;
            left = later;
        }
        self.written_requests += requests.len() as u64;
        Ok(())
    }

    /// Appends events, to a file with the columns of events.
    ///
    /// # Errors
    /// [`TraceError::Io`] when the disk refuses.
    pub(crate) fn write_events(&mut self, events: &[Event]) -> Result<(), TraceError> {
        let mut left = events;
        while !left.is_empty() {
            let (now, later) = left.split_at(left.len().min(ROW_GROUP_ROWS - self.group_rows));
            let columns = event_columns(now);
            let fields = self.schema.clone();
            let named = fields.fields().iter().map(|field| field.name().as_str());
            let columns: Vec<_> = named.zip(columns).collect();
            self.write_columns(&columns)
                .and_then(|()| self.add_rows(now.len()))
                .map_err(|error| self.failed(error))?;
            left = later;
        }
        self.written_requests += events.len() as u64;
        Ok(())
    }

    /// Appends requests to the row group, which has room for them.
    fn write_requests(&mut self, requests: &[Request]) -> Result<(), ParquetError> {
        let addresses = requests.iter().map(|request| request.address);
        let mut columns: Vec<(&str, ArrayRef)> =
            vec![(ADDRESS, Arc::new(UInt64Array::from_iter_values(addresses)))];
        if self.columns.times {
            let times = requests.iter().filter_map(|request| request.time_ns);
            columns.push((TIME, Arc::new(UInt64Array::from_iter_values(times))));
        }
        for (name, numbers) in self.coded.extend(requests) {
            columns.push((name, Arc::new(UInt32Array::from(numbers))));
        }
        self.write_columns(&columns)?;
        self.add_rows(requests.len())
    }

    /// Appends rows to columns of the row group, which has room for them.
    fn write_columns(&mut self, columns: &[(&str, ArrayRef)]) -> Result<(), ParquetError> {
        if self.group.is_empty() {
            self.group = self.row_groups.create_column_writers(self.groups)?;
        }
        for (name, column) in columns {
            let place = self.schema.index_of(name).map_err(ParquetError::from)?;
            for leaf in compute_leaves(self.schema.field(place), column)? {
                self.group[place].write(&leaf)?;
            }
        }
        Ok(())
    }

    fn add_rows(&mut self, rows: usize) -> Result<(), ParquetError> {
        self.group_rows += rows;
        if self.group_rows == ROW_GROUP_ROWS { self.end_group() } else { Ok(()) }
    }

    /// Writes the row group to the file, with checksums in its page headers.
    fn end_group(&mut self) -> Result<(), ParquetError> {
        let writers: Vec<_> = self.group.drain(..).collect();
        let mut finished = Vec::new();
        for (place, writer) in writers.into_iter().enumerate() {
            let column = self.file.schema_descr().column(place);
            let coded = match self.columns.events {
                true => None,
                false => self.coded.finish(&column, self.level)?,
            };
            // The writer of a coded column has nothing, and its pages are none.
            let closed = match &coded {
                None => Some(writer.close()?.close().clone()),
                Some(_) => None,
            };
            finished.push((coded, closed));
        }
        let mut row_group = self.file.next_row_group()?;
        for ((coded, closed), pages) in finished.into_iter().zip(self.pages.take()) {
            if let Some((bytes, close)) = coded {
                row_group.append_column(&bytes, close)?;
            }
            let Some(mut close) = closed else { continue };
            let added_bytes = pages.added_bytes as i64;
            let (bytes, dictionary_bytes) = pages.into_bytes();
            let sizes = (close.metadata.compressed_size(), close.metadata.uncompressed_size());
            close.metadata = close
                .metadata
                .into_builder()
                .set_total_compressed_size(sizes.0 + added_bytes)
                .set_total_uncompressed_size(sizes.1 + added_bytes)
                .build()?;
            row_group.append_column(&bytes, close.update_dictionary_location(dictionary_bytes)?)?;
        }
        row_group.close()?;
        self.group_rows = 0;
        self.groups += 1;
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
        self.file.append_key_value_metadata(KeyValue::new(key.to_owned(), value.to_owned()));
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
        self.end_file().map_err(|error| self.failed(error))?;
        let byte = self.file.bytes_written() as u64;
        match self.file.inner_mut().seal() {
            Ok(file) => self.unfinished.finish(file, byte),
            Err(source) => Err(self.unfinished.failed(byte, source)),
        }
    }

    fn end_file(&mut self) -> Result<(), ParquetError> {
        if self.group_rows > 0 {
            self.end_group()?;
        }
        self.file.flush()?;
        self.file.inner_mut().begin_index();
        self.file.finish()?;
        Ok(())
    }

    fn failed(&self, error: ParquetError) -> TraceError {
        self.unfinished.failed(self.file.bytes_written() as u64, disk_error(error))
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
        Field::new(OP, word.clone(), false),
        Field::new(ADDRESS, DataType::UInt64, false),
        Field::new(SIZE, DataType::UInt32, false),
        Field::new(STREAM, DataType::UInt32, false),
    ];
    if optional.events {
        fields[2] = Field::new(SIZE, DataType::UInt64, false);
        fields.push(Field::new("by", word.clone(), false));
        fields.push(Field::new("process", DataType::UInt32, false));
    }
    if optional.times {
        fields.push(Field::new(TIME, DataType::UInt64, optional.events));
    }
    if optional.classes {
        fields.push(Field::new(CLASS, word, false));
    }
    Arc::new(Schema::new(fields))
}

/// Measured on reference strings of SPEC programs and on block traces: addresses are smallest as
/// they are, in large pages, for zstd finds more repetition than a dictionary or deltas do; times
/// are smallest as deltas.
fn properties(labels: &[(String, String)], level: ZstdLevel) -> WriterProperties {
    let pairs =
        labels.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
    let (addresses, times) = (ColumnPath::from(ADDRESS), ColumnPath::from(TIME));
    WriterProperties::builder()
        .set_created_by(format!("clockhand {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::ZSTD(level))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_data_page_row_count_limit(ROW_GROUP_ROWS)
        // Offsets of pages would be those without their checksums.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_key_value_metadata(Some(pairs))
        .set_column_dictionary_enabled(addresses, false)
        .set_column_dictionary_enabled(times.clone(), false)
        .set_column_encoding(times, Encoding::DELTA_BINARY_PACKED)
        .build()
}
