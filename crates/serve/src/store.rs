//! What is kept: a disk, and the NVM file beside it if the buffer has NVM.
//!
//! The store knows which versions are durable and does what an answered FLUSH promises. It takes no thread and no
//! lock: its owner asks with [`Store::next`] what a [`Goal`] still needs, begins that sync, carries it out, perhaps
//! without holding the store, and ends it.

mod clock;
pub mod layout;
mod medium;
pub(crate) mod mutant;
mod nvm;
pub mod recovery;
mod versions;

use std::io;

pub use medium::Medium;
pub use nvm::NvmSync;

use clock::SyncClock;
use layout::Header;
use mutant::{Mutant, Mutants};
use nvm::Nvm;
use recovery::Lost;

/// What must be durable before a request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    disk_stamp: u64,
    nvm_stamp: u64,
    /// No entry may be left that is older than a version up to this one on the disk.
    seq: Option<u64>,
}

/// What a [`Goal`] needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing.
    Reached,
    /// A sync of the disk.
    SyncDisk,
    /// A sync of the NVM file.
    SyncNvm,
}

/// A sync of the disk that has begun.
#[derive(Clone, Copy, Debug)]
pub struct DiskSync(u64);

/// A page on its way to the disk.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Which page.
    pub page: u64,
    /// Its content.
    pub content: &'a [u8],
    /// Its number, if it has one already because it was in NVM.
    pub seq: Option<u64>,
}

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
    tail: Vec<u8>,
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
            tail: vec![0; page_bytes],
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
    /// That of the disk, or that a page is lost.
    pub fn read_disk(&mut self, first: u64, into: &mut [u8]) -> io::Result<()> {
        let pages = (into.len() / self.page_bytes) as u64;
        self.counts.disk_pages_read += pages;
        if let Some(nvm) = &self.nvm
            && let Some(page) = (first..first + pages).find(|&page| nvm.is_lost(page))
        {
            return Err(io::Error::other(format!("page {page} is lost: it was damaged in NVM")));
        }
        let at = first * self.page_bytes as u64;
        let inside = self.disk_bytes.saturating_sub(at).min(into.len() as u64) as usize;
        into[inside..].fill(0);
        self.disk.read(at, &mut into[..inside])
    }

    /// Whether the disk's bytes from `at` on are data, and where that ends, at most at `end`.
    pub fn extent_at(&self, at: u64, end: u64) -> (bool, u64) {
        self.disk.extent_at(at, end)
    }

    /// Pages of a range that have entries in the NVM file.
    pub fn pages_with_entries(&self, range: std::ops::Range<u64>) -> Vec<u64> {
        self.nvm.as_ref().map_or(Vec::new(), |nvm| nvm.pages_in(range))
    }

    /// Whether `page` was found damaged and not written whole since.
    pub fn is_lost(&self, page: u64) -> bool {
        self.nvm.as_ref().is_some_and(|nvm| nvm.is_lost(page))
    }

    /// Whether any page is lost: then the disk alone is not all that there is to know.
    pub fn has_lost_pages(&self) -> bool {
        self.nvm.as_ref().is_some_and(Nvm::has_lost_pages)
    }

    /// Reads the newest version of a page that is in NVM.
    ///
    /// # Errors
    ///
    /// That of the file, or that the page is damaged.
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
    /// That of a file; then nothing more is written.
    pub fn write_nvm(&mut self, page: u64, content: &[u8]) -> io::Result<()> {
        self.check()?;
        let early = self.mutants.has(Mutant::NumberBeforeRoom).then(|| self.next_seq());
        if !self.nvm.as_ref().expect("a buffer with NVM").has_place_for(page) {
            self.make_free_slots(1)?;
        }
        let seq = early.unwrap_or_else(|| self.next_seq());
        let nvm = self.nvm.as_mut().expect("a buffer with NVM");
        nvm.write(page, seq, content).inspect_err(|error| self.fail("the NVM file", error))
    }

    /// `page` has left NVM, or its version there is an old one.
    pub fn forget_nvm(&mut self, page: u64) {
        if let Some(nvm) = &mut self.nvm {
            nvm.forget(page);
        }
    }

    /// Writes pages to the disk, those that follow each other together; the positions that failed, and why.
    pub fn write_disk(&mut self, pages: &[Outgoing<'_>]) -> Vec<(usize, io::Error)> {
        let mut failed = Vec::new();
        let mut start = 0;
        while start < pages.len() {
            let follows = |window: &[Outgoing<'_>]| window[0].page + 1 == window[1].page;
            let len = 1 + pages[start..].windows(2).take_while(|window| follows(window)).count();
            let run = &pages[start..start + len];
            match self.write_run(run) {
                Ok(()) => self.note_run(run),
                Err(error) => {
                    let again = || io::Error::from_raw_os_error(error.raw_os_error().unwrap_or(5));
                    failed.extend((start..start + len).map(|position| (position, again())));
                }
            }
            start += len;
        }
        failed
    }

    fn write_run(&mut self, run: &[Outgoing<'_>]) -> io::Result<()> {
        let at = run[0].page * self.page_bytes as u64;
        let mut parts: Vec<&[u8]> = run.iter().map(|page| page.content).collect();
        let end = at + (parts.len() * self.page_bytes) as u64;
        if let Some(beyond) = end.checked_sub(self.disk_bytes) {
            let last = parts.last_mut().expect("a run has a page");
            *last = &last[..self.page_bytes - beyond as usize];
        }
        // What fails may have been written in part.
        self.disk_clock.touch();
        self.disk.write(at, &parts)
    }

    fn note_run(&mut self, run: &[Outgoing<'_>]) {
        self.counts.disk_pages_written += run.len() as u64;
        for outgoing in run {
            let seq = outgoing.seq.unwrap_or_else(|| self.next_seq());
            if let Some(nvm) = &mut self.nvm {
                let stamp = self.disk_clock.dirtied();
                nvm.note_on_disk(outgoing.page, seq, stamp, &self.disk_clock);
            }
        }
    }

    /// Makes whole pages of the disk read as zeros.
    ///
    /// # Errors
    ///
    /// That of the disk.
    pub fn clear_disk(&mut self, pages: std::ops::Range<u64>, allocates: bool) -> io::Result<()> {
        self.check()?;
        let page_bytes = self.page_bytes as u64;
        let (at, end) = (pages.start * page_bytes, (pages.end * page_bytes).min(self.disk_bytes));
        self.disk_clock.touch();
        match self.disk.clear(at, end - at, allocates) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                self.write_zeros(at, end)?
            }
            done => done?,
        }
        let seq = self.next_seq();
        let stamp = self.disk_clock.dirtied();
        if let Some(nvm) = &mut self.nvm {
            for page in nvm.pages_in(pages) {
                nvm.note_on_disk(page, seq, stamp, &self.disk_clock);
            }
        }
        Ok(())
    }

    fn write_zeros(&mut self, mut at: u64, end: u64) -> io::Result<()> {
        self.tail.fill(0);
        while at < end {
            let parts: Vec<&[u8]> = (at..end)
                .step_by(self.page_bytes)
                .take(256)
                .map(|from| &self.tail[..(end - from).min(self.page_bytes as u64) as usize])
                .collect();
            self.disk.write(at, &parts)?;
            at += parts.iter().map(|part| part.len() as u64).sum::<u64>();
        }
        Ok(())
    }

    /// What must be durable so that all that was done until now stays.
    pub fn goal(&self) -> Goal {
        let nvm_stamp = self.nvm.as_ref().map_or(0, |nvm| nvm.clock.dirtied());
        let disk_stamp = self.disk_clock.dirtied();
        Goal { disk_stamp, nvm_stamp, seq: Some(self.last_seq) }
    }

    /// What must be durable so that what was last written to NVM, or without NVM to the disk, stays.
    pub fn goal_of_write(&self) -> Goal {
        match &self.nvm {
            Some(nvm) => Goal { disk_stamp: 0, nvm_stamp: nvm.clock.dirtied(), seq: None },
            None => self.goal(),
        }
    }

    /// What `goal` needs next.
    ///
    /// # Errors
    ///
    /// A sync or the NVM file has failed.
    pub fn next(&self, goal: Goal) -> io::Result<Next> {
        self.check()?;
        let syncs_disk = !self.mutants.has(Mutant::NoDiskSync);
        if syncs_disk && !self.disk_clock.is_durable(goal.disk_stamp) {
            return Ok(Next::SyncDisk);
        }
        let Some(nvm) = &self.nvm else { return Ok(Next::Reached) };
        if !nvm.clock.is_durable(goal.nvm_stamp) {
            return Ok(Next::SyncNvm);
        }
        let Some(seq) = goal.seq.filter(|_| !self.mutants.has(Mutant::OneRoundOfVoids)) else {
            return Ok(Next::Reached);
        };
        Ok(match nvm.left_to_void(seq, &self.disk_clock) {
            None => Next::Reached,
            Some(true) if syncs_disk => Next::SyncDisk,
            Some(_) if !syncs_disk => Next::Reached,
            Some(_) => Next::SyncNvm,
        })
    }

    /// A sync of the disk begins.
    pub fn begin_disk_sync(&mut self) -> DiskSync {
        self.counts.disk_syncs += 1;
        DiskSync(self.disk_clock.begin())
    }

    /// The sync has ended.
    pub fn end_disk_sync(&mut self, sync: DiskSync, result: &io::Result<()>) {
        match result {
            Ok(()) => self.disk_clock.end(sync.0),
            Err(error) => self.fail("a sync of the disk", error),
        }
    }

    /// A sync of the NVM file begins: headers and entries are written.
    ///
    /// # Errors
    ///
    /// That of the file; then nothing more is written.
    pub fn begin_nvm_sync(&mut self) -> io::Result<NvmSync> {
        self.check()?;
        self.counts.nvm_syncs += 1;
        let nvm = self.nvm.as_mut().expect("a buffer with NVM");
        let begun = nvm.begin_sync(self.last_seq, &self.disk_clock);
        begun.inspect_err(|error| self.fail("the NVM file", error))
    }

    /// The sync has ended.
    pub fn end_nvm_sync(&mut self, sync: NvmSync, result: &io::Result<()>) {
        match result {
            Ok(()) => self.nvm.as_mut().expect("a buffer with NVM").end_sync(sync),
            Err(error) => self.fail("a sync of the NVM file", error),
        }
    }

    /// Syncs the disk at once.
    ///
    /// # Errors
    ///
    /// That of the disk.
    pub fn sync_disk(&mut self) -> io::Result<()> {
        self.check()?;
        let sync = self.begin_disk_sync();
        let result = self.disk.sync();
        self.end_disk_sync(sync, &result);
        result
    }

    /// Syncs the NVM file at once.
    ///
    /// # Errors
    ///
    /// That of the file.
    pub fn sync_nvm(&mut self) -> io::Result<()> {
        let sync = self.begin_nvm_sync()?;
        let result = self.nvm.as_ref().expect("a buffer with NVM").file.sync();
        self.end_nvm_sync(sync, &result);
        result
    }

    /// Syncs until `goal` is reached.
    ///
    /// # Errors
    ///
    /// That of a file.
    pub fn reach(&mut self, goal: Goal) -> io::Result<()> {
        loop {
            match self.next(goal)? {
                Next::Reached => return Ok(()),
                Next::SyncDisk => self.sync_disk()?,
                Next::SyncNvm => self.sync_nvm()?,
            }
        }
    }

    /// Frees slots by syncs until there are this many.
    ///
    /// # Errors
    ///
    /// That of a file, or that no slot can be freed because the disk refuses pages.
    pub fn make_free_slots(&mut self, wanted: usize) -> io::Result<()> {
        // A page's entries become void one after the other, each in a round of its own.
        for _ in 0..8 {
            match self.free_slots() {
                Some(free) if free < wanted => {}
                _ => return Ok(()),
            }
            let nvm = self.nvm.as_ref().expect("a buffer with NVM");
            if nvm.waits_for_disk(&self.disk_clock) {
                self.sync_disk()?;
            }
            self.sync_nvm()?;
        }
        match self.free_slots() {
            Some(free) if free >= wanted => Ok(()),
            _ => Err(io::Error::other("no slot of the NVM file can be freed")),
        }
    }

    /// What the idle store does about once a second: the next sync that makes `durable_seq` newer on the medium, or
    /// frees slots while less than `wanted` are free.
    pub fn next_when_idle(&self, wanted: usize) -> Next {
        let Some(nvm) = self.nvm.as_ref().filter(|_| self.failure.is_none()) else {
            return Next::Reached;
        };
        let is_short = nvm.free_slots() < wanted && nvm.has_stale();
        match (is_short && nvm.waits_for_disk(&self.disk_clock), is_short || nvm.has_news()) {
            (true, _) => Next::SyncDisk,
            (_, true) => Next::SyncNvm,
            _ => Next::Reached,
        }
    }

    /// Every entry of the NVM file becomes one of an old epoch: the disk has every page.
    ///
    /// # Errors
    ///
    /// That of the file.
    pub fn end_epoch(&mut self) -> io::Result<()> {
        self.check()?;
        let last_seq = self.last_seq;
        let Some(nvm) = &mut self.nvm else { return Ok(()) };
        nvm.header.durable_seq = last_seq;
        nvm.header = recovery::begin_epoch(&nvm.file, nvm.header)?;
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
