//! When each part of a drive is over with what it does, and which is over first.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Never, as long as nothing else is said.
pub(super) const NEVER: u64 = u64::MAX;

/// Durations that have a lane of their own; a drive has about ten.
const MOST_LANES: usize = 24;

/// The lane of what ends out of order.
const OUT_OF_ORDER: u32 = 0;

/// The deadlines of all parts `P`. Work of one duration ends in the order of its begin. So each duration has a queue, a
/// *lane*, and only the first of each lane are compared.
#[derive(Debug)]
pub(super) struct Deadlines<P> {
    /// By lane, how long everything in it takes. Meaningless for the first lane.
    durations: Vec<u64>,
    lanes: Vec<VecDeque<(u64, P)>>,
    out_of_order: BinaryHeap<Reverse<(u64, P)>>,
    /// When the first in each lane that is not empty ends, and which lane that is; the earliest stands last.
    firsts: Vec<(u64, u32)>,
}

impl<P: Copy + Ord> Deadlines<P> {
    pub(super) fn new() -> Deadlines<P> {
        Deadlines {
            durations: vec![NEVER],
            lanes: vec![VecDeque::new()],
            out_of_order: BinaryHeap::new(),
            firsts: Vec::with_capacity(MOST_LANES),
        }
    }

    /// A part begins something now that takes a time that recurs. `now` is never less than before.
    #[inline]
    pub(super) fn begin(&mut self, now: u64, takes_ns: u64, part: P) {
        let end_ns = now + takes_ns;
        let Some(lane) = self.durations.iter().position(|duration| *duration == takes_ns) else {
            self.begin_lane(end_ns, takes_ns, part);
            return;
        };
        let ends = &mut self.lanes[lane];
        debug_assert!(ends.back().is_none_or(|(last_ns, _)| *last_ns <= end_ns));
        ends.push_back((end_ns, part));
        if ends.len() == 1 {
            self.firsts.push((end_ns, lane as u32));
            self.sort_last();
        }
    }

    #[cold]
    fn begin_lane(&mut self, end_ns: u64, takes_ns: u64, part: P) {
        if self.lanes.len() == MOST_LANES {
            self.set(end_ns, part);
            return;
        }
        self.firsts.push((end_ns, self.lanes.len() as u32));
        self.sort_last();
        self.durations.push(takes_ns);
        self.lanes.push(VecDeque::from([(end_ns, part)]));
    }

    /// A part is over at a time that comes of no duration that recurs.
    pub(super) fn set(&mut self, end_ns: u64, part: P) {
        self.out_of_order.push(Reverse((end_ns, part)));
        self.look_out_of_order();
    }

    /// Moves the last of the firsts to its place among the others.
    #[inline]
    fn sort_last(&mut self) {
        let Some((&last, _)) = self.firsts.split_last() else { return };
        let mut place = self.firsts.len() - 1;
        while place > 0 && self.firsts[place - 1].0 < last.0 {
            self.firsts[place] = self.firsts[place - 1];
            place -= 1;
        }
        self.firsts[place] = last;
    }

    /// The earliest time of all.
    #[inline]
    pub(super) fn earliest_ns(&self) -> u64 {
        self.firsts.last().map_or(NEVER, |(end_ns, _)| *end_ns)
    }

    /// Takes out a part that is over until now.
    #[inline]
    pub(super) fn pop(&mut self, now: u64) -> Option<P> {
        let first = self.firsts.last_mut().filter(|(end_ns, _)| *end_ns <= now)?;
        if first.1 == OUT_OF_ORDER {
            return self.pop_out_of_order();
        }
        let ends = &mut self.lanes[first.1 as usize];
        let (_, part) = ends.pop_front()?;
        if let Some((end_ns, _)) = ends.front() {
            first.0 = *end_ns;
            self.sort_last();
        } else {
            self.firsts.pop();
        }
        Some(part)
    }

    #[cold]
    fn pop_out_of_order(&mut self) -> Option<P> {
        let Reverse((_, part)) = self.out_of_order.pop()?;
        self.look_out_of_order();
        Some(part)
    }

    /// Puts the first of what ends out of order in its place.
    fn look_out_of_order(&mut self) {
        self.firsts.retain(|(_, lane)| *lane != OUT_OF_ORDER);
        if let Some(Reverse((end_ns, _))) = self.out_of_order.peek() {
            self.firsts.push((*end_ns, OUT_OF_ORDER));
            self.sort_last();
        }
    }

    /// A part stops what it does before it is over.
    pub(super) fn forget(&mut self, part: P) {
        for ends in &mut self.lanes {
            if let Some(place) = ends.iter().rposition(|(_, other)| *other == part) {
                ends.remove(place);
            }
        }
        self.out_of_order.retain(|Reverse((_, other))| *other != part);
        self.firsts.clear();
        for (lane, ends) in (0..).zip(&self.lanes) {
            self.firsts.extend(ends.front().map(|(end_ns, _)| (*end_ns, lane)));
        }
        self.firsts.sort_unstable_by_key(|(end_ns, _)| Reverse(*end_ns));
        self.look_out_of_order();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_is_found_whatever_began_or_stopped_before() {
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 32) * below) >> 32
        };
        for durations in [1, 3, 2 * MOST_LANES as u64] {
            let (mut deadlines, mut plain) = (Deadlines::new(), Vec::new());
            let mut now = 0;
            for part in 0..3000_u64 {
                let takes_ns = draw(durations);
                match draw(8) {
                    0 => deadlines.set(now + takes_ns, part),
                    _ => deadlines.begin(now, takes_ns, part),
                }
                plain.push((now + takes_ns, part));
                if draw(4) == 0 {
                    let (_, stopped) = plain.swap_remove(draw(plain.len() as u64) as usize);
                    deadlines.forget(stopped);
                }
                let earliest_ns = plain.iter().map(|(end_ns, _)| *end_ns).min();
                assert_eq!(deadlines.earliest_ns(), earliest_ns.unwrap_or(NEVER));
                if draw(3) == 0 {
                    now += draw(durations);
                    let mut over = std::iter::from_fn(|| deadlines.pop(now)).collect::<Vec<_>>();
                    over.sort_unstable();
                    let is_over = |(end_ns, _): &mut (u64, u64)| *end_ns <= now;
                    let mut expected: Vec<u64> =
                        plain.extract_if(.., is_over).map(|(_, part)| part).collect();
                    expected.sort_unstable();
                    assert_eq!(over, expected);
                }
            }
        }
    }
}
