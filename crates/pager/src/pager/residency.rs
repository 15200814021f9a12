//! What a pager knows of each page, and the contents in memory that the program does not reach.

use std::collections::VecDeque;

use clockhand_policy::PageId;

use super::swap_cache::SwapCache;
use crate::store::Slot;

/// Where a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Residence {
    /// In the store; without a slot it is zeros.
    Absent,
    /// On its way from the store, beside another page that the program waits for.
    Coming,
    /// In a frame of the policy.
    Loaded,
    /// In a frame of the policy, but without content, since the program has freed it: it is zeros.
    Freed,
    /// In memory and in no frame of the policy, since it was read ahead. Pages of zeros may be among them.
    Ahead,
    /// In no frame any more; its content is on its way to the store.
    Evicted,
    /// In no frame any more, and in the store; its content is kept for as long as nothing else needs its memory.
    Left,
    /// It has left, was written in its last moment, and is to be loaded again at once.
    Refaults,
}

impl Residence {
    const ALL: [Residence; 8] = [
        Residence::Absent,
        Residence::Coming,
        Residence::Loaded,
        Residence::Freed,
        Residence::Ahead,
        Residence::Evicted,
        Residence::Left,
        Residence::Refaults,
    ];

    /// Returns whether the page's content is in memory.
    fn is_present(self) -> bool {
        !matches!(self, Residence::Absent | Residence::Coming | Residence::Freed)
    }
}

/// What the program's translation of a page lets it do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Nothing, or with sensed bits what is not known: the kernel makes translations by itself, for reading.
    None,
    /// Mapped bits: it reads.
    Read,
    /// It reads and writes; with sensed bits a translation that comes back would let it.
    Write,
    /// Mapped bits: the program has been told to drop the translation, and has not answered yet: it may still use it.
    Dropping,
}

impl Access {
    const ALL: [Access; 4] = [Access::None, Access::Read, Access::Write, Access::Dropping];
}

/// A page's state is a byte, whose lowest bits are its residence.
const RESIDENCE: u8 = 0b111;
const ACCESS_SHIFT: u32 = 3;
const ACCESS: u8 = 0b11 << ACCESS_SHIFT;
/// The page's content waits to be written, or is being written.
const IN_FLIGHT: u8 = 1 << 5;
/// Sensed bits: the page's content is in the swap cache, or on its way there, and not in the memory file.
const CACHED: u8 = 1 << 6;
/// The page has been accessed.
const TOUCHED: u8 = 1 << 7;

/// What the pager knows of each page of the program, beyond what the policy's memory knows.
pub(super) struct Residency {
    states: Vec<u8>,
    /// The slot plus one, or 0 for a page that reads as zeros when it is not in memory.
    slots: Vec<u32>,
    /// The page of each of these slots plus one, or 0: the reverse map, up to the last slot in use.
    pages_of_slots: Vec<u32>,
    /// All pages that have been accessed, in the order of their first access: the others can be ignored.
    footprint: Vec<PageId>,
    /// The number of pages at each residence; of absent ones it means nothing.
    numbers: [usize; Residence::ALL.len()],
    /// The number of pages with content in memory, and the most that there ever were.
    present: usize,
    peak: usize,
    /// Frames for pages that are on their way or were read ahead. Those that hold none hold pages that left last.
    kept_frames: usize,
    /// Pages that have left, in the order they did.
    left: VecDeque<PageId>,
    /// Sensed bits: contents that the program must not reach.
    pub(super) swap_cache: SwapCache,
}

impl Residency {
    pub(super) fn new(pages: u32, kept_frames: usize) -> Self {
        // Zeroed, so that pages which are never accessed cost address space only.
        let (states, slots) = (vec![0; pages as usize], vec![0; pages as usize]);
        Residency {
            states,
            slots,
            pages_of_slots: Vec::new(),
            footprint: Vec::new(),
            numbers: [0; Residence::ALL.len()],
            present: 0,
            peak: 0,
            kept_frames,
            left: VecDeque::new(),
            swap_cache: SwapCache::default(),
        }
    }

    /// Where a page is.
    pub(super) fn of(&self, page: PageId) -> Residence {
        Residence::ALL[usize::from(self.states[page.index()] & RESIDENCE)]
    }

    /// A page is somewhere else from now on.
    pub(super) fn moves(&mut self, page: PageId, to: Residence) {
        let from = self.of(page);
        if from == Residence::Left && self.left.front() == Some(&page) {
            self.left.pop_front();
        } else if from == Residence::Left {
            self.left.retain(|&left| left != page);
        }
        if to == Residence::Left {
            self.left.push_back(page);
        }
        self.numbers[from as usize] = self.numbers[from as usize].wrapping_sub(1);
        self.numbers[to as usize] = self.numbers[to as usize].wrapping_add(1);
        let state = &mut self.states[page.index()];
        *state = *state & !RESIDENCE | to as u8;
        self.present += usize::from(to.is_present());
        self.present -= usize::from(from.is_present());
        self.peak = self.peak.max(self.present);
    }

