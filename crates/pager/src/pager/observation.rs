//! How the pager learns what the program does with its pages, and the ways to the program's memory, which depend on that.
//!
//! With mapped bits the pager makes all translations, so that each first access and each first write is a message. With
//! sensed bits the kernel makes those of pages that have content, and the pager looks for them. So what the program must
//! not reach is not in the memory file, but in the swap cache, and a page that is read appears in the file as a whole. If
//! the kernel shows writes as well, a write to a protected page goes on without a message. Then a page that leaves is
//! taken away first and looked at afterwards: what the program has written until it was gone is in the page that was
//! taken, and the kernel remembers whether it has.

mod dropping;

use std::slice;

use clockhand_policy::PageId;

use self::dropping::Drops;
use super::residency::{Access, Residency};
use super::write_back::Then;
use crate::any_memory::AnyMemory;
use crate::parts::PagerError;
use crate::program_memory::ProgramMemory;
use crate::store::{Page, PageAddress};
use crate::translations::Translations;

/// The program's memory, as the pager observes it.
pub(super) struct Observation {
    pub(super) program: Box<dyn ProgramMemory>,
    way: Way,
}

/// Where read and write bits come from; chosen once.
enum Way {
    Mapped {
        /// Pages whose translations the program has been told to drop, without an answer yet.
        unmapping: Vec<PageId>,
    },
    Sensed(Drops),
    SensedWithWrites {
        drops: Drops,
        /// The clean page that was taken last.
        taken: Box<Page>,
    },
}

impl Observation {
    /// Observes the program for a policy of `frames` frames.
    pub(super) fn new(
        program: Box<dyn ProgramMemory>,
        translations: Option<&dyn Translations>,
        frames: u32,
    ) -> Self {
        let drops = Drops::new(frames);
        let way = match translations.map(Translations::sees_writes) {
            None => Way::Mapped { unmapping: Vec::new() },
            Some(false) => Way::Sensed(drops),
            Some(true) => Way::SensedWithWrites { drops, taken: Box::new(Page::ZEROS) },
        };
        Observation { program, way }
    }

    /// Returns whether the kernel makes translations, and the pager looks for them.
    pub(super) fn is_sensed(&self) -> bool {
        !matches!(self.way, Way::Mapped { .. })
    }

    /// Returns whether the program reaches pages without a message, and the kernel shows which ones have been written.
    pub(super) fn shows_writes(&self) -> bool {
        matches!(self.way, Way::SensedWithWrites { .. })
    }

    /// Returns whether writes may come during a fork, from threads other than the one that forks.
    pub(super) fn goes_on_during_forks(&self) -> bool {
        self.shows_writes() && self.program.has_other_threads()
    }

    /// Returns whether a period of the policy may end with this reference: with sensed bits it ends at the next miss.
    pub(super) fn may_end_period(&self, is_miss: bool) -> bool {
        is_miss || !self.is_sensed()
    }

    /// Returns whether the program reaches the page without a message.
    pub(super) fn is_within_reach(&self, page: PageId, residency: &Residency) -> bool {
        match self.way {
            Way::Mapped { .. } => matches!(residency.access(page), Access::Read | Access::Write),
            // A page that has content faults only if it is written.
            Way::Sensed(_) | Way::SensedWithWrites { .. } => residency.is_in_file(page),
        }
    }

    /// Lets the program reach a page, and go on.
    pub(super) fn give(
        &mut self,
        page: PageId,
        is_writable: bool,
        residency: &mut Residency,
    ) -> Result<(), PagerError> {
        match self.way {
            Way::Mapped { .. } => {
                self.finish_dropping_of(page, residency)?;
                match residency.access(page) {
                    Access::Read if is_writable => self.program.allow_writes(page)?,
                    _ => self.program.map(page, is_writable)?,
                }
                residency.set_access(page, Access::Read);
            }
            Way::Sensed(_) | Way::SensedWithWrites { .. } => {
                if residency.is_cached(page) {
                    self.program.fill(page, residency.swap_cache.content(page), is_writable)?;
                    residency.set_cached(page, false);
                    // Its write may be under way.
                    if !residency.is_in_flight(page) {
                        residency.swap_cache.remove(page);
                    }
                } else if is_writable {
                    self.program.allow_writes(page)?;
                } else {
                    self.program.wake(page)?;
                }
            }
        }
        if is_writable {
            residency.set_access(page, Access::Write);
        }
        Ok(())
    }

