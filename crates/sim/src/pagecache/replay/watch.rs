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

/// Observes a replay. The loop is compiled for each observer; `None` of one observes nothing.
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

impl<W: Watch> Watch for Option<W> {
    #[inline]
    fn at(&mut self, time_ns: Option<u64>) {
        if let Some(watch) = self {
            watch.at(time_ns);
        }
    }

    #[inline]
    fn happened(&mut self, what: Happened) {
        if let Some(watch) = self {
            watch.happened(what);
        }
    }

    #[inline]
    fn served<P: PagePolicy>(&mut self, memory: &Memory<P>, slots: Option<&SwapSlots>) {
        if let Some(watch) = self {
            watch.served(memory, slots);
        }
    }
}
