//! Pages that the program may reach unasked, where the kernel shows which pages have been written.
//!
//! Then a write to a protected page goes on without a message. So does an access to a prefetched page or to one that is
//! offered as zeros: the kernel makes the translation. The pager finds these accesses when it looks. A page that was
//! accessed and is in no frame is *discovered*: it is a miss, but no thread waits for it.
//!
//! Dirty pages that are to leave stay where the program reaches them until there are enough to take them away together, too.
//!
//! Writes cannot be held up. So a page that leaves is taken away first and looked at afterwards: what the program has written
//! until it was gone is in the page that was taken, and the kernel remembers whether it has. A clean page that was written
//! in its last moment is *late*: it has left, as the policy decided, and is a miss at once.

use std::collections::VecDeque;
use std::slice;

use clockhand_policy::{Frame, Op, PageId};

use super::Pager;
use super::page_states::{ASIDE, IN_FLIGHT, PRESENT, READ_AHEAD, WRITABLE};
use super::read_ahead::Guess;
use crate::parts::PagerError;
use crate::store::Page;

/// Accesses that no thread waits for, as far as they are known.
pub(super) struct Offers {
    /// Pages that were accessed and are to be loaded, in the order they will be.
    discovered: VecDeque<(PageId, Op)>,
    /// The page whose miss has been begun and has not been finished: a store that fails interrupts it, and it goes on
    /// before anything else is decided.
    begun: Option<PageId>,
    /// The clean page that was taken last.
    taken: Box<Page>,
    /// True if pages must be taken from the program to stay what they are during a fork.
    takes_to_freeze: bool,
    /// True if offers are being ended, so that pages which leave do so although they are wanted: a program that goes on
    /// could want them forever.
    are_ending: bool,
}

impl Default for Offers {
    fn default() -> Self {
        Offers {
            discovered: VecDeque::new(),
            begun: None,
            taken: Box::new(Page::ZEROS),
            takes_to_freeze: false,
            are_ending: false,
        }
    }
}

impl Offers {
    /// Returns whether the page has been accessed and is to be loaded.
    fn has_discovered(&self, page: PageId) -> bool {
        self.discovered.iter().any(|&(discovered, _)| discovered == page)
    }

    /// The page has been written, or may have been, whatever was known of it before.
    fn discover_written(&mut self, page: PageId) {
        match self.discovered.iter_mut().find(|(discovered, _)| *discovered == page) {
            Some((_, op)) => *op = Op::Write,
            None => self.discovered.push_back((page, Op::Write)),
        }
    }
}

impl Pager {
    /// The decisions for this page begin.
    pub(super) fn begin_miss(&mut self, page: PageId) {
        if let Some(offers) = &mut self.offers {
            offers.begun = Some(page);
        }
    }

    /// The page is loaded.
    pub(super) fn end_miss(&mut self, page: PageId) {
        if let Some(offers) = &mut self.offers {
            offers.begun = None;
            offers.discovered.retain(|&(discovered, _)| discovered != page);
        }
    }

    /// Puts pages that were read ahead where the program reaches them.
    pub(super) fn offer(&mut self, mut pages: Vec<PageId>) -> Result<(), PagerError> {
        if self.offers.is_none() {
            return Ok(());
        }
        pages.sort_unstable();
        for row in pages.chunk_by(|page, next| page.0 + 1 == next.0) {
            let contents: Vec<_> = row.iter().map(|&page| self.aside.at(page)).collect();
            self.program.offer(row[0], &contents)?;
        }
        for page in pages {
            self.pages.clear(page, ASIDE);
            self.aside.remove(page);
        }
        Ok(())
    }

