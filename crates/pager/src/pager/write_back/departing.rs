//! Takes pages that are to leave away from a program that can still reach them.

use clockhand_policy::PageId;

use super::{WriteBack, spare};
use crate::pager::observation::rows;
use crate::pager::pages::Pages;
use crate::parts::PagerError;

/// Which pages are taken away from a program that can still reach them, although they are to leave.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Departing {
    /// Those that it has not accessed since.
    Unwanted,
    All,
}

impl WriteBack {
    /// While the store reads, takes away pages that are to leave, a row of neighbours at a time. Half of what is written
    /// together is left, and what is held: the program may want a page again.
    pub(in crate::pager) fn depart_while_reading(
        &mut self,
        pages: &mut Pages,
    ) -> Result<(), PagerError> {
        let kept = self.holding.together() / 2;
        let old = self.waiting.len().saturating_sub(self.holding.held());
        if old <= kept {
            return Ok(());
        }
        let leaving = leaving(&self.waiting[..old], pages);
        let mut left = leaving.len();
        for row in rows(&leaving) {
            if left <= kept || pages.store.has_read() {
                break;
            }
            left -= row.len();
            self.depart(row.to_vec(), Departing::Unwanted, pages)?;
        }
        Ok(())
    }

    /// Takes away pages that are to leave, in ascending order: only what has gone is what was written last, since writes
    /// cannot be held up.
    pub(super) fn depart(
        &mut self,
        mut leaving: Vec<PageId>,
        departing: Departing,
        pages: &mut Pages,
    ) -> Result<(), PagerError> {
        if departing == Departing::Unwanted {
            self.find_wanted(&mut leaving, pages);
        }
        pages.observation.take(&leaving, &mut pages.residency)?;
        for page in leaving {
            if pages.residency.swap_cache.content(page).is_zeros() {
                self.waiting.retain(|&waiting| waiting != page);
                pages.residency.set_in_flight(page, false);
                // The page whose write is only being prepared has not been evicted yet, and leaves at once, unless the
                // write of others fails: then it is prepared again.
                if self.preparing != Some(page) {
                    spare(page, pages);
                    pages.leave(page)?;
                }
            }
        }
        self.untouched.retain(|&page| pages.is_leaving(page));
        Ok(())
    }

    /// Finds pages that have been accessed since it was decided that they leave: they stay, and are misses. They may have
    /// been written. `leaving` are those that leave, in ascending order, and keeps the others.
    fn find_wanted(&mut self, leaving: &mut Vec<PageId>, pages: &mut Pages) {
        if pages.discovered.are_ending {
            return;
        }
        let watched = leaving.iter().copied().filter(|page| self.untouched.contains(page));
        let watched: Vec<_> = watched.collect();
        let seen = pages.memory.frames_mut().look_at(&watched);
        let accessed = watched.into_iter().zip(seen).filter(|(_, seen)| seen.is_translated);
        accessed.for_each(|(page, _)| pages.discovered.add_written(page));
        leaving.retain(|&page| !pages.discovered.has(page));
    }

    /// Takes away a page that is to leave clean; returns whether it has been written nevertheless, so that its content,
    /// which was taken last, must be kept.
    pub(in crate::pager) fn take_clean(
        &mut self,
        page: PageId,
        pages: &mut Pages,
    ) -> Result<bool, PagerError> {
        if !pages.observation.take_last(page, &mut pages.residency)? {
            return Ok(false);
        }
        let seen = pages.memory.frames_mut().look_at(&[page]);
        let refaults = seen.iter().all(|seen| seen.is_written);
        if refaults {
            // The write under way has older content.
            self.cancel(page, pages);
            self.wait_for_writes_of(|written| written == page, pages)?;
            self.cancel(page, pages);
        }
        Ok(refaults)
    }
}

/// Those of the pages that are still where the program reaches them, in ascending order.
pub(super) fn leaving(waiting: &[PageId], pages: &Pages) -> Vec<PageId> {
    let waiting = waiting.iter().copied();
    let mut leaving: Vec<_> = waiting.filter(|&page| pages.is_leaving(page)).collect();
    leaving.sort_unstable();
    leaving
}
