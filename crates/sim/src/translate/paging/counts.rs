//! What memory does besides demand paging, what it counts, and what tests see of it.

use clockhand_device::Joined;

use crate::intervals::grows;
use crate::translate::translator::LookUp;

/// Features of the driver besides demand paging.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PagingRules {
    /// A fault brings up to this many of the pages behind its own.
    pub(crate) prefetch: u32,
    /// Nothing is evicted; streams are killed.
    pub(crate) no_swap: bool,
    /// Another stream than the last one finds TLBs and walk cache empty.
    pub(crate) flush_on_switch: bool,
}

/// What memory counted, in pages except for promotions, demotions (regions) and kills (streams).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PagingCounts {
    pub(crate) page_faults: u64,
    pub(crate) evictions: u64,
    pub(crate) write_ios: u64,
    pub(crate) promotions: u64,
    pub(crate) demotions: u64,
    pub(crate) promotion_fetches: u64,
    pub(crate) prefetched: u64,
    pub(crate) prefetched_in_vain: u64,
    pub(crate) kills: u64,
    pub(crate) page_table_bytes: u64,
    /// The pages that were read by the request of another one: what one reference reads is one request.
    pub(crate) joined: Joined,
}

grows!(PagingCounts {
    page_faults,
    evictions,
    write_ios,
    promotions,
    demotions,
    promotion_fetches,
    prefetched,
    prefetched_in_vain,
    kills,
    joined,
} kept { page_table_bytes });

/// What one reference did, in order. A page or region is a number of the [`Space`], a stream its position there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    LookUp(LookUp),
    Fault(u32),
    Prefetch(u32),
    Fetch(u32),
    Evict { page: u32, dirty: bool },
    Demote(u32),
    Promote(u32),
    GiveUp(u32),
    Kill(u32),
}

/// Observes every action, for tests; the loop is compiled for each, so that not watching costs nothing.
pub(crate) trait Watcher {
    fn saw(&mut self, action: Action);
}

/// Sees nothing.
pub(crate) struct Unwatched;

impl Watcher for Unwatched {
    #[inline]
    fn saw(&mut self, _: Action) {}
}
