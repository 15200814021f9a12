//! # parquet
//!
//! A table of requests in Apache Parquet: what `clockhand trace convert` writes, and what data
//! frames save.
//!
//! | column | also named | type |
//! |---|---|---|
//! | `op` | `operation`, `rw` | string, plain or dictionary: `R`, `W`, `read`, `write` in either case |
//! | `address` | `addr`, `offset`, `byte_offset` | integer of any width, in bytes |
//! | `size` (optional) | `bytes`, `length`, `len` | integer of any width, in bytes; without the column each request touches 1 byte |
//! | `time_ns`, `time_us`, `time_ms` or `time_s` (optional) | `time`, `timestamp` | integer in the unit of the name, or an Arrow timestamp or duration |
//! | `stream` (optional) | `device`, `volume`, `disk` | integer, or a string: names are numbered in the order of appearance |
//! | `class` (optional) | | string: why a cache let it through, `I` fetch, `R` load miss, `A` store-miss fill, `W` write-back; `--view` makes reads and writes of it |
//!
//! A table with the column `by` holds **events** (see the format `events`). `pagecache` uses all of them,
//! the other commands those that read or write:
//!
//! | column | type |
//! |---|---|
//! | `op` | besides `R` and `W`: `length`, `sync`, `sync-all`, `truncate`, `delete`, `release`, `release-all`, `discard` |
//! | `by` | string: `memory`, `call`, `direct` (O_DIRECT), `forced` (a write with force unit access); `none` where `op` neither reads nor writes |
//! | `address`, `size` | the range; of `length` and `truncate` the size is the file's length |
//! | `process` (optional) | integer: who calls |
//! | `time_ns` (optional) | may be null: the event has the time of the previous one |
//!
//! The file's metadata say what each stream is, under the key `clockhand.objects`: lines of number, kind
//! (`anonymous`, `file`, `unknown`) and name.
//!
//! - Case does not matter in column names; columns may come in any order.
//! - Columns named `lba`, `block` or `sector` are refused because their unit is unknown.
//! - Other columns are not read, nor is an integer `time` or `timestamp`, whose unit is unknown;
//!   `clockhand trace info` names them, and shows the file's key and value pairs.
//! - Nulls, negative numbers and other operations are errors that name the column and the row.
//! - Compressed with zstd, snappy, lz4 or gzip. From standard input, or if the file itself is
//!   compressed again, the whole file is read into memory, because its index is at its
//!   end; `--memory-limit` limits how much memory that may take.
//! - Pages are checked against their checksums if they have any. Files that `clockhand` writes have
//!   them, and a checksum of the index in front of it, which other readers ignore.
//!
//! **Skipped**: nothing.

use std::borrow::Cow;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::reader::ChunkReader;

use crate::anonymous::AnonymousPages;
use crate::columns::{Columns, Streams, TimeColumn};
use crate::error::TraceError;
use crate::event::{Action, Event, ObjectKind};
use crate::format::{Confidence, Decoder, Format};
use crate::output::{BATCH_REQUESTS, Fault, Output};
use crate::panics;
use crate::parquet_check;
use crate::parquet_pages::{BudgetedBytes, PageBudget, TooLarge};
use crate::parquet_writer::{ANONYMOUS_PAGES_KEY, OBJECTS_KEY, SEGMENTS_KEY};
use crate::report::ReadReport;
use crate::request::{Op, Request};
use crate::sample::{Sample, quoted};
use crate::scan;
use crate::source::{Seekable, Source};
use crate::target::Target;
use crate::view::RecordClass;

const NAME: &str = "parquet";
const MAGIC: &[u8] = b"PAR1";
/// Key and value pairs that libraries store for themselves.
const KEYS_OF_LIBRARIES: [&str; 2] = ["ARROW:schema", "pandas"];

