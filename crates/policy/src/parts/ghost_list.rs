//! Ghosts: the numbers of pages that have left, in the order of their leaving.

use alloc::vec;
use alloc::vec::Vec;

use crate::PageId;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Slot {
    page: PageId,
    older: u32,
    newer: u32,
}

/// A first-in, first-out list of pages with constant-time look-up and removal.
///
/// Costs 4 bytes per page of the footprint and 12 per ghost that was ever remembered at the same time.
#[derive(Clone, Debug)]
pub(crate) struct GhostList {
    slot_of_page: Vec<u32>,
    slots: Vec<Slot>,
    unused: u32,
    oldest: u32,
    newest: u32,
    len: u32,
}

impl GhostList {
    pub(crate) fn new(pages: u32) -> Self {
        GhostList {
            slot_of_page: vec![NONE; pages as usize],
            slots: Vec::new(),
            unused: NONE,
            oldest: NONE,
            newest: NONE,
            len: 0,
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    pub(crate) fn contains(&self, page: PageId) -> bool {
        self.slot_of_page[page.index()] != NONE
    }

    /// Remembers `page` as the newest ghost; one that is already here moves to the newest end.
    pub(crate) fn push(&mut self, page: PageId) {
        self.remove(page);
        let slot = Slot { page, older: self.newest, newer: NONE };
        let index = match self.unused {
            NONE => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
            index => {
                self.unused = self.slots[index as usize].newer;
                self.slots[index as usize] = slot;
                index
            }
        };
        match self.newest {
            NONE => self.oldest = index,
            newest => self.slots[newest as usize].newer = index,
        }
        self.newest = index;
        self.slot_of_page[page.index()] = index;
        self.len += 1;
    }

    /// Forgets `page`; says whether it was here.
    #[inline]
    pub(crate) fn remove(&mut self, page: PageId) -> bool {
        let index = self.slot_of_page[page.index()];
        if index == NONE {
            return false;
        }
        self.free(index);
        true
    }

    fn free(&mut self, index: u32) {
        let Slot { page, older, newer } = self.slots[index as usize];
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer as usize].older = older,
        }
        self.slots[index as usize].newer = self.unused;
        self.unused = index;
        self.slot_of_page[page.index()] = NONE;
        self.len -= 1;
    }

    /// The oldest ghost, if there is one.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<PageId> {
        self.slots.get(self.oldest as usize).map(|slot| slot.page)
    }

    /// Forgets the oldest ghost, if there is one.
    pub(crate) fn drop_oldest(&mut self) {
        if self.oldest != NONE {
            self.free(self.oldest);
        }
    }

    /// The ghosts from the oldest to the newest.
    pub(crate) fn iter(&self) -> impl Iterator<Item = PageId> + '_ {
        let mut index = self.oldest;
        core::iter::from_fn(move || {
            let slot = self.slots.get(index as usize)?;
            index = slot.newer;
            Some(slot.page)
        })
    }

    /// Asserts that list, look-up table and length agree.
    pub(crate) fn check_invariants(&self) {
        assert_eq!(self.iter().count(), self.len as usize, "the ghost list's length is wrong");
        for page in self.iter() {
            let slot = self.slots[self.slot_of_page[page.index()] as usize];
            assert_eq!(slot.page, page, "a ghost's slot belongs to another page");
        }
    }
}
