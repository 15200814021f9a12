//! A record of a page view: one run of references to one page in 32 bits.

use super::PageView;
use crate::request::Op;

/// One run of consecutive references to one page, packed into 32 bits. Bit 0: the first reference
/// is a write. Bit 1: a later reference of the run reads. Bit 2: a later one writes. From bit 3 on:
/// the dense page id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Record(pub(super) u32);

const FIRST_IS_WRITE: u32 = 1 << 0;
const REST_READS: u32 = 1 << 1;
const REST_WRITES: u32 = 1 << 2;
pub(super) const FLAG_BITS: u32 = 3;
pub(super) const FLAGS: u32 = (1 << FLAG_BITS) - 1;

impl Record {
    #[inline]
    pub(super) fn first(page: u32, op: Op) -> Self {
        Self::single(page, op == Op::Write)
    }

    /// One reference to a page: for callers that tell of references that no view holds.
    #[inline]
    pub fn single(page: u32, is_write: bool) -> Self {
        Self(page << FLAG_BITS | if is_write { FIRST_IS_WRITE } else { 0 })
    }

    /// The record of these bits.
    #[inline]
    pub(crate) fn of_bits(bits: u32) -> Self {
        Self(bits)
    }

    #[inline]
    pub(super) fn add(&mut self, op: Op) {
        self.0 |= if op == Op::Write { REST_WRITES } else { REST_READS };
    }

    /// The same run, of another page: for callers that number more pages than the view has.
    ///
    /// # Panics
    /// If the page is not below [`PageView::LIMIT_PAGES`].
    #[must_use]
    pub fn of_page(self, page: u32) -> Self {
        assert!(page < PageView::LIMIT_PAGES, "a record has no room for page {page}");
        Self(page << FLAG_BITS | self.0 & FLAGS)
    }

    /// The dense id of the page.
    #[inline]
    pub fn page(self) -> u32 {
        self.0 >> FLAG_BITS
    }

    /// Returns whether the first reference of the run writes.
    #[inline]
    pub fn first_is_write(self) -> bool {
        self.0 & FIRST_IS_WRITE != 0
    }

    /// Returns whether a later reference of the run reads.
    #[inline]
    pub fn rest_reads(self) -> bool {
        self.0 & REST_READS != 0
    }

    /// Returns whether a later reference of the run writes.
    #[inline]
    pub fn rest_writes(self) -> bool {
        self.0 & REST_WRITES != 0
    }

    /// Returns whether it stands for more than one reference.
    #[inline]
    pub(crate) fn is_run(self) -> bool {
        self.0 & (REST_READS | REST_WRITES) != 0
    }

    /// The three flags as a number below 8, bit for bit as in the record.
    #[inline]
    pub fn flags(self) -> usize {
        (self.0 & FLAGS) as usize
    }

    /// The two flags of the rest as a number below 4: 1, it reads; 2, it writes; 3, both.
    #[inline]
    pub fn rest_flags(self) -> usize {
        self.flags() >> 1
    }
}
