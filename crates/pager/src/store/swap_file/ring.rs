//! The reads and writes of one paged memory, through an io_uring of its own.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use clockhand_pager_protocol::PAGE_BYTES;
use io_uring::{IoUring, opcode, squeue, types};

use super::{SwapFile, offset_of};
use crate::store::{PageAddress, Slot, Store, StoreError, WriteTicket};

/// Entries of the ring, and the most operations under way, so that none of its queues is ever full.
const RING_ENTRIES: u32 = 256;

/// The kernel submits up to this number of operations one by one, which costs a virtual machine an exit each, and more
/// in one batch. So one more is added that does nothing.
const TOO_FEW_TO_PLUG: usize = 2;
const PADDING: u64 = u64::MAX;

/// The most pages of one operation.
const OPERATION_PAGES: usize = 256;

/// For how long a read is waited for without going to sleep: as long as one takes of a solid-state drive. A processor that
/// has nothing to do is halted, and in a virtual machine waking it takes as long as the drive needs to read.
const WATCHED: Duration = Duration::from_micros(150);

/// When others have run in a look for so long, the processor is wanted. An interrupt, or a thread that has work only because of it,
/// takes less.
const GIVEN_AWAY: Duration = Duration::from_micros(100);

/// After a read that did not end while the thread stayed awake, this number of reads sleep at once.
const SLEPT_FOR: u32 = 4;

/// The pause after the kernel had no memory for an operation.
const PAUSE: Duration = Duration::from_micros(100);

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

/// Pages in consecutive slots that are read or written in one operation of the kernel.
struct Operation {
    /// None for a read.
    ticket: Option<WriteTicket>,
    first: Slot,
    /// One for each page. The kernel may look at them until the operation has completed.
    vectors: Vec<libc::iovec>,
    /// Pages that have been transferred.
    done: usize,
}

// SAFETY: the addresses in `vectors` are only handed to the kernel; that the pages live is promised by the caller of
// `read` and `start_write`, whichever thread that is.
unsafe impl Send for Operation {}

/// What a completion means for an operation.
#[derive(Debug)]
enum Progress {
    Complete,
    /// The rest is to be asked for again.
    Partial,
    Failed(io::Error),
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

impl Operation {
    fn new(ticket: Option<WriteTicket>, pages: &[(Slot, PageAddress)]) -> Operation {
        let vector = |&(_, page): &(Slot, PageAddress)| libc::iovec {
            iov_base: page.0.as_ptr().cast(),
            iov_len: PAGE_BYTES,
        };
        Operation {
            ticket,
            first: pages[0].0,
            vectors: pages.iter().map(vector).collect(),
            done: 0,
        }
    }

    /// Where the rest begins in the file, in bytes.
    fn offset(&self) -> u64 {
        offset_of(self.first.0 as usize + self.done)
    }

    fn entry(&self, file: types::Fd) -> squeue::Entry {
        let rest = &self.vectors[self.done..];
        let vectors = u32::try_from(rest.len()).expect("an operation has few pages");
        match self.ticket {
            None => opcode::Readv::new(file, rest.as_ptr(), vectors).offset(self.offset()).build(),
            Some(_) => {
                opcode::Writev::new(file, rest.as_ptr(), vectors).offset(self.offset()).build()
            }
        }
    }

    /// Takes note of what the kernel returned: bytes, or an error number as a negative one. Of a page that has been
    /// transferred in part everything is asked for again, since direct operations want whole blocks.
    fn advance(&mut self, result: i32) -> Progress {
        let rest_bytes = (self.vectors.len() - self.done) * PAGE_BYTES;
        let Ok(bytes) = usize::try_from(result) else {
            return match -result {
                libc::EINTR | libc::EAGAIN => Progress::Partial,
                error => Progress::Failed(io::Error::from_raw_os_error(error)),
            };
        };
        if bytes < PAGE_BYTES {
            let kind = match self.ticket {
                None => io::ErrorKind::UnexpectedEof,
                Some(_) => io::ErrorKind::WriteZero,
            };
            return Progress::Failed(io::Error::new(
                kind,
                format!("only {bytes} of {rest_bytes} bytes transferred"),
            ));
        }
        self.done += bytes / PAGE_BYTES;
        if self.done == self.vectors.len() { Progress::Complete } else { Progress::Partial }
    }

    fn writes_to(&self, slot: Slot) -> bool {
        self.ticket.is_some() && self.transfers(slot)
    }

    fn reads(&self, slot: Slot) -> bool {
        self.ticket.is_none() && self.transfers(slot)
    }

    fn transfers(&self, slot: Slot) -> bool {
        let slots = self.first.0 as usize..self.first.0 as usize + self.vectors.len();
        slots.contains(&(slot.0 as usize))
    }
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