    /// Offers pages of zeros beside this one, which is touched for the first time.
    pub(super) fn offer_zeros_beside(&mut self, page: PageId) -> Result<(), PagerError> {
        if self.offers.is_none() {
            return Ok(());
        }
        let (is_upwards, others) = self.zeros_beside(page);
        let together = self.read_ahead.zeros_together(page, is_upwards);
        self.read_ahead.zeros_are_offered(page, is_upwards, together);
        let Some(&first) = others.iter().min() else { return Ok(()) };
        self.make_room_to_read_ahead(others.len())?;
        self.keep_to_frames(others.len());
        self.program.offer(first, &vec![&Page::ZEROS; others.len()])?;
        for other in others {
            self.arrived(other);
            self.pages.set(other, READ_AHEAD);
            self.read_ahead.push(other, Guess::default());
        }
        Ok(())
    }

    /// The pages of zeros to offer with this one: those that follow it, or lead up to it if the next page has been touched
    /// already, since a program may fill its memory from the end, or from both ends. Returns also whether they follow.
    fn zeros_beside(&self, page: PageId) -> (bool, Vec<PageId>) {
        let is_untouched = |page: &PageId| {
            !self.pages.has(*page, PRESENT | IN_FLIGHT)
                && self.pages.slot(*page).is_none()
                && self.memory.frame_of(*page) == Frame::NONE
        };
        let following = (page.0 + 1..self.program.pages()).map(PageId).take_while(is_untouched);
        let is_upwards = following.clone().next().is_some();
        let others = self.read_ahead.zeros_together(page, is_upwards) - 1;
        let leading = (0..page.0).rev().map(PageId).take_while(is_untouched);
        let beside = match is_upwards {
            true => following.take(others).collect(),
            false => leading.take(others).collect(),
        };
        (is_upwards, beside)
    }

    /// Loads the pages that have been accessed unasked, before an access to `page` is served. Returns what that access then
    /// is: a write, if the page was discovered to be written. A miss that was interrupted goes first.
    pub(super) fn discover_before(&mut self, page: PageId, op: Op) -> Result<Op, PagerError> {
        let Some(offers) = &mut self.offers else { return Ok(op) };
        let is_discovered = offers.has_discovered(page);
        if offers.begun != Some(page) || is_discovered {
            if self.brings_others(page) {
                self.read_early(page);
                self.look_before_others_come(page);
            }
            self.load_discovered()?;
        }
        let Some(offers) = &mut self.offers else { return Ok(op) };
        // Content that is still to be written and was not copied is in the memory file only.
        let is_written = offers.discovered.contains(&(page, Op::Write)) || self.is_leaving(page);
        Ok(if is_written { Op::Write } else { op })
    }

    /// If the page must be read, the store reads while others are looked at and loaded.
    fn read_early(&mut self, page: PageId) {
        let is_begun = self.offers.as_ref().is_some_and(|offers| offers.begun.is_some());
        if is_begun || self.is_discovered(page) {
            return;
        }
        if let Some(slot) = self.pages.slot(page) {
            self.early = Some(self.begin_reading(page, slot));
        }
    }

    /// Returns whether the page is to leave, and is still where the program reaches it.
    pub(super) fn is_leaving(&self, page: PageId) -> bool {
        self.offers.is_some() && self.pages.has(page, IN_FLIGHT) && !self.aside.has(page)
    }

    /// Finds pages that have been accessed since it was decided that they leave: they stay, and are misses. They may have
    /// been written. `pages` are those that leave, in ascending order, and keeps the others.
    pub(super) fn find_wanted(&mut self, pages: &mut Vec<PageId>) {
        if self.offers.is_none() || self.are_offers_ending() {
            return;
        }
        let untouched = &self.write_queue.untouched;
        let watched: Vec<_> =
            pages.iter().copied().filter(|page| untouched.contains(page)).collect();
        let seen = self.memory.frames_mut().look_at(&watched);
        let Some(offers) = &mut self.offers else { return };
        let accessed = watched.into_iter().zip(seen).filter(|(_, seen)| seen.is_translated);
        accessed.for_each(|(page, _)| offers.discover_written(page));
        pages.retain(|&page| !offers.has_discovered(page));
    }

    /// Returns whether an access to this page may offer others, in place of those that have been offered longest.
    fn brings_others(&self, page: PageId) -> bool {
        self.memory.frame_of(page) == Frame::NONE && !self.pages.has(page, IN_FLIGHT | READ_AHEAD)
    }

