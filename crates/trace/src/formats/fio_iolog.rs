//! # fio-iolog
//!
//! What fio writes with `write_iolog` and replays with `read_iolog`, versions 2 and 3.
//!
//! **The first line** names the version; **a line** of version 2 has blanks between a file, an
//! action and, for most actions, an offset and a length:
//!
//! ```text
//! fio version 2 iolog
//! /dev/sdb add
//! /dev/sdb open
//! /dev/sdb write 8192 4096
//! ```
//!
//! Version 3 puts a time before each:
//!
//! ```text
//! fio version 3 iolog
//! 2 /dev/sdb add
//! 878 /dev/sdb write 8192 4096
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | time (version 3) | microseconds from the start |
//! | file | a name without blanks: the stream |
//! | action | `read` and `write` are requests |
//! | offset | bytes |
//! | length | bytes |
//!
//! - Files are numbered in the order of their first line that reads, writes, trims or syncs.
//! - `sync` and `datasync` are syncs of the file, `syncfs` of all files, `trim` is a discard; write
//!   buffers take them as FLUSH and TRIM. Commands that take reads and writes only leave them out, and
//!   count them.
//! - Version 2 has no times: what fio's manual says about the unit of `wait` is not what fio does.
//! - The times are checked for plausibility: tools that imitate version 3 differ in the unit.
//!
//! **Skipped**: blank lines, silently; the first line, file actions (`add`, `open`, `close`,
//! `unlink`), `sync_file_range` and `wait`, counted in a note. Every other line that is not a request is counted as malformed; version 1 is refused.
//!
//! **Source**: the chapter on trace files in fio's manual, and iolog.c of fio.

use crate::decode::columns::Streams;
use crate::decode::fields::BlankFields;
use crate::decode::lines::{self, Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::decode::time_check::TimeUnit;
use crate::error::TraceError;
use crate::event::{Action, Event};
use crate::format::{Confidence, Decoder, Format};
use crate::request::{Op, Request};
use crate::source::Source;
use crate::source::sample::{Sample, quoted};
use crate::write::target::{Entry, StreamField, Target, TimeField, append};

pub(super) const FORMAT: Format = Format {
    sniff,
    open,
    stream_noun: "file",
    targets: TARGETS,
    ..Format::text::<FioIolog>(
        "fio-iolog",
        "`/dev/sdb write 8192 4096`: logs of fio, write_iolog, versions 2 and 3",
        include_str!("fio_iolog.rs"),
    )
};

const TARGETS: &[Target] = &[
    Target {
        time: Some(TimeField::MICROSECONDS.counted_from_start()),
        endings: &["iolog"],
        streams: FILES,
        ..VERSION_3
    },
    Target { streams: FILES, ..VERSION_2 },
];

const VERSION_3: Target = Target::new("fio-iolog-v3", |entry, text| {
    let time_us = entry.time_ns / MICROSECOND_NS;
    write_actions(entry, format_args!("{time_us} "), text)
})
.with_head(|_, text| text.extend_from_slice(b"fio version 3 iolog\n"));

const VERSION_2: Target =
    Target::new("fio-iolog-v2", |entry, text| write_actions(entry, format_args!(""), text))
        .with_head(|_, text| text.extend_from_slice(b"fio version 2 iolog\n"));

const FILES: StreamField = StreamField::Names {
    given: |name| is_file(name).then(|| name.to_owned()),
    numbered: |stream| format!("stream-{stream}"),
};

fn is_file(name: &str) -> bool {
    !name.is_empty() && !name.contains(|character: char| character.is_ascii_whitespace())
}

/// A file is added and opened before its first request, which is what fio asks for.
fn write_actions(
    entry: &Entry,
    time: std::fmt::Arguments,
    text: &mut Vec<u8>,
) -> Result<(), &'static str> {
    let Entry { stream_name: file, address, bytes, .. } = entry;
    if entry.begins_stream {
        append(text, format_args!("{time}{file} add\n{time}{file} open\n"))?;
    }
    let action = if entry.op == Op::Read { "read" } else { "write" };
    append(text, format_args!("{time}{file} {action} {address} {bytes}\n"))
}

