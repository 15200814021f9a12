//! # csv
//!
//! A table with a header line and comma-separated columns, for traces that you make yourself.
//!
//! ```text
//! op,address,size,time_us,stream
//! R,4096,512,0,sda
//! write,0x2000,4096,12.5,sdb
//! ```
//!
//! | column | also named | values |
//! |---|---|---|
//! | `op` | `operation`, `rw` | `R`, `W`, `read`, `write`; `0` and `1` are refused, because formats disagree on which is which |
//! | `address` | `addr`, `offset`, `byte_addr`, `byte_offset` | bytes, decimal or `0x` hexadecimal |
//! | `size` (optional) | `bytes`, `length`, `len`, `byte_len` | bytes, decimal or `0x` hexadecimal; without the column each request touches 1 byte |
//! | `time_ns`, `time_us`, `time_ms` or `time_s` (optional) | | decimal, from any origin; digits below a nanosecond are cut |
//! | `stream` (optional) | `stream_id`, `device`, `volume`, `disk` | a number, or a name: see below |
//! | `class` (optional) | | why a cache let it through: `I` fetch, `R` load miss, `A` store-miss fill, `W` write-back; `--view` makes reads and writes of it |
//!
//! - Case does not matter in column names and operations; columns may come in any order; quotes are
//!   those of RFC 4180, but a field cannot span lines.
//! - Columns named `lba`, `block` or `sector` are refused because their unit is unknown: convert
//!   them to a byte address.
//! - If the first `stream` is a number then all must be, and each is its own stream number.
//!   Otherwise all are names, numbered in the order of their appearance.
//! - Lines before the header that begin with `#` are comments; one such as `# synthetic: zipf` is a
//!   label, which `clockhand trace info` shows.
//! - Other columns are ignored, and so is a `time` or `timestamp` without a unit; `clockhand trace
//!   info` names them.
//!
//! - Operations may also be what Linux writes: `RA`, `WS`, `WFS` and so on read and write; `D`, `F`, `N` do neither.
//!
//! ## The columns of any table
//!
//! A table in text that has other columns is read by naming them: `--trace-format csv:KEY=VALUE,…`, in Python
//! `Trace(path, format="csv:…")` or a mapping of the same keywords, in an experiment `trace_format`.
//!
//! ```text
//! csv:sep=;,header=yes,op=cmd,address=lba*512,size=nsect*512,time=when_ms:ms,stream=vm,read=R|RD|0,write=W|WS|1
//! ```
//!
//! | key | value |
//! |---|---|
//! | `sep` | one character such as `;`, or `comma` (if not given), `tab`, `blank` (any number of blanks) |
//! | `header` | `yes` or `no`: whether the first line names the columns; it does if a column is given by name |
//! | `skip` | lines in front of all that |
//! | `address` | the column of the place |
//! | `object` | in its place: the column of a key, for the traces of key-value stores |
//! | `op` | the column of the operation, or `=read` or `=write` for all; without it `--assume-reads` is needed |
//! | `size` | the column of the size, or a size for all such as `=4KiB`; 1 byte if not given |
//! | `time` | the column of the time with its unit: `:s`, `:ms`, `:us`, `:ns` or `:100ns` |
//! | `stream` | the column of the device; several with `+` between them |
//! | `ttl` | the column of the lifetime of an object, with its unit |
//! | `read`, `write`, `delete`, `discard`, `ignore` | words of the operation with `|` between them; without them `R`, `W`, `read`, `write` and Linux's letters |
//!
//! - A column is its name or its number from 1. A name with one of `,*:+="'|` stands in quotes, and so does a number that is
//!   a name.
//! - `*512` or `*4KiB` behind a column multiplies, `:hex` reads digits without `0x` as hexadecimal: `address=blk:hex*4096`.
//! - An object is a block of 4096 bytes, whatever its size, and lives for ever. `clockhand filecache` gives it as many
//!   blocks as it has, and heeds deletes and lifetimes. Its operations may also be `get`, `set`, `add`, `delete` and so on.
//!   A key that is no number is known by a hash of 64 bits.
//! - Where commas do not separate fields, a time may have one for its point. Times in exponents are read; one that is
//!   below zero or missing is that of the request before, counted in a note.
//! - The error about a table that no format fits offers this line, filled in as far as the table allows; `clockhand trace
//!   info` shows the first requests as they are understood.
//!
//! **Skipped**: blank lines and comments, silently. Every other line that is not a request is counted as
//! malformed.

mod fields;
mod named;
mod notation;
mod offer;

