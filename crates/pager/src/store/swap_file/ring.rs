//! The reads and writes of one paged memory, through an io_uring of its own.

mod operation;
mod waiting;

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;

use clockhand_pager_protocol::PAGE_BYTES;
use io_uring::{IoUring, types};

use self::operation::{Operation, Progress};
use super::{SwapFile, offset_of};
use crate::store::{PageAddress, Slot, Store, StoreError, WriteTicket};

/// Entries of the ring, and the most operations under way, so that none of its queues is ever full.
const RING_ENTRIES: u32 = 256;

/// What the operation that does nothing returns with its result.
const PADDING: u64 = u64::MAX;

/// The most pages of one operation.
const OPERATION_PAGES: usize = 256;

/// A store in a [`SwapFile`].
///
/// Dropping it waits for the writes under way. Slots that have not been released stay taken until the file's end.
pub struct SwapFileStore {
    file: SwapFile,
    ring: IoUring,
    /// By the number that the ring returns with the result.
    operations: Vec<Option<Operation>>,
    idle: Vec<usize>,
    writes: Vec<Write>,
    started_writes: u64,
    finished: VecDeque<(WriteTicket, io::Result<()>)>,
    /// The pages of the read that has been begun.
    read: Vec<(Slot, PageAddress)>,
    /// Operations of it that have not completed.
    reads: usize,
    /// The first failure of these.
    read_failure: Option<io::Error>,
    /// The number of more reads that are slept for at once.
    slept_for: u32,
}

/// A write under way.
struct Write {
    ticket: WriteTicket,
    /// Operations that have not completed.
    operations: usize,
    /// The first failure.
    result: io::Result<()>,
    /// Slots that were released while operations were under way.
    released: Vec<Slot>,
}

impl SwapFileStore {
    pub(super) fn new(file: SwapFile) -> Result<SwapFileStore, StoreError> {
        let ring = IoUring::new(RING_ENTRIES).map_err(|error| match error.raw_os_error() {
            Some(libc::ENOSYS | libc::EPERM | libc::EACCES) => StoreError::IoUringRefused(error),
            _ => StoreError::SetUp { what: "an io_uring", source: error },
        })?;
        Ok(SwapFileStore {
            file,
            ring,
            operations: (0..RING_ENTRIES).map(|_| None).collect(),
            idle: (0..RING_ENTRIES as usize).rev().collect(),
            writes: Vec::new(),
            started_writes: 0,
            finished: VecDeque::new(),
            read: Vec::new(),
            reads: 0,
            read_failure: None,
            slept_for: 0,
        })
    }

    /// Starts an operation, after waiting for another one if too many are under way.
    fn start(&mut self, operation: Operation) {
        let index = loop {
            match self.idle.pop() {
                Some(index) => break index,
                None => self.progress(true),
            }
        };
        self.operations[index] = Some(operation);
        self.push(index);
    }

    /// Queues the operations of a read.
    ///
    /// # Safety
    ///
    /// As for [`Store::begin_read`].
    unsafe fn queue_read(&mut self, pages: &[(Slot, PageAddress)]) {
        debug_assert!(pages.iter().all(|&(slot, _)| self.write_of(slot).is_none()));
        assert!(self.read.is_empty(), "one read at a time");
        self.read.extend_from_slice(pages);
        for run in pages.chunk_by(|(left, _), (right, _)| left.0 + 1 == right.0) {
            for operation in run.chunks(OPERATION_PAGES) {
                self.reads += 1;
                self.start(Operation::new(None, operation));
            }
        }
    }

    /// Hands the rest of an operation to the ring.
    fn push(&mut self, index: usize) {
        let operation = self.operations[index].as_ref().expect("it is under way");
        let file = types::Fd(self.file.0.file.as_raw_fd());
        let entry = operation.entry(file).user_data(index as u64);
        // SAFETY: the vectors stay where they are until the operation is removed, which is after its completion; the
        // pages do so as the caller of `read` or `start_write` has promised. The file is open as long as the ring.
        unsafe { self.ring.submission().push(&entry) }
            .expect("there are no more operations than entries in the queue");
    }

    /// Returns whether a page is being read.
    fn is_reading(&self, slot: Slot) -> bool {
        self.operations.iter().flatten().any(|operation| operation.reads(slot))
    }

    fn take_completions(&mut self) {
        loop {
            let completion = self.ring.completion().next();
            let Some(completion) = completion else { return };
            // Completions that no caller waits for.
            if completion.user_data() == PADDING {
                continue;
            }
            let index = completion.user_data() as usize;
            let operation = self.operations[index].as_mut().expect("it is under way");
            match operation.advance(completion.result()) {
                Progress::Partial => self.push(index),
                Progress::Complete => self.finish(index, Ok(())),
                Progress::Failed(error) => self.finish(index, Err(error)),
            }
        }
    }

    fn finish(&mut self, index: usize, result: io::Result<()>) {
        let operation = self.operations[index].take().expect("it is under way");
        self.idle.push(index);
        let Some(ticket) = operation.ticket else {
            self.reads -= 1;
            let failure = result.err().map(|error| self.explain("read", &operation, &error));
            self.read_failure = self.read_failure.take().or(failure);
            return;
        };
        let result = result.map_err(|error| self.explain("write", &operation, &error));
        let position = self.position(ticket);
        let write = &mut self.writes[position];
        write.operations -= 1;
        if write.result.is_ok() {
            write.result = result;
        }
        if write.operations == 0 {
            self.finish_write(position);
        }
    }

    fn finish_write(&mut self, position: usize) {
        let write = self.writes.remove(position);
        let mut slots = self.file.slots();
        for slot in write.released {
            slots.release(slot);
        }
        self.finished.push_back((write.ticket, write.result));
    }

