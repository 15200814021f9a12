//! A store that fails when a test wants it to: part of the test kit only.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use super::{PageAddress, Slot, Store, WriteTicket};

/// How a write fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteFault {
    /// It cannot be started.
    Refused,
    /// It ends with an error, and nothing has been written.
    Fails,
    /// It ends with an error after its first `pages` pages have been written.
    Short {
        /// Pages that have been written.
        pages: usize,
    },
}

/// The script of failures for [stores](FaultyStore) made with it; clones share it.
///
/// Operations are counted from the call on; the next one of its kind is number 1.
#[derive(Clone, Debug, Default)]
pub struct FaultScript(Arc<Mutex<Faults>>);

#[derive(Debug, Default)]
struct Faults {
    reads: u64,
    read_faults: BTreeSet<u64>,
    writes: u64,
    write_faults: BTreeMap<u64, WriteFault>,
    refused_allocations: u64,
    are_writes_held: bool,
}

impl Faults {
    fn count_reads(&mut self, pages: usize) -> io::Result<()> {
        for _ in 0..pages {
            self.reads += 1;
            if self.read_faults.remove(&self.reads) {
                return Err(injected("a read failed"));
            }
        }
        Ok(())
    }
}

impl FaultScript {
    /// The `nth` read from now on fails, and leaves the page as it was.
    pub fn fail_read(&self, nth: u64) {
        let mut faults = self.faults();
        let read = faults.reads + nth;
        faults.read_faults.insert(read);
    }

    /// The `nth` write from now on fails as `fault` says.
    pub fn fail_write(&self, nth: u64, fault: WriteFault) {
        let mut faults = self.faults();
        let write = faults.writes + nth;
        faults.write_faults.insert(write, fault);
    }

    /// The store is full the next `times` times that slots are requested.
    pub fn refuse_allocations(&self, times: u64) {
        self.faults().refused_allocations = times;
    }

    /// From now on writes seem to be under way until one is waited for, or [`FaultScript::let_writes_finish`] is called.
    pub fn hold_writes(&self) {
        self.faults().are_writes_held = true;
    }

    /// Finished writes are reported again.
    pub fn let_writes_finish(&self) {
        self.faults().are_writes_held = false;
    }

    fn faults(&self) -> MutexGuard<'_, Faults> {
        self.0.lock().expect("no thread panics with a script that is half changed")
    }
}

/// A store, with the failures of a [`FaultScript`].
pub struct FaultyStore<S> {
    store: S,
    script: FaultScript,
    started_writes: u64,
    /// Writes under way in the store below: its ticket, ours, and the error to report instead of its own result.
    under_way: Vec<(WriteTicket, WriteTicket, Option<io::Error>)>,
    finished: VecDeque<(WriteTicket, io::Result<()>)>,
}

impl<S: Store> FaultyStore<S> {
    /// The same store, which fails where `script` says so.
    pub fn new(store: S, script: &FaultScript) -> FaultyStore<S> {
        FaultyStore {
            store,
            script: script.clone(),
            started_writes: 0,
            under_way: Vec::new(),
            finished: VecDeque::new(),
        }
    }

    /// Starts `pages` below; the write will end with `error` if there is one.
    ///
    /// # Safety
    ///
    /// As for [`Store::start_write`].
    unsafe fn start(
        &mut self,
        ticket: WriteTicket,
        pages: &[(Slot, PageAddress)],
        error: Option<io::Error>,
    ) -> io::Result<WriteTicket> {
        // SAFETY: as the caller promises.
        let below = unsafe { self.store.start_write(pages) }?;
        self.under_way.push((below, ticket, error));
        Ok(ticket)
    }

    fn translate(&mut self, below: WriteTicket, result: io::Result<()>) {
        let position = self.under_way.iter().position(|(ticket, ..)| *ticket == below);
        let (_, ticket, error) = self.under_way.remove(position.expect("we have started it"));
        self.finished.push_back((ticket, error.map_or(result, Err)));
    }
}

fn injected(what: &str) -> io::Error {
    io::Error::other(format!("{what}, as the test wants it"))
}

impl<S: Store> Store for FaultyStore<S> {
    crate::as_below!(release, share, is_shared, has_read, end_read, occupied_bytes);

    fn allocate(&mut self, pages: usize, slots: &mut Vec<Slot>) -> io::Result<()> {
        let mut faults = self.script.faults();
        if faults.refused_allocations > 0 {
            faults.refused_allocations -= 1;
            let message = "the store is full, as the test wants it";
            return Err(io::Error::new(io::ErrorKind::StorageFull, message));
        }
        drop(faults);
        self.store.allocate(pages, slots)
    }

    unsafe fn read(&mut self, slot: Slot, into: PageAddress) -> io::Result<()> {
        self.script.faults().count_reads(1)?;
        // SAFETY: as the caller promises.
        unsafe { self.store.read(slot, into) }
    }

    unsafe fn begin_read(&mut self, pages: &[(Slot, PageAddress)]) -> io::Result<()> {
        self.script.faults().count_reads(pages.len())?;
        // SAFETY: as the caller promises.
        unsafe { self.store.begin_read(pages) }
    }

    unsafe fn start_write(&mut self, pages: &[(Slot, PageAddress)]) -> io::Result<WriteTicket> {
        let mut faults = self.script.faults();
        faults.writes += 1;
        let write = faults.writes;
        let fault = faults.write_faults.remove(&write);
        drop(faults);
        let ticket = WriteTicket(self.started_writes);
        self.started_writes += 1;
        match fault {
            // SAFETY: as the caller promises.
            None => unsafe { self.start(ticket, pages, None) },
            Some(WriteFault::Refused) => Err(injected("a write was refused")),
            Some(WriteFault::Short { pages: written }) if (1..pages.len()).contains(&written) => {
                let error = injected(&format!("only {written} of {} pages written", pages.len()));
                // SAFETY: as the caller promises, for fewer pages.
                unsafe { self.start(ticket, &pages[..written], Some(error)) }
            }
            Some(WriteFault::Short { .. } | WriteFault::Fails) => {
                self.finished.push_back((ticket, Err(injected("a write failed"))));
                Ok(ticket)
            }
        }
    }

    fn finished_write(&mut self, wait: bool) -> Option<(WriteTicket, io::Result<()>)> {
        if self.script.faults().are_writes_held && !wait {
            return None;
        }
        if self.finished.is_empty()
            && let Some((below, result)) = self.store.finished_write(wait)
        {
            self.translate(below, result);
        }
        self.finished.pop_front()
    }
}
