//! # dramsim2
//!
//! Memory traces of the DRAM simulator DRAMSim2 in its `mase` form (file names begin with `mase_`).
//!
//! **A line** has blanks between three fields:
//!
//! ```text
//! 0x7fff0c40 IFETCH 12
//! 0x0a8d1f80 WRITE 25
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | address | bytes, 1 to 16 hexadecimal digits after `0x` |
//! | command | `READ`, `WRITE`, or `IFETCH`, which reads |
//! | cycle | clock cycle, decimal; ignored, because the length of a cycle is not in the trace |
//!
//! There is not a size: each request touches 1 byte.
//!
//! **Skipped**: blank lines, silently. Every other line is counted as malformed, including those of
//! the `k6` form (`P_MEM_RD`) of DRAMSim2.

use crate::decode::fields::BlankFields;
use crate::decode::lines::{Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::format::Format;
use crate::request::{Op, Request};
use crate::write::target::{Entry, Extent, Target, append};

pub(super) const FORMAT: Format = Format::text::<Dramsim2>(
    "dramsim2",
    "`0x7fff0c40 READ 12`: memory traces of DRAMSim2 in its mase form",
    include_str!("dramsim2.rs"),
)
.written_as(TARGETS);

const TARGETS: &[Target] = &[Target {
    extent: Extent::FIRST_BYTES,
    made_up: Some("each line's cycle is its number"),
    ..Target::new("dramsim2", write_entry)
}];

#[derive(Default)]
struct Dramsim2;

impl LineFormat for Dramsim2 {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        let mut fields = BlankFields::new(line);
        let Some(address) = fields.next() else { return Ok(Line::Passed) };
        let address = scan::without_hex_prefix(address)
            .and_then(scan::hex)
            .ok_or("has no hexadecimal address after 0x in field 1")?;
        let op = match fields.next() {
            Some(b"READ" | b"IFETCH") => Op::Read,
            Some(b"WRITE") => Op::Write,
            _ => return Err("has none of READ, WRITE, IFETCH in field 2".into()),
        };
        fields.decimal().ok_or("has no decimal cycle in field 3")?;
        fields.end().ok_or("does not end after the cycle in field 3")?;
        output.request(Request::new(op, address, 1))?;
        Ok(Line::Taken)
    }
}

fn write_entry(entry: &Entry, line: &mut Vec<u8>) -> Result<(), &'static str> {
    let command = if entry.op == Op::Read { "READ" } else { "WRITE" };
    append(line, format_args!("{:#010x} {command} {}\n", entry.address, entry.index))
}
