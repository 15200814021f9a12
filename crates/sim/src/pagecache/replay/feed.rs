//! How each kind of policy learns of references.

use clockhand_policy::memory::fast::{FastMemory, Hits};
use clockhand_policy::page::{AccessDriven, BitDriven, Offline};
use clockhand_policy::{Frame, Memory, Op};
use clockhand_trace::Reference;

use crate::pagecache::future::Future;

/// How a kind of policy learns of references.
pub(super) trait Feed<P> {
    /// Before the page is looked up, and before each page that is read ahead.
    #[inline]
    fn before(
        &mut self,
        memory: &mut Memory<P>,
        next_reference: impl FnOnce(&Future) -> Option<u32>,
    ) {
        let _ = (memory, next_reference);
    }
    fn hit(&mut self, memory: &mut Memory<P>, reference: Reference, frame: Frame);
}

pub(super) struct ByBits;
pub(super) struct ByAccess;
pub(super) struct ByFuture<'a>(pub(super) &'a Future);

pub(super) fn op(reference: Reference) -> Op {
    if reference.is_write() { Op::Write } else { Op::Read }
}

impl<P: BitDriven> Feed<P> for ByBits {
    #[inline]
    fn hit(&mut self, memory: &mut Memory<P>, reference: Reference, frame: Frame) {
        if reference.is_call() {
            memory.call(op(reference), frame);
        } else {
            memory.hit(op(reference), frame);
        }
    }
}

impl<P: AccessDriven> Feed<P> for ByAccess {
    #[inline]
    fn hit(&mut self, memory: &mut Memory<P>, reference: Reference, frame: Frame) {
        memory.access(op(reference), frame);
    }
}

impl<P: Offline> Feed<P> for ByFuture<'_> {
    #[inline]
    fn before(
        &mut self,
        memory: &mut Memory<P>,
        next_reference: impl FnOnce(&Future) -> Option<u32>,
    ) {
        memory.policy_mut().foresee(next_reference(self.0));
    }

    #[inline]
    fn hit(&mut self, memory: &mut Memory<P>, reference: Reference, frame: Frame) {
        memory.access(op(reference), frame);
    }
}
