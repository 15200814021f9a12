//! The memory of payloads: a budget for all clients.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Payloads that are in memory at a time, in bytes; then sockets are not read.
const LIMIT_PAYLOADS_BYTES: usize = 128 << 20;

/// A budget of bytes for payloads.
#[derive(Default)]
pub(super) struct Payloads {
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    taken: usize,
    /// Threads that wait for room: without any, a call of the kernel to wake them is saved.
    waiting: usize,
}

impl State {
    fn fits(&self, bytes: usize) -> bool {
        self.taken == 0 || self.taken + bytes <= LIMIT_PAYLOADS_BYTES
    }
}

impl Payloads {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes `bytes` bytes if there is room.
    pub(super) fn try_take(&self, bytes: usize) -> bool {
        let mut state = self.state();
        let fits = state.fits(bytes);
        state.taken += if fits { bytes } else { 0 };
        fits
    }

    /// Waits until there is room for `bytes` bytes. A waiting caller has given back what it took.
    pub(super) fn take(&self, bytes: usize) {
        let mut state = self.state();
        state.waiting += 1;
        while !state.fits(bytes) {
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting -= 1;
        state.taken += bytes;
    }

    /// Gives back what was taken.
    pub(super) fn give_back(&self, bytes: usize) {
        let mut state = self.state();
        state.taken -= bytes;
        if state.waiting > 0 {
            self.freed.notify_all();
        }
    }
}
