//! # blkparse
//!
//! What blkparse prints, in its default format, about a block device that blktrace has watched.
//!
//! **A line** has blanks between its fields:
//!
//! ```text
//!   8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]
//!   8,0    3        2     0.000001829   697  G   W 223490 + 8 [kjournald]
//!   8,0    3        3     0.000002197   697  P   N [kjournald]
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | device | major and minor number: the stream, named `8,0` |
//! | processor, sequence | ignored |
//! | time | seconds from the start of the trace |
//! | process | ignored |
//! | action | what happened to the request: `Q` queued, `D` sent to the device, `C` completed … |
//! | RWBS | contains `R` when it reads, `W` when it writes; `D` discards, `N` neither; an `F` in front flushes first, one behind `W` forces unit access |
//! | sector `+` sectors | of 512 bytes; absent if no data is transferred |
//! | name | of the process; ignored |
//!
//! - A request shows in several lines, so **one action is read**: `Q`, what programs asked for, if
//!   it occurs in the first 64 KiB, otherwise `D`, what the device was asked for after merging and
//!   scheduling. A note says which.
//! - Devices that are built on others (dm, md, partitions) show the same request once each; they are
//!   streams of their own.
//!
//! - Discards, flushes and writes that force unit access are events: write buffers take them as TRIM,
//!   FLUSH and FUA, a page cache as discards and syncs of the device. Other commands leave discards and
//!   flushes out, and count them.
//!
//! **Skipped**: blank lines, silently; lines of other actions, requests without data that are no
//! flushes, messages and the summary at the end, counted in a note. Every other line that is not
//! a request is counted as malformed.
//!
//! **Source**: blkparse(1) and blkparse_fmt.c of blktrace.

use crate::columns::Streams;
use crate::error::TraceError;
use crate::event::{Action as EventAction, Event};
use crate::fields::BlankFields;
use crate::format::{Decoder, Format};
use crate::lines::{self, Line, LineFormat};
use crate::output::{Fault, Output};
use crate::request::Op;
use crate::sample::Sample;
use crate::scan;
use crate::source::Source;
use crate::target::{Decimal, Entry, Extent, StreamField, Target, TimeField, append, letter};
use crate::units;

pub(super) const FORMAT: Format = Format {
    open,
    stream_noun: "device",
    targets: TARGETS,
    ..Format::text::<BlkParse>(
        "blkparse",
        "`8,0 3 1 0.000000000 697 Q W 223490 + 8 [kjournald]`: block traces from blktrace and blkparse",
        include_str!("blkparse.rs"),
    )
};

const TARGETS: &[Target] = &[Target {
    extent: Extent::SECTORS,
    time: Some(TimeField::NANOSECONDS),
    streams: StreamField::Names {
        given: |name| is_device(name.as_bytes()).then(|| name.to_owned()),
        numbered: |stream| format!("0,{stream}"),
    },
    made_up: Some("processors and processes are written as 0"),
    ..Target::new("blkparse", write_entry)
}];

fn open(source: &mut Source, output: &mut Output) -> Result<Box<dyn Decoder>, TraceError> {
    let sample = Sample::new(source.head(), source.head_is_all());
    let action =
        if !has_request(&sample, QUEUED) && has_request(&sample, SENT) { SENT } else { QUEUED };
    output.holds_events = true;
    let decoder = lines::open_as(BlkParse::of(Some(action)), source, output)?;
    output.report.notes.push(if action == QUEUED {
        "requests are the lines of action Q, what programs asked for".to_owned()
    } else {
        "requests are the lines of action D, what the device was asked for".to_owned()
    });
    Ok(decoder)
}

type Action = &'static [u8];
const QUEUED: Action = b"Q";
const SENT: Action = b"D";

fn has_request(sample: &Sample, action: Action) -> bool {
    let mut format = BlkParse::of(Some(action));
    let mut output = Output::default();
    sample.lines().any(|line| matches!(format.line(line, &mut output), Ok(Line::Taken)))
}

struct BlkParse {
    /// The action whose lines are requests; both, to recognize the format, without it.
    action: Option<Action>,
    devices: Streams,
    in_summary: bool,
}

impl BlkParse {
    fn of(action: Option<Action>) -> Self {
        Self { action, devices: Streams::of_names(), in_summary: false }
    }

    fn takes(&self, action: &[u8]) -> bool {
        self.action.map_or(action == QUEUED || action == SENT, |taken| taken == action)
    }
}

impl Default for BlkParse {
    fn default() -> Self {
        Self::of(None)
    }
}