pub(super) const FORMAT: Format = Format {
    name: NAME,
    summary: "a table in Apache Parquet: op, address and optionally size, time, stream",
    module: include_str!("parquet.rs"),
    record_noun: "row",
    holds_processor_accesses: false,
    stream_noun: "stream",
    targets: TARGETS,
    sniff,
    open,
};

const TARGETS: &[Target] = &[Target::parquet(NAME)];

fn sniff(sample: &Sample) -> Confidence {
    if sample.head().starts_with(MAGIC) { Confidence::Certain } else { Confidence::Unfit }
}

fn open(source: &mut Source, output: &mut Output) -> Result<Box<dyn Decoder>, TraceError> {
    // Before a compressed file is taken into memory.
    if !source.head().starts_with(MAGIC) {
        let reason = "there is no Parquet magic number; name another format or leave it out";
        return Err(content(source, "byte 0", reason));
    }
    Ok(Box::new(match source.seekable()? {
        Seekable::File(mut file) => {
            check_end(&mut file, source)?;
            Table::open(file, source, output)?
        }
        Seekable::Memory(bytes) => {
            check_end(&mut std::io::Cursor::new(&bytes), source)?;
            Table::open(bytes, source, output)?
        }
    }))
}

fn content(source: &Source, place: &str, reason: &str) -> TraceError {
    TraceError::Content {
        file: source.file().to_owned(),
        place: place.to_owned(),
        reason: reason.to_owned(),
    }
}

/// A whole file ends as it begins, with the magic number; one that does not end so was cut. Where its index has a seal,
/// it is looked at.
fn check_end(bytes: &mut (impl Read + Seek), source: &Source) -> Result<(), TraceError> {
    const FOOTER_BYTES: usize = 2 * MAGIC.len();
    const ENCRYPTED_MAGIC: &[u8] = b"PARE";
    let failed = |error| TraceError::Io {
        file: source.file().to_owned(),
        doing: "reading",
        byte: 0,
        source: error,
    };
    let length_bytes = bytes.seek(SeekFrom::End(0)).map_err(failed)?;
    let cut =
        TraceError::CutRecord { file: source.file().to_owned(), format: NAME, byte: length_bytes };
    if length_bytes < (MAGIC.len() + FOOTER_BYTES) as u64 {
        return Err(cut);
    }
    let mut footer = [0; FOOTER_BYTES];
    bytes.seek(SeekFrom::End(-(FOOTER_BYTES as i64))).map_err(failed)?;
    bytes.read_exact(&mut footer).map_err(failed)?;
    match &footer[MAGIC.len()..] {
        MAGIC => {}
        ENCRYPTED_MAGIC => {
            return Err(content(source, "index", "it is encrypted; write the table without that"));
        }
        _ => return Err(cut),
    }
    let sealed_bytes = parquet_check::sealed_bytes(footer).min(length_bytes);
    if sealed_bytes > source.memory_limit_bytes() {
        return Err(TraceError::too_much_memory(
            source.file(),
            "the index of this Parquet file takes",
            "write it in fewer row groups",
            source.memory_limit_bytes(),
        ));
    }
    let mut end = vec![0; sealed_bytes as usize];
    bytes.seek(SeekFrom::End(-(sealed_bytes as i64))).map_err(failed)?;
    bytes.read_exact(&mut end).map_err(failed)?;
    if parquet_check::is_intact(&end) {
        return Ok(());
    }
    let reason = "its checksum does not fit it; the file is damaged, copy or write it again";
    Err(content(source, "index", reason))
}

/// Reads the rows of a table.
struct Table {
    batches: ParquetRecordBatchReader,
    schema: SchemaRef,
    columns: Columns,
    /// In a table of events.
    events: Option<EventColumns>,
    streams: Streams,
    total_rows: u64,
    budget: PageBudget,
}

/// Where the columns stand that only a table of events has, by index.
#[derive(Clone, Copy)]
struct EventColumns {
    by: usize,
    process: Option<usize>,
}

