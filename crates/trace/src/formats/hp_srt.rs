//! # hp-srt
//!
//! Disk traces of HP workstations and servers in the SRT format of HP Laboratories, such as
//! `hplajw` (one week of 1992).
//!
//! **The header** is text that begins with `$$TR_IOREC` and ends with the first form feed (byte
//! 0x0C). Only the `sectorsize` of each disk is used, in bytes; a disk without one is assumed to
//! have the sectors of the others, or of 256 bytes, and a note says so.
//!
//! **A record** is a sequence of big-endian 32-bit numbers. The first one is its length in bytes:
//!
//! | byte | field | use |
//! |---|---|---|
//! | 0 | length of the record | leads to the next record |
//! | 4 | version (high 16 bits), type (low 16 bits) | 4 and 1: a `SHORTIO` record |
//! | 8, 12 | seconds and microseconds since the start of the trace | time |
//! | 16, 20 | microseconds from enqueueing to start and to end | |
//! | 24 | size in bytes | size |
//! | 28 | sector, from the start of the disk | address, times `sectorsize` |
//! | 32 | device: bits 8 to 15 the disk, bits 0 to 7 its section | the disk is the stream |
//! | 36, 40 | driver type, cylinder | |
//! | 44 | flags | bit 0: 1 reads, 0 writes |
//! | 48, 52 | info, length of the queue | |
//!
//! Sectors are counted from the start of the disk whatever the section, so the sections of one disk do
//! not overlap.
//!
//! **Skipped**: `SUSPECTIO` records (type 4), counted in a note. Other types and versions are
//! counted as malformed.

use crate::decode::output::{Fault, Output};
use crate::decode::records::{self, LONGEST_RECORD_BYTES, RecordFormat, field};
use crate::error::TraceError;
use crate::format::{Confidence, Decoder, Format};
use crate::request::{Op, Request};
use crate::source::Source;
use crate::source::sample::Sample;

const NAME: &str = "hp-srt";
const MAGIC: &[u8] = b"$$TR_IOREC";
const END_OF_HEADER: u8 = 0x0c;
const SHORTIO: u32 = 4 << 16 | 1;
const SUSPECTIO_TYPE: u32 = 4;
const SHORTIO_BYTES: usize = 56;
const USUAL_SECTOR_BYTES: u64 = 256;

pub(super) const FORMAT: Format = Format::records(
    NAME,
    "binary disk traces of HP Laboratories: a text header, then big-endian records",
    include_str!("hp_srt.rs"),
    sniff,
    open,
)
.with_streams_of("disk");

fn sniff(sample: &Sample) -> Confidence {
    if sample.head().starts_with(MAGIC) { Confidence::Certain } else { Confidence::Unfit }
}

fn open(source: &mut Source, output: &mut Output) -> Result<Box<dyn Decoder>, TraceError> {
    let refused = |reason: &str| TraceError::Content {
        file: source.file().to_owned(),
        place: "byte 0".to_owned(),
        reason: reason.into(),
    };
    if !source.head().starts_with(MAGIC) {
        return Err(refused("there is no $$TR_IOREC header; name another format or leave it out"));
    }
    let Some(length) = memchr::memchr(END_OF_HEADER, source.head()) else {
        return Err(if source.head_is_all() {
            let byte = source.head().len() as u64;
            TraceError::CutRecord { file: source.file().to_owned(), format: NAME, byte }
        } else {
            refused("the header does not end with a form feed; copy or download the file again")
        });
    };
    let header = String::from_utf8_lossy(&source.head()[..length]).into_owned();
    let sectors = Sectors::of(&header);
    if sectors.of_disks.is_empty() {
        output.report.notes.push(format!(
            "the header has no sectorsize: sectors of {USUAL_SECTOR_BYTES} bytes assumed"
        ));
    }
    records::decoder(HpSrt { sectors }, length + 1, source)
}

struct HpSrt {
    sectors: Sectors,
}

