//! The cached part of a map that is on flash.

use super::geometry::LogicalPage;
use super::index_lists::IndexLists;
use super::mapping_options::CachePolicy;

/// No slot.
const NO_SLOT: u32 = u32::MAX;
/// Entries looked up once, and with [`CachePolicy::Lru`] all.
const PROBATION: u32 = 0;
/// Entries looked up again.
const PROTECTED: u32 = 1;

#[derive(Debug, Clone, Copy)]
struct Slot {
    page: LogicalPage,
    is_dirty: bool,
    is_protected: bool,
}

/// Entries of the map, each of one logical page.
#[derive(Debug, Clone)]
pub(super) struct CachedEntries {
    policy: CachePolicy,
    protected_max: u32,
    entries_max: u32,
    slots: Vec<Slot>,
    /// By logical page.
    slot_of: Vec<u32>,
    /// The least recently used first.
    lists: IndexLists,
    protected: u32,
    /// A slot whose entry was evicted.
    free: Option<u32>,
}

impl CachedEntries {
    pub(super) fn new(entries_max: u32, policy: CachePolicy, logical_pages: u32) -> CachedEntries {
        // More entries than pages are never there.
        let slots = entries_max.min(logical_pages);
        CachedEntries {
            policy,
            protected_max: entries_max / 2,
            entries_max,
            slots: Vec::with_capacity(slots as usize),
            slot_of: vec![NO_SLOT; logical_pages as usize],
            lists: IndexLists::new(slots, 2),
            protected: 0,
            free: None,
        }
    }

    fn slot(&self, page: LogicalPage) -> Option<u32> {
        let slot = self.slot_of[page.0 as usize];
        (slot != NO_SLOT).then_some(slot)
    }

    /// A page's entry is looked up; says whether it is here.
    pub(super) fn look_up(&mut self, page: LogicalPage) -> bool {
        let Some(slot) = self.slot(page) else { return false };
        self.lists.remove(slot);
        if self.policy == CachePolicy::Lru {
            self.lists.push_back(PROBATION, slot);
            return true;
        }
        self.lists.push_back(PROTECTED, slot);
        let was_protected = std::mem::replace(&mut self.slots[slot as usize].is_protected, true);
        self.protected += u32::from(!was_protected);
        if self.protected > self.protected_max {
            let oldest = self.lists.front(PROTECTED).expect("an entry is protected");
            self.lists.remove(oldest);
            self.lists.push_back(PROBATION, oldest);
            self.slots[oldest as usize].is_protected = false;
            self.protected -= 1;
        }
        true
    }

    fn len(&self) -> u32 {
        self.slots.len() as u32 - u32::from(self.free.is_some())
    }

    /// The entry that has to leave before another one enters, if any, and whether it is dirty.
    pub(super) fn victim(&self) -> Option<(LogicalPage, bool)> {
        if self.len() < self.entries_max {
            return None;
        }
        let oldest = self.lists.front(PROBATION).or_else(|| self.lists.front(PROTECTED));
        let slot = self.slots[oldest.expect("the cache is full") as usize];
        Some((slot.page, slot.is_dirty))
    }

    /// An entry leaves.
    pub(super) fn evict(&mut self, page: LogicalPage) {
        let slot = self.slot(page).expect("the entry is here");
        self.lists.remove(slot);
        self.slot_of[page.0 as usize] = NO_SLOT;
        self.protected -= u32::from(self.slots[slot as usize].is_protected);
        self.free = Some(slot);
    }

    /// A clean entry enters; there is room.
    pub(super) fn insert(&mut self, page: LogicalPage) {
        let new = Slot { page, is_dirty: false, is_protected: false };
        let slot = match self.free.take() {
            Some(slot) => {
                self.slots[slot as usize] = new;
                slot
            }
            None => {
                self.slots.push(new);
                self.slots.len() as u32 - 1
            }
        };
        self.slot_of[page.0 as usize] = slot;
        self.lists.push_back(PROBATION, slot);
    }

    /// A page's entry differs from now on from that on flash, if it is here. Says whether it is.
    pub(super) fn make_dirty(&mut self, page: LogicalPage) -> bool {
        let slot = self.slot(page);
        if let Some(slot) = slot {
            self.slots[slot as usize].is_dirty = true;
        }
        slot.is_some()
    }

    /// The entries of these pages are those on flash.
    pub(super) fn clean(&mut self, pages: std::ops::Range<u32>) {
        for page in pages {
            if let Some(slot) = self.slot(LogicalPage(page)) {
                self.slots[slot as usize].is_dirty = false;
            }
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.slot_of)
            + self.slots.capacity() * size_of::<Slot>()
            + self.lists.memory_bytes()
    }

    /// Checks that each entry is found by its page, and that protected ones are counted.
    pub(super) fn check(&self) -> Result<(), String> {
        let found = (0..self.slot_of.len() as u32).map(LogicalPage);
        let found: Vec<LogicalPage> = found.filter(|page| self.slot(*page).is_some()).collect();
        let has_slot = |page: &LogicalPage| {
            self.slot(*page).is_some_and(|slot| self.slots[slot as usize].page == *page)
        };
        let is_protected = |page: &&LogicalPage| {
            self.slot(**page).is_some_and(|slot| self.slots[slot as usize].is_protected)
        };
        let protected = found.iter().filter(is_protected).count();
        let is_right = found.iter().all(has_slot)
            && found.len() == self.len() as usize
            && self.len() <= self.entries_max
            && protected == self.protected as usize
            && self.protected <= self.protected_max;
        if is_right { Ok(()) } else { Err("the cached entries are counted wrongly".to_owned()) }
    }
}
