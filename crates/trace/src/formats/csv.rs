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
//! **Skipped**: blank lines and comments, silently. Every other line that is not a request is counted as
//! malformed.

use csv_core::{ReadRecordResult, Reader};
use memchr::memchr;

use crate::columns::{Columns, Role, Streams, TimeColumn};
use crate::format::{Confidence, Format};
use crate::labels;
use crate::lines::{Line, LineFormat};
use crate::output::{Fault, Output};
use crate::request::{Op, Request};
use crate::sample::{Sample, quoted};
use crate::scan;
use crate::target::{Entry, Head, StreamField, Target, TimeField, append, letter};
use crate::view::RecordClass;

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

/// A header that names an operation and a place is a mark of its own; columns that are refused
/// count too, so that the user is told what is wrong with them.
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
    /// What the fields of a line are for, in their order; none if lines are not taken as plain.
    plain: Vec<Use>,
    fields: Fields,
    streams: Streams,
}

/// What a field is for.
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
        let op = scan::op(field(columns.op)).ok_or_else(|| not_an_op(field(columns.op)))?;
        let address = scan::decimal_or_hex(field(columns.address))
            .ok_or("has no address that is a decimal or 0x number of 64 bits")?;
        let size = match columns.size {
            Some(index) => scan::decimal_or_hex(field(index))
                .ok_or("has no size that is a decimal or 0x number")?,
            None => 1,
        };
        let bytes = u32::try_from(size).map_err(|_| "has a size above 4294967295 bytes")?;
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
        output.request(Request { op, address, bytes, stream, time_ns, class })?;
        Ok(Line::Taken)
    }
}

fn header(fields: &Fields, output: &mut Output) -> Result<Columns, Fault> {
    let names = fields.iter().map(String::from_utf8_lossy);
    let mut columns = Columns::find(names, &mut output.report).map_err(Fault::Trace)?;
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

#[cold]
fn not_an_op(field: &[u8]) -> Fault {
    match field {
        b"0" | b"1" => "has the operation 0 or 1, which formats use both ways; write R or W".into(),
        _ => format!("has the operation {}, which is none of R, W, read, write", quoted(field))
            .into(),
    }
}

/// The fields of one line, unquoted; the buffers are kept from line to line.
struct Fields {
    splitter: Reader,
    text: Vec<u8>,
    ends: Vec<usize>,
    count: usize,
}

impl Default for Fields {
    fn default() -> Self {
        Self { splitter: Reader::new(), text: Vec::new(), ends: Vec::new(), count: 0 }
    }
}

impl Fields {
    fn split(&mut self, line: &[u8]) {
        if memchr(b'"', line).is_none() {
            self.split_unquoted(line);
        } else {
            self.split_quoted(line);
        }
    }

    /// Most lines have no quotes, and splitting them at their commas is several times as fast.
    fn split_unquoted(&mut self, line: &[u8]) {
        self.text.clear();
        self.ends.clear();
        for field in line.split(|&byte| byte == b',') {
            self.text.extend_from_slice(field);
            self.ends.push(self.text.len());
        }
        self.count = self.ends.len();
    }

    fn split_quoted(&mut self, line: &[u8]) {
        self.splitter.reset();
        // Unquoted text is never longer than the line, nor has it more fields than that and one.
        self.text.resize(line.len() + 1, 0);
        self.ends.resize(line.len() + 1, 0);
        let (mut input, mut text_length) = (line, 0);
        self.count = 0;
        loop {
            let (result, taken, written, ended) = self.splitter.read_record(
                input,
                &mut self.text[text_length..],
                &mut self.ends[self.count..],
            );
            input = &input[taken..];
            text_length += written;
            self.count += ended;
            match result {
                // An empty input after the line's last byte tells the splitter that the record is
                // over.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.text.resize(2 * self.text.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::Record | ReadRecordResult::End => return,
            }
        }
    }

    fn len(&self) -> usize {
        self.count
    }

    fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start..self.ends[index]]
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.count).map(|index| self.get(index))
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
