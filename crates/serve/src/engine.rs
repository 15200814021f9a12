//! The driver of a write buffer: carries out its steps on a store, and serves requests of bytes.
//!
//! Each request enters the buffer as a whole, its pages in ascending order. A step is committed at once; until its
//! pages are on the disk the store *holds* them, readable.

mod blocks;
mod contents;
mod reads;
mod requests;
#[cfg(test)]
mod tests;
mod zeroes;

use clockhand_policy::LogicalPage;
use clockhand_policy::buffer::{
    Action, Medium as Memory, Request, Served, Source, StepPage, WriteBuffer,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::store::{Medium, Outgoing, Store};

pub use blocks::{Extent, StatusKind};
pub use reads::{DiskRead, Fill, Run};

/// The error of a refused request, in NBD's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[repr(u32)]
pub enum Refused {
    /// Not allowed.
    #[error("EPERM")]
    Permission = 1,
    /// A file failed.
    #[error("EIO")]
    Io = 5,
    /// No memory.
    #[error("ENOMEM")]
    Memory = 12,
    /// It makes no sense.
    #[error("EINVAL")]
    Invalid = 22,
    /// The disk is full, or ends before.
    #[error("ENOSPC")]
    Space = 28,
    /// The server is ending.
    #[error("ESHUTDOWN")]
    Shutdown = 108,
}

impl Refused {
    /// The client's error for a file's error.
    pub fn of(error: std::io::ErrorKind) -> Refused {
        match error {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Refused::Space,
            _ => Refused::Io,
        }
    }
}

/// What an engine counts, by the names of the row's columns. Unit: pages, unless the name says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the row's columns say what they mean")]
pub struct Counts {
    pub read_hits: u64,
    pub write_hits: u64,
    pub read_references: u64,
    pub write_references: u64,
    pub nvm_hits: u64,
    pub dirty_pages_flushed: u64,
    pub clean_pages_flushed: u64,
    pub batches: u64,
    pub padding_reads: u64,
    pub migrations: u64,
    pub nvm_writes: u64,
    pub read_requests: u64,
    pub write_requests: u64,
    pub forced_writes: u64,
    pub flushes: u64,
    pub trims: u64,
    pub zeroes: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub trimmed_pages: u64,
    pub fill_reads: u64,
    pub errors: u64,
}

/// An event of `--record`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// Bytes are read.
    Read(u64, u32),
    /// Bytes are written.
    Write(u64, u32),
    /// Bytes are written with force unit access.
    ForcedWrite(u64, u32),
    /// Earlier writes have to be durable.
    Sync,
    /// The content of these bytes is not needed any more.
    Discard(u64, u64),
}

/// Receives what enters the buffer, in its order.
pub type Recorder = Box<dyn FnMut(Recorded) + Send>;

/// The content of a page in DRAM. One that is not known is the disk's.
#[derive(PartialEq, Eq)]
enum Content {
    Known(Box<[u8]>),
    /// A read of this number is under way.
    UnderWay(u64),
    /// It could not be read yet.
    Unread,
}

/// A write buffer over a store.
pub struct Engine<D, N> {
    buffer: Box<dyn WriteBuffer + Send>,
    store: Store<D, N>,
    /// The contents of the pages in DRAM.
    dram: FxHashMap<u64, Content>,
    /// The number of the last read.
    last_read: u64,
    /// Pages whose content was damaged in NVM while the server ran.
    damaged: FxHashSet<u64>,
    counts: Counts,
    recorder: Option<Recorder>,
    /// Free slots that must be there before a page is served.
    least_free_slots: usize,
    step: Vec<StepPage>,
    notes: Vec<String>,
    overlay: Option<FxHashSet<u64>>,
}

