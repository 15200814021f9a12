//! Pages that are read from the disk beside the store: nothing is written there until they have been read, so that a
//! read has the content of its moment.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The reads that are under way.
#[derive(Default)]
pub(super) struct Reading {
    pages: Mutex<Vec<Range<u64>>>,
    /// Of them.
    count: AtomicUsize,
    ended: Condvar,
}

/// Pages that nobody writes as long as this is there.
pub struct Pin {
    reading: Arc<Reading>,
    pages: Range<u64>,
}

impl Reading {
    fn pages(&self) -> MutexGuard<'_, Vec<Range<u64>>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on these pages stay as they are.
    pub(super) fn pin(self: &Arc<Self>, pages: Range<u64>) -> Pin {
        self.pages().push(pages.clone());
        self.count.fetch_add(1, Ordering::SeqCst);
        Pin { reading: Arc::clone(self), pages }
    }

    /// Waits until none of these pages is being read. Whoever reads needs nothing that the caller holds.
    pub(super) fn wait_for(&self, range: &Range<u64>) {
        // A read that begins later knows of what is to be written.
        if self.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut pages = self.pages();
        while pages.iter().any(|read| read.start < range.end && range.start < read.end) {
            pages = self.ended.wait(pages).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut pages = self.reading.pages();
        if let Some(position) = pages.iter().position(|read| *read == self.pages) {
            pages.swap_remove(position);
            self.reading.count.fetch_sub(1, Ordering::SeqCst);
        }
        drop(pages);
        self.reading.ended.notify_all();
    }
}