    /// Lets a thread retry an access that is allowed: another thread faulted on the page at the same time, and its fault
    /// has been served.
    pub(super) fn let_retry(
        &mut self,
        page: PageId,
        residency: &Residency,
    ) -> Result<(), PagerError> {
        let is_writable = residency.is_writable(page);
        match self.way {
            // Or the kernel has dropped the translation by itself, as it does when it reclaims memory: a thread that is
            // only woken would then fault again forever.
            Way::Mapped { .. } => self.program.map_again(page, is_writable)?,
            // A write that waits is not let go by waking it.
            _ if is_writable => self.program.allow_writes(page)?,
            _ => self.program.wake(page)?,
        }
        Ok(())
    }

    /// Gives a page without content zeros.
    pub(super) fn bring_zeros(
        &mut self,
        page: PageId,
        residency: &mut Residency,
    ) -> Result<(), PagerError> {
        if let Way::Mapped { .. } = self.way {
            return Ok(self.program.fill_with_zeros(page)?);
        }
        residency.swap_cache.place(page).0.fill(0);
        residency.set_cached(page, true);
        Ok(())
    }

    /// Where to read a page's content to.
    pub(super) fn place_to_read(&self, page: PageId, residency: &mut Residency) -> PageAddress {
        if let Way::Mapped { .. } = self.way {
            return self.program.address(page);
        }
        residency.set_cached(page, true);
        residency.swap_cache.place(page).address()
    }

    /// Forgets what may have been read of a page: a part of one is worthless.
    pub(super) fn forget_read(
        &mut self,
        page: PageId,
        residency: &mut Residency,
    ) -> Result<(), PagerError> {
        if let Way::Mapped { .. } = self.way {
            return Ok(self.program.forget(page, 1)?);
        }
        residency.set_cached(page, false);
        residency.swap_cache.remove(page);
        Ok(())
    }

    /// The place of a page's content, if it has any.
    pub(super) fn address(&self, page: PageId, residency: &mut Residency) -> PageAddress {
        match residency.is_cached(page) {
            true => residency.swap_cache.address(page),
            false => self.program.address(page),
        }
    }

    /// The place of the content that is written: with sensed bits a copy, since the page may leave at once.
    pub(super) fn address_to_write(&self, page: PageId, residency: &mut Residency) -> PageAddress {
        match self.way {
            Way::Mapped { .. } => self.program.address(page),
            Way::Sensed(_) | Way::SensedWithWrites { .. } => residency.swap_cache.address(page),
        }
    }

    /// Takes the content of a page that is to be written, and does not change from now on; returns whether it is zeros.
    pub(super) fn content_to_write(
        &mut self,
        page: PageId,
        then: Then,
        residency: &mut Residency,
    ) -> Result<bool, PagerError> {
        if residency.is_cached(page) {
            self.forbid_writes(page, residency)?;
            return Ok(residency.swap_cache.content(page).is_zeros());
        }
        if self.shows_writes() && then == Then::Leaves {
            // Writes cannot be held up, so that only the page that has gone is what was written last.
            self.take(&[page], residency)?;
            return Ok(residency.swap_cache.content(page).is_zeros());
        }
        self.forbid_writes(page, residency)?;
        if let Way::Mapped { .. } = self.way {
            // SAFETY: the page has content.
            return Ok(unsafe { self.program.address(page).is_zeros() });
        }
        let copy = residency.swap_cache.place(page);
        self.program.copy_content(page, copy)?;
        let is_zeros = copy.is_zeros();
        if is_zeros {
            residency.swap_cache.remove(page);
        }
        Ok(is_zeros)
    }

    /// A page that is being written leaves.
    pub(super) fn withdraw(
        &mut self,
        page: PageId,
        memory: &mut dyn AnyMemory,
        residency: &mut Residency,
    ) -> Result<(), PagerError> {
        match self.way {
            Way::Mapped { .. } => memory.frames_mut().unmapped().push(page),
            // Only the copy that is written stays.
            Way::Sensed(_) if !residency.is_cached(page) => {
                self.program.forget(page, 1)?;
                residency.set_access(page, Access::None);
                residency.set_cached(page, true);
            }
            Way::Sensed(_) => {}
            // It has been taken, or will be with others.
            Way::SensedWithWrites { .. } => residency.set_access(page, Access::None),
        }
        Ok(())
    }

