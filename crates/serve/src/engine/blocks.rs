//! BLOCK_STATUS: which bytes are data, and what the buffer has.

use clockhand_policy::LogicalPage;
use clockhand_policy::buffer::Medium as Memory;

use super::Engine;
use crate::store::Medium;

/// A context of BLOCK_STATUS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusKind {
    /// `base:allocation`.
    Allocation,
    /// `x-clockhand:buffer`.
    Buffer,
}

/// Consecutive bytes of one status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Bytes.
    pub bytes: u32,
    /// The flags of the context.
    pub flags: u32,
}

/// The most extents of an answer.
const LIMIT_EXTENTS: usize = 65_536;
const HOLE_AND_ZERO: u32 = 3;
const IN_DRAM: u32 = 1;
const IN_NVM: u32 = 2;
const NEWER: u32 = 4;

/// Extents, of which consecutive ones differ.
struct Extents {
    list: Vec<Extent>,
    most: usize,
}

impl Extents {
    /// Tells whether there is room for the rest.
    fn add(&mut self, bytes: u64, flags: u32) -> bool {
        let last_fits = |last: &Extent| {
            last.flags == flags && u64::from(last.bytes) + bytes <= u64::from(u32::MAX)
        };
        let is_full = self.list.len() == self.most;
        match self.list.last_mut().filter(|last| last_fits(last)) {
            Some(last) => last.bytes += bytes as u32,
            None if is_full => return false,
            None => self.list.push(Extent { bytes: bytes as u32, flags }),
        }
        true
    }
}

impl<D: Medium, N: Medium> Engine<D, N> {
    /// The status of a range, from its beginning on; one extent only if `one`.
    pub fn block_status(&self, at: u64, bytes: u32, kind: StatusKind, one: bool) -> Vec<Extent> {
        let mut extents = Extents { list: Vec::new(), most: if one { 1 } else { LIMIT_EXTENTS } };
        let end = at + u64::from(bytes);
        let page_bytes = self.page_bytes() as u64;
        let mut position = at;
        for page in self.buffered_pages(at / page_bytes..end.div_ceil(page_bytes)) {
            let (start, stop) = (page * page_bytes, (page + 1) * page_bytes);
            if position < start && !self.add_unbuffered(position..start, kind, &mut extents) {
                return extents.list;
            }
            position = position.max(start);
            let until = stop.min(end);
            let flags = match kind {
                StatusKind::Allocation => 0,
                StatusKind::Buffer => self.buffer_flags(page),
            };
            if !extents.add(until - position, flags) {
                return extents.list;
            }
            position = until;
        }
        if position < end {
            self.add_unbuffered(position..end, kind, &mut extents);
        }
        extents.list
    }

    fn add_unbuffered(
        &self,
        range: std::ops::Range<u64>,
        kind: StatusKind,
        extents: &mut Extents,
    ) -> bool {
        if kind == StatusKind::Buffer {
            return extents.add(range.end - range.start, 0);
        }
        let mut at = range.start;
        while at < range.end {
            let (is_data, end) = self.store.extent_at(at, range.end);
            if !extents.add(end - at, if is_data { 0 } else { HOLE_AND_ZERO }) {
                return false;
            }
            at = end;
        }
        true
    }

    /// The pages of a range that are in the buffer or held, in ascending order.
    fn buffered_pages(&self, range: std::ops::Range<u64>) -> Vec<u64> {
        let mut pages: Vec<u64> = self.dram.keys().copied().collect();
        pages.extend(self.store.held_pages(range.clone()));
        pages.extend(self.store.pages_with_entries(range.clone()));
        pages.retain(|page| range.contains(page) && self.is_buffered(*page));
        pages.sort_unstable();
        pages.dedup();
        pages
    }

    fn is_buffered(&self, page: u64) -> bool {
        self.buffer.place_of(LogicalPage(page)).is_some()
            || self.store.held(page).is_some()
            || self.overlay.as_ref().is_some_and(|overlay| overlay.contains(&page))
    }

    fn buffer_flags(&self, page: u64) -> u32 {
        if self.overlay.as_ref().is_some_and(|overlay| overlay.contains(&page)) {
            return IN_NVM | NEWER;
        }
        let place = match self.buffer.place_of(LogicalPage(page)) {
            Some(Memory::Dram) => IN_DRAM,
            Some(Memory::Nvm) => IN_NVM,
            None => 0,
        };
        let is_newer = self.buffer.is_dirty(LogicalPage(page)) || self.store.held(page).is_some();
        place | if is_newer { NEWER } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_at_most_65536_extents_and_consecutive_ones_differ() {
        let mut extents = Extents { list: Vec::new(), most: LIMIT_EXTENTS };
        let fitted = (0..70_000).take_while(|number| extents.add(4096, number / 2 % 2)).count();
        assert_eq!((fitted, extents.list.len()), (70_000, 35_000));
        let fitted = (0..70_000).take_while(|number| extents.add(512, 4 + number % 2)).count();
        assert_eq!((fitted, extents.list.len()), (65_536 - 35_000, 65_536));
        assert!(extents.list.windows(2).all(|pair| pair[0].flags != pair[1].flags));
        assert!(extents.add(512, extents.list[65_535].flags), "the last one still grows");
    }
}
