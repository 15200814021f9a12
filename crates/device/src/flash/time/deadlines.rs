//! When each part of a drive is over with what it does, and which is over first.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Never, as long as nothing else is said.
pub(super) const NEVER: u64 = u64::MAX;

/// The times of all parts in a tournament: looking at the earliest costs nothing, a change as many steps as the number of
/// parts has bits, and fewer where another part is earlier.
#[derive(Debug)]
pub(super) struct Deadlines {
    /// Node i is the earlier of nodes 2i and 2i + 1, with the part whose time it is; the parts are the second half.
    nodes: Vec<(u64, u32)>,
}

impl Deadlines {
    pub(super) fn new(parts: usize) -> Deadlines {
        let parts = parts.next_power_of_two();
        let mut nodes = vec![(NEVER, 0); 2 * parts];
        (0..).zip(&mut nodes[parts..]).for_each(|(part, node)| node.1 = part);
        Deadlines { nodes }
    }

    /// A part is over at this time.
    #[inline]
    pub(super) fn set(&mut self, part: usize, time_ns: u64) {
        let mut node = self.nodes.len() / 2 + part;
        self.nodes[node].0 = time_ns;
        while node > 1 {
            let (this, other) = (self.nodes[node], self.nodes[node ^ 1]);
            let earlier = if other.0 < this.0 { other } else { this };
            node /= 2;
            if self.nodes[node] == earlier {
                return;
            }
            self.nodes[node] = earlier;
        }
    }

    /// The earliest time of all.
    #[inline]
    pub(super) fn earliest_ns(&self) -> u64 {
        self.nodes[1].0
    }

    /// A part that is over until now.
    #[inline]
    pub(super) fn over(&self, now: u64) -> Option<usize> {
        let (time_ns, part) = self.nodes[1];
        (time_ns <= now).then_some(part as usize)
    }
}

/// What ends in the order in which it began, because it always takes as long.
#[derive(Debug, Default)]
pub(super) struct InOrder {
    ends: VecDeque<(u64, u32)>,
}

impl InOrder {
    /// Something begins that ends at this time. Says whether it is the only one.
    #[inline]
    pub(super) fn push(&mut self, end_ns: u64, id: u32) -> bool {
        debug_assert!(self.ends.back().is_none_or(|(last_ns, _)| *last_ns <= end_ns));
        self.ends.push_back((end_ns, id));
        self.ends.len() == 1
    }

    /// What ends first, and when the next one does.
    #[inline]
    pub(super) fn pop(&mut self) -> (u32, u64) {
        let (_, id) = self.ends.pop_front().expect("something is over");
        (id, self.ends.front().map_or(NEVER, |(end_ns, _)| *end_ns))
    }
}

/// Times at which a die may go on, or nothing but the time itself matters. There are few.
#[derive(Debug, Default)]
pub(super) struct Alarms {
    times: BinaryHeap<Reverse<(u64, Option<u32>)>>,
}

impl Alarms {
    /// Says the earliest of all.
    pub(super) fn add(&mut self, time_ns: u64, die: Option<u32>) -> u64 {
        self.times.push(Reverse((time_ns, die)));
        self.earliest_ns()
    }

    /// The die whose time has come, if it is one's, and when the next one comes.
    pub(super) fn pop(&mut self) -> (Option<u32>, u64) {
        let Reverse((_, die)) = self.times.pop().expect("a time has come");
        (die, self.earliest_ns())
    }

    fn earliest_ns(&self) -> u64 {
        self.times.peek().map_or(NEVER, |Reverse((time_ns, _))| *time_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_is_over_is_found_whatever_was_set_before() {
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 32) * below) >> 32
        };
        for parts in [1, 2, 3, 13] {
            let (mut deadlines, mut plain) = (Deadlines::new(parts), vec![NEVER; parts]);
            for _ in 0..500 {
                let (part, time_ns) = (draw(parts as u64) as usize, draw(50));
                let time_ns = if time_ns > 40 { NEVER } else { time_ns };
                deadlines.set(part, time_ns);
                plain[part] = time_ns;
                assert_eq!(Some(deadlines.earliest_ns()), plain.iter().copied().min());
                let now = draw(40);
                let over = deadlines.over(now);
                assert_eq!(over.is_some(), plain.iter().any(|time_ns| *time_ns <= now));
                assert!(over.is_none_or(|part| plain[part] <= now));
            }
        }
    }
}