use crate::decode::columns::{Columns, Role, Streams, TimeColumn};
use crate::decode::labels;
use crate::decode::lines::{self, Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::error::TraceError;
use crate::format::{Confidence, Decoder, Format};
use crate::processor::view::RecordClass;
use crate::request::{Op, Request};
use crate::source::Source;
use crate::source::sample::{Sample, quoted};
use crate::write::target::{Entry, Head, StreamField, Target, TimeField, append, letter};
use fields::Fields;
use named::Named;
use notation::{Meaning, Notation, usual_meaning};
pub(crate) use offer::offer;

pub(super) const FORMAT: Format = Format {
    sniff,
    stream_noun: "stream",
    targets: TARGETS,
    ..Format::text::<Csv>(
        "csv",
        "a table with a header: op, address and optionally size, time, stream",
        include_str!("csv.rs"),
    )
};

const TARGETS: &[Target] = &[Target {
    time: Some(TimeField::OPTIONAL),
    streams: StreamField::NumbersOrNames {
        given: quoted_name,
        numbered: |stream| format!("stream {stream}"),
    },
    keeps_labels: true,
    ..Target::new("csv", write_entry)
}
.with_head(write_head)];

/// A header that names an operation and a place is a mark of its own; columns that are refused count too, so that the
/// user learns what is wrong with them.
fn sniff(sample: &Sample) -> Confidence {
    let Some(header) = sample.lines().find(|line| !line.is_empty() && !line.starts_with(b"#"))
    else {
        return Confidence::Unfit;
    };
    let mut fields = Fields::default();
    fields.split(header);
    let roles: Vec<_> =
        fields.iter().map(|name| Role::of(&String::from_utf8_lossy(name))).collect();
    let names_a_place = roles.iter().any(|role| matches!(role, Role::Address | Role::UnitUnknown));
    if roles.contains(&Role::Op) && names_a_place { Confidence::Certain } else { Confidence::Unfit }
}

/// Reads the header first, then requests.
#[derive(Default)]
struct Csv {
    columns: Option<Columns>,
    /// The use of a line's fields, in their order; none if lines are not taken as plain.
    plain: Vec<Use>,
    fields: Fields,
    streams: Streams,
}

/// The use of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Op,
    Address,
    Size,
    Time { unit_ns: u64 },
    Stream,
    Nothing,
}

impl Use {
    /// Of each column of a header; none if there are classes.
    fn of_columns(columns: &Columns) -> Vec<Use> {
        let mut uses = vec![Use::Nothing; columns.count];
        uses[columns.op] = Use::Op;
        uses[columns.address] = Use::Address;
        columns.size.into_iter().for_each(|index| uses[index] = Use::Size);
        columns.stream.into_iter().for_each(|index| uses[index] = Use::Stream);
        if let Some(TimeColumn { index, unit_ns: Some(unit_ns) }) = columns.time {
            uses[index] = Use::Time { unit_ns };
        }
        if columns.class.is_some() { Vec::new() } else { uses }
    }
}

/// The request of a plain line, without its stream, and the field of the stream; `None` for a line that is not plain.
///
/// Nearly all lines are: no quotes, no blanks, R or W, decimal numbers. They are read in one go, field by field, in a
/// third of the time.
#[inline]
fn plain_request<'a>(uses: &[Use], line: &'a [u8]) -> Option<(Request, Option<&'a [u8]>)> {
    let mut request = Request::new(Op::Read, 0, 1);
    let mut stream = None;
    let mut rest = line;
    for (index, &wanted) in uses.iter().enumerate() {
        if index > 0 {
            rest = rest.strip_prefix(b",")?;
        }
        match wanted {
            Use::Op => match rest {
                [b'R', after @ ..] => rest = after,
                [b'W', after @ ..] => (request.op, rest) = (Op::Write, after),
                _ => return None,
            },
            Use::Address => (request.address, rest) = scan::leading_decimal(rest)?,
            Use::Size => {
                let (size, after) = scan::leading_decimal(rest)?;
                (request.bytes, rest) = (u32::try_from(size).ok()?, after);
            }
            Use::Time { unit_ns } => {
                let (time, after) = scan::leading_decimal(rest)?;
                (request.time_ns, rest) = (Some(time.checked_mul(unit_ns)?), after);
            }
            Use::Stream | Use::Nothing => {
                let field;
                (field, rest) = scan::leading_plain_field(rest)?;
                stream = if wanted == Use::Stream { Some(field) } else { stream };
            }
        }
    }
    rest.is_empty().then_some((request, stream))
}

