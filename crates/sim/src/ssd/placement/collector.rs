//! What of a trace lands where on a drive, as it is collected.

use std::ops::Range;

use super::page_range::PageRange;
use super::{AddressMap, Placed, PlacedCommand, Space, for_each_part, trimmed_pages};
use crate::ssd::requests::{ByteRange, Command, RequestList, Told};

/// Collects ranges, none of which spans two blocks, and counts.
pub(super) struct Collector {
    pub(super) ranges: Vec<PageRange>,
    commands: Vec<(usize, PlacedCommand)>,
    command_numbers: Vec<u32>,
    /// Commands of the trace so far.
    told: u32,
    streams: u32,
    touched: PageSet,
    written: PageSet,
    references: u64,
    write_references: u64,
}

impl Collector {
    pub(super) fn new(requests: usize, space: Space) -> Self {
        let Space { logical_pages, streams, .. } = space;
        Collector {
            ranges: Vec::with_capacity(requests),
            commands: Vec::new(),
            command_numbers: Vec::new(),
            told: 0,
            streams,
            touched: PageSet::new(logical_pages),
            written: PageSet::new(logical_pages),
            references: 0,
            write_references: 0,
        }
    }

    /// Places a command; pages that follow each other on the drive stay one range.
    pub(super) fn command(
        &mut self,
        list: &RequestList,
        command: &Command,
        bases: &[u128],
        (space, map): (Space, AddressMap),
        place_of: &dyn Fn(u128) -> Option<u64>,
    ) {
        let before = self.ranges.len();
        self.told += 1;
        let Told::Trim { stream, address, bytes } = command.told else {
            return self.push(before, PlacedCommand::Flush);
        };
        let pushed = self.commands.len();
        let mut pages = trimmed_pages(list, (stream, address, bytes), bases, (space, map));
        // What wraps meets the same pages again.
        let whole_blocks = u128::from(space.logical_pages / u64::from(space.pages_per_block));
        let most = (whole_blocks + 2) * u128::from(space.pages_per_block);
        pages.end = pages.end.min(pages.start + most);
        let mut range = 0..0;
        for_each_part(pages, space, &mut |block, first, count| {
            let Some(block) = place_of(block) else { return };
            let first = block * u64::from(space.pages_per_block) + first;
            if range.end != first {
                self.trim(before, std::mem::replace(&mut range, first..first));
            }
            range.end += count;
        });
        // One without a page is a request all the same.
        if !range.is_empty() || self.commands.len() == pushed {
            self.push(before, PlacedCommand::Trim(range.start as u32..range.end as u32));
        }
    }

    fn trim(&mut self, before: usize, pages: Range<u64>) {
        if !pages.is_empty() {
            let pages = pages.start as u32..pages.end as u32;
            self.push(before, PlacedCommand::Trim(pages));
        }
    }

    fn push(&mut self, before: usize, command: PlacedCommand) {
        self.commands.push((before, command));
        self.command_numbers.push(self.told - 1);
    }

    pub(super) fn take(&mut self, first: u64, pages: u64, request: ByteRange, continues: bool) {
        let is_write = request.is_write();
        self.ranges.push(PageRange::new(first, pages, request, continues, self.streams));
        self.references += pages;
        self.touched.add(first..first + pages);
        if is_write {
            self.write_references += pages;
            self.written.add(first..first + pages);
        }
    }

    pub(super) fn finish(self) -> Placed {
        Placed {
            ranges: self.ranges,
            commands: self.commands,
            command_numbers: self.command_numbers,
            references: self.references,
            write_references: self.write_references,
            footprint_pages: self.touched.len,
            dirty_footprint_pages: self.written.len,
        }
    }
}

/// A set of pages of a drive, one bit each.
struct PageSet {
    bits: Vec<u64>,
    len: u32,
}

impl PageSet {
    fn new(logical_pages: u64) -> Self {
        PageSet { bits: vec![0; logical_pages.div_ceil(64) as usize], len: 0 }
    }

    fn add(&mut self, pages: Range<u64>) {
        for page in pages {
            let (word, bit) = ((page / 64) as usize, 1 << (page % 64));
            self.len += u32::from(self.bits[word] & bit == 0);
            self.bits[word] |= bit;
        }
    }
}

/// A trace that tests place by hand.
#[cfg(test)]
pub(in crate::ssd) struct PlacedForTest(Collector);

#[cfg(test)]
impl PlacedForTest {
    pub(in crate::ssd) fn new() -> Self {
        let (logical_pages, page_bytes, pages_per_block) = (1 << 20, 4096, 4);
        let (streams, reads_rest) = (255, false);
        let space = Space { logical_pages, page_bytes, pages_per_block, streams, reads_rest };
        PlacedForTest(Collector::new(0, space))
    }

    pub(in crate::ssd) fn request(
        &mut self,
        pages: Range<u32>,
        writes: bool,
        forces: bool,
        stream: u32,
    ) {
        let request = ByteRange::of_op(writes, forces, stream);
        self.0.take(pages.start.into(), pages.len() as u64, request, false);
    }

    pub(in crate::ssd) fn command(&mut self, command: PlacedCommand) {
        self.0.told += 1;
        let before = self.0.ranges.len();
        self.0.push(before, command);
    }

    pub(in crate::ssd) fn finish(self) -> Placed {
        self.0.finish()
    }
}
