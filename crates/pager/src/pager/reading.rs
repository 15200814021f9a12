//! A read under way: a page that the program waits for, and others beside it.

use std::io;

use clockhand_policy::PageId;
use clockhand_prefetch::Likely;

use super::pages::Pages;
use super::residency::Residence;
use crate::parts::PagerError;
use crate::store::{Slot, Store};

/// A read of pages, which have places for their contents.
pub(super) struct Reading {
    page: PageId,
    slot: Slot,
    others: Vec<Likely>,
    state: State,
}

/// How far a read is.
enum State {
    UnderWay,
    /// Read, or not even begun.
    Ended(io::Result<()>),
}

impl Reading {
    /// A read that was begun, or could not be.
    pub(super) fn new(
        page: PageId,
        slot: Slot,
        others: Vec<Likely>,
        begun: io::Result<()>,
    ) -> Self {
        let state = match begun {
            Ok(()) => State::UnderWay,
            failed => State::Ended(failed),
        };
        Reading { page, slot, others, state }
    }

    /// The page that the program waits for.
    pub(super) fn page(&self) -> PageId {
        self.page
    }

    /// Its slot.
    pub(super) fn slot(&self) -> Slot {
        self.slot
    }

    /// The number of pages that are read beside it.
    pub(super) fn others(&self) -> usize {
        self.others.len()
    }

    /// Waits until the store has read, or could not.
    pub(super) fn end(&mut self, store: &mut dyn Store) {
        if let State::UnderWay = self.state {
            self.state = State::Ended(store.end_read());
        }
    }

    /// Returns whether the page that the program waits for may have been read while the others are still read. It is
    /// likely to want one of the others at once if they are neighbours, or pointers lead to them, and would wait again.
    pub(super) fn may_go_on(&self) -> bool {
        matches!(self.state, State::UnderWay)
            && !self.others.is_empty()
            && self.others.iter().all(|other| other.guess.is_for_later())
    }

    /// Waits; whether all has been read, and without the pages beside the wanted one if it has not.
    fn ended(&mut self, pages: &mut Pages) -> Result<io::Result<()>, PagerError> {
        pages.wait_for_read(|store| self.end(store));
        let State::Ended(result) = std::mem::replace(&mut self.state, State::UnderWay) else {
            unreachable!("it was waited for")
        };
        if result.is_err() {
            self.forget_others(pages)?;
        }
        Ok(result)
    }

    fn forget_others(&mut self, pages: &mut Pages) -> Result<(), PagerError> {
        for other in self.others.drain(..) {
            pages.observation.forget_read(other.page, &mut pages.residency)?;
            pages.residency.moves(other.page, Residence::Absent);
        }
        Ok(())
    }

    /// Waits for all pages; returns those beside the wanted one. If they could not be read together, the wanted one is read
    /// alone.
    pub(super) fn whole(mut self, pages: &mut Pages) -> Result<Vec<Likely>, PagerError> {
        let were_others = !self.others.is_empty();
        let Reading { page, slot, .. } = self;
        let mut read = self.ended(pages)?;
        if read.is_err() && were_others {
            let address = pages.observation.place_to_read(page, &mut pages.residency);
            // SAFETY: the page has no translation in the program, and this thread alone handles it.
            read = pages.wait_for_read(|store| unsafe { store.read(slot, address) });
        }
        match read {
            Ok(()) => Ok(self.others),
            Err(source) => {
                pages.observation.forget_read(page, &mut pages.residency)?;
                Err(PagerError::Store { operation: "read from", page, source })
            }
        }
    }

    /// Waits for the pages beside one that the program has already; returns those that have been read. No fault depends on
    /// them: a later one on a page that could not be read tries again, and reports the error.
    pub(super) fn beside(mut self, pages: &mut Pages) -> Result<Vec<Likely>, PagerError> {
        let _ = self.ended(pages)?;
        Ok(self.others)
    }

    /// Waits for what is being read, and leaves nothing behind: a read that is not wanted any more may fail.
    pub(super) fn abandon(mut self, pages: &mut Pages) -> Result<(), PagerError> {
        let _ = self.ended(pages)?;
        self.forget_others(pages)?;
        pages.observation.forget_read(self.page, &mut pages.residency)
    }
}