impl EventColumns {
    /// Finds them, which so far count as ignored.
    fn find(schema: &SchemaRef, report: &mut ReadReport) -> Option<Self> {
        let index = |name: &str| {
            schema.fields().iter().position(|field| field.name().eq_ignore_ascii_case(name))
        };
        let columns = Self { by: index("by")?, process: index("process") };
        let is_other = |name: &String| !["by", "process"].contains(&&*name.to_ascii_lowercase());
        report.ignored_columns.retain(is_other);
        Some(columns)
    }
}

impl Table {
    fn open(
        bytes: impl ChunkReader + 'static,
        source: &Source,
        output: &mut Output,
    ) -> Result<Self, TraceError> {
        let damaged = |error| damaged(source, 0, &error);
        let budget = PageBudget::new(source.memory_limit_bytes());
        let bytes = BudgetedBytes { bytes, budget: budget.clone() };
        let index =
            unless_it_panics(|| ArrowReaderMetadata::load(&bytes, ArrowReaderOptions::new()))
                .map_err(damaged)?;
        let index = with_views(index).map_err(damaged)?;
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, index);
        let metadata = builder.metadata().file_metadata();
        let total_rows = u64::try_from(metadata.num_rows()).unwrap_or(0);
        output.report.labels = labels(metadata.key_value_metadata());
        take_address_space(source, &mut output.report)?;
        let schema = builder.schema().clone();
        let columns = find_columns(&schema, source, &mut output.report)?;
        output.has_classes = columns.class.is_some();
        let events = EventColumns::find(&schema, &mut output.report);
        output.holds_events = events.is_some();
        take_objects(source, &mut output.report)?;
        let used = [
            Some(columns.op),
            Some(columns.address),
            columns.size,
            columns.time.map(|time| time.index),
            columns.stream,
            columns.class,
            events.map(|events| events.by),
            events.and_then(|events| events.process),
        ];
        refuse_unknown_compression(&builder, &used, source)?;
        let mask = ProjectionMask::roots(builder.parquet_schema(), used.into_iter().flatten());
        let builder = builder.with_projection(mask).with_batch_size(BATCH_REQUESTS);
        let batches = unless_it_panics(|| builder.build()).map_err(damaged)?;
        let streams = Streams::of_names();
        Ok(Self { batches, schema, columns, events, streams, total_rows, budget })
    }

    /// Takes the rows of a table of events.
    fn take_events(
        &mut self,
        batch: &RecordBatch,
        columns: EventColumns,
        output: &mut Output,
    ) -> Result<(), BadCell> {
        let column = |index: usize| column(&self.schema, batch, index);
        let ops = column(self.columns.op).texts()?;
        let by = column(columns.by).texts()?;
        let addresses = column(self.columns.address).integers()?;
        let sizes = self.columns.size.map(|index| column(index).integers()).transpose()?;
        let processes = columns.process.map(|index| column(index).narrow_integers()).transpose()?;
        let times = self.columns.time;
        let times =
            times.map(|time| column(time.index).optional_times_ns(time.unit_ns)).transpose()?;
        let streams = match self.columns.stream.map(column) {
            Some(column) => Some(column.streams(&mut self.streams, &mut output.report)?),
            None => None,
        };
        for (row, (op, &address)) in ops.into_iter().zip(&addresses).enumerate() {
            let bytes = sizes.as_ref().map_or(1, |sizes| sizes[row]);
            let process = processes.as_ref().map_or(0, |processes| processes[row]);
            let cells = Cells { op, by: by[row], address, bytes, process };
            let action = cells.action().map_err(|(index, reason)| match index {
                BadCellOf::Op => column(self.columns.op).bad(row, reason),
                BadCellOf::By => column(columns.by).bad(row, reason),
                BadCellOf::Size => {
                    column(self.columns.size.unwrap_or(self.columns.op)).bad(row, reason)
                }
            })?;
            let object = streams.as_ref().map_or(0, |streams| streams[row]);
            let time_ns = times.as_ref().and_then(|times| times[row]);
            output
                .event(Event { object, time_ns, action })
                .map_err(|fault| column(self.columns.address).bad(row, fault_text(fault)))?;
        }
        Ok(())
    }

    fn take_rows(&mut self, batch: &RecordBatch, output: &mut Output) -> Result<(), BadCell> {
        let column = |index: usize| column(&self.schema, batch, index);
        let ops = column(self.columns.op).ops()?;
        let addresses = column(self.columns.address).integers()?;
        let sizes = self.columns.size.map(|index| column(index).narrow_integers()).transpose()?;
        let times =
            self.columns.time.map(|time| column(time.index).times_ns(time.unit_ns)).transpose()?;
        let streams = match self.columns.stream.map(column) {
            Some(column) => Some(column.streams(&mut self.streams, &mut output.report)?),
            None => None,
        };
        let classes = self.columns.class.map(|index| column(index).classes()).transpose()?;
        for (row, (op, address)) in ops.into_iter().zip(addresses).enumerate() {
            let bytes = sizes.as_ref().map_or(1, |sizes| sizes[row]);
            let stream = streams.as_ref().map_or(0, |streams| streams[row]);
            let time_ns = times.as_ref().map(|times| times[row]);
            let class = classes.as_ref().map(|classes| classes[row]);
            let request = Request { op, address, bytes, stream, time_ns, class };
            output
                .request(request)
                .map_err(|fault| column(self.columns.address).bad(row, fault_text(fault)))?;
        }
        Ok(())
    }
}