    /// Looks at offered pages: at those whose time has come, and at all that are about to be dropped for others.
    fn look_before_others_come(&mut self, page: PageId) {
        let due = self.read_ahead.due();
        self.look_at_offers(due.clone());
        let others = match &self.early {
            Some(reading) => reading.others(),
            None => self.zeros_beside(page).1.len(),
        };
        let mut leaving = self.read_ahead.about_to_leave(others, |page| self.is_discovered(page));
        leaving.retain(|page| !due.contains(page));
        self.look_at_offers(leaving);
    }

    /// Finds those of the pages that have been accessed unasked and are not known to have been.
    fn look_at_offers(&mut self, mut pages: Vec<PageId>) {
        pages.retain(|&page| !self.is_discovered(page));
        let Some(offers) = &mut self.offers else { return };
        pages.sort_unstable();
        let seen = self.memory.frames_mut().look_at(&pages);
        let accessed = pages.into_iter().zip(seen).filter(|(_, seen)| seen.is_translated);
        let op = |is_written| if is_written { Op::Write } else { Op::Read };
        let found: Vec<_> = accessed.map(|(page, seen)| (page, op(seen.is_written))).collect();
        offers.discovered.extend(&found);
        found.into_iter().for_each(|(page, _)| self.read_ahead_was_used(page));
    }

    /// Loads the pages that have been discovered. Those that are late because of it wait until the program, which needs
    /// pages as well, has had its turn.
    fn load_discovered(&mut self) -> Result<(), PagerError> {
        let discovered = self.offers.as_ref().map_or(0, |offers| offers.discovered.len());
        for _ in 0..discovered {
            let next = self.offers.as_ref().and_then(|offers| offers.discovered.front().copied());
            let Some((page, op)) = next else { break };
            self.miss(page, op, false)?;
        }
        Ok(())
    }

    pub(super) fn is_discovered(&self, page: PageId) -> bool {
        self.offers.as_ref().is_some_and(|offers| offers.has_discovered(page))
    }

    /// Returns whether the page is being loaded.
    pub(super) fn is_being_loaded(&self, page: PageId) -> bool {
        self.offers.as_ref().is_some_and(|offers| offers.begun == Some(page))
    }

    /// Returns whether pages that are loaded stay out of the program's reach: one that it writes whenever it can would
    /// leave late for ever.
    pub(super) fn are_offers_ending(&self) -> bool {
        self.offers.as_ref().is_some_and(|offers| offers.are_ending)
    }

    /// The program has freed these pages. The policy has decided for one whose miss has been begun: it will be loaded, as
    /// zeros.
    pub(super) fn forget_discovered(&mut self, is_freed: impl Fn(PageId) -> bool) {
        if let Some(offers) = &mut self.offers {
            let begun = offers.begun;
            offers.discovered.retain(|&(page, _)| Some(page) == begun || !is_freed(page));
        }
    }

    /// Pages that the program has freed, in ascending order, may be in frames still, and have not been written until they have
    /// content.
    pub(super) fn forbid_writes_of_freed(&mut self, freed: Vec<PageId>) -> Result<(), PagerError> {
        if self.offers.is_none() {
            return Ok(());
        }
        let is_in_frame = |page: &PageId| self.memory.frame_of(*page) != Frame::NONE;
        let pages: Vec<_> = freed.into_iter().filter(is_in_frame).collect();
        for row in pages.chunk_by(|page, next| page.0 + 1 == next.0) {
            self.program.forbid_writes(row[0], row.len() as u32)?;
        }
        Ok(())
    }

    /// Takes pages away, which are in ascending order, and keeps their contents.
    pub(super) fn take_aside(&mut self, pages: &[PageId]) -> Result<(), PagerError> {
        let mut contents: Vec<_> = pages.iter().map(|_| self.aside.unused()).collect();
        self.program.take(pages, &mut contents)?;
        for (&page, content) in pages.iter().zip(contents) {
            self.aside.put(page, content);
            self.pages.clear(page, WRITABLE);
            self.pages.set(page, ASIDE);
        }
        Ok(())
    }

