//! Pages that left last, whose contents are kept for as long as nothing else needs their memory.
//!
//! A frame that is kept for writes, or for pages that are read ahead, and holds none at the moment, holds one of them. The policy
//! knows nothing of it: an access to such a page is a miss, for which nothing need be read.

use clockhand_policy::PageId;

use super::Pager;
use super::page_states::{IN_SWAP_CACHE, PRESENT, READ_AHEAD};
use crate::parts::PagerError;

impl Pager {
    /// A page leaves that is in the store as it is.
    pub(super) fn release(&mut self, page: PageId) -> Result<(), PagerError> {
        let is_cached = self.pages.has(page, PRESENT) && self.pages.has(page, IN_SWAP_CACHE);
        let is_stored = self.pages.slot(page).is_some();
        if self.silent.is_none() || !is_cached || !is_stored || self.is_discovered(page) {
            return self.leave(page);
        }
        if !self.swap_cache.has(page) {
            self.cache_taken(page);
        }
        self.pages.set(page, READ_AHEAD);
        self.left.push_back(page);
        self.keep_to_frames(0);
        Ok(())
    }

    /// Forgets the pages that left first, until there is a frame for each page in memory or being read and for `coming`
    /// others.
    pub(super) fn keep_to_frames(&mut self, others: usize) {
        let needed = self.write_queue.evicted + self.frames_ahead() + others;
        let spare = (self.reserve + self.read_ahead.capacity()).saturating_sub(needed);
        while self.left.len() > spare {
            let Some(page) = self.left.pop_front() else { break };
            self.pages.clear(page, PRESENT | IN_SWAP_CACHE | READ_AHEAD);
            self.swap_cache.remove(page);
            self.counts.resident_pages -= 1;
        }
    }
}
