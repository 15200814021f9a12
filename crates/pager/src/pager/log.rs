//! What happened, told in an order that explains the decisions.
//!
//! The log of references tells what the policy was shown: an access that is found while the policy decides for a miss is
//! logged before that miss, and the evictions that were decided after them.

use clockhand_policy::{Op, PageId};

use super::pages::Pages;
use super::residency::Access;
use crate::parts::{Event, EventSink};

/// Receives events, and holds decisions back while accesses may still be found.
pub(super) struct Log {
    sink: Box<dyn EventSink>,
    /// A decision has been begun and is not carried out yet: a store that fails interrupts it.
    is_deciding: bool,
    /// Decisions that are told after the references found during them.
    held: Vec<Event>,
}

impl Log {
    pub(super) fn new(sink: Box<dyn EventSink>) -> Self {
        Log { sink, is_deciding: false, held: Vec::new() }
    }

    /// Returns whether a decision has been begun and is not carried out yet.
    pub(super) fn is_deciding(&self) -> bool {
        self.is_deciding
    }

    /// A decision begins, during which accesses are found. Returns false if it has begun already.
    pub(super) fn begin_decision(&mut self) -> bool {
        !std::mem::replace(&mut self.is_deciding, true)
    }

    /// The decision has been carried out.
    pub(super) fn end_decision(&mut self) {
        self.is_deciding = false;
        self.held.drain(..).for_each(|event| self.sink.event(event));
    }

    /// Tells what was decided.
    pub(super) fn decided(&mut self, event: Event) {
        match self.is_deciding {
            true => self.held.push(event),
            false => self.sink.event(event),
        }
    }

    /// An access was seen.
    pub(super) fn seen(&mut self, page: PageId, op: Op, is_miss: bool, pages: &mut Pages) {
        pages.counts.references += 1;
        match op {
            Op::Read => pages.counts.read_references += 1,
            Op::Write => pages.counts.write_references += 1,
        }
        pages.residency.touch(page);
        self.sink.event(Event::Reference { page, op, is_miss });
    }

    /// An access was found by looking. Of one that is not known to have written, how it was made is not known.
    pub(super) fn found(&mut self, page: PageId, op: Op, pages: &mut Pages) {
        pages.counts.sensed_references += 1;
        self.seen(page, op, false, pages);
        if op == Op::Write {
            pages.residency.set_access(page, Access::Write);
        }
    }
}
