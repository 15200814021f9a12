//! Errors of traces; each message is one sentence with the place and the remedy.

mod sentences;

use std::io;

use clockhand_quantity::{Sentence, Text};

use crate::memory_limit::limit_text;

/// Why a trace cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The run was cancelled.
    #[error("interrupted; nothing was written")]
    Interrupted,
    /// This study cannot keep its data in scratch files.
    #[error("{}", self.sentence())]
    NoScratch,
    /// There is no input to a conversion.
    #[error("{}", self.sentence())]
    NothingToConvert,
    /// There is no such file.
    #[error("{file}: there is no such file; check the path")]
    NotFound {
        /// The path as it was given.
        file: String,
    },
    /// The path names a directory.
    #[error("{file}: this is a directory; name one trace file inside it")]
    Directory {
        /// The path as it was given.
        file: String,
    },
    /// The operating system refused to read or write.
    #[error(
        "{file}: {doing} failed at byte {byte}: {source}; check the file, its permissions and the disk"
    )]
    Io {
        /// The path as it was given.
        file: String,
        /// `opening`, `creating`, `reading` or `writing`.
        doing: &'static str,
        /// The number of stored bytes that were read or written before.
        byte: u64,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file has no byte.
    #[error("{file}: the file is empty; give a file that holds requests")]
    EmptyFile {
        /// The path as it was given.
        file: String,
    },
    /// The file was read to its end and held no request.
    #[error(
        "{file}: no request in {records} {format} records, of which {zero_size} had size 0{left_out}; give a trace with \
         requests"
    )]
    NoRequest {
        /// The path as it was given.
        file: String,
        /// The format it was read as.
        format: &'static str,
        /// Lines or binary records that were read.
        records: u64,
        /// Requests that were skipped because their size is 0.
        zero_size: u64,
        /// What was left out, if anything was.
        left_out: String,
    },
    /// The format that was asked for does not exist.
    #[error("{}", self.sentence())]
    UnknownFormat {
        /// The name that was asked for.
        name: String,
        /// The nearest name that exists, when one is near.
        nearest: Option<&'static str>,
        /// All names that exist.
        known: String,
    },
    /// No known format fits.
    #[error("{}", self.sentence())]
    Unrecognized {
        /// The path as it was given.
        file: String,
        /// What the first bytes look like.
        looks_like: String,
        /// All names that exist.
        known: String,
        /// The text that would name the columns, if it is a table.
        offer: Option<String>,
    },
    /// Several formats fit equally well.
    #[error("{}", self.sentence())]
    Ambiguous {
        /// The path as it was given.
        file: String,
        /// The names of the formats that fit.
        candidates: String,
        /// The first request as each of them reads it.
        readings: String,
    },
    /// A format fits that has no mark, and something speaks against it.
    #[error("{}", self.sentence())]
    Doubtful {
        /// The path as it was given.
        file: String,
        /// The names of the formats that fit, each with what speaks against it.
        doubts: String,
        /// The text that would name the columns, if it is a table.
        offer: Option<String>,
    },
    /// The notation that names columns makes no sense.
    #[error("{}", self.sentence())]
    ColumnsOfText {
        /// What is wrong with it and what to write.
        reason: String,
    },
    /// Columns were named and none is that of operations.
    #[error("{}", self.sentence())]
    NoOperationColumn {
        /// The path as it was given.
        file: String,
    },
    /// A binary file was given as a text format.
    #[error(
        "{file}: {format} is a text format and this looks like {looks_like}; name another format or leave it out"
    )]
    NotText {
        /// The path as it was given.
        file: String,
        /// The format that was asked for.
        format: &'static str,
        /// What the first bytes look like.
        looks_like: String,
    },
    /// The compressed data stops before its end mark.
    #[error(
        "{file}: the {compression} data ends in the middle, after byte {byte}; copy or download the file again"
    )]
    CutCompressed {
        /// The path as it was given.
        file: String,
        /// `gz`, `xz`, `zstd` or `bz2`.
        compression: &'static str,
        /// Stored bytes before the cut.
        byte: u64,
    },
    /// The compressed data is damaged.
    #[error(
        "{file}: damaged {compression} data before byte {byte}: {reason}; copy or download the file again"
    )]
    DamagedCompressed {
        /// The path as it was given.
        file: String,
        /// `gz`, `xz`, `zstd` or `bz2`.
        compression: &'static str,
        /// Stored bytes that were read when the damage showed.
        byte: u64,
        /// What the decompressor said.
        reason: String,
    },
    /// The last line is malformed and has no line end.
    #[error(
        "{file}: the file was cut in line {line}, which has no line end and {reason}; copy or download it again"
    )]
    CutLine {
        /// The path as it was given.
        file: String,
        /// Line number, from 1.
        line: u64,
        /// What is wrong with the line.
        reason: String,
    },
    /// A binary trace stops inside a record or before its end mark.
    #[error(
        "{file}: the {format} trace ends in the middle, after byte {byte}; copy or download the file again"
    )]
    CutRecord {
        /// The path as it was given.
        file: String,
        /// The format it was read as.
        format: &'static str,
        /// Bytes (after decompression) before the cut.
        byte: u64,
    },
    /// A line is longer than any line of a trace.
    #[error(
        "{file}: line {line} is longer than {limit_bytes} bytes; this is not a {format} trace, name its format"
    )]
    LongLine {
        /// The path as it was given.
        file: String,
        /// Line number, from 1.
        line: u64,
        /// The longest line that is read.
        limit_bytes: usize,
        /// The format it was read as.
        format: &'static str,
    },
    /// More lines are malformed than a trace may have.
    #[error("{}", self.sentence())]
    TooManyBadRecords {
        /// The path as it was given.
        file: String,
        /// The format it was read as.
        format: &'static str,
        /// Malformed lines or records.
        skipped: u64,
        /// All lines or records.
        records: u64,
        /// Where the first malformed one stands: `line 7` or `record 7`.
        place: String,
        /// What is wrong with the first one.
        reason: String,
    },
    /// The bytes at one place make the whole trace unreadable.
    #[error("{}", self.sentence())]
    Content {
        /// The path as it was given.
        file: String,
        /// `line 7`, `row 7` or `byte 7`.
        place: String,
        /// What is wrong there and what to do.
        reason: Text,
    },
    /// The page size is not a power of two.
    #[error("{}", self.sentence())]
    PageSize {
        /// The size that was asked for.
        page_bytes: u64,
    },
    /// Reading on would take more memory than it may.
    #[error("{}", self.sentence())]
    TooMuchMemory {
        /// The path as it was given, or `the trace`.
        file: String,
        /// What is too large, as the start of a sentence that ends with the limit.
        what: Text,
        /// What helps but a higher limit.
        remedy: Text,
        /// The limit, with its unit.
        limit: String,
    },
    /// More pages than dense ids can number.
    #[error(
        "the trace touches more than {limit_pages} pages of {page_bytes} bytes; use a larger page size"
    )]
    TooManyPages {
        /// The most pages a view can hold.
        limit_pages: u64,
        /// The page size of the view.
        page_bytes: u64,
    },
    /// A page view was finished before any reference was added.
    #[error("a page view needs at least one reference and got none; give a trace with requests")]
    NoReference,
    /// The shape of a CPU cache is impossible.
    #[error("CPU cache: {reason}")]
    CpuCacheShape {
        /// Which number is wrong and what it must be.
        reason: String,
    },
    /// A CPU cache was asked for in front of a trace that no processor issued.
    #[error(
        "{file}: the CPU cache filter needs a trace of processor accesses and {format} is none; \
         leave the filter out or use one of {fitting}"
    )]
    NoCpuCache {
        /// The path as it was given.
        file: String,
        /// The format it is read as.
        format: &'static str,
        /// The formats the filter can be put behind.
        fitting: String,
    },
    /// A view was asked for of a trace without classes.
    #[error("{}", self.sentence())]
    NoClasses {
        /// The path as it was given.
        file: String,
        /// The format it is read as.
        format: &'static str,
        /// The view.
        view: &'static str,
    },
    /// Anonymous pages were asked for of a trace that does not tell them.
    #[error("{}", self.sentence())]
    NoAddressSpace {
        /// The path as it was given.
        file: String,
    },
    /// The format of the trace has no operations.
    #[error("{}", self.sentence())]
    NoOperations {
        /// The path as it was given.
        file: String,
        /// The format it is read as.
        format: &'static str,
    },
    /// A selection makes no sense.
    #[error("{}", self.sentence())]
    Selection {
        /// What is wrong with it and what to give.
        sentence: Sentence,
    },
    /// A selection leaves no request.
    #[error(
        "{file}: the selection leaves none of the {requests} requests, of which {chosen} have its operation \
         and streams; choose more of them (see: clockhand trace info)"
    )]
    NothingSelected {
        /// The path as it was given.
        file: String,
        /// Requests of the trace.
        requests: u64,
        /// Requests of the operation and the streams that are wanted.
        chosen: u64,
    },
    /// The format to write does not exist or cannot be written.
    #[error("{}", self.sentence())]
    NotWritable {
        /// Which name or ending is wrong, and why.
        reason: Text,
        /// All names that can be written.
        writable: String,
    },
    /// Columns that describe the same requests have different lengths.
    #[error(
        "column {column} has {rows} rows and the addresses have {expected_rows}; give columns of one length"
    )]
    ColumnLength {
        /// The column that differs.
        column: &'static str,
        /// Its rows.
        rows: usize,
        /// The rows of the addresses.
        expected_rows: usize,
    },
    /// A recipe of a synthetic trace makes no sense.
    #[error("{}", self.sentence())]
    Recipe {
        /// What is wrong with which part, and what to do.
        sentence: Sentence,
    },
    /// A request cannot be written.
    #[error("{}", self.sentence())]
    Unwritable {
        /// The file that was being written.
        file: String,
        /// Index of the request, from 0.
        index: u64,
        /// What is wrong with it and what to do.
        reason: Text,
    },
}

impl TraceError {
    /// The error of what would take more memory than the limit; `what` begins a sentence that ends with it.
    pub fn too_much_memory(
        file: &str,
        what: impl Into<Text>,
        remedy: impl Into<Text>,
        limit_bytes: u64,
    ) -> Self {
        Self::TooMuchMemory {
            file: file.to_owned(),
            what: what.into(),
            remedy: remedy.into(),
            limit: limit_text(limit_bytes),
        }
    }

    pub(crate) fn recipe(sentence: impl Into<Sentence>) -> Self {
        Self::Recipe { sentence: sentence.into() }
    }
}
