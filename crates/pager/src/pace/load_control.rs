//! Load control: threads that take each other's pages before either has used them run one at a time.
//!
//! An instruction needs all of its pages at once, and has up to four of data. With too few frames for all threads, or
//! under a policy that keeps new pages for a few misses only, each miss takes a page that another thread was given and
//! has not used yet. Then no thread goes on. The remedy is that against thrashing, fewer threads at a time (P. J.
//! Denning: Thrashing: its causes and prevention. AFIPS Fall Joint Computer Conference 1968).
//!
//! So a thread that loses the same page again and again has a *turn*, in which the faults of others wait. It is over when the
//! thread goes on without faults, has missed often, or waits for something else. No decision of a policy depends on
//! it: it is the order of the faults that changes.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use clockhand_policy::PageId;

use crate::userfault::FaultMessage;

/// A page counts as lost after this number of earlier misses of the thread on it,
const TIMES_LOST: usize = 2;
/// in as many of its own last misses,
const OWN_MISSES: usize = 12;
/// and all threads together had no more than these since.
const MISSES_KEPT: usize = 256;

/// The most misses of a turn.
const MOST_MISSES: u32 = 64;

/// After how long without a fault of the thread it is seen whether its turn is over.
const QUIET: Duration = Duration::from_millis(1);

/// After how long without a fault the turn is over of a thread that runs, or waits for a processor.
const LONGEST: Duration = Duration::from_millis(20);

/// The faults of one memory that are to be served, and their order.
#[derive(Default)]
pub(crate) struct LoadControl {
    /// Faults, and when each was learned of.
    waiting: VecDeque<(FaultMessage, Instant)>,
    misses: VecDeque<(i32, PageId)>,
    turn: Option<Turn>,
}

/// One thread's faults are served, and no other's.
struct Turn {
    thread: i32,
    misses: u32,
    /// When its last fault was served.
    served: Instant,
    /// When to see whether the turn is over.
    ends: Instant,
}

impl LoadControl {
    /// A fault is to be served.
    pub(crate) fn add(&mut self, fault: FaultMessage, now: Instant) {
        self.waiting.push_back((fault, now));
    }

    /// The longest time that other threads' faults wait before the pager checks again.
    pub(crate) fn time_left(&self, now: Instant) -> Option<Duration> {
        let turn = self.turn.as_ref().filter(|_| !self.waiting.is_empty())?;
        Some(turn.ends.saturating_duration_since(now))
    }

    /// The fault to serve next and when it was learned of. `is_running` tells whether a thread runs, or would if it had a
    /// processor.
    pub(crate) fn next(
        &mut self,
        now: Instant,
        is_running: impl FnOnce(i32) -> bool,
    ) -> Option<(FaultMessage, Instant)> {
        if let Some(turn) = &mut self.turn {
            let thread = turn.thread;
            let own = self.waiting.iter().position(|(fault, _)| fault.thread == thread);
            if let Some(own) = own {
                return self.waiting.remove(own);
            }
            if now < turn.ends {
                return None;
            }
            if !self.waiting.is_empty() && now < turn.served + LONGEST && is_running(thread) {
                turn.ends = now + QUIET;
                return None;
            }
            self.turn = None;
        }
        self.waiting.pop_front()
    }

