//! # memtrace
//!
//! References of programs as the memory traces of the group behind CLOCK-DNV, CRAW and the SCM paper have them.
//!
//! **A line** is a kind, an address and a size, with white space between them:
//!
//! ```text
//! readi    0x04001A10    2
//! readd    0x04031580    4
//! write    0xBEFF0AC0    4
//! ```
//!
//! - `readi` fetches an instruction, `readd` loads, `write` stores.
//! - The address is in bytes, hexadecimal, with or without `0x`; the size is decimal, in bytes.
//! - There is no time.
//!
//! **Skipped**: blank lines, silently. Every other line is counted as malformed.
//!
//! **Source**: the public traces oslab-ewha/memtrace.

use crate::decode::fields::BlankFields;
use crate::decode::lines::{self, Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::format::{Confidence, Format};
use crate::request::{Access, AccessKind};
use crate::source::sample::Sample;

pub(super) const FORMAT: Format = Format {
    holds_processor_accesses: true,
    sniff,
    ..Format::text::<MemTrace>(
        "memtrace",
        "`readd 0x04031580 4`: fetches, loads and stores of programs, from oslab-ewha's memtrace",
        include_str!("memtrace.rs"),
    )
};

/// The words are a mark of their own.
fn sniff(sample: &Sample) -> Confidence {
    match lines::sniff::<MemTrace>(sample) {
        Confidence::Unfit => Confidence::Unfit,
        _ => Confidence::Certain,
    }
}

#[derive(Default)]
struct MemTrace;

impl LineFormat for MemTrace {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        let mut fields = BlankFields::new(line);
        let kind = match fields.next() {
            None => return Ok(Line::Passed),
            Some(b"readi") => AccessKind::Fetch,
            Some(b"readd") => AccessKind::Load,
            Some(b"write" | b"writed") => AccessKind::Store,
            Some(_) => return Err("does not begin with readi, readd or write".into()),
        };
        let address = fields.next().unwrap_or_default();
        let address = scan::hex(scan::without_hex_prefix(address).unwrap_or(address))
            .ok_or("has no hexadecimal address in field 2")?;
        let size = fields.decimal().ok_or("has no decimal size in field 3")?;
        fields.end().ok_or("does not end after the size in field 3")?;
        let bytes = u32::try_from(size).map_err(|_| "has a size above 4294967295 bytes")?;
        output.access(Access { kind, address, bytes })?;
        Ok(Line::Taken)
    }
}
