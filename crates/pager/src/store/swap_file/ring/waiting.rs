//! How a thread waits for its ring: awake as long as a drive takes, then asleep.

use std::io;
use std::time::{Duration, Instant};

use io_uring::{opcode, squeue};

use super::{PADDING, SwapFileStore};

/// The kernel submits up to this number of operations one by one, which costs a virtual machine an exit each, and more
/// in one batch. So one more is added that does nothing.
const TOO_FEW_TO_PLUG: usize = 2;

/// For how long a read is waited for without going to sleep: as long as one takes of a solid-state drive. A processor that
/// has nothing to do is halted, and in a virtual machine waking it takes as long as the drive needs to read.
const WATCHED: Duration = Duration::from_micros(150);

/// When others have run in a look for so long, the processor is wanted. An interrupt, or a thread that has work only because of it,
/// takes less.
const GIVEN_AWAY: Duration = Duration::from_micros(100);

/// After a read that did not end while the thread stayed awake, this number of reads sleep at once.
const SLEPT_FOR: u32 = 4;

/// The pause after the kernel had no memory for an operation.
const PAUSE: Duration = Duration::from_micros(100);

impl SwapFileStore {
    /// Waits for a read.
    pub(super) fn wait_while(&mut self, is_under_way: impl Fn(&Self) -> bool) {
        self.watch(&is_under_way);
        while is_under_way(self) {
            self.progress(true);
        }
    }

    /// Waits for a read awake, as long as that pays.
    fn watch(&mut self, is_under_way: impl Fn(&Self) -> bool) {
        self.progress(false);
        if self.slept_for > 0 {
            self.slept_for -= 1;
            return;
        }
        let started = Instant::now();
        let mut last_look = started;
        while is_under_way(self) {
            std::thread::yield_now();
            self.progress(false);
            let now = Instant::now();
            if now - started > WATCHED || now - last_look > GIVEN_AWAY {
                self.slept_for = SLEPT_FOR;
                return;
            }
            last_look = now;
        }
    }

    /// Tells the kernel of new operations, and takes note of completed ones; with `wait` at least one, unless the
    /// kernel interrupts that.
    pub(super) fn progress(&mut self, wait: bool) {
        if wait || !self.ring.submission().is_empty() {
            self.enter(wait);
        }
        self.take_completions();
        if !self.ring.submission().is_empty() {
            self.enter(false);
        }
    }

    /// # Panics
    ///
    /// If the kernel does not know the ring. No memory can be trusted to it then, so nothing else would be right.
    pub(super) fn enter(&mut self, wait: bool) {
        match self.try_enter(wait) {
            Ok(()) => {}
            Err(error) => panic!("the ring of {}: {error}", self.file.path().display()),
        }
    }

    pub(super) fn try_enter(&mut self, wait: bool) -> io::Result<()> {
        if self.ring.submission().len() == TOO_FEW_TO_PLUG {
            let padding = opcode::Nop::new().build().user_data(PADDING);
            // SAFETY: an operation without addresses.
            unsafe { self.ring.submission().push(&padding.flags(squeue::Flags::SKIP_SUCCESS)) }
                .expect("there is room beside two");
        }
        let Err(error) = self.ring.submit_and_wait(usize::from(wait)) else { return Ok(()) };
        match error.raw_os_error() {
            Some(libc::EINTR) => Ok(()),
            Some(libc::EAGAIN | libc::EBUSY) => {
                std::thread::sleep(PAUSE);
                Ok(())
            }
            _ => Err(error),
        }
    }
}
