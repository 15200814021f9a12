//! # vscsi
//!
//! Disk commands of virtual machines as VMware's vscsi tracer records them, such as the
//! CloudPhysics traces; versions 1 and 2.
//!
//! **A record** is packed and little-endian. The first records tell the version for the whole file.
//!
//! | field | type | version 1 at byte | version 2 at byte | use |
//! |---|---|---|---|---|
//! | serial number | u32 | 0 | 4 | |
//! | length in bytes | u32 | 4 | 8 | size |
//! | scatter-gather elements | u32 | 8 | 12 | |
//! | SCSI operation code | u16 | 12 | 0 | operation |
//! | version, in the high byte | u16 | 14 | 2 | must stay the same |
//! | logical block number | u64 | 16 | 16 | address, times 512 |
//! | time in microseconds | u64 | 24 | 24 | time |
//! | response time in microseconds | u64 | | 32 | |
//! | record | | 32 bytes | 40 bytes | |
//!
//! `0x08`, `0x28`, `0xA8`, `0x88` are READ(6), (10), (12), (16); `0x0A`, `0x2A`, `0xAA`, `0x8A` are
//! WRITE. There is one disk. Version 2 was not verified on real data.
//!
//! **Skipped**: other SCSI commands, counted in a note. A record of another version is counted as
//! malformed.

use crate::decode::output::{Fault, Output};
use crate::decode::records::{self, RecordFormat, field};
use crate::error::TraceError;
use crate::format::{Confidence, Decoder, Format};
use crate::request::{Op, Request};
use crate::source::Source;
use crate::source::sample::Sample;
use crate::write::target::{Entry, Extent, Target, TimeField};

const BLOCK_BYTES: u64 = 512;

pub(super) const FORMAT: Format = Format::records(
    "vscsi",
    "binary SCSI commands of virtual machines (CloudPhysics), versions 1 and 2",
    include_str!("vscsi.rs"),
    sniff,
    open,
)
.written_as(TARGETS);

const TARGETS: &[Target] = &[
    Target { endings: &["vscsi"], ..WRITTEN },
    Target { name: "vscsi-v2", ..WRITTEN.with_entry(write_version_2) },
];

const WRITTEN: Target = Target {
    extent: Extent::FROM_SECTORS,
    time: Some(TimeField::MICROSECONDS),
    made_up: Some("each request has one scatter-gather element"),
    ..Target::new("vscsi-v1", write_version_1)
};

/// Where the fields of one version stand.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Layout {
    version: u8,
    record_bytes: usize,
    length_at: usize,
    command_at: usize,
    version_at: usize,
}

/// Version 2 first: the low half of a block number can look like a version 1.
const LAYOUTS: [Layout; 2] = [
    Layout { version: 2, record_bytes: 40, length_at: 8, command_at: 0, version_at: 2 },
    Layout { version: 1, record_bytes: 32, length_at: 4, command_at: 12, version_at: 14 },
];

impl Layout {
    fn version_of(self, record: &[u8]) -> u8 {
        record[self.version_at + 1]
    }

    /// The version whose records the trace begins with. A short trace must consist of them; a command that SCSI does
    /// not know is not a record.
    fn of(head: &[u8]) -> Option<Self> {
        const RECORDS_TRIED: usize = 64;
        LAYOUTS.into_iter().find(|layout| {
            let mut records = head.chunks_exact(layout.record_bytes).take(RECORDS_TRIED);
            records.len() > 0
                && records.all(|record| {
                    layout.version_of(record) == layout.version
                        && record[layout.command_at + 1] == 0
                        && u64::from_le_bytes(field(record, 16)) < u64::MAX / BLOCK_BYTES
                })
        })
    }
}

/// Two records that agree are a mark that chance does not make.
fn sniff(sample: &Sample) -> Confidence {
    match Layout::of(sample.head()) {
        Some(layout) if sample.head().len() >= 2 * layout.record_bytes => Confidence::Certain,
        Some(_) => Confidence::Likely,
        None => Confidence::Unfit,
    }
}

