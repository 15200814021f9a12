//! # heimdall-raw
//!
//! Block traces as the replayers of FlashNet and Heimdall read them.
//!
//! **A line** has blanks between five fields:
//!
//! ```text
//! 223.412 0 3159347200 36864 0
//! 223.437 0 3154128896 4096 1
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | time | milliseconds from the start of the trace |
//! | device | a number: the stream |
//! | offset | bytes |
//! | size | bytes |
//! | type | `0` writes, `1` reads |
//!
//! - The formats disksim and mqsim have the same columns in other units, so such a file is not
//!   recognized: name the format.
//! - The times are checked for plausibility.
//!
//! **Skipped**: blank lines, silently. Every other line that is not a request is counted as
//! malformed.
//!
//! **Source**: Kurniawan and others: Heimdall, EuroSys 2025, and its repository.

use crate::decode::fields::BlankFields;
use crate::decode::lines::{Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::decode::time_check::TimeUnit;
use crate::decode::units;
use crate::format::Format;
use crate::request::{Op, Request};
use crate::source::evidence::Evidence;
use crate::source::sample::Sample;
use crate::write::target::{Decimal, Entry, StreamField, Target, TimeField, append};

pub(super) const FORMAT: Format = Format::text::<HeimdallRaw>(
    "heimdall-raw",
    "`223.412 0 3159347200 36864 0`: block traces for FlashNet and Heimdall (ms, bytes, 1 reads)",
    include_str!("heimdall_raw.rs"),
)
.with_streams_of("device")
.written_as(TARGETS)
.doubted_by(doubt);

const TARGETS: &[Target] = &[Target {
    time: Some(TimeField::NANOSECONDS.counted_from_start()),
    streams: StreamField::NUMBERS,
    ..Target::new("heimdall-raw", write_entry)
}];

/// Columns that do not fit disksim or mqsim are implausible here too.
fn doubt(sample: &Sample) -> Option<String> {
    let table = Evidence::between_blanks(sample);
    table
        .does_not_rise(1)
        .or_else(|| table.above(3, 1 << 50, "offsets"))
        .or_else(|| table.above(4, 1 << 30, "sizes"))
}

#[derive(Default)]
struct HeimdallRaw;

impl LineFormat for HeimdallRaw {
    const TIME_UNIT: Option<TimeUnit> = Some(TimeUnit::of_recordings("milliseconds"));

    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        let mut fields = BlankFields::new(line);
        let Some(time) = fields.next() else { return Ok(Line::Passed) };
        let time_ns = scan::time_ns(time, 1_000_000).ok_or("has no milliseconds in field 1")?;
        let device = fields.decimal().ok_or("has no decimal device in field 2")?;
        let address = fields.decimal().ok_or("has no decimal offset in field 3")?;
        let size_bytes = fields.decimal().ok_or("has no decimal size in field 4")?;
        let op = match fields.next() {
            Some(b"0") => Op::Write,
            Some(b"1") => Op::Read,
            _ => return Err("has no type 0 or 1 in field 5".into()),
        };
        fields.end().ok_or("does not end after the type in field 5")?;
        let stream = units::stream(device)?;
        output
            .request_of(size_bytes, Request::new(op, address, 0).in_stream(stream).at(time_ns))?;
        Ok(Line::Taken)
    }
}

fn write_entry(entry: &Entry, line: &mut Vec<u8>) -> Result<(), &'static str> {
    let time = Decimal { time_ns: entry.time_ns, unit_ns: 1_000_000, decimals: 3 };
    let (kind, Entry { address, bytes, stream, .. }) = (u8::from(entry.op == Op::Read), entry);
    append(line, format_args!("{time} {stream} {address} {bytes} {kind}\n"))
}
