//! # etw
//!
//! Event Tracing for Windows as xperf dumps it into CSV, such as the Microsoft Production Server
//! traces.
//!
//! **A line** has commas between its fields; a header names the fields of each event:
//!
//! ```text
//! BeginHeader
//!                DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum, ...
//! EndHeader
//!                DiskRead,       4721,        sqlservr.exe (1852),       2408, 0xfffffa8010b05c10, 0x0a4be1a000, 0x00002000,        5170,        3, ...
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | event | `DiskRead` or `DiskWrite` |
//! | time | microseconds from the start, when the disk had answered |
//! | process, thread, packet | ignored |
//! | offset | bytes, hexadecimal with or without `0x` |
//! | size | bytes, hexadecimal with or without `0x` |
//! | elapsed | microseconds; ignored |
//! | disk | a number: the stream |
//!
//! - `DiskFlush` is a sync of the disk, whose number stands where the header says; write buffers take
//!   it as FLUSH, other commands leave it out and count it.
//! - Events are in the order in which the disks answered; this order is kept.
//!
//! **Skipped**: blank lines, silently; the header and all other events (`DiskReadInit`, files,
//! processes, threads …), counted in a note. Every other line that is not a request is counted as malformed.
//!
//! **Source**: Kavalanekar, Worthington, Zhang, Sharda: Characterization of Storage Workload Traces
//! from Production Windows Servers, IISWC 2008, and the README of the traces.

use crate::decode::fields::CommaFields;
use crate::decode::lines::{self, Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::decode::units;
use crate::error::TraceError;
use crate::event::{Action, Event};
use crate::format::{Confidence, Decoder, Format};
use crate::request::{Op, Request};
use crate::source::Source;
use crate::source::sample::Sample;
use crate::write::target::{Entry, StreamField, Target, TimeField, append};

pub(super) const FORMAT: Format = Format {
    sniff,
    open,
    stream_noun: "disk",
    targets: TARGETS,
    ..Format::text::<Etw>(
        "etw",
        "`DiskRead, 4721, …, 0x0a4be1a000, 0x00002000, …`: events of Windows servers, dumped by xperf",
        include_str!("etw.rs"),
    )
};

const TARGETS: &[Target] = &[Target {
    time: Some(TimeField::MICROSECONDS.counted_from_start()),
    streams: StreamField::NUMBERS,
    made_up: Some("processes, threads, packets and elapsed times are written as 0"),
    ..Target::new("etw", write_entry)
}
.with_head(|_, text| text.extend_from_slice(HEADER))];

const MICROSECOND_NS: u64 = 1_000;
const HEADER_BEGIN: &[u8] = b"BeginHeader";
const HEADER_END: &[u8] = b"EndHeader";

/// The header is a mark of its own; without it the disk events must show.
fn sniff(sample: &Sample) -> Confidence {
    match sample.lines().map(scan::trimmed).find(|line| !line.is_empty()) {
        Some(HEADER_BEGIN) if sample.is_text() => Confidence::Certain,
        _ => lines::sniff::<Etw>(sample),
    }
}

fn open(source: &mut Source, output: &mut Output) -> Result<Box<dyn Decoder>, TraceError> {
    output.holds_events = true;
    lines::open::<Etw>(source, output)
}

/// The column of a flush's disk unless the header says otherwise, from 0.
const FLUSH_DISK_FIELD: usize = 6;

struct Etw {
    in_header: bool,
    flush_disk_field: usize,
}

impl Default for Etw {
    fn default() -> Self {
        Self { in_header: false, flush_disk_field: FLUSH_DISK_FIELD }
    }
}

impl Etw {
    /// A line of the header that names the fields of flushes.
    fn learn_flush(&mut self, text: &[u8]) {
        let mut fields = CommaFields::new(text);
        if fields.next() == Some(b"DiskFlush")
            && let Some(behind) = fields.position(|field| field == b"DiskNum")
        {
            self.flush_disk_field = behind + 1;
        }
    }

    fn flush(&self, text: &[u8]) -> Result<Event, Fault> {
        let mut fields = CommaFields::new(text).skip(1);
        let time_us = fields.next().and_then(scan::decimal);
        let time_ns = time_us.and_then(|time_us| time_us.checked_mul(MICROSECOND_NS));
        let time_ns = time_ns.ok_or("has no whole microseconds in field 2")?;
        let disk = CommaFields::new(text).nth(self.flush_disk_field).and_then(scan::decimal);
        let field = self.flush_disk_field + 1;
        let disk = disk.ok_or_else(|| format!("has no decimal disk in field {field}"))?;
        let object = units::stream(disk)?;
        Ok(Event { object, time_ns: Some(time_ns), action: Action::Sync })
    }
}

impl LineFormat for Etw {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        let text = scan::trimmed(line);
        if text.is_empty() {
            return Ok(Line::Passed);
        }
        self.in_header |= text == HEADER_BEGIN;
        if self.in_header || text.starts_with(b"OS Version") {
            self.in_header &= text != HEADER_END;
            self.learn_flush(text);
            output.report.pass_over("header lines");
            return Ok(Line::Passed);
        }
        let mut fields = CommaFields::new(text);
        let op = match fields.next() {
            Some(b"DiskRead") => Op::Read,
            Some(b"DiskWrite") => Op::Write,
            Some(b"DiskFlush") => {
                output.event(self.flush(text)?)?;
                return Ok(Line::Taken);
            }
            Some([b'A'..=b'Z' | b'a'..=b'z', ..]) => {
                fields.decimal().ok_or("has no whole microseconds in field 2")?;
                output.report.pass_over("other events");
                return Ok(Line::Passed);
            }
            _ => return Err("has no event in field 1".into()),
        };
        let time_ns = fields.decimal().and_then(|time_us| time_us.checked_mul(MICROSECOND_NS));
        let time_ns = time_ns.ok_or("has no whole microseconds in field 2")?;
        let address = fields.nth(3).and_then(hexadecimal);
        let address = address.ok_or("has no hexadecimal offset in field 6")?;
        let size_bytes = fields.next().and_then(hexadecimal);
        let size_bytes = size_bytes.ok_or("has no hexadecimal size in field 7")?;
        let disk = fields.nth(1).and_then(scan::decimal);
        let stream = units::stream(disk.ok_or("has no decimal disk in field 9")?)?;
        output
            .request_of(size_bytes, Request::new(op, address, 0).in_stream(stream).at(time_ns))?;
        Ok(Line::Taken)
    }
}

fn hexadecimal(field: &[u8]) -> Option<u64> {
    scan::hex(scan::without_hex_prefix(field).unwrap_or(field))
}

const HEADER: &[u8] = b"BeginHeader
                DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum
               DiskWrite,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum
EndHeader
";

fn write_entry(entry: &Entry, line: &mut Vec<u8>) -> Result<(), &'static str> {
    let event = if entry.op == Op::Read { "DiskRead" } else { "DiskWrite" };
    let time_us = entry.time_ns / MICROSECOND_NS;
    let Entry { address, bytes, stream, .. } = entry;
    append(
        line,
        format_args!(
            "{event:>24}, {time_us:>10}, unknown (0), 0, 0x0, {address:#012x}, {bytes:#010x}, 0, {stream}\n"
        ),
    )
}
