//! Pages that the program has accessed without a message, and that are in no frame.
//!
//! Such a page was prefetched, exposed as zeros, or written in the last moment before it left. It is a miss, but no thread
//! waits for it.

use std::collections::VecDeque;

use clockhand_policy::{Op, PageId};

/// Accesses that no thread waits for, as far as they are known. None, unless the kernel shows writes.
#[derive(Default)]
pub(super) struct Discovered {
    /// Pages that were accessed and are to be loaded, in the order they will be.
    pages: VecDeque<(PageId, Op)>,
    /// The page whose miss has been begun and has not been finished: a store that fails interrupts it, and it goes on
    /// before anything else is decided.
    begun: Option<PageId>,
    /// True if silent accesses are being ended, so that pages which leave do so although they are wanted: a program that
    /// goes on could want them forever.
    pub(super) are_ending: bool,
}

impl Discovered {
    /// The number of pages that are to be loaded.
    pub(super) fn len(&self) -> usize {
        self.pages.len()
    }

    /// The page that is to be loaded first, and how it was accessed.
    pub(super) fn first(&self) -> Option<(PageId, Op)> {
        self.pages.front().copied()
    }

    /// Returns whether the page has been accessed and is to be loaded.
    pub(super) fn has(&self, page: PageId) -> bool {
        self.pages.iter().any(|&(discovered, _)| discovered == page)
    }

    /// Returns whether the page is known to have been written, and is to be loaded.
    pub(super) fn has_written(&self, page: PageId) -> bool {
        self.pages.contains(&(page, Op::Write))
    }

    /// A page has been accessed that was not known to have been.
    pub(super) fn add(&mut self, page: PageId, op: Op) {
        self.pages.push_back((page, op));
    }

    /// The page has been written, or may have been, whatever was known of it before.
    pub(super) fn add_written(&mut self, page: PageId) {
        match self.pages.iter_mut().find(|(discovered, _)| *discovered == page) {
            Some((_, op)) => *op = Op::Write,
            None => self.add(page, Op::Write),
        }
    }

    /// The decisions for a miss of this page begin.
    pub(super) fn begin_miss(&mut self, page: PageId) {
        self.begun = Some(page);
    }

    /// The page is loaded.
    pub(super) fn end_miss(&mut self, page: PageId) {
        self.begun = None;
        self.pages.retain(|&(discovered, _)| discovered != page);
    }

    /// The page that is being loaded.
    pub(super) fn begun(&self) -> Option<PageId> {
        self.begun
    }

    /// The program has freed these pages. The policy has decided for one whose miss has been begun: it will be loaded, as
    /// zeros.
    pub(super) fn forget(&mut self, is_freed: impl Fn(PageId) -> bool) {
        let begun = self.begun;
        self.pages.retain(|&(page, _)| Some(page) == begun || !is_freed(page));
    }
}
