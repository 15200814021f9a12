//! Reads of the disk beside the engine: at once where the kernel has the pages, otherwise through an io_uring.

use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use io_uring::{IoUring, opcode, types};

use super::core::Core;
use super::outbox::Outbox;
use crate::files::FileMedium;
use crate::latency::Timed;
use crate::{DiskRead, Fill, Refused, Run};

/// Entries of the ring, and the most operations under way.
const RING_ENTRIES: u32 = 256;
/// The most runs of a read that goes through the ring.
const LIMIT_RUNS: usize = 64;
/// The alignment of pages, so that they can be read past the kernel's cache.
const ALIGNMENT: usize = 4096;
/// The number of an operation that only wakes the thread.
const WAKE: u64 = u64::MAX;
const IORING_ENTER_GETEVENTS: u32 = 1;

/// Memory for whole pages.
#[derive(Default)]
pub(super) struct Pages {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl Pages {
    /// Makes room for `len` bytes; what they hold does not matter.
    pub(super) fn resize(&mut self, len: usize) {
        if self.memory.len() < len + ALIGNMENT {
            self.memory = vec![0; len + ALIGNMENT];
            self.start = self.memory.as_ptr().align_offset(ALIGNMENT);
        }
        self.len = len;
    }

    pub(super) fn capacity(&self) -> usize {
        self.memory.len()
    }
}

impl Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.start..][..self.len]
    }
}

impl DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..][..self.len]
    }
}

/// The client and the place of a read.
pub(super) struct Asked {
    pub(super) outbox: Arc<Outbox>,
    pub(super) cookie: u64,
    pub(super) at: u64,
    pub(super) bytes: u32,
    /// Where in its pages it begins.
    pub(super) offset: usize,
    pub(super) began: Instant,
}

impl Asked {
    fn answer(&self, result: Result<&[u8], Refused>) {
        let data = result.map(|pages| &pages[self.offset..self.offset + self.bytes as usize]);
        self.outbox.answer_read(self.cookie, self.at, self.bytes, data);
    }
}

/// A read that is under way.
pub(super) struct UnderWay {
    pub(super) read: DiskRead,
    pub(super) pages: Pages,
    pub(super) asked: Asked,
}

