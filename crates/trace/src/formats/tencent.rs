//! # tencent
//!
//! Block traces of Tencent Cloud: ten days of thousands of volumes, from the SNIA IOTTA
//! repository.
//!
//! **A line** has commas between five fields; there is no header:
//!
//! ```text
//! 1538323200,12910952,128,0,1063
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | time | seconds since 1970-01-01 |
//! | offset | sectors of 512 bytes |
//! | size | sectors of 512 bytes |
//! | type | `0` reads, `1` writes: the reverse of the simulators' formats |
//! | volume | a number: the stream |
//!
//! - Times are given in nanoseconds since 1970-01-01; all requests of one second have one time.
//!
//! **Skipped**: blank lines, silently. Every other line that is not a request is counted as
//! malformed.
//!
//! **Source**: Zhang and others: OSCA, an Online-Model Based Cache Allocation Scheme in Cloud Block
//! Storage Systems, USENIX ATC 2020, and the README of the trace set.

use crate::decode::fields::CommaFields;
use crate::decode::lines::{Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::decode::units;
use crate::format::Format;
use crate::request::Op;
use crate::source::evidence::Evidence;
use crate::source::sample::Sample;
use crate::write::target::{Entry, Extent, StreamField, Target, TimeField, append};

pub(super) const FORMAT: Format = Format::text::<Tencent>(
    "tencent",
    "`1538323200,12910952,128,0,1063`: block traces of Tencent Cloud",
    include_str!("tencent.rs"),
)
.with_streams_of("volume")
.written_as(TARGETS)
.doubted_by(doubt);

const TARGETS: &[Target] = &[Target {
    extent: Extent::SECTORS,
    time: Some(TimeField::SECONDS),
    streams: StreamField::NUMBERS,
    ..Target::new("tencent", write_entry)
}];

const SECOND_NS: u64 = 1_000_000_000;

/// Any five numbers with commas look like this but for the seconds and the sizes.
fn doubt(sample: &Sample) -> Option<String> {
    const SECTORS_OF_A_BLOCK: u64 = 8;
    let table = Evidence::between_commas(sample);
    let one_kind = (table.lines() > 1 && table.distinct(4) < 2)
        .then(|| "field 4 has one value alone, so that it need not be an operation".to_owned());
    table
        .not_of_these_years(1)
        .or(one_kind)
        .or_else(|| table.not_multiples(3, SECTORS_OF_A_BLOCK, "sizes"))
        .or_else(|| table.does_not_rise(1))
}

#[derive(Default)]
struct Tencent;

impl LineFormat for Tencent {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        if scan::after_blanks(line).is_empty() {
            return Ok(Line::Passed);
        }
        let mut fields = CommaFields::new(line);
        let time_ns = fields.time_ns(SECOND_NS).ok_or("has no seconds in field 1")?;
        let sector = fields.decimal().ok_or("has no decimal sector in field 2")?;
        let sectors = fields.decimal().ok_or("has no decimal number of sectors in field 3")?;
        let op = match fields.next() {
            Some(b"0") => Op::Read,
            Some(b"1") => Op::Write,
            _ => return Err("has no type 0 or 1 in field 4".into()),
        };
        let volume = fields.decimal().ok_or("has no decimal volume in field 5")?;
        fields.end().ok_or("does not end after the volume in field 5")?;
        units::request(output, op, volume, [sector, sectors], time_ns)?;
        Ok(Line::Taken)
    }
}

fn write_entry(entry: &Entry, line: &mut Vec<u8>) -> Result<(), &'static str> {
    let (time_s, volume) = (entry.time_ns / SECOND_NS, entry.stream);
    let (sector, sectors) = units::sectors(entry);
    let kind = u8::from(entry.op == Op::Write);
    append(line, format_args!("{time_s},{sector},{sectors},{kind},{volume}\n"))
}
