//! Admission, which comes before a memory and its policy: they never learn of a page that is refused.

use clockhand_policy::page::PagePolicy;
use clockhand_policy::{Memory, Op, PageId};

use crate::intervals::Grows;

/// What decides on admission to a memory.
pub(crate) trait Admission {
    /// True if it needs every reference and every miss, one by one.
    const HEARS_MISSES: bool;
    /// What it counts.
    type Seen: Grows;

    /// False if it admits every page.
    #[inline]
    fn refuses(&self) -> bool {
        false
    }

    /// What it has counted.
    fn seen(&self) -> Self::Seen;

    /// A reference to a block, before it is known whether the block is in the cache.
    fn referenced(&mut self, block: PageId);
    /// The block is in the cache.
    fn hit(&mut self, block: PageId);
    /// The block is not in the cache: whether it may enter. Asked once for each miss.
    fn admits<P: PagePolicy>(&mut self, block: PageId, op: Op, memory: &Memory<P>) -> bool;
    /// The last reference has missed, and its block was admitted or not.
    #[inline]
    fn missed(&mut self, op: Op, is_admitted: bool) {
        let _ = (op, is_admitted);
    }
}

/// Every miss enters; costs nothing.
pub(crate) struct Everything;

impl Admission for Everything {
    const HEARS_MISSES: bool = false;
    type Seen = ();

    fn seen(&self) {}

    #[inline]
    fn referenced(&mut self, _: PageId) {}

    #[inline]
    fn hit(&mut self, _: PageId) {}

    #[inline]
    fn admits<P: PagePolicy>(&mut self, _: PageId, _: Op, _: &Memory<P>) -> bool {
        true
    }
}
