//! # spc
//!
//! Block traces in the format of the Storage Performance Council, as in the UMass trace repository:
//! Financial1, Financial2 and WebSearch1 to 3.
//!
//! **A line** has commas between five fields:
//!
//! ```text
//! 0,303567,3584,w,0.000000
//! 1,55590,3072,w,0.026214
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | application-specific unit (ASU) | a number: the stream, because block addresses are within one ASU |
//! | address | blocks of 512 bytes |
//! | size | bytes, not always a multiple of 512 |
//! | operation | `R` or `W` in either case |
//! | time | seconds from the start of the trace |
//!
//! - Further fields are optional in the format and are ignored.
//! - Slices without the ASU, as some courses hand them out, are malformed: their units would be
//!   guessed.
//!
//! **Skipped**: blank lines, silently. Every other line that is not a request is counted as
//! malformed.
//!
//! **Source**: SPC Trace File Format Specification, revision 1.0.1.

use crate::decode::fields::CommaFields;
use crate::decode::lines::{Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::decode::units::{self, SECTOR_BYTES};
use crate::format::Format;
use crate::request::Request;
use crate::source::evidence::Evidence;
use crate::source::sample::Sample;
use crate::write::target::{
    Decimal, Entry, Extent, StreamField, Target, TimeField, append, letter,
};

pub(super) const FORMAT: Format = Format::text::<Spc>(
    "spc",
    "`0,303567,3584,w,0.026214`: block traces Financial and WebSearch of the UMass repository",
    include_str!("spc.rs"),
)
.with_streams_of("ASU")
.written_as(TARGETS)
.doubted_by(doubt);

const TARGETS: &[Target] = &[Target {
    extent: Extent::FROM_SECTORS,
    time: Some(TimeField::NANOSECONDS.counted_from_start()),
    streams: StreamField::NUMBERS,
    ..Target::new("spc", write_entry)
}];

/// Five columns, one of which is R or W, are also time, place, size, operation and latency.
fn doubt(sample: &Sample) -> Option<String> {
    let table = Evidence::between_commas(sample);
    table
        .rises_like_a_time(1, "an ASU")
        .or_else(|| table.not_multiples(3, SECTOR_BYTES, "sizes"))
        .or_else(|| table.are_bytes(2))
        .or_else(|| table.does_not_rise(5))
}

#[derive(Default)]
struct Spc;

impl LineFormat for Spc {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        if scan::after_blanks(line).is_empty() {
            return Ok(Line::Passed);
        }
        let mut fields = CommaFields::new(line);
        let stream = fields.decimal().ok_or("has no decimal unit (ASU) in field 1")?;
        let sector = fields.decimal().ok_or("has no decimal block address in field 2")?;
        let size_bytes = fields.decimal().ok_or("has no decimal size in field 3")?;
        let op = fields.next().and_then(scan::op).ok_or("has no R or W in field 4")?;
        let time_ns = fields.time_ns(SECOND_NS).ok_or("has no time in seconds in field 5")?;
        let address = sector
            .checked_mul(SECTOR_BYTES)
            .ok_or("begins past the end of the 64-bit address space")?;
        let stream = units::stream(stream)?;
        output
            .request_of(size_bytes, Request::new(op, address, 0).in_stream(stream).at(time_ns))?;
        Ok(Line::Taken)
    }
}

const SECOND_NS: u64 = 1_000_000_000;

fn write_entry(entry: &Entry, line: &mut Vec<u8>) -> Result<(), &'static str> {
    let time = Decimal { time_ns: entry.time_ns, unit_ns: SECOND_NS, decimals: 6 };
    let sector = entry.address / SECTOR_BYTES;
    let (op, Entry { bytes, stream, .. }) = (letter(entry.op), entry);
    append(line, format_args!("{stream},{sector},{bytes},{op},{time}\n"))
}
