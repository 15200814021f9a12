//! How policies learn of references: by bits, by accesses, one by one, or with the future.

use clockhand_policy::memory::fast::{FastMemory, Hits, Run};
use clockhand_policy::page::{AccessDriven, BitDriven, Offline, PagePolicy};
use clockhand_policy::{Frame, Memory, Op};
use clockhand_trace::{Record, RunLengths};

use super::counts::Bits;
use crate::next_use::NEVER;

/// How a kind of policy learns of references.
pub(crate) trait Feed<P> {
    /// True if a hit takes a few instructions, so that many copies of it are little code, and nothing is done before a
    /// record.
    const HITS_ARE_SHORT: bool = false;

    /// A chunk of records begins: how many references each stands for, if any more than one, and the next use of each,
    /// if it was asked for.
    #[inline]
    fn enter(&mut self, run_lengths: Option<RunLengths<'_>>, next_use: Option<&[u32]>) {
        let _ = (run_lengths, next_use);
    }
    /// Before a record.
    #[inline]
    fn before(&mut self, memory: &mut Memory<P>) {
        let _ = memory;
    }
    /// The page of the record is in memory.
    fn hit(&mut self, memory: &mut Memory<P>, record: Record, frame: Frame);
    /// The first reference of the record has faulted; this is the rest of it.
    fn rest(&mut self, memory: &mut Memory<P>, record: Record, frame: Frame);
    /// A period of the policy has ended, with a reference that was a miss or with a hit.
    fn period_ended(&mut self, memory: &mut Memory<P>, by_miss: bool)
    where
        P: PagePolicy,
    {
        let _ = by_miss;
        memory.tick();
    }
    /// The accesses to pages in memory that memory had to fault for; none where bits come without faults.
    #[inline]
    fn permission_faults(&self) -> u64 {
        0
    }
}

pub(crate) struct ByExactBits;
/// Counts the accesses to pages in memory that memory has to fault for.
#[derive(Default)]
pub(super) struct ByMappedBits {
    permission_faults: u64,
}
/// As [`ByMappedBits`], and a period ends with a miss: the next one, if its last reference is a hit.
#[derive(Default)]
pub(super) struct BySensedBits {
    period_has_ended: bool,
}
/// As any of these, told while it runs: for replays whose speed matters less than one loop more per policy.
pub(super) enum ByBits {
    Exact(ByExactBits),
    Mapped(ByMappedBits),
    Sensed(BySensedBits),
}

impl ByBits {
    pub(super) fn new(bits: Bits) -> Self {
        match bits {
            Bits::Exact => ByBits::Exact(ByExactBits),
            Bits::Mapped => ByBits::Mapped(ByMappedBits::default()),
            Bits::Sensed => ByBits::Sensed(BySensedBits::default()),
        }
    }
}

pub(crate) struct ByAccess;
/// As [`ByAccess`], for policies that count references.
pub(crate) struct ByReference {
    /// Those of a chunk; none if each is 1.
    run_lengths: Vec<u32>,
    next: usize,
    run_length: u32,
}

impl Default for ByReference {
    fn default() -> Self {
        ByReference { run_lengths: Vec::new(), next: 0, run_length: 1 }
    }
}

#[derive(Default)]
pub(crate) struct ByFuture {
    /// That of the records of a chunk.
    next_use: Vec<u32>,
    next: usize,
}

pub(crate) fn first_op(record: Record) -> Op {
    if record.first_is_write() { Op::Write } else { Op::Read }
}

impl<P: BitDriven> Feed<P> for ByExactBits {
    const HITS_ARE_SHORT: bool = true;

    #[inline(always)]
    fn hit(&mut self, memory: &mut Memory<P>, record: Record, frame: Frame) {
        memory.hit_run(Run::of_flags(record.flags()), frame);
    }

    #[inline]
    fn rest(&mut self, memory: &mut Memory<P>, record: Record, frame: Frame) {
        memory.hit_rest(Run::of_flags(record.flags()), frame);
    }
}

impl<P: BitDriven> Feed<P> for ByMappedBits {
    #[inline]
    fn hit(&mut self, memory: &mut Memory<P>, record: Record, frame: Frame) {
        self.permission_faults += u64::from(memory.hit_mapped(first_op(record), frame));
        self.write_later(memory, record, frame);
    }

    #[inline]
    fn rest(&mut self, memory: &mut Memory<P>, record: Record, frame: Frame) {
        // The access that faulted is retried; its page fault has mapped the page.
        memory.hit_mapped(first_op(record), frame);
        self.write_later(memory, record, frame);
    }
}

impl ByMappedBits {
    /// After the first reference the page is mapped: of the rest only a write is seen.
    #[inline]
    fn write_later<P: BitDriven>(&mut self, memory: &mut Memory<P>, record: Record, frame: Frame) {
        if record.rest_writes() {
            self.permission_faults += u64::from(memory.hit_mapped(Op::Write, frame));
        }
    }
}