fn open(source: &mut Source, _output: &mut Output) -> Result<Box<dyn Decoder>, TraceError> {
    let whole_head = source.head();
    let layout = LAYOUTS.into_iter().find(|layout| {
        whole_head.len() >= layout.record_bytes && layout.version_of(whole_head) == layout.version
    });
    let Some(layout) = Layout::of(whole_head).or(layout) else {
        return Err(TraceError::Content {
            file: source.file().to_owned(),
            place: "byte 0".to_owned(),
            reason: "there is no vscsi record of version 1 or 2; \
                     name another format or leave it out"
                .into(),
        });
    };
    records::decoder(Vscsi { layout }, 0, source)
}

struct Vscsi {
    layout: Layout,
}

impl RecordFormat for Vscsi {
    #[inline]
    fn record_bytes(&self, _start: &[u8]) -> Result<Option<usize>, Fault> {
        Ok(Some(self.layout.record_bytes))
    }

    #[inline]
    fn record(&mut self, record: &[u8], output: &mut Output) -> Result<(), Fault> {
        let layout = self.layout;
        if layout.version_of(record) != layout.version {
            return Err(format!(
                "has version {} in a trace of version {}",
                layout.version_of(record),
                layout.version
            )
            .into());
        }
        let op = match u16::from_le_bytes(field(record, layout.command_at)) {
            0x08 | 0x28 | 0x88 | 0xa8 => Op::Read,
            0x0a | 0x2a | 0x8a | 0xaa => Op::Write,
            _ => {
                output.report.pass_over("other SCSI commands");
                return Ok(());
            }
        };
        let bytes = u32::from_le_bytes(field(record, layout.length_at));
        let block = u64::from_le_bytes(field(record, 16));
        let address = block.checked_mul(BLOCK_BYTES).ok_or("has a block past 64-bit addresses")?;
        let time_us = u64::from_le_bytes(field(record, 24));
        let time_ns = time_us.checked_mul(1_000).ok_or("has a time above 64 bits of ns")?;
        output.request(Request::new(op, address, bytes).at(time_ns))
    }
}

/// Serial number, bytes, scatter-gather elements, operation code, block and time of an entry.
fn written_fields(entry: &Entry) -> (u32, u32, u32, u16, u64, u64) {
    let block = entry.address / BLOCK_BYTES;
    // READ(10) and WRITE(10) have block numbers of 32 bits, READ(16) and WRITE(16) of 64.
    let command = match (entry.op, u32::try_from(block)) {
        (Op::Read, Ok(_)) => 0x28,
        (Op::Write, Ok(_)) => 0x2a,
        (Op::Read, Err(_)) => 0x88,
        (Op::Write, Err(_)) => 0x8a,
    };
    (entry.index as u32, entry.bytes, 1, command, block, entry.time_ns / 1_000)
}

fn write_version_1(entry: &Entry, record: &mut Vec<u8>) -> Result<(), &'static str> {
    let (serial, bytes, elements, command, block, time_us) = written_fields(entry);
    for number in [serial, bytes, elements] {
        record.extend(number.to_le_bytes());
    }
    record.extend(command.to_le_bytes());
    record.extend(0x0100_u16.to_le_bytes());
    record.extend(block.to_le_bytes());
    record.extend(time_us.to_le_bytes());
    Ok(())
}

fn write_version_2(entry: &Entry, record: &mut Vec<u8>) -> Result<(), &'static str> {
    const RESPONSE_TIME_US: u64 = 0;
    let (serial, bytes, elements, command, block, time_us) = written_fields(entry);
    record.extend(command.to_le_bytes());
    record.extend(0x0200_u16.to_le_bytes());
    for number in [serial, bytes, elements] {
        record.extend(number.to_le_bytes());
    }
    for number in [block, time_us, RESPONSE_TIME_US] {
        record.extend(number.to_le_bytes());
    }
    Ok(())
}
