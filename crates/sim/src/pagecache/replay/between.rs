//! Events between references: syncs, the flusher, and pages that leave or are unmapped.

use clockhand_policy::memory::fast::FastMemory;
use clockhand_policy::page::{PageKind, PagePolicy};
use clockhand_policy::{Frame, Frames, PageId};
use clockhand_trace::{Mark, MarkKind};

use super::feed::Feed;
use super::watch::{Happened, Watch};
use super::{Replay, kind_of};
use crate::pagecache::dirty_files::single_object;

impl<P: PagePolicy, T: Feed<P>, W: Watch> Replay<'_, P, T, W> {
    /// What happens between references.
    pub(super) fn mark(&mut self, mark: &Mark) {
        if let MarkKind::Length { object, bytes } = mark.kind {
            if let Some(length) = self.lengths.get_mut(object as usize) {
                *length = Some(bytes);
            }
            return;
        }
        self.end_event();
        self.watch.at(self.cell.view.times_ns().map(|_| mark.time_ns));
        self.clock.now =
            if self.clock.times_ns.is_some() { mark.time_ns } else { self.clock.references };
        if self.clock.now >= self.clock.next_flush {
            self.flush();
        }
        match mark.kind {
            MarkKind::Look | MarkKind::Length { .. } => {}
            MarkKind::Sync => self.sync(mark),
            MarkKind::Drop { partial } => self.drop_pages(mark, partial),
            MarkKind::Unmap => self.unmap(mark),
            MarkKind::Direct { op, pages } => self.direct(mark, op, pages),
        }
    }

    pub(super) fn sync(&mut self, mark: &Mark) {
        let Some(dirty_files) = &self.dirty_files else { return };
        let pages = match single_object(self.cell.view.page_keys(), &mark.pages) {
            Some(file) => dirty_files.of_file(file),
            None if mark.pages.is_empty() => return,
            None => dirty_files.all(),
        };
        self.counts.sync_writes += pages.len() as u64;
        self.join_writes(&pages);
        self.write_pages(&pages);
    }

    /// Writes `pages` of one file, ascending, as one request.
    fn join_writes(&mut self, pages: &[u32]) {
        let keys = self.cell.view.page_keys();
        let file = |page: u32| keys[page as usize].0;
        for of_file in pages.chunk_by(|&left, &right| file(left) == file(right)) {
            let places = of_file.iter().map(|&page| keys[page as usize].1);
            self.counts.file_writes_joined.request(places);
        }
    }

    pub(super) fn write_pages(&mut self, pages: &[u32]) {
        for &page in pages {
            let frame = self.memory.frame_of(PageId(page));
            self.write(frame);
        }
    }

    /// The flusher runs, for the last of its moments.
    #[cold]
    pub(super) fn flush(&mut self) {
        let Some(flusher) = self.cell.options.flusher else { return };
        let moment = self.clock.now - self.clock.now % flusher.every;
        self.clock.next_flush = moment.saturating_add(flusher.every);
        let Some(dirty_files) = &self.dirty_files else { return };
        let old = moment.checked_sub(flusher.age).map(|latest| dirty_files.until(latest));
        let mut written = old.unwrap_or_default();
        self.write_pages(&written);
        if let (Some(limit), Some(dirty_files)) = (flusher.dirty_limit, &self.dirty_files) {
            let too_many = dirty_files.beyond(limit.floor_of(self.cell.frames));
            self.write_pages(&too_many);
            written.extend(too_many);
        }
        self.counts.flusher_writes += written.len() as u64;
        written.sort_unstable();
        self.join_writes(&written);
    }

    pub(super) fn drop_pages(&mut self, mark: &Mark, partial: Option<u32>) {
        for page in mark.pages.clone() {
            let frame = self.memory.frame_of(PageId(page));
            if frame != Frame::NONE {
                self.drop_page(page, frame);
            }
            if let (Some(slots), PageKind::Anonymous) =
                (&mut self.slots, kind_of(self.cell.view, page))
            {
                slots.release(page);
            }
        }
        let Some(page) = partial else { return };
        let frame = self.memory.frame_of(PageId(page));
        if frame != Frame::NONE && !self.memory.frames().is_dirty(frame) {
            self.memory.make_dirty(frame);
            self.became_dirty(page);
        }
    }

    /// The pages stay, without their mappings, which only kernels know.
    pub(super) fn unmap(&mut self, mark: &Mark) {
        for page in mark.pages.clone() {
            let frame = self.memory.frame_of(PageId(page));
            if frame != Frame::NONE {
                self.memory.unmap(frame);
            }
        }
    }

    pub(super) fn drop_page(&mut self, page: u32, frame: Frame) {
        let was_dirty = self.memory.drop_page(frame);
        if was_dirty {
            self.counts.dropped_dirty += 1;
            if self.kind(page) == PageKind::File {
                self.became_clean(page);
            }
        } else {
            self.counts.dropped_clean += 1;
        }
        self.left(page);
        self.watch.happened(Happened::Dropped(page, was_dirty));
    }

    /// A call past the cache: dirty pages in its range are written first, and a write drops the pages.
    pub(super) fn direct(&mut self, mark: &Mark, op: clockhand_trace::Op, pages: u64) {
        let is_write = op == clockhand_trace::Op::Write;
        let count = if is_write {
            &mut self.counts.direct_write_ios
        } else {
            &mut self.counts.direct_read_ios
        };
        *count += pages;
        for page in mark.pages.clone() {
            let frame = self.memory.frame_of(PageId(page));
            if frame == Frame::NONE {
                continue;
            }
            if self.memory.frames().is_dirty(frame) {
                self.counts.early_write_backs += 1;
                self.write(frame);
            }
            if is_write {
                self.drop_page(page, frame);
            }
        }
    }
}
