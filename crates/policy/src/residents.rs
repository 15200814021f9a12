//! The page table: which pages are in memory, and in which frames.

use alloc::vec;
use alloc::vec::Vec;

use crate::{Frame, PageId};

/// One bit says whether a page is in memory. So the look-up needs a table that fits into the processor's cache. For
/// pages that are not in memory it needs nothing else: their entries are out of date.
#[derive(Clone, Debug)]
pub(crate) struct Residents {
    is_resident: Vec<u64>,
    /// Numbers, since the allocator zeroes these without touching them: pages that are never accessed cost address space only.
    frame_of_page: Vec<u32>,
}

impl Residents {
    /// None of the pages numbered below `pages`.
    pub(crate) fn new(pages: u32) -> Self {
        Residents {
            is_resident: vec![0; pages.div_ceil(u64::BITS) as usize],
            frame_of_page: vec![0; pages as usize],
        }
    }

    /// How many pages it knows of.
    #[inline]
    pub(crate) fn pages(&self) -> u32 {
        self.frame_of_page.len() as u32
    }

    /// Knows of the pages numbered below `pages` from now on; the new ones are not in memory.
    pub(crate) fn take_more(&mut self, pages: u32) {
        self.is_resident.resize(pages.div_ceil(u64::BITS) as usize, 0);
        self.frame_of_page.resize(pages as usize, 0);
    }

    #[inline]
    fn word(page: PageId) -> usize {
        page.index() / u64::BITS as usize
    }

    #[inline]
    fn bit(page: PageId) -> u64 {
        1 << (page.0 % u64::BITS)
    }

    /// Returns whether `page` is in memory.
    #[inline(always)]
    pub(crate) fn contains(&self, page: PageId) -> bool {
        self.is_resident[Self::word(page)] & Self::bit(page) != 0
    }

    /// The frame of `page`, if it is in memory.
    #[inline]
    pub(crate) fn get(&self, page: PageId) -> Option<Frame> {
        self.contains(page).then(|| Frame(self.frame_of_page[page.index()]))
    }

    /// The entry of `page`: where it stands, for the processor to fetch it.
    #[inline]
    pub(crate) fn entry(&self, page: PageId) -> &u32 {
        &self.frame_of_page[page.index()]
    }

    /// `page` is in `frame` from now on. Says whether it was in no frame before.
    #[inline]
    pub(crate) fn insert(&mut self, page: PageId, frame: Frame) -> bool {
        let word = &mut self.is_resident[Self::word(page)];
        let was_absent = *word & Self::bit(page) == 0;
        *word |= Self::bit(page);
        self.frame_of_page[page.index()] = frame.0;
        was_absent
    }

    /// `page` leaves.
    #[inline]
    pub(crate) fn remove(&mut self, page: PageId) {
        self.is_resident[Self::word(page)] &= !Self::bit(page);
    }

    /// All pages in memory with their frames, for tests.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (PageId, Frame)> + '_ {
        let pages = (0..self.frame_of_page.len() as u32).map(PageId);
        pages.filter_map(|page| Some((page, self.get(page)?)))
    }
}
