//! # mqsim
//!
//! Block traces in the ASCII format of the SSD simulators MQSim and SSDSim.
//!
//! **A line** has blanks between five fields:
//!
//! ```text
//! 4851300 1 524288 16 0
//! 4864300 1 524304 16 1
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | arrival | nanoseconds, a whole number |
//! | device | a number: the stream |
//! | address | sectors of 512 bytes |
//! | size | sectors of 512 bytes |
//! | type | `0` writes, `1` reads |
//!
//! - The formats disksim and heimdall-raw have the same columns in other units, so such a file is
//!   not recognized: name the format.
//! - The times are checked for plausibility: some traces in this format hold microseconds
//!   (DTRS1K) or scaled times (DTRS100M).
//!
//! **Skipped**: blank lines, silently. Every other line that is not a request is counted as
//! malformed.
//!
//! **Source**: Tavakkol and others: MQSim, FAST 2018, and its repository.

use crate::decode::fields::BlankFields;
use crate::decode::lines::{Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::decode::time_check::TimeUnit;
use crate::decode::units;
use crate::format::Format;
use crate::request::Op;
use crate::source::evidence::Evidence;
use crate::source::sample::Sample;
use crate::write::target::{Entry, Target, append};

pub(super) const FORMAT: Format = Format::text::<MqSim>(
    "mqsim",
    "`4851300 1 524288 16 0`: block traces of MQSim and SSDSim (ns, 512-byte sectors, 1 reads)",
    include_str!("mqsim.rs"),
)
.with_streams_of("device")
.written_as(TARGETS)
.doubted_by(doubt);

const TARGETS: &[Target] = &[Target::of_sectors("mqsim", write_entry)];

fn doubt(sample: &Sample) -> Option<String> {
    Evidence::between_blanks(sample).does_not_rise(1)
}

#[derive(Default)]
struct MqSim;

impl LineFormat for MqSim {
    const TIME_UNIT: Option<TimeUnit> = Some(TimeUnit::of_recordings("nanoseconds"));

    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        if scan::after_blanks(line).is_empty() {
            return Ok(Line::Passed);
        }
        let mut fields = BlankFields::new(line);
        let time_ns = fields.decimal().ok_or("has no whole nanoseconds in field 1")?;
        let device = fields.decimal().ok_or("has no decimal device in field 2")?;
        let sector = fields.decimal().ok_or("has no decimal sector in field 3")?;
        let sectors = fields.decimal().ok_or("has no decimal number of sectors in field 4")?;
        let op = match fields.next() {
            Some(b"0") => Op::Write,
            Some(b"1") => Op::Read,
            _ => return Err("has no type 0 or 1 in field 5".into()),
        };
        fields.end().ok_or("does not end after the type in field 5")?;
        units::request(output, op, device, [sector, sectors], time_ns)?;
        Ok(Line::Taken)
    }
}

fn write_entry(entry: &Entry, line: &mut Vec<u8>) -> Result<(), &'static str> {
    let (sector, sectors) = units::sectors(entry);
    let (time_ns, device, kind) = (entry.time_ns, entry.stream, u8::from(entry.op == Op::Read));
    append(line, format_args!("{time_ns} {device} {sector} {sectors} {kind}\n"))
}
