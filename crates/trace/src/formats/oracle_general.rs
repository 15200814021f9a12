//! # oracle-general
//!
//! Cache traces in the format `oracleGeneral` of libCacheSim (`.oracleGeneral.bin`). They have no
//! operation: reads and writes cannot be distinguished, so they are refused unless `--assume-reads`
//! says that all are reads.
//!
//! **A record** has 24 packed, little-endian bytes:
//!
//! | byte | field | type | use |
//! |---|---|---|---|
//! | 0 | time in seconds | u32 | time |
//! | 4 | object | u64 | address and stream |
//! | 12 | size in bytes | u32 | 0 is no request |
//! | 16 | number of the next request for the object; -1 or the highest number: none | i64 | for detection |
//!
//! - An object is in the cache or not, so it is one block of 4096 bytes whatever its size; a note
//!   says how many requests were for larger ones. Objects never overlap: the low 52 bits of the
//!   number are the block, the high bits make the stream.
//! - `clockhand filecache` heeds sizes: an object takes as many blocks as it has.
//! - Traces of block devices keep their block numbers, but not the unit; their original
//!   format (such as `vscsi`) says more.
//!
//! **Skipped**: requests of size 0, counted.

use std::marker::PhantomData;

use crate::decode::objects::{self, ObjectOp, ObjectRequest, Objects};
use crate::decode::output::{Fault, Output};
use crate::decode::records::{self, RecordFormat, field};
use crate::error::TraceError;
use crate::format::{Confidence, Decoder, Format};
use crate::source::Source;
use crate::source::sample::Sample;

const RECORD_BYTES: usize = 24;

pub(super) const FORMAT: Format = Format::records(
    "oracle-general",
    "binary cache traces of libCacheSim without operations; read with --assume-reads",
    include_str!("oracle_general.rs"),
    sniff,
    open,
);

fn sniff(sample: &Sample) -> Confidence {
    let records = sample.head().chunks_exact(RECORD_BYTES);
    fits(records.map(|record| (record, i64::from_le_bytes(field(record, 16)))))
}

/// The format has no mark; but time never runs back, and the next request for an object lies ahead.
pub(super) fn fits<'a>(
    records_with_next_request: impl ExactSizeIterator<Item = (&'a [u8], i64)>,
) -> Confidence {
    const RECORDS_TRIED: usize = 1000;
    const LONGEST_TRACE_REQUESTS: i64 = 1 << 48;
    if records_with_next_request.len() < 2 {
        return Confidence::Unfit;
    }
    let mut last_time_s = 0;
    let mut records = records_with_next_request.take(RECORDS_TRIED).zip(0_i64..);
    let all_fit = records.all(|((record, next_request), index)| {
        let time_s = u32::from_le_bytes(field(record, 0));
        let time_runs_on = time_s >= last_time_s;
        last_time_s = time_s;
        let is_last = next_request == -1 || next_request == i64::MAX;
        time_runs_on && (is_last || (index < next_request && next_request < LONGEST_TRACE_REQUESTS))
    });
    if all_fit { Confidence::Likely } else { Confidence::Unfit }
}

fn open(source: &mut Source, output: &mut Output) -> Result<Box<dyn Decoder>, TraceError> {
    objects::require_assumed_reads(source, output)?;
    decoder::<WithoutOperations>(source, output)
}

/// How long the records of a layout are, and what each requests for whom.
pub(super) trait Layout: Send {
    const RECORD_BYTES: usize;

    fn operation(record: &[u8], output: &mut Output) -> Result<(ObjectOp, u32), Fault>;
}

/// The decoder of records in a layout; they begin alike.
pub(super) fn decoder<L: Layout + 'static>(
    source: &mut Source,
    output: &mut Output,
) -> Result<Box<dyn Decoder>, TraceError> {
    records::decoder(Requests::<L> { objects: Objects::of(output), layout: PhantomData }, 0, source)
}

struct WithoutOperations;

impl Layout for WithoutOperations {
    const RECORD_BYTES: usize = RECORD_BYTES;

    #[inline]
    fn operation(_record: &[u8], output: &mut Output) -> Result<(ObjectOp, u32), Fault> {
        output.report.assumed_reads += 1;
        Ok((ObjectOp::Read, 0))
    }
}

struct Requests<L> {
    objects: Objects,
    layout: PhantomData<L>,
}

impl<L: Layout> RecordFormat for Requests<L> {
    #[inline]
    fn record_bytes(&self, _start: &[u8]) -> Result<Option<usize>, Fault> {
        Ok(Some(L::RECORD_BYTES))
    }

    #[inline]
    fn record(&mut self, record: &[u8], output: &mut Output) -> Result<(), Fault> {
        let (op, owner) = L::operation(record, output)?;
        let request = ObjectRequest {
            op,
            id: u64::from_le_bytes(field(record, 4)),
            owner,
            size_bytes: u64::from(u32::from_le_bytes(field(record, 12))),
            time_ns: Some(objects::of_seconds(u32::from_le_bytes(field(record, 0)))),
            lifetime_ns: 0,
        };
        self.objects.request(request, output)
    }

    fn note(&self, output: &mut Output) {
        self.objects.note(&mut output.report);
    }
}
