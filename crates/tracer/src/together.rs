//! Keeps a thread and its tracer on one processor while they take turns.
//!
//! A stopped thread that goes on is sent to an idle processor, since its tracer still runs on its own, and waking that
//! takes several times as long as all else that is done at a stop. So a thread that alone keeps stopping is held
//! where its tracer is. It never sees that: before it asks where it may run, and before it makes another thread or
//! process, which would inherit the answer, it is let go.

use crate::ptrace::{Processors, own_thread};

/// After this many stops of one thread, with none of another one between them, it is held.
const STOPS_IN_A_ROW: u32 = 32;

/// A thread that is held, and its tracer.
struct Held {
    thread: i32,
    at: Processors,
    before: Processors,
    tracer_before: Processors,
}

/// Which thread is held, if any.
#[derive(Default)]
pub(crate) struct Together {
    /// The thread that stopped last, and how often it has in a row.
    last: i32,
    stops_in_a_row: u32,
    held: Option<Held>,
}

impl Together {
    /// A thread has stopped.
    pub(crate) fn stopped(&mut self, thread: i32) {
        if thread != self.last {
            self.part();
            self.last = thread;
        }
        if self.held.is_some() {
            return;
        }
        self.stops_in_a_row += 1;
        if self.stops_in_a_row == STOPS_IN_A_ROW {
            self.stops_in_a_row = 0;
            self.held = hold(thread);
        }
    }

    /// Lets the thread that is held run where it may, and its tracer too.
    pub(crate) fn part(&mut self) {
        self.stops_in_a_row = 0;
        let Some(held) = self.held.take() else { return };
        // Unless another program has set them.
        if Processors::of(held.thread).is_some_and(|now| now == held.at) {
            held.before.allow(held.thread);
        }
        held.tracer_before.allow(own_thread());
    }
}

/// Holds a stopped thread on the processor of its tracer, this thread; none if that cannot be or changes nothing.
fn hold(thread: i32) -> Option<Held> {
    let (before, tracer_before) = (Processors::of(thread)?, Processors::of(own_thread())?);
    let at = Processors::current()?;
    if before == at || !at.is_within(&before) {
        return None;
    }
    let held = Held { thread, at, before, tracer_before };
    if !at.allow(own_thread()) {
        return None;
    }
    if !at.allow(thread) {
        tracer_before.allow(own_thread());
        return None;
    }
    Some(held)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::ptrace;

    /// Runs on a thread of its own, whose processors may change.
    fn aside(test: impl FnOnce(i32, Processors) + Send + 'static) {
        let run = move || {
            let own = ptrace::own_thread();
            let before = Processors::of(own).expect("the processors of a thread of ours");
            test(own, before);
        };
        thread::spawn(run).join().expect("the test's thread has not failed");
    }

    #[test]
    fn a_thread_that_alone_stops_is_held_and_let_go_when_another_one_stops() {
        aside(|own, before| {
            let mut together = Together::default();
            for _ in 1..STOPS_IN_A_ROW {
                together.stopped(own);
            }
            assert!(Processors::of(own) == Some(before), "it has not stopped often enough");
            together.stopped(own);
            let held = Processors::of(own).expect("the processors of a thread of ours");
            assert_eq!(together.held.is_some(), held != before, "a single one is left alone");
            assert!(held.is_within(&before));
            together.stopped(own + 1);
            assert!(Processors::of(own) == Some(before));
        });
    }

    #[test]
    fn two_threads_that_stop_in_turns_are_not_held() {
        aside(|own, before| {
            let mut together = Together::default();
            for _ in 0..4 * STOPS_IN_A_ROW {
                together.stopped(own);
                together.stopped(own + 1);
            }
            assert!(together.held.is_none());
            assert!(Processors::of(own) == Some(before));
        });
    }

    #[test]
    fn a_thread_that_was_let_go_is_held_again_only_after_as_many_stops() {
        aside(|own, before| {
            let mut together = Together::default();
            (0..STOPS_IN_A_ROW).for_each(|_| together.stopped(own));
            together.part();
            assert!(Processors::of(own) == Some(before));
            (1..STOPS_IN_A_ROW).for_each(|_| together.stopped(own));
            assert!(together.held.is_none());
        });
    }
}
