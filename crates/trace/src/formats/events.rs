//! # events
//!
//! What happens to a page cache, one event per line, as text: memory accesses, calls on files, syncs,
//! truncations, deletions. The project's own format; Parquet holds the same.
//!
//! **A line** has blanks between its fields:
//!
//! ```text
//! length f1 3p
//! @0.5 cw f1 0 4096
//! @0.5 mr a1 0x7f00 8
//! @2 sync *
//! ```
//!
//! | line | meaning |
//! |---|---|
//! | `mr OBJECT ADDRESS SIZE`, `mw …` | memory is read, written |
//! | `cr FILE OFFSET SIZE [PROCESS]`, `cw …` | a call reads, writes; of a reading call SIZE is what it returned |
//! | `dr FILE OFFSET SIZE`, `dw …` | a call past the cache (O_DIRECT) reads, writes |
//! | `fw OBJECT ADDRESS SIZE` | memory or a device is written with force unit access |
//! | `length FILE BYTES` | the length of the file, at its first event |
//! | `sync FILE`, `sync *` | the dirty pages of the file, of all files, are written |
//! | `truncate FILE BYTES` | the file gets this length |
//! | `delete FILE` | the file is gone |
//! | `release OBJECT [ADDRESS SIZE]` | the range, or all, is unmapped |
//! | `discard OBJECT OFFSET SIZE` | the content of the range is not needed any more (TRIM, a hole) |
//!
//! - A line may begin with `@SECONDS`, a decimal number; a line without it has the time of the previous
//!   one. A time that is earlier than the previous one counts as the previous one.
//! - Objects are `a<number>`, anonymous memory, and `f<number>`, a file; each is a stream, numbered
//!   in the order of their first events.
//! - Numbers are decimal or `0x…`; `3p` is 3 times 4096. No byte lies beyond 2^63.
//! - `#` begins a comment. A line `# object f1: NAME` before the first event of `f1` names it; other
//!   lines `# KEY: VALUE` are labels.
//! - All commands except `pagecache` take `mr`, `mw`, `cr`, `cw` and `fw` as requests (`ssd` also syncs and discards,
//!   `filecache` also deletions, truncations and discards); they leave out the other lines and count them in a note.
//!
//! **Skipped**: blank lines and comments, silently; accesses of size 0, which do nothing, are
//! counted. A line that is not an event is an error: what it would have changed is unknown.

use rustc_hash::FxHashMap;

use crate::decode::fields::BlankFields;
use crate::decode::labels;
use crate::decode::lines::{self, Line, LineFormat};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::error::TraceError;
use crate::event::{Action, Event, ObjectKind};
use crate::format::{Confidence, Decoder, Format};
use crate::request::Op;
use crate::source::Source;
use crate::source::sample::Sample;
use crate::write::target::Target;

pub(super) const FORMAT: Format = Format {
    sniff,
    open,
    stream_noun: "object",
    targets: &[Target::events("events")],
    ..Format::text::<Events>(
        "events",
        "`cw f1 0 4096`: accesses, calls, syncs and truncations for a page cache, as text",
        include_str!("events.rs"),
    )
};

/// Lines count that begin as an event does: the format says itself what is wrong with the rest of one.
fn sniff(sample: &Sample) -> Confidence {
    const LINES_TRIED: usize = 400;
    if !sample.is_text() {
        return Confidence::Unfit;
    }
    let (mut fitting, mut others) = (0, 0);
    for line in sample.lines().take(LINES_TRIED) {
        let end = memchr::memchr(b'#', line).unwrap_or(line.len());
        let mut words = BlankFields::new(&line[..end]).filter(|word| !word.starts_with(b"@"));
        let Some(word) = words.next() else { continue };
        let label = words.next().unwrap_or_default();
        if WORDS.contains(&word) && (label == b"*" || object(label).is_ok()) {
            fitting += 1;
        } else {
            others += 1;
        }
    }
    if fitting > others { Confidence::Likely } else { Confidence::Unfit }
}

