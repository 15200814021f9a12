//! The durable store: a disk, and the NVM file beside it if the buffer has NVM.
//!
//! The store knows which versions are durable and does what an answered FLUSH promises. It takes no thread and no
//! lock: its owner asks with [`Store::next`] what a [`Goal`] still needs, begins that sync, carries it out, perhaps
//! without holding the store, and ends it.

mod behind;
mod clock;
pub mod layout;
mod medium;
pub(crate) mod mutant;
mod nvm;
mod reading;
pub mod recovery;
mod syncs;
mod versions;

use std::io;
use std::sync::Arc;

pub use behind::{Batch, Outgoing};
pub use medium::Medium;
pub use nvm::NvmSync;
pub use reading::Pin;
pub use syncs::{DiskSync, Goal, Next};

use behind::Behind;
use clock::SyncClock;
use layout::Header;
use mutant::{Mutant, Mutants};
use nvm::Nvm;
use reading::Reading;
use recovery::Lost;

/// Zeros that are written together, in bytes.
const LIMIT_ZEROS_BYTES: u64 = 1 << 20;

/// What a store did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreCounts {
    /// Pages read from the disk.
    pub disk_pages_read: u64,
    /// Pages written to the disk, trims aside.
    pub disk_pages_written: u64,
    /// Syncs of the disk.
    pub disk_syncs: u64,
    /// Syncs of the NVM file.
    pub nvm_syncs: u64,
}

/// A disk, and the NVM file beside it.
pub struct Store<D, N> {
    disk: D,
    disk_bytes: u64,
    page_bytes: usize,
    disk_clock: SyncClock,
    nvm: Option<Nvm<N>>,
    last_seq: u64,
    failure: Option<String>,
    counts: StoreCounts,
    mutants: Mutants,
    behind: Behind,
    reading: Arc<Reading>,
    /// Sentences about pages that the disk refuses.
    notes: Vec<String>,
}

impl<D: Medium, N: Medium> Store<D, N> {
    /// A store that begins empty: the disk has every page.
    pub fn new(disk: D, disk_bytes: u64, page_bytes: usize, nvm: Option<(N, Header)>) -> Self {
        Self::with_lost_pages(disk, disk_bytes, page_bytes, nvm, &[])
    }

    /// As [`new`](Self::new), but the NVM file says of some pages that they are lost.
    pub fn with_lost_pages(
        disk: D,
        disk_bytes: u64,
        page_bytes: usize,
        nvm: Option<(N, Header)>,
        lost: &[Lost],
    ) -> Self {
        let last_seq = nvm.as_ref().map_or(0, |(_, header)| header.durable_seq);
        Store {
            disk,
            disk_bytes,
            page_bytes,
            disk_clock: SyncClock::new(),
            nvm: nvm.map(|(file, header)| Nvm::new(file, header, lost)),
            last_seq,
            failure: None,
            counts: StoreCounts::default(),
            mutants: Mutants::default(),
            behind: Behind::default(),
            reading: Arc::default(),
            notes: Vec::new(),
        }
    }

    /// Takes up what the NVM file holds, to be read only.
    pub fn take_image(&mut self, image: &recovery::Image) {
        if let Some(nvm) = &mut self.nvm {
            nvm.take_image(image);
        }
    }

    #[cfg(test)]
    pub(crate) fn make(&mut self, mutant: Option<Mutant>) {
        self.mutants.made = mutant;
        if let Some(nvm) = &mut self.nvm {
            nvm.mutants.made = mutant;
        }
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// Bytes of the disk.
    pub fn disk_bytes(&self) -> u64 {
        self.disk_bytes
    }

    /// What it did.
    pub fn counts(&self) -> StoreCounts {
        self.counts
    }

    /// Bytes written to the NVM file.
    pub fn nvm_bytes_written(&self) -> u64 {
        self.nvm.as_ref().map_or(0, |nvm| nvm.bytes_written)
    }

    /// Slots that are free; none without NVM.
    pub fn free_slots(&self) -> Option<usize> {
        self.nvm.as_ref().map(Nvm::free_slots)
    }

    /// Why nothing is written any more, if a sync or the NVM file failed.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// The NVM file's header, if there is one.
    pub fn header(&self) -> Option<Header> {
        self.nvm.as_ref().map(|nvm| nvm.header)
    }

    /// Sentences about pages that the disk refuses, since this was last asked.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn check(&self) -> io::Result<()> {
        match &self.failure {
            Some(sentence) => Err(io::Error::other(sentence.clone())),
            None => Ok(()),
        }
    }

    fn fail(&mut self, what: &str, error: &io::Error) {
        let sentence = || format!("{what}: {error}; nothing more is written until a restart");
        self.failure.get_or_insert_with(sentence);
    }

    /// Reads whole pages from the disk; beyond its end are zeros.
    ///
    /// # Errors
    ///
    /// The disk's error, or the loss of a page.
    pub fn read_disk(&mut self, first: u64, into: &mut [u8]) -> io::Result<()> {
        self.begin_disk_read(first, (into.len() / self.page_bytes) as u64)?;
        let at = first * self.page_bytes as u64;
        let inside = self.disk_bytes.saturating_sub(at).min(into.len() as u64) as usize;
        into[inside..].fill(0);
        self.disk.read(at, &mut into[..inside])
    }

