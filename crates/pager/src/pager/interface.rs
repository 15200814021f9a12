//! What its driver asks of a pager, beside serving accesses.

use std::time::Duration;

use clockhand_policy::PageId;
use clockhand_policy::page::Inspector;

use super::Pager;
use super::pages::Pages;
use crate::parts::PagerError;
use crate::statistics::{Counts, Times};

impl Pager {
    /// Forgets the content of pages, which read as zeros from now on.
    ///
    /// # Errors
    ///
    /// If the memory cannot be given back. A failing store causes no error: it is not asked to write these pages.
    pub fn discard(&mut self, first: PageId, pages: u32) -> Result<(), PagerError> {
        if pages == 0 {
            return Ok(());
        }
        self.read_ahead.end_background(&mut self.pages)?;
        let end = first.0 + pages;
        let is_discarded = |page: PageId| (first.0..end).contains(&page.0);
        self.write_back.forget(is_discarded, &mut self.pages)?;
        self.read_ahead.forget(is_discarded);
        self.pages.discovered.forget(is_discarded);
        self.pages.free(first.0..end)?;
        self.pages.counts.discarded_pages += u64::from(pages);
        Ok(())
    }

    /// Forgets the content of pages over which the program maps something else: they are neither watched nor touched from now on.
    /// One that is in a frame leaves it as a page that is not used.
    ///
    /// # Errors
    ///
    /// As [`Pager::discard`], or if the memory cannot do without them.
    pub fn give_away(&mut self, first: PageId, pages: u32) -> Result<(), PagerError> {
        self.discard(first, pages)?;
        // What the program does later must not reach what it maps there.
        self.pages.finish_dropping()?;
        Ok(self.pages.observation.program.give_away(first, pages)?)
    }

    /// Collects writes that have finished. Called when there is nothing else to do.
    ///
    /// # Errors
    ///
    /// As [`Pager::serve`]; a failed write is tried again when its page's frame is needed.
    pub fn collect_finished_writes(&mut self) -> Result<(), PagerError> {
        self.write_back.reap(false, &mut self.pages)
    }

    /// The program has ended, so pages still queued need not be written. Waits for the writes under way, so that
    /// the counts are final.
    ///
    /// # Errors
    ///
    /// If the memory is no longer accessible; a failing store causes no error.
    pub fn end(&mut self) -> Result<(), PagerError> {
        self.read_ahead.end_background(&mut self.pages)?;
        self.write_back.forget(|_| true, &mut self.pages)
    }

    /// What was counted.
    pub fn counts(&self) -> Counts {
        let Pages { residency, counts, .. } = &self.pages;
        Counts {
            footprint_pages: residency.footprint().len() as u64,
            resident_pages: residency.present_pages() as u64,
            peak_resident_pages: residency.peak_pages() as u64,
            ..*counts
        }
    }

    /// Where time went.
    pub fn times(&self) -> &Times {
        &self.pages.times
    }

    /// A fault has been served, `time` after the pager learned of it.
    pub fn fault_served(&mut self, time: Duration) {
        self.pages.times.fault_served(time);
    }

    /// The values by which the policy adapts.
    pub fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.pages.memory.gauges(show);
    }

    /// The policy's lists.
    pub fn inspect(&self, inspector: &mut dyn Inspector) {
        self.pages.memory.inspect(inspector);
    }

    /// Bytes that the store occupies.
    pub fn occupied_bytes(&self) -> u64 {
        self.pages.store.occupied_bytes()
    }
}