impl RecordFormat for HpSrt {
    fn record_bytes(&self, start: &[u8]) -> Result<Option<usize>, Fault> {
        if start.len() < 8 {
            return Ok(None);
        }
        let length = u32::from_be_bytes(field(start, 0)) as usize;
        if !(8..=LONGEST_RECORD_BYTES).contains(&length) {
            return Err(format!("says that it has {length} bytes").into());
        }
        Ok(Some(length))
    }

    fn record(&mut self, record: &[u8], output: &mut Output) -> Result<(), Fault> {
        let number = |at_byte| u32::from_be_bytes(field(record, at_byte));
        let (version, kind) = (number(4) >> 16, number(4) & 0xffff);
        if kind == SUSPECTIO_TYPE {
            output.report.pass_over("SUSPECTIO records");
            return Ok(());
        }
        if number(4) != SHORTIO {
            return Err(format!("is of the unknown type {kind}, version {version}").into());
        }
        if record.len() < SHORTIO_BYTES {
            return Err("is shorter than a SHORTIO record".into());
        }
        let stream = number(32) >> 8 & 0xff;
        let address = u64::from(number(28)) * self.sectors.bytes(stream)?;
        let time_us = u64::from(number(8)) * 1_000_000 + u64::from(number(12));
        let op = if number(44) & 1 == 1 { Op::Read } else { Op::Write };
        output.request(Request::new(op, address, number(24)).in_stream(stream).at(time_us * 1_000))
    }
}

/// Bytes of a sector on each disk.
struct Sectors {
    /// Number of the disk and its `sectorsize`.
    of_disks: Vec<(u32, u32)>,
    /// For disks without one; `None` where those with one differ.
    of_others: Option<u64>,
}

impl Sectors {
    fn of(header: &str) -> Self {
        let of_disks = sector_sizes(header);
        let mut sizes = of_disks.iter().map(|&(_, bytes)| u64::from(bytes));
        let first = sizes.next().unwrap_or(USUAL_SECTOR_BYTES);
        let of_others = sizes.all(|bytes| bytes == first).then_some(first);
        Self { of_disks, of_others }
    }

    fn bytes(&self, disk: u32) -> Result<u64, Fault> {
        let of_disk = self.of_disks.iter().find(|&&(known, _)| known == disk);
        let bytes = of_disk.map(|&(_, bytes)| u64::from(bytes)).or(self.of_others);
        bytes.ok_or_else(|| {
            format!("is on disk {disk}, whose sectorsize the header does not give").into()
        })
    }
}

/// The `sectorsize` of each disk in a header such as
/// `disks = { 0 -> { sectorsize = 256, … }, 1 -> { … } };`.
fn sector_sizes(header: &str) -> Vec<(u32, u32)> {
    // Every other piece between quotation marks is a string.
    let outside_strings: Vec<_> = header.split('"').step_by(2).collect();
    let mut text = outside_strings.join(" ");
    for mark in ["{", "}", "=", ",", ";"] {
        text = text.replace(mark, &format!(" {mark} "));
    }
    let (mut sizes, mut depth, mut disk) = (Vec::new(), 0_u32, None);
    let mut last_two = ["", ""];
    for word in text.split_whitespace() {
        match (word, last_two) {
            ("{", [number, "->"]) if depth == 1 => {
                disk = number.parse().ok();
                depth += 1;
            }
            ("{", _) => depth += 1,
            ("}", _) => depth = depth.saturating_sub(1),
            (size, ["sectorsize", "="]) => sizes.extend(disk.zip(size.parse().ok())),
            _ => {}
        }
        last_two = [last_two[1], word];
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_disk_has_the_sector_size_of_its_own_braces() {
        let header = "disks = { 0 -> { queue = {fcfs, 1}, description = \"9 -> { sectorsize = 7\",\n\
                      adaptor = 1 -> { hp_ib , 250 },\n sectorsize  = 256, sections = { 8 -> { \"/\" } } },\n\
                      3 -> { sectorsize=512 } };";
        let sectors = Sectors::of(header);
        assert_eq!(sectors.of_disks, [(0, 256), (3, 512)]);
        assert_eq!((sectors.bytes(0).unwrap(), sectors.bytes(3).unwrap()), (256, 512));
        assert!(sectors.bytes(1).is_err());
    }
}
