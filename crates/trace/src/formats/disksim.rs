//! # disksim
//!
//! Block traces in DiskSim's default ASCII format.
//!
//! **A line** has blanks between five fields:
//!
//! ```text
//! 0.000000 5 1048576 8 1
//! 12.754000 5 97712 16 10
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | arrival | milliseconds from the start of the trace |
//! | device | a number: the stream |
//! | address | blocks of 512 bytes |
//! | size | blocks of 512 bytes |
//! | flags | hexadecimal; bit 0 set reads, not set writes; the others are ignored |
//!
//! - The formats heimdall-raw and mqsim have the same columns in other units, so such a file is
//!   not recognized unless its flags fit only here: name the format.
//! - The times are checked for plausibility, because many such traces have been rescaled.
//!
//! **Skipped**: blank lines, silently. Every other line that is not a request is counted as
//! malformed.
//!
//! **Source**: Bucy, Schindler, Schlosser, Ganger: The DiskSim Simulation Environment, version 4.0,
//! reference manual.

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
use crate::write::target::{Decimal, Entry, Target, append};

pub(super) const FORMAT: Format = Format::text::<DiskSim>(
    "disksim",
    "`12.754000 5 97712 16 1`: block traces in DiskSim's ASCII format (ms, 512-byte blocks, 1 reads)",
    include_str!("disksim.rs"),
)
.with_streams_of("device")
.written_as(TARGETS)
.doubted_by(doubt);

const TARGETS: &[Target] = &[Target::of_sectors("disksim", write_entry)];

const FLAG_READ: u64 = 1;

/// Flags that are 0 and 1 alone fit other formats too, which are then candidates; a hexadecimal one is a mark.
fn doubt(sample: &Sample) -> Option<String> {
    let table = Evidence::between_blanks(sample);
    let is_plain = |flags: &[u8]| matches!(flags, b"0" | b"1");
    let is_marked = |flags: &[u8]| scan::decimal(flags).is_none();
    let unmarked = !table.fields(5).all(is_plain) && !table.fields(5).any(is_marked);
    let unmarked = unmarked.then(|| "no flags in field 5 are hexadecimal".to_owned());
    unmarked.or_else(|| table.does_not_rise(1))
}

#[derive(Default)]
struct DiskSim;

impl LineFormat for DiskSim {
    const TIME_UNIT: Option<TimeUnit> = Some(TimeUnit::of_recordings("milliseconds"));

    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        let mut fields = BlankFields::new(line);
        let Some(arrival) = fields.next() else { return Ok(Line::Passed) };
        let time_ns =
            scan::time_ns(arrival, 1_000_000).ok_or("has no arrival in milliseconds in field 1")?;
        let device = fields.decimal().ok_or("has no decimal device in field 2")?;
        let sector = fields.decimal().ok_or("has no decimal block address in field 3")?;
        let sectors = fields.decimal().ok_or("has no decimal number of blocks in field 4")?;
        let flags = fields.next().map(|field| scan::without_hex_prefix(field).unwrap_or(field));
        let flags = flags.and_then(scan::hex).ok_or("has no hexadecimal flags in field 5")?;
        fields.end().ok_or("does not end after the flags in field 5")?;
        let op = if flags & FLAG_READ != 0 { Op::Read } else { Op::Write };
        units::request(output, op, device, [sector, sectors], time_ns)?;
        Ok(Line::Taken)
    }
}

fn write_entry(entry: &Entry, line: &mut Vec<u8>) -> Result<(), &'static str> {
    let time = Decimal { time_ns: entry.time_ns, unit_ns: 1_000_000, decimals: 6 };
    let (sector, sectors) = units::sectors(entry);
    let (device, flags) = (entry.stream, u8::from(entry.op == Op::Read));
    append(line, format_args!("{time} {device} {sector} {sectors} {flags}\n"))
}
