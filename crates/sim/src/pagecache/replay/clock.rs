//! Time, as the flusher and ages count it.

use super::EventCell;
use crate::pagecache::options::FlushUnit;

/// Where in time the replay is, in the unit of the flusher and of ages.
pub(super) struct Clock<'a> {
    pub(super) times_ns: Option<&'a [u64]>,
    /// The time of the event that is served: of trace time, or references served before it.
    pub(super) now: u64,
    /// References served, that under way included.
    pub(super) references: u64,
    /// The event that refers to pages which is served last, plus 1.
    pub(super) event: usize,
    /// When the flusher runs next.
    pub(super) next_flush: u64,
    pub(super) has_begun: bool,
}

impl<'a> Clock<'a> {
    pub(super) fn new(cell: &EventCell<'a>) -> Self {
        let counts_references =
            cell.options.flusher.is_some_and(|flusher| flusher.unit == FlushUnit::References);
        Clock {
            times_ns: cell.view.times_ns().filter(|_| !counts_references),
            now: 0,
            references: 0,
            event: 0,
            next_flush: cell.options.flusher.map_or(u64::MAX, |flusher| flusher.every),
            has_begun: false,
        }
    }

    /// The present time, for a page that becomes dirty.
    #[inline]
    pub(super) fn stamp(&self) -> u64 {
        if self.times_ns.is_some() { self.now } else { self.references }
    }
}
