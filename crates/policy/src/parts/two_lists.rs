//! Two lists of frames; each page in memory is in one of them.

use alloc::vec;
use alloc::vec::Vec;

use crate::Frame;

#[derive(Clone, Copy, Debug)]
struct Link {
    previous: Frame,
    next: Frame,
}

/// Two lists, numbered 0 and 1, from their heads to their tails, through links that they share.
///
/// Each list is a circle of links, closed by one that belongs to no frame. A frame thus leaves its list without a
/// branch on its place or its list, which the processor could not predict. Takes 9 bytes per frame.
#[derive(Clone, Debug)]
pub(crate) struct TwoLists {
    /// By frame; then those that close list 0 and list 1.
    links: Vec<Link>,
    is_in_1: Vec<bool>,
    len_0: u32,
    len: u32,
}

impl TwoLists {
    pub(crate) fn new(frames: u32) -> Self {
        let closed =
            |list: u32| Link { previous: Frame(frames + list), next: Frame(frames + list) };
        let mut links = vec![closed(0); frames as usize];
        links.extend([closed(0), closed(1)]);
        TwoLists { links, is_in_1: vec![false; frames as usize], len_0: 0, len: 0 }
    }

    #[inline]
    pub(crate) fn len(&self, list: usize) -> u32 {
        if list == 0 { self.len_0 } else { self.len - self.len_0 }
    }

    /// The link that closes `list`.
    #[inline]
    fn end(&self, list: usize) -> Frame {
        Frame((self.is_in_1.len() + list) as u32)
    }

    /// The frame at the head of a list that is not empty.
    #[inline]
    pub(crate) fn head(&self, list: usize) -> Frame {
        self.links[self.end(list).index()].next
    }

    /// The frame behind `frame` in its list, unless it is the last one.
    #[inline]
    pub(crate) fn next(&self, frame: Frame) -> Option<Frame> {
        let next = self.links[frame.index()].next;
        (next.index() < self.is_in_1.len()).then_some(next)
    }

    /// The frame at the head of `list`, unless it is empty.
    pub(crate) fn first(&self, list: usize) -> Option<Frame> {
        self.next(self.end(list))
    }

    #[inline]
    fn unlink(&mut self, frame: Frame) {
        let Link { previous, next } = self.links[frame.index()];
        self.links[previous.index()].next = next;
        self.links[next.index()].previous = previous;
    }

    #[inline]
    fn link_at_tail(&mut self, list: usize, frame: Frame) {
        let end = self.end(list);
        let previous = self.links[end.index()].previous;
        self.links[frame.index()] = Link { previous, next: end };
        self.links[previous.index()].next = frame;
        self.links[end.index()].previous = frame;
    }

    /// Adds `frame`, which is in no list, at the tail of `list`.
    #[inline]
    pub(crate) fn push_tail(&mut self, list: usize, frame: Frame) {
        self.link_at_tail(list, frame);
        self.is_in_1[frame.index()] = list == 1;
        self.len_0 += u32::from(list == 0);
        self.len += 1;
    }

    /// `frame` leaves its list.
    #[inline]
    pub(crate) fn remove(&mut self, frame: Frame) {
        self.unlink(frame);
        self.len_0 -= u32::from(!self.is_in_1[frame.index()]);
        self.len -= 1;
    }

    /// `frame` leaves its list for the tail of list 1.
    #[inline]
    pub(crate) fn move_to_tail_of_1(&mut self, frame: Frame) {
        self.unlink(frame);
        self.link_at_tail(1, frame);
        let was_in_1 = core::mem::replace(&mut self.is_in_1[frame.index()], true);
        self.len_0 -= u32::from(!was_in_1);
    }

    /// The frames of `list` from head to tail.
    pub(crate) fn iter(&self, list: usize) -> impl Iterator<Item = Frame> + '_ {
        let mut frame = self.end(list);
        core::iter::repeat_with(move || {
            frame = self.links[frame.index()].next;
            frame
        })
        .take(self.len(list) as usize)
    }

    /// Asserts that links, numbers and lengths agree.
    pub(crate) fn check_invariants(&self) {
        for list in [0, 1] {
            let mut previous = self.end(list);
            for frame in self.iter(list) {
                assert_eq!(self.links[frame.index()].previous, previous, "a back link is wrong");
                assert_eq!(self.is_in_1[frame.index()], list == 1, "a page is in the other list");
                previous = frame;
            }
            let Link { previous: tail, .. } = self.links[self.end(list).index()];
            assert_eq!(tail, previous, "a list's end or length is wrong");
            assert_eq!(self.links[tail.index()].next, self.end(list), "a list is not closed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_lists_are_two_plain_vectors() {
        let frames = 20;
        let mut lists = TwoLists::new(frames);
        let mut expected: [Vec<Frame>; 2] = [vec![], vec![]];
        let mut number = 1_u64;
        for _ in 0..5_000 {
            number = number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let frame = Frame((number >> 33) as u32 % frames);
            let was_there = expected.iter().any(|list| list.contains(&frame));
            expected.iter_mut().for_each(|list| list.retain(|&other| other != frame));
            let list = (number >> 20) as usize & 1;
            match (was_there, number >> 63) {
                (false, _) => {
                    lists.push_tail(list, frame);
                    expected[list].push(frame);
                }
                (true, 0) => {
                    lists.move_to_tail_of_1(frame);
                    expected[1].push(frame);
                }
                (true, _) => lists.remove(frame),
            }
            lists.check_invariants();
            for (list, expected) in expected.iter().enumerate() {
                assert!(lists.iter(list).eq(expected.iter().copied()));
                assert_eq!(lists.len(list) as usize, expected.len());
                assert!(expected.first().is_none_or(|&head| lists.head(list) == head));
            }
        }
    }
}
