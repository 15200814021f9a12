//! # drmemtrace-view
//!
//! What DynamoRIO's view tool prints of a memory trace: `drrun -t drmemtrace -tool view -indir DIR`.
//!
//! **A line** has numbers of the record, the instruction and the thread, then what it is:
//!
//! ```text
//!            2           1:       77001 ifetch       3 byte(s) @ 0x00005600001000a0 48 89 e7             mov    %rsp, %rdi
//!            3           1:       77001 write        8 byte(s) @ 0x00007ffc00001100 by PC 0x00005600001000a3
//! ```
//!
//! - `ifetch` fetches an instruction, `read` loads, `write` stores; the size is decimal, the address hexadecimal.
//! - All threads share one address space: there is one stream.
//! - There is no time.
//!
//! **Skipped**: blank lines, headings and totals, silently; markers, prefetches, flushes and all else without an access,
//! counted in a note.
//!
//! **Source**: the view tool of DynamoRIO's drmemtrace.

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
    ..Format::text::<View>(
        "drmemtrace-view",
        "`3 1: 77001 write 8 byte(s) @ 0x7ffc00001100 …`: accesses as DynamoRIO's view tool prints them",
        include_str!("drmemtrace_view.rs"),
    )
};

const MARK: &[u8] = b" byte(s) @ 0x";

/// The way the tool writes sizes is a mark.
fn sniff(sample: &Sample) -> Confidence {
    match lines::sniff::<View>(sample) {
        Confidence::Unfit => Confidence::Unfit,
        _ => Confidence::Certain,
    }
}

#[derive(Default)]
struct View;

impl LineFormat for View {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        let text = scan::trimmed(line);
        if text.is_empty() {
            return Ok(Line::Passed);
        }
        let Some(mark) = memchr::memmem::find(text, MARK) else {
            if text.contains(&b'<') {
                output.report.pass_over("markers and other records without an access");
                return Ok(Line::Passed);
            }
            let is_heading = !text.first().is_some_and(u8::is_ascii_digit);
            let is_total = memchr::memmem::find(text, b" : ").is_some();
            if is_heading || is_total {
                return Ok(Line::Passed);
            }
            return Err("has no access such as read 8 byte(s) @ 0x7ffc00001108".into());
        };
        let mut before = BlankFields::new(&text[..mark]);
        let size = before.next_back().and_then(scan::decimal).ok_or("has no decimal size")?;
        let kind = match before.next_back().unwrap_or_default() {
            b"ifetch" => AccessKind::Fetch,
            b"read" => AccessKind::Load,
            b"write" => AccessKind::Store,
            kind if kind.first().is_some_and(u8::is_ascii_alphabetic) => {
                output.report.pass_over("prefetches and flushes");
                return Ok(Line::Passed);
            }
            _ => return Err("has no kind in front of its size".into()),
        };
        let (address, _) = scan::leading_hex(&text[mark + MARK.len()..])
            .ok_or("has no hexadecimal address behind its size")?;
        let bytes = u32::try_from(size).map_err(|_| "has a size above 4294967295 bytes")?;
        output.access(Access { kind, address, bytes })?;
        Ok(Line::Taken)
    }
}