impl<D: Medium, N: Medium> Engine<D, N> {
    /// An empty buffer over a store.
    pub fn new(buffer: Box<dyn WriteBuffer + Send>, store: Store<D, N>) -> Self {
        let capacity = buffer.capacity();
        let spare = store.header().map_or(0, |header| {
            header.layout.slots.saturating_sub(capacity.nvm_pages + capacity.dram_pages)
        });
        Engine {
            buffer,
            store,
            dram: FxHashMap::default(),
            last_read: 0,
            damaged: FxHashSet::default(),
            counts: Counts::default(),
            recorder: None,
            // With fewer to spare the store frees each slot when it is needed.
            least_free_slots: if spare > 2 { 2 } else { 0 },
            step: Vec::new(),
            notes: Vec::new(),
            overlay: None,
        }
    }

    /// Passes every request that enters to `recorder`.
    pub fn record(&mut self, recorder: Recorder) {
        self.recorder = Some(recorder);
    }

    /// The recorder gets no more requests and is dropped.
    pub fn stop_recording(&mut self) {
        self.recorder = None;
    }

    /// The store.
    pub fn store(&self) -> &Store<D, N> {
        &self.store
    }

    /// The store, to sync it.
    pub fn store_mut(&mut self) -> &mut Store<D, N> {
        &mut self.store
    }

    /// The buffer.
    pub fn buffer(&self) -> &dyn WriteBuffer {
        &*self.buffer
    }

    /// What was counted.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Sentences about what failed since this was last asked.
    pub fn take_notes(&mut self) -> Vec<String> {
        for sentence in self.store.take_notes() {
            self.note(sentence);
        }
        std::mem::take(&mut self.notes)
    }

    /// Pages whose content was damaged in NVM while the server ran.
    pub fn damaged_pages(&self) -> usize {
        self.damaged.len()
    }

    /// Tells whether a failure lasts.
    pub fn is_degraded(&self) -> bool {
        self.store.failure().is_some() || self.store.refused_count() > 0 || !self.damaged.is_empty()
    }

    fn page_bytes(&self) -> usize {
        self.store.page_bytes()
    }

    fn record_event(&mut self, event: Recorded) {
        if let Some(recorder) = &mut self.recorder {
            recorder(event);
        }
    }

    fn note(&mut self, sentence: String) {
        self.counts.errors += 1;
        if self.notes.len() < 16 {
            self.notes.push(sentence);
        }
    }

    /// Tells whether the next page can be served: its steps may have to hold pages and to write to NVM.
    fn check_room(&mut self) -> Result<(), Refused> {
        if let Some(sentence) = self.store.failure() {
            let sentence = sentence.to_owned();
            self.note(sentence);
            return Err(Refused::Io);
        }
        if !self.store.make_room_to_hold() {
            self.counts.errors += 1;
            return Err(self.refusal());
        }
        let least = self.least_free_slots;
        if self.store.free_slots().is_some_and(|free| free < least)
            && let Err(error) = self.store.make_free_slots(least)
        {
            self.note(error.to_string());
            return Err(self.refusal());
        }
        Ok(())
    }

    /// Why the disk refuses a page; that a file failed, if it refuses none.
    fn refusal(&self) -> Refused {
        self.store.refusal(0..u64::MAX).map_or(Refused::Io, Refused::of)
    }

    /// Carries out the steps that `request` needs; `content` is what it brings.
    fn make_room(&mut self, request: Request, content: &[u8]) {
        while self.carry_out_next(request, content) {}
    }

    /// Carries out the next step that `request` needs, if there is one.
    fn carry_out_next(&mut self, request: Request, content: &[u8]) -> bool {
        let Some(step) = self.buffer.next_step(request) else { return false };
        let action = step.action;
        self.step.clear();
        self.step.extend_from_slice(step.pages);
        let pages = std::mem::take(&mut self.step);
        match action {
            Action::Drop => {}
            Action::Migrate => self.migrate(&pages),
            Action::Flush => self.flush_batch(&pages, content),
        }
        self.buffer.commit();
        for step_page in &pages {
            self.settle(step_page.page.0, action);
        }
        self.step = pages;
        true
    }

    /// After a step a page may be in the buffer no more.
    fn settle(&mut self, page: u64, action: Action) {
        let place = self.buffer.place_of(LogicalPage(page));
        if place != Some(Memory::Dram) {
            self.dram.remove(&page);
        }
        if action == Action::Flush && place != Some(Memory::Nvm) {
            self.store.forget_nvm(page);
        }
    }

