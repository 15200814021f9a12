//! # oracle-general-opns
//!
//! Cache traces in the format `oracleGeneralOpNS` of libCacheSim: `oracle-general` with an operation
//! and a namespace. Not verified on real data.
//!
//! **A record** has 27 packed, little-endian bytes:
//!
//! | byte | field | type | use |
//! |---|---|---|---|
//! | 0 | time in seconds | u32 | time |
//! | 4 | object | u64 | address and stream |
//! | 12 | size in bytes | u32 | 0 is no request |
//! | 16 | operation | u8 | below |
//! | 17 | namespace | u16 | stream: equal objects of two namespaces are different ones |
//! | 19 | number of the next request for the object; -1 or the highest number: none | i64 | for detection |
//!
//! - 1 get, 2 gets and 12 read are reads; 3 set, 4 add, 5 compare-and-swap, 6 replace, 7 append,
//!   8 prepend, 10 increment, 11 decrement, 13 write and 14 update are writes. At the first 0, an
//!   operation that is not recorded, the trace is refused unless `--assume-reads` says that such
//!   requests are reads.
//! - An object is one block of 4096 bytes, as in `oracle-general`.
//!
//! - `clockhand filecache` heeds sizes and deletes (9): an object takes as many blocks as it has, until it is deleted.
//!
//! **Skipped**: deletes by other studies, and requests of size 0, counted. Other operations are
//! counted as malformed.

use crate::decode::objects::{self, OBJECT_BYTES, ObjectOp};
use crate::decode::output::{Fault, Output};
use crate::decode::records::field;
use crate::error::TraceError;
use crate::format::{Confidence, Decoder, Format};
use crate::formats::oracle_general;
use crate::source::Source;
use crate::source::sample::Sample;
use crate::write::target::{Entry, Extent, StreamField, Target, TimeField};

const RECORD_BYTES: usize = 27;

pub(super) const FORMAT: Format = Format::records(
    "oracle-general-opns",
    "binary cache traces of libCacheSim with operations and namespaces",
    include_str!("oracle_general_opns.rs"),
    sniff,
    open,
)
.with_streams_of("namespace")
.written_as(TARGETS);

const TARGETS: &[Target] = &[Target {
    endings: &["oraclegeneralopns"],
    extent: Extent::units(OBJECT_BYTES as u64),
    time: Some(TimeField { highest: u32::MAX as u64, ..TimeField::SECONDS }),
    streams: StreamField::Numbers { highest: u16::MAX as u32 },
    made_up: Some(
        "next requests are written as none (so the file is useless for Belady's algorithm)",
    ),
    ..Target::new("oracle-general-opns", write_entry)
}];

fn sniff(sample: &Sample) -> Confidence {
    const HIGHEST_OPERATION: u8 = 14;
    let records = sample.head().chunks_exact(RECORD_BYTES);
    if records.clone().any(|record| record[16] > HIGHEST_OPERATION) {
        return Confidence::Unfit;
    }
    oracle_general::fits(records.map(|record| (record, i64::from_le_bytes(field(record, 19)))))
}

fn open(source: &mut Source, output: &mut Output) -> Result<Box<dyn Decoder>, TraceError> {
    oracle_general::decoder::<WithOperations>(source, output)
}

struct WithOperations;

impl oracle_general::Layout for WithOperations {
    const RECORD_BYTES: usize = RECORD_BYTES;

    #[inline]
    fn operation(record: &[u8], output: &mut Output) -> Result<(ObjectOp, u32), Fault> {
        let namespace = u16::from_le_bytes(field(record, 17));
        Ok((objects::op(record[16], output)?, u32::from(namespace)))
    }
}

fn write_entry(entry: &Entry, record: &mut Vec<u8>) -> Result<(), &'static str> {
    record.extend(objects::seconds(entry).to_le_bytes());
    record.extend((entry.address / u64::from(OBJECT_BYTES)).to_le_bytes());
    record.extend(entry.bytes.to_le_bytes());
    record.push(objects::code(entry.op));
    record.extend((entry.stream as u16).to_le_bytes());
    record.extend(objects::NO_NEXT_REQUEST.to_le_bytes());
    Ok(())
}
