//! Queues of frames: clocks whose hand takes from the head and adds at the tail, and first-in, first-out lists.

use alloc::vec;
use alloc::vec::Vec;

use crate::Frame;

/// Frames in the order in which a hand reaches them, side by side: the hand follows no links, and the processor sees
/// which frames come next. A frame is in a queue at most once.
///
/// A page that leaves out of turn keeps its place, which is stale from then on and counts no more; there are never stale
/// places at the head. Costs 4 to 8 bytes per page that was ever in the queue at the same time, and 4 per frame once a
/// page has left out of turn.
#[derive(Clone, Debug)]
pub(crate) struct FrameQueue {
    /// A power of two of places. A frame's place is its turn modulo their number.
    places: Vec<Frame>,
    head_turn: u32,
    tail_turn: u32,
    stale_places: u32,
    /// The number of stale places of each frame, from the first; empty until one is stale.
    stale_places_of: Vec<u32>,
}

/// Places of the smallest queue.
const MIN_PLACES: usize = 16;

impl FrameQueue {
    pub(crate) fn new() -> Self {
        FrameQueue {
            places: vec![Frame::NONE; MIN_PLACES],
            head_turn: 0,
            tail_turn: 0,
            stale_places: 0,
            stale_places_of: Vec::new(),
        }
    }

    #[inline]
    fn at(&self, turn: u32) -> Frame {
        self.places[turn as usize & (self.places.len() - 1)]
    }

    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.tail_turn.wrapping_sub(self.head_turn) - self.stale_places
    }

    /// The frame at the head of a queue that is not empty.
    #[inline]
    pub(crate) fn head(&self) -> Frame {
        self.at(self.head_turn)
    }

    /// The frame at the head of a queue that is not empty leaves it.
    #[inline]
    pub(crate) fn pop_head(&mut self) -> Frame {
        let frame = self.head();
        self.head_turn = self.head_turn.wrapping_add(1);
        if self.stale_places > 0 {
            self.pass_stale_places();
        }
        frame
    }

    /// Adds `frame`, which is not in the queue, at the tail.
    #[inline]
    pub(crate) fn push_tail(&mut self, frame: Frame) {
        if self.tail_turn.wrapping_sub(self.head_turn) as usize == self.places.len() {
            self.make_place();
        }
        let place = self.tail_turn as usize & (self.places.len() - 1);
        self.places[place] = frame;
        self.tail_turn = self.tail_turn.wrapping_add(1);
    }

    /// The first frame that `accepts` names leaves the queue; those before it keep their order.
    #[inline]
    pub(crate) fn pop_first(&mut self, accepts: impl Fn(Frame) -> bool) -> Option<Frame> {
        if self.len() > 0 && accepts(self.head()) {
            return Some(self.pop_head());
        }
        self.pop_behind_head(accepts)
    }

    #[cold]
    fn pop_behind_head(&mut self, accepts: impl Fn(Frame) -> bool) -> Option<Frame> {
        if self.stale_places > 0 {
            self.rebuild(self.places.len());
        }
        let position = self.iter().position(accepts)? as u32;
        let places = self.places.len() - 1;
        let place = |position: u32| self.head_turn.wrapping_add(position) as usize & places;
        let frame = self.places[place(position)];
        for position in (0..position).rev() {
            self.places[place(position + 1)] = self.places[place(position)];
        }
        self.head_turn = self.head_turn.wrapping_add(1);
        Some(frame)
    }

    /// `frame`, which is in the queue, leaves it out of turn.
    pub(crate) fn remove(&mut self, frame: Frame) {
        if self.stale_places_of.len() <= frame.index() {
            self.stale_places_of.resize(frame.index() + 1, 0);
        }
        self.stale_places_of[frame.index()] += 1;
        self.stale_places += 1;
        self.pass_stale_places();
    }

    /// The hand goes on to a frame that is in the queue.
    #[cold]
    fn pass_stale_places(&mut self) {
        while self.stale_places > 0 {
            let head = self.head().index();
            match self.stale_places_of.get_mut(head) {
                Some(stale) if *stale > 0 => *stale -= 1,
                _ => return,
            }
            self.stale_places -= 1;
            self.head_turn = self.head_turn.wrapping_add(1);
        }
    }

    /// Closes stale places, or takes twice as many places if fewer than half are stale.
    #[cold]
    fn make_place(&mut self) {
        let is_mostly_stale = self.stale_places as usize > self.places.len() / 2;
        self.rebuild(if is_mostly_stale { self.places.len() } else { 2 * self.places.len() });
    }

    fn rebuild(&mut self, places: usize) {
        let mut rebuilt = vec![Frame::NONE; places];
        let len = rebuilt.iter_mut().zip(self.iter()).map(|(place, frame)| *place = frame).count();
        (self.places, self.head_turn, self.tail_turn) = (rebuilt, 0, len as u32);
        self.stale_places = 0;
        self.stale_places_of.fill(0);
    }

    /// The frames from head to tail.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Frame> + '_ {
        let mut stale_places_of = self.stale_places_of.clone();
        let places = self.tail_turn.wrapping_sub(self.head_turn);
        let frames = (0..places).map(|position| self.at(self.head_turn.wrapping_add(position)));
        frames.filter(move |frame| match stale_places_of.get_mut(frame.index()) {
            Some(stale) if *stale > 0 => {
                *stale -= 1;
                false
            }
            _ => true,
        })
    }

    /// Asserts that places and length agree, and that no frame is in the queue twice.
    pub(crate) fn check_invariants(&self) {
        let mut frames: Vec<Frame> = self.iter().collect();
        assert_eq!(frames.len(), self.len() as usize, "a queue's length is wrong");
        assert_eq!(
            frames.first().copied().unwrap_or(self.head()),
            self.head(),
            "the head is stale"
        );
        let stale_places: u32 = self.stale_places_of.iter().sum();
        assert_eq!(stale_places, self.stale_places, "the number of stale places is wrong");
        frames.sort_unstable();
        assert!(frames.is_sorted_by(|one, next| one < next), "a frame is in a queue twice");
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::VecDeque;

    use super::*;

    #[test]
    fn a_queue_is_a_plain_vector() {
        let frames = 40;
        let mut queue = FrameQueue::new();
        // Turns pass their largest number.
        (queue.head_turn, queue.tail_turn) = (u32::MAX - 1_000, u32::MAX - 1_000);
        let mut expected: VecDeque<Frame> = VecDeque::new();
        let mut number = 1_u64;
        for _ in 0..20_000 {
            number = number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let frame = Frame((number >> 33) as u32 % frames);
            let is_there = expected.contains(&frame);
            match number >> 60 {
                0..8 if !is_there => {
                    queue.push_tail(frame);
                    expected.push_back(frame);
                }
                8..10 if !expected.is_empty() => {
                    assert_eq!(queue.head(), expected[0]);
                    assert_eq!(Some(queue.pop_head()), expected.pop_front());
                }
                10..12 => {
                    let accepts = |frame: Frame| frame.0 % 4 == 1;
                    let found = expected.iter().position(|&frame| accepts(frame));
                    let found = found.and_then(|position| expected.remove(position));
                    assert_eq!(queue.pop_first(accepts), found);
                }
                12.. if is_there => {
                    queue.remove(frame);
                    expected.retain(|&other| other != frame);
                }
                _ => {}
            }
            assert!(queue.iter().eq(expected.iter().copied()));
            queue.check_invariants();
        }
    }
}
