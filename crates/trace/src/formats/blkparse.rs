//! # blkparse
//!
//! The output of blkparse, in its default format, about a block device that blktrace has watched.
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
//! | RWBS | read by place: an `F` in front flushes first; then `R` reads, `W` writes, `D` discards, `ZA` appends to a zone, `ZR` resets one, `N` does neither; an `F` behind `W` forces unit access |
//! | sector `+` sectors | of 512 bytes; absent if no data is transferred |
//! | name | of the process; ignored |
//!
//! - A request shows in several lines, so **one action is read**: the first of `Q` (requests of
//!   programs), `D` (requests to the device after merging and scheduling), `I`, and `C` (completed
//!   requests) that occurs in the first 64 KiB. A note says which.
//! - Devices that are built on others (dm, md) show the same request once each. Lines of action `A` tell when a device
//!   passes a request on: it is counted once, for the upper device, if that is traced too. Without such lines both are
//!   counted, as streams of their own.
//! - A zone append is a write behind the one before it, from the zone's start on; a reset discards the zone. Other
//!   operations on zones are left out.
//! - Several outputs may stand one behind the other.
//!
//! - Discards, flushes and writes that force unit access are events: write buffers take them as TRIM,
//!   FLUSH and FUA, a page cache as discards and syncs of the device. Other commands leave discards and
//!   flushes out, and count them.
//!
//! **Skipped**: blank lines, silently; lines of other actions, requests without data that are not flushes, messages and
//! the summary at the end, counted in a note. Every other line that is not a request is counted as malformed.
//!
//! **Source**: blkparse(1) and blkparse_fmt.c of blktrace.

use crate::decode::block_requests::{Asked, BlockRequest, BlockRequests, StackedDevices, What};
use crate::decode::columns::Streams;
use crate::decode::fields::BlankFields;
use crate::decode::lines::{self, Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::decode::units;
use crate::error::TraceError;
use crate::format::{Decoder, Format};
use crate::report::ReadReport;
use crate::source::Source;
use crate::source::sample::Sample;
use crate::write::target::{Decimal, Entry, StreamField, Target, append, letter};

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
    streams: StreamField::Names {
        given: |name| is_device(name.as_bytes()).then(|| name.to_owned()),
        numbered: |stream| format!("0,{stream}"),
    },
    made_up: Some("processors and processes are written as 0"),
    ..Target::of_sectors("blkparse", write_entry)
}];

fn open(source: &mut Source, output: &mut Output) -> Result<Box<dyn Decoder>, TraceError> {
    let sample = Sample::new(source.head(), source.head_is_all());
    let (action, what) =
        ACTIONS.into_iter().find(|(action, _)| has_request(&sample, action)).unwrap_or(ACTIONS[0]);
    output.holds_events = true;
    let decoder = lines::open_as(BlkParse::of(Some(action)), source, output)?;
    let action = String::from_utf8_lossy(action);
    output.report.notes.push(format!("requests are the lines of action {action}, {what}"));
    Ok(decoder)
}

type Action = &'static [u8];

/// The actions that show requests, the most telling first, and what they are.
const ACTIONS: [(Action, &str); 4] = [
    (b"Q", "what programs asked for"),
    (b"D", "what the device was asked for"),
    (b"I", "what was put before the device"),
    (b"C", "what the device has done"),
];

fn has_request(sample: &Sample, action: Action) -> bool {
    let mut format = BlkParse::of(Some(action));
    let mut output = Output::default();
    sample.lines().any(|line| matches!(format.line(line, &mut output), Ok(Line::Taken)))
}

struct BlkParse {
    /// The action whose lines are requests; all of them, to recognize the format, without it.
    action: Option<Action>,
    devices: Streams,
    in_summary: bool,
    outputs: u64,
    requests: BlockRequests,
    stacked: StackedDevices,
}

