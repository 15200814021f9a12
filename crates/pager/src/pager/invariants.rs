//! What must hold between any two calls, for tests.

use clockhand_policy::{Frame, Frames, PageId};

use super::Pager;
use super::page_states::{IN_FLIGHT, IN_SWAP_CACHE, MAPPED, PRESENT, READ_AHEAD, WRITABLE};

impl Pager {
    /// Recounts everything, for tests.
    ///
    /// # Panics
    ///
    /// If anything disagrees.
    pub fn check_invariants(&self) {
        self.memory.check_invariants();
        assert!(self.early.is_none(), "a read has been forgotten");
        let mut present = 0;
        let mut evicted = 0;
        let mut ahead = 0;
        let mut in_flight = 0;
        for page in (0..self.program.pages()).map(PageId) {
            let is_resident = self.memory.frame_of(page) != Frame::NONE;
            let is_present = self.pages.has(page, PRESENT);
            present += u64::from(is_present);
            let is_ahead = self.pages.has(page, READ_AHEAD);
            let refaults = self.is_discovered(page) && self.pages.has(page, IN_SWAP_CACHE);
            assert!(!is_ahead || is_present && !is_resident);
            ahead += usize::from(is_ahead && !refaults);
            evicted += usize::from(is_present && !is_resident && !is_ahead);
            in_flight += usize::from(self.pages.has(page, IN_FLIGHT));
            assert!(
                is_present || !self.pages.has(page, IN_FLIGHT),
                "what is to be written is gone"
            );
            let accessible = if self.is_sensed() { PRESENT } else { MAPPED };
            assert!(!self.pages.has(page, WRITABLE) || self.pages.has(page, accessible));
            assert!(!self.pages.has(page, WRITABLE) || is_present && is_resident);
            let is_evicted = !is_resident && !self.memory.frames().is_to_be_unmapped(page);
            assert!(!self.pages.has(page, MAPPED) || is_present && !is_evicted);
            let has_left = self.left.contains(&page);
            assert!(!has_left || is_ahead && self.pages.has(page, IN_SWAP_CACHE));
            let is_exposed = self.silent.is_some() && is_ahead && !refaults && !has_left;
            let is_leaving = self.is_leaving(page);
            // Its write has failed, and is prepared again.
            let is_prepared = self.preparing == Some(page);
            assert!(!is_leaving || !is_resident || is_prepared);
            let is_within_reach = is_exposed || is_leaving;
            let is_cached = self.is_sensed() && is_present && !is_resident && !is_within_reach;
            // A page that is in a frame may have been taken from the program for a while.
            let is_cached =
                is_cached || self.silent.is_some() && self.pages.has(page, IN_SWAP_CACHE);
            assert_eq!(
                self.pages.has(page, IN_SWAP_CACHE),
                is_cached,
                "the program must not reach a page"
            );
            assert_eq!(
                self.swap_cache.has(page),
                is_cached || self.is_sensed() && self.pages.has(page, IN_FLIGHT) && !is_leaving
            );
            assert!(!is_present || is_resident || self.pages.has(page, IN_FLIGHT | READ_AHEAD));
            if is_resident && self.pages.has(page, WRITABLE) {
                let frame = self.memory.frame_of(page);
                assert!(self.memory.frames().is_dirty(frame), "a clean page can be written unseen");
            }
        }
        let under_way = self.write_queue.under_way.iter().flat_map(|(_, pages)| pages);
        let mut listed: Vec<_> = self.write_queue.waiting.iter().chain(under_way).collect();
        assert!(listed.iter().all(|&&page| self.pages.has(page, IN_FLIGHT)));
        listed.sort_unstable();
        listed.dedup();
        assert_eq!(listed.len(), in_flight, "a page in flight is listed once");
        assert_eq!(present, self.counts.resident_pages, "the number of resident pages is wrong");
        let (waiting, left) = (self.read_ahead.waiting.len(), self.left.len());
        assert_eq!(
            ahead,
            waiting + left,
            "a page is listed wrongly as read ahead, or as having left"
        );
        assert_eq!(evicted, self.write_queue.evicted, "the number of evicted pages is wrong");
        // The miss for which a frame was made free may have failed.
        let free = self.memory.free_frames() as usize;
        let room = self.read_ahead.capacity() + free;
        assert!(waiting <= room, "more is read ahead than there is room for");
        assert!(evicted <= self.reserve + free, "more pages are under way than there are frames");
        let kept = self.reserve + self.read_ahead.capacity();
        assert!(
            left == 0 || evicted + waiting + left <= kept,
            "pages that have left hold frames that others need"
        );
    }
}
