//! Pages that one request reads or writes, in eight bytes.

use std::ops::Range;

use crate::ssd::requests::ByteRange;

/// Consecutive pages of the drive that one request reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ssd) struct PageRange {
    /// The first page.
    pub(in crate::ssd) first: u32,
    /// The number of pages, at most those of a block. The top bit says that they are written, the next one that they
    /// must be persistent before the answer, the third one that the range before belongs to the same request. Above the
    /// number is the class of the request's stream.
    pages_and_op: u32,
}

const WRITES: u32 = 1 << 31;
const FORCES: u32 = 1 << 30;
const CONTINUES: u32 = 1 << 29;
/// The first page is written from its middle on, the last one to its middle, and their rest is read first.
const STARTS_INSIDE: u32 = 1 << 28;
const ENDS_INSIDE: u32 = 1 << 27;
/// Pages are at most 64, classes of streams at most 255.
const PAGES: u32 = 0xff;
const STREAM_SHIFT: u32 = 8;
const STREAMS: u32 = 0xff;

impl PageRange {
    pub(super) fn new(
        first: u64,
        pages: u64,
        request: ByteRange,
        continues: bool,
        streams: u32,
    ) -> Self {
        let op = if request.is_write() { WRITES } else { 0 };
        let op = op | if request.is_forced() { FORCES } else { 0 };
        let op = op | if continues { CONTINUES } else { 0 };
        let stream = (request.stream() as u32 % streams) << STREAM_SHIFT;
        PageRange { first: first as u32, pages_and_op: pages as u32 | op | stream }
    }

    /// The first page is written from its middle on.
    pub(super) fn starts_inside(&mut self, starts: bool) {
        self.pages_and_op |= if starts { STARTS_INSIDE } else { 0 };
    }

    /// The last page is written to its middle.
    pub(super) fn ends_inside(&mut self, ends: bool) {
        self.pages_and_op |= if ends { ENDS_INSIDE } else { 0 };
    }

    /// Returns whether the range before is of the same request.
    pub(in crate::ssd) fn continues(self) -> bool {
        self.pages_and_op & CONTINUES != 0
    }

    /// The request's stream, modulo the classes of streams that the drive keeps apart.
    pub(in crate::ssd) fn stream(self) -> u32 {
        self.pages_and_op >> STREAM_SHIFT & STREAMS
    }

    pub(in crate::ssd) fn is_forced(self) -> bool {
        self.pages_and_op & FORCES != 0
    }

    /// True if a page is written in part, after its rest was read.
    #[inline]
    pub(in crate::ssd) fn is_partial(self, page: u32) -> bool {
        let inside = |flag| self.pages_and_op & flag != 0;
        inside(STARTS_INSIDE | ENDS_INSIDE)
            && (inside(STARTS_INSIDE) && page == self.first
                || inside(ENDS_INSIDE) && page + 1 == self.pages().end)
    }

    pub(in crate::ssd) fn is_write(self) -> bool {
        self.pages_and_op & WRITES != 0
    }

    pub(in crate::ssd) fn pages(self) -> Range<u32> {
        self.first..self.first + (self.pages_and_op & PAGES)
    }
}
