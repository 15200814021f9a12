//! The mechanism under any policy, behind one type, so that the pager is compiled once and not for each policy. A fault
//! takes microseconds, and a call through a table of functions nanoseconds.

use clockhand_policy::memory::fast::FastMemory;
use clockhand_policy::page::{BitDriven, Fault, Inspector};
use clockhand_policy::{Frame, HitBits, Memory, Op, PageId, Step};

use crate::frames::UnmappingFrames;

/// What the pager asks of a [`Memory`], whose methods say more.
pub(crate) trait AnyMemory {
    /// Which bits a hit sets.
    fn hit_bits(&self) -> HitBits;
    /// Returns whether the policy learns when a page that has no bit set is accessed.
    fn sees_first_accesses(&self) -> bool;

    fn frame_of(&self, page: PageId) -> Frame;
    fn is_full(&self) -> bool;
    fn free_frames(&self) -> u32;
    fn resident_frames(&self) -> Vec<Frame>;
    fn frames(&self) -> &UnmappingFrames;
    fn frames_mut(&mut self) -> &mut UnmappingFrames;

    fn hit_mapped(&mut self, op: Op, frame: Frame);
    fn hit_sensed(&mut self, op: Op, frame: Frame);
    fn load(&mut self, fault: Fault) -> Frame;
    /// The next step until a frame is free for `incoming`.
    fn next_step(&mut self, incoming: PageId) -> Option<Step>;
    fn written_back(&mut self, frame: Frame);
    fn commit_eviction(&mut self);

    fn tick(&mut self);

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64));
    fn inspect(&self, inspector: &mut dyn Inspector);
    fn check_invariants(&self);
}

impl<P: BitDriven> AnyMemory for Memory<P, UnmappingFrames> {
    fn hit_bits(&self) -> HitBits {
        P::HIT_BITS
    }

    fn sees_first_accesses(&self) -> bool {
        P::SEES_FIRST_ACCESSES
    }

    fn frame_of(&self, page: PageId) -> Frame {
        self.frame_of(page)
    }

    fn is_full(&self) -> bool {
        FastMemory::is_full(self)
    }

    fn free_frames(&self) -> u32 {
        FastMemory::free_frames(self)
    }

    fn resident_frames(&self) -> Vec<Frame> {
        FastMemory::resident_frames(self).collect()
    }

    fn frames(&self) -> &UnmappingFrames {
        self.frames()
    }

    fn frames_mut(&mut self) -> &mut UnmappingFrames {
        FastMemory::frames_mut(self)
    }

    fn hit_mapped(&mut self, op: Op, frame: Frame) {
        FastMemory::hit_mapped(self, op, frame);
    }

    fn hit_sensed(&mut self, op: Op, frame: Frame) {
        FastMemory::hit_sensed(self, op, frame);
    }

    fn load(&mut self, fault: Fault) -> Frame {
        self.load(fault)
    }

    fn next_step(&mut self, incoming: PageId) -> Option<Step> {
        self.next_step(incoming, 1).expect("the pager pins nothing")
    }

    fn written_back(&mut self, frame: Frame) {
        self.written_back(frame);
    }

    fn commit_eviction(&mut self) {
        self.commit_eviction();
    }

    fn tick(&mut self) {
        FastMemory::tick(self);
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.policy().gauges(show);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        self.policy().inspect(inspector);
    }

    fn check_invariants(&self) {
        FastMemory::check_invariants(self);
    }
}
