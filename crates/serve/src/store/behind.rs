//! Pages on their way to the disk: the buffer has let them go, and until they are written they are *held*, readable.
//!
//! Batches are written one after the other, in their order, at once or by a thread that does not hold the store. Pages
//! that the disk refuses stay held, and are tried again.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::Store;
use super::medium::Medium;
use super::reading::Reading;

/// Pages that can be held.
const LIMIT_PAGES: usize = 4096;
/// Pages that the steps of one page may add.
const STEP_PAGES: usize = 128;
/// About this number of pages of batches is written together.
const TOGETHER_PAGES: usize = 256;

/// A page on its way to the disk.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// Which page.
    pub page: u64,
    /// Its number, if it has one already because it was in NVM.
    pub seq: Option<u64>,
}

/// Positions in a batch that were not written, and why.
type Failed = Vec<(usize, io::Error)>;

/// Pages that are written together.
pub struct Batch {
    /// Pages with the numbers of their versions.
    pages: Vec<(u64, u64)>,
    content: Vec<u8>,
    page_bytes: usize,
    disk_bytes: u64,
    reading: Arc<Reading>,
    written: Mutex<Option<Failed>>,
    ended: Condvar,
}

impl Batch {
    fn content(&self, index: usize) -> &[u8] {
        &self.content[index * self.page_bytes..][..self.page_bytes]
    }

    /// Writes its pages, those that follow each other together. This needs no store.
    pub fn write(&self, disk: &impl Medium) {
        let mut failed = Vec::new();
        let mut start = 0;
        while start < self.pages.len() {
            let follows = |window: &[(u64, u64)]| window[0].0 + 1 == window[1].0;
            let len =
                1 + self.pages[start..].windows(2).take_while(|window| follows(window)).count();
            if let Err(error) = self.write_run(disk, start..start + len) {
                let again = || io::Error::from_raw_os_error(error.raw_os_error().unwrap_or(5));
                failed.extend((start..start + len).map(|position| (position, again())));
            }
            start += len;
        }
        *self.written.lock().unwrap_or_else(PoisonError::into_inner) = Some(failed);
        self.ended.notify_all();
    }

    fn write_run(&self, disk: &impl Medium, run: std::ops::Range<usize>) -> io::Result<()> {
        let first = self.pages[run.start].0;
        self.reading.wait_for(&(first..first + run.len() as u64));
        let at = first * self.page_bytes as u64;
        let inside = (self.disk_bytes - at).min((run.len() * self.page_bytes) as u64) as usize;
        disk.write(at, &self.content[run.start * self.page_bytes..][..inside])
    }

    /// The pages that were not written, once all were tried.
    fn take_failed(&self) -> Failed {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        while written.is_none() {
            written = self.ended.wait(written).unwrap_or_else(PoisonError::into_inner);
        }
        written.take().unwrap_or_default()
    }
}

/// Where the content of a held page is, and why the disk refused it, if it did.
struct Held {
    batch: Arc<Batch>,
    index: usize,
    refused: Option<io::ErrorKind>,
}

/// What is on its way.
#[derive(Default)]
pub(super) struct Behind {
    pages: BTreeMap<u64, Held>,
    refused: usize,
    batches: VecDeque<Arc<Batch>>,
    /// Batches that are being written, one after the other.
    under_way: VecDeque<Arc<Batch>>,
    /// Pages of these batches.
    queued_pages: usize,
    /// Batches that were queued since the start, and that have ended.
    queued: u64,
    pub(super) ended: u64,
    /// The stamps of ended batches that are not known to be durable.
    stamps: VecDeque<(u64, u64)>,
    /// The page that was last tried again.
    tried: u64,
    /// Whether batches wait for somebody to write them.
    waits: bool,
}

impl Behind {
    fn insert(&mut self, page: u64, held: Held) {
        self.refused += usize::from(held.refused.is_some());
        let before = self.pages.insert(page, held);
        self.refused -= usize::from(before.is_some_and(|held| held.refused.is_some()));
    }

    fn remove(&mut self, page: u64) {
        if !self.pages.is_empty() {
            let before = self.pages.remove(&page);
            self.refused -= usize::from(before.is_some_and(|held| held.refused.is_some()));
        }
    }

    /// The stamp at which batch `number` had ended.
    pub(super) fn stamp_of(&self, number: u64) -> u64 {
        let later = self.stamps.partition_point(|&(ended, _)| ended < number);
        self.stamps.get(later).map_or(0, |&(_, stamp)| stamp)
    }