fn open(source: &mut Source, output: &mut Output) -> Result<Box<dyn Decoder>, TraceError> {
    output.holds_events = true;
    lines::open_as(Events::default(), source, output)
}

const WORDS: [&[u8]; 13] = [
    b"mr",
    b"mw",
    b"cr",
    b"cw",
    b"dr",
    b"dw",
    b"fw",
    b"length",
    b"sync",
    b"truncate",
    b"delete",
    b"release",
    b"discard",
];
/// What `3p` counts.
const PAGE_BYTES: u64 = 4096;
/// The end of what files and address spaces can hold.
const END_BYTES: u64 = 1 << 63;
/// How a comment begins that names an object.
const NAME_COMMENT: &[u8] = b"object ";

#[derive(Default)]
struct Events {
    /// The stream of each label (`f1`).
    objects: FxHashMap<(ObjectKind, u64), u32>,
    /// Names that comments gave, until the first event of the object.
    names: FxHashMap<Vec<u8>, String>,
    /// Letters of all names that comments gave.
    letters: u64,
}

/// Bytes of an object, or of a name that waits for one, beside its letters.
const BYTES_PER_OBJECT: u64 = 64;

impl LineFormat for Events {
    const IS_STRICT: bool = true;

    fn kept_bytes(&self) -> u64 {
        self.letters + (self.objects.len() + self.names.len()) as u64 * BYTES_PER_OBJECT
    }

    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        let (text, comment) = match memchr::memchr(b'#', line) {
            Some(start) => (&line[..start], Some(&line[start + 1..])),
            None => (line, None),
        };
        let text = scan::trimmed(text);
        if let Some(comment) = comment.map(scan::trimmed)
            && !self.name_object(comment)
            && text.is_empty()
        {
            output.report.labels.extend(labels::read(comment));
        }
        if text.is_empty() {
            return Ok(Line::Passed);
        }
        let mut fields = BlankFields::new(text);
        let mut word = fields.next().unwrap_or_default();
        let mut time_ns = None;
        if let [b'@', time @ ..] = word {
            let time = scan::time_ns(time, 1_000_000_000);
            time_ns = Some(time.ok_or("has no decimal number of seconds after the @")?);
            word = fields.next().ok_or("ends after the time")?;
        }
        let label = fields.next().ok_or("ends before an object")?;
        if (word, label) == (b"sync", b"*") {
            fields.end().ok_or("does not end after the *")?;
            output.event(Event { object: 0, time_ns, action: Action::SyncAll })?;
            return Ok(Line::Taken);
        }
        let (kind, number) = object(label)?;
        let action = action(word, &mut fields)?;
        fields.end().ok_or("has more fields than the event takes")?;
        if kind == ObjectKind::Anonymous && action.is_of_files() {
            return Err("has anonymous memory where only a file can stand".into());
        }
        if action == Action::Sync && !self.objects.contains_key(&(kind, number)) {
            return Err("syncs a file that no event before it names".into());
        }
        let object = self.stream(label, (kind, number), output)?;
        output.event(Event { object, time_ns, action })?;
        Ok(Line::Taken)
    }
}

impl Events {
    fn stream(
        &mut self,
        label: &[u8],
        key: (ObjectKind, u64),
        output: &mut Output,
    ) -> Result<u32, Fault> {
        if let Some(&stream) = self.objects.get(&key) {
            return Ok(stream);
        }
        let stream =
            u32::try_from(self.objects.len()).map_err(|_| "has one object more than 4294967296")?;
        self.objects.insert(key, stream);
        let name = self.names.remove(label);
        let name = name.unwrap_or_else(|| String::from_utf8_lossy(label).into_owned());
        output.report.stream_names.push(name);
        output.report.object_kinds.push(key.0);
        Ok(stream)
    }

    /// Remembers the name in a comment such as `object f1: /etc/passwd`; false for other comments.
    fn name_object(&mut self, comment: &[u8]) -> bool {
        let Some(rest) = comment.strip_prefix(NAME_COMMENT) else { return false };
        let Some(end) = rest.windows(2).position(|bytes| bytes == b": ") else { return false };
        let name = String::from_utf8_lossy(&rest[end + 2..]).into_owned();
        self.letters += (end + name.len()) as u64;
        self.names.insert(rest[..end].to_vec(), name);
        true
    }
}

