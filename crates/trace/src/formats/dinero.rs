//! # dinero
//!
//! The traditional input of the cache simulators Dinero III and IV (`din`).
//!
//! **A line** is a label and an address with blanks between them; more columns may follow and are
//! ignored:
//!
//! ```text
//! 2 408ed4
//! 0 10019d94
//! 1 10019d88
//! ```
//!
//! - Label `0` reads data, `1` writes data, `2` fetches an instruction.
//! - The address is in bytes: 1 to 16 hexadecimal digits, with or without `0x`.
//! - There is not a size (each reference touches 1 byte) and no time.
//!
//! Addresses without any letter may be decimal, and then the table is something else, so that the format must be
//! named.
//!
//! **Skipped**: the escape records `3` and `4`, counted in a note, and blank lines, silently. Every
//! other line is counted as malformed.

use crate::decode::fields::BlankFields;
use crate::decode::lines::{self, Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::format::{Confidence, Format};
use crate::request::{Access, AccessKind, Op};
use crate::source::evidence::Evidence;
use crate::source::sample::Sample;
use crate::write::target::{Entry, Extent, Target, append};

pub(super) const FORMAT: Format = Format {
    holds_processor_accesses: true,
    sniff,
    doubt,
    stream_noun: "stream",
    targets: TARGETS,
    ..Format::text::<Dinero>(
        "dinero",
        "`0 10019d94`: loads, stores and fetches for the cache simulator Dinero (din)",
        include_str!("dinero.rs"),
    )
};

const TARGETS: &[Target] = &[Target {
    endings: &["din"],
    extent: Extent::FIRST_BYTES,
    ..Target::new("dinero", write_entry)
}];

const HIGHEST_LABEL: u64 = 4;

/// Other formats begin with a number too, but theirs grows above the labels, or their second column
/// is not an address.
fn sniff(sample: &Sample) -> Confidence {
    let mut labels = sample.lines().filter_map(|line| BlankFields::new(line).decimal());
    let addresses = sample.lines().filter_map(|line| BlankFields::new(line).nth(1));
    let addresses = addresses.map(|field| scan::hex(digits(field)));
    if labels.all(|label| label <= HIGHEST_LABEL) && are_of_a_program(addresses) {
        lines::sniff::<Dinero>(sample)
    } else {
        Confidence::Unfit
    }
}

/// Labels and decimal numbers fit too; hexadecimal ones show a letter sooner or later.
fn doubt(sample: &Sample) -> Option<String> {
    let table = Evidence::between_blanks(sample);
    let is_decimal = table.fields(2).all(|address| scan::decimal(address).is_some());
    is_decimal.then(|| "no address in field 2 has a letter, so that they may be decimal".to_owned())
}

/// Programs leave the first page alone, so at most one address in four is in it; fields that are no
/// number are left to the format.
pub(super) fn are_of_a_program(addresses: impl Iterator<Item = Option<u64>>) -> bool {
    const FIRST_PAGE_BYTES: u64 = 4096;
    let (mut all, mut in_first_page) = (0_u64, 0);
    for address in addresses.flatten() {
        all += 1;
        in_first_page += u64::from(address < FIRST_PAGE_BYTES);
    }
    4 * in_first_page <= all
}

fn digits(field: &[u8]) -> &[u8] {
    scan::without_hex_prefix(field).unwrap_or(field)
}

#[derive(Default)]
struct Dinero;

impl LineFormat for Dinero {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        let mut fields = BlankFields::new(line);
        let kind = match fields.next() {
            Some(b"0") => AccessKind::Load,
            Some(b"1") => AccessKind::Store,
            Some(b"2") => AccessKind::Fetch,
            Some(b"3" | b"4") => {
                output.report.pass_over("escape records");
                return Ok(Line::Passed);
            }
            Some(_) => return Err("has no label 0 to 4 in field 1".into()),
            None => return Ok(Line::Passed),
        };
        let field = fields.next().unwrap_or_default();
        let address = scan::hex(digits(field)).ok_or("has no hexadecimal address in field 2")?;
        output.access(Access { kind, address, bytes: 1 })?;
        Ok(Line::Taken)
    }
}

fn write_entry(entry: &Entry, line: &mut Vec<u8>) -> Result<(), &'static str> {
    let label = u8::from(entry.op == Op::Write);
    append(line, format_args!("{label} {:x}\n", entry.address))
}
