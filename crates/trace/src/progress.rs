//! Progress reports of a long run, and its cancellation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// The current work of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// A trace is read; the unit is a stored byte, and the total is 0 where it is unknown.
    Reading,
    /// Cells are replayed; the unit is a record of a page view.
    Replaying,
    /// A synthetic trace is made; the unit is a request.
    Synthesizing,
    /// A drive is aged before it is used; the unit is a page, and the total is unknown.
    Preconditioning,
    /// The pages of a trace that was read are numbered by address; the unit is a record of a page view.
    Numbering,
}

/// Phases in the byte that threads share; a run begins with reading.
const READING: u8 = 0;
const REPLAYING: u8 = 1;
const SYNTHESIZING: u8 = 2;
const PRECONDITIONING: u8 = 3;
const NUMBERING: u8 = 4;

/// Shared between the threads of a run and the thread that shows its progress.
#[derive(Debug, Default)]
pub struct Progress {
    phase: AtomicU8,
    done: AtomicU64,
    total: AtomicU64,
    cancelled: Arc<AtomicBool>,
    /// The other work that goes on at the same time.
    main_cancelled: Option<Arc<AtomicBool>>,
}

impl Progress {
    /// The progress of work beside this one, which is not shown, and is cancelled with it.
    #[must_use]
    pub fn beside(&self) -> Self {
        Self { main_cancelled: Some(Arc::clone(&self.cancelled)), ..Self::default() }
    }

    /// Asks the run to end soon, with [`TraceError::Interrupted`](crate::TraceError::Interrupted) or the like.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns whether the run is to end.
    pub fn is_cancelled(&self) -> bool {
        let is_set = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
        is_set(&self.cancelled) || self.main_cancelled.as_ref().is_some_and(is_set)
    }

    /// The run's work, the units that are done, and all units (0: unknown).
    pub fn now(&self) -> (Phase, u64, u64) {
        let phase = match self.phase.load(Ordering::Relaxed) {
            READING => Phase::Reading,
            REPLAYING => Phase::Replaying,
            SYNTHESIZING => Phase::Synthesizing,
            PRECONDITIONING => Phase::Preconditioning,
            _ => Phase::Numbering,
        };
        (phase, self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }

    /// Begins a phase of `total` units, 0 where that is unknown.
    pub fn enter(&self, phase: Phase, total: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        let code = match phase {
            Phase::Reading => READING,
            Phase::Replaying => REPLAYING,
            Phase::Synthesizing => SYNTHESIZING,
            Phase::Preconditioning => PRECONDITIONING,
            Phase::Numbering => NUMBERING,
        };
        self.phase.store(code, Ordering::Relaxed);
    }

    /// Sets how many units of the phase are done.
    pub fn set_done(&self, done: u64) {
        self.done.store(done, Ordering::Relaxed);
    }

    /// Adds units of the phase that are done.
    pub fn add_done(&self, units: u64) {
        self.done.fetch_add(units, Ordering::Relaxed);
    }
}