    fn migrate(&mut self, pages: &[StepPage]) {
        self.counts.migrations += pages.len() as u64;
        self.counts.nvm_writes += pages.len() as u64;
        for &StepPage { page, .. } in pages {
            let content = match self.dram.remove(&page.0) {
                Some(Content::Known(content)) => content,
                _ => vec![0; self.page_bytes()].into(),
            };
            self.write_nvm(page.0, &content);
        }
    }

    /// Writes a version of a page to NVM. If that fails the page is held: it stays readable, and nothing more is written.
    fn write_nvm(&mut self, page: u64, content: &[u8]) {
        if let Err(error) = self.store.write_nvm(page, content) {
            self.note(format!("page {page} could not be written to NVM: {error}"));
            self.store.hold_for_good(page, content, &error);
        }
    }

    fn flush_batch(&mut self, pages: &[StepPage], request: &[u8]) {
        self.counts.batches += 1;
        let page_bytes = self.page_bytes();
        let mut contents = vec![0; pages.len() * page_bytes];
        let mut sent = Vec::with_capacity(pages.len());
        for step_page in pages {
            match step_page.dirty {
                true => self.counts.dirty_pages_flushed += 1,
                false => self.counts.clean_pages_flushed += 1,
            }
            let content = &mut contents[sent.len() * page_bytes..][..page_bytes];
            if let Some(seq) = self.content_for_disk(step_page, request, content) {
                sent.push(Outgoing { page: step_page.page.0, seq });
            }
        }
        self.store.send(&sent, contents);
    }

    /// Fetches what is to be written of a page, and the number that it has if it was in NVM; none if it cannot be read.
    fn content_for_disk(
        &mut self,
        step_page: &StepPage,
        request: &[u8],
        into: &mut [u8],
    ) -> Option<Option<u64>> {
        let page = step_page.page.0;
        match step_page.source {
            Source::Request => {
                into.copy_from_slice(request);
                Some(None)
            }
            Source::Nvm => match self.store.read_nvm(page, into) {
                Ok(()) => Some(self.store.nvm_seq(page)),
                Err(error) => {
                    self.damaged.insert(page);
                    self.note(error.to_string());
                    None
                }
            },
            Source::Dram => match self.dram.get(&page) {
                Some(Content::Known(content)) => {
                    into.copy_from_slice(content);
                    Some(None)
                }
                _ => self.read_below(page, into).then_some(None),
            },
            Source::Flash => {
                self.counts.padding_reads += 1;
                self.read_below(page, into).then_some(None)
            }
        }
    }

    /// Reads what would be read if the page were not buffered.
    fn read_below(&mut self, page: u64, into: &mut [u8]) -> bool {
        if let Some(content) = self.store.held(page) {
            into.copy_from_slice(content);
            return true;
        }
        match self.damaged.contains(&page) {
            true => false,
            false => match self.store.read_disk(page, into) {
                Ok(()) => true,
                Err(error) => {
                    self.note(format!("page {page} cannot be read: {error}"));
                    false
                }
            },
        }
    }

    /// A page of a request is served; where its content belongs now.
    fn serve(&mut self, request: Request) -> Served {
        let served = self.buffer.serve(request);
        let counts = &mut self.counts;
        counts.nvm_writes += u64::from(served.nvm_writes);
        let is_write = match request {
            Request::Read(_) => false,
            Request::Write(_) | Request::ForceUnitAccess(_) => true,
            Request::Flush | Request::Trim(_) | Request::Drain => return served,
        };
        let (references, hits) = match is_write {
            false => (&mut counts.read_references, &mut counts.read_hits),
            true => (&mut counts.write_references, &mut counts.write_hits),
        };
        *references += 1;
        *hits += u64::from(served.hit.is_some());
        counts.nvm_hits += u64::from(served.hit == Some(Memory::Nvm));
        served
    }
}
