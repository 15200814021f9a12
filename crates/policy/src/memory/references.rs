//! References to pages in memory: the bits that they set, and what a policy learns of them.

use super::Memory;
use crate::page::{AccessDriven, BitDriven};
use crate::{Frame, Op, PageTable};

impl<P: BitDriven> Memory<P> {
    /// What a hit by each of the eight combinations of `(first is a write, then reads, then writes)`, in
    /// bits 0, 1 and 2 of the index, ORs into the state of a frame. See [`Memory::hit`].
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

    /// A run of references to a page in memory: one OR. Bit 0 of `run` says that the first is a write, bit
    /// 1 that a later one reads, bit 2 that a later one writes.
    #[inline(always)]
    pub fn hit(&mut self, run: usize, frame: Frame) {
        self.tell_first_access(frame);
        self.frames.set(frame, Self::HIT_MASKS[run & 7]);
    }

    /// A reference by a call to a page in memory. It sets the bits as one to memory does, unless the policy [learns of
    /// calls](BitDriven::SEES_CALLS).
    #[inline]
    pub fn call(&mut self, op: Op, frame: Frame) {
        if !P::SEES_CALLS {
            return self.frames.set(frame, P::HIT_BITS.mask(op));
        }
        self.policy.called(frame, &mut self.frames);
        if op == Op::Write {
            self.frames.set_dirty(frame);
        }
    }

    /// The rest of a run after its first reference, which faulted. `run` as in [`Memory::hit`].
    #[inline]
    pub fn hit_rest(&mut self, run: usize, frame: Frame) {
        self.frames.set(frame, Self::REST_MASKS[run & 7]);
    }
}

impl<P: BitDriven, T: PageTable> Memory<P, T> {
    /// A reference to a page in memory whose bits are those of its mapping: after a bit has been cleared
    /// the next access sets its own bit and maps the page, after which reads stay unseen. Says whether memory has to
    /// fault for the reference to be seen.
    #[inline]
    pub fn hit_mapped(&mut self, op: Op, frame: Frame) -> bool {
        self.tell_first_access(frame);
        self.frames.touch_mapped(frame, op, P::HIT_BITS)
    }

    /// A reference to a page in memory whose translation comes back by itself after a bit was cleared, and is found
    /// later. The translation says that the page was referenced, so the first access sets the read bit even if it
    /// writes. A write also sets the write bit and the dirty state. Later reads stay unseen, as for
    /// [`Memory::hit_mapped`].
    #[inline]
    pub fn hit_sensed(&mut self, op: Op, frame: Frame) {
        self.hit_mapped(Op::Read, frame);
        if op == Op::Write {
            self.frames.touch_mapped(frame, Op::Write, P::HIT_BITS);
        }
    }

    #[inline]
    fn tell_first_access(&mut self, frame: Frame) {
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
