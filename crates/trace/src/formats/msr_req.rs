//! # msr-req
//!
//! Block traces of MSR Cambridge as the cache simulator SAC reads them (`hm_0.csv.req`): only
//! operation and place. Not verified on real data.
//!
//! **A line** has blanks between three fields:
//!
//! ```text
//! 1 0 3154124800
//! 9 0 8192
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | action | one character: `1` writes, `0` and `9` read |
//! | | a number that SAC does not use; ignored |
//! | offset | bytes |
//!
//! - There is not a size (each request touches 1 byte), no time and no volume.
//! - SAC itself multiplies the third field by its block size. So offsets that are not multiples of
//!   512 are a sign that the file counts blocks; a note says how many there are.
//!
//! **Skipped**: blank lines, silently. Every other line that is not a request is counted as
//! malformed.
//!
//! **Source**: the repository `cds-ruc/sac`, whose traces are kept elsewhere.

use crate::decode::fields::BlankFields;
use crate::decode::lines::{Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::decode::units::SECTOR_BYTES;
use crate::format::Format;
use crate::report::ReadReport;
use crate::request::{Op, Request};
use crate::source::evidence::Evidence;
use crate::source::sample::Sample;
use crate::write::target::{Entry, Extent, Target, append};

pub(super) const FORMAT: Format = Format::text::<MsrReq>(
    "msr-req",
    "`1 0 3154124800`: operations and offsets of MSR Cambridge traces, as SAC reads them (.csv.req)",
    include_str!("msr_req.rs"),
)
.written_as(TARGETS)
.doubted_by(doubt);

const TARGETS: &[Target] = &[Target {
    endings: &["req"],
    extent: Extent::FIRST_BYTES,
    ..Target::new("msr-req", write_entry)
}];

/// Three numbers may be anything; the action 9 is a mark of this format.
fn doubt(sample: &Sample) -> Option<String> {
    let table = Evidence::between_blanks(sample);
    let has_mark = table.fields(1).any(|action| action == b"9");
    let unmarked = (!has_mark).then(|| "field 1 never is 9, the action of reads".to_owned());
    unmarked.or_else(|| table.not_multiples(3, SECTOR_BYTES, "offsets"))
}

#[derive(Default)]
struct MsrReq {
    unaligned_offsets: u64,
}

impl LineFormat for MsrReq {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        if scan::after_blanks(line).is_empty() {
            return Ok(Line::Passed);
        }
        let mut fields = BlankFields::new(line);
        let op = match fields.next() {
            Some(b"0" | b"9") => Op::Read,
            Some(b"1") => Op::Write,
            _ => return Err("has no action 0, 1 or 9 in field 1".into()),
        };
        fields.decimal().ok_or("has no decimal number in field 2")?;
        let address = fields.decimal().ok_or("has no decimal offset in field 3")?;
        fields.end().ok_or("does not end after the offset in field 3")?;
        self.unaligned_offsets += u64::from(address % SECTOR_BYTES != 0);
        output.request(Request::new(op, address, 1))?;
        Ok(Line::Taken)
    }

    fn end(&mut self, report: &mut ReadReport) {
        report.notes.push("the format has no sizes: each request touches 1 byte".to_owned());
        if self.unaligned_offsets > 0 {
            report.notes.push(format!(
                "{} offsets are not multiples of 512 bytes: the file may count blocks, and then every address is too small",
                self.unaligned_offsets
            ));
        }
    }
}

fn write_entry(entry: &Entry, line: &mut Vec<u8>) -> Result<(), &'static str> {
    let action = if entry.op == Op::Read { 9 } else { 1 };
    append(line, format_args!("{action} 0 {}\n", entry.address))
}
