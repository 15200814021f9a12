//! # block-events
//!
//! Events of Linux's block layer as text: what `perf script` and ftrace (`trace`, `trace_pipe`, trace-cmd) print.
//!
//! **A line** ends in an event and what it says:
//!
//! ```text
//!           writer  4321 [004]   912.859881:       block:block_rq_issue: 8,16 WS 2048 () 4112 + 4 [writer]
//!           writer-4321  [004] d..1. 912.859881: block_rq_issue: 8,16 WS 2048 () 4112 + 4 be,0,4 [writer]
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | time | seconds, in front of the event |
//! | device | major and minor number: the stream, named `8,16` |
//! | RWBS | as in `blkparse` |
//! | bytes, command | ignored; some events have none |
//! | sector `+` sectors | of 512 bytes |
//!
//! - A request shows in several events, so **one is read**: `block_bio_queue`, what programs asked for, if it occurs in
//!   the first 64 KiB, otherwise `block_rq_issue`, what the device was asked for, `block_rq_insert`, or
//!   `block_rq_complete`, what it has done. A note says which.
//! - Requests that a device passes on to one below it are counted once, if `block_bio_remap` tells so.
//! - Discards, flushes and writes that force unit access are events, as in blkparse.
//!
//! **Skipped**: blank lines and comments (`#`), silently; other events, call stacks and requests without data that are
//! not flushes, counted in a note. Every other line is counted as malformed.
//!
//! **Source**: include/trace/events/block.h of Linux, perf-script(1).

use crate::decode::block_requests::{Asked, BlockRequest, BlockRequests, StackedDevices};
use crate::decode::columns::Streams;
use crate::decode::fields::BlankFields;
use crate::decode::lines::{self, Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::error::TraceError;
use crate::format::{Confidence, Decoder, Format};
use crate::formats::blkparse::is_device;
use crate::report::ReadReport;
use crate::source::Source;
use crate::source::sample::Sample;

pub(super) const FORMAT: Format = Format {
    sniff,
    open,
    stream_noun: "device",
    ..Format::text::<BlockEvents>(
        "block-events",
        "`dd 7 [1] 9.5: block:block_rq_issue: 8,16 R 4096 () 8000 + 8 [dd]`: perf script and ftrace",
        include_str!("block_events.rs"),
    )
};

/// The events that show requests, the most telling first, and what they are.
const EVENTS: [(&[u8], &str); 4] = [
    (b"block_bio_queue", "what programs asked for"),
    (b"block_rq_issue", "what the device was asked for"),
    (b"block_rq_insert", "what was put before the device"),
    (b"block_rq_complete", "what the device has done"),
];

/// The name of an event of the block layer is a mark of its own.
fn sniff(sample: &Sample) -> Confidence {
    match lines::sniff::<BlockEvents>(sample) {
        Confidence::Unfit => Confidence::Unfit,
        _ => Confidence::Certain,
    }
}

fn open(source: &mut Source, output: &mut Output) -> Result<Box<dyn Decoder>, TraceError> {
    let sample = Sample::new(source.head(), source.head_is_all());
    let has = |name: &[u8]| {
        sample.lines().any(|line| Event::of(line).is_some_and(|event| event.name == name))
    };
    let (event, what) = EVENTS.into_iter().find(|(name, _)| has(name)).unwrap_or(EVENTS[1]);
    output.holds_events = true;
    let name = String::from_utf8_lossy(event);
    output.report.notes.push(format!("requests are the events {name}, {what}"));
    lines::open_as(BlockEvents { event: Some(event), ..BlockEvents::default() }, source, output)
}

struct BlockEvents {
    /// The event that is a request; any of them, to recognize the format, without it.
    event: Option<&'static [u8]>,
    devices: Streams,
    requests: BlockRequests,
    stacked: StackedDevices,
}

impl Default for BlockEvents {
    fn default() -> Self {
        Self {
            event: None,
            devices: Streams::of_names(),
            requests: BlockRequests::default(),
            stacked: StackedDevices::default(),
        }
    }
}

/// An event with its time and what it says.
struct Event<'a> {
    time_ns: u64,
    name: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Event<'a> {
    /// `… 912.859881: block:block_rq_issue: 8,16 …`; none if the line is none of an event.
    fn of(line: &'a [u8]) -> Option<Self> {
        memchr::memmem::find_iter(line, b": ").find_map(|colon| {
            let start = line[..colon].iter().rposition(|&byte| byte == b' ' || byte == b'\t');
            let time = &line[start.map_or(0, |start| start + 1)..colon];
            let is_time = time.contains(&b'.') && time.first().is_some_and(u8::is_ascii_digit);
            let time_ns = scan::time_ns(time, 1_000_000_000).filter(|_| is_time)?;
            let behind = scan::after_blanks(&line[colon + 1..]);
            let end = memchr::memmem::find(behind, b": ").unwrap_or(behind.len());
            let (name, rest) = behind.split_at(end);
            let name = name.strip_prefix(b"block:").unwrap_or(name);
            let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_:-.".contains(byte);
            let rest = rest.get(2..).unwrap_or_default();
            (!name.is_empty() && name.iter().all(is_name)).then_some(Event { time_ns, name, rest })
        })
    }
}

