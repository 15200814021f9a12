//! Which pages of a program's memory are the kernel's, because the program has mapped something else over them.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use clockhand_policy::PageId;

/// Pages that the pager neither watches nor touches; a clone is the same list. Most programs have none.
#[derive(Clone, Debug, Default)]
pub(crate) struct GivenAway {
    /// In ascending order, with other pages between any two.
    ranges: Arc<Mutex<Vec<Range<u32>>>>,
}

impl GivenAway {
    fn ranges(&self) -> MutexGuard<'_, Vec<Range<u32>>> {
        self.ranges.lock().expect("the lock is never poisoned")
    }

    /// The list as it is now, for another memory.
    pub(crate) fn copied(&self) -> Self {
        GivenAway { ranges: Arc::new(Mutex::new(self.ranges().clone())) }
    }

    /// Adds these pages, some of which may be among them.
    pub(crate) fn add(&self, pages: Range<u32>) {
        let mut ranges = self.ranges();
        ranges.push(pages);
        ranges.sort_unstable_by_key(|range| range.start);
        ranges.dedup_by(|next, range| {
            let meets = next.start <= range.end;
            if meets {
                range.end = range.end.max(next.end);
            }
            meets
        });
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges().is_empty()
    }

    /// Whether this page is among them.
    pub(crate) fn has(&self, page: PageId) -> bool {
        let ranges = self.ranges();
        let behind = ranges.partition_point(|range| range.end <= page.0);
        ranges.get(behind).is_some_and(|range| range.start <= page.0)
    }

    /// Works on the other pages of `pages`, a range at a time in ascending order, until that fails.
    pub(crate) fn each_other<E>(
        &self,
        pages: Range<u32>,
        mut work: impl FnMut(Range<u32>) -> Result<(), E>,
    ) -> Result<(), E> {
        let ranges = self.ranges();
        let from = ranges.partition_point(|range| range.end <= pages.start);
        let starts = [pages.start].into_iter().chain(ranges[from..].iter().map(|range| range.end));
        let ends = ranges[from..].iter().map(|range| range.start).chain([pages.end]);
        let between = starts.zip(ends).map(|(start, end)| start..end.min(pages.end));
        between.filter(|range| range.start < range.end).try_for_each(&mut work)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    const PAGES: u32 = 40;

    proptest! {
        #[test]
        fn the_ranges_agree_with_a_flag_for_each_page(
            added in prop::collection::vec((0..PAGES, 1..9_u32), 0..12),
            (start, length) in (0..PAGES, 0..PAGES),
        ) {
            let given_away = GivenAway::default();
            let mut flags = vec![false; 2 * PAGES as usize];
            for (first, pages) in added {
                given_away.add(first..first + pages);
                flags[first as usize..(first + pages) as usize].fill(true);
            }
            for page in 0..2 * PAGES {
                prop_assert_eq!(given_away.has(PageId(page)), flags[page as usize]);
            }
            let mut others = Vec::new();
            let add = |range| {
                others.extend(range);
                Ok::<_, Infallible>(())
            };
            given_away.each_other(start..start + length, add).expect("nothing fails");
            let expected: Vec<_> = (start..start + length).filter(|&page| !flags[page as usize]).collect();
            prop_assert_eq!(others, expected);
        }
    }
}
