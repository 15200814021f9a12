//! # biosnoop
//!
//! What the tracing tools biosnoop (bcc and libbpf-tools) and iosnoop (perf-tools) print: one line for each request that a
//! disk has answered.
//!
//! **A header** names the columns; **a line** has blanks between them:
//!
//! ```text
//! TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)
//! 0.000000    writer         4321    sdb       W 4096       8192      3.00
//! ```
//!
//! | column | also named | meaning |
//! |---|---|---|
//! | `TIME(s)` | `STARTs`, `ENDs` | seconds from the start; iosnoop prints them with `-ts` only |
//! | `COMM`, `PID` | | ignored; a name may have blanks |
//! | `DISK` | `DEV` | the stream; absent for requests of unknown origin |
//! | `T` | `TYPE` | RWBS, as in `blkparse` |
//! | `SECTOR` | `BLOCK` | of 512 bytes |
//! | `BYTES` | | size |
//! | `QUE(ms)`, `LAT(ms)`, `LATms` | | ignored |
//!
//! - Requests stand in the order in which the disks answered.
//! - The biosnoop of bpftrace prints no sectors, and is refused.
//!
//! **Skipped**: blank lines and what stands before the header, silently; requests of unknown place (sector -1) and those
//! without data, counted in a note. Every other line is counted as malformed.
//!
//! **Source**: biosnoop(8) of bcc, iosnoop(8) of perf-tools.

use crate::decode::block_requests::{Asked, BlockRequest, BlockRequests};
use crate::decode::columns::Streams;
use crate::decode::fields::BlankFields;
use crate::decode::lines::{self, Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::decode::units::SECTOR_BYTES;
use crate::error::TraceError;
use crate::format::{Confidence, Decoder, Format};
use crate::source::Source;
use crate::source::sample::Sample;

pub(super) const FORMAT: Format = Format {
    sniff,
    open,
    stream_noun: "disk",
    ..Format::text::<BioSnoop>(
        "biosnoop",
        "`0.0 writer 4321 sdb W 4096 8192 3.00`: requests of disks, from biosnoop and iosnoop",
        include_str!("biosnoop.rs"),
    )
};

/// The header is a mark of its own.
fn sniff(sample: &Sample) -> Confidence {
    const LINES_TRIED: usize = 20;
    let has_header = sample.lines().take(LINES_TRIED).any(is_header);
    if has_header && sample.is_text() { Confidence::Certain } else { Confidence::Unfit }
}

fn is_header(line: &[u8]) -> bool {
    let has = |names: &[&[u8]]| BlankFields::new(line).any(|field| names.contains(&field));
    has(&[b"COMM"]) && has(&[b"PID"]) && has(&[b"LAT(ms)", b"LATms"])
}

fn open(source: &mut Source, output: &mut Output) -> Result<Box<dyn Decoder>, TraceError> {
    output.holds_events = true;
    lines::open::<BioSnoop>(source, output)
}

struct BioSnoop {
    columns: Option<Columns>,
    disks: Streams,
    requests: BlockRequests,
}

impl Default for BioSnoop {
    fn default() -> Self {
        Self { columns: None, disks: Streams::of_names(), requests: BlockRequests::default() }
    }
}

/// Where the columns stand: in front of the process's name from the left, behind it from the right.
struct Columns {
    /// From 0, with the nanoseconds of its unit.
    time: Option<(usize, u64)>,
    /// From the end of the line, from 0.
    kind: usize,
    sector: usize,
    bytes: usize,
    disk: Option<usize>,
}

impl Columns {
    fn of(header: &[u8]) -> Result<Self, Fault> {
        let names: Vec<_> = BlankFields::new(header).collect();
        let find = |wanted: &[&[u8]]| names.iter().position(|name| wanted.contains(name));
        let from_end = |wanted: &[&[u8]]| find(wanted).map(|index| names.len() - 1 - index);
        let missing = |what: &str| {
            Fault::Trace(format!(
                "the header has no column {what}; record with the biosnoop of bcc, or with blktrace"
            ).into())
        };
        let time = [
            (&b"TIME(s)"[..], 1_000_000_000),
            (b"STARTs", 1_000_000_000),
            (b"TIME(ms)", 1_000_000),
        ]
        .into_iter()
        .find_map(|(name, unit_ns)| Some((find(&[name])?, unit_ns)));
        Ok(Self {
            time,
            kind: from_end(&[b"T", b"TYPE"]).ok_or_else(|| missing("T"))?,
            sector: from_end(&[b"SECTOR", b"BLOCK"]).ok_or_else(|| missing("SECTOR"))?,
            bytes: from_end(&[b"BYTES"]).ok_or_else(|| missing("BYTES"))?,
            disk: from_end(&[b"DISK", b"DEV"]),
        })
    }
}

impl LineFormat for BioSnoop {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        if scan::trimmed(line).is_empty() {
            return Ok(Line::Passed);
        }
        if is_header(line) {
            self.columns = Some(Columns::of(line)?);
            return Ok(Line::Passed);
        }
        let Some(columns) = &self.columns else { return Ok(Line::Passed) };
        let fields: Vec<_> = BlankFields::new(line).collect();
        let behind = |from_end: usize| {
            let index = fields.len().checked_sub(from_end + 1);
            index.and_then(|index| fields.get(index)).copied().unwrap_or_default()
        };
        let time_ns = match columns.time {
            Some((index, unit_ns)) => {
                let field = fields.get(index).copied().unwrap_or_default();
                Some(scan::time_ns(field, unit_ns).ok_or("has no time in its first field")?)
            }
            None => None,
        };
        let sector = behind(columns.sector);
        if sector == b"-1" {
            output.report.pass_over("requests of unknown place");
            return Ok(Line::Passed);
        }
        let sector = scan::decimal(sector).ok_or("has no sector where the header has it")?;
        let bytes =
            scan::decimal(behind(columns.bytes)).ok_or("has no bytes where the header has it")?;
        let kind = behind(columns.kind);
        if !kind.first().is_some_and(u8::is_ascii_uppercase) {
            return Err("has no R or W where the header has T".into());
        }
        // A request of unknown origin has no disk: the number of the process stands there.
        let disk = columns.disk.map(behind).filter(|disk| scan::decimal(disk).is_none());
        let stream = self.disks.number(disk.unwrap_or(b"unknown"), &mut output.report)?;
        let sectors = (bytes > 0).then_some((sector, bytes.div_ceil(SECTOR_BYTES)));
        let asked = Asked::of_letters(kind);
        self.requests.tell(BlockRequest { stream, time_ns, asked, sectors }, output)
    }
}