    /// The refused page to be tried again, going round.
    fn next_to_try(&mut self) -> Option<u64> {
        let is_refused = |entry: &(&u64, &Held)| entry.1.refused.is_some();
        let after = self.pages.range(self.tried + 1..).find(is_refused);
        let page = *after.or_else(|| self.pages.iter().find(is_refused))?.0;
        self.tried = page;
        Some(page)
    }
}

impl<D: Medium, N: Medium> Store<D, N> {
    /// From now on batches wait until somebody writes them: see [`begin_writes`](Self::begin_writes).
    pub fn write_behind(&mut self) {
        self.behind.waits = true;
    }

    /// Sends a batch to the disk: pages with their contents, one behind the other.
    pub fn send(&mut self, outgoing: &[Outgoing], content: Vec<u8>) {
        if outgoing.is_empty() {
            return;
        }
        let pages: Vec<_> = outgoing
            .iter()
            .map(|outgoing| (outgoing.page, outgoing.seq.unwrap_or_else(|| self.next_seq())))
            .collect();
        let batch = Arc::new(Batch {
            pages,
            content,
            page_bytes: self.page_bytes,
            disk_bytes: self.disk_bytes,
            reading: Arc::clone(&self.reading),
            written: Mutex::default(),
            ended: Condvar::new(),
        });
        for (index, &(page, _)) in batch.pages.iter().enumerate() {
            self.behind.insert(page, Held { batch: Arc::clone(&batch), index, refused: None });
        }
        self.behind.queued += 1;
        self.behind.queued_pages += batch.pages.len();
        self.behind.batches.push_back(batch);
        if !self.behind.waits {
            self.write_all();
        }
    }

    /// The next batches to be written in this order, if none are being written. [`end_write`](Self::end_write) has to
    /// follow for each.
    pub fn begin_writes(&mut self) -> Vec<Arc<Batch>> {
        let Behind { under_way, batches, .. } = &mut self.behind;
        if !under_way.is_empty() {
            return Vec::new();
        }
        let mut pages = 0;
        while pages < TOGETHER_PAGES
            && let Some(batch) = batches.pop_front()
        {
            pages += batch.pages.len();
            under_way.push_back(batch);
        }
        under_way.iter().cloned().collect()
    }

    /// A batch is written, or was tried: its pages are held no more, but for those that the disk refuses.
    pub fn end_write(&mut self, batch: &Arc<Batch>) {
        // Another may have waited for it, and ended it.
        if !self.behind.under_way.front().is_some_and(|known| Arc::ptr_eq(known, batch)) {
            return;
        }
        self.behind.under_way.pop_front();
        let mut failed = batch.take_failed().into_iter().peekable();
        // A failed write may have been written in part.
        let stamp = self.disk_clock.touch();
        for (index, &(page, seq)) in batch.pages.iter().enumerate() {
            let is_newest = |held: &Held| Arc::ptr_eq(&held.batch, batch) && held.index == index;
            let is_held = self.behind.pages.get(&page).is_some_and(is_newest);
            match failed.next_if(|(position, _)| *position == index) {
                None => {
                    self.note_written(page, seq, stamp);
                    if is_held {
                        self.behind.remove(page);
                    }
                }
                Some((_, error)) if is_held => self.hold(page, Arc::clone(batch), index, &error),
                // A newer version is elsewhere.
                Some(_) => {}
            }
        }
        self.behind.ended += 1;
        self.behind.queued_pages -= batch.pages.len();
        let ended = self.behind.ended;
        while self.behind.stamps.front().is_some_and(|&(_, old)| self.disk_clock.is_durable(old)) {
            self.behind.stamps.pop_front();
        }
        match self.behind.stamps.back_mut() {
            Some((number, known)) if *known == stamp => *number = ended,
            _ => self.behind.stamps.push_back((ended, stamp)),
        }
    }

    fn note_written(&mut self, page: u64, seq: u64, stamp: u64) {
        self.counts.disk_pages_written += 1;
        if let Some(nvm) = &mut self.nvm {
            nvm.note_on_disk(page, seq, stamp, &self.disk_clock);
        }
    }

    fn hold(&mut self, page: u64, batch: Arc<Batch>, index: usize, error: &io::Error) {
        if self.behind.refused == 0 {
            self.notes.push(format!("the disk refuses page {page}: {error}; it is held"));
        }
        self.behind.insert(page, Held { batch, index, refused: Some(error.kind()) });
    }

