//! What must hold between any two calls, for tests.

use clockhand_policy::{Frame, Frames, PageId};

use super::Pager;
use super::pages::Pages;
use super::residency::{Access, Residence};

impl Pager {
    /// Recounts everything, for tests.
    ///
    /// # Panics
    ///
    /// If anything disagrees.
    pub fn check_invariants(&self) {
        self.pages.memory.check_invariants();
        assert!(!self.read_ahead.reads_early(), "a read has been forgotten");
        let Pages { memory, residency, .. } = &self.pages;
        let all = || (0..self.pages.number()).map(PageId);
        all().for_each(|page| self.pages.check(page, self.write_back.preparing()));
        residency.check_numbers();
        let mut listed: Vec<_> = self.write_back.pages().collect();
        assert!(listed.iter().all(|&page| residency.is_in_flight(page)));
        listed.sort_unstable();
        listed.dedup();
        let in_flight = all().filter(|&page| residency.is_in_flight(page)).count();
        assert_eq!(listed.len(), in_flight, "a page in flight is listed once");
        let waiting = self.read_ahead.waiting();
        assert!(waiting.clone().all(|page| residency.of(page) == Residence::Ahead));
        let waiting = waiting.count();
        assert_eq!(waiting, residency.number(Residence::Ahead), "a page read ahead waits once");
        // The miss for which a frame was made free may have failed.
        let free = memory.free_frames() as usize;
        let (frames, borrowed) = self.write_back.frames();
        assert_eq!(borrowed, self.read_ahead.lent(), "who has a kept frame is not clear");
        let room = self.read_ahead.capacity() - borrowed;
        let evicted = residency.number(Residence::Evicted);
        assert!(evicted <= frames + free, "more pages are under way than there are frames");
        // A miss that failed may have lent frames before the pages in them had left: the next one drops those first.
        let capacity = self.read_ahead.capacity();
        assert!(waiting <= capacity + free, "more is read ahead than there are frames for it");
        assert!(evicted + waiting <= frames + room + free, "more is kept than there is room for");
        let left = residency.number(Residence::Left);
        assert!(
            left == 0 || evicted + waiting + left <= frames + room,
            "pages that have left hold frames that others need"
        );
    }
}

impl Pages {
    /// Checks what is known of one page. The write of the one that is prepared has failed.
    fn check(&self, page: PageId, prepared: Option<PageId>) {
        let Pages { memory, residency, observation, discovered, .. } = self;
        let (residence, frame) = (residency.of(page), memory.frame_of(page));
        let is_resident = frame != Frame::NONE;
        assert_eq!(is_resident, residency.is_in_frame(page), "the policy has other pages");
        let (is_present, is_in_flight) = (residency.is_present(page), residency.is_in_flight(page));
        assert!(is_present || !is_in_flight, "what is to be written is gone");
        assert!(is_in_flight || residence != Residence::Evicted, "an evicted page is forgotten");
        assert!(residence != Residence::Refaults || discovered.has(page));
        if residency.is_writable(page) {
            assert!(is_present && is_resident);
            assert!(memory.frames().is_dirty(frame), "a clean page can be written unseen");
        }
        let is_mapped = !observation.is_sensed()
            && matches!(residency.access(page), Access::Read | Access::Write);
        let is_evicted = !is_resident && !memory.frames().is_to_be_unmapped(page);
        assert!(!is_mapped || is_present && !is_evicted);
        let is_leaving = self.is_leaving(page);
        assert!(!is_leaving || !is_resident || prepared == Some(page));
        let is_exposed = observation.shows_writes() && residence == Residence::Ahead;
        let is_cached =
            observation.is_sensed() && is_present && !is_resident && !is_exposed && !is_leaving;
        // A page that is in a frame may have been taken from the program for a while.
        let is_cached = is_cached || observation.shows_writes() && residency.is_cached(page);
        assert_eq!(residency.is_cached(page), is_cached, "the program must not reach a page");
        let has_copy = observation.is_sensed() && is_in_flight && !is_leaving;
        assert_eq!(residency.swap_cache.has(page), is_cached || has_copy);
    }
}
