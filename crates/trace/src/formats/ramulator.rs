//! # ramulator
//!
//! CPU traces of the DRAM simulator Ramulator: what leaves the last cache of a processor.
//!
//! **A line** has blanks between two or three decimal numbers:
//!
//! ```text
//! 3 20734016
//! 1 20846400 20734016
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | count | instructions that touch no memory before this read; ignored |
//! | read | byte address |
//! | write-back (optional) | byte address of the dirty cache line that the read evicted |
//!
//! - Each address stands for the cache line of 64 bytes around it.
//! - A line is a read, then its write-back.
//! - There is not a time; addresses are virtual.
//!
//! Two or three numbers may be anything. They are taken for this format if the addresses are those of cache lines
//! (multiples of 64, but not all of 512) and the counts are not times; otherwise the format must be named.
//!
//! **Skipped**: blank lines, silently. Every other line is counted as malformed.

use crate::decode::fields::BlankFields;
use crate::decode::lines::{self, Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::decode::units::SECTOR_BYTES;
use crate::format::{Confidence, Format};
use crate::formats::dinero;
use crate::request::{Op, Request};
use crate::source::evidence::Evidence;
use crate::source::sample::Sample;
use crate::write::target::{Encoding, Entry, Extent, Target, append, no_head};

pub(super) const FORMAT: Format = Format {
    sniff,
    doubt,
    stream_noun: "stream",
    targets: TARGETS,
    ..Format::text::<Ramulator>(
        "ramulator",
        "`1 20846400 20734016`: reads and write-backs of cache lines, CPU traces of Ramulator",
        include_str!("ramulator.rs"),
    )
};

const TARGETS: &[Target] = &[Target {
    extent: Extent::units(LINE_BYTES as u64),
    made_up: Some("counts of instructions are written as 0"),
    encoding: Encoding::Entries { head: no_head, entry: write_entry, tail: b"\n" },
    ..Target::new("ramulator", write_entry)
}];

const LINE_BYTES: u32 = 64;

/// Other formats begin with a number too, but their second column is hexadecimal or no address.
fn sniff(sample: &Sample) -> Confidence {
    let reads =
        || sample.lines().filter_map(|line| BlankFields::new(line).nth(1)).map(scan::decimal);
    if reads().all(|read| read.is_some()) && dinero::are_of_a_program(reads()) {
        lines::sniff::<Ramulator>(sample)
    } else {
        Confidence::Unfit
    }
}

/// Two or three numbers may be anything: times and places, places and sizes, objects and sizes.
fn doubt(sample: &Sample) -> Option<String> {
    const STRAY_ADDRESSES_OF_ONE_ALIGNED: usize = 8;
    const LONGEST_RUN_OF_INSTRUCTIONS: u64 = 1_000_000;
    let table = Evidence::between_blanks(sample);
    let addresses: Vec<_> = table.numbers(2).chain(table.numbers(3)).collect();
    let is_multiple_of = |unit: u64| move |address: &&u64| address.is_multiple_of(unit);
    let stray = addresses.len() - addresses.iter().filter(is_multiple_of(64)).count();
    if stray * STRAY_ADDRESSES_OF_ONE_ALIGNED > addresses.len() {
        return Some(format!(
            "{stray} of the {} numbers behind field 1 are no addresses of cache lines, multiples of 64",
            addresses.len()
        ));
    }
    if addresses.iter().all(|address| address % SECTOR_BYTES == 0) {
        return Some(
            "all numbers behind field 1 are multiples of 512, as places and sizes are".to_owned(),
        );
    }
    let long = table.numbers(1).filter(|&count| count > LONGEST_RUN_OF_INSTRUCTIONS).count();
    if 2 * long > table.lines() {
        return Some("field 1 is too large for a count of instructions".to_owned());
    }
    table.rises_like_a_time(1, "a count")
}

#[derive(Default)]
struct Ramulator;

impl LineFormat for Ramulator {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        if scan::after_blanks(line).is_empty() {
            return Ok(Line::Passed);
        }
        let mut fields = BlankFields::new(line);
        fields.decimal().ok_or("has no decimal count of instructions in field 1")?;
        let read = fields.decimal().ok_or("has no decimal read address in field 2")?;
        let write_back = match fields.next() {
            Some(field) => {
                Some(scan::decimal(field).ok_or("has no decimal write-back address in field 3")?)
            }
            None => None,
        };
        fields.end().ok_or("does not end after the write-back address in field 3")?;
        output.request(cache_line(Op::Read, read))?;
        if let Some(write_back) = write_back {
            output.request(cache_line(Op::Write, write_back))?;
        }
        Ok(Line::Taken)
    }
}

fn cache_line(op: Op, address: u64) -> Request {
    Request::new(op, address & !u64::from(LINE_BYTES - 1), LINE_BYTES)
}

/// A read begins a line and its write-back ends it, so a line end comes before the next read.
fn write_entry(entry: &Entry, line: &mut Vec<u8>) -> Result<(), &'static str> {
    let address = entry.address;
    match (entry.op, entry.previous_op) {
        (Op::Read, None) => append(line, format_args!("0 {address}")),
        (Op::Read, Some(_)) => append(line, format_args!("\n0 {address}")),
        (Op::Write, Some(Op::Read)) => append(line, format_args!(" {address}")),
        (Op::Write, _) => {
            Err("writes without a read before it, and ramulator has only write-backs that \
                 reads cause; choose another format, or take only the reads")
        }
    }
}