    /// Waits for a read.
    fn wait_while(&mut self, is_under_way: impl Fn(&Self) -> bool) {
        self.watch(&is_under_way);
        while is_under_way(self) {
            self.progress(true);
        }
    }

    /// Waits for a read awake, as long as that pays.
    fn watch(&mut self, is_under_way: impl Fn(&Self) -> bool) {
        self.progress(false);
        if self.slept_for > 0 {
            self.slept_for -= 1;
            return;
        }
        let started = Instant::now();
        let mut last_look = started;
        while is_under_way(self) {
            std::thread::yield_now();
            self.progress(false);
            let now = Instant::now();
            if now - started > WATCHED || now - last_look > GIVEN_AWAY {
                self.slept_for = SLEPT_FOR;
                return;
            }
            last_look = now;
        }
    }

    /// Tells the kernel of new operations, and takes note of completed ones; with `wait` at least one, unless the
    /// kernel interrupts that.
    fn progress(&mut self, wait: bool) {
        if wait || !self.ring.submission().is_empty() {
            self.enter(wait);
        }
        self.take_completions();
        if !self.ring.submission().is_empty() {
            self.enter(false);
        }
    }

    /// # Panics
    ///
    /// If the kernel does not know the ring. No memory can be trusted to it then, so nothing else would be right.
    fn enter(&mut self, wait: bool) {
        match self.try_enter(wait) {
            Ok(()) => {}
            Err(error) => panic!("the ring of {}: {error}", self.file.path().display()),
        }
    }

