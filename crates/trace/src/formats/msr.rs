//! # msr
//!
//! Block traces of servers at Microsoft Research Cambridge, one CSV file per volume, from the SNIA
//! IOTTA repository.
//!
//! **A line** has commas between seven fields; the published files have no header:
//!
//! ```text
//! 128166372003061629,hm,0,Read,383496192,32768,1331
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | time | Windows file time: units of 100 ns since 1601-01-01 |
//! | host | name of the server |
//! | disk | number of the volume on that server |
//! | type | `Read` or `Write` |
//! | offset | bytes, a multiple of 512 and often not of 4096 |
//! | size | bytes |
//! | response time | units of 100 ns; ignored |
//!
//! - Host and disk together are the stream; it is named `hm_0`, as the files are.
//! - Times are given in nanoseconds since 1601-01-01. The files are almost but not perfectly in the
//!   order of time; their order is kept.
//! - The times are checked for plausibility.
//!
//! **Skipped**: blank lines, silently; a header that begins with `Timestamp`, counted in a note.
//! Every other line that is not a request is counted as malformed.
//!
//! **Source**: Narayanan, Donnelly, Rowstron: Write Off-Loading, FAST 2008, and the README of the
//! trace set.

use crate::decode::columns::Streams;
use crate::decode::fields::CommaFields;
use crate::decode::lines::{Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::decode::time_check::TimeUnit;
use crate::format::Format;
use crate::request::{Op, Request};
use crate::write::target::{Entry, StreamField, Target, TimeField, append};

pub(super) const FORMAT: Format = Format::text::<Msr>(
    "msr",
    "`128166372003061629,hm,0,Read,383496192,32768,1331`: block traces of MSR Cambridge",
    include_str!("msr.rs"),
)
.with_streams_of("volume")
.written_as(TARGETS);

const TARGETS: &[Target] = &[Target {
    time: Some(TimeField::of(TICK_NS, "units of 100 ns")),
    streams: StreamField::Names {
        given: host_and_disk,
        numbered: |stream| format!("stream,{stream}"),
    },
    ..Target::new("msr", write_entry)
}];

const TICK_NS: u64 = 100;

struct Msr {
    volumes: Streams,
    /// The name of the volume of one line; kept from line to line.
    volume: Vec<u8>,
    /// Host, comma, disk and comma as they were found last, and the number of the volume.
    last: (Vec<u8>, u32),
}

impl Default for Msr {
    fn default() -> Self {
        Self { volumes: Streams::of_names(), volume: Vec::new(), last: (Vec::new(), 0) }
    }
}

/// A line without blanks, with the field of each thing.
struct PlainLine<'a> {
    ticks: u64,
    /// `None` if it is that of the line before.
    volume: Option<Volume<'a>>,
    request: Request,
}

/// Host and disk.
type Volume<'a> = (&'a [u8], &'a [u8]);

/// The volume up to the comma behind it, and the rest from there on.
#[inline]
fn leading_volume(bytes: &[u8]) -> Option<(Volume<'_>, &[u8])> {
    let (host, rest) = scan::leading_plain_field(bytes)?;
    let from_disk = rest.strip_prefix(b",")?;
    let (_, rest) = scan::leading_decimal(from_disk)?;
    let disk = &from_disk[..from_disk.len() - rest.len()];
    (!host.is_empty()).then_some(((host, disk), rest))
}

impl<'a> PlainLine<'a> {
    /// Reads a line in one go; `None` for one that is not plain, which few are. `last_volume` is host, comma, disk and
    /// comma of the line before.
    #[inline]
    fn of(line: &'a [u8], last_volume: &[u8]) -> Option<Self> {
        let (ticks, rest) = scan::leading_decimal(line)?;
        let from_host = rest.strip_prefix(b",")?;
        let (volume, rest) = match from_host.get(..last_volume.len()) {
            Some(host_and_disk) if host_and_disk == last_volume && !last_volume.is_empty() => {
                (None, &from_host[last_volume.len() - 1..])
            }
            _ => {
                let (volume, rest) = leading_volume(from_host)?;
                (Some(volume), rest)
            }
        };
        let (op, rest) = match rest {
            [b',', b'R', b'e', b'a', b'd', b',', rest @ ..] => (Op::Read, rest),
            [b',', b'W', b'r', b'i', b't', b'e', b',', rest @ ..] => (Op::Write, rest),
            _ => return None,
        };
        let (address, rest) = scan::leading_decimal(rest)?;
        let (size_bytes, rest) = scan::leading_decimal(rest.strip_prefix(b",")?)?;
        let (_, rest) = scan::leading_decimal(rest.strip_prefix(b",")?)?;
        let request = Request::new(op, address, u32::try_from(size_bytes).ok()?);
        rest.is_empty().then_some(PlainLine { ticks, volume, request })
    }
}

