//! Silent accesses: the program reaches pages without a message, and the kernel shows which pages have been written.
//!
//! Then a write to a protected page goes on without a message. So does an access to a prefetched page or to one that is
//! exposed as zeros: the kernel makes the translation. The pager finds these accesses when it looks. A page that was
//! accessed and is in no frame is *discovered*: it is a miss, but no thread waits for it.
//!
//! Dirty pages that are to leave stay where the program reaches them until there are enough to take them away together, too.
//!
//! Writes cannot be held up. So a page that leaves is taken away first and looked at afterwards: what the program has written
//! until it was gone is in the page that was taken, and the kernel remembers whether it has. A clean page that was written
//! in its last moment *refaults*: it has left, as the policy decided, and is a miss at once.

use std::collections::VecDeque;
use std::slice;

use clockhand_policy::{Frame, Op, PageId};

use super::Pager;
use super::page_states::{IN_FLIGHT, IN_SWAP_CACHE, PRESENT, READ_AHEAD, WRITABLE};
use super::read_ahead::Guess;
use crate::parts::PagerError;
use crate::store::Page;

/// Accesses that no thread waits for, as far as they are known.
pub(super) struct SilentAccesses {
    /// Pages that were accessed and are to be loaded, in the order they will be.
    discovered: VecDeque<(PageId, Op)>,
    /// The page whose miss has been begun and has not been finished: a store that fails interrupts it, and it goes on
    /// before anything else is decided.
    begun: Option<PageId>,
    /// The clean page that was taken last.
    taken: Box<Page>,
    /// True if pages must be taken from the program to stay what they are during a fork.
    takes_to_freeze: bool,
    /// True if silent accesses are being ended, so that pages which leave do so although they are wanted: a program that goes on
    /// could want them forever.
    are_ending: bool,
}

impl Default for SilentAccesses {
    fn default() -> Self {
        SilentAccesses {
            discovered: VecDeque::new(),
            begun: None,
            taken: Box::new(Page::ZEROS),
            takes_to_freeze: false,
            are_ending: false,
        }
    }
}

