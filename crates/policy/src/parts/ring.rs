//! The ring of a clock: all pages in the order in which the hand reaches them.

use super::{FrameList, Links};
use crate::{Frame, Frames};

/// The steps of a hand on a ring, whichever way the ring is kept.
pub(crate) trait Turn {
    /// The first page from the hand that `is_taken` leaves; the hand passes it and those before it.
    fn take_first(&mut self, is_taken: impl FnMut(Frame) -> bool) -> Frame;
}

/// A ring that is the frames themselves: they are filled in order, and a new page takes its victim's place, which is
/// the one that the hand reaches last. No link is followed and none kept.
#[derive(Clone, Debug)]
pub(crate) struct FrameRing {
    hand: u32,
    frames: u32,
    /// The frames that hold no page: those before the hand.
    empty: u32,
}

/// A ring of any frames in any order: what is left of a [`FrameRing`] when pages leave out of turn, or several at once.
/// The hand is at the head of the list.
#[derive(Clone, Debug)]
pub(crate) struct LinkedRing {
    links: Links,
    list: FrameList,
}

/// A ring in place as long as each page that leaves makes room for the next one that is loaded, and linked from then on.
#[derive(Clone, Debug)]
pub(crate) enum Ring {
    InPlace(FrameRing),
    Linked(LinkedRing),
}

impl FrameRing {
    pub(crate) fn new(frames: u32) -> Self {
        FrameRing { hand: 0, frames, empty: frames }
    }

    pub(crate) fn hand(&self) -> u32 {
        self.hand
    }

    pub(crate) fn frames(&self) -> u32 {
        self.frames
    }

    /// Returns whether every frame holds a page.
    #[inline]
    pub(crate) fn is_whole(&self) -> bool {
        self.empty == 0
    }

    /// A page has been loaded into the next frame, or into the last victim's.
    #[inline]
    pub(crate) fn load(&mut self) {
        self.empty -= 1;
    }

    /// The hand takes the page in `frame` and moves behind it.
    #[inline]
    pub(crate) fn take_and_stand_behind(&mut self, frame: Frame) {
        self.hand = next_position(frame.0, self.frames);
        self.empty = 1;
    }

    /// The first page from the hand that is not referenced leaves; those before it lose their bits.
    #[inline(always)]
    pub(crate) fn take_unreferenced<F: Frames>(&mut self, frames: &mut F) -> Frame {
        let mut start = self.hand;
        loop {
            if let Some(victim) = frames.first_unreferenced_clearing(start..self.frames) {
                self.take_and_stand_behind(victim);
                return victim;
            }
            start = 0;
        }
    }

    /// The last victim's frame, until it is filled.
    pub(crate) fn gap(&self) -> Option<Frame> {
        (self.empty == 1).then(|| Frame(if self.hand == 0 { self.frames } else { self.hand } - 1))
    }

    /// All pages from the hand.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Frame> + use<> {
        frames_from(self.hand, self.frames).take((self.frames - self.empty) as usize)
    }
}

impl Turn for FrameRing {
    #[inline(always)]
    fn take_first(&mut self, mut is_taken: impl FnMut(Frame) -> bool) -> Frame {
        let mut hand = self.hand;
        loop {
            let frame = Frame(hand);
            hand = next_position(hand, self.frames);
            if is_taken(frame) {
                (self.hand, self.empty) = (hand, 1);
                return frame;
            }
        }
    }
}

impl LinkedRing {
    /// The page behind `frame`, once around.
    #[inline]
    pub(crate) fn next(&self, frame: Frame) -> Frame {
        match self.links.next(frame) {
            Frame::NONE => self.list.head(),
            next => next,
        }
    }

    pub(crate) fn len(&self) -> u32 {
        self.list.len()
    }

    /// The page under the hand, [[`Frame::NONE`]] in an empty ring.
    pub(crate) fn under_hand(&self) -> Frame {
        self.list.head()
    }