    /// Pages are about to be read from the disk.
    ///
    /// # Errors
    ///
    /// The loss of one.
    pub fn begin_disk_read(&mut self, first: u64, pages: u64) -> io::Result<()> {
        self.counts.disk_pages_read += pages;
        if let Some(nvm) = &self.nvm
            && let Some(page) = (first..first + pages).find(|&page| nvm.is_lost(page))
        {
            return Err(io::Error::other(format!("page {page} is lost: it was damaged in NVM")));
        }
        Ok(())
    }

    /// Nobody writes to these pages of the disk as long as the pin is there.
    pub fn pin(&self, pages: std::ops::Range<u64>) -> Pin {
        self.reading.pin(pages)
    }

    /// The disk.
    pub fn disk(&self) -> &D {
        &self.disk
    }

    /// Tells whether the disk's bytes from `at` on are data, and where that ends, at most at `end`.
    pub fn extent_at(&self, at: u64, end: u64) -> (bool, u64) {
        self.disk.extent_at(at, end)
    }

    /// Pages of a range that have entries in the NVM file.
    pub fn pages_with_entries(&self, range: std::ops::Range<u64>) -> Vec<u64> {
        self.nvm.as_ref().map_or(Vec::new(), |nvm| nvm.pages_in(range))
    }

    /// Tells whether `page` was found damaged and not written whole since.
    pub fn is_lost(&self, page: u64) -> bool {
        self.nvm.as_ref().is_some_and(|nvm| nvm.is_lost(page))
    }

    /// Tells whether any page is lost: then the disk alone is not up to date.
    pub fn has_lost_pages(&self) -> bool {
        self.nvm.as_ref().is_some_and(Nvm::has_lost_pages)
    }

    /// Reads the newest version of a page that is in NVM.
    ///
    /// # Errors
    ///
    /// The file's error, or the damage of the page.
    pub fn read_nvm(&self, page: u64, into: &mut [u8]) -> io::Result<()> {
        self.nvm.as_ref().expect("a buffer with NVM").read(page, into)
    }

    /// The number of the newest version of `page` that was written to NVM.
    pub fn nvm_seq(&self, page: u64) -> Option<u64> {
        self.nvm.as_ref().and_then(|nvm| nvm.seq_of(page))
    }

    fn next_seq(&mut self) -> u64 {
        self.last_seq += 1;
        self.last_seq
    }

    /// Writes a version of `page` to NVM, after making room for it.
    ///
    /// # Errors
    ///
    /// A file's error; nothing more is written then.
    pub fn write_nvm(&mut self, page: u64, content: &[u8]) -> io::Result<()> {
        self.check()?;
        let early = self.mutants.has(Mutant::NumberBeforeRoom).then(|| self.next_seq());
        if !self.nvm.as_ref().expect("a buffer with NVM").has_place_for(page) {
            self.make_free_slots(1)?;
        }
        let seq = early.unwrap_or_else(|| self.next_seq());
        let nvm = self.nvm.as_mut().expect("a buffer with NVM");
        nvm.write(page, seq, content).inspect_err(|error| self.fail("the NVM file", error))?;
        self.release(page..page + 1);
        Ok(())
    }

    /// `page` has left NVM, or its version there is an old one.
    pub fn forget_nvm(&mut self, page: u64) {
        if let Some(nvm) = &mut self.nvm {
            nvm.forget(page);
        }
    }

    /// Makes whole pages of the disk read as zeros.
    ///
    /// # Errors
    ///
    /// That of the disk.
    pub fn clear_disk(&mut self, pages: std::ops::Range<u64>, allocates: bool) -> io::Result<()> {
        self.check()?;
        self.write_those_of(&pages);
        self.reading.wait_for(&pages);
        let page_bytes = self.page_bytes as u64;
        let (at, end) = (pages.start * page_bytes, (pages.end * page_bytes).min(self.disk_bytes));
        self.disk_clock.touch();
        match self.disk.clear(at, end - at, allocates) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                self.write_zeros(at, end)?
            }
            done => done?,
        }
        self.release(pages.clone());
        let seq = self.next_seq();
        let stamp = self.disk_clock.dirtied();
        if let Some(nvm) = &mut self.nvm {
            for page in nvm.pages_in(pages) {
                nvm.note_on_disk(page, seq, stamp, &self.disk_clock);
            }
        }
        Ok(())
    }

    fn write_zeros(&self, mut at: u64, end: u64) -> io::Result<()> {
        let zeros = vec![0; (end - at).min(LIMIT_ZEROS_BYTES) as usize];
        while at < end {
            let part = &zeros[..(end - at).min(LIMIT_ZEROS_BYTES) as usize];
            self.disk.write(at, part)?;
            at += part.len() as u64;
        }
        Ok(())
    }

    /// Recounts what is counted along the way.
    #[cfg(test)]
    pub(crate) fn check_invariants(&self) {
        if let Some(nvm) = &self.nvm {
            nvm.check_invariants();
        }
    }
}
