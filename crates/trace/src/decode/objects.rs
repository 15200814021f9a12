//! Traces of object caches, as libCacheSim writes them: the place of each object, and which operations read, write or
//! delete.
//!
//! An object has an identifier of 64 bits and no address. For libCacheSim it is one thing that is in the cache or not,
//! whatever its size. So it becomes one block of [`OBJECT_BYTES`], and two objects never share a byte. If identifiers
//! are block numbers, neighbours stay neighbours. A study that asks for it gets [objects as they live](lives) instead:
//! with their sizes, deletes and lifetimes.

mod lives;

use clockhand_quantity::{Text, option};
use rustc_hash::FxHashMap;

use crate::decode::output::{Fault, Output};
use crate::error::TraceError;
use crate::report::ReadReport;
use crate::request::{Op, Request};
use crate::source::Source;
use crate::write::target::Entry;
use lives::Lives;

/// The place of one object: a page of the usual size.
pub(crate) const OBJECT_BYTES: u32 = 4096;
/// The bits of an identifier that fit into an address beside the bytes of the object.
const ADDRESS_ID_BITS: u32 = 64 - OBJECT_BYTES.trailing_zeros();

/// The number of streams that are remembered beside their table.
const REMEMBERED: usize = 16;

/// What is done with an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ObjectOp {
    Read,
    Write,
    Delete,
}

/// One request for an object.
pub(crate) struct ObjectRequest {
    pub(crate) op: ObjectOp,
    pub(crate) id: u64,
    /// The namespace or tenant that the identifier belongs to.
    pub(crate) owner: u32,
    pub(crate) size_bytes: u64,
    pub(crate) time_ns: Option<u64>,
    /// Lifetime of the content from then on; 0 if the request does not say.
    pub(crate) lifetime_ns: u64,
}

/// Gives each object its place.
#[derive(Default)]
pub(crate) struct Objects {
    /// Stream by owner and high bits of the identifier, in the order of their appearance.
    streams: FxHashMap<(u32, u64), u32>,
    /// Those that were asked for last, which are often asked for again, by the last digits of their owners.
    last: [Option<((u32, u64), u32)>; REMEMBERED],
    larger_requests: u64,
    /// Requests that give their object a lifetime.
    lifetimes: u64,
    /// What is known of each object, if a study asks for it.
    lives: Option<Lives>,
}

impl Objects {
    /// As the reader of this output was asked to take objects.
    pub(crate) fn of(output: &mut Output) -> Self {
        output.holds_events |= output.object_block_bytes.is_some();
        Self { lives: output.object_block_bytes.map(Lives::new), ..Self::default() }
    }

    /// Takes a request; one of size 0 is counted instead.
    ///
    /// Inlined where records are read, since a call would put the request together in memory twice.
    #[inline(always)]
    pub(crate) fn request(
        &mut self,
        request: ObjectRequest,
        output: &mut Output,
    ) -> Result<(), Fault> {
        let key = (request.owner, request.id >> ADDRESS_ID_BITS);
        let stream = match self.last[key.0 as usize % REMEMBERED] {
            Some((last, stream)) if last == key => stream,
            _ => self.number(key),
        };
        self.lifetimes += u64::from(request.lifetime_ns > 0);
        if let Some(lives) = &mut self.lives {
            return lives.request(stream, &request, output);
        }
        let op = match request.op {
            ObjectOp::Read => Op::Read,
            ObjectOp::Write => Op::Write,
            ObjectOp::Delete => {
                output.report.pass_over("deletes");
                return Ok(());
            }
        };
        self.larger_requests += u64::from(request.size_bytes > u64::from(OBJECT_BYTES));
        output.request(Request {
            op,
            address: request.id << OBJECT_BYTES.trailing_zeros(),
            bytes: request.size_bytes.min(u64::from(OBJECT_BYTES)) as u32,
            stream,
            time_ns: request.time_ns,
            class: None,
        })
    }

    #[inline(never)]
    fn number(&mut self, key: (u32, u64)) -> u32 {
        let next = self.streams.len() as u32;
        let stream = *self.streams.entry(key).or_insert(next);
        self.last[key.0 as usize % REMEMBERED] = Some((key, stream));
        stream
    }

    /// Reports how sizes and lifetimes were taken.
    pub(crate) fn note(&self, report: &mut ReadReport) {
        if let Some(lives) = &self.lives {
            return lives.note(report);
        }
        report.numbered_bytes = Some(OBJECT_BYTES);
        report.notes.push(format!(
            "each object is one block of {OBJECT_BYTES} bytes, whatever its size; {} requests are for larger objects",
            self.larger_requests
        ));
        if self.lifetimes > 0 {
            report.notes.push(format!(
                "{} requests give their object a lifetime (TTL), which is left out: an object that has expired still hits",
                self.lifetimes
            ));
        }
    }
}

/// What one operation code of libCacheSim does.
#[inline]
pub(crate) fn op(code: u8, output: &mut Output) -> Result<ObjectOp, Fault> {
    match code {
        0 if output.assume_reads => {
            output.report.assumed_reads += 1;
            Ok(ObjectOp::Read)
        }
        0 => Err(Fault::Trace(
            Text::from(
                "the operation of this request is not recorded, so nothing tells reads from writes; \
                 use the original trace, or take such requests as reads with ",
            ) + option("assume-reads"),
        )),
        1 | 2 | 12 => Ok(ObjectOp::Read),
        3..=8 | 10 | 11 | 13 | 14 => Ok(ObjectOp::Write),
        9 => Ok(ObjectOp::Delete),
        code => Err(format!("has the unknown operation {code}").into()),
    }
}

/// The nanoseconds of whole seconds.
#[inline]
pub(crate) fn of_seconds(seconds: u32) -> u64 {
    u64::from(seconds) * 1_000_000_000
}

/// How libCacheSim writes that no request for the object follows. Writers
/// read no further than they write, so they know of none.
pub(crate) const NO_NEXT_REQUEST: i64 = -1;

/// The operation code of a read or write.
pub(crate) fn code(op: Op) -> u8 {
    match op {
        Op::Read => 12,
        Op::Write => 13,
    }
}

/// The time of an entry, which the writer has kept within 32 bits.
pub(crate) fn seconds(entry: &Entry) -> u32 {
    (entry.time_ns / 1_000_000_000) as u32
}

/// Refuses a trace whose format has no operations, unless the user said that all are reads.
pub(crate) fn require_assumed_reads(
    source: &Source,
    output: &mut Output,
) -> Result<(), TraceError> {
    if output.assume_reads {
        return Ok(());
    }
    Err(TraceError::NoOperations { file: source.file().to_owned(), format: output.report.format })
}
