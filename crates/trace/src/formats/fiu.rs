//! # fiu
//!
//! Block traces of servers and home directories at Florida International University, from the
//! SNIA IOTTA repository.
//!
//! **A line** has blanks between nine fields:
//!
//! ```text
//! 89968195792462 20782 gzip 283193184 8 R 6 0 56f11b711d91a065a2b6458eca924523
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | time | nanoseconds |
//! | process | number; ignored |
//! | name | name of the process, which may contain blanks; ignored |
//! | address | sectors of 512 bytes |
//! | size | sectors of 512 bytes |
//! | operation | `R` or `W` |
//! | major | major number of the device |
//! | minor | minor number of the device |
//! | digest | MD5 of the content; ignored |
//!
//! - Major and minor number together are the stream; it is named `6,0`.
//! - Because a name may contain blanks, the fields behind it are counted from the end of the line.
//! - The times are checked for plausibility.
//!
//! **Skipped**: blank lines, silently. Every other line that is not a request is counted as
//! malformed.
//!
//! **Source**: Koller and Rangaswami: I/O Deduplication, FAST 2010, and the README of the trace set.

use crate::decode::columns::Streams;
use crate::decode::fields::BlankFields;
use crate::decode::lines::{Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::decode::time_check::TimeUnit;
use crate::decode::units;
use crate::format::Format;
use crate::request::{Op, Request};
use crate::write::target::{Entry, Extent, StreamField, Target, TimeField, append, letter};

pub(super) const FORMAT: Format = Format::text::<Fiu>(
    "fiu",
    "`89968195792462 20782 gzip 283193184 8 R 6 0 56f1…4523`: block traces of FIU",
    include_str!("fiu.rs"),
)
.with_streams_of("device")
.written_as(TARGETS);

const TARGETS: &[Target] = &[Target {
    extent: Extent::SECTORS,
    time: Some(TimeField::NANOSECONDS),
    streams: StreamField::Names {
        given: major_and_minor,
        numbered: |stream| format!("0 {stream}"),
    },
    made_up: Some("processes and digests are written as 0"),
    ..Target::new("fiu", write_entry)
}];

struct Fiu {
    devices: Streams,
    /// The name of the device of one line; kept from line to line.
    device: Vec<u8>,
}

impl Default for Fiu {
    fn default() -> Self {
        Self { devices: Streams::of_names(), device: Vec::new() }
    }
}

/// The fields that are used.
#[derive(PartialEq, Debug)]
struct Fields<'a> {
    time_ns: u64,
    sector: u64,
    sectors: u64,
    op: Op,
    major: &'a [u8],
    minor: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Reads a line with single blanks and a name without any, which most are, in one go; `None` for another.
    #[inline]
    fn of_plain(line: &'a [u8]) -> Option<Self> {
        let (time_ns, rest) = scan::decimal_before(line, b' ')?;
        let (_, from_name) = scan::decimal_before(rest, b' ')?;
        let name_bytes = from_name.iter().position(|&byte| byte == b' ')?;
        let (sector, rest) = scan::decimal_before(&from_name[name_bytes + 1..], b' ')?;
        let (sectors, rest) = scan::decimal_before(rest, b' ')?;
        let (op, from_major) = match rest {
            [b'R', b' ', rest @ ..] => (Op::Read, rest),
            [b'W', b' ', rest @ ..] => (Op::Write, rest),
            _ => return None,
        };
        let (_, from_minor) = scan::decimal_before(from_major, b' ')?;
        let (_, digest) = scan::decimal_before(from_minor, b' ')?;
        // Without an end before the last byte the compiler looks at many bytes at once.
        let is_blank = |byte: u8| byte == b' ' || byte == b'\t';
        let has_blank = digest.iter().fold(false, |any, &byte| any | is_blank(byte));
        let major = &from_major[..from_major.len() - from_minor.len() - 1];
        let minor = &from_minor[..from_minor.len() - digest.len() - 1];
        let is_plain = !digest.is_empty() && !has_blank;
        is_plain.then_some(Fields { time_ns, sector, sectors, op, major, minor })
    }

    /// Reads any line.
    fn of(line: &'a [u8]) -> Result<Self, &'static str> {
        let mut fields = BlankFields::new(line);
        let time_ns = fields.decimal().ok_or("has no whole nanoseconds in field 1")?;
        fields.decimal().ok_or("has no decimal process in field 2")?;
        fields.next_back().ok_or("has no digest at its end")?;
        let mut number_before =
            || fields.next_back().filter(|field| scan::decimal(field).is_some());
        let minor = number_before().ok_or("has no decimal minor number before the digest")?;
        let major = number_before().ok_or("has no decimal major number before the minor number")?;
        let op = fields.next_back().and_then(scan::op);
        let op = op.ok_or("has no R or W before the major number")?;
        let mut decimal_before = || fields.next_back().and_then(scan::decimal);
        let sectors = decimal_before().ok_or("has no decimal size before the operation")?;
        let sector = decimal_before().ok_or("has no decimal address before the size")?;
        Ok(Fields { time_ns, sector, sectors, op, major, minor })
    }
}

impl LineFormat for Fiu {
    const TIME_UNIT: Option<TimeUnit> = Some(TimeUnit::of_recordings("nanoseconds"));

    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        let fields = match Fields::of_plain(line) {
            Some(fields) => fields,
            None if scan::after_blanks(line).is_empty() => return Ok(Line::Passed),
            None => Fields::of(line)?,
        };
        let Fields { time_ns, sector, sectors, op, major, minor } = fields;
        self.device.clear();
        self.device.extend_from_slice(major);
        self.device.push(b',');
        self.device.extend_from_slice(minor);
        let stream = self.devices.number(&self.device, &mut output.report)?;
        let (address, size_bytes) = units::sector_range(sector, sectors)?;
        output
            .request_of(size_bytes, Request::new(op, address, 0).in_stream(stream).at(time_ns))?;
        Ok(Line::Taken)
    }
}

/// A device such as `6,0` as the fields major and minor.
fn major_and_minor(name: &str) -> Option<String> {
    let (major, minor) = name.split_once(',')?;
    let is_number = |text: &str| scan::decimal(text.as_bytes()).is_some();
    (is_number(major) && is_number(minor)).then(|| format!("{major} {minor}"))
}

fn write_entry(entry: &Entry, line: &mut Vec<u8>) -> Result<(), &'static str> {
    let (sector, sectors) = units::sectors(entry);
    let (op, Entry { time_ns, stream_name: device, .. }) = (letter(entry.op), entry);
    append(line, format_args!("{time_ns} 0 - {sector} {sectors} {op} {device} {:032x}\n", 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_read_in_one_go_has_the_fields_of_any() {
        let fields = ["1", "20782", "a b", "8", "R", "6", "", "0x", "18446744073709551616", "w\t7"];
        let plain = ["89968195792462", "20782", "gzip", "283193184", "8", "R", "6", "0", "56f1"];
        assert!(Fields::of_plain(plain.join(" ").as_bytes()).is_some());
        for place in 0..plain.len() {
            for (other, blanks) in fields.iter().flat_map(|field| [(field, " "), (field, "  ")]) {
                let mut line = plain;
                line[place] = other;
                for end in ["", " ", " more"] {
                    let line = line.join(blanks) + end;
                    if let Some(fields) = Fields::of_plain(line.as_bytes()) {
                        assert_eq!(Ok(fields), Fields::of(line.as_bytes()), "{line}");
                    }
                }
            }
        }
    }
}