impl Msr {
    /// The number of the volume of a line.
    #[inline]
    fn number(&mut self, line: &PlainLine<'_>, output: &mut Output) -> Result<u32, Fault> {
        if let Some((host, disk)) = line.volume {
            let number = self.number_of(host, disk, output)?;
            self.last.0.clear();
            for part in [host, b",", disk, b","] {
                self.last.0.extend_from_slice(part);
            }
            self.last.1 = number;
        }
        Ok(self.last.1)
    }

    fn number_of(&mut self, host: &[u8], disk: &[u8], output: &mut Output) -> Result<u32, Fault> {
        self.volume.clear();
        self.volume.extend_from_slice(host);
        self.volume.push(b'_');
        self.volume.extend_from_slice(disk);
        self.volumes.number(&self.volume, &mut output.report)
    }
}

impl LineFormat for Msr {
    const TIME_UNIT: Option<TimeUnit> = Some(TimeUnit::of_recordings("units of 100 ns"));

    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        if let Some(plain) = PlainLine::of(line, &self.last.0)
            && let Some(time_ns) = plain.ticks.checked_mul(TICK_NS)
        {
            let stream = self.number(&plain, output)?;
            output.request(plain.request.in_stream(stream).at(time_ns))?;
            return Ok(Line::Taken);
        }
        if scan::after_blanks(line).is_empty() {
            return Ok(Line::Passed);
        }
        let mut fields = CommaFields::new(line);
        let time = fields.next().unwrap_or_default();
        if time.eq_ignore_ascii_case(b"Timestamp") {
            output.report.pass_over("header lines");
            return Ok(Line::Passed);
        }
        let ticks = scan::decimal(time).ok_or("has no decimal file time in field 1")?;
        let host =
            fields.next().filter(|host| !host.is_empty()).ok_or("has no host name in field 2")?;
        let disk = fields.next().unwrap_or_default();
        scan::decimal(disk).ok_or("has no decimal disk number in field 3")?;
        let op = fields.next().and_then(scan::op).ok_or("has no Read or Write in field 4")?;
        let address = fields.decimal().ok_or("has no decimal offset in field 5")?;
        let size_bytes = fields.decimal().ok_or("has no decimal size in field 6")?;
        if fields.next().is_none_or(<[u8]>::is_empty) || fields.next().is_some() {
            return Err("does not end after a response time in field 7".into());
        }
        let time_ns = ticks.checked_mul(TICK_NS).ok_or("has a file time after the year 2185")?;
        let stream = self.number_of(host, disk, output)?;
        output
            .request_of(size_bytes, Request::new(op, address, 0).in_stream(stream).at(time_ns))?;
        Ok(Line::Taken)
    }
}

/// A volume such as `hm_0` as the fields host and disk.
fn host_and_disk(name: &str) -> Option<String> {
    let (host, disk) = name.rsplit_once('_')?;
    let is_host = !host.is_empty() && !host.contains([',', '\n', '\r']) && host.trim() == host;
    (is_host && scan::decimal(disk.as_bytes()).is_some()).then(|| format!("{host},{disk}"))
}

fn write_entry(entry: &Entry, line: &mut Vec<u8>) -> Result<(), &'static str> {
    let (ticks, volume) = (entry.time_ns / TICK_NS, entry.stream_name);
    let kind = if entry.op == Op::Read { "Read" } else { "Write" };
    let Entry { address, bytes, .. } = entry;
    append(line, format_args!("{ticks},{volume},{kind},{address},{bytes},0\n"))
}
