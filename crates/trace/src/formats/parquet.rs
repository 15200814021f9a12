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

mod column;
mod event_row;
mod metadata;
mod schema;

use std::io::{Read, Seek, SeekFrom};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use column::{BadCell, column, fault_text};
use event_row::{BadCellOf, Cells};
use metadata::{labels, take_address_space, take_objects};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::reader::ChunkReader;
use schema::{EventColumns, find_columns, with_views};

use crate::decode::columns::{Columns, Streams};
use crate::decode::output::{BATCH_REQUESTS, Output};
use crate::decode::panics;
use crate::decode::parquet_check;
use crate::decode::parquet_pages::{BudgetedBytes, PageBudget, TooLarge};
use crate::error::TraceError;
use crate::event::Event;
use crate::format::{Confidence, Decoder, Format};
use crate::request::Request;
use crate::source::sample::Sample;
use crate::source::{Seekable, Source};
use crate::write::target::Target;

const NAME: &str = "parquet";
const MAGIC: &[u8] = b"PAR1";
pub(super) const FORMAT: Format = Format {
    record_noun: "row",
    ..Format::records(
        NAME,
        "a table in Apache Parquet: op, address and optionally size, time, stream",
        include_str!("parquet.rs"),
        sniff,
        open,
    )
    .written_as(TARGETS)
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
        reason: reason.into(),
    }
}

/// A whole file ends as it begins, with the magic number; one that does not end so was cut. If its index has a seal,
/// the seal is checked.
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
        for (row, (op, &address)) in ops.into_iter().zip(addresses.iter()).enumerate() {
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
        for (row, (op, &address)) in ops.into_iter().zip(addresses.iter()).enumerate() {
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
            reason: format!("column `{}` {}; repair or remove the row", bad.column, bad.reason)
                .into(),
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

/// The Parquet library meets some kinds of damage with a failed assertion; for a user a damaged file is an error like
/// any other. The reader ends with the error, so the library's object is not used again.
fn unless_it_panics<T>(
    action: impl FnOnce() -> Result<T, ParquetError>,
) -> Result<T, ParquetError> {
    panics::caught(action).unwrap_or_else(|message| Err(ParquetError::General(message)))
}

/// The library's refusal, in words that say what to do; rows before `row` were read.
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

/// Returns whether the page budget is behind an error, which Arrow wraps once more.
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
