//! # os-course
//!
//! Memory references of SPEC programs as operating-system courses hand them out for exercises in page
//! replacement.
//!
//! **A line** is an address and `R` or `W`:
//!
//! ```text
//! 0041f7a0 R
//! 31348900 W
//! ```
//!
//! - The address is in bytes: 1 to 16 hexadecimal digits of either case, with or without `0x`.
//! - White space separates address and operation; the operation may be in either case.
//! - There is not a size (each reference touches 1 byte), no time, and instructions are not distinguished
//!   from data.
//!
//! Addresses without any letter may be decimal, so the format must be named. Those of eight digits that all begin pages need no
//! name, unless they would be multiples of 512 as decimal numbers too.
//!
//! **Skipped**: blank lines, silently. Every other line that is not a reference is counted as
//! malformed.

use crate::decode::lines::{Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::format::Format;
use crate::request::{Op, Request};
use crate::source::evidence::Evidence;
use crate::source::sample::Sample;
use crate::write::target::{Entry, Extent, Target, append, letter};

pub(super) const FORMAT: Format = Format {
    holds_processor_accesses: true,
    doubt,
    stream_noun: "stream",
    targets: TARGETS,
    ..Format::text::<OsCourse>(
        "os-course",
        "`0041f7a0 R`: hexadecimal addresses of memory references, as used in courses",
        include_str!("os_course.rs"),
    )
};

const TARGETS: &[Target] =
    &[Target { extent: Extent::FIRST_BYTES, ..Target::new("os-course", write_entry) }];

/// Decimal addresses fit too. Hexadecimal ones show a letter, or begin pages that they would not begin if they were decimal.
fn doubt(sample: &Sample) -> Option<String> {
    const PAGE_BYTES: u64 = 4096;
    const SECTOR_BYTES: u64 = 512;
    let table = Evidence::between_blanks(sample);
    if table.fields(1).any(|address| address.iter().any(u8::is_ascii_alphabetic)) {
        return None;
    }
    let all = |is: fn(u64, u64) -> bool| {
        table.fields(1).all(|address| {
            let (hex, decimal) = (scan::leading_hex(address), scan::decimal(address));
            hex.zip(decimal).is_some_and(|((hex, _), decimal)| is(hex, decimal))
        })
    };
    let are_filled = table.fields(1).all(|address| address.len() == 8);
    let are_pages = all(|hex, _| hex.is_multiple_of(PAGE_BYTES));
    let are_sectors = all(|_, decimal| decimal.is_multiple_of(SECTOR_BYTES));
    let are_the_same = all(|hex, decimal| hex == decimal);
    (!(are_the_same || are_filled && are_pages && !are_sectors))
        .then(|| "no address in field 1 has a letter, so that they may be decimal".to_owned())
}

#[derive(Default)]
struct OsCourse;

impl LineFormat for OsCourse {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        let text = scan::after_blanks(line);
        if text.is_empty() {
            return Ok(Line::Passed);
        }
        let digits = scan::without_hex_prefix(text).unwrap_or(text);
        let (address, rest) =
            scan::leading_hex(digits).ok_or("has no address of 1 to 16 hexadecimal digits")?;
        if !matches!(rest, [b' ' | b'\t', ..]) {
            return Err("has no white space after the address".into());
        }
        let op = match scan::trimmed(rest) {
            b"R" | b"r" => Op::Read,
            b"W" | b"w" => Op::Write,
            _ => return Err("has no R or W after the address".into()),
        };
        output.request(Request::new(op, address, 1))?;
        Ok(Line::Taken)
    }
}

fn write_entry(entry: &Entry, line: &mut Vec<u8>) -> Result<(), &'static str> {
    append(line, format_args!("{:08x} {}\n", entry.address, letter(entry.op)))
}