/// A column of a batch, by its place in the schema.
fn column<'a>(schema: &'a SchemaRef, batch: &'a RecordBatch, index: usize) -> Column<'a> {
    let name = schema.field(index).name();
    let values = batch.column_by_name(name).expect("the projection holds every column in use");
    Column { name, values: values.as_ref() }
}

/// One row of a table of events.
struct Cells<'a> {
    op: &'a str,
    by: &'a str,
    address: u64,
    bytes: u64,
    process: u32,
}

/// Which cell of a row no event can have.
enum BadCellOf {
    Op,
    By,
    Size,
}

impl Cells<'_> {
    fn action(&self) -> Result<Action, (BadCellOf, String)> {
        let Self { address, bytes, process, .. } = *self;
        if let Some(op) = scan::op(self.op.as_bytes()) {
            let bytes = u32::try_from(bytes)
                .map_err(|_| (BadCellOf::Size, "is above 4294967295".to_owned()))?;
            return Ok(match self.by {
                "memory" => Action::Memory { op, address, bytes },
                "call" => Action::Call { op, offset: address, bytes, process },
                "direct" => Action::Direct { op, offset: address, bytes },
                "forced" if op == Op::Write => Action::ForcedWrite { address, bytes },
                other => {
                    let reason = format!(
                        "is {}, none of memory, call, direct, and forced for writes",
                        quoted(other.as_bytes())
                    );
                    return Err((BadCellOf::By, reason));
                }
            });
        }
        Ok(match self.op {
            "length" => Action::Length { bytes },
            "sync" => Action::Sync,
            "sync-all" => Action::SyncAll,
            "truncate" => Action::Truncate { bytes },
            "delete" => Action::Delete,
            "release" => Action::Release { address, bytes },
            "release-all" => Action::ReleaseAll,
            "discard" => Action::Discard { address, bytes },
            other => {
                let reason = format!("is {}, no word for an event", quoted(other.as_bytes()));
                return Err((BadCellOf::Op, reason));
            }
        })
    }
}

impl Decoder for Table {
    fn decode(&mut self, source: &mut Source, output: &mut Output) -> Result<bool, TraceError> {
        let first_row = output.report.records;
        self.budget.begin_batch();
        let batch = unless_it_panics(|| Ok(self.batches.next().transpose()?));
        let Some(batch) = batch.map_err(|error| damaged(source, first_row, &error))? else {
            return Ok(false);
        };
        output.report.records += batch.num_rows() as u64;
        let taken = match self.events {
            Some(columns) => self.take_events(&batch, columns, output),
            None => self.take_rows(&batch, output),
        };
        taken.map_err(|bad| TraceError::Content {
            file: source.file().to_owned(),
            place: format!("row {} (the first is row 0)", first_row + bad.row as u64),
            reason: format!("column `{}` {}; repair or remove the row", bad.column, bad.reason),
        })?;
        report_progress(source, output.report.records, self.total_rows);
        Ok(true)
    }
}

