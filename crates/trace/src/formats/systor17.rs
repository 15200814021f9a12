//! # systor17
//!
//! Block traces of a virtual desktop infrastructure, published at SYSTOR '17, from the SNIA
//! IOTTA repository.
//!
//! **A line** has commas between six fields; the first line is a header:
//!
//! ```text
//! Timestamp,Response,IOType,LUN,Offset,Size
//! 1456135200.013118000,0.000806000,R,4,899056122368,131072
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | time | seconds since 1970-01-01; the last three of nine decimals are meaningless |
//! | response | seconds, may be empty; ignored |
//! | type | `R` or `W`, or empty |
//! | LUN | number of the logical unit: the stream |
//! | offset | bytes |
//! | size | bytes |
//!
//! - Times are given in nanoseconds since 1970-01-01.
//!
//! **Skipped**: blank lines, silently; the header and records with an empty type, counted in a
//! note. Every other line that is not a request is counted as malformed.
//!
//! **Source**: Lee and others: Understanding Storage Traffic Characteristics on Enterprise Virtual
//! Desktop Infrastructure, SYSTOR 2017, and the README of the trace set.

use crate::decode::fields::CommaFields;
use crate::decode::lines::{Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::decode::units;
use crate::format::Format;
use crate::request::Request;
use crate::source::evidence::Evidence;
use crate::source::sample::Sample;
use crate::write::target::{Decimal, Entry, StreamField, Target, TimeField, append, letter};

pub(super) const FORMAT: Format = Format::text::<Systor17>(
    "systor17",
    "`1456135200.013118000,0.000806,R,4,899056122368,131072`: block traces of SYSTOR '17",
    include_str!("systor17.rs"),
)
.with_streams_of("LUN")
.written_as(TARGETS)
.doubted_by(doubt);

const TARGETS: &[Target] = &[Target {
    time: Some(TimeField::NANOSECONDS),
    streams: StreamField::NUMBERS,
    ..Target::new("systor17", write_entry)
}
.with_head(|_, text| text.extend_from_slice(b"Timestamp,Response,IOType,LUN,Offset,Size\n"))];

const SECOND_NS: u64 = 1_000_000_000;

/// The header is a mark; without it the seconds are.
fn doubt(sample: &Sample) -> Option<String> {
    let first = sample.lines().next().unwrap_or_default();
    if first.to_ascii_lowercase().starts_with(b"timestamp") {
        return None;
    }
    Evidence::between_commas(sample).not_of_these_years(1)
}

#[derive(Default)]
struct Systor17;

impl LineFormat for Systor17 {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        if scan::after_blanks(line).is_empty() {
            return Ok(Line::Passed);
        }
        let mut fields = CommaFields::new(line);
        let Some(time_ns) = fields.time_ns(SECOND_NS) else {
            let mut names = CommaFields::new(line);
            if !names.next().is_some_and(|name| name.eq_ignore_ascii_case(b"Timestamp")) {
                return Err("has no seconds in field 1".into());
            }
            output.report.pass_over("header lines");
            return Ok(Line::Passed);
        };
        fields.next().ok_or("has no response time, not even an empty one, in field 2")?;
        let kind = fields.next().ok_or("has no type in field 3")?;
        let unit = fields.decimal().ok_or("has no decimal logical unit in field 4")?;
        let address = fields.decimal().ok_or("has no decimal offset in field 5")?;
        let size_bytes = fields.decimal().ok_or("has no decimal size in field 6")?;
        fields.end().ok_or("does not end after the size in field 6")?;
        if kind.is_empty() {
            output.report.pass_over("records of empty type");
            return Ok(Line::Passed);
        }
        let op = scan::op(kind).ok_or("has a type other than R and W in field 3")?;
        let stream = units::stream(unit)?;
        output
            .request_of(size_bytes, Request::new(op, address, 0).in_stream(stream).at(time_ns))?;
        Ok(Line::Taken)
    }
}

fn write_entry(entry: &Entry, line: &mut Vec<u8>) -> Result<(), &'static str> {
    let time = Decimal { time_ns: entry.time_ns, unit_ns: SECOND_NS, decimals: 9 };
    let (op, Entry { address, bytes, stream, .. }) = (letter(entry.op), entry);
    append(line, format_args!("{time},,{op},{stream},{address},{bytes}\n"))
}
