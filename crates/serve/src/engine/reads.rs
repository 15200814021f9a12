//! READ: it enters the buffer at once, and what only the disk has is read afterwards, perhaps beside the engine.

use std::cell::Cell;
use std::ops::Range;

use clockhand_policy::LogicalPage;
use clockhand_policy::buffer::{Medium as Memory, Request};

use super::{Content, Engine, Recorded, Refused};
use crate::store::{Medium, Pin};

/// Consecutive pages of a read that only the disk has.
pub struct Run {
    /// Where they begin on the disk, in bytes.
    pub at: u64,
    /// Where they go, beyond the disk's end zeros.
    pub into: Range<usize>,
    /// Bytes of them that the disk has.
    pub bytes: usize,
    _pin: Pin,
}

/// A read that has entered, and is to be read from the disk. Its pages are not written until it is dropped.
pub struct DiskRead {
    number: u64,
    first: u64,
    /// True if the buffer keeps pages of it.
    pub is_kept: bool,
    /// What is to be read.
    pub runs: Vec<Run>,
}

/// The rest of a [`DiskRead`] once its pages have been read, or the read has failed.
pub struct Fill {
    number: u64,
    first: u64,
    ranges: Vec<Range<usize>>,
}

impl DiskRead {
    /// The pages may be written again.
    pub fn end(self) -> Fill {
        let ranges = self.runs.into_iter().map(|run| run.into).collect();
        Fill { number: self.number, first: self.first, ranges }
    }
}

impl<D: Medium, N: Medium> Engine<D, N> {
    /// Bytes of the whole pages that a read touches, and where in them it begins.
    pub fn extent_of_read(&self, at: u64, bytes: u32) -> (usize, usize) {
        let page_bytes = self.page_bytes();
        let pages = self.pages_of(at, bytes.into());
        let len = (pages.end - pages.start) as usize * page_bytes;
        (len, (at - pages.start * page_bytes as u64) as usize)
    }

    /// A read of `bytes` bytes at `at` enters. `into` gets what the buffer has of its whole pages; the rest is read from
    /// the disk, if there is any, and [`end_read`](Self::end_read) has to follow.
    ///
    /// # Errors
    ///
    /// A page cannot be read.
    pub fn begin_read(
        &mut self,
        at: u64,
        bytes: u32,
        into: &mut [u8],
    ) -> Result<Option<DiskRead>, Refused> {
        self.begin();
        let page_bytes = self.page_bytes();
        let pages = self.pages_of(at, bytes.into());
        let mut ranges = Vec::new();
        let mut result = self.read_buffered_of(pages.start, into, &mut ranges);
        for range in &ranges {
            let first = pages.start + (range.start / page_bytes) as u64;
            let count = (range.len() / page_bytes) as u64;
            result = result.and(self.check_disk(first, count));
        }
        self.record_event(Recorded::Read(at, bytes));
        self.counts.read_requests += 1;
        self.counts.read_bytes += u64::from(bytes);
        let is_kept = Cell::new(false);
        self.last_read += 1;
        let number = self.last_read;
        let mut from_disk =
            ranges.iter().flat_map(|range| range.clone().step_by(page_bytes)).peekable();
        for (page, start) in pages.clone().zip((0..).step_by(page_bytes)) {
            let is_from_disk = from_disk.next_if_eq(&start).is_some();
            let content = &into[start..start + page_bytes];
            let content = || match (&result, is_from_disk) {
                (Err(_), _) => Content::Unread,
                (Ok(()), true) => {
                    is_kept.set(true);
                    Content::UnderWay(number)
                }
                (Ok(()), false) => Content::Known(content.into()),
            };
            if self.check_room().is_ok() {
                self.reference_read(page, &content);
            }
        }
        result?;
        // The steps in between may have written these pages: theirs is the content.
        let runs: Vec<_> =
            ranges.into_iter().map(|range| self.run_of(pages.start, range, into)).collect();
        let (first, is_kept) = (pages.start, is_kept.get());
        Ok((!runs.is_empty()).then_some(DiskRead { number, first, is_kept, runs }))
    }

    fn run_of(&self, first: u64, into: Range<usize>, content: &mut [u8]) -> Run {
        let page_bytes = self.page_bytes();
        let first = first + (into.start / page_bytes) as u64;
        let at = first * page_bytes as u64;
        let rest = self.store.disk_bytes().saturating_sub(at);
        let bytes = rest.min(into.len() as u64) as usize;
        content[into.start + bytes..into.end].fill(0);
        let pin = self.store.pin(first..first + (into.len() / page_bytes) as u64);
        Run { at, into, bytes, _pin: pin }
    }

    fn check_disk(&mut self, first: u64, pages: u64) -> Result<(), Refused> {
        self.store.begin_disk_read(first, pages).map_err(|error| {
            self.note(error.to_string());
            Refused::Io
        })
    }

    /// The pages of a read were read from the disk into `content`, or could not be.
    pub fn end_read(&mut self, fill: &Fill, content: Result<&[u8], &std::io::Error>) {
        let page_bytes = self.page_bytes();
        if let Err(error) = content {
            let first = fill.ranges.first().map_or(0, |range| range.start / page_bytes);
            let page = fill.first + first as u64;
            self.note(format!("page {page} and what follows cannot be read: {error}"));
        }
        for start in fill.ranges.iter().flat_map(|range| range.clone().step_by(page_bytes)) {
            let page = fill.first + (start / page_bytes) as u64;
            // Otherwise it has left the buffer, or has a newer content.
            if let Some(known @ Content::UnderWay(_)) = self.dram.get_mut(&page)
                && *known == Content::UnderWay(fill.number)
            {
                *known = match content {
                    Ok(content) => Content::Known(content[start..start + page_bytes].into()),
                    Err(_) => Content::Unread,
                };
            }
        }
    }

    /// Reads the whole pages that `bytes` bytes at `at` touch into `into`, and returns where in it they begin.
    ///
    /// # Errors
    ///
    /// A page cannot be read.
    pub fn read(&mut self, at: u64, bytes: u32, into: &mut Vec<u8>) -> Result<usize, Refused> {
        let (len, offset) = self.extent_of_read(at, bytes);
        into.resize(into.len().max(len), 0);
        let into = &mut into[..len];
        if let Some(read) = self.begin_read(at, bytes, into)? {
            let disk = self.store.disk();
            let read_run = |run: &Run| disk.read(run.at, &mut into[run.into.clone()][..run.bytes]);
            let done = read.runs.iter().try_for_each(read_run);
            self.end_read(&read.end(), done.as_ref().map(|()| &*into));
            done.map_err(|error| Refused::of(error.kind()))?;
        }
        Ok(offset)
    }

    fn reference_read(&mut self, page: u64, content: &dyn Fn() -> Content) {
        let request = Request::Read(LogicalPage(page));
        self.make_room(request, &[]);
        self.serve(request);
        // As long as the page stays, so does what another read brings.
        let is_known =
            matches!(self.dram.get(&page), Some(Content::Known(_) | Content::UnderWay(_)));
        if !is_known && self.buffer.place_of(LogicalPage(page)) == Some(Memory::Dram) {
            self.dram.insert(page, content());
        }
    }
}