    /// A thread's fault on this page has been served.
    pub(crate) fn served(&mut self, thread: i32, page: PageId, is_miss: bool, now: Instant) {
        if is_miss && self.turn.is_none() && self.is_robbed(thread, page) {
            self.turn = Some(Turn { thread, misses: 0, served: now, ends: now + QUIET });
        }
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.thread == thread) {
            turn.misses += u32::from(is_miss);
            turn.served = now;
            turn.ends = now + QUIET;
            if turn.misses > MOST_MISSES {
                self.turn = None;
            }
        }
        if is_miss {
            self.misses.truncate(MISSES_KEPT - 1);
            self.misses.push_front((thread, page));
        }
    }

    /// Returns whether the thread has lost the page several times while others got pages.
    fn is_robbed(&self, thread: i32, page: PageId) -> bool {
        let (mut own, mut lost, mut others) = (0, 0, 0);
        for &(of, missed) in &self.misses {
            if of != thread {
                others += 1;
                continue;
            }
            own += 1;
            lost += usize::from(missed == page);
            if lost == TIMES_LOST {
                return others > 0;
            }
            if own == OWN_MISSES {
                return false;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use clockhand_policy::Op;

    use super::*;

    const MINE: i32 = 1;
    const OTHERS: i32 = 2;

    fn fault_of(thread: i32) -> FaultMessage {
        FaultMessage { address: 0, op: Op::Read, thread }
    }

    /// Two threads need two pages each, and each miss has taken a page of the other's.
    fn robbed(now: Instant) -> LoadControl {
        let mut control = LoadControl::default();
        for turn in 0..3 {
            assert!(control.turn.is_none(), "{turn} times may be chance");
            control.served(MINE, PageId(turn % 2), true, now);
            control.served(OTHERS, PageId(2 + turn % 2), true, now);
        }
        control.served(MINE, PageId(1), true, now);
        control.served(OTHERS, PageId(3), true, now);
        control.served(MINE, PageId(0), true, now);
        control
    }

    fn next_of(control: &mut LoadControl, now: Instant, is_running: bool) -> Option<i32> {
        control.next(now, |_| is_running).map(|(fault, _)| fault.thread)
    }

    #[test]
    fn faults_are_served_in_their_order() {
        let now = Instant::now();
        let mut control = LoadControl::default();
        for thread in [3, 1, 2, 1] {
            control.add(fault_of(thread), now);
        }
        for thread in [3, 1, 2, 1] {
            assert_eq!(next_of(&mut control, now, true), Some(thread));
        }
        assert_eq!(next_of(&mut control, now, true), None);
        assert_eq!(control.time_left(now), None);
    }

    #[test]
    fn a_thread_that_is_robbed_has_a_turn() {
        let now = Instant::now();
        let mut control = robbed(now);
        control.add(fault_of(OTHERS), now);
        control.add(fault_of(MINE), now);
        assert_eq!(next_of(&mut control, now, true), Some(MINE));
        assert_eq!(next_of(&mut control, now, true), None);
        assert_eq!(control.time_left(now), Some(QUIET));
        // It waits for something else than a page.
        assert_eq!(next_of(&mut control, now + QUIET, false), Some(OTHERS));
        assert_eq!(next_of(&mut control, now + QUIET, false), None);
    }

    #[test]
    fn a_turn_of_a_thread_that_runs_is_longer_and_ends() {
        let now = Instant::now();
        let mut control = robbed(now);
        control.add(fault_of(OTHERS), now);
        assert_eq!(next_of(&mut control, now + QUIET, true), None);
        assert_eq!(control.time_left(now + QUIET), Some(QUIET));
        assert_eq!(next_of(&mut control, now + LONGEST, true), Some(OTHERS));
    }

    #[test]
    fn a_turn_has_no_more_than_so_many_misses() {
        let now = Instant::now();
        let mut control = robbed(now);
        control.add(fault_of(OTHERS), now);
        for number in 0..MOST_MISSES {
            assert_eq!(next_of(&mut control, now, true), None, "{number}");
            control.served(MINE, PageId(10 + number), true, now);
        }
        assert_eq!(next_of(&mut control, now, true), Some(OTHERS));
    }

    #[test]
    fn pages_that_are_lost_to_oneself_or_are_hit_give_no_turn() {
        let now = Instant::now();
        let mut control = LoadControl::default();
        for step in 0..50 {
            control.served(MINE, PageId(step % 2), true, now);
            control.served(OTHERS, PageId(2), false, now);
        }
        assert!(control.turn.is_none());
    }

    #[test]
    fn a_page_that_is_missed_again_after_many_others_is_not_lost() {
        let now = Instant::now();
        let mut control = LoadControl::default();
        for step in 0..50 {
            control.served(MINE, PageId(step % OWN_MISSES as u32), true, now);
            control.served(OTHERS, PageId(100 + step), true, now);
        }
        assert!(control.turn.is_none());
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let now = Instant::now();
        let mut control = LoadControl::default();
        for number in 0..1000 {
            control.served(number, PageId(0), true, now);
        }
        assert_eq!(control.misses.len(), MISSES_KEPT);
    }
}