    fn try_enter(&mut self, wait: bool) -> io::Result<()> {
        if self.ring.submission().len() == TOO_FEW_TO_PLUG {
            let padding = opcode::Nop::new().build().user_data(PADDING);
            // SAFETY: an operation without addresses.
            unsafe { self.ring.submission().push(&padding.flags(squeue::Flags::SKIP_SUCCESS)) }
                .expect("there is room beside two");
        }
        let Err(error) = self.ring.submit_and_wait(usize::from(wait)) else { return Ok(()) };
        match error.raw_os_error() {
            Some(libc::EINTR) => Ok(()),
            Some(libc::EAGAIN | libc::EBUSY) => {
                std::thread::sleep(PAUSE);
                Ok(())
            }
            _ => Err(error),
        }
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
mod tests {
    use std::os::unix::fs::FileExt;

    use super::super::Shared;
    use super::*;
    use crate::store::Page;

    fn write_of_four(page: &mut Page) -> Operation {
        let pages: Vec<_> = (7..11).map(|slot| (Slot(slot), page.address())).collect();
        Operation::new(Some(WriteTicket(0)), &pages)
    }

    #[test]
    fn the_rest_of_a_short_write_begins_with_the_page_that_is_not_whole() {
        let mut page = Page::ZEROS;
        let mut operation = write_of_four(&mut page);
        assert_eq!(operation.offset(), 8 * 4096);
        assert!(matches!(operation.advance(2 * 4096 + 512), Progress::Partial));
        assert_eq!(operation.offset(), 10 * 4096);
        assert!(matches!(operation.advance(4096), Progress::Partial));
        assert!(matches!(operation.advance(4096), Progress::Complete));
    }

    #[test]
    fn an_interrupted_operation_is_asked_for_again() {
        let mut page = Page::ZEROS;
        let mut operation = write_of_four(&mut page);
        for error in [libc::EINTR, libc::EAGAIN] {
            assert!(matches!(operation.advance(-error), Progress::Partial));
            assert_eq!(operation.done, 0);
        }
    }

    #[test]
    fn an_operation_without_progress_fails() {
        let mut page = Page::ZEROS;
        let mut read = Operation::new(None, &[(Slot(0), page.address())]);
        let mut write = write_of_four(&mut page);
        for (is_read, result, expected) in [
            (false, 0, io::ErrorKind::WriteZero),
            (false, 100, io::ErrorKind::WriteZero),
            (false, -libc::ENOSPC, io::ErrorKind::StorageFull),
            (true, 0, io::ErrorKind::UnexpectedEof),
        ] {
            let operation = if is_read { &mut read } else { &mut write };
            match operation.advance(result) {
                Progress::Failed(error) => assert_eq!(error.kind(), expected),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_slot_that_is_released_while_it_is_written_is_free_when_the_write_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let file = SwapFile::open(&folder.path().join("swap"), None).unwrap();
        let Some(mut store) = crate::store::tests::store_in(&file) else { return };
        let mut pages = vec![Page::ZEROS; 64];
        let mut slots = Vec::new();
        store.allocate(pages.len(), &mut slots).unwrap();
        let address = |(slot, page): (&Slot, &mut Page)| (*slot, page.address());
        let batch: Vec<_> = slots.iter().zip(&mut pages).map(address).collect();
        // SAFETY: the pages live until the write has finished.
        unsafe { store.start_write(&batch) }.unwrap();
        store.release(slots[3]);
        assert_eq!(file.slots().owners(slots[3]), u32::from(!store.writes.is_empty()));
        store.finished_write(true).expect("a write is under way").1.unwrap();
        assert_eq!(file.slots().owners(slots[3]), 0);
        assert_eq!(file.slots().owners(slots[4]), 1);
    }

    /// Writes pages into new slots, and waits for it.
    fn write(store: &mut SwapFileStore, pages: &mut [Page]) -> Vec<Slot> {
        let mut slots = Vec::new();
        store.allocate(pages.len(), &mut slots).unwrap();
        let address = |(slot, page): (&Slot, &mut Page)| (*slot, page.address());
        let batch: Vec<_> = slots.iter().zip(pages).map(address).collect();
        // SAFETY: the pages live until the write has finished.
        unsafe { store.start_write(&batch) }.unwrap();
        store.finished_write(true).expect("a write is under way").1.unwrap();
        slots
    }

    #[test]
    fn one_page_of_a_read_may_be_waited_for_before_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let file = SwapFile::open(&folder.path().join("swap"), None).unwrap();
        let Some(mut store) = crate::store::tests::store_in(&file) else { return };
        let mut pages: Vec<Page> = (0..16).map(|number| Page([number; PAGE_BYTES])).collect();
        let slots = write(&mut store, &mut pages);
        pages.fill(Page::ZEROS);
        // Every other one, and two neighbours.
        let read: Vec<_> = [0, 2, 3, 5, 9, 15].map(|at| (slots[at], pages[at].address())).to_vec();
        for wanted in [0, 2, 3, 15] {
            // SAFETY: the pages live until the read has ended.
            unsafe { store.begin_read(&read) }.unwrap();
            assert!(store.end_read_of(slots[wanted]));
            assert_eq!(pages[wanted].0[4095], wanted as u8);
            // It no longer belongs to the read.
            pages[wanted].0.fill(77);
            assert!(!store.end_read_of(slots[wanted]));
            store.end_read().unwrap();
            assert_eq!(pages[wanted].0[4095], 77);
            let others = [0, 2, 3, 5, 9, 15].into_iter().filter(|&other| other != wanted);
            others.for_each(|other| assert_eq!(pages[other].0[0], other as u8));
        }
    }

    #[test]
    fn a_page_that_is_not_as_it_was_written_fails_with_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("swap");
        let file = SwapFile::open(&path, None).unwrap();
        let Some(mut store) = crate::store::tests::store_in(&file) else { return };
        let mut pages = vec![Page([1; PAGE_BYTES]); 3];
        let slots = write(&mut store, &mut pages);
        let other = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        other.write_all_at(&[2; 4096], offset_of(slots[0].0 as usize)).unwrap();
        // SAFETY: the pages live until the read has ended.
        unsafe { store.begin_read(&[0, 2].map(|at| (slots[at], pages[at].address()))) }.unwrap();
        assert!(!store.end_read_of(slots[0]));
        assert!(store.end_read().unwrap_err().to_string().contains("is not as it was written"));
    }

    #[test]
    fn a_write_that_the_kernel_refuses_ends_with_the_error_and_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("swap");
        let file = SwapFile::open(&path, None).unwrap();
        let Some(mut store) = crate::store::tests::store_in(&file) else { return };
        let mut page = Page::ZEROS;
        let mut slots = Vec::new();
        store.allocate(3, &mut slots).unwrap();
        let slot_table = std::mem::take(&mut *store.file.slots());
        store.file = SwapFile(std::sync::Arc::new(Shared {
            file: std::fs::File::open(&path).unwrap(),
            path,
            limit_slots: 0,
            is_direct: false,
            is_created: false,
            has_grown: false.into(),
            slots: slot_table.into(),
            checksums: std::sync::Mutex::default(),
        }));
        let scattered = [(slots[0], page.address()), (slots[2], page.address())];
        // SAFETY: the page lives until the write has finished.
        let ticket = unsafe { store.start_write(&scattered) }.unwrap();
        let (finished, result) = store.finished_write(true).unwrap();
        assert_eq!(finished, ticket);
        let message = result.unwrap_err().to_string();
        assert!(message.starts_with("cannot write 4096 bytes at byte "), "{message}");
        assert!(message.ends_with("swap: Bad file descriptor (os error 9)"), "{message}");
        assert!(store.finished_write(true).is_none(), "the parts of a write finish together");
    }
}
