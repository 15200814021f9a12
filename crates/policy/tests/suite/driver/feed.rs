//! How policies learn of references: by bits, by calls, or with what comes later.

use clockhand_policy::memory::fast::{FastMemory, Hits, Run};
use clockhand_policy::page::{AccessDriven, BitDriven, Offline};
use clockhand_policy::{Frame, Memory, Op};

use super::Bits;

/// How a kind of policy learns of references.
pub(super) trait Feed<P> {
    /// Before a run whose last reference is the one at `position`.
    fn before(&mut self, memory: &mut Memory<P>, position: usize) {
        let _ = (memory, position);
    }
    /// Before `page` comes with the reference at `position`.
    fn before_ahead(&mut self, memory: &mut Memory<P>, position: usize, page: u32) {
        let _ = (memory, position, page);
    }
    /// The page of the run is in memory.
    fn hit(&mut self, memory: &mut Memory<P>, ops: &[Op], frame: Frame);
    /// A call refers to a page in memory.
    fn call(&mut self, memory: &mut Memory<P>, op: Op, frame: Frame) {
        self.hit(memory, &[op], frame);
    }
    /// The first reference of the run has faulted and its page been loaded.
    fn faulted(&mut self, memory: &mut Memory<P>, ops: &[Op], frame: Frame);
}

pub(super) struct ByBits(pub(super) Bits);
pub(super) struct ByAccess;
pub(super) struct WithFuture {
    pub(super) future: Vec<u32>,
    pub(super) next: Vec<Option<u32>>,
}

fn run_of(ops: &[Op]) -> Run {
    let flags = usize::from(ops[0] == Op::Write)
        | usize::from(ops[1..].contains(&Op::Read)) << 1
        | usize::from(ops[1..].contains(&Op::Write)) << 2;
    Run::of_flags(flags)
}

/// A run as one access.
fn one_op(ops: &[Op]) -> Op {
    if ops.contains(&Op::Write) { Op::Write } else { Op::Read }
}

impl<P: BitDriven> Feed<P> for ByBits {
    fn call(&mut self, memory: &mut Memory<P>, op: Op, frame: Frame) {
        memory.call(op, frame);
    }

    fn hit(&mut self, memory: &mut Memory<P>, ops: &[Op], frame: Frame) {
        match self.0 {
            // A single reference as an embedder tells it, which must be the same.
            Bits::Exact if ops.len() == 1 => memory.hit(ops[0], frame),
            Bits::Exact => memory.hit_run(run_of(ops), frame),
            Bits::Mapped => {
                memory.hit_mapped(ops[0], frame);
                if ops[1..].contains(&Op::Write) {
                    memory.hit_mapped(Op::Write, frame);
                }
            }
            Bits::Sensed => ops.iter().for_each(|&op| memory.hit_sensed(op, frame)),
        }
    }

    fn faulted(&mut self, memory: &mut Memory<P>, ops: &[Op], frame: Frame) {
        match self.0 {
            Bits::Exact => memory.hit_rest(run_of(ops), frame),
            Bits::Mapped => self.hit(memory, ops, frame),
            Bits::Sensed => {
                memory.hit_mapped(ops[0], frame);
                ops[1..].iter().for_each(|&op| memory.hit_sensed(op, frame));
            }
        }
    }
}

impl<P: AccessDriven> Feed<P> for ByAccess {
    fn hit(&mut self, memory: &mut Memory<P>, ops: &[Op], frame: Frame) {
        match P::COUNTS_REFERENCES {
            true => ops.iter().for_each(|&op| memory.access(op, frame)),
            false => memory.access(one_op(ops), frame),
        }
    }

    fn faulted(&mut self, memory: &mut Memory<P>, ops: &[Op], frame: Frame) {
        match ops {
            [_, rest @ ..] if P::COUNTS_REFERENCES => self.hit(memory, rest, frame),
            [_] => (),
            ops => self.hit(memory, ops, frame),
        }
    }
}

impl<P: Offline> Feed<P> for WithFuture {
    fn before(&mut self, memory: &mut Memory<P>, position: usize) {
        memory.policy_mut().foresee(self.next[position]);
    }

    fn before_ahead(&mut self, memory: &mut Memory<P>, position: usize, page: u32) {
        let mut later = self.future[position + 1..].iter();
        let next = later.position(|&other| other == page).map(|distance| position + 1 + distance);
        memory.policy_mut().foresee(next.map(|position| position as u32));
    }

    fn hit(&mut self, memory: &mut Memory<P>, ops: &[Op], frame: Frame) {
        ByAccess.hit(memory, ops, frame);
    }

    fn faulted(&mut self, memory: &mut Memory<P>, ops: &[Op], frame: Frame) {
        ByAccess.faulted(memory, ops, frame);
    }
}
