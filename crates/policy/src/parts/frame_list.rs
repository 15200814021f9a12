//! Lists of frames, threaded through arrays: no allocation after construction, constant time per step.

use alloc::vec;
use alloc::vec::Vec;

use crate::Frame;

#[derive(Clone, Copy, Debug)]
struct Link {
    previous: Frame,
    next: Frame,
}

/// One link per frame. Lists that share a `Links` share its frames: a frame is in at most one of them.
#[derive(Clone, Debug)]
pub(crate) struct Links(Vec<Link>);

/// The ends of a list, from its head (the page under the hand, or the least recently used one) to its tail.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameList {
    head: Frame,
    tail: Frame,
    len: u32,
}

impl Links {
    pub(crate) fn new(frames: u32) -> Self {
        Links(vec![Link { previous: Frame::NONE, next: Frame::NONE }; frames as usize])
    }

    /// The frame behind `frame` on the way to the tail, or [`Frame::NONE`].
    #[inline]
    pub(crate) fn next(&self, frame: Frame) -> Frame {
        self.0[frame.index()].next
    }

    /// The frame before `frame` on the way to the head, or [`Frame::NONE`].
    #[inline]
    pub(crate) fn previous(&self, frame: Frame) -> Frame {
        self.0[frame.index()].previous
    }
}

impl FrameList {
    pub(crate) const EMPTY: FrameList = FrameList { head: Frame::NONE, tail: Frame::NONE, len: 0 };

    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    pub(crate) fn head(&self) -> Frame {
        self.head
    }

    #[inline]
    pub(crate) fn tail(&self) -> Frame {
        self.tail
    }

    /// Links `frame`, which is in no list of these links, at the tail.
    #[inline]
    pub(crate) fn push_tail(&mut self, links: &mut Links, frame: Frame) {
        self.insert_after(links, self.tail, frame);
    }

    /// Links `frame` behind `before`, or at the head if `before` is [`Frame::NONE`].
    #[inline]
    pub(crate) fn insert_after(&mut self, links: &mut Links, before: Frame, frame: Frame) {
        let after = if before == Frame::NONE { self.head } else { links.next(before) };
        links.0[frame.index()] = Link { previous: before, next: after };
        match before {
            Frame::NONE => self.head = frame,
            _ => links.0[before.index()].next = frame,
        }
        match after {
            Frame::NONE => self.tail = frame,
            _ => links.0[after.index()].previous = frame,
        }
        self.len += 1;
    }

    /// Unlinks `frame`, which is in this list.
    #[inline]
    pub(crate) fn remove(&mut self, links: &mut Links, frame: Frame) {
        let Link { previous, next } = links.0[frame.index()];
        match previous {
            Frame::NONE => self.head = next,
            _ => links.0[previous.index()].next = next,
        }
        match next {
            Frame::NONE => self.tail = previous,
            _ => links.0[next.index()].previous = previous,
        }
        self.len -= 1;
    }

    /// Moves `frame`, which is in this list, to the tail.
    #[inline]
    pub(crate) fn move_to_tail(&mut self, links: &mut Links, frame: Frame) {
        if self.tail != frame {
            self.remove(links, frame);
            self.push_tail(links, frame);
        }
    }

    /// The frames from head to tail.
    pub(crate) fn iter<'a>(&self, links: &'a Links) -> impl Iterator<Item = Frame> + use<'a> {
        let mut frame = self.head;
        core::iter::from_fn(move || {
            let current = frame;
            (current != Frame::NONE).then(|| {
                frame = links.next(current);
                current
            })
        })
    }

    /// Walks the list both ways and asserts that links and length agree.
    pub(crate) fn check_invariants(&self, links: &Links) {
        let (mut count, mut previous) = (0, Frame::NONE);
        for frame in self.iter(links) {
            assert_eq!(links.previous(frame), previous, "a back link is wrong");
            previous = frame;
            count += 1;
            assert!(count <= self.len, "the list is longer than its length");
        }
        assert_eq!((previous, count), (self.tail, self.len), "the list's end or length is wrong");
    }
}
