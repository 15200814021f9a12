//! What happens over time: hits and moves in windows of the trace, and who lives in the fast tier at their ends.

use std::sync::Arc;

use clockhand_policy::PageId;
use clockhand_policy::tier::Tiers;
use serde::Serialize;

use super::counts::{Counter, TierCounts};

/// Windows of a trace, if it has as many references.
const WINDOWS: u64 = 48;
/// Groups of pages, if there are as many.
const GROUPS: usize = 24;
/// Pages that are looked at for each reference, at most: to see who lives where takes less time than the replay.
const LOOKS_PER_REFERENCE: u64 = 1;

/// A replay in windows of about the same number of references.
/// Its names are those of the columns that a dataset keeps beside a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TierCourse {
    /// References until the end of each window.
    #[serde(rename = "course_references")]
    pub references: Vec<u64>,
    /// Those of each window that found their page in the fast tier.
    #[serde(rename = "course_fast_hits")]
    pub fast_hits: Vec<u64>,
    /// Promotions in each window.
    #[serde(rename = "course_promotions")]
    pub promotions: Vec<u64>,
    /// Demotions in each window.
    #[serde(rename = "course_demotions")]
    pub demotions: Vec<u64>,
    /// Pages of each group; the first has those that are referenced most often.
    #[serde(rename = "course_group_pages")]
    pub group_pages: Vec<u64>,
    /// Pages in the fast tier at the end of each window, of one group after the other; of a trace with many more pages than
    /// references in a window, only at some ends, and nothing at the others.
    #[serde(rename = "course_fast_pages")]
    pub fast_pages: Vec<Option<u64>>,
}

/// Pages in groups of about the same size, those that are referenced most often first.
#[derive(Clone, Debug, Default)]
pub(crate) struct PageGroups {
    of_page: Vec<u8>,
    pages: Vec<u64>,
}

impl PageGroups {
    /// The groups of pages with these numbers of reads and writes.
    pub(crate) fn of(accesses: &[[u64; 2]]) -> Self {
        let mut order: Vec<usize> = (0..accesses.len()).collect();
        order.sort_by_key(|&page| std::cmp::Reverse(accesses[page][0] + accesses[page][1]));
        let groups = GROUPS.min(accesses.len());
        let (mut of_page, mut pages) = (vec![0; accesses.len()], vec![0; groups]);
        for (rank, page) in order.into_iter().enumerate() {
            let group = rank * groups / accesses.len();
            of_page[page] = group as u8;
            pages[group] += 1;
        }
        PageGroups { of_page, pages }
    }
}

/// Notes what happens in the windows of a replay.
#[derive(Clone, Debug)]
pub(crate) struct Windows {
    groups: Arc<PageGroups>,
    /// References of the trace.
    total: u64,
    windows: u64,
    /// The windows between two looks at which page lives where.
    looks: u64,
    before: TierCounts,
    course: TierCourse,
}

impl Windows {
    /// Before the first of `total` references.
    pub(crate) fn new(groups: Arc<PageGroups>, total: u64) -> Self {
        let windows = WINDOWS.min(total);
        let pages = groups.of_page.len() as u64;
        let looks = (windows * pages).div_ceil((LOOKS_PER_REFERENCE * total).max(1)).max(1);
        let course = TierCourse { group_pages: groups.pages.clone(), ..TierCourse::default() };
        Windows { groups, total, windows, looks, before: TierCounts::default(), course }
    }

    /// References until the end of the present window; `u64::MAX` behind the last one.
    pub(crate) fn next_end(&self) -> u64 {
        let window = self.course.references.len() as u64 + 1;
        if window > self.windows { u64::MAX } else { window * self.total / self.windows }
    }

    /// The present window ends.
    pub(crate) fn end(&mut self, tiers: &mut Tiers<Counter>) {
        let counts = tiers.movements().counts.clone();
        let course = &mut self.course;
        course.references.push(counts.references());
        course.fast_hits.push(counts.fast_hits - self.before.fast_hits);
        course.promotions.push(counts.promotions - self.before.promotions);
        course.demotions.push(counts.demotions - self.before.demotions);
        self.before = counts;
        let groups = self.groups.pages.len();
        if !(course.references.len() as u64).is_multiple_of(self.looks) {
            return course.fast_pages.extend(std::iter::repeat_n(None, groups));
        }
        let mut fast = vec![0u64; groups];
        for (page, &group) in self.groups.of_page.iter().enumerate() {
            fast[group as usize] += u64::from(tiers.is_fast(PageId(page as u32)));
        }
        course.fast_pages.extend(fast.into_iter().map(Some));
    }

    /// What was noted.
    pub(crate) fn into_course(self) -> TierCourse {
        self.course
    }
}
