//! What a pager knows of each page.

use clockhand_policy::PageId;

use crate::store::Slot;

/// The page's content is in the memory file, or in the swap cache.
pub(super) const PRESENT: u8 = 1;
/// Mapped bits: the program has a translation.
pub(super) const MAPPED: u8 = 2;
/// The program's translation allows writes; with sensed bits, one that comes back would.
pub(super) const WRITABLE: u8 = 4;
/// The page has been accessed.
pub(super) const TOUCHED: u8 = 8;
/// The page's content waits to be written, or is being written.
pub(super) const IN_FLIGHT: u8 = 16;
/// The program has been told to drop its translation, and has not answered yet: it may still use it.
pub(super) const UNMAPPING: u8 = 32;

/// The page's content was read ahead, or has left and is still in memory, and no frame of the policy holds it.
pub(super) const READ_AHEAD: u8 = 64;
/// Sensed bits: the page's content is in the swap cache, and not in the memory file.
pub(super) const IN_SWAP_CACHE: u8 = 128;

/// What the pager knows of each page of the program, beyond what the policy's memory knows.
pub(super) struct PageStates {
    flags: Vec<u8>,
    /// The slot plus one, or 0 for a page that reads as zeros when it is not in memory.
    slots: Vec<u32>,
    /// The page of each of these slots plus one, or 0: the reverse map, up to the last slot in use.
    pages_of_slots: Vec<u32>,
    /// All pages that have been accessed, in the order of their first access: the others can be ignored.
    pub(super) footprint: Vec<PageId>,
}

impl PageStates {
    pub(super) fn new(pages: u32) -> Self {
        // Zeroed, so that pages which are never accessed cost address space only.
        let (flags, slots) = (vec![0; pages as usize], vec![0; pages as usize]);
        PageStates { flags, slots, pages_of_slots: Vec::new(), footprint: Vec::new() }
    }

    pub(super) fn touch(&mut self, page: PageId) {
        if !self.has(page, TOUCHED) {
            self.set(page, TOUCHED);
            self.footprint.push(page);
        }
    }

    /// Whether anything is known of a page.
    pub(super) fn is_used(&self, page: PageId) -> bool {
        self.flags[page.index()] != 0 || self.slots[page.index()] != 0
    }

    pub(super) fn has(&self, page: PageId, flag: u8) -> bool {
        self.flags[page.index()] & flag != 0
    }

    pub(super) fn set(&mut self, page: PageId, flags: u8) {
        self.flags[page.index()] |= flags;
    }

    pub(super) fn clear(&mut self, page: PageId, flags: u8) {
        self.flags[page.index()] &= !flags;
    }

    pub(super) fn slot(&self, page: PageId) -> Option<Slot> {
        self.slots[page.index()].checked_sub(1).map(Slot)
    }

    pub(super) fn set_slot(&mut self, page: PageId, slot: Option<Slot>) {
        if let Some(former) = self.slot(page) {
            self.pages_of_slots[former.0 as usize] = 0;
        }
        self.slots[page.index()] = slot.map_or(0, |slot| slot.0 + 1);
        if let Some(slot) = slot {
            let index = slot.0 as usize;
            if self.pages_of_slots.len() <= index {
                self.pages_of_slots.resize(index + 1, 0);
            }
            self.pages_of_slots[index] = page.0 + 1;
        }
    }

    /// The page whose content is in this slot, if it is one of this memory.
    pub(super) fn page_in(&self, slot: Slot) -> Option<PageId> {
        self.pages_of_slots.get(slot.0 as usize)?.checked_sub(1).map(PageId)
    }
}
