//! Copies of a memory for forked processes.

use clockhand_policy::{Frames, Op, PageId};

use super::Pager;
use super::pages::Pages;
use super::residency::Residence;
use super::write_back::copy_changed;
use crate::parts::{InitialPages, PagerError};

impl Pager {
    /// Puts a copy of all pages into slots, and forbids all writes until the next access is served.
    ///
    /// # Errors
    ///
    /// If a page cannot be written; the slots have then been released.
    pub fn copy_for_fork(&mut self) -> Result<InitialPages, PagerError> {
        self.read_ahead.end_background(&mut self.pages)?;
        self.pages.discovered.are_ending = true;
        let ended = self.end_silent_accesses();
        self.pages.discovered.are_ending = false;
        ended?;
        self.write_back.write_all(&mut self.pages)?;
        let goes_on = self.pages.observation.goes_on_during_forks();
        let mut changed = Vec::new();
        let mut copies = InitialPages::new();
        for number in 0..self.pages.residency.footprint().len() {
            let page = self.pages.residency.footprint()[number];
            self.freeze(page, goes_on)?;
            match self.pages.residency.slot(page) {
                // Without a slot a page reads as zeros.
                _ if self.is_changed(page) => changed.push(page),
                Some(slot) if !self.is_dirty(page) => {
                    self.pages.store.share(slot);
                    copies.push((page, slot));
                }
                _ => {}
            }
        }
        let result = copy_changed(&changed, &mut copies, &mut self.pages);
        if let Err(error) = result {
            copies.into_iter().for_each(|(_, slot)| self.pages.store.release(slot));
            return Err(error);
        }
        Ok(copies)
    }

    fn is_dirty(&self, page: PageId) -> bool {
        let Pages { memory, residency, .. } = &self.pages;
        residency.is_in_frame(page) && memory.frames().is_dirty(memory.frame_of(page))
    }

    /// Returns whether a page, which is frozen, has content that is not in the store.
    fn is_changed(&mut self, page: PageId) -> bool {
        // SAFETY: the page has content, which does not change.
        self.is_dirty(page)
            && self.pages.residency.is_present(page)
            && !unsafe { self.pages.address(page).is_zeros() }
    }

    /// Whatever the program may reach without a message is loaded, or dropped.
    fn end_silent_accesses(&mut self) -> Result<(), PagerError> {
        if !self.pages.observation.shows_writes() {
            return Ok(());
        }
        self.read_ahead.look_at_all(&mut self.pages);
        self.load_discovered()?;
        self.read_ahead.drop_all(&mut self.pages, &mut self.write_back)?;
        while self.pages.discovered.len() > 0 {
            self.load_discovered()?;
        }
        Ok(())
    }

    /// Sees to it that the content of a page stays what it is until the next access is served.
    fn freeze(&mut self, page: PageId, goes_on: bool) -> Result<(), PagerError> {
        let Pages { memory, observation, residency, .. } = &mut self.pages;
        if !observation.shows_writes() {
            return observation.forbid_writes(page, residency);
        }
        if residency.of(page) != Residence::Loaded || residency.is_cached(page) {
            return Ok(());
        }
        if goes_on {
            observation.take(&[page], residency)?;
        }
        let frame = memory.frame_of(page);
        let seen = memory.frames_mut().look_at(&[page]);
        if seen.iter().all(|seen| seen.is_written) && memory.frames().is_news(frame) {
            self.found(page, Op::Write);
            self.pages.memory.hit_sensed(Op::Write, frame);
        }
        Ok(())
    }
}