/// Rows are read out of order of the file, so the share of the rows stands for the share of the
/// bytes.
fn report_progress(source: &Source, rows: u64, total_rows: u64) {
    if let Some(total_bytes) = source.progress().total_bytes() {
        let share = rows as f64 / total_rows.max(1) as f64;
        source.progress().reach((total_bytes as f64 * share.min(1.0)) as u64);
    }
}

/// The Parquet library meets some kinds of damage with a failed assertion; for a user a damaged
/// file is an error like any other. What panicked is not used again, because the reader ends with
/// the error.
fn unless_it_panics<T>(
    action: impl FnOnce() -> Result<T, ParquetError>,
) -> Result<T, ParquetError> {
    panics::caught(action).unwrap_or_else(|message| Err(ParquetError::General(message)))
}

/// What the library refused, in words that say what to do; rows before `row` were read.
fn damaged(source: &Source, row: u64, error: &ParquetError) -> TraceError {
    if is_too_large(error) {
        return TraceError::too_much_memory(
            source.file(),
            "the pages of a few thousand rows of this Parquet file take, with what is kept of them,",
            "write it with smaller pages",
            source.memory_limit_bytes(),
        );
    }
    let place = if row == 0 { "Parquet data".to_owned() } else { format!("row {row} or later") };
    let text = error.to_string();
    let reason = if text.contains("CRC checksum mismatch") {
        "the checksum of a page does not fit it; the file is damaged, copy or write it again"
    } else if matches!(error, ParquetError::NYI(_)) {
        "it uses a part of Parquet that is not read; write the table with plain or dictionary encoding"
    } else {
        "it cannot be decoded; the file is damaged or of an unknown kind, copy or write it again"
    };
    content(source, &place, reason)
}

/// Whether the page budget is behind an error, which Arrow wraps once more.
fn is_too_large(error: &ParquetError) -> bool {
    let mut cause = Some(error as &(dyn std::error::Error + 'static));
    while let Some(error) = cause {
        if error.is::<TooLarge>() {
            return true;
        }
        cause = error.source();
    }
    error.to_string().contains(&TooLarge.to_string())
}

/// The same index with plain strings as views into their pages, so that a long string of a dictionary is in memory once
/// and not once per row.
fn with_views(index: ArrowReaderMetadata) -> Result<ArrowReaderMetadata, ParquetError> {
    let is_string =
        |field: &FieldRef| matches!(field.data_type(), DataType::Utf8 | DataType::LargeUtf8);
    let schema = index.schema();
    if !schema.fields().iter().any(is_string) {
        return Ok(index);
    }
    let view = |field: &FieldRef| {
        if !is_string(field) {
            return field.clone();
        }
        Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View))
    };
    let fields: Fields = schema.fields().iter().map(view).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    let options = ArrowReaderOptions::new().with_schema(schema);
    ArrowReaderMetadata::try_new(index.metadata().clone(), options)
}

/// Says which compression is not read, before the first page of it.
fn refuse_unknown_compression<R: ChunkReader>(
    builder: &ParquetRecordBatchReaderBuilder<R>,
    used: &[Option<usize>],
    source: &Source,
) -> Result<(), TraceError> {
    let schema = builder.parquet_schema();
    let is_used = |leaf: usize| used.contains(&Some(schema.get_column_root_idx(leaf)));
    for row_group in builder.metadata().row_groups() {
        for (_, column) in row_group.columns().iter().enumerate().filter(|&(leaf, _)| is_used(leaf))
        {
            let name = match column.compression() {
                Compression::BROTLI(_) => "brotli",
                Compression::LZO => "lzo",
                _ => continue,
            };
            return Err(content(
                source,
                &format!("column `{}`", column.column_path().string()),
                &format!(
                    "unsupported compression: {name}; write it with zstd, snappy, lz4 or gzip"
                ),
            ));
        }
    }
    Ok(())
}

