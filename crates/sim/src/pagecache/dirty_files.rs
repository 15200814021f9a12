//! The dirty pages of files: which they are, since when, and what a power failure would lose.

use std::ops::Range;

/// No page.
const NONE: u32 = u32::MAX;

/// Pages in a chain; a page is in it at most once.
#[derive(Debug)]
struct Chain {
    next: Vec<u32>,
    previous: Vec<u32>,
}

/// The ends of a chain.
#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u32,
    last: u32,
}

const EMPTY: Ends = Ends { first: NONE, last: NONE };

impl Chain {
    fn new(pages: usize) -> Self {
        Chain { next: vec![NONE; pages], previous: vec![NONE; pages] }
    }

    fn push(&mut self, ends: &mut Ends, page: u32) {
        self.previous[page as usize] = ends.last;
        self.next[page as usize] = NONE;
        match ends.last {
            NONE => ends.first = page,
            last => self.next[last as usize] = page,
        }
        ends.last = page;
    }

    fn remove(&mut self, ends: &mut Ends, page: u32) {
        let (previous, next) = (self.previous[page as usize], self.next[page as usize]);
        match previous {
            NONE => ends.first = next,
            previous => self.next[previous as usize] = next,
        }
        match next {
            NONE => ends.last = previous,
            next => self.previous[next as usize] = previous,
        }
    }

    fn iter(&self, ends: Ends) -> impl Iterator<Item = u32> + '_ {
        let some = |page: u32| (page != NONE).then_some(page);
        std::iter::successors(some(ends.first), move |&page| some(self.next[page as usize]))
    }
}

/// The dirty pages of files, oldest first, and by file.
#[derive(Debug)]
pub(super) struct DirtyFiles {
    by_time: Chain,
    by_file: Chain,
    ends: Ends,
    /// By object.
    ends_of_file: Vec<Ends>,
    became_dirty: Vec<u64>,
    count: u64,
    /// The most there were at any moment.
    peak: u64,
    /// The largest age that was seen.
    age_max: u64,
}

impl DirtyFiles {
    /// No dirty page yet, among `pages` pages of `objects` objects.
    pub(super) fn new(pages: usize, objects: u32) -> Self {
        DirtyFiles {
            by_time: Chain::new(pages),
            by_file: Chain::new(pages),
            ends: EMPTY,
            ends_of_file: vec![EMPTY; objects as usize],
            became_dirty: vec![0; pages],
            count: 0,
            peak: 0,
            age_max: 0,
        }
    }

    #[inline]
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The most dirty pages and the largest age that there were since they were last asked for.
    pub(super) fn take_largest(&mut self) -> (u64, u64) {
        let largest = (self.peak, self.age_max);
        (self.peak, self.age_max) = (self.count, 0);
        largest
    }

    /// A clean page of the file has become dirty.
    pub(super) fn insert(&mut self, page: u32, file: u32, time: u64) {
        self.became_dirty[page as usize] = time;
        self.by_time.push(&mut self.ends, page);
        self.by_file.push(&mut self.ends_of_file[file as usize], page);
        self.count += 1;
        self.peak = self.peak.max(self.count);
    }

    /// The page is clean, or gone; the last look at it was at `now`.
    pub(super) fn remove(&mut self, page: u32, file: u32, now: u64) {
        self.by_time.remove(&mut self.ends, page);
        self.by_file.remove(&mut self.ends_of_file[file as usize], page);
        self.count -= 1;
        self.look_at(page, now);
    }

    fn look_at(&mut self, page: u32, now: u64) {
        self.age_max = self.age_max.max(now.saturating_sub(self.became_dirty[page as usize]));
    }

    /// Records the ages of all pages that are still dirty at the end.
    pub(super) fn end(&mut self, now: u64) {
        if self.ends.first != NONE {
            self.look_at(self.ends.first, now);
        }
    }

    /// The dirty pages of a file, ascending.
    pub(super) fn of_file(&self, file: u32) -> Vec<u32> {
        let mut pages: Vec<u32> = self.by_file.iter(self.ends_of_file[file as usize]).collect();
        pages.sort_unstable();
        pages
    }

    /// All dirty pages, ascending.
    pub(super) fn all(&self) -> Vec<u32> {
        let mut pages: Vec<u32> = self.by_time.iter(self.ends).collect();
        pages.sort_unstable();
        pages
    }

    /// The pages that became dirty at `latest` or before, in that order; pages of one time ascend.
    pub(super) fn until(&self, latest: u64) -> Vec<u32> {
        let became_dirty = |page: u32| self.became_dirty[page as usize];
        let old = self.by_time.iter(self.ends).take_while(|&page| became_dirty(page) <= latest);
        let mut pages: Vec<u32> = old.collect();
        pages.sort_unstable_by_key(|&page| (became_dirty(page), page));
        pages
    }

    /// The pages that are too many, the oldest ones, in the order of [`DirtyFiles::until`].
    pub(super) fn beyond(&self, limit: u64) -> Vec<u32> {
        let excess = self.count.saturating_sub(limit) as usize;
        let Some(last) =
            excess.checked_sub(1).and_then(|last| self.by_time.iter(self.ends).nth(last))
        else {
            return Vec::new();
        };
        let mut pages = self.until(self.became_dirty[last as usize]);
        pages.truncate(excess);
        pages
    }
}

/// The object of a range of pages that are all of one; `None` for no pages or several objects.
pub(super) fn single_object(page_keys: &[(u32, u64)], pages: &Range<u32>) -> Option<u32> {
    let keys = &page_keys[pages.start as usize..pages.end as usize];
    let (first, last) = (keys.first()?.0, keys.last()?.0);
    (first == last).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_stand_in_the_order_in_which_they_became_dirty_and_ties_ascend() {
        let mut dirty = DirtyFiles::new(10, 2);
        for (page, file, time) in [(7, 1, 1), (3, 0, 1), (5, 0, 2), (1, 0, 4), (0, 1, 4)] {
            dirty.insert(page, file, time);
        }
        assert_eq!(dirty.until(2), [3, 7, 5]);
        assert_eq!(dirty.beyond(4), [3]);
        assert_eq!(dirty.beyond(1), [3, 7, 5, 0]);
        assert_eq!(dirty.beyond(5), [0; 0]);
        assert_eq!(dirty.of_file(0), [1, 3, 5]);
        dirty.remove(7, 1, 9);
        assert_eq!((dirty.age_max, dirty.peak, dirty.count()), (8, 5, 4));
        assert_eq!(dirty.all(), [0, 1, 3, 5]);
        dirty.end(20);
        assert_eq!(dirty.age_max, 19);
    }
}