/// The kind and number of a label such as `f1`.
fn object(label: &[u8]) -> Result<(ObjectKind, u64), Fault> {
    let (kind, digits) = match label {
        [b'a', digits @ ..] => (ObjectKind::Anonymous, digits),
        [b'f', digits @ ..] => (ObjectKind::File, digits),
        _ => return Err("has no object such as a1 or f1".into()),
    };
    Ok((kind, scan::decimal(digits).ok_or("has no decimal number behind the a or f")?))
}

fn action(word: &[u8], fields: &mut BlankFields) -> Result<Action, Fault> {
    Ok(match word {
        b"mr" | b"mw" => {
            let (op, address, bytes) = access(word, fields)?;
            Action::Memory { op, address, bytes }
        }
        b"cr" | b"cw" => {
            let (op, offset, bytes) = access(word, fields)?;
            let process = fields.next().map_or(Some(0), scan::decimal);
            let process = process.and_then(|process| u32::try_from(process).ok());
            let process = process.ok_or("has no decimal process below 4294967296 at its end")?;
            Action::Call { op, offset, bytes, process }
        }
        b"dr" | b"dw" => {
            let (op, offset, bytes) = access(word, fields)?;
            Action::Direct { op, offset, bytes }
        }
        b"fw" => {
            let (_, address, bytes) = access(word, fields)?;
            Action::ForcedWrite { address, bytes }
        }
        b"length" => Action::Length { bytes: place(fields, "length")? },
        b"sync" => Action::Sync,
        b"truncate" => Action::Truncate { bytes: place(fields, "length")? },
        b"delete" => Action::Delete,
        b"release" => match fields.next() {
            None => Action::ReleaseAll,
            Some(address) => {
                let (address, bytes) = range(address, fields)?;
                Action::Release { address, bytes }
            }
        },
        b"discard" => {
            let offset = fields.next().ok_or("ends before the offset")?;
            let (address, bytes) = range(offset, fields)?;
            Action::Discard { address, bytes }
        }
        _ => {
            return Err(
                "does not begin with mr, mw, cr, cw, dr, dw, fw, length, sync, truncate, delete, \
                        release or discard"
                    .into(),
            );
        }
    })
}

/// Operation, first byte and size of an access; the second letter of the word tells the operation.
fn access(word: &[u8], fields: &mut BlankFields) -> Result<(Op, u64, u32), Fault> {
    let op = if word[1] == b'w' { Op::Write } else { Op::Read };
    let address = fields.next().ok_or("ends before the address")?;
    let (address, bytes) = range(address, fields)?;
    let bytes = u32::try_from(bytes).map_err(|_| "has a size above 4294967295 bytes")?;
    Ok((op, address, bytes))
}

fn range(address: &[u8], fields: &mut BlankFields) -> Result<(u64, u64), Fault> {
    let address = number(address).ok_or("has no number for the address")?;
    let bytes = place(fields, "size")?;
    if address.checked_add(bytes).is_none_or(|end| end > END_BYTES) {
        return Err("reaches beyond byte 2^63, where no object has a byte".into());
    }
    Ok((address, bytes))
}

/// The next field, a number of bytes.
fn place(fields: &mut BlankFields, what: &str) -> Result<u64, Fault> {
    let field = fields.next().ok_or_else(|| format!("ends before the {what}"))?;
    let bytes = number(field).ok_or_else(|| format!("has no number for the {what}"))?;
    if bytes > END_BYTES {
        return Err("reaches beyond byte 2^63, where no object has a byte".into());
    }
    Ok(bytes)
}

/// `4096`, `0x1000` or `1p`.
fn number(field: &[u8]) -> Option<u64> {
    match field {
        [pages @ .., b'p'] => scan::decimal(pages)?.checked_mul(PAGE_BYTES),
        _ => scan::decimal_or_hex(field),
    }
}
