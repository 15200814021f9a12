//! # lcs
//!
//! Cache traces in libCacheSim's own format (`.lcs`), all versions. Not verified on real data.
//!
//! **The header** begins and ends with the little-endian u64 `0x123456789abcdef0`. One of 8192 bytes
//! has the version of the records, 1 to 8, at byte 8. The older one of 1024 bytes has there the
//! types of up to 239 fields, in the notation of Python's `struct` (`<IQIq`). From byte 248 on it
//! has the numbers of the fields in use, counted from 1, where 0 means none: object, size, time,
//! last access, next access, operation, lifetime, tenant. Byte 1004 has the length of a record.
//!
//! **A record** is packed and little-endian:
//!
//! | field | version 1 | version 2 | versions 3 to 8 | use |
//! |---|---|---|---|---|
//! | time in seconds | u32 | u32 | u32 | time |
//! | object | u64 | u64 | u64 | address and stream |
//! | size in bytes | u32 | u32 | i64 | 0 is no request |
//! | operation and tenant | | u8, u24 | u8, u24 | operations as in `oracle-general-opns`; the tenant makes the stream |
//! | lifetime | | | u32 | |
//! | next access | i64 | i64 | i64 | |
//! | features | | | 0, 1, 2, 4, 8, 16 times u32 | |
//! | record | 24 bytes | 28 bytes | 36 bytes and the features | |
//!
//! - Version 1, and an older trace without an operation field, are refused unless `--assume-reads`
//!   says that all requests are reads; so is a trace at its first operation that is not recorded.
//! - An object is one block of 4096 bytes, as in `oracle-general`.
//!
//! - `clockhand filecache` heeds sizes, deletes and lifetimes (TTL): an object takes as many blocks as it has, until
//!   it is deleted or has run out. A note of other studies counts what they leave out.
//!
//! **Skipped**: deletes by other studies, and requests of size 0, counted. Unknown operations and
//! negative sizes are counted as malformed.

use crate::decode::objects::{self, OBJECT_BYTES, ObjectOp, ObjectRequest, Objects};
use crate::decode::output::{Fault, Output};
use crate::decode::records::{self, RecordFormat, field};
use crate::error::TraceError;
use crate::format::{Confidence, Decoder, Format};
use crate::source::Source;
use crate::source::sample::Sample;
use crate::write::target::{Entry, Extent, StreamField, Target, TimeField};

const NAME: &str = "lcs";
const MAGIC: [u8; 8] = 0x1234_5678_9abc_def0_u64.to_le_bytes();
const HEADER_BYTES: usize = 8192;
const OLDER_HEADER_BYTES: usize = 1024;

pub(super) const FORMAT: Format = Format::records(
    NAME,
    "binary cache traces of libCacheSim in its own format (.lcs)",
    include_str!("lcs.rs"),
    sniff,
    open,
)
.with_streams_of("tenant")
.written_as(TARGETS);

const TARGETS: &[Target] = &[Target {
    extent: Extent::units(OBJECT_BYTES as u64),
    time: Some(TimeField { highest: u32::MAX as u64, ..TimeField::SECONDS }),
    streams: StreamField::Numbers { highest: HIGHEST_TENANT },
    made_up: Some(
        "next requests are written as none (so the file is useless for Belady's algorithm), statistics of the \
         header and lifetimes as 0",
    ),
    ..Target::new("lcs", write_entry)
}
.with_head(|_, header| {
    header.extend(MAGIC);
    header.extend(WRITTEN_VERSION.to_le_bytes());
    header.resize(HEADER_BYTES - MAGIC.len(), 0);
    header.extend(MAGIC);
})];

const WRITTEN_VERSION: u64 = 3;
const HIGHEST_TENANT: u32 = (1 << 24) - 1;

fn sniff(sample: &Sample) -> Confidence {
    if sample.head().starts_with(&MAGIC) { Confidence::Certain } else { Confidence::Unfit }
}

