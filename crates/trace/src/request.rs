//! What a trace consists of: requests to memory or to a device, and the processor accesses some of
//! them come from.

use std::ops::RangeInclusive;

use serde::Serialize;

use crate::processor::view::RecordClass;

/// Whether a request reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
pub enum Op {
    /// The bytes are read.
    #[serde(rename = "R")]
    Read,
    /// The bytes are written.
    #[serde(rename = "W")]
    Write,
}

/// One request of a trace, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Request {
    /// Whether it reads or writes.
    pub op: Op,
    /// First byte that is touched, within the stream.
    pub address: u64,
    /// Number of bytes that are touched, from `address` on.
    pub bytes: u32,
    /// Which device, volume or address space `address` belongs to; equal addresses of two streams
    /// are different places.
    pub stream: u32,
    /// When it was issued, in nanoseconds from an origin that the trace chooses; `None` where the
    /// trace has no times.
    pub time_ns: Option<u64>,
    /// Why a cache let it through to memory; `None` if the trace does not say.
    #[serde(skip)]
    pub class: Option<RecordClass>,
}

impl Request {
    /// A request of stream 0 without a time.
    pub fn new(op: Op, address: u64, bytes: u32) -> Self {
        Self { op, address, bytes, stream: 0, time_ns: None, class: None }
    }

    /// The same request, of a stream.
    pub fn in_stream(self, stream: u32) -> Self {
        Self { stream, ..self }
    }

    /// The same request, at a time in nanoseconds.
    pub fn at(self, time_ns: u64) -> Self {
        Self { time_ns: Some(time_ns), ..self }
    }

    /// The numbers of the pages of `1 << page_shift` bytes that the request touches, ascending;
    /// empty when it has no bytes. A request that would run past the end of the address space ends
    /// there.
    pub fn pages(&self, page_shift: u32) -> RangeInclusive<u64> {
        match self.bytes.checked_sub(1) {
            Some(to_last_byte) => {
                (self.address >> page_shift)
                    ..=(self.address.saturating_add(u64::from(to_last_byte)) >> page_shift)
            }
            None => RangeInclusive::new(1, 0),
        }
    }
}

/// An operation of a processor at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    /// It fetches an instruction.
    Fetch,
    /// It loads data.
    Load,
    /// It stores data.
    Store,
}

/// One access of a processor, as a [`CpuCache`](crate::CpuCache) sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Fetch, load or store.
    pub kind: AccessKind,
    /// First byte that is touched.
    pub address: u64,
    /// Number of bytes that are touched.
    pub bytes: u32,
}

impl From<Access> for Request {
    /// The request that reaches memory when there is no cache: fetches and loads read, stores
    /// write.
    fn from(access: Access) -> Self {
        let op = match access.kind {
            AccessKind::Fetch | AccessKind::Load => Op::Read,
            AccessKind::Store => Op::Write,
        };
        Self::new(op, access.address, access.bytes)
    }
}
