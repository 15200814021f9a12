//! One pass over the events of a trace with one policy and one memory size.
//!
//! The loop is compiled for each policy. A hit does little more than in `simulate`: what becomes dirty is looked at on
//! the first write only, and everything else happens on misses and between references.

mod ahead;
mod between;
mod cell;
mod clock;
mod feed;
mod watch;

use clockhand_policy::memory::fast::FastMemory;
use clockhand_policy::page::{Cause, Fault, PageKind, PagePolicy};
use clockhand_policy::{Frame, Frames, Memory, PageId, Step};
use clockhand_trace::{EventView, Reference};

use super::counts::PageCacheCounts;
use super::dirty_files::DirtyFiles;
use super::options::{FirstTouch, ZeroClean};
use super::read_ahead::FileWindows;
use super::swap_slots::SwapSlots;
use crate::chunk::chunk_done;
use crate::error::SimError;
use crate::intervals::Notes;
pub(super) use cell::EventCell;
use clock::Clock;
use feed::{Feed, op};
pub(super) use watch::{Fill, Happened, Watch};

/// References between two checks of the progress clock and for a cancellation.
const CHUNK_REFERENCES: usize = 1 << 18;

struct Replay<'a, P, T, W> {
    memory: Memory<P>,
    feed: T,
    watch: W,
    cell: EventCell<'a>,
    counts: PageCacheCounts,
    /// None in a trace without files.
    dirty_files: Option<DirtyFiles>,
    /// None unless the swap is read ahead.
    slots: Option<SwapSlots>,
    /// None unless files are read ahead.
    windows: Option<FileWindows>,
    /// Of files, while they are read ahead.
    lengths: Vec<Option<u64>>,
    reads_ahead: bool,
    /// Pages that were read ahead and not referenced since.
    unreferenced: Vec<bool>,
    /// What is read with the page that misses.
    ahead: Vec<u32>,
    /// Where all that is, ascending.
    places: Vec<u64>,
    clock: Clock<'a>,
    period: Option<u64>,
    until_tick: u64,
}