impl LineFormat for BlockEvents {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        let text = scan::trimmed(line);
        if text.is_empty() || text.starts_with(b"#") {
            return Ok(Line::Passed);
        }
        let Some(event) = Event::of(line) else {
            if scan::leading_hex(text).is_some_and(|(_, rest)| rest.starts_with(b" ")) {
                output.report.pass_over("lines of call stacks");
                return Ok(Line::Passed);
            }
            return Err("has no time and event such as 912.859881: block:block_rq_issue:".into());
        };
        let is_wanted = match self.event {
            Some(wanted) => event.name == wanted,
            None => EVENTS.iter().any(|(name, _)| *name == event.name),
        };
        let is_remap = event.name == b"block_bio_remap" && self.event == Some(EVENTS[0].0);
        if !is_wanted && !is_remap {
            output.report.pass_over("other events");
            return Ok(Line::Passed);
        }
        let mut fields = BlankFields::new(event.rest);
        let device = fields.next().filter(|device| is_device(device));
        let device = device.ok_or("has no device such as 8,0 behind the event")?;
        let asked = Asked::of_letters(fields.next().ok_or("has no RWBS behind the device")?);
        let sectors = sectors(fields)?;
        if is_remap {
            self.remap(device, sectors.map(|(first, _)| first), event.rest, output)?;
            output.report.pass_over("other events");
            return Ok(Line::Passed);
        }
        let stream = self.devices.number(device, &mut output.report)?;
        if let Some((sector, _)) = sectors
            && self.stacked.is_counted(stream, sector)
        {
            output.report.pass_over("requests that another device passed on");
            return Ok(Line::Passed);
        }
        let sectors = sectors.filter(|&(_, sectors)| sectors > 0 || !asked.flushes_first);
        self.requests
            .tell(BlockRequest { stream, time_ns: Some(event.time_ns), asked, sectors }, output)
    }

    fn end(&mut self, report: &mut ReadReport) {
        self.stacked.note(report);
    }
}

impl BlockEvents {
    /// `8,0 W 3048 + 8 <- (253,0) 1000`: the request was one of the device in parentheses.
    fn remap(
        &mut self,
        device: &[u8],
        sector: Option<u64>,
        rest: &[u8],
        output: &mut Output,
    ) -> Result<(), Fault> {
        let from = memchr::memmem::find(rest, b"<- (").map(|start| &rest[start + 4..]);
        let from = from.and_then(|from| from.split(|&byte| byte == b')').next());
        let upper = from.filter(|&from| from != device).and_then(|from| self.devices.known(from));
        if let (Some(upper), Some(sector)) = (upper, sector) {
            let below = self.devices.number(device, &mut output.report)?;
            self.stacked.pass_on(upper, below, sector);
        }
        Ok(())
    }
}

/// The numbers around the `+`.
fn sectors(fields: BlankFields) -> Result<Option<(u64, u64)>, Fault> {
    let mut before: &[u8] = b"";
    let mut fields = fields;
    while let Some(field) = fields.next() {
        if field == b"+"
            && let Some(sector) = scan::decimal(before)
        {
            let sectors = fields.next().and_then(scan::decimal);
            let sectors = sectors.ok_or("has no decimal number of sectors after the +")?;
            return Ok(Some((sector, sectors)));
        }
        before = field;
    }
    Err("has no sector + sectors behind RWBS".into())
}
