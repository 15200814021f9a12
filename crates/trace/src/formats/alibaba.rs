//! # alibaba
//!
//! Block traces of Alibaba Cloud: a month of 1,000 volumes.
//!
//! **A line** has commas between five fields; there is no header:
//!
//! ```text
//! 419,W,8792731648,16384,1577808000000046
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | device | number of the volume: the stream |
//! | operation | `R` or `W` |
//! | offset | bytes |
//! | length | bytes |
//! | time | microseconds since 1970-01-01 |
//!
//! - Times are given in nanoseconds since 1970-01-01.
//!
//! **Skipped**: blank lines, silently. Every other line that is not a request is counted as
//! malformed.
//!
//! **Source**: Li and others: An In-Depth Analysis of Cloud Block Storage Workloads in Large-Scale
//! Production, IISWC 2020, and the repository `alibaba/block-traces`.

use crate::decode::fields::CommaFields;
use crate::decode::lines::{Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::decode::units::{self, SECTOR_BYTES};
use crate::format::Format;
use crate::request::Request;
use crate::source::evidence::Evidence;
use crate::source::sample::Sample;
use crate::write::target::{Entry, StreamField, Target, TimeField, append, letter};

pub(super) const FORMAT: Format = Format::text::<Alibaba>(
    "alibaba",
    "`419,W,8792731648,16384,1577808000000046`: block traces of Alibaba Cloud",
    include_str!("alibaba.rs"),
)
.with_streams_of("volume")
.written_as(TARGETS)
.doubted_by(doubt);

const TARGETS: &[Target] = &[Target {
    time: Some(TimeField::MICROSECONDS),
    streams: StreamField::NUMBERS,
    ..Target::new("alibaba", write_entry)
}];

const MICROSECOND_NS: u64 = 1_000;

/// Five columns, one of which is R or W, may have other units.
fn doubt(sample: &Sample) -> Option<String> {
    let table = Evidence::between_commas(sample);
    table
        .rises_like_a_time(1, "a device")
        .or_else(|| table.not_multiples(3, SECTOR_BYTES, "offsets"))
        .or_else(|| table.not_multiples(4, SECTOR_BYTES, "lengths"))
        .or_else(|| table.does_not_rise(5))
}

#[derive(Default)]
struct Alibaba;

impl LineFormat for Alibaba {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        if scan::after_blanks(line).is_empty() {
            return Ok(Line::Passed);
        }
        let mut fields = CommaFields::new(line);
        let device = fields.decimal().ok_or("has no decimal device in field 1")?;
        let op = fields.next().and_then(scan::op).ok_or("has no R or W in field 2")?;
        let address = fields.decimal().ok_or("has no decimal offset in field 3")?;
        let size_bytes = fields.decimal().ok_or("has no decimal length in field 4")?;
        let time_ns = fields.time_ns(MICROSECOND_NS).ok_or("has no microseconds in field 5")?;
        fields.end().ok_or("does not end after the time in field 5")?;
        let stream = units::stream(device)?;
        output
            .request_of(size_bytes, Request::new(op, address, 0).in_stream(stream).at(time_ns))?;
        Ok(Line::Taken)
    }
}

fn write_entry(entry: &Entry, line: &mut Vec<u8>) -> Result<(), &'static str> {
    let time_us = entry.time_ns / MICROSECOND_NS;
    let (op, Entry { address, bytes, stream, .. }) = (letter(entry.op), entry);
    append(line, format_args!("{stream},{op},{address},{bytes},{time_us}\n"))
}
