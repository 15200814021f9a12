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
//! Addresses without any letter may be decimal, so that the format must be named, unless all are filled up to eight digits.
//!
//! **Skipped**: blank lines, silently. Every other line that is not a reference is counted as
//! malformed.

use crate::evidence::Evidence;
use crate::format::Format;
use crate::lines::{Line, LineFormat};
use crate::output::{Fault, Output};
use crate::request::{Op, Request};
use crate::sample::Sample;
use crate::scan;
use crate::target::{Entry, Extent, Target, append, letter};

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

/// Decimal addresses fit too. Hexadecimal ones show a letter, or are filled up with zeros, unless they are few.
fn doubt(sample: &Sample) -> Option<String> {
    /// By chance, one in a hundred thousand lists of as many hexadecimal digits has no letter.
    const DIGITS_WITHOUT_A_LETTER: usize = 24;
    let table = Evidence::between_blanks(sample);
    let has_letter = |address: &[u8]| address.iter().any(u8::is_ascii_alphabetic);
    if table.fields(1).any(has_letter) {
        return None;
    }
    // Numbers that are filled up to eight digits are those of this format.
    let has_width = |address: &[u8]| address.len() == 8;
    if table.fields(1).all(has_width) && table.fields(1).any(|address| address.starts_with(b"0")) {
        return None;
    }
    let is_filled = |address: &[u8]| address.len() >= 8 && address.starts_with(b"0");
    let digits: usize = table
        .fields(1)
        .map(|address| {
            address
                .iter()
                .skip_while(|&&digit| digit == b'0')
                .filter(|&&digit| digit != b'0')
                .count()
        })
        .sum();
    let are_filled = table.fields(1).all(|address| address.len() == 8 || is_filled(address));
    (!are_filled || digits > DIGITS_WITHOUT_A_LETTER)
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
