//! # ucsd
//!
//! Memory references of SPEC programs from courses at the University of California, San Diego;
//! Caffeine's simulator calls the format `address`.
//!
//! **A line** has blanks between three fields:
//!
//! ```text
//! l 0x1fffff50 1
//! s 0x1fffff58 0
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | kind | `l` loads, `s` stores |
//! | address | bytes, 1 to 16 hexadecimal digits after `0x` |
//! | distance | instructions since the last reference, 0 or more; ignored |
//!
//! There is not a size (each reference touches 1 byte), no time, and instructions are not in the
//! trace.
//!
//! **Skipped**: blank lines, silently. Every other line that is not a reference is counted as
//! malformed.

use crate::decode::fields::BlankFields;
use crate::decode::lines::{Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::format::Format;
use crate::request::{Access, AccessKind, Op};
use crate::write::target::{Entry, Extent, Target, append};

pub(super) const FORMAT: Format = Format {
    holds_processor_accesses: true,
    stream_noun: "stream",
    targets: TARGETS,
    ..Format::text::<Ucsd>(
        "ucsd",
        "`l 0x1fffff50 1`: loads and stores of programs, as used in courses at UCSD",
        include_str!("ucsd.rs"),
    )
};

const TARGETS: &[Target] = &[Target {
    extent: Extent::FIRST_BYTES,
    made_up: Some("distances in instructions are written as 0"),
    ..Target::new("ucsd", write_entry)
}];

#[derive(Default)]
struct Ucsd;

impl LineFormat for Ucsd {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        let mut fields = BlankFields::new(line);
        let kind = match fields.next() {
            Some(b"l") => AccessKind::Load,
            Some(b"s") => AccessKind::Store,
            Some(_) => return Err("has neither l nor s in field 1".into()),
            None => return Ok(Line::Passed),
        };
        let digits = fields.next().and_then(scan::without_hex_prefix);
        let address =
            digits.and_then(scan::hex).ok_or("has no hexadecimal address after 0x in field 2")?;
        fields.decimal().ok_or("has no decimal distance in field 3")?;
        fields.end().ok_or("does not end after the distance in field 3")?;
        output.access(Access { kind, address, bytes: 1 })?;
        Ok(Line::Taken)
    }
}

fn write_entry(entry: &Entry, line: &mut Vec<u8>) -> Result<(), &'static str> {
    let kind = if entry.op == Op::Read { 'l' } else { 's' };
    append(line, format_args!("{kind} {:#010x} 0\n", entry.address))
}