impl LineFormat for BlkParse {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        let text = scan::after_blanks(line);
        if text.is_empty() {
            return Ok(Line::Passed);
        }
        self.in_summary |= begins_summary(text);
        if self.in_summary {
            return Ok(passed(output, "lines of the summary"));
        }
        let mut fields = BlankFields::new(text);
        let device = fields.next().filter(|device| is_device(device));
        let device = device.ok_or("has no device such as 8,0 in field 1")?;
        fields.decimal().ok_or("has no decimal processor in field 2")?;
        fields.decimal().ok_or("has no decimal sequence number in field 3")?;
        let time = fields.next().and_then(|field| scan::time_ns(field, 1_000_000_000));
        let time_ns = time.ok_or("has no time in seconds in field 4")?;
        fields.decimal().ok_or("has no decimal process in field 5")?;
        let action = fields.next().ok_or("has no action in field 6")?;
        if !self.takes(action) {
            return Ok(passed(output, "lines of other actions"));
        }
        let kind = fields.next().ok_or("has no RWBS in field 7")?;
        let range = sectors(fields)?;
        let flushes = kind.starts_with(b"F");
        let what = match (what(kind), range) {
            (Some(what), Some(_)) => Some(what),
            _ if flushes => None,
            _ => return Ok(passed(output, "requests without data")),
        };
        let stream = self.devices.number(device, &mut output.report)?;
        let mut tell =
            |action| output.event(Event { object: stream, time_ns: Some(time_ns), action });
        if flushes {
            tell(EventAction::Sync)?;
        }
        let Some((what, (sector, sectors))) = what.zip(range) else { return Ok(Line::Taken) };
        if what == What::Discard {
            let (address, bytes) = units::long_sector_range(sector, sectors)?;
            tell(EventAction::Discard { address, bytes })?;
            return Ok(Line::Taken);
        }
        let (address, bytes) = units::sector_range(sector, sectors)?;
        tell(match what {
            What::ForcedWrite => EventAction::ForcedWrite { address, bytes },
            What::Write => EventAction::Memory { op: Op::Write, address, bytes },
            _ => EventAction::Memory { op: Op::Read, address, bytes },
        })?;
        Ok(Line::Taken)
    }
}

/// What RWBS says beside flushing first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Read,
    Write,
    ForcedWrite,
    Discard,
}

/// What a field such as `FWFS` says behind its first F.
fn what(kind: &[u8]) -> Option<What> {
    let kind = kind.strip_prefix(b"F").unwrap_or(kind);
    match kind {
        _ if kind.contains(&b'D') => Some(What::Discard),
        _ if kind.contains(&b'R') => Some(What::Read),
        _ if kind.contains(&b'W') && kind.contains(&b'F') => Some(What::ForcedWrite),
        _ if kind.contains(&b'W') => Some(What::Write),
        _ => None,
    }
}

fn passed(output: &mut Output, what: &'static str) -> Line {
    output.report.pass_over(what);
    Line::Passed
}

/// The sector and number of sectors behind RWBS; none where a process name or a packet command
/// stands instead.
fn sectors(mut fields: BlankFields) -> Result<Option<(u64, u64)>, Fault> {
    let first = fields.next().ok_or("ends after RWBS in field 7")?;
    if first.starts_with(b"[") || first.starts_with(b"(") {
        return Ok(None);
    }
    let sector = scan::decimal(first).ok_or("has no decimal sector in field 8")?;
    match fields.next() {
        Some(b"+") => {}
        Some(packet) if packet.starts_with(b"(") => return Ok(None),
        _ => return Err("has no + after the sector in field 8".into()),
    }
    let sectors = fields.decimal().ok_or("has no decimal number of sectors after the +")?;
    Ok(Some((sector, sectors)))
}

fn is_device(field: &[u8]) -> bool {
    scan::leading_decimal(field)
        .and_then(|(_, rest)| rest.strip_prefix(b","))
        .and_then(scan::decimal)
        .is_some()
}

/// The summary begins with the first processor, or with the total when there is only one.
fn begins_summary(text: &[u8]) -> bool {
    let is_processor = text.strip_prefix(b"CPU").and_then(scan::leading_decimal).is_some();
    is_processor || text.starts_with(b"Total (")
}

/// A line of action Q, aligned as blkparse aligns it.
fn write_entry(entry: &Entry, line: &mut Vec<u8>) -> Result<(), &'static str> {
    let time = Decimal { time_ns: entry.time_ns, unit_ns: 1_000_000_000, decimals: 9 }.to_string();
    let (sector, sectors) = units::sectors(entry);
    let (op, device, sequence) = (letter(entry.op), entry.stream_name, entry.index + 1);
    append(
        line,
        format_args!(
            "{device:>5}    0 {sequence:>8} {time:>14}     0  Q   {op} {sector} + {sectors} [0]\n"
        ),
    )
}
