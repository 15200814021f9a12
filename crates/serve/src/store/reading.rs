//! Pages that are read from the disk beside the store: nothing is written there until they have been read, so that a
//! read has the content of its moment.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The reads that are under way.
#[derive(Default)]
pub(super) struct Reading {
    state: Mutex<State>,
    /// Reads that are under way.
    count: AtomicUsize,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    pages: Vec<Range<u64>>,
    /// Those who wait for the end of reads.
    waiting: usize,
}

/// Pages that are not written as long as this exists.
pub struct Pin {
    reading: Arc<Reading>,
    pages: Range<u64>,
}

impl Reading {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on these pages stay as they are.
    pub(super) fn pin(self: &Arc<Self>, pages: Range<u64>) -> Pin {
        self.state().pages.push(pages.clone());
        self.count.fetch_add(1, Ordering::SeqCst);
        Pin { reading: Arc::clone(self), pages }
    }

    /// Waits until none of these pages is being read. Whoever reads needs nothing that the caller holds.
    pub(super) fn wait_for(&self, range: &Range<u64>) {
        // A read that begins later knows of what is to be written.
        if self.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut state = self.state();
        state.waiting += 1;
        while state.pages.iter().any(|read| read.start < range.end && range.start < read.end) {
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting -= 1;
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut state = self.reading.state();
        if let Some(position) = state.pages.iter().position(|read| *read == self.pages) {
            state.pages.swap_remove(position);
            self.reading.count.fetch_sub(1, Ordering::SeqCst);
        }
        if state.waiting > 0 {
            self.reading.ended.notify_all();
        }
    }
}
