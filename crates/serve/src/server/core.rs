//! What all connections share: the engine behind a lock, and the threads that write and sync beside it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::reads::{Ended, Reads};
use crate::files::{FileMedium, Syncer};
use crate::latency::{Latencies, Timed};
use crate::store::{Goal, Next};
use crate::{Engine, Refused};

pub(super) type FileEngine = Engine<Arc<FileMedium>, FileMedium>;

/// Payloads that are in memory at a time, in bytes; then sockets are not read.
const LIMIT_PAYLOADS_BYTES: usize = 128 << 20;

/// Where sentences for the user go.
pub type Teller = Arc<dyn Fn(&str) + Send + Sync>;

/// Who brings requests, as the core sees it: whatever waits is answered by its cookie.
///
/// A connection of NBD is one. A queue of the kernel's ublk could be another. It would take requests from its ring,
/// give them to the engine as a connection does, and complete the tag that was the cookie.
pub(super) trait FrontEnd: Send + Sync {
    /// A request that waited is answered, with the next [`deliver`](Self::deliver).
    fn answer(&self, cookie: u64, result: Result<(), Refused>);

    /// Answers are sent, without waiting for whoever gets them.
    fn deliver(&self);
}

/// A request that waits until its goal is reached.
pub(super) struct Waiting {
    pub(super) goal: Goal,
    pub(super) front_end: Arc<dyn FrontEnd>,
    pub(super) cookie: u64,
    pub(super) timed: Timed,
    pub(super) began: Instant,
}

pub(super) struct Core {
    engine: Mutex<FileEngine>,
    waiting: Mutex<Waits>,
    /// Wakes the thread that syncs.
    wake: Condvar,
    /// Wakes the thread that writes.
    work: Condvar,
    pub(super) file: Arc<FileMedium>,
    pub(super) reads: Option<Reads>,
    /// Pages that were read while another had the engine.
    kept: Mutex<Vec<Ended>>,
    has_kept: AtomicBool,
    disk: Syncer,
    nvm: Option<Syncer>,
    latencies: Mutex<[Latencies; 2]>,
    payloads: Arc<Payloads>,
    is_ending: AtomicBool,
    pub(super) is_hurried: Arc<AtomicBool>,
    pub(super) connections: AtomicU64,
    pub(super) open_connections: Arc<AtomicU64>,
    pub(super) teller: Teller,
    /// Slots that should be free.
    wanted_slots: usize,
}

#[derive(Default)]
struct Waits {
    list: Vec<Waiting>,
    wants_slots: bool,
    is_over: bool,
    has_notes: bool,
    /// The thread that syncs has work.
    is_busy: bool,
    /// The thread that syncs waits for the one that writes.
    is_awaited: bool,
    /// Batches wait to be written.
    is_behind: bool,
    is_written: bool,
    /// The number of looks of the thread that writes.
    looks: u64,
}

impl Core {
    pub(super) fn new(
        engine: FileEngine,
        file: Arc<FileMedium>,
        disk: Syncer,
        nvm: Option<Syncer>,
        teller: Teller,
    ) -> Self {
        let capacity = engine.buffer().capacity();
        let slots = engine.store().header().map_or(0, |header| header.layout.slots);
        let spare = slots.saturating_sub(capacity.nvm_pages + capacity.dram_pages) as usize;
        Core {
            engine: Mutex::new(engine),
            waiting: Mutex::default(),
            wake: Condvar::new(),
            work: Condvar::new(),
            file,
            reads: Reads::new(),
            kept: Mutex::default(),
            has_kept: AtomicBool::new(false),
            disk,
            nvm,
            latencies: Mutex::default(),
            payloads: Arc::default(),
            is_ending: AtomicBool::new(false),
            is_hurried: Arc::default(),
            connections: AtomicU64::new(0),
            open_connections: Arc::default(),
            teller,
            wanted_slots: spare / 2,
        }
    }

    /// The engine. Requests enter in the order of its lock.
    pub(super) fn engine(&self) -> MutexGuard<'_, FileEngine> {
        let mut engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        if self.has_kept.load(Ordering::SeqCst) {
            self.tell_kept(&mut engine);
        }
        engine
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Ended>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell_kept(&self, engine: &mut FileEngine) {
        let mut kept = self.kept();
        self.has_kept.store(false, Ordering::SeqCst);
        kept.drain(..).for_each(|ended| ended.tell(engine));
    }

    /// Has the engine keep pages that were read. Whoever holds it may wait for the caller, who does not wait for it.
    pub(super) fn keep(&self, ended: impl Iterator<Item = Ended>) {
        let mut kept = self.kept();
        kept.extend(ended);
        self.has_kept.store(!kept.is_empty(), Ordering::SeqCst);
        drop(kept);
        if let Ok(mut engine) = self.engine.try_lock() {
            self.tell_kept(&mut engine);
        }
    }

