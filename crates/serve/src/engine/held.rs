//! Pages that the disk refused: they stay readable, and are tried again.

use std::collections::BTreeMap;

use super::{Engine, Refused};
use crate::store::{Medium, Outgoing};

/// Pages that can be held.
const LIMIT_PAGES: usize = 4096;
/// Pages that the steps of one page may add.
const STEP_PAGES: usize = 128;

/// A page that the disk refused.
#[derive(Debug)]
pub struct Held {
    pub(super) content: Box<[u8]>,
    pub(super) seq: Option<u64>,
    pub(super) refused: Refused,
}

#[derive(Debug, Default)]
pub(super) struct HeldPages {
    pages: BTreeMap<u64, Held>,
    /// The page that was last tried again.
    tried: u64,
}

impl HeldPages {
    pub(super) fn len(&self) -> usize {
        self.pages.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.pages.len() + STEP_PAGES > LIMIT_PAGES
    }

    #[inline]
    pub(super) fn remove(&mut self, page: u64) {
        if !self.pages.is_empty() {
            self.pages.remove(&page);
        }
    }

    pub(super) fn remove_range(&mut self, range: std::ops::Range<u64>) {
        if !self.pages.is_empty() {
            self.pages.retain(|page, _| !range.contains(page));
        }
    }

    pub(super) fn insert(&mut self, page: u64, held: Held) {
        self.pages.insert(page, held);
    }

    #[inline]
    pub(super) fn content(&self, page: u64) -> Option<&[u8]> {
        match self.pages.is_empty() {
            true => None,
            false => self.pages.get(&page).map(|held| &*held.content),
        }
    }

    /// Why a page is held.
    pub(super) fn refusal_of(&self, page: u64) -> Option<Refused> {
        self.pages.get(&page).map(|held| held.refused)
    }

    /// Why the first page is held.
    pub(super) fn refusal(&self) -> Refused {
        self.pages.values().next().map_or(Refused::Io, |held| held.refused)
    }

    pub(super) fn pages(&self) -> impl Iterator<Item = u64> {
        self.pages.keys().copied()
    }

    /// The page to be tried again, going round.
    fn next_to_try(&mut self) -> Option<u64> {
        let after = self.pages.range(self.tried + 1..).next().or(self.pages.iter().next());
        let page = *after?.0;
        self.tried = page;
        Some(page)
    }
}

impl<D: Medium, N: Medium> Engine<D, N> {
    /// Writes up to `most` held pages again.
    pub fn try_held_again(&mut self, most: usize) {
        if self.store.failure().is_some() {
            return;
        }
        for _ in 0..most.min(self.held.len()) {
            let Some(page) = self.held.next_to_try() else { return };
            let Held { content, seq, .. } = &self.held.pages[&page];
            let outgoing = Outgoing { page, content, seq: *seq };
            match self.store.write_disk(&[outgoing]).pop() {
                None => self.held.remove(page),
                // The disk still refuses.
                Some((_, error)) => {
                    self.held.pages.entry(page).and_modify(|held| {
                        held.refused = Refused::of(&error);
                    });
                    return;
                }
            }
        }
    }
}
