//! # heimdall-replay
//!
//! Logs of the replayers of FlashNet and Heimdall about the requests they have replayed.
//!
//! **A line** has commas between seven fields; there is no header:
//!
//! ```text
//! 59.973,110,0,4096,8427704320,60.031,4096
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | time | milliseconds from the start, when the request was due |
//! | latency | microseconds; ignored |
//! | type | `0` writes, `1` reads |
//! | size | bytes |
//! | offset | bytes |
//! | submission | milliseconds from the start; ignored |
//! | result | bytes that were transferred, negative when it failed; ignored |
//!
//! - 64 threads write a line each time a request completes. So the requests are **put back into
//!   the order of the first field**; equal times keep the order of the lines. A request is moved back
//!   over at most 262,144 others; if it belongs even earlier, it comes late and a note counts it.
//! - The times were held in 32 bits: after an hour they are multiples of 0.25 ms.
//! - A log may end in the middle of a run, because the last buffer was never written.
//! - The times are checked for plausibility.
//!
//! **Skipped**: blank lines, silently. Every other line that is not a request is counted as
//! malformed.
//!
//! **Source**: Kurniawan and others: Heimdall, EuroSys 2025, and its repository.

use crate::decode::fields::CommaFields;
use crate::decode::lines::{self, Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::reorder::Reordered;
use crate::decode::scan;
use crate::decode::time_check::TimeUnit;
use crate::error::TraceError;
use crate::format::{Decoder, Format};
use crate::request::{Op, Request};
use crate::source::Source;
use crate::source::evidence::Evidence;
use crate::source::sample::Sample;
use crate::write::target::{Decimal, Entry, Target, TimeField, append};

pub(super) const FORMAT: Format = Format {
    doubt,
    open,
    stream_noun: "stream",
    targets: TARGETS,
    ..Format::text::<HeimdallReplay>(
        "heimdall-replay",
        "`59.973,110,0,4096,8427704320,60.031,4096`: replay logs of FlashNet and Heimdall",
        include_str!("heimdall_replay.rs"),
    )
};

const TARGETS: &[Target] = &[Target {
    time: Some(TimeField::NANOSECONDS.counted_from_start()),
    orders_by_time: true,
    made_up: Some("latencies are written as 0 and each submission at the time it was due"),
    ..Target::new("heimdall-replay", write_entry)
}];

fn open(source: &mut Source, output: &mut Output) -> Result<Box<dyn Decoder>, TraceError> {
    Ok(Box::new(Reordered::new(lines::open::<HeimdallReplay>(source, output)?)))
}

const MILLISECOND_NS: u64 = 1_000_000;

/// Seven numbers may be anything; but what a request returned is its size, nearly always.
fn doubt(sample: &Sample) -> Option<String> {
    let table = Evidence::between_commas(sample);
    let sizes: Vec<_> = table.fields(4).collect();
    let returned: Vec<_> = table.fields(7).collect();
    let equal = sizes.iter().zip(&returned).filter(|(size, returned)| size == returned).count();
    (2 * equal <= sizes.len())
        .then(|| format!("field 7 is the size in field 4 in {equal} of {} lines", sizes.len()))
}

#[derive(Default)]
struct HeimdallReplay;

impl LineFormat for HeimdallReplay {
    const TIME_UNIT: Option<TimeUnit> = Some(TimeUnit::of_recordings("milliseconds"));

    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        if scan::after_blanks(line).is_empty() {
            return Ok(Line::Passed);
        }
        let mut fields = CommaFields::new(line);
        let time_ns = fields.time_ns(MILLISECOND_NS).ok_or("has no milliseconds in field 1")?;
        fields.decimal().ok_or("has no decimal latency in field 2")?;
        let op = match fields.next() {
            Some(b"0") => Op::Write,
            Some(b"1") => Op::Read,
            _ => return Err("has no type 0 or 1 in field 3".into()),
        };
        let size_bytes = fields.decimal().ok_or("has no decimal size in field 4")?;
        let address = fields.decimal().ok_or("has no decimal offset in field 5")?;
        fields.time_ns(MILLISECOND_NS).ok_or("has no milliseconds in field 6")?;
        if fields.plain_decimal().is_none() {
            let result = fields.next().map(|field| field.strip_prefix(b"-").unwrap_or(field));
            result.and_then(scan::decimal).ok_or("has no decimal result in field 7")?;
        }
        fields.end().ok_or("does not end after the result in field 7")?;
        output.request_of(size_bytes, Request::new(op, address, 0).at(time_ns))?;
        Ok(Line::Taken)
    }
}

fn write_entry(entry: &Entry, line: &mut Vec<u8>) -> Result<(), &'static str> {
    let time = Decimal { time_ns: entry.time_ns, unit_ns: MILLISECOND_NS, decimals: 3 };
    let (kind, Entry { address, bytes, .. }) = (u8::from(entry.op == Op::Read), entry);
    append(line, format_args!("{time},0,{kind},{bytes},{address},{time},{bytes}\n"))
}
