//! References to pages in memory: the bits that they set, and what a policy learns of them.

use super::Memory;
use super::fast::{Hits, Run};
use crate::page::{AccessDriven, BitDriven};
use crate::{Frame, Op, PageTable};

impl<P: BitDriven> Memory<P> {
    /// What a hit by each of the eight combinations of `(first is a write, then reads, then writes)`, in
    /// bits 0, 1 and 2 of the index, ORs into the state of a frame. See [`Run`].
    const HIT_MASKS: [u8; 8] =
        Self::masks([P::HIT_BITS.mask(Op::Read), P::HIT_BITS.mask(Op::Write)]);
    /// As [`Memory::HIT_MASKS`], without the first reference.
    const REST_MASKS: [u8; 8] = Self::masks([0, 0]);

    const fn masks(of_first: [u8; 2]) -> [u8; 8] {
        let mut masks = [0; 8];
        let mut index = 0;
        while index < 8 {
            masks[index] = of_first[index & 1];
            masks[index] |= if index & 2 == 0 { 0 } else { P::HIT_BITS.mask(Op::Read) };
            masks[index] |= if index & 4 == 0 { 0 } else { P::HIT_BITS.mask(Op::Write) };
            index += 1;
        }
        masks
    }

    /// A reference to a page in memory: one OR. The policy does not see it.
    #[inline]
    pub fn hit(&mut self, op: Op, frame: Frame) {
        self.tell_first_access(frame);
        self.frames.set(frame, P::HIT_BITS.mask(op));
    }
}

impl<P: BitDriven> Hits for Memory<P> {
    #[inline(always)]
    fn hit_run(&mut self, run: Run, frame: Frame) {
        self.tell_first_access(frame);
        self.frames.set(frame, Self::HIT_MASKS[run.flags()]);
    }

    #[inline]
    fn hit_rest(&mut self, run: Run, frame: Frame) {
        self.frames.set(frame, Self::REST_MASKS[run.flags()]);
    }

    #[inline]
    fn call(&mut self, op: Op, frame: Frame) {
        if !P::SEES_CALLS {
            return self.frames.set(frame, P::HIT_BITS.mask(op));
        }
        self.policy.called(frame, &mut self.frames);
        if op == Op::Write {
            self.frames.set_dirty(frame);
        }
    }
}

impl<P: BitDriven, T: PageTable> Memory<P, T> {
    #[inline]
    pub(super) fn tell_first_access(&mut self, frame: Frame) {
        if P::SEES_FIRST_ACCESSES && !self.frames.is_referenced(frame) {
            self.policy.first_access(frame, &mut self.frames);
        }
    }
}

impl<P: AccessDriven> Memory<P> {
    /// A reference to a page in memory that the policy sees.
    #[inline(always)]
    pub fn access(&mut self, op: Op, frame: Frame) {
        debug_assert_ne!(self.victim, Some(frame), "the policy has forgotten the pending victim");
        self.policy.hit(op, frame, &self.frames);
        self.frames.set_dirty_if(frame, op == Op::Write);
    }
}
