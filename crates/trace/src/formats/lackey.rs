//! # lackey
//!
//! What `valgrind --tool=lackey --trace-mem=yes PROGRAM` prints: every instruction fetch, load and
//! store of a program.
//!
//! **A line** is a kind, an address and a size:
//!
//! ```text
//! I  0023c790,2
//!  L 1ffefffe8,8
//!  S 04222cac,4
//!  M 0421c7cc,4
//! ```
//!
//! - `I` fetches an instruction, `L` loads, `S` stores, `M` modifies: a load, then a store, of the
//!   same bytes.
//! - `I` begins the line, the others follow one blank; one or more blanks come after them.
//! - The address is in bytes, 1 to 16 hexadecimal digits without `0x`; the size is decimal, in
//!   bytes.
//! - An access may straddle lines of a cache and pages.
//! - Fetches and loads are reads. Behind the CPU cache filter fetches go to the instruction cache,
//!   the rest to the data cache.
//!
//! A line such as `==0== label synthetic: zipf` is a label that `clockhand trace convert` wrote and
//! `clockhand trace info` shows.
//!
//! **Skipped**: superblocks (`SB address`, with `--trace-superblocks=yes`), counted in a note; blank lines and valgrind's own lines (`==pid==`, `--pid--`, `**pid**`), silently.
//! Every other line is counted as malformed; a program's own output ends up in the trace unless
//! `--log-file` keeps them apart.

use crate::decode::labels;
use crate::decode::lines::{Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::format::Format;
use crate::request::{Access, AccessKind, Op};
use crate::write::target::{Entry, Head, Target, append};

pub(super) const FORMAT: Format = Format {
    holds_processor_accesses: true,
    stream_noun: "stream",
    targets: TARGETS,
    ..Format::text::<Lackey>(
        "lackey",
        "` L 1ffefffe8,8`: accesses of a program, from valgrind --tool=lackey --trace-mem=yes",
        include_str!("lackey.rs"),
    )
};

const TARGETS: &[Target] =
    &[Target { keeps_labels: true, ..Target::new("lackey", write_entry) }.with_head(write_head)];

#[derive(Default)]
struct Lackey;

impl LineFormat for Lackey {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        let (kinds, fields): (&[AccessKind], _) = match line {
            [b'I', b' ', fields @ ..] => (&[AccessKind::Fetch], fields),
            [b' ', b'L', b' ', fields @ ..] => (&[AccessKind::Load], fields),
            [b' ', b'S', b' ', fields @ ..] => (&[AccessKind::Store], fields),
            [b' ', b'M', b' ', fields @ ..] => (&[AccessKind::Load, AccessKind::Store], fields),
            _ if line.starts_with(LABEL) => {
                output.report.labels.extend(labels::read(&line[LABEL.len()..]));
                return Ok(Line::Passed);
            }
            [b'S', b'B', b' ', ..] => {
                output.report.pass_over("superblocks");
                return Ok(Line::Passed);
            }
            _ if scan::trimmed(line).is_empty() || is_valgrinds_own(line) => {
                return Ok(Line::Passed);
            }
            _ => return Err("is none of `I `, ` L `, ` S `, ` M ` with address,size".into()),
        };
        let (address, rest) = scan::leading_hex(scan::after_blanks(fields))
            .ok_or("has no hexadecimal address after its kind")?;
        let size = rest.strip_prefix(b",").ok_or("has no comma after the address")?;
        let size =
            scan::decimal(scan::trimmed(size)).ok_or("has no decimal size after the comma")?;
        let bytes = u32::try_from(size).map_err(|_| "has a size above 4294967295 bytes")?;
        for &kind in kinds {
            output.access(Access { kind, address, bytes })?;
        }
        Ok(Line::Taken)
    }
}

/// Returns whether valgrind said this about itself: a process number between two equal marks.
fn is_valgrinds_own(line: &[u8]) -> bool {
    [b"==", b"--", b"**"].into_iter().any(|mark: &[u8; 2]| {
        let number = line.strip_prefix(mark).and_then(scan::leading_decimal);
        number.is_some_and(|(_, rest)| rest.starts_with(mark))
    })
}

/// The beginning of a line that valgrind would not print: no process has the number 0.
const LABEL: &[u8] = b"==0== label ";

fn write_head(head: &Head, text: &mut Vec<u8>) {
    for label in head.labels {
        text.extend_from_slice(LABEL);
        labels::write(label, text);
    }
}

fn write_entry(entry: &Entry, line: &mut Vec<u8>) -> Result<(), &'static str> {
    let kind = if entry.op == Op::Read { 'L' } else { 'S' };
    append(line, format_args!(" {kind} {:08x},{}\n", entry.address, entry.bytes))
}