    /// Forgets the content in memory of a page, if it has any.
    pub(super) fn forget(
        &mut self,
        page: PageId,
        residency: &mut Residency,
    ) -> Result<(), PagerError> {
        match residency.is_cached(page) {
            true => residency.swap_cache.remove(page),
            false if residency.is_present(page) => self.program.forget(page, 1)?,
            false => {}
        }
        self.forgot(page, residency);
        Ok(())
    }

    /// The content of a page in the memory file is forgotten, and of its state all but that a translation is being dropped.
    pub(super) fn forgot(&self, page: PageId, residency: &mut Residency) {
        residency.set_cached(page, false);
        if residency.access(page) != Access::Dropping {
            residency.set_access(page, Access::None);
        }
    }

    /// The program's next write to a page is to be seen.
    pub(super) fn forbid_writes(
        &mut self,
        page: PageId,
        residency: &mut Residency,
    ) -> Result<(), PagerError> {
        self.finish_dropping_of(page, residency)?;
        // A write may have been allowed and not been seen yet.
        if residency.is_writable(page) || self.shows_writes() {
            self.program.forbid_writes(page, 1)?;
        }
        if residency.is_writable(page) {
            residency.set_access(page, Access::Read);
        }
        Ok(())
    }

    /// Pages that the program has freed, in ascending order, may be in frames still, and have not been written until they
    /// have content.
    pub(super) fn forbid_writes_of_freed(
        &mut self,
        freed: Vec<PageId>,
        residency: &Residency,
    ) -> Result<(), PagerError> {
        if !self.shows_writes() {
            return Ok(());
        }
        let in_frames = freed.into_iter().filter(|&page| residency.is_in_frame(page));
        self.forbid_writes_of(&in_frames.collect::<Vec<_>>())
    }

    /// The program's next writes to these pages, which are in ascending order, are to be seen.
    fn forbid_writes_of(&mut self, pages: &[PageId]) -> Result<(), PagerError> {
        for row in rows(pages) {
            self.program.forbid_writes(row[0], row.len() as u32)?;
        }
        Ok(())
    }

    /// Puts pages that were read ahead where the program reaches them, if the pager sees that it does.
    pub(super) fn expose(
        &mut self,
        mut pages: Vec<PageId>,
        residency: &mut Residency,
    ) -> Result<(), PagerError> {
        if !self.shows_writes() {
            return Ok(());
        }
        pages.sort_unstable();
        for row in rows(&pages) {
            let contents: Vec<_> = row.iter().map(|&page| residency.swap_cache.at(page)).collect();
            self.program.fill_unmapped(row[0], &contents)?;
        }
        for page in pages {
            residency.set_cached(page, false);
            residency.swap_cache.remove(page);
        }
        Ok(())
    }

    /// Takes pages away, which are in ascending order, and keeps their contents.
    pub(super) fn take(
        &mut self,
        pages: &[PageId],
        residency: &mut Residency,
    ) -> Result<(), PagerError> {
        let mut contents: Vec<_> = pages.iter().map(|_| residency.swap_cache.unused()).collect();
        self.program.take(pages, &mut contents)?;
        for (&page, content) in pages.iter().zip(contents) {
            residency.swap_cache.put(page, content);
            residency.set_access(page, Access::None);
            residency.set_cached(page, true);
        }
        Ok(())
    }

    /// Takes away a page that is to leave clean, if it could be written until it is gone; returns whether it was taken.
    pub(super) fn take_last(
        &mut self,
        page: PageId,
        residency: &mut Residency,
    ) -> Result<bool, PagerError> {
        let Way::SensedWithWrites { taken, .. } = &mut self.way else { return Ok(false) };
        if !residency.is_in_file(page) {
            return Ok(false);
        }
        self.program.take(&[page], slice::from_mut(taken))?;
        residency.set_access(page, Access::None);
        residency.set_cached(page, true);
        Ok(true)
    }

    /// The content that was taken last is this page's, and is kept.
    pub(super) fn cache_taken(&mut self, page: PageId, residency: &mut Residency) {
        let Way::SensedWithWrites { taken, .. } = &mut self.way else { return };
        let content = std::mem::replace(taken, residency.swap_cache.unused());
        residency.swap_cache.put(page, content);
    }
}

/// Pages in ascending order as rows of neighbours.
pub(super) fn rows(pages: &[PageId]) -> impl Iterator<Item = &[PageId]> {
    pages.chunk_by(|page, next| page.0 + 1 == next.0)
}