fn labels(pairs: Option<&Vec<KeyValue>>) -> Vec<(String, String)> {
    let ours =
        pairs.into_iter().flatten().filter(|pair| !KEYS_OF_LIBRARIES.contains(&pair.key.as_str()));
    ours.map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default())).collect()
}

/// Takes what a capture says about the address space out of the labels, which people read.
fn take_address_space(source: &Source, report: &mut ReadReport) -> Result<(), TraceError> {
    let mut take = |key| {
        let position = report.labels.iter().position(|(label, _)| label == key)?;
        Some(report.labels.remove(position).1)
    };
    let (segments, pages) = (take(SEGMENTS_KEY), take(ANONYMOUS_PAGES_KEY));
    report.segments = segments.unwrap_or_default().lines().map(str::to_owned).collect();
    report.anonymous_pages = match pages {
        Some(text) => Some(AnonymousPages::parse(&text).ok_or_else(|| TraceError::Content {
            file: source.file().to_owned(),
            place: format!("metadata {ANONYMOUS_PAGES_KEY:?}"),
            reason: "it holds no ascending ranges of pages; capture the trace again".to_owned(),
        })?),
        None => None,
    };
    Ok(())
}

/// Takes what the streams are out of the labels, which people read.
fn take_objects(source: &Source, report: &mut ReadReport) -> Result<(), TraceError> {
    let Some(position) = report.labels.iter().position(|(label, _)| label == OBJECTS_KEY) else {
        return Ok(());
    };
    let (_, text) = report.labels.remove(position);
    let mut kinds = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut parts = line.splitn(3, ' ');
        let (place, kind, name) = (parts.next(), parts.next(), parts.next());
        if place != Some(&number.to_string()) {
            return Err(TraceError::Content {
                file: source.file().to_owned(),
                place: format!("metadata {OBJECTS_KEY:?}"),
                reason: "it does not number the streams from 0 on; convert the trace again"
                    .to_owned(),
            });
        }
        kinds.push(kind.and_then(ObjectKind::of_name));
        report.stream_names.push(name.unwrap_or_default().to_owned());
    }
    report.object_kinds = kinds.into_iter().collect::<Option<_>>().unwrap_or_default();
    if report.stream_names.iter().all(String::is_empty) {
        report.stream_names.clear();
    }
    Ok(())
}

type TypeTest = fn(&DataType) -> bool;

/// Finds the columns and refuses types that are not read, before any row is.
fn find_columns(
    schema: &SchemaRef,
    source: &Source,
    report: &mut ReadReport,
) -> Result<Columns, TraceError> {
    let refused = |place: String, reason: String| TraceError::Content {
        file: source.file().to_owned(),
        place,
        reason,
    };
    let names = schema.fields().iter().map(|field| Cow::Borrowed(field.name().as_str()));
    let mut columns =
        Columns::find(names, report).map_err(|reason| refused("schema".to_owned(), reason))?;
    if let Some(TimeColumn { index, unit_ns: None }) = columns.time
        && schema.field(index).data_type().is_integer()
    {
        columns.ignore_time(schema.field(index).name(), report);
    }
    let checks: [(_, TypeTest, _); 6] = [
        (Some(columns.op), is_text, "strings R and W"),
        (Some(columns.address), DataType::is_integer, "integers"),
        (columns.size, DataType::is_integer, "integers"),
        (columns.time.map(|time| time.index), is_time, "integers, timestamps or durations"),
        (columns.stream, is_stream, "integers or strings"),
        (columns.class, is_text, "strings I, R, A and W"),
    ];
    for (index, fits, wanted) in checks {
        let Some(field) = index.map(|index| schema.field(index)) else { continue };
        if !fits(field.data_type()) {
            let reason =
                format!("it holds {} and must hold {wanted}; convert it", field.data_type());
            return Err(refused(format!("column `{}`", field.name()), reason));
        }
    }
    Ok(columns)
}

fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_text(values),
        _ => matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View),
    }
}

fn is_stream(data_type: &DataType) -> bool {
    data_type.is_integer() || is_text(data_type)
}

fn is_time(data_type: &DataType) -> bool {
    data_type.is_integer() || matches!(data_type, DataType::Timestamp(..) | DataType::Duration(_))
}

fn fault_text(fault: Fault) -> Cow<'static, str> {
    match fault {
        Fault::Record(reason) => reason,
        Fault::Trace(reason) => Cow::Owned(reason),
    }
}

/// A value that no request can have; the reason is the end of a sentence that begins with the
/// column.
struct BadCell {
    column: String,
    /// Within the batch.
    row: usize,
    reason: Cow<'static, str>,
}

/// One column of a batch.
struct Column<'a> {
    name: &'a str,
    values: &'a dyn Array,
}

impl<'a> Column<'a> {
    fn bad(&self, row: usize, reason: impl Into<Cow<'static, str>>) -> BadCell {
        BadCell { column: self.name.to_owned(), row, reason: reason.into() }
    }

    fn require_no_null(&self) -> Result<(), BadCell> {
        let nulls = self.values.logical_nulls();
        match nulls.and_then(|nulls| (0..nulls.len()).find(|&row| nulls.is_null(row))) {
            Some(row) => Err(self.bad(row, "is null")),
            None => Ok(()),
        }
    }