    /// The hand takes `frame`, and moves to the page behind it: pages that it has passed are reached last.
    pub(crate) fn take_and_stand_behind(&mut self, frame: Frame) {
        self.list.turn_to(&mut self.links, frame);
        self.list.remove(&mut self.links, frame);
    }

    pub(crate) fn push_tail(&mut self, frame: Frame) {
        self.list.push_tail(&mut self.links, frame);
    }

    pub(crate) fn remove(&mut self, frame: Frame) {
        self.list.remove(&mut self.links, frame);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Frame> + '_ {
        self.list.iter(&self.links)
    }

    pub(crate) fn check_invariants(&self) {
        self.list.check_invariants(&self.links);
    }

    /// A ring of `pages`, for a memory of `frames` frames.
    pub(crate) fn of(pages: impl Iterator<Item = Frame>, frames: u32) -> Self {
        let mut ring = LinkedRing { links: Links::new(frames), list: FrameList::EMPTY };
        pages.for_each(|frame| ring.push_tail(frame));
        ring
    }
}

impl Turn for LinkedRing {
    fn take_first(&mut self, mut is_taken: impl FnMut(Frame) -> bool) -> Frame {
        loop {
            let frame = self.list.head();
            if is_taken(frame) {
                self.list.remove(&mut self.links, frame);
                return frame;
            }
            self.list.move_to_tail(&mut self.links, frame);
        }
    }
}

impl Ring {
    pub(crate) fn new(frames: u32) -> Self {
        Ring::InPlace(FrameRing::new(frames))
    }

    /// Makes ready for the choice of a victim: a ring in place has a page in every frame.
    #[inline]
    pub(crate) fn before_victim(&mut self) {
        if let Ring::InPlace(ring) = self
            && !ring.is_whole()
        {
            self.link();
        }
    }

    /// A page has been loaded into `frame`.
    #[inline]
    pub(crate) fn loaded(&mut self, frame: Frame) {
        match self {
            Ring::InPlace(ring) => ring.load(),
            Ring::Linked(ring) => ring.push_tail(frame),
        }
    }

    /// The page in `frame` leaves out of turn.
    pub(crate) fn remove(&mut self, frame: Frame) {
        self.link().remove(frame);
    }

    #[cold]
    fn link(&mut self) -> &mut LinkedRing {
        if let Ring::InPlace(ring) = self {
            *self = Ring::Linked(LinkedRing::of(ring.iter(), ring.frames));
        }
        match self {
            Ring::Linked(ring) => ring,
            Ring::InPlace(_) => unreachable!("the ring is linked now"),
        }
    }

    /// The page under the hand that is not pinned, or the first behind it.
    pub(crate) fn first(&self, accepts: impl Fn(Frame) -> bool) -> Option<Frame> {
        match self {
            Ring::InPlace(ring) => ring.iter().find(|&frame| accepts(frame)),
            Ring::Linked(ring) => ring.iter().find(|&frame| accepts(frame)),
        }
    }

    /// All pages from the hand.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Frame> {
        let (in_place, linked) = match self {
            Ring::InPlace(ring) => (Some(ring.iter()), None),
            Ring::Linked(ring) => (None, Some(ring.iter())),
        };
        in_place.into_iter().flatten().chain(linked.into_iter().flatten())
    }

    /// Asserts that links and length agree.
    pub(crate) fn check_invariants(&self) {
        if let Ring::Linked(ring) = self {
            ring.check_invariants();
        }
    }
}

/// The position behind `position` on a ring of `len`.
#[inline]
pub(crate) fn next_position(position: u32, len: u32) -> u32 {
    if position + 1 == len { 0 } else { position + 1 }
}

/// The frames of a ring of `len`, once around from `start`.
pub(crate) fn frames_from(start: u32, len: u32) -> impl Iterator<Item = Frame> {
    (start..len).chain(0..start).map(Frame)
}