fn open(source: &mut Source, output: &mut Output) -> Result<Box<dyn Decoder>, TraceError> {
    let refused = |byte: usize, reason: String| TraceError::Content {
        file: source.file().to_owned(),
        place: format!("byte {byte}"),
        reason: reason.into(),
    };
    let head = source.head();
    if !head.starts_with(&MAGIC) {
        let reason = "there is no LCS magic number; name another format or leave it out";
        return Err(refused(0, reason.to_owned()));
    }
    let header_bytes = if head.get(8) == Some(&b'<') { OLDER_HEADER_BYTES } else { HEADER_BYTES };
    let Some(header) = head.get(..header_bytes) else {
        let byte = head.len() as u64;
        return Err(TraceError::CutRecord { file: source.file().to_owned(), format: NAME, byte });
    };
    if !header.ends_with(&MAGIC) {
        let reason =
            "the LCS header does not end with its magic number; copy or download the file again";
        return Err(refused(header_bytes - MAGIC.len(), reason.to_owned()));
    }
    let layout = if header_bytes == HEADER_BYTES {
        Layout::of_version(u64::from_le_bytes(field(header, 8)))
    } else {
        Layout::of_fields(header)
    };
    let layout = layout.map_err(|reason| refused(8, reason))?;
    if layout.op.is_none() {
        objects::require_assumed_reads(source, output)?;
    }
    let objects = Objects::of(output);
    records::decoder(Lcs { layout, objects }, header_bytes, source)
}

/// A little-endian integer within a record.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Field {
    at_byte: usize,
    bytes: usize,
    signed: bool,
}

impl Field {
    const fn unsigned(at_byte: usize, bytes: usize) -> Self {
        Self { at_byte, bytes, signed: false }
    }

    /// The number, unless it is negative.
    #[inline]
    fn get(self, record: &[u8]) -> Option<u64> {
        let number = match record[self.at_byte..].first_chunk() {
            // Bytes behind the field are shifted out.
            Some(&chunk) => u64::from_le_bytes(chunk) << self.unused_bits() >> self.unused_bits(),
            None => self.copied(record),
        };
        let is_negative = self.signed && number >> (8 * self.bytes - 1) == 1;
        (!is_negative).then_some(number)
    }

    /// The number of a field with which the record ends.
    #[cold]
    fn copied(self, record: &[u8]) -> u64 {
        let mut number = [0; 8];
        number[..self.bytes].copy_from_slice(&record[self.at_byte..self.at_byte + self.bytes]);
        u64::from_le_bytes(number)
    }

    fn unused_bits(self) -> usize {
        64 - 8 * self.bytes
    }

    /// The field of a type that Python's `struct` names by a letter; the number of its bytes alone
    /// for a floating-point type.
    fn of_type(letter: u8, at_byte: usize) -> Option<Self> {
        let bytes = match letter.to_ascii_lowercase() {
            b'b' | b'c' => 1,
            b'h' => 2,
            b'i' | b'l' => 4,
            b'q' => 8,
            _ => return None,
        };
        Some(Self { at_byte, bytes, signed: letter.is_ascii_lowercase() })
    }
}

/// Where the fields of a record stand.
#[derive(PartialEq, Debug)]
struct Layout {
    record_bytes: usize,
    object: Field,
    size: Field,
    time: Option<Field>,
    op: Option<Field>,
    tenant: Option<Field>,
    lifetime: Option<Field>,
}

impl Layout {
    fn of_version(version: u64) -> Result<Self, String> {
        let time = Some(Field::unsigned(0, 4));
        let object = Field::unsigned(4, 8);
        if version == 1 {
            let size = Field::unsigned(12, 4);
            return Ok(Self {
                record_bytes: 24,
                object,
                size,
                time,
                op: None,
                tenant: None,
                lifetime: None,
            });
        }
        let (size, op_at, record_bytes) = match version {
            2 => (Field::unsigned(12, 4), 16, 28),
            3 => (Field { signed: true, ..Field::unsigned(12, 8) }, 20, 36),
            4..=8 => {
                let features_bytes = 4 << (version - 4);
                (Field { signed: true, ..Field::unsigned(12, 8) }, 20, 36 + features_bytes)
            }
            _ => {
                return Err(format!(
                    "LCS version {version} is not known; write the trace again in version 1 to 8"
                ));
            }
        };
        let op = Some(Field::unsigned(op_at, 1));
        let tenant = Some(Field::unsigned(op_at + 1, 3));
        let lifetime = (version > 2).then_some(Field::unsigned(op_at + 4, 4));
        Ok(Self { record_bytes, object, size, time, op, tenant, lifetime })
    }