    fn integers(&self) -> Result<Vec<u64>, BadCell> {
        match self.values.data_type() {
            DataType::UInt8 => self.widened::<UInt8Type>(),
            DataType::UInt16 => self.widened::<UInt16Type>(),
            DataType::UInt32 => self.widened::<UInt32Type>(),
            DataType::UInt64 => self.widened::<UInt64Type>(),
            DataType::Int8 => self.widened::<Int8Type>(),
            DataType::Int16 => self.widened::<Int16Type>(),
            DataType::Int32 => self.widened::<Int32Type>(),
            DataType::Int64 => self.widened::<Int64Type>(),
            DataType::Timestamp(TimeUnit::Second, _) => self.widened::<TimestampSecondType>(),
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                self.widened::<TimestampMillisecondType>()
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                self.widened::<TimestampMicrosecondType>()
            }
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                self.widened::<TimestampNanosecondType>()
            }
            DataType::Duration(TimeUnit::Second) => self.widened::<DurationSecondType>(),
            DataType::Duration(TimeUnit::Millisecond) => self.widened::<DurationMillisecondType>(),
            DataType::Duration(TimeUnit::Microsecond) => self.widened::<DurationMicrosecondType>(),
            DataType::Duration(TimeUnit::Nanosecond) => self.widened::<DurationNanosecondType>(),
            other => Err(self.bad(0, format!("holds {other}, which is no integer"))),
        }
    }

    fn widened<T: ArrowPrimitiveType<Native: TryInto<u64>>>(&self) -> Result<Vec<u64>, BadCell> {
        self.require_no_null()?;
        let values = self.values.as_primitive::<T>().values();
        let positive = |(row, &value): (usize, &T::Native)| {
            value.try_into().map_err(|_| self.bad(row, "is negative"))
        };
        values.iter().enumerate().map(positive).collect()
    }

    fn narrow_integers(&self) -> Result<Vec<u32>, BadCell> {
        let narrow =
            |(row, value)| u32::try_from(value).map_err(|_| self.bad(row, "is above 4294967295"));
        self.integers()?.into_iter().enumerate().map(narrow).collect()
    }

    /// The type tells the unit of timestamps and durations, the name that of integers.
    fn times_ns(&self, unit_ns: Option<u64>) -> Result<Vec<u64>, BadCell> {
        let unit_ns = match self.values.data_type() {
            DataType::Timestamp(unit, _) | DataType::Duration(unit) => match unit {
                TimeUnit::Second => 1_000_000_000,
                TimeUnit::Millisecond => 1_000_000,
                TimeUnit::Microsecond => 1_000,
                TimeUnit::Nanosecond => 1,
            },
            _ => {
                unit_ns.expect("integer times without a unit are ignored when the table is opened")
            }
        };
        let scaled = |(row, value): (usize, u64)| {
            value
                .checked_mul(unit_ns)
                .ok_or_else(|| self.bad(row, "is more nanoseconds than 64 bits hold"))
        };
        self.integers()?.into_iter().enumerate().map(scaled).collect()
    }

    /// As [`Column::times_ns`]; a null is not a time.
    fn optional_times_ns(&self, unit_ns: Option<u64>) -> Result<Vec<Option<u64>>, BadCell> {
        let Some(nulls) = self.values.logical_nulls() else {
            return Ok(self.times_ns(unit_ns)?.into_iter().map(Some).collect());
        };
        let valid: Vec<bool> = nulls.iter().collect();
        let filled = arrow_array::UInt64Array::from_iter_values(
            self.values
                .as_primitive_opt::<UInt64Type>()
                .ok_or_else(|| self.bad(0, "has nulls, which only 64-bit unsigned integers may"))?
                .values()
                .iter()
                .zip(&valid)
                .map(|(&time, &is_valid)| if is_valid { time } else { 0 }),
        );
        let times = Column { name: self.name, values: &filled }.times_ns(unit_ns)?;
        Ok(times.into_iter().zip(valid).map(|(time, is_valid)| is_valid.then_some(time)).collect())
    }

    fn texts(&self) -> Result<Vec<&'a str>, BadCell> {
        self.require_no_null()?;
        Ok(texts(self.values))
    }

    fn ops(&self) -> Result<Vec<Op>, BadCell> {
        let op = |(row, text): (usize, &str)| {
            scan::op(text.as_bytes()).ok_or_else(|| {
                self.bad(row, format!("is {}, none of R, W, read, write", quoted(text.as_bytes())))
            })
        };
        self.texts()?.into_iter().enumerate().map(op).collect()
    }

    fn classes(&self) -> Result<Vec<RecordClass>, BadCell> {
        let class = |(row, text): (usize, &str)| {
            RecordClass::of_letter(text).ok_or_else(|| {
                self.bad(row, format!("is {}, none of I, R, A, W", quoted(text.as_bytes())))
            })
        };
        self.texts()?.into_iter().enumerate().map(class).collect()
    }

    fn streams(&self, streams: &mut Streams, report: &mut ReadReport) -> Result<Vec<u32>, BadCell> {
        if self.values.data_type().is_integer() {
            return self.narrow_integers();
        }
        let number = |(row, text): (usize, &str)| {
            streams
                .number(text.as_bytes(), report)
                .map_err(|fault| self.bad(row, fault_text(fault)))
        };
        self.texts()?.into_iter().enumerate().map(number).collect()
    }
}

/// The strings of a column, plain or through a dictionary; empty where a dictionary holds an unused
/// null.
fn texts(values: &dyn Array) -> Vec<&str> {
    match values.data_type() {
        DataType::Utf8 => values.as_string::<i32>().iter().map(Option::unwrap_or_default).collect(),
        DataType::LargeUtf8 => {
            values.as_string::<i64>().iter().map(Option::unwrap_or_default).collect()
        }
        DataType::Utf8View => {
            values.as_string_view().iter().map(Option::unwrap_or_default).collect()
        }
        _ => {
            let dictionary = values.as_any_dictionary();
            let words = texts(dictionary.values());
            dictionary.normalized_keys().into_iter().map(|key| words[key]).collect()
        }
    }
}