const MICROSECOND_NS: u64 = 1_000;

/// The first line is a mark of its own, also when its version is one that is refused.
fn sniff(sample: &Sample) -> Confidence {
    match sample.lines().find(|line| !scan::after_blanks(line).is_empty()) {
        Some(line) if line.starts_with(b"fio version ") && sample.is_text() => Confidence::Certain,
        _ => Confidence::Unfit,
    }
}

fn open(source: &mut Source, output: &mut Output) -> Result<Box<dyn Decoder>, TraceError> {
    output.holds_events = true;
    lines::open::<FioIolog>(source, output)
}

/// Whether lines begin with a time.
#[derive(Clone, Copy)]
enum Version {
    Two,
    Three,
}

struct FioIolog {
    /// Known after the first line.
    version: Option<Version>,
    files: Streams,
}

impl Default for FioIolog {
    fn default() -> Self {
        Self { version: None, files: Streams::of_names() }
    }
}

impl LineFormat for FioIolog {
    const TIME_UNIT: Option<TimeUnit> = Some(TimeUnit::of_benchmarks("microseconds"));

    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        let text = scan::trimmed(line);
        if text.is_empty() {
            return Ok(Line::Passed);
        }
        let Some(version) = self.version else {
            self.version = Some(version(text)?);
            output.report.pass_over("header lines");
            return Ok(Line::Passed);
        };
        let mut fields = BlankFields::new(text);
        let time_ns = match version {
            Version::Two => None,
            Version::Three => Some(
                fields
                    .decimal()
                    .and_then(|time_us| time_us.checked_mul(MICROSECOND_NS))
                    .ok_or("has no whole microseconds in field 1")?,
            ),
        };
        let file = fields.next().ok_or("has no file")?;
        let action = fields.next().ok_or("has no action after the file")?;
        let op = match action {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" | b"sync" | b"datasync" | b"syncfs" => {
                let action = event_action(action, &mut fields)?;
                let object = self.files.number(file, &mut output.report)?;
                output.event(Event { object, time_ns, action })?;
                return Ok(Line::Taken);
            }
            action => {
                output.report.pass_over(other_action(action)?);
                return Ok(Line::Passed);
            }
        };
        let address = fields.decimal().ok_or("has no decimal offset after the action")?;
        let length = fields.decimal().ok_or("has no decimal length after the offset")?;
        fields.end().ok_or("does not end after the length")?;
        let stream = self.files.number(file, &mut output.report)?;
        output.request_of(length, Request { stream, time_ns, ..Request::new(op, address, 0) })?;
        Ok(Line::Taken)
    }
}

fn version(first_line: &[u8]) -> Result<Version, Fault> {
    match first_line {
        b"fio version 2 iolog" => Ok(Version::Two),
        b"fio version 3 iolog" => Ok(Version::Three),
        _ => Err(Fault::Trace(
            format!(
                "the first line is {} and must be \"fio version 2 iolog\" or \"fio version 3 iolog\"; \
                 write the log again with a newer fio, or name another format",
                quoted(first_line)
            )
            .into(),
        )),
    }
}

/// What an action that neither reads nor writes is.
fn event_action(action: &[u8], fields: &mut BlankFields) -> Result<Action, Fault> {
    match action {
        b"syncfs" => Ok(Action::SyncAll),
        b"trim" => {
            let address = fields.decimal().ok_or("has no decimal offset after the action")?;
            let bytes = fields.decimal().ok_or("has no decimal length after the offset")?;
            address.checked_add(bytes).ok_or("runs past the end of the 64-bit address space")?;
            Ok(Action::Discard { address, bytes })
        }
        _ => Ok(Action::Sync),
    }
}

/// The name of an action without an event, in the plural.
fn other_action(action: &[u8]) -> Result<&'static str, Fault> {
    match action {
        b"add" | b"open" | b"close" | b"unlink" => Ok("file actions"),
        b"sync_file_range" => Ok("syncs of ranges"),
        b"wait" => Ok("waits"),
        _ => Err(format!("has the action {}, which fio does not know", quoted(action)).into()),
    }
}