    fn of_fields(header: &[u8]) -> Result<Self, String> {
        const TYPES: std::ops::Range<usize> = 9..248;
        const NUMBERS_AT: usize = 248;
        const RECORD_BYTES_AT: usize = 1004;
        let types = header[TYPES].split(|&letter| letter == 0).next().unwrap_or_default();
        let mut fields = Vec::with_capacity(types.len());
        let mut record_bytes = 0;
        for &letter in types {
            let integer = Field::of_type(letter, record_bytes);
            record_bytes += match (integer, letter) {
                (Some(field), _) => field.bytes,
                (None, b'f') => 4,
                (None, b'd') => 8,
                (None, _) => return Err(damaged("names a field type that is not known")),
            };
            fields.push(integer);
        }
        let said_bytes = u32::from_le_bytes(field(header, RECORD_BYTES_AT)) as usize;
        if said_bytes != record_bytes || record_bytes == 0 {
            return Err(damaged("gives a record length that its fields do not have"));
        }
        let numbered = |index: usize| match usize::from(header[NUMBERS_AT + index]) {
            0 => Ok(None),
            number => match fields.get(number - 1) {
                Some(Some(field)) => Ok(Some(*field)),
                _ => Err(damaged("names a field that is missing or no integer")),
            },
        };
        let needed = |index| numbered(index)?.ok_or_else(|| damaged("names no object or no size"));
        Ok(Self {
            record_bytes,
            object: needed(0)?,
            size: needed(1)?,
            time: numbered(2)?,
            op: numbered(5)?,
            tenant: numbered(7)?,
            lifetime: numbered(6)?,
        })
    }
}

fn damaged(what: &str) -> String {
    format!("the LCS header {what}; copy or download the file again")
}

struct Lcs {
    layout: Layout,
    objects: Objects,
}

impl RecordFormat for Lcs {
    #[inline]
    fn record_bytes(&self, _start: &[u8]) -> Result<Option<usize>, Fault> {
        Ok(Some(self.layout.record_bytes))
    }

    fn record(&mut self, record: &[u8], output: &mut Output) -> Result<(), Fault> {
        let layout = &self.layout;
        let op = match layout.op {
            None => {
                output.report.assumed_reads += 1;
                ObjectOp::Read
            }
            Some(code) => {
                let code = code.get(record).and_then(|code| u8::try_from(code).ok());
                objects::op(code.ok_or("has an operation above 255")?, output)?
            }
        };
        let lifetime = layout.lifetime.and_then(|lifetime| lifetime.get(record));
        let short = |number: Option<Field>| match number {
            Some(number) => number.get(record).and_then(|number| u32::try_from(number).ok()),
            None => Some(0),
        };
        let request = ObjectRequest {
            op,
            id: Field { signed: false, ..layout.object }.get(record).unwrap_or_default(),
            owner: short(layout.tenant).ok_or("has a tenant that is no number of 32 bits")?,
            size_bytes: layout.size.get(record).ok_or("has a negative size")?,
            time_ns: short(layout.time)
                .map(|time_s| Some(objects::of_seconds(time_s)))
                .ok_or("has a time that is no number of 32 bits")?,
            lifetime_ns: lifetime.unwrap_or(0).saturating_mul(1_000_000_000),
        };
        self.objects.request(request, output)
    }

    fn note(&self, output: &mut Output) {
        self.objects.note(&mut output.report);
    }
}

/// A record of version 3, without a lifetime.
fn write_entry(entry: &Entry, record: &mut Vec<u8>) -> Result<(), &'static str> {
    const LIFETIME: u32 = 0;
    record.extend(objects::seconds(entry).to_le_bytes());
    record.extend((entry.address / u64::from(OBJECT_BYTES)).to_le_bytes());
    record.extend(i64::from(entry.bytes).to_le_bytes());
    record.extend((u32::from(objects::code(entry.op)) | entry.stream << 8).to_le_bytes());
    record.extend(LIFETIME.to_le_bytes());
    record.extend(objects::NO_NEXT_REQUEST.to_le_bytes());
    Ok(())
}
