//! The memory of payloads: a budget for all clients.

use std::sync::{Condvar, Mutex, PoisonError};

/// Payloads that are in memory at a time, in bytes; then sockets are not read.
const LIMIT_PAYLOADS_BYTES: usize = 128 << 20;

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
