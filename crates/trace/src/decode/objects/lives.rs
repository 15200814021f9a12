//! Objects as they live: each has as many bytes as its requests say, until it is deleted or its lifetime has run
//! out.
//!
//! An object begins at a block of its own, so that what drops it drops nothing else. A delete is a discard of its blocks.
//! A lifetime that has run out shows when the object is asked for again: a discard of its blocks comes before that
//! request. Until then they stay, as in caches that look at lifetimes when they look an object up.

use rustc_hash::FxHashMap;

use super::{ObjectOp, ObjectRequest};
use crate::decode::output::{Fault, LONGEST_REQUEST_BYTES, Output};
use crate::event::{Action, Event};
use crate::report::ReadReport;
use crate::request::{Op, Request};

/// No lifetime is running.
const FOR_EVER: u64 = u64::MAX;

/// What is known of one object.
#[derive(Clone, Copy)]
struct Life {
    address: u64,
    /// The bytes of its blocks.
    room_bytes: u64,
    /// The last nanosecond of its lifetime.
    until_ns: u64,
}

/// What is known of all objects.
pub(super) struct Lives {
    block_bytes: u64,
    /// By stream and identifier.
    objects: FxHashMap<(u32, u64), Life>,
    /// The first byte behind all objects, by stream.
    ends: Vec<u64>,
    smaller_requests: u64,
    deletes: u64,
    run_out: u64,
}

impl Lives {
    pub(super) fn new(block_bytes: u64) -> Self {
        Self {
            block_bytes,
            objects: FxHashMap::default(),
            ends: Vec::new(),
            smaller_requests: 0,
            deletes: 0,
            run_out: 0,
        }
    }

    /// Takes a request for an object of this stream.
    pub(super) fn request(
        &mut self,
        stream: u32,
        request: &ObjectRequest,
        output: &mut Output,
    ) -> Result<(), Fault> {
        let ObjectRequest { op, id, size_bytes, time_ns, lifetime_ns, .. } = *request;
        let drop = |address, bytes, output: &mut Output| {
            let action = Action::Discard { address, bytes };
            output.event(Event { object: stream, time_ns, action })
        };
        let known = self.objects.get_mut(&(stream, id));
        let op = match op {
            ObjectOp::Delete => {
                self.deletes += 1;
                let Some(life) = known else { return Ok(()) };
                life.until_ns = FOR_EVER;
                return drop(life.address, life.room_bytes, output);
            }
            ObjectOp::Read => Op::Read,
            ObjectOp::Write => Op::Write,
        };
        if size_bytes > LONGEST_REQUEST_BYTES {
            return Err("has a size above 1 TiB".into());
        }
        self.smaller_requests += u64::from((1..self.block_bytes).contains(&size_bytes));
        let room_bytes = size_bytes.next_multiple_of(self.block_bytes);
        let life = match known {
            Some(life) => life,
            None if size_bytes == 0 => return output.request_of(0, Request::new(op, 0, 0)),
            None => {
                let address = room(&mut self.ends, stream, room_bytes)?;
                let life = Life { address, room_bytes, until_ns: FOR_EVER };
                output.objects_bytes += BYTES_PER_OBJECT;
                self.objects.entry((stream, id)).or_insert(life)
            }
        };
        if time_ns.is_some_and(|now_ns| life.until_ns < now_ns) {
            life.until_ns = FOR_EVER;
            self.run_out += 1;
            drop(life.address, life.room_bytes, output)?;
        }
        if room_bytes > life.room_bytes {
            let address = room(&mut self.ends, stream, room_bytes)?;
            drop(life.address, life.room_bytes, output)?;
            *life = Life { address, room_bytes, ..*life };
        } else if op == Op::Write && (1..life.room_bytes).contains(&room_bytes) {
            drop(life.address + room_bytes, life.room_bytes - room_bytes, output)?;
        }
        if let Some(now_ns) = time_ns.filter(|_| lifetime_ns > 0)
            && (op == Op::Write || life.until_ns == FOR_EVER)
        {
            life.until_ns = now_ns.saturating_add(lifetime_ns);
        }
        let request = Request::new(op, life.address, 0).in_stream(stream);
        output.request_of(size_bytes, Request { time_ns, ..request })
    }

    /// Reports how sizes, deletes and lifetimes were taken.
    pub(super) fn note(&self, report: &mut ReadReport) {
        let Self { smaller_requests, deletes, run_out, block_bytes, .. } = self;
        report.notes.push(format!(
            "each object takes blocks of its own; {smaller_requests} requests are for less than {block_bytes} bytes"
        ));
        if deletes + run_out > 0 {
            report.notes.push(format!(
                "objects left by {deletes} deletes, and {run_out} times because their lifetime (TTL) had run out"
            ));
        }
    }
}

/// The memory of one object, with the room that its table keeps.
const BYTES_PER_OBJECT: u64 = 80;

/// Where the next object of a stream may begin.
fn room(ends: &mut Vec<u64>, stream: u32, bytes: u64) -> Result<u64, Fault> {
    let index = stream as usize;
    if index >= ends.len() {
        ends.resize(index + 1, 0);
    }
    let address = ends[index];
    ends[index] = address
        .checked_add(bytes)
        .ok_or_else(|| Fault::from("does not fit beside the objects before"))?;
    Ok(address)
}