impl LineFormat for Csv {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        if !self.plain.is_empty()
            && let Some((request, stream)) = plain_request(&self.plain, line)
        {
            let stream = match stream {
                Some(field) => self.streams.number(field, &mut output.report)?,
                None => 0,
            };
            output.request(Request { stream, ..request })?;
            return Ok(Line::Taken);
        }
        if scan::trimmed(line).is_empty() {
            return Ok(Line::Passed);
        }
        if self.columns.is_none()
            && let Some(comment) = line.strip_prefix(b"#")
        {
            output.report.labels.extend(labels::read(scan::trimmed(comment)));
            return Ok(Line::Passed);
        }
        self.fields.split(line);
        let Some(columns) = &self.columns else {
            let columns = header(&self.fields, output)?;
            self.plain = Use::of_columns(&columns);
            self.columns = Some(columns);
            return Ok(Line::Passed);
        };
        if self.fields.len() != columns.count {
            return Err(format!(
                "has {} fields where the header has {}",
                self.fields.len(),
                columns.count
            )
            .into());
        }
        let field = |index| scan::trimmed(self.fields.get(index));
        let op = match usual_meaning(field(columns.op)) {
            Some(Meaning::Request(op)) => op,
            Some(Meaning::Other(what)) => {
                output.report.pass_over(what);
                return Ok(Line::Passed);
            }
            Some(Meaning::Delete) | None => return Err(not_an_op(field(columns.op))),
        };
        let address = scan::decimal_or_hex(field(columns.address))
            .ok_or("has no address that is a decimal or 0x number of 64 bits")?;
        let size = match columns.size {
            Some(index) => scan::decimal_or_hex(field(index))
                .ok_or("has no size that is a decimal or 0x number")?,
            None => 1,
        };
        let time_ns = match columns.time {
            Some(TimeColumn { index, unit_ns: Some(unit_ns) }) => Some(
                scan::time_ns(field(index), unit_ns)
                    .ok_or("has no time that is a decimal number")?,
            ),
            _ => None,
        };
        let stream = match columns.stream {
            Some(index) => self.streams.number(field(index), &mut output.report)?,
            None => 0,
        };
        let class = match columns.class {
            Some(index) => Some(class(field(index))?),
            None => None,
        };
        output.request_of(size, Request { op, address, bytes: 0, stream, time_ns, class })?;
        Ok(Line::Taken)
    }
}

fn header(fields: &Fields, output: &mut Output) -> Result<Columns, Fault> {
    let names = fields.iter().map(String::from_utf8_lossy);
    let mut columns =
        Columns::find(names, &mut output.report).map_err(|reason| Fault::Trace(reason.into()))?;
    output.has_classes |= columns.class.is_some();
    if let Some(TimeColumn { index, unit_ns: None }) = columns.time {
        columns.ignore_time(&String::from_utf8_lossy(fields.get(index)), &mut output.report);
    }
    Ok(columns)
}

fn class(field: &[u8]) -> Result<RecordClass, Fault> {
    let class = std::str::from_utf8(field).ok().and_then(RecordClass::of_letter);
    Ok(class.ok_or_else(|| format!("has the class {}, none of I, R, A, W", quoted(field)))?)
}

/// Opens a table whose columns its user names: the text behind `csv:`.
pub(crate) fn open_named(
    notation: &str,
    source: &mut Source,
    output: &mut Output,
) -> Result<Box<dyn Decoder>, TraceError> {
    let notation =
        Notation::parse(notation).map_err(|reason| TraceError::ColumnsOfText { reason })?;
    if notation.op.is_none() && !output.assume_reads {
        return Err(TraceError::NoOperationColumn { file: source.file().to_owned() });
    }
    lines::open_as(Named::new(notation, output), source, output)
}

#[cold]
fn not_an_op(field: &[u8]) -> Fault {
    match field {
        b"0" | b"1" => "has the operation 0 or 1, which formats use both ways; write R or W".into(),
        _ => format!("has the operation {}, which is none of R, W, read, write", quoted(field))
            .into(),
    }
}

fn write_head(head: &Head, text: &mut Vec<u8>) {
    for label in head.labels {
        text.extend_from_slice(b"# ");
        labels::write(label, text);
    }
    text.extend_from_slice(b"op,address,size,stream");
    text.extend_from_slice(if head.has_times { b",time_ns\n" } else { b"\n" });
}

/// The name of a stream as a field; `None` if it could be taken for a number, or if a line cannot
/// hold it.
fn quoted_name(name: &str) -> Option<String> {
    let is_number = scan::decimal(name.as_bytes()).is_some();
    let fits = !is_number && name.trim() == name && !name.contains(['\n', '\r']);
    fits.then(|| match name.contains([',', '"']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.to_owned(),
    })
}

fn write_entry(entry: &Entry, line: &mut Vec<u8>) -> Result<(), &'static str> {
    let (op, Entry { address, bytes, stream_name, .. }) = (letter(entry.op), entry);
    append(line, format_args!("{op},{address},{bytes},{stream_name}"))?;
    if entry.has_time {
        append(line, format_args!(",{}", entry.time_ns))?;
    }
    append(line, format_args!("\n"))
}