impl UnderWay {
    /// Reads what the kernel has, without waiting for the disk; whether that was all.
    pub(super) fn read_at_once(&mut self, file: &FileMedium) -> io::Result<bool> {
        for run in &self.read.runs {
            if !file.read_at_once(run.at, &mut self.pages[run.into.clone()][..run.bytes])? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads all, and waits for it.
    pub(super) fn read_now(&mut self, file: &FileMedium) -> io::Result<()> {
        (0..self.read.runs.len()).try_for_each(|index| self.read_run(file, index))
    }

    fn read_run(&mut self, file: &FileMedium, index: usize) -> io::Result<()> {
        let Run { at, into, bytes, .. } = &self.read.runs[index];
        crate::store::Medium::read(file, *at, &mut self.pages[into.clone()][..*bytes])
    }
}

/// A read in the ring.
struct InRing {
    under_way: UnderWay,
    /// Runs that the kernel has not read yet.
    rest: usize,
    failed: Option<io::Error>,
}

#[derive(Default)]
struct State {
    /// By the number that the ring returns with the result.
    reads: Vec<Option<InRing>>,
    /// Operations under way.
    operations: usize,
}

/// The reads that wait for the disk.
pub(super) struct Reads {
    ring: IoUring,
    /// Also held while operations are given to the kernel.
    state: Mutex<State>,
    is_over: AtomicBool,
}

/// A read that has ended: pages that the engine may keep.
pub(super) struct Ended {
    fill: Fill,
    pages: Pages,
    failed: Option<io::Error>,
}

impl Ended {
    pub(super) fn tell(&self, engine: &mut super::core::FileEngine) {
        engine.end_read(&self.fill, self.failed.as_ref().map_or(Ok(&self.pages[..]), Err));
    }
}

impl Reads {
    /// None where the kernel offers no io_uring: then each client's reads are made one by one.
    pub(super) fn new() -> Option<Self> {
        let ring = IoUring::new(RING_ENTRIES).ok()?;
        Some(Reads { ring, state: Mutex::default(), is_over: AtomicBool::new(false) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to read. The read comes back if too much is under way.
    pub(super) fn begin(&self, file: &FileMedium, under_way: UnderWay) -> Option<UnderWay> {
        let runs = under_way.read.runs.len();
        let mut state = self.state();
        if runs > LIMIT_RUNS || state.operations + runs >= RING_ENTRIES as usize {
            return Some(under_way);
        }
        state.operations += runs;
        let number = state.reads.iter().position(Option::is_none).unwrap_or_else(|| {
            state.reads.push(None);
            state.reads.len() - 1
        });
        let in_ring = state.reads[number].insert(InRing { under_way, rest: runs, failed: None });
        let UnderWay { read, pages, .. } = &mut in_ring.under_way;
        for (index, run) in read.runs.iter().enumerate() {
            let into = &mut pages[run.into.clone()][..run.bytes];
            let fd = types::Fd(file.file_for(run.at, run.bytes).as_raw_fd());
            let entry = opcode::Read::new(fd, into.as_mut_ptr(), run.bytes as u32)
                .offset(run.at)
                .build()
                .user_data((number * LIMIT_RUNS + index) as u64);
            self.push(&entry);
        }
        self.submit();
        None
    }

    /// Puts an operation into the queue. The caller holds the state.
    fn push(&self, entry: &io_uring::squeue::Entry) {
        // SAFETY: only the holder of the state uses the queue. The memory and the file of the operation live until its
        // result is there: the state has the memory, and the core, which has this, the file.
        let pushed = unsafe { self.ring.submission_shared().push(entry) };
        pushed.expect("there are as many entries as operations may be under way");
    }

    fn submit(&self) {
        while self.ring.submit().is_err() {
            // The kernel lacks memory at the moment.
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Ends [`run`](Self::run) when nothing is under way any more.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        let _state = self.state();
        self.push(&opcode::Nop::new().build().user_data(WAKE));
        self.submit();
    }

    /// Answers what has been read; ends after [`end`](Self::end).
    pub(super) fn run(&self, core: &Core) {
        loop {
            // SAFETY: nothing is passed but numbers.
            let waited =
                unsafe { self.ring.submitter().enter::<()>(0, 1, IORING_ENTER_GETEVENTS, None) };
            if waited.is_err() {
                std::thread::sleep(Duration::from_millis(1));
            }
            // SAFETY: only this thread uses the queue of results.
            let results: Vec<_> = unsafe { self.ring.completion_shared() }
                .map(|result| (result.user_data(), result.result()))
                .filter(|&(number, _)| number != WAKE)
                .collect();
            let ended = results.into_iter().filter_map(|(number, result)| {
                self.take_ended(&core.file, number as usize, result)
            });
            self.answer(core, ended.collect());
            if self.is_over.load(Ordering::SeqCst) && self.state().operations == 0 {
                return;
            }
        }
    }

    /// Takes note of a result; the read, if that was its last one.
    fn take_ended(&self, file: &FileMedium, number: usize, result: i32) -> Option<InRing> {
        let (number, index) = (number / LIMIT_RUNS, number % LIMIT_RUNS);
        let mut state = self.state();
        state.operations -= 1;
        let in_ring = state.reads[number].as_mut().expect("its operations were under way");
        let wanted = in_ring.under_way.read.runs[index].bytes;
        if usize::try_from(result) != Ok(wanted) {
            // A part, or an error: read plainly, it is whole or has its error.
            in_ring.failed =
                in_ring.under_way.read_run(file, index).err().or(in_ring.failed.take());
        }
        in_ring.rest -= 1;
        match in_ring.rest {
            0 => state.reads[number].take(),
            _ => None,
        }
    }

    fn answer(&self, core: &Core, ended: Vec<InRing>) {
        // First of all the pages may be written again: the holder of the engine may wait for that.
        let ended: Vec<_> = ended
            .into_iter()
            .map(|InRing { under_way: UnderWay { read, pages, asked }, failed, .. }| {
                (asked, Ended { fill: read.end(), pages, failed })
            })
            .collect();
        for (asked, ended) in &ended {
            core.add_time(Timed::Read, asked.began);
            asked.answer(match &ended.failed {
                Some(error) => Err(Refused::of(error.kind())),
                None => Ok(&ended.pages),
            });
        }
        ended.iter().for_each(|(asked, _)| asked.outbox.deliver_answers());
        let failed = ended.iter().any(|(_, ended)| ended.failed.is_some());
        core.keep(ended.into_iter().map(|(_, ended)| ended));
        if failed {
            core.tell_notes_soon();
        }
    }
}

/// Reads what a request asks of the disk: now, or later by the ring. None if it is answered later.
pub(super) fn read_beside(
    core: &Core,
    mut under_way: UnderWay,
) -> Option<(Result<(), Refused>, Pages)> {
    let done = match under_way.read_at_once(&core.file) {
        Ok(true) => Ok(()),
        Ok(false) if core.reads.is_some() => {
            let reads = core.reads.as_ref().expect("it is there");
            under_way.asked.outbox.owe();
            under_way = reads.begin(&core.file, under_way)?;
            under_way.asked.outbox.owe_no_more();
            under_way.read_now(&core.file)
        }
        // What cannot be read at once may well be read.
        Ok(false) | Err(_) => under_way.read_now(&core.file),
    };
    let UnderWay { read, pages, .. } = under_way;
    let is_kept = read.is_kept;
    let fill = read.end();
    if is_kept || done.is_err() {
        core.engine().end_read(&fill, done.as_ref().map(|()| &pages[..]));
    }
    Some((done.map_err(|error| Refused::of(error.kind())), pages))
}