impl BlkParse {
    fn of(action: Option<Action>) -> Self {
        Self {
            action,
            devices: Streams::of_names(),
            in_summary: false,
            outputs: 1,
            requests: BlockRequests::default(),
            stacked: StackedDevices::default(),
        }
    }

    fn takes(&self, action: &[u8]) -> bool {
        match self.action {
            Some(taken) => taken == action,
            None => ACTIONS.iter().any(|(known, _)| *known == action),
        }
    }

    /// Remembers a request that goes on to another device if it was counted already: `+ 8 <- (253,0) 1000`.
    fn remap(
        &mut self,
        device: &[u8],
        fields: BlankFields,
        output: &mut Output,
    ) -> Result<(), Fault> {
        let mut fields = fields.skip(1);
        let sector = fields.next().and_then(scan::decimal).ok_or("has no sector in field 8")?;
        let from = fields.nth(3).unwrap_or_default();
        let from = from.strip_prefix(b"(").and_then(|from| from.strip_suffix(b")"));
        let from = from.filter(|from| is_device(from)).ok_or("has no device behind the <-")?;
        if let Some(upper) = self.devices.known(from).filter(|_| from != device) {
            let below = self.devices.number(device, &mut output.report)?;
            self.stacked.pass_on(upper, below, sector);
        }
        Ok(())
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
        let head = Head::read(text);
        if self.in_summary {
            if head.is_err() {
                return Ok(passed(output, "lines of the summary"));
            }
            self.in_summary = false;
            self.outputs += 1;
        }
        let Head { device, time_ns, action, mut fields } = head?;
        if action == b"A" && self.action == Some(ACTIONS[0].0) {
            self.remap(device, fields, output)?;
            return Ok(passed(output, "lines of other actions"));
        }
        if !self.takes(action) {
            return Ok(passed(output, "lines of other actions"));
        }
        let asked = Asked::of_letters(fields.next().ok_or("has no RWBS in field 7")?);
        let sectors = sectors(fields)?;
        let has_no_data = sectors.is_none() || matches!(asked.what, What::Other(_));
        if has_no_data && !asked.flushes_first {
            let request = BlockRequest { stream: 0, time_ns: Some(time_ns), asked, sectors };
            return self.requests.tell(request, output);
        }
        let stream = self.devices.number(device, &mut output.report)?;
        if let Some((sector, _)) = sectors
            && self.stacked.is_counted(stream, sector)
        {
            return Ok(passed(output, "requests that another device passed on"));
        }
        let time_ns = Some(time_ns);
        self.requests.tell(BlockRequest { stream, time_ns, asked, sectors }, output)
    }

    fn end(&mut self, report: &mut ReadReport) {
        self.stacked.note(report);
        if self.outputs > 1 {
            report.notes.push(format!(
                "{} outputs of blkparse stand one behind the other; each has times of its own",
                self.outputs
            ));
        }
    }
}

/// The first six fields of a line, and what follows.
struct Head<'a> {
    device: &'a [u8],
    time_ns: u64,
    action: &'a [u8],
    fields: BlankFields<'a>,
}

impl<'a> Head<'a> {
    fn read(text: &'a [u8]) -> Result<Self, Fault> {
        let mut fields = BlankFields::new(text);
        let device = fields.next().filter(|device| is_device(device));
        let device = device.ok_or("has no device such as 8,0 in field 1")?;
        fields.decimal().ok_or("has no decimal processor in field 2")?;
        fields.decimal().ok_or("has no decimal sequence number in field 3")?;
        let time = fields.next().and_then(|field| scan::time_ns(field, 1_000_000_000));
        let time_ns = time.ok_or("has no time in seconds in field 4")?;
        fields.decimal().ok_or("has no decimal process in field 5")?;
        let action = fields.next().ok_or("has no action in field 6")?;
        Ok(Self { device, time_ns, action, fields })
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

pub(super) fn is_device(field: &[u8]) -> bool {
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