    /// Takes away a page that is to leave clean; returns whether it has been written nevertheless, so that its content, which
    /// was taken last, must be kept.
    pub(super) fn take_clean(&mut self, page: PageId) -> Result<bool, PagerError> {
        let Some(offers) = &mut self.offers else { return Ok(false) };
        if !self.pages.has(page, PRESENT) || self.pages.has(page, ASIDE) {
            return Ok(false);
        }
        self.program.take(&[page], slice::from_mut(&mut offers.taken))?;
        self.pages.clear(page, WRITABLE);
        self.pages.set(page, ASIDE);
        let seen = self.memory.frames_mut().look_at(&[page]);
        let is_late = seen.iter().all(|seen| seen.is_written);
        if is_late {
            // The write under way has older content.
            self.withdraw_page(page);
            self.wait_for_writes_of(|written| written == page)?;
            self.withdraw_page(page);
        }
        Ok(is_late)
    }

    /// Keeps the page that was taken last, and is to be loaded again.
    pub(super) fn keep_late(&mut self, page: PageId) {
        self.put_taken_aside(page);
        self.pages.set(page, PRESENT | ASIDE | READ_AHEAD);
        if let Some(offers) = &mut self.offers {
            offers.discover_written(page);
        }
        self.keep_to_frames(0);
    }

    /// The content that was taken last is this page's.
    pub(super) fn put_taken_aside(&mut self, page: PageId) {
        let Some(offers) = &mut self.offers else { return };
        let taken = std::mem::replace(&mut offers.taken, self.aside.unused());
        self.aside.put(page, taken);
    }

    /// The number of pages that have left late and are to be loaded again.
    pub(super) fn late_pages(&self) -> usize {
        let discovered = self.offers.iter().flat_map(|offers| &offers.discovered);
        let is_late = |page| self.pages.has(page, READ_AHEAD) && self.pages.has(page, ASIDE);
        discovered.filter(|&&(page, _)| is_late(page)).count()
    }

    /// Before a fork: whatever the program may reach unasked is loaded, or dropped.
    pub(super) fn end_offers(&mut self) -> Result<(), PagerError> {
        let Some(offers) = &mut self.offers else { return Ok(()) };
        offers.takes_to_freeze = self.program.has_other_threads();
        offers.are_ending = true;
        let ended = self.load_or_drop_offers();
        if let Some(offers) = &mut self.offers {
            offers.are_ending = false;
        }
        ended
    }

    fn load_or_drop_offers(&mut self) -> Result<(), PagerError> {
        self.look_at_offers(self.read_ahead.waiting.iter().map(|waiting| waiting.page).collect());
        self.load_discovered()?;
        while let Some(offered) = self.read_ahead.waiting.front() {
            self.drop_ahead(offered.page)?;
        }
        while self.offers.as_ref().is_some_and(|offers| !offers.discovered.is_empty()) {
            self.load_discovered()?;
        }
        Ok(())
    }

    /// Sees to it that the content of a page stays what it is until the next access is served.
    pub(super) fn freeze(&mut self, page: PageId) -> Result<(), PagerError> {
        let Some(Offers { takes_to_freeze, .. }) = self.offers else {
            return self.forbid_writes(page);
        };
        let frame = self.memory.frame_of(page);
        if frame == Frame::NONE || !self.pages.has(page, PRESENT) || self.pages.has(page, ASIDE) {
            return Ok(());
        }
        if takes_to_freeze {
            self.take_aside(&[page])?;
        }
        let seen = self.memory.frames_mut().look_at(&[page]);
        if seen.iter().all(|seen| seen.is_written) && self.memory.frames().is_news(frame) {
            self.found(page, Op::Write);
            self.memory.hit_sensed(Op::Write, frame);
        }
        Ok(())
    }
}
