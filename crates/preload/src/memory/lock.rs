//! The lock of the memory. Its word names the holder from the first moment. So a signal handler that interrupts the
//! holder knows that it must not wait for itself.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::system;

/// 0, or the C library's number of the thread that holds the lock, which is the address of a structure, and whether others may
/// wait for it.
pub(super) struct Lock(AtomicU64);

/// Others may wait.
const IS_AWAITED: u64 = 1;

impl Lock {
    /// A free lock.
    pub(super) const fn new() -> Lock {
        Lock(AtomicU64::new(0))
    }

    /// Takes the lock; false if the calling thread holds it already.
    #[inline]
    pub(super) fn take(&self) -> bool {
        // SAFETY: takes no arguments.
        let own = unsafe { libc::pthread_self() };
        self.0.compare_exchange(0, own, Ordering::Acquire, Ordering::Relaxed).is_ok()
            || self.wait(own)
    }

    #[cold]
    fn wait(&self, own: u64) -> bool {
        loop {
            let held = self.0.load(Ordering::Relaxed);
            let awaited = held | IS_AWAITED;
            // Whoever has waited does not know whether others still do.
            let replacement = if held == 0 { own | IS_AWAITED } else { awaited };
            if held & !IS_AWAITED == own {
                return false;
            }
            let replaced =
                self.0.compare_exchange(held, replacement, Ordering::Acquire, Ordering::Relaxed);
            match held {
                _ if replaced.is_err() => {}
                0 => return true,
                // The lower half of the word, which comes first, changes when the lock is given back.
                _ => system::wait_while(self.0.as_ptr().cast(), awaited as u32),
            }
        }
    }

    /// Releases the lock, also in a child that was forked under it.
    #[inline]
    pub(super) fn give_back(&self) {
        if self.0.swap(0, Ordering::Release) & IS_AWAITED != 0 {
            system::wake(self.0.as_ptr().cast(), 1);
        }
    }
}
