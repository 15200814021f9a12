//! Lists of frames or of pages, threaded through arrays: no allocation after construction, constant time per
//! step.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Debug;

use crate::{Frame, PageId};

/// The element of a list: an index into the array of links, with one value that stands for no index.
pub(crate) trait Listed: Copy + Eq + Debug {
    /// The end of a list.
    const NONE: Self;
    fn index(self) -> usize;
    fn from_index(index: u32) -> Self;
}

impl Listed for Frame {
    const NONE: Frame = Frame::NONE;

    #[inline]
    fn index(self) -> usize {
        Frame::index(self)
    }

    #[inline]
    fn from_index(index: u32) -> Self {
        Frame(index)
    }
}

impl Listed for PageId {
    const NONE: PageId = PageId(u32::MAX);

    #[inline]
    fn index(self) -> usize {
        PageId::index(self)
    }

    #[inline]
    fn from_index(index: u32) -> Self {
        PageId(index)
    }
}

#[derive(Clone, Copy, Debug)]
struct Link<T> {
    previous: T,
    next: T,
}

/// One link per frame or page. Lists that share a `Links` share its entries: each is in at most one of them.
#[derive(Clone, Debug)]
pub(crate) struct Links<T = Frame>(Vec<Link<T>>);

/// The ends of a list, from its head (the page under the hand, or the least recently used one) to its tail.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List<T> {
    head: T,
    tail: T,
    len: u32,
}

/// A list of page frames.
pub(crate) type FrameList = List<Frame>;

/// A list of pages, whether they are in memory or not.
pub(crate) type PageList = List<PageId>;

impl<T: Listed> Links<T> {
    pub(crate) fn new(entries: u32) -> Self {
        Links(vec![Link { previous: T::NONE, next: T::NONE }; entries as usize])
    }

    /// Makes room for `entry` where the number of entries is not known beforehand.
    pub(crate) fn grow_to(&mut self, entry: T) {
        if entry.index() >= self.0.len() {
            self.0.resize(entry.index() + 1, Link { previous: T::NONE, next: T::NONE });
        }
    }

    /// The entry behind `entry` on the way to the tail, or [`Listed::NONE`].
    #[inline]
    pub(crate) fn next(&self, entry: T) -> T {
        self.0[entry.index()].next
    }

    /// The entry before `entry` on the way to the head, or [`Listed::NONE`].
    #[inline]
    pub(crate) fn previous(&self, entry: T) -> T {
        self.0[entry.index()].previous
    }
}

impl<T: Listed> List<T> {
    pub(crate) const EMPTY: Self = List { head: T::NONE, tail: T::NONE, len: 0 };

    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    pub(crate) fn head(&self) -> T {
        self.head
    }

    #[inline]
    pub(crate) fn tail(&self) -> T {
        self.tail
    }

    /// Links `entry`, which is in no list of these links, at the tail.
    #[inline]
    pub(crate) fn push_tail(&mut self, links: &mut Links<T>, entry: T) {
        self.insert_after(links, self.tail, entry);
    }

    /// Links `entry`, which is in no list of these links, at the head.
    #[inline]
    pub(crate) fn push_head(&mut self, links: &mut Links<T>, entry: T) {
        self.insert_after(links, T::NONE, entry);
    }

    /// Links `entry` behind `before`, or at the head if `before` is [`Listed::NONE`].
    #[inline]
    pub(crate) fn insert_after(&mut self, links: &mut Links<T>, before: T, entry: T) {
        let after = if before == T::NONE { self.head } else { links.next(before) };
        links.0[entry.index()] = Link { previous: before, next: after };
        if before == T::NONE {
            self.head = entry;
        } else {
            links.0[before.index()].next = entry;
        }
        if after == T::NONE {
            self.tail = entry;
        } else {
            links.0[after.index()].previous = entry;
        }
        self.len += 1;
    }

    /// Unlinks `entry`, which is in this list.
    #[inline]
    pub(crate) fn remove(&mut self, links: &mut Links<T>, entry: T) {
        let Link { previous, next } = links.0[entry.index()];
        if previous == T::NONE {
            self.head = next;
        } else {
            links.0[previous.index()].next = next;
        }
        if next == T::NONE {
            self.tail = previous;
        } else {
            links.0[next.index()].previous = previous;
        }
        self.len -= 1;
    }

    /// Moves `entry`, which is in this list, to the tail.
    #[inline]
    pub(crate) fn move_to_tail(&mut self, links: &mut Links<T>, entry: T) {
        if self.tail == entry {
            return;
        }
        let links = &mut links.0[..];
        let Link { previous, next } = links[entry.index()];
        if previous == T::NONE {
            self.head = next;
        } else {
            links[previous.index()].next = next;
        }
        links[next.index()].previous = previous;
        links[self.tail.index()].next = entry;
        links[entry.index()] = Link { previous: self.tail, next: T::NONE };
        self.tail = entry;
    }

    /// Makes `entry`, which is in this list, the head; what was before it comes last, in the same order.
    pub(crate) fn turn_to(&mut self, links: &mut Links<T>, entry: T) {
        let before = links.previous(entry);
        if before == T::NONE {
            return;
        }
        links.0[self.tail.index()].next = self.head;
        links.0[self.head.index()].previous = self.tail;
        links.0[before.index()].next = T::NONE;
        links.0[entry.index()].previous = T::NONE;
        (self.head, self.tail) = (entry, before);
    }

    /// The entries from head to tail.
    pub(crate) fn iter<'a>(&self, links: &'a Links<T>) -> impl Iterator<Item = T> + use<'a, T> {
        let mut entry = self.head;
        core::iter::from_fn(move || {
            let current = entry;
            (current != T::NONE).then(|| {
                entry = links.next(current);
                current
            })
        })
    }

    /// The entries from tail to head.
    pub(crate) fn iter_back<'a>(
        &self,
        links: &'a Links<T>,
    ) -> impl Iterator<Item = T> + use<'a, T> {
        let mut entry = self.tail;
        core::iter::from_fn(move || {
            let current = entry;
            (current != T::NONE).then(|| {
                entry = links.previous(current);
                current
            })
        })
    }

    /// Walks the list both ways and asserts that links and length agree.
    pub(crate) fn check_invariants(&self, links: &Links<T>) {
        let (mut count, mut previous) = (0, T::NONE);
        for entry in self.iter(links) {
            assert_eq!(links.previous(entry), previous, "a back link is wrong");
            previous = entry;
            count += 1;
            assert!(count <= self.len, "the list is longer than its length");
        }
        assert_eq!((previous, count), (self.tail, self.len), "the list's end or length is wrong");
    }
}