    /// The number of pages there; not for absent ones.
    pub(super) fn number(&self, residence: Residence) -> usize {
        self.numbers[residence as usize]
    }

    /// The number of pages with content in memory.
    pub(super) fn present_pages(&self) -> usize {
        self.present
    }

    /// The most that there have been at the same time.
    pub(super) fn peak_pages(&self) -> usize {
        self.peak
    }

    /// Returns whether the page's content is in memory.
    pub(super) fn is_present(&self, page: PageId) -> bool {
        self.of(page).is_present()
    }

    /// Returns whether a frame of the policy holds the page.
    pub(super) fn is_in_frame(&self, page: PageId) -> bool {
        matches!(self.of(page), Residence::Loaded | Residence::Freed)
    }

    /// Returns whether the page's content is in the memory file, where the program may reach it.
    pub(super) fn is_in_file(&self, page: PageId) -> bool {
        self.is_present(page) && !self.is_cached(page)
    }

    fn has(&self, page: PageId, flag: u8) -> bool {
        self.states[page.index()] & flag != 0
    }

    fn put(&mut self, page: PageId, flag: u8, is_set: bool) {
        let state = &mut self.states[page.index()];
        if is_set { *state |= flag } else { *state &= !flag }
    }

    /// What the program's translation lets it do.
    pub(super) fn access(&self, page: PageId) -> Access {
        Access::ALL[usize::from((self.states[page.index()] & ACCESS) >> ACCESS_SHIFT)]
    }

    pub(super) fn set_access(&mut self, page: PageId, access: Access) {
        let state = &mut self.states[page.index()];
        *state = *state & !ACCESS | (access as u8) << ACCESS_SHIFT;
    }

    /// Returns whether the program may write the page unseen.
    pub(super) fn is_writable(&self, page: PageId) -> bool {
        self.access(page) == Access::Write
    }

    /// Returns whether the page's content waits to be written, or is being written.
    pub(super) fn is_in_flight(&self, page: PageId) -> bool {
        self.has(page, IN_FLIGHT)
    }

    pub(super) fn set_in_flight(&mut self, page: PageId, is_in_flight: bool) {
        self.put(page, IN_FLIGHT, is_in_flight);
    }

    /// Returns whether the page's content is in the swap cache or on its way there, and not in the memory file.
    pub(super) fn is_cached(&self, page: PageId) -> bool {
        self.has(page, CACHED)
    }

    pub(super) fn set_cached(&mut self, page: PageId, is_cached: bool) {
        self.put(page, CACHED, is_cached);
    }

    /// The page has been accessed.
    pub(super) fn touch(&mut self, page: PageId) {
        if !self.has(page, TOUCHED) {
            self.put(page, TOUCHED, true);
            self.footprint.push(page);
        }
    }

    /// All pages that have been accessed, in the order of their first access.
    pub(super) fn footprint(&self) -> &[PageId] {
        &self.footprint
    }

    /// Returns whether anything is known of a page.
    pub(super) fn is_used(&self, page: PageId) -> bool {
        self.states[page.index()] != 0 || self.slots[page.index()] != 0
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

    /// The number of frames of pages that were read ahead, refault, or are on their way beside a wanted one.
    pub(super) fn frames_ahead(&self) -> usize {
        self.number(Residence::Ahead)
            + self.number(Residence::Refaults)
            + self.number(Residence::Coming)
    }

    /// Forgets the pages that left first, until there is a frame for each other page in memory or on its way, and for
    /// `others` more.
    ///
    /// A frame that is kept for writes, or for pages that are read ahead, and holds none at the moment, holds a page that
    /// has left. The policy knows nothing of it: an access to such a page is a miss, for which nothing need be read.
    pub(super) fn keep_to_frames(&mut self, others: usize) {
        let needed = self.number(Residence::Evicted) + self.frames_ahead() + others;
        let spare = self.kept_frames.saturating_sub(needed);
        while self.left.len() > spare {
            let Some(&page) = self.left.front() else { break };
            self.moves(page, Residence::Absent);
            self.set_cached(page, false);
            self.swap_cache.remove(page);
        }
    }

    /// Recounts, for tests.
    ///
    /// # Panics
    ///
    /// If a number is wrong, or a page that has left is not listed.
    pub(super) fn check_numbers(&self) {
        for residence in Residence::ALL.into_iter().filter(|&other| other != Residence::Absent) {
            let pages = (0..self.states.len() as u32).map(PageId);
            let number = pages.filter(|&page| self.of(page) == residence).count();
            assert_eq!(
                number,
                self.number(residence),
                "the number of pages that are {residence:?}"
            );
        }
        let present = Residence::ALL.into_iter().filter(|residence| residence.is_present());
        assert_eq!(self.present, present.map(|residence| self.number(residence)).sum::<usize>());
        assert_eq!(self.left.len(), self.number(Residence::Left));
        assert!(self.left.iter().all(|&page| self.of(page) == Residence::Left));
    }
}
