//! What all connections share: the engine behind a lock, and the threads that write and sync beside it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::durability::Waits;
use super::payloads::Payloads;
use super::reads::{Ended, Reads};
use crate::files::{FileMedium, Syncer};
use crate::latency::{Latencies, Timed};
use crate::{Engine, Refused};

pub(super) type FileEngine = Engine<Arc<FileMedium>, FileMedium>;

/// Where sentences for the user go.
pub type Teller = Arc<dyn Fn(&str) + Send + Sync>;

/// A source of requests, as the core sees it: a waiting request is answered by its cookie.
///
/// A connection of NBD is one. A queue of the kernel's ublk could be another. It would take requests from its ring,
/// give them to the engine as a connection does, and complete the tag that was the cookie.
pub(super) trait FrontEnd: Send + Sync {
    /// A request that waited is answered, with the next [`deliver`](Self::deliver).
    fn answer(&self, cookie: u64, result: Result<(), Refused>);

    /// Sends answers, without waiting for the client.
    fn deliver(&self);
}

pub(super) struct Core {
    engine: Mutex<FileEngine>,
    waiting: Mutex<Waits>,
    /// Wakes the thread that syncs.
    pub(super) wake: Condvar,
    /// Wakes the thread that writes.
    pub(super) work: Condvar,
    pub(super) file: Arc<FileMedium>,
    pub(super) reads: Option<Reads>,
    /// Pages that were read while another had the engine.
    kept: Mutex<Vec<Ended>>,
    has_kept: AtomicBool,
    pub(super) disk: Syncer,
    pub(super) nvm: Option<Syncer>,
    latencies: Mutex<[Latencies; 2]>,
    payloads: Arc<Payloads>,
    is_ending: AtomicBool,
    pub(super) is_hurried: Arc<AtomicBool>,
    pub(super) connections: AtomicU64,
    pub(super) open_connections: Arc<AtomicU64>,
    pub(super) teller: Teller,
    /// Slots that should be free.
    pub(super) wanted_slots: usize,
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
        self.waits().tell_notes();
        self.wake.notify_one();
    }

    pub(super) fn waits(&self) -> MutexGuard<'_, Waits> {
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

    /// Tells the user what failed.
    pub(super) fn tell_notes(&self) {
        let notes = self.engine().take_notes();
        for note in notes {
            (self.teller)(&note);
        }
    }
}