impl<P: BitDriven> Feed<P> for BySensedBits {
    #[inline]
    fn hit(&mut self, memory: &mut Memory<P>, record: Record, frame: Frame) {
        memory.hit_sensed(first_op(record), frame);
        if record.rest_writes() {
            memory.hit_sensed(Op::Write, frame);
        }
    }

    #[inline]
    fn rest(&mut self, memory: &mut Memory<P>, record: Record, frame: Frame) {
        // The access that faulted is retried, and known: it sets its own bit.
        memory.hit_mapped(first_op(record), frame);
        if self.period_has_ended {
            memory.tick();
            self.period_has_ended = false;
        }
        if record.rest_reads() {
            memory.hit_sensed(Op::Read, frame);
        }
        if record.rest_writes() {
            memory.hit_sensed(Op::Write, frame);
        }
    }

    fn period_ended(&mut self, memory: &mut Memory<P>, by_miss: bool) {
        match by_miss {
            true => memory.tick(),
            false => self.period_has_ended = true,
        }
    }
}

impl<P: BitDriven> Feed<P> for ByBits {
    #[inline]
    fn hit(&mut self, memory: &mut Memory<P>, record: Record, frame: Frame) {
        match self {
            ByBits::Exact(bits) => bits.hit(memory, record, frame),
            ByBits::Mapped(bits) => bits.hit(memory, record, frame),
            ByBits::Sensed(bits) => bits.hit(memory, record, frame),
        }
    }

    #[inline]
    fn rest(&mut self, memory: &mut Memory<P>, record: Record, frame: Frame) {
        match self {
            ByBits::Exact(bits) => bits.rest(memory, record, frame),
            ByBits::Mapped(bits) => bits.rest(memory, record, frame),
            ByBits::Sensed(bits) => bits.rest(memory, record, frame),
        }
    }

    fn period_ended(&mut self, memory: &mut Memory<P>, by_miss: bool) {
        match self {
            ByBits::Sensed(bits) => bits.period_ended(memory, by_miss),
            ByBits::Exact(_) | ByBits::Mapped(_) => memory.tick(),
        }
    }

    fn permission_faults(&self) -> u64 {
        match self {
            ByBits::Mapped(ByMappedBits { permission_faults }) => *permission_faults,
            ByBits::Exact(_) | ByBits::Sensed(_) => 0,
        }
    }
}

impl<P: AccessDriven> Feed<P> for ByAccess {
    #[inline(always)]
    fn hit(&mut self, memory: &mut Memory<P>, record: Record, frame: Frame) {
        let writes = record.first_is_write() || record.rest_writes();
        memory.access(if writes { Op::Write } else { Op::Read }, frame);
    }

    #[inline]
    fn rest(&mut self, memory: &mut Memory<P>, record: Record, frame: Frame) {
        if record.rest_reads() || record.rest_writes() {
            self.hit(memory, record, frame);
        }
    }
}

impl<P: AccessDriven> Feed<P> for ByReference {
    fn enter(&mut self, run_lengths: Option<RunLengths<'_>>, _: Option<&[u32]>) {
        self.run_lengths.clear();
        self.run_lengths.extend(run_lengths.into_iter().flat_map(RunLengths::iter));
        self.next = 0;
    }

    #[inline]
    fn before(&mut self, _: &mut Memory<P>) {
        if let Some(&length) = self.run_lengths.get(self.next) {
            self.run_length = length;
            self.next += 1;
        }
    }

    #[inline]
    fn hit(&mut self, memory: &mut Memory<P>, record: Record, frame: Frame) {
        memory.access(first_op(record), frame);
        self.rest(memory, record, frame);
    }

    #[inline]
    fn rest(&mut self, memory: &mut Memory<P>, record: Record, frame: Frame) {
        let op = if record.rest_writes() { Op::Write } else { Op::Read };
        for _ in 1..self.run_length {
            memory.access(op, frame);
        }
    }
}

impl<P: Offline> Feed<P> for ByFuture {
    fn enter(&mut self, _: Option<RunLengths<'_>>, next_use: Option<&[u32]>) {
        self.next_use.clear();
        self.next_use.extend_from_slice(next_use.expect("the future is known"));
        self.next = 0;
    }

    #[inline]
    fn before(&mut self, memory: &mut Memory<P>) {
        let next = self.next_use[self.next];
        self.next += 1;
        memory.policy_mut().foresee((next != NEVER).then_some(next));
    }

    #[inline]
    fn hit(&mut self, memory: &mut Memory<P>, record: Record, frame: Frame) {
        ByAccess.hit(memory, record, frame);
    }

    #[inline]
    fn rest(&mut self, memory: &mut Memory<P>, record: Record, frame: Frame) {
        ByAccess.rest(memory, record, frame);
    }
}