impl<'a, P: PagePolicy, T: Feed<P>, W: Watch> Replay<'a, P, T, W> {
    fn run(&mut self) -> Result<Notes<'a, PageCacheCounts>, SimError> {
        let view = self.cell.view;
        let mut notes = Notes::at(self.cell.cuts);
        let mut served = 0;
        for mark in view.marks() {
            self.references(served, mark.before, &mut notes)?;
            served = mark.before;
            self.mark(mark);
        }
        self.references(served, view.references().len(), &mut notes)?;
        Ok(notes)
    }

    fn references(
        &mut self,
        from: usize,
        to: usize,
        notes: &mut Notes<'_, PageCacheCounts>,
    ) -> Result<(), SimError> {
        let view = self.cell.view;
        let mut start = from;
        while start < to {
            let end = to.min(start + notes.until_next(CHUNK_REFERENCES));
            let references = &view.references()[start..end];
            for (place, &reference) in references.iter().enumerate() {
                self.reference(start + place, reference);
            }
            chunk_done(&mut self.memory, self.cell.progress, end - start)?;
            if notes.passed_many(references, writes_among) {
                notes.note(self.counts_so_far());
            }
            start = end;
        }
        Ok(())
    }

    #[inline]
    fn reference(&mut self, index: usize, reference: Reference) {
        if reference.begins_event() {
            self.end_event();
            self.begin_event(index);
        }
        self.clock.references = index as u64 + 1;
        self.feed.before(&mut self.memory, |future| future.next_of(index));
        let frame = self.memory.frame_of(PageId(reference.page()));
        if frame == Frame::NONE {
            self.miss(index, reference);
        } else {
            self.hit(reference, frame);
        }
        if let Some(dirty_files) = &self.dirty_files {
            self.counts.dirty_pages_sum += dirty_files.count();
        }
        self.until_tick -= 1;
        if self.until_tick == 0 {
            self.memory.tick();
            self.until_tick = self.period.unwrap_or(u64::MAX);
        }
    }

    /// Tells who watches that the event before has been served.
    #[inline]
    fn end_event(&mut self) {
        if self.clock.has_begun {
            self.watch.served(&self.memory, self.slots.as_ref());
        }
        self.clock.has_begun = true;
    }

    #[inline]
    fn begin_event(&mut self, index: usize) {
        self.watch.at(self.cell.view.times_ns().map(|times_ns| times_ns[self.clock.event]));
        self.clock.now = match self.clock.times_ns {
            Some(times_ns) => times_ns[self.clock.event],
            None => index as u64,
        };
        self.clock.event += 1;
        if self.clock.now >= self.clock.next_flush {
            self.flush();
        }
    }

    #[inline]
    fn hit(&mut self, reference: Reference, frame: Frame) {
        self.watch.happened(Happened::Hit(reference.page()));
        let dirties = reference.is_write() && !self.memory.frames().is_dirty(frame);
        self.feed.hit(&mut self.memory, reference, frame);
        if dirties {
            self.became_dirty(reference.page());
        }
        if self.reads_ahead {
            self.unreferenced[reference.page() as usize] = false;
            if reference.is_call() && !reference.is_write() {
                let (caller, page) = self.caller_and_page(reference);
                if let Some(windows) = &mut self.windows {
                    windows.hit(caller, page);
                }
            }
        }
    }

    /// The caller of the reference, and the number of the page in its file.
    fn caller_and_page(&self, reference: Reference) -> (u32, u64) {
        let view = self.cell.view;
        let caller = view.callers().get(self.clock.event - 1).copied().unwrap_or_default();
        (caller, view.page_keys()[reference.page() as usize].1)
    }

    #[inline(never)]
    fn miss(&mut self, index: usize, reference: Reference) {
        let page = reference.page();
        if self.reads_ahead {
            self.choose_ahead(reference);
        }
        self.make_room(page, 1 + self.ahead.len() as u32);
        let is_write = reference.is_write();
        self.counts.read_misses += u64::from(!is_write);
        self.counts.write_misses += u64::from(is_write);
        let fill = self.fill(reference);
        self.count_fill(page, fill);
        self.watch.happened(Happened::Filled(page, fill));
        let cause = if reference.is_call() { Cause::Call } else { Cause::Memory };
        let (fetched, kind) = (fill == Fill::Read, self.kind(page));
        let fault = Fault { fetched, cause, kind, ..Fault::new(PageId(page), op(reference)) };
        self.memory.load(fault);
        if is_write {
            self.became_dirty(page);
        }
        if self.reads_ahead {
            self.load_ahead(index);
        }
    }

    fn kind(&self, page: u32) -> PageKind {
        let is_file = self.cell.view.file_pages()[page as usize];
        if is_file { PageKind::File } else { PageKind::Anonymous }
    }

    /// What the miss reads.
    fn fill(&self, reference: Reference) -> Fill {
        let options = &self.cell.options;
        if self.kind(reference.page()) == PageKind::File {
            return if reference.is_covered() { Fill::Blind } else { Fill::Read };
        }
        let is_zero = match options.zero_clean {
            ZeroClean::Drop => reference.is_unwritten(),
            ZeroClean::Read => reference.is_fresh(),
        };
        if is_zero && options.first_touch == FirstTouch::Zero { Fill::Zero } else { Fill::Read }
    }

    fn count_fill(&mut self, page: u32, fill: Fill) {
        match fill {
            Fill::Read => self.count_read(page),
            Fill::Zero => self.counts.zero_fills += 1,
            Fill::Blind => self.counts.blind_fills += 1,
        }
    }

    fn count_read(&mut self, page: u32) {
        match self.kind(page) {
            PageKind::File => self.counts.file_read_ios += 1,
            PageKind::Anonymous => self.counts.anon_read_ios += 1,
        }
    }

    /// Lets pages leave until `frames` frames are free.
    fn make_room(&mut self, page: u32, frames: u32) {
        while let Some(step) =
            self.memory.next_step(PageId(page), frames).expect("the simulator pins nothing")
        {
            match step {
                Step::WriteBack(frame) => {
                    self.counts.early_write_backs += 1;
                    self.write(frame);
                }
                Step::Evict(frame) => self.evict(frame),
            }
        }
    }

    fn evict(&mut self, frame: Frame) {
        let PageId(page) = self.memory.frames().page(frame);
        let is_dirty = self.memory.frames().is_dirty(frame);
        if is_dirty {
            self.counts.dirty_evictions += 1;
            self.account_write(page);
            self.memory.written_back(frame);
        } else {
            self.counts.clean_evictions += 1;
        }
        self.memory.commit_eviction();
        self.left(page);
        self.watch.happened(Happened::Evicted(page, is_dirty));
    }

    /// Writes a dirty page that stays.
    fn write(&mut self, frame: Frame) {
        let PageId(page) = self.memory.frames().page(frame);
        self.account_write(page);
        self.memory.written_back(frame);
        self.watch.happened(Happened::Written(page));
    }

    fn account_write(&mut self, page: u32) {
        match self.kind(page) {
            PageKind::File => {
                self.counts.file_write_ios += 1;
                self.became_clean(page);
            }
            PageKind::Anonymous => {
                self.counts.anon_write_ios += 1;
                if let Some(slots) = &mut self.slots {
                    slots.written(page);
                }
            }
        }
    }

    /// A page has left the cache.
    fn left(&mut self, page: u32) {
        if let Some(is_unreferenced) = self.unreferenced.get_mut(page as usize) {
            self.counts.readahead_unused += u64::from(*is_unreferenced);
            *is_unreferenced = false;
        }
    }

    #[inline(never)]
    fn became_dirty(&mut self, page: u32) {
        let stamp = self.clock.stamp();
        if let (PageKind::File, Some(dirty_files)) = (self.kind(page), &mut self.dirty_files) {
            dirty_files.insert(page, self.cell.view.page_keys()[page as usize].0, stamp);
        } else if let Some(slots) = &mut self.slots {
            slots.release(page);
        }
    }

    fn became_clean(&mut self, page: u32) {
        if let Some(dirty_files) = &mut self.dirty_files {
            let file = self.cell.view.page_keys()[page as usize].0;
            dirty_files.remove(page, file, self.clock.now);
        }
    }

    /// Every dirty page is written once; nothing else happens any more.
    fn flush_at_end(&mut self) {
        let frames = self.memory.frames();
        for frame in self.memory.resident_frames() {
            if !frames.is_dirty(frame) {
                continue;
            }
            let PageId(page) = frames.page(frame);
            self.watch.happened(Happened::Written(page));
            match kind_of(self.cell.view, page) {
                PageKind::File => self.counts.file_write_ios += 1,
                PageKind::Anonymous => self.counts.anon_write_ios += 1,
            }
        }
    }

    fn finish(mut self) -> (PageCacheCounts, W) {
        self.watch.served(&self.memory, self.slots.as_ref());
        if let Some(dirty_files) = &mut self.dirty_files {
            let now =
                if self.clock.times_ns.is_some() { self.clock.now } else { self.clock.references };
            dirty_files.end(now);
        }
        if self.cell.options.flush_at_end {
            self.flush_at_end();
        }
        (self.counts_so_far(), self.watch)
    }

    /// Takes the counts so far; the maxima of dirty pages and of age start again.
    fn counts_so_far(&mut self) -> PageCacheCounts {
        let mut counts = self.counts.clone();
        if let Some(dirty_files) = &mut self.dirty_files {
            (counts.dirty_pages_peak, counts.dirty_age_max) = dirty_files.take_largest();
        }
        self.memory.policy().gauges(&mut |name, value| match name {
            "reclaims" => counts.reclaims = Some(value as u64),
            "scanned_pages" => counts.scanned_pages = Some(value as u64),
            _ => {}
        });
        counts
    }
}

fn kind_of(view: &EventView, page: u32) -> PageKind {
    if view.file_pages()[page as usize] { PageKind::File } else { PageKind::Anonymous }
}

fn writes_among(references: &[Reference]) -> usize {
    references.iter().filter(|reference| reference.is_write()).count()
}
