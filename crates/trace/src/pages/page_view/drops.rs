//! Pages whose content ends: of deleted files and objects, of discarded ranges, beyond a file's new end.

use std::ops::Range;

use crate::event::{Action, Event};
use crate::pages::footprint::PageKey;

/// Pages whose content ends before a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Drop {
    /// The place of the record; the number of records at the end of the trace.
    pub before: usize,
    /// The pages, by dense id.
    pub pages: Range<u32>,
}

/// The same while a view is made, when pages have no final ids.
pub(super) struct RawDrop {
    before: usize,
    stream: u32,
    /// Page numbers.
    pages: Range<u64>,
}

impl RawDrop {
    /// What an event drops, if it drops anything.
    pub(super) fn of(event: &Event, before: usize, page_shift: u32) -> Option<Self> {
        let pages = match event.action {
            Action::Discard { address, bytes } => inner_pages(address, bytes, page_shift),
            Action::Delete => 0..u64::MAX,
            Action::Truncate { bytes } => bytes.div_ceil(1 << page_shift)..u64::MAX,
            _ => return None,
        };
        (!pages.is_empty()).then_some(Self { before, stream: event.object, pages })
    }

    /// The drop by dense ids; none if no page is ever referenced.
    pub(super) fn dense(&self, page_keys: &[PageKey]) -> Option<Drop> {
        let position =
            |page: u64| page_keys.partition_point(|&key| key < (self.stream, page)) as u32;
        let pages = position(self.pages.start)..position(self.pages.end);
        (!pages.is_empty()).then_some(Drop { before: self.before, pages })
    }
}

/// The pages that lie wholly inside a range of bytes.
pub(crate) fn inner_pages(address: u64, bytes: u64, page_shift: u32) -> Range<u64> {
    address.div_ceil(1 << page_shift)..address.saturating_add(bytes) >> page_shift
}
