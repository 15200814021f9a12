//! Syncs before a request is answered, and who makes them.

use std::io;

use super::medium::Medium;
use super::mutant::Mutant;
use super::nvm::NvmSync;
use super::{Store, recovery};

/// The versions that must be durable before a request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// Batches up to this one have to be written before the disk is synced.
    batch: u64,
    disk_stamp: u64,
    nvm_stamp: u64,
    /// Pages that the disk must not refuse, the first and the end.
    pages: (u64, u64),
    /// No entry may be left that is older than a version up to this one on the disk.
    seq: Option<u64>,
}

/// What a [`Goal`] needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing.
    Reached,
    /// A batch has to be written.
    Write,
    /// A sync of the disk.
    SyncDisk,
    /// A sync of the NVM file.
    SyncNvm,
}

/// A sync of the disk that has begun.
#[derive(Clone, Copy, Debug)]
pub struct DiskSync(u64);

impl<D: Medium, N: Medium> Store<D, N> {
    /// The versions that must be durable so that everything until now stays.
    pub fn goal(&mut self) -> Goal {
        self.promise(self.last_seq);
        let nvm_stamp = self.nvm.as_ref().map_or(0, |nvm| nvm.clock.dirtied());
        let disk_stamp = self.disk_clock.dirtied();
        let (batch, pages) = (self.last_batch(), (0, u64::MAX));
        Goal { batch, disk_stamp, nvm_stamp, pages, seq: Some(self.last_seq) }
    }

    /// The versions that must be durable so that the last writes to these pages stay, in NVM, or without it on the
    /// disk.
    pub fn goal_of_write(&mut self, pages: std::ops::Range<u64>) -> Goal {
        let all = Goal { pages: (pages.start, pages.end), ..self.goal() };
        match &self.nvm {
            Some(_) => Goal { batch: 0, disk_stamp: 0, seq: None, ..all },
            None => all,
        }
    }

    /// The next pages belong to one forced write: none of them may be lost before all of it is durable.
    pub fn begin_forced(&mut self) {
        self.promise(u64::MAX);
    }

    fn promise(&mut self, seq: u64) {
        if let Some(nvm) = &mut self.nvm {
            nvm.promised_seq = seq;
        }
    }

    /// What `goal` needs next.
    ///
    /// # Errors
    ///
    /// A sync or the NVM file has failed, or the disk refuses a page.
    pub fn next(&self, goal: Goal) -> io::Result<Next> {
        self.check()?;
        if goal.batch > self.behind.ended {
            return Ok(Next::Write);
        }
        if let Some(kind) = self.refusal(goal.pages.0..goal.pages.1) {
            return Err(kind.into());
        }
        let syncs_disk = !self.mutants.has(Mutant::NoDiskSync);
        let disk_stamp = goal.disk_stamp.max(self.behind.stamp_of(goal.batch));
        if syncs_disk && !self.disk_clock.is_durable(disk_stamp) {
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
    /// The file's error; nothing more is written then.
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
                Next::Write => drop(self.write_one()),
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
        if self.free_slots().is_some_and(|free| free < wanted) {
            self.write_all();
        }
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

    /// The work of an idle store about once a second: the next sync that makes `durable_seq` newer on the medium, or
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
}
