//! For how long a thread runs before another one may.
//!
//! A thread with a short slice has no larger share of a processor, but gets it in smaller parts, and sooner after it was woken. A fault
//! wakes two threads one after the other; on processors that are all busy each of them would wait for the slices of others, of
//! some milliseconds.

use rustix::thread::Pid;

/// The slice that threads ask for when they take turns; the kernel grants no shorter one.
pub(crate) const SHORT: Slice = Slice { nanoseconds: 100_000 };

/// A slice of a thread of the fair scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    nanoseconds: u64,
}

impl Slice {
    /// The slice of a thread, or of this one if none is named. None if the kernel has no slices (before Linux 6.12) or
    /// another scheduler serves the thread.
    pub(crate) fn of(thread: Option<Pid>) -> Option<Slice> {
        attributes(number(thread)).map(|found| Slice { nanoseconds: found.sched_runtime })
    }

    /// Gives a thread the slice, and returns the one that it had. None if nothing has changed, as for [`Slice::of`].
    pub(crate) fn give(self, thread: Option<Pid>) -> Option<Slice> {
        let mut wanted = attributes(number(thread))?;
        let former = Slice { nanoseconds: wanted.sched_runtime };
        wanted.sched_runtime = self.nanoseconds;
        // SAFETY: the kernel reads the structure, which lives here.
        let set =
            unsafe { libc::syscall(libc::SYS_sched_setattr, number(thread), &raw const wanted, 0) };
        (set == 0).then_some(former)
    }
}

fn number(thread: Option<Pid>) -> i32 {
    thread.map_or(0, |thread| thread.as_raw_nonzero().get())
}

/// The scheduling attributes of a thread that has a slice.
fn attributes(thread: i32) -> Option<libc::sched_attr> {
    // SAFETY: the structure is of numbers, for which zero is valid.
    let mut found: libc::sched_attr = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::sched_attr>() as u32;
    // SAFETY: the kernel writes at most the structure's size, and the structure lives here.
    let got = unsafe { libc::syscall(libc::SYS_sched_getattr, thread, &raw mut found, size, 0) };
    let is_fair = found.sched_policy == libc::SCHED_OTHER as u32;
    (got == 0 && is_fair && found.sched_runtime > 0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_given_and_given_back() {
        // Not this thread's: others of the test harness have it from theirs.
        let seen = std::thread::spawn(|| {
            let former = SHORT.give(None)?;
            let short = Slice::of(None);
            Some([short, former.give(None)] == [Some(SHORT); 2] && Slice::of(None) == Some(former))
        });
        match seen.join().unwrap() {
            Some(is_given_back) => assert!(is_given_back),
            None => eprintln!("SKIPPED: the kernel knows no slices, or refuses"),
        }
    }

    #[test]
    fn a_thread_that_is_not_there_has_no_slice() {
        let nobody = Pid::from_raw(i32::MAX);
        assert_eq!([SHORT.give(nobody), Slice::of(nobody)], [None; 2]);
    }
}