    /// Has the thread that syncs tell the user what failed.
    pub(super) fn tell_notes_soon(&self) {
        self.waits().has_notes = true;
        self.wake.notify_one();
    }

    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn payloads(&self) -> &Arc<Payloads> {
        &self.payloads
    }

    pub(super) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::SeqCst)
    }

    /// From now on requests are refused.
    pub(super) fn begin_to_end(&self) {
        self.is_ending.store(true, Ordering::SeqCst);
    }

    /// A request was answered.
    pub(super) fn add_time(&self, timed: Timed, began: Instant) {
        let took = began.elapsed();
        let mut latencies = self.latencies.lock().unwrap_or_else(PoisonError::into_inner);
        latencies.iter_mut().for_each(|latencies| latencies.add(timed, took));
    }

    /// The times of all requests.
    pub(super) fn latencies(&self) -> Latencies {
        self.latencies.lock().unwrap_or_else(PoisonError::into_inner)[0].clone()
    }

    /// The times of the requests since this was last asked.
    pub(super) fn take_latest(&self) -> Latencies {
        let mut latencies = self.latencies.lock().unwrap_or_else(PoisonError::into_inner);
        let latest = latencies[1].clone();
        latencies[1].reset();
        latest
    }

    /// Has a request answered when its goal is reached. The thread that syncs also writes the batches that this needs,
    /// unless it is busy.
    pub(super) fn answer_when_durable(&self, waiting: Waiting, engine: &FileEngine) {
        let needs_batches = engine.store().next(waiting.goal).is_ok_and(|next| next == Next::Write);
        let mut waits = self.waits();
        waits.list.push(waiting);
        let writes = needs_batches && !waits.is_busy;
        waits.is_busy = true;
        drop(waits);
        self.wake.notify_one();
        if !writes {
            self.look_after(engine);
        }
    }

    /// After a request: batches are written, and slots freed in the background before they run out.
    pub(super) fn look_after(&self, engine: &FileEngine) {
        let store = engine.store();
        let is_behind = store.is_behind();
        let wants_slots = store.free_slots().is_some_and(|free| free < self.wanted_slots / 2);
        if !is_behind && !wants_slots {
            return;
        }
        let mut waits = self.waits();
        if is_behind && !waits.is_behind {
            waits.is_behind = true;
            self.work.notify_one();
        }
        if wants_slots && !waits.wants_slots {
            waits.wants_slots = true;
            self.wake.notify_one();
        }
    }

    /// Writes batches to the disk in their order; ends after [`end_writes`](Self::end_writes).
    pub(super) fn write_behind(&self) {
        loop {
            let has_written = self.write_batches();
            let mut waits = self.waits();
            waits.looks += 1;
            if waits.is_awaited {
                self.wake.notify_one();
            }
            while !has_written && !waits.is_behind {
                if waits.is_written {
                    return;
                }
                waits = self.work.wait(waits).unwrap_or_else(PoisonError::into_inner);
            }
            waits.is_behind = false;
        }
    }

    /// Writes the next batches without holding the engine, so that others can enter; false if there are none, or
    /// another thread writes.
    fn write_batches(&self) -> bool {
        let batches = self.engine().store_mut().begin_writes();
        batches.iter().for_each(|batch| batch.write(&self.file));
        if !batches.is_empty() {
            let mut engine = self.engine();
            batches.iter().for_each(|batch| engine.store_mut().end_write(batch));
        }
        !batches.is_empty()
    }

    /// Ends [`write_behind`](Self::write_behind) when nothing is left.
    pub(super) fn end_writes(&self) {
        self.waits().is_written = true;
        self.work.notify_one();
    }

    /// Writes batches, or waits until the thread that writes has looked again.
    fn write_or_wait(&self, looks: u64) {
        if self.write_batches() {
            return;
        }
        let mut waits = self.waits();
        waits.is_awaited = true;
        if waits.looks == looks {
            waits.is_behind = true;
            self.work.notify_one();
        }
        while waits.looks == looks && waits.list.is_empty() {
            waits = self.wake.wait(waits).unwrap_or_else(PoisonError::into_inner);
        }
        waits.is_awaited = false;
    }

    /// Answers what was read from the disk; ends after [`end_reads`](Self::end_reads).
    pub(super) fn run_reads(&self) {
        self.reads.iter().for_each(|reads| reads.run(self));
    }

    /// Ends [`run_reads`](Self::run_reads) when nothing is under way.
    pub(super) fn end_reads(&self) {
        self.reads.iter().for_each(Reads::end);
    }

    /// Ends [`commit`](Self::commit) when no request waits any more.
    pub(super) fn end_commits(&self) {
        self.waits().is_over = true;
        self.wake.notify_one();
    }

    /// Syncs for those who wait, and about each second for the store; ends after [`end_commits`](Self::end_commits).
    pub(super) fn commit(&self) {
        let mut list: Vec<Waiting> = Vec::new();
        let mut looked = Instant::now();
        loop {
            let mut waits = self.waits();
            if list.is_empty() && waits.list.is_empty() && !waits.wants_slots && !waits.has_notes {
                if waits.is_over {
                    return;
                }
                waits.is_busy = false;
                let rest = Duration::from_secs(1).saturating_sub(looked.elapsed());
                let waited = self.wake.wait_timeout(waits, rest);
                waits = waited.unwrap_or_else(PoisonError::into_inner).0;
                waits.is_busy = true;
            }
            list.append(&mut waits.list);
            let wants_slots = std::mem::take(&mut waits.wants_slots);
            let looks = waits.looks;
            waits.has_notes = false;
            drop(waits);
            let is_due = looked.elapsed() >= Duration::from_secs(1);
            if is_due {
                looked = Instant::now();
                self.engine().store_mut().try_refused_again(usize::MAX);
            }
            if is_due || wants_slots {
                self.free_slots();
            }
            match self.answer_reached(&mut list) {
                Next::Write => self.write_or_wait(looks),
                next => self.carry_out(next),
            }
            self.tell_notes();
        }
    }

    fn free_slots(&self) {
        for _ in 0..4 {
            let next = self.engine().store().next_when_idle(self.wanted_slots);
            if next == Next::Reached {
                return;
            }
            self.carry_out(next);
        }
    }

    /// Answers whose goal is reached, and says what the others need.
    fn answer_reached(&self, list: &mut Vec<Waiting>) -> Next {
        if list.is_empty() {
            return Next::Reached;
        }
        let engine = self.engine();
        let mut needed = Next::Reached;
        let mut answers = Vec::new();
        list.retain(|waiting| {
            let result = match engine.store().next(waiting.goal) {
                Ok(Next::Reached) => Ok(()),
                // While a sync is made, batches are written beside it.
                Ok(next) => {
                    let is_urgent =
                        |next| [Next::Reached, Next::Write, Next::SyncNvm].contains(&next);
                    if is_urgent(needed) && next != Next::Write || needed == Next::Reached {
                        needed = next;
                    }
                    return true;
                }
                Err(error) => Err(Refused::of(error.kind())),
            };
            let Waiting { cookie, timed, began, .. } = *waiting;
            answers.push((Arc::clone(&waiting.front_end), cookie, timed, began, result));
            false
        });
        drop(engine);
        for (front_end, cookie, timed, began, result) in &answers {
            self.add_time(*timed, *began);
            front_end.answer(*cookie, *result);
        }
        answers.dedup_by(|(one, ..), (other, ..)| Arc::ptr_eq(one, other));
        answers.iter().for_each(|(front_end, ..)| front_end.deliver());
        needed
    }

    /// Syncs without holding the engine, so that others can enter.
    fn carry_out(&self, next: Next) {
        match next {
            Next::Reached | Next::Write => {}
            Next::SyncDisk => {
                let sync = self.engine().store_mut().begin_disk_sync();
                let result = self.disk.sync();
                self.engine().store_mut().end_disk_sync(sync, &result);
            }
            Next::SyncNvm => {
                let Ok(sync) = self.engine().store_mut().begin_nvm_sync() else { return };
                let result = self.nvm.as_ref().expect("a buffer with NVM").sync();
                self.engine().store_mut().end_nvm_sync(sync, &result);
            }
        }
    }

    /// Tells the user what failed.
    pub(super) fn tell_notes(&self) {
        let notes = self.engine().take_notes();
        for note in notes {
            (self.teller)(&note);
        }
    }
}

/// A budget of bytes for payloads.
#[derive(Default)]
pub(super) struct Payloads {
    taken: Mutex<usize>,
    freed: Condvar,
}

impl Payloads {
    /// Takes `bytes` bytes if there is room.
    pub(super) fn try_take(&self, bytes: usize) -> bool {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = *taken == 0 || *taken + bytes <= LIMIT_PAYLOADS_BYTES;
        *taken += if fits { bytes } else { 0 };
        fits
    }

    /// Waits until there is room for `bytes` bytes. A waiting caller has given back what it took.
    pub(super) fn take(&self, bytes: usize) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        while *taken > 0 && *taken + bytes > LIMIT_PAYLOADS_BYTES {
            taken = self.freed.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        *taken += bytes;
    }

    /// Gives back what was taken.
    pub(super) fn give_back(&self, bytes: usize) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        *taken -= bytes;
        self.freed.notify_all();
    }
}
