//! Room in memory for tasks that run at the same time: a task without room waits, so that nothing is swapped.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::error::SimError;
use clockhand_trace::progress::Progress;

/// The interval between a waiting task's checks for cancellation.
const LOOK: Duration = Duration::from_millis(100);

/// Memory that tasks share.
pub(crate) struct Room {
    bytes: u64,
    taken_bytes: Mutex<u64>,
    freed: Condvar,
}

/// A task's share, until it is dropped.
pub(crate) struct Place<'a> {
    room: &'a Room,
    bytes: u64,
}

impl Room {
    pub(crate) fn of(bytes: u64) -> Self {
        Room { bytes, taken_bytes: Mutex::new(0), freed: Condvar::new() }
    }

    /// Waits until there is room for `bytes`; a task larger than all of the room waits until it is alone.
    ///
    /// # Errors
    ///
    /// [`SimError::Interrupted`].
    pub(crate) fn place(&self, bytes: u64, progress: &Progress) -> Result<Place<'_>, SimError> {
        let mut taken = self.taken_bytes.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if progress.is_cancelled() {
                return Err(SimError::Interrupted);
            }
            if *taken == 0 || taken.saturating_add(bytes) <= self.bytes {
                *taken += bytes;
                return Ok(Place { room: self, bytes });
            }
            let waited = self.freed.wait_timeout(taken, LOOK);
            (taken, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        *self.room.taken_bytes.lock().unwrap_or_else(PoisonError::into_inner) -= self.bytes;
        self.room.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn tasks_wait_until_there_is_room_and_a_large_one_until_it_is_alone() {
        let (room, progress) = (Room::of(10), Progress::default());
        let (now, most) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|threads| {
            for bytes in [4, 4, 4, 4, 25, 4, 4] {
                let (room, progress, now, most) = (&room, &progress, &now, &most);
                threads.spawn(move || {
                    let _place = room.place(bytes, progress).expect("nothing cancels it");
                    let together = now.fetch_add(bytes, Ordering::SeqCst) + bytes;
                    most.fetch_max(together, Ordering::SeqCst);
                    std::thread::yield_now();
                    now.fetch_sub(bytes, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(most.into_inner(), 25, "the large one ran alone");
        assert_eq!(*room.taken_bytes.lock().unwrap(), 0);
    }

    #[test]
    fn who_waits_is_cancelled() {
        let (room, progress) = (Room::of(10), Progress::default());
        let _first = room.place(8, &progress).expect("there is room");
        progress.cancel();
        assert!(matches!(room.place(8, &progress), Err(SimError::Interrupted)));
    }
}
