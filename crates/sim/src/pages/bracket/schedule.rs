//! Schedules that the future is known to: they can be carried out, so the optimum costs no more.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use clockhand_trace::Record;

use super::relaxation::Prices;
use super::spans::before;
use super::{Costs, Problem};
use crate::next_use::NEVER;
use crate::replay::Counts;

/// The worth of keeping a page from one record of it to the next, less the prices of the steps before the next: the
/// page with the least worth leaves. Between two steps all worths change alike, so their order stays.
pub(super) trait Worth {
    /// The worth of the page of the record at `time`, by whether it is dirty after it.
    fn after(&self, time: usize, is_dirty: bool) -> i64;
}

/// Worth nothing: evicting it costs as much as keeping it.
const NOTHING: i64 = i64::MIN;

/// The cost that is saved by keeping the page until its next reference, and serving its future at the least cost
/// that the prices leave.
pub(super) struct Saved {
    if_clean: Vec<i64>,
    if_dirty: Vec<i64>,
}

/// The future of a page from one of its records on: the least cost, prices included, by what it is before it.
#[derive(Clone, Copy)]
struct Future {
    absent: i64,
    clean: i64,
    dirty: i64,
    /// The prices of all steps before the record.
    prices: i64,
}

impl Saved {
    pub(super) fn under(problem: &Problem, upto: &[u32], prices: &Prices) -> Self {
        let records = problem.records;
        let mut saved = Saved {
            if_clean: vec![NOTHING; records.len()],
            if_dirty: vec![NOTHING; records.len()],
        };
        let mut futures: Vec<Option<Future>> = vec![None; problem.pages as usize];
        let Costs { read, write } = problem.costs();
        for (time, &record) in records.iter().enumerate().rev() {
            let now = prices.sum(upto[time]);
            let future = &mut futures[record.page() as usize];
            let (clean, dirty) = match *future {
                Some(next) => {
                    let rent = next.prices - now;
                    saved.if_clean[time] = next.absent - next.clean - next.prices;
                    saved.if_dirty[time] = write + next.absent - next.dirty - next.prices;
                    (
                        next.absent.min(next.clean + rent),
                        (write + next.absent).min(next.dirty + rent),
                    )
                }
                None if problem.options.flush_at_end => (0, write),
                None => {
                    saved.if_dirty[time] = write - prices.total();
                    (0, write.min(prices.total() - now))
                }
            };
            let clean = if writes(record) { dirty } else { clean };
            let load = if problem.is_charged(record) { read } else { 0 };
            *future = Some(Future {
                absent: load + clean,
                clean,
                dirty,
                prices: prices.sum(before(upto, time)),
            });
        }
        saved
    }
}

impl Worth for Saved {
    fn after(&self, time: usize, is_dirty: bool) -> i64 {
        if is_dirty { self.if_dirty[time] } else { self.if_clean[time] }
    }
}

/// The sooner the next reference, the more worth: Belady's MIN, whatever is dirty.
pub(super) struct Soon<'a>(pub(super) &'a [u32]);

impl Worth for Soon<'_> {
    fn after(&self, time: usize, is_dirty: bool) -> i64 {
        match self.0[time] {
            NEVER if is_dirty => NOTHING + 1,
            NEVER => NOTHING,
            next => -i64::from(next),
        }
    }
}

fn writes(record: Record) -> bool {
    record.first_is_write() || record.rest_writes()
}

/// A page in memory: when it was last referenced, and whether it is dirty.
#[derive(Clone, Copy)]
struct Resident {
    time: usize,
    is_dirty: bool,
}

/// Replays the trace; on a fault with a full memory the page of least worth leaves. Of equals, the one whose next
/// reference is farthest, then the smaller page number.
pub(super) fn replay(problem: &Problem, worth: &impl Worth) -> Counts {
    let mut counted = Counts::default();
    let mut resident: Vec<Option<Resident>> = vec![None; problem.pages as usize];
    let mut queue = BinaryHeap::new();
    let mut free = problem.frames;
    for (time, &record) in problem.records.iter().enumerate() {
        let page = record.page() as usize;
        let mut is_dirty = writes(record);
        match resident[page] {
            Some(held) => is_dirty |= held.is_dirty,
            None => {
                counted.load(record, problem.is_charged(record));
                if free > 0 {
                    free -= 1;
                } else {
                    counted.evict(pop(&mut queue, &mut resident));
                }
            }
        }
        resident[page] = Some(Resident { time, is_dirty });
        let next = problem.next_use[time];
        queue.push(Reverse((worth.after(time, is_dirty), Reverse(next), page, time)));
        if queue.len() > 2 * problem.frames as usize + 1024 {
            queue.retain(|&Reverse((_, _, page, time))| is_current(&resident, page, time));
        }
    }
    let dirty = resident.iter().flatten().filter(|held| held.is_dirty).count() as u64;
    counted.flush_writes = if problem.options.flush_at_end { dirty } else { 0 };
    counted
}

type Queue = BinaryHeap<Reverse<(i64, Reverse<u32>, usize, usize)>>;

fn is_current(resident: &[Option<Resident>], page: usize, time: usize) -> bool {
    resident[page].is_some_and(|held| held.time == time)
}

/// Takes the page of least worth out of memory; says whether it was dirty.
fn pop(queue: &mut Queue, resident: &mut [Option<Resident>]) -> bool {
    loop {
        let Reverse((_, _, page, time)) = queue.pop().expect("every page in memory is queued");
        if is_current(resident, page, time) {
            return resident[page].take().is_some_and(|held| held.is_dirty);
        }
    }
}
