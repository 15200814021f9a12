//! What tests and logs see of a replay.

use clockhand_policy::Memory;
use clockhand_policy::page::PagePolicy;

use crate::pagecache::swap_slots::SwapSlots;

/// How a missing page gets its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pagecache) enum Fill {
    /// It is read.
    Read,
    /// It is zero.
    Zero,
    /// A call writes all that there is of it.
    Blind,
}

/// What is watched of a replay; pages by dense id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pagecache) enum Happened {
    Hit(u32),
    Filled(u32, Fill),
    Ahead(u32),
    Evicted(u32, bool),
    Dropped(u32, bool),
    /// Written, and stays.
    Written(u32),
}

/// Observes a replay; the loop is compiled for each observer, so that not observing costs nothing.
pub(in crate::pagecache) trait Watch {
    /// What follows happens at this time, if the trace has times.
    #[inline]
    fn at(&mut self, time_ns: Option<u64>) {
        let _ = time_ns;
    }
    fn happened(&mut self, what: Happened);
    /// An event has been served.
    fn served<P: PagePolicy>(&mut self, memory: &Memory<P>, slots: Option<&SwapSlots>);
}

pub(super) struct Unwatched;

impl Watch for Unwatched {
    #[inline]
    fn happened(&mut self, _: Happened) {}
    #[inline]
    fn served<P: PagePolicy>(&mut self, _: &Memory<P>, _: Option<&SwapSlots>) {}
}