impl SilentAccesses {
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
        if let Some(silent) = &mut self.silent {
            silent.begun = Some(page);
        }
    }

    /// The page is loaded.
    pub(super) fn end_miss(&mut self, page: PageId) {
        if let Some(silent) = &mut self.silent {
            silent.begun = None;
            silent.discovered.retain(|&(discovered, _)| discovered != page);
        }
    }

    /// Puts pages that were read ahead where the program reaches them.
    pub(super) fn expose(&mut self, mut pages: Vec<PageId>) -> Result<(), PagerError> {
        if self.silent.is_none() {
            return Ok(());
        }
        pages.sort_unstable();
        for row in pages.chunk_by(|page, next| page.0 + 1 == next.0) {
            let contents: Vec<_> = row.iter().map(|&page| self.swap_cache.at(page)).collect();
            self.program.fill_unmapped(row[0], &contents)?;
        }
        for page in pages {
            self.pages.clear(page, IN_SWAP_CACHE);
            self.swap_cache.remove(page);
        }
        Ok(())
    }

    /// SilentAccesses pages of zeros beside this one, which is touched for the first time.
    pub(super) fn expose_zeros_beside(&mut self, page: PageId) -> Result<(), PagerError> {
        if self.silent.is_none() {
            return Ok(());
        }
        let (is_upwards, others) = self.zeros_beside(page);
        let together = self.read_ahead.zeros_together(page, is_upwards);
        self.read_ahead.zeros_were_exposed(page, is_upwards, together);
        let Some(&first) = others.iter().min() else { return Ok(()) };
        self.make_room_to_read_ahead(others.len())?;
        self.keep_to_frames(others.len());
        self.program.fill_unmapped(first, &vec![&Page::ZEROS; others.len()])?;
        for other in others {
            self.arrived(other);
            self.pages.set(other, READ_AHEAD);
            self.read_ahead.push(other, Guess::default());
        }
        Ok(())
    }

    /// The pages of zeros to expose with this one: those that follow it, or lead up to it if the next page has been touched
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
        let Some(silent) = &mut self.silent else { return Ok(op) };
        let is_discovered = silent.has_discovered(page);
        if silent.begun != Some(page) || is_discovered {
            if self.brings_others(page) {
                self.read_early(page);
                self.look_before_others_come(page);
            }
            self.load_discovered()?;
        }
        let Some(silent) = &mut self.silent else { return Ok(op) };
        // Content that is still to be written and was not copied is in the memory file only.
        let is_written = silent.discovered.contains(&(page, Op::Write)) || self.is_leaving(page);
        Ok(if is_written { Op::Write } else { op })
    }

    /// If the page must be read, the store reads while others are looked at and loaded.
    fn read_early(&mut self, page: PageId) {
        let is_begun = self.silent.as_ref().is_some_and(|silent| silent.begun.is_some());
        if is_begun || self.is_discovered(page) {
            return;
        }
        if let Some(slot) = self.pages.slot(page) {
            self.early = Some(self.begin_reading(page, slot));
        }
    }

    /// Returns whether the page is to leave, and is still where the program reaches it.
    pub(super) fn is_leaving(&self, page: PageId) -> bool {
        self.silent.is_some() && self.pages.has(page, IN_FLIGHT) && !self.swap_cache.has(page)
    }

    /// Finds pages that have been accessed since it was decided that they leave: they stay, and are misses. They may have
    /// been written. `pages` are those that leave, in ascending order, and keeps the others.
    pub(super) fn find_wanted(&mut self, pages: &mut Vec<PageId>) {
        if self.silent.is_none() || self.are_silent_accesses_ending() {
            return;
        }
        let untouched = &self.write_queue.untouched;
        let watched: Vec<_> =
            pages.iter().copied().filter(|page| untouched.contains(page)).collect();
        let seen = self.memory.frames_mut().look_at(&watched);
        let Some(silent) = &mut self.silent else { return };
        let accessed = watched.into_iter().zip(seen).filter(|(_, seen)| seen.is_translated);
        accessed.for_each(|(page, _)| silent.discover_written(page));
        pages.retain(|&page| !silent.has_discovered(page));
    }

    /// Returns whether an access to this page may expose others, in place of those that have been exposed longest.
    fn brings_others(&self, page: PageId) -> bool {
        self.memory.frame_of(page) == Frame::NONE && !self.pages.has(page, IN_FLIGHT | READ_AHEAD)
    }

    /// Looks at exposed pages: at those whose time has come, and at all that are about to be dropped for others.
    fn look_before_others_come(&mut self, page: PageId) {
        let due = self.read_ahead.due();
        self.find_accesses(due.clone());
        let others = match &self.early {
            Some(reading) => reading.others(),
            None => self.zeros_beside(page).1.len(),
        };
        let mut leaving = self.read_ahead.about_to_leave(others, |page| self.is_discovered(page));
        leaving.retain(|page| !due.contains(page));
        self.find_accesses(leaving);
    }

    /// Finds those of the pages that have been accessed unasked and are not known to have been.
    fn find_accesses(&mut self, mut pages: Vec<PageId>) {
        pages.retain(|&page| !self.is_discovered(page));
        let Some(silent) = &mut self.silent else { return };
        pages.sort_unstable();
        let seen = self.memory.frames_mut().look_at(&pages);
        let accessed = pages.into_iter().zip(seen).filter(|(_, seen)| seen.is_translated);
        let op = |is_written| if is_written { Op::Write } else { Op::Read };
        let found: Vec<_> = accessed.map(|(page, seen)| (page, op(seen.is_written))).collect();
        silent.discovered.extend(&found);
        found.into_iter().for_each(|(page, _)| self.read_ahead_was_used(page));
    }

    /// Loads the pages that have been discovered. Those that refault because of it wait until the program, which needs
    /// pages as well, has had its turn.
    fn load_discovered(&mut self) -> Result<(), PagerError> {
        let discovered = self.silent.as_ref().map_or(0, |silent| silent.discovered.len());
        for _ in 0..discovered {
            let next = self.silent.as_ref().and_then(|silent| silent.discovered.front().copied());
            let Some((page, op)) = next else { break };
            self.miss(page, op, false)?;
        }
        Ok(())
    }

    pub(super) fn is_discovered(&self, page: PageId) -> bool {
        self.silent.as_ref().is_some_and(|silent| silent.has_discovered(page))
    }

    /// Returns whether the page is being loaded.
    pub(super) fn is_being_loaded(&self, page: PageId) -> bool {
        self.silent.as_ref().is_some_and(|silent| silent.begun == Some(page))
    }

    /// Returns whether pages that are loaded stay out of the program's reach: one that it writes whenever it can would
    /// refault for ever.
    pub(super) fn are_silent_accesses_ending(&self) -> bool {
        self.silent.as_ref().is_some_and(|silent| silent.are_ending)
    }

    /// The program has freed these pages. The policy has decided for one whose miss has been begun: it will be loaded, as
    /// zeros.
    pub(super) fn forget_discovered(&mut self, is_freed: impl Fn(PageId) -> bool) {
        if let Some(silent) = &mut self.silent {
            let begun = silent.begun;
            silent.discovered.retain(|&(page, _)| Some(page) == begun || !is_freed(page));
        }
    }

    /// Pages that the program has freed, in ascending order, may be in frames still, and have not been written until they have
    /// content.
    pub(super) fn forbid_writes_of_freed(&mut self, freed: Vec<PageId>) -> Result<(), PagerError> {
        if self.silent.is_none() {
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
    pub(super) fn take_to_swap_cache(&mut self, pages: &[PageId]) -> Result<(), PagerError> {
        let mut contents: Vec<_> = pages.iter().map(|_| self.swap_cache.unused()).collect();
        self.program.take(pages, &mut contents)?;
        for (&page, content) in pages.iter().zip(contents) {
            self.swap_cache.put(page, content);
            self.pages.clear(page, WRITABLE);
            self.pages.set(page, IN_SWAP_CACHE);
        }
        Ok(())
    }

    /// Takes away a page that is to leave clean; returns whether it has been written nevertheless, so that its content, which
    /// was taken last, must be kept.
    pub(super) fn take_clean(&mut self, page: PageId) -> Result<bool, PagerError> {
        let Some(silent) = &mut self.silent else { return Ok(false) };
        if !self.pages.has(page, PRESENT) || self.pages.has(page, IN_SWAP_CACHE) {
            return Ok(false);
        }
        self.program.take(&[page], slice::from_mut(&mut silent.taken))?;
        self.pages.clear(page, WRITABLE);
        self.pages.set(page, IN_SWAP_CACHE);
        let seen = self.memory.frames_mut().look_at(&[page]);
        let refaults = seen.iter().all(|seen| seen.is_written);
        if refaults {
            // The write under way has older content.
            self.cancel_write(page);
            self.wait_for_writes_of(|written| written == page)?;
            self.cancel_write(page);
        }
        Ok(refaults)
    }

    /// Keeps the page that was taken last, and is to be loaded again.
    pub(super) fn keep_for_refault(&mut self, page: PageId) {
        self.cache_taken(page);
        self.pages.set(page, PRESENT | IN_SWAP_CACHE | READ_AHEAD);
        if let Some(silent) = &mut self.silent {
            silent.discover_written(page);
        }
        self.keep_to_frames(0);
    }

    /// The content that was taken last is this page's.
    pub(super) fn cache_taken(&mut self, page: PageId) {
        let Some(silent) = &mut self.silent else { return };
        let taken = std::mem::replace(&mut silent.taken, self.swap_cache.unused());
        self.swap_cache.put(page, taken);
    }

    /// The number of pages that have left, refaulted and are to be loaded again.
    pub(super) fn refaulting_pages(&self) -> usize {
        let discovered = self.silent.iter().flat_map(|silent| &silent.discovered);
        let refaults =
            |page| self.pages.has(page, READ_AHEAD) && self.pages.has(page, IN_SWAP_CACHE);
        discovered.filter(|&&(page, _)| refaults(page)).count()
    }

    /// Before a fork: whatever the program may reach unasked is loaded, or dropped.
    pub(super) fn end_silent_accesses(&mut self) -> Result<(), PagerError> {
        let Some(silent) = &mut self.silent else { return Ok(()) };
        silent.takes_to_freeze = self.program.has_other_threads();
        silent.are_ending = true;
        let ended = self.load_or_drop_prefetched();
        if let Some(silent) = &mut self.silent {
            silent.are_ending = false;
        }
        ended
    }

    fn load_or_drop_prefetched(&mut self) -> Result<(), PagerError> {
        self.find_accesses(self.read_ahead.waiting.iter().map(|waiting| waiting.page).collect());
        self.load_discovered()?;
        while let Some(prefetched) = self.read_ahead.waiting.front() {
            self.drop_ahead(prefetched.page)?;
        }
        while self.silent.as_ref().is_some_and(|silent| !silent.discovered.is_empty()) {
            self.load_discovered()?;
        }
        Ok(())
    }

    /// Sees to it that the content of a page stays what it is until the next access is served.
    pub(super) fn freeze(&mut self, page: PageId) -> Result<(), PagerError> {
        let Some(SilentAccesses { takes_to_freeze, .. }) = self.silent else {
            return self.forbid_writes(page);
        };
        let frame = self.memory.frame_of(page);
        if frame == Frame::NONE
            || !self.pages.has(page, PRESENT)
            || self.pages.has(page, IN_SWAP_CACHE)
        {
            return Ok(());
        }
        if takes_to_freeze {
            self.take_to_swap_cache(&[page])?;
        }
        let seen = self.memory.frames_mut().look_at(&[page]);
        if seen.iter().all(|seen| seen.is_written) && self.memory.frames().is_news(frame) {
            self.found(page, Op::Write);
            self.memory.hit_sensed(Op::Write, frame);
        }
        Ok(())
    }
}
