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
//! **Skipped**: blank lines, silently. Every other line that is not a reference is counted as
//! malformed.

use crate::format::Format;
use crate::lines::{Line, LineFormat};
use crate::output::{Fault, Output};
use crate::request::{Op, Request};
use crate::scan;
use crate::target::{Entry, Extent, Target, append, letter};

pub(super) const FORMAT: Format = Format {
    holds_processor_accesses: true,
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
