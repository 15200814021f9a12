//! What watches a replay: nothing, or the hand, the gauges and every step.

use std::num::NonZeroU64;

use clockhand_policy::memory::fast::FastMemory;
use clockhand_policy::page::PagePolicy;
use clockhand_policy::{Frame, Memory, PageId, Step};
use clockhand_trace::Op;

use super::recording::Recording;
use crate::intervals::{Arrivals, Grows};
use crate::io_log::IoLog;

/// Observes a replay; the loop is compiled for each observer, so that not observing costs nothing.
pub(super) trait Observer {
    /// True if it observes references; else it only chooses victims.
    const OBSERVES: bool;
    /// What it counts.
    type Seen: Grows;

    /// What it has counted.
    fn seen(&self) -> Self::Seen;

    /// Asks for the page that is to leave for `incoming`.
    fn victim<P: PagePolicy>(&mut self, memory: &mut Memory<P>, incoming: PageId) -> Frame;
    /// Asks a policy that reclaims in batches for the next step to a free frame.
    fn step<P: PagePolicy>(&mut self, memory: &mut Memory<P>, incoming: PageId) -> Option<Step>;
    /// A page is read from the device.
    #[inline]
    fn fetched(&mut self, page: PageId) {
        let _ = page;
    }
    /// A fault has been served.
    fn faulted<P: PagePolicy>(&mut self, memory: &Memory<P>);
    /// A page is written and stays.
    #[inline]
    fn written_back(&mut self, page: PageId) {
        let _ = page;
    }
    /// A page leaves.
    #[inline]
    fn leaves(&mut self, page: PageId, dirty: bool) {
        let _ = (page, dirty);
    }
    /// A reference, and all that it caused, is done.
    #[inline]
    fn referenced<P: PagePolicy>(&mut self, memory: &Memory<P>, hit: bool) {
        let _ = (memory, hit);
    }
}

pub(super) struct Unobserved;

impl Observer for Unobserved {
    const OBSERVES: bool = false;
    type Seen = ();

    fn seen(&self) {}

    #[inline]
    fn victim<P: PagePolicy>(&mut self, memory: &mut Memory<P>, incoming: PageId) -> Frame {
        memory.propose_victim_for(incoming).expect("the simulator pins nothing")
    }

    fn step<P: PagePolicy>(&mut self, memory: &mut Memory<P>, incoming: PageId) -> Option<Step> {
        memory.next_step(incoming, 1).expect("the simulator pins nothing")
    }

    #[inline]
    fn faulted<P: PagePolicy>(&mut self, _: &Memory<P>) {}
}

/// A value inside a policy after a fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaugeSample {
    /// The number of the fault, from 1.
    pub fault: u64,
    /// Hand movements until then.
    pub hand_movements: u64,
    /// The name of the value.
    pub gauge: &'static str,
    /// The value.
    pub value: f64,
}

/// A log of the pages that a replay reads and writes, with the times of its references.
pub(crate) struct PageLog<'a> {
    pub(crate) log: IoLog,
    pub(crate) arrivals: &'a Arrivals,
    /// References that were served.
    pub(crate) references: u64,
}

impl PageLog<'_> {
    fn page(&mut self, op: Op, PageId(page): PageId) {
        self.log.page(op, 0, page, self.arrivals.time_of(self.references));
    }
}

/// What was seen of a replay.
#[derive(Default)]
pub(crate) struct Observed<'a> {
    pub(super) gauge_every: Option<NonZeroU64>,
    pub(super) faults: u64,
    pub(crate) hand_movements: u64,
    pub(crate) samples: Vec<GaugeSample>,
    /// Every step, if they are recorded.
    pub(crate) recording: Option<Recording>,
    /// Every page that is read or written, if that is wanted.
    pub(crate) log: Option<PageLog<'a>>,
}

impl Observer for Observed<'_> {
    const OBSERVES: bool = true;
    /// Hand movements.
    type Seen = u64;

    fn seen(&self) -> u64 {
        self.hand_movements
    }

    fn victim<P: PagePolicy>(&mut self, memory: &mut Memory<P>, incoming: PageId) -> Frame {
        let (frame, examined) =
            memory.propose_victim_counted(incoming).expect("the simulator pins nothing");
        self.hand_movements += examined;
        frame
    }

    fn step<P: PagePolicy>(&mut self, memory: &mut Memory<P>, _: PageId) -> Option<Step> {
        let (step, examined) = memory.next_step_counted(1).expect("the simulator pins nothing");
        self.hand_movements += examined;
        step
    }

    fn fetched(&mut self, page: PageId) {
        if let Some(log) = &mut self.log {
            log.page(Op::Read, page);
        }
    }

    fn faulted<P: PagePolicy>(&mut self, memory: &Memory<P>) {
        self.faults += 1;
        let Some(every) = self.gauge_every else { return };
        if (self.faults - 1).is_multiple_of(every.get()) {
            let Observed { faults: fault, hand_movements, .. } = *self;
            memory.policy().gauges(&mut |gauge, value| {
                self.samples.push(GaugeSample { fault, hand_movements, gauge, value });
            });
        }
    }

    fn written_back(&mut self, page: PageId) {
        if let Some(recording) = &mut self.recording {
            recording.written_back(page);
        }
        if let Some(log) = &mut self.log {
            log.page(Op::Write, page);
        }
    }

    fn leaves(&mut self, page: PageId, dirty: bool) {
        if let Some(recording) = &mut self.recording {
            recording.leaves(page, dirty);
        }
        if let (Some(log), true) = (&mut self.log, dirty) {
            log.page(Op::Write, page);
        }
    }

    #[inline(always)]
    fn referenced<P: PagePolicy>(&mut self, memory: &Memory<P>, hit: bool) {
        if let Some(recording) = &mut self.recording {
            recording.referenced(memory, hit, self.hand_movements);
        }
        if let Some(log) = &mut self.log {
            log.references += 1;
        }
    }
}