    /// Holds a version of a page that can be written nowhere.
    pub fn hold_for_good(&mut self, page: u64, content: &[u8], error: &io::Error) {
        let batch = Batch {
            pages: vec![(page, self.last_seq)],
            content: content.to_vec(),
            page_bytes: self.page_bytes,
            disk_bytes: self.disk_bytes,
            reading: Arc::clone(&self.reading),
            written: Mutex::default(),
            ended: Condvar::new(),
        };
        self.hold(page, Arc::new(batch), 0, error);
    }

    /// Writes the oldest batch now; false if there is none.
    pub fn write_one(&mut self) -> bool {
        let batch = match self.behind.under_way.front() {
            Some(batch) => Arc::clone(batch),
            None => {
                let Some(batch) = self.behind.batches.pop_front() else { return false };
                self.behind.under_way.push_back(Arc::clone(&batch));
                batch.write(&self.disk);
                batch
            }
        };
        self.end_write(&batch);
        true
    }

    /// Every batch is written now.
    pub fn write_all(&mut self) {
        while self.write_one() {}
    }

    /// Tells whether batches wait to be written, or one is being written.
    pub fn is_behind(&self) -> bool {
        self.behind.ended < self.behind.queued
    }

    /// The number of the last batch.
    pub(super) fn last_batch(&self) -> u64 {
        self.behind.queued
    }

    /// Makes room to hold what the steps of one page may add; false if the disk refuses too many.
    pub fn make_room_to_hold(&mut self) -> bool {
        let held = |behind: &Behind| behind.queued_pages + behind.refused;
        while held(&self.behind) + STEP_PAGES > LIMIT_PAGES && self.write_one() {}
        if held(&self.behind) + STEP_PAGES > LIMIT_PAGES {
            self.try_refused_again(usize::MAX);
        }
        held(&self.behind) + STEP_PAGES <= LIMIT_PAGES
    }

    /// Writes what is on its way to pages of this range, so that nothing older comes after what follows.
    pub(super) fn write_those_of(&mut self, range: &std::ops::Range<u64>) {
        let touches = |batch: &Arc<Batch>| batch.pages.iter().any(|(page, _)| range.contains(page));
        loop {
            let behind = &self.behind;
            if !behind.under_way.iter().chain(&behind.batches).any(touches) {
                return;
            }
            self.write_one();
        }
    }

    /// Pages that are not held any more: newer versions are elsewhere.
    pub(super) fn release(&mut self, range: std::ops::Range<u64>) {
        while let Some((&page, _)) = self.behind.pages.range(range.clone()).next() {
            self.behind.remove(page);
        }
    }

    /// The content of a page that is held.
    #[inline]
    pub fn held(&self, page: u64) -> Option<&[u8]> {
        match self.behind.pages.is_empty() {
            true => None,
            false => self.behind.pages.get(&page).map(|held| held.batch.content(held.index)),
        }
    }

    /// The pages that are held, of a range.
    pub fn held_pages(&self, range: std::ops::Range<u64>) -> impl Iterator<Item = u64> {
        self.behind.pages.range(range).map(|(&page, _)| page)
    }

    /// Pages that are held.
    pub fn held_count(&self) -> usize {
        self.behind.pages.len()
    }

    /// Pages that the disk refuses.
    pub fn refused_count(&self) -> usize {
        self.behind.refused
    }

    /// Why the disk refuses a page of this range, if it refuses one.
    pub fn refusal(&self, range: std::ops::Range<u64>) -> Option<io::ErrorKind> {
        match self.behind.refused {
            0 => None,
            _ => self.behind.pages.range(range).find_map(|(_, held)| held.refused),
        }
    }

    /// Writes up to `most` refused pages again.
    pub fn try_refused_again(&mut self, most: usize) {
        if self.behind.refused == 0 || self.failure.is_some() {
            return;
        }
        for _ in 0..most.min(self.behind.refused) {
            let Some(page) = self.behind.next_to_try() else { return };
            let held = &self.behind.pages[&page];
            let (batch, index) = (Arc::clone(&held.batch), held.index);
            let written = batch.write_run(&self.disk, index..index + 1);
            let stamp = self.disk_clock.touch();
            match written {
                Ok(()) => {
                    self.note_written(page, batch.pages[index].1, stamp);
                    self.behind.remove(page);
                }
                // The disk still refuses.
                Err(error) => return self.hold(page, batch, index, &error),
            }
        }
    }
}