    fn position(&self, ticket: WriteTicket) -> usize {
        let position = self.writes.iter().position(|write| write.ticket == ticket);
        position.expect("a write ends after its operations")
    }

    /// The write of `slot` that is under way.
    fn write_of(&self, slot: Slot) -> Option<WriteTicket> {
        if self.writes.is_empty() {
            return None;
        }
        let mut operations = self.operations.iter().flatten();
        operations.find(|operation| operation.writes_to(slot))?.ticket
    }

    fn not_as_written(&self, slot: Slot) -> io::Error {
        let (path, offset) = (self.file.path().display(), offset_of(slot.0 as usize));
        let message = format!(
            "the page at byte {offset} of {path} is not as it was written: leave the file alone"
        );
        io::Error::new(io::ErrorKind::InvalidData, message)
    }

    fn explain(&self, verb: &str, operation: &Operation, error: &io::Error) -> io::Error {
        let (path, offset) = (self.file.path().display(), operation.offset());
        let bytes = (operation.vectors.len() - operation.done) * PAGE_BYTES;
        let message = format!("cannot {verb} {bytes} bytes at byte {offset} of {path}: {error}");
        io::Error::new(error.kind(), message)
    }
}

impl Store for SwapFileStore {
    fn allocate(&mut self, pages: usize, slots: &mut Vec<Slot>) -> io::Result<()> {
        self.file.allocate(pages, slots)
    }

    fn release(&mut self, slot: Slot) {
        match self.write_of(slot) {
            // Nothing else may write to the slot before this write has ended.
            Some(ticket) => {
                let position = self.position(ticket);
                self.writes[position].released.push(slot);
            }
            None => {
                self.file.slots().release(slot);
            }
        }
    }

    fn share(&mut self, slot: Slot) {
        debug_assert!(self.write_of(slot).is_none(), "{slot:?} is being written");
        self.file.slots().share(slot);
    }

    fn is_shared(&self, slot: Slot) -> bool {
        self.file.slots().owners(slot) > 1
    }

    unsafe fn read(&mut self, slot: Slot, into: PageAddress) -> io::Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.read_together(&[(slot, into)]) }
    }

    unsafe fn read_together(&mut self, pages: &[(Slot, PageAddress)]) -> io::Result<()> {
        // SAFETY: as the caller promises; the read ends before this returns.
        unsafe { self.queue_read(pages) };
        self.end_read()
    }

    unsafe fn begin_read(&mut self, pages: &[(Slot, PageAddress)]) -> io::Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.queue_read(pages) };
        self.progress(false);
        Ok(())
    }

    fn has_read(&mut self) -> bool {
        self.progress(false);
        self.reads == 0
    }

    fn end_read_of(&mut self, slot: Slot) -> bool {
        self.wait_while(|store| store.is_reading(slot));
        let Some(at) = self.read.iter().position(|&(read, _)| read == slot) else { return false };
        let (slot, into) = self.read[at];
        // SAFETY: nothing else accesses the page before this returns.
        let has_read =
            self.read_failure.is_none() && unsafe { self.file.is_as_written(slot, into) };
        if has_read {
            self.read.swap_remove(at);
        }
        has_read
    }

    fn end_read(&mut self) -> io::Result<()> {
        self.wait_while(|store| store.reads > 0);
        let read = std::mem::take(&mut self.read);
        if let Some(failure) = self.read_failure.take() {
            return Err(failure);
        }
        for (slot, into) in read {
            // SAFETY: nothing else accesses the page before this returns.
            if !unsafe { self.file.is_as_written(slot, into) } {
                return Err(self.not_as_written(slot));
            }
        }
        Ok(())
    }

    unsafe fn start_write(&mut self, pages: &[(Slot, PageAddress)]) -> io::Result<WriteTicket> {
        assert!(!pages.is_empty(), "a write has pages");
        debug_assert!(pages.iter().all(|&(slot, _)| self.write_of(slot).is_none()));
        debug_assert!(pages.iter().all(|&(slot, _)| !self.is_shared(slot)));
        // SAFETY: the caller promises readable pages, and reads no slot whose page changed while it was written.
        unsafe { self.file.remember(pages) };
        let ticket = WriteTicket(self.started_writes);
        self.started_writes += 1;
        // Not 0 before all operations have started, even if the first ones complete earlier.
        let write = Write { ticket, operations: 1, result: Ok(()), released: Vec::new() };
        self.writes.push(write);
        for run in pages.chunk_by(|(left, _), (right, _)| left.0 + 1 == right.0) {
            for operation in run.chunks(OPERATION_PAGES) {
                let position = self.position(ticket);
                self.writes[position].operations += 1;
                self.start(Operation::new(Some(ticket), operation));
            }
        }
        let position = self.position(ticket);
        self.writes[position].operations -= 1;
        if self.writes[position].operations == 0 {
            self.finish_write(position);
        }
        self.progress(false);
        Ok(ticket)
    }

    fn finished_write(&mut self, wait: bool) -> Option<(WriteTicket, io::Result<()>)> {
        if self.finished.is_empty() {
            self.progress(wait && !self.writes.is_empty());
        }
        while wait && self.finished.is_empty() && !self.writes.is_empty() {
            self.progress(true);
        }
        self.finished.pop_front()
    }

    fn occupied_bytes(&self) -> u64 {
        self.file.occupied_bytes()
    }
}

impl Drop for SwapFileStore {
    fn drop(&mut self) {
        // Where a read ends may be given away afterwards.
        while self.reads > 0 || !self.writes.is_empty() {
            // The kernel holds its own references to the pages of operations under way, so giving up here is safe.
            if self.try_enter(true).is_err() {
                return;
            }
            self.take_completions();
        }
    }
}

#[cfg(test)]
mod tests;
