//! Lists of frames, each in the order of its frames' keys.

use alloc::vec;
use alloc::vec::Vec;

use super::{FrameList, Links};
use crate::{Frame, Frames};

/// Lists that share their links, so that a frame is in at most one of them. A frame keeps its key, such as the number
/// of a reference, when it goes from one list to another.
#[derive(Clone, Debug)]
pub(crate) struct KeyedLists<K, const LISTS: usize> {
    links: Links,
    lists: [FrameList; LISTS],
    /// By frame.
    list_of: Vec<Option<u8>>,
    keys: Vec<K>,
}

impl<K: Copy + Ord + Default, const LISTS: usize> KeyedLists<K, LISTS> {
    pub(crate) fn new(frames: u32) -> Self {
        KeyedLists {
            links: Links::new(frames),
            lists: [FrameList::EMPTY; LISTS],
            list_of: vec![None; frames as usize],
            keys: vec![K::default(); frames as usize],
        }
    }

    #[inline]
    pub(crate) fn len(&self, list: usize) -> u32 {
        self.lists[list].len()
    }

    /// The list of `frame`, if it is in one.
    #[inline]
    pub(crate) fn list_of(&self, frame: Frame) -> Option<usize> {
        self.list_of[frame.index()].map(usize::from)
    }

    #[inline]
    pub(crate) fn key(&self, frame: Frame) -> K {
        self.keys[frame.index()]
    }

    /// Adds `frame`, which is in no list, at the tail of `list`; no key there is greater than `key`.
    #[inline]
    pub(crate) fn push_tail(&mut self, list: usize, frame: Frame, key: K) {
        self.keys[frame.index()] = key;
        self.list_of[frame.index()] = Some(list as u8);
        self.lists[list].push_tail(&mut self.links, frame);
    }

    /// `frame` leaves its list, if it is in one.
    #[inline]
    pub(crate) fn remove(&mut self, frame: Frame) {
        if let Some(list) = self.list_of[frame.index()].take() {
            self.lists[usize::from(list)].remove(&mut self.links, frame);
        }
    }

    /// `frame` leaves its list for where `key` belongs in `list`, behind those of an equal key. One step for each greater
    /// key there.
    pub(crate) fn place(&mut self, list: usize, frame: Frame, key: K) {
        self.remove(frame);
        let mut before = self.lists[list].tail();
        while before != Frame::NONE && self.key(before) > key {
            before = self.links.previous(before);
        }
        self.keys[frame.index()] = key;
        self.list_of[frame.index()] = Some(list as u8);
        self.lists[list].insert_after(&mut self.links, before, frame);
    }

    /// `frame`, if it is in list `from`, goes with its key to list `to`.
    pub(crate) fn shift(&mut self, from: usize, to: usize, frame: Frame) {
        if self.list_of(frame) == Some(from) {
            self.place(to, frame, self.key(frame));
        }
    }

    /// The frame nearest the head of `list` whose page can leave.
    #[inline]
    pub(crate) fn first_unpinned<F: Frames>(&self, list: usize, frames: &F) -> Option<Frame> {
        self.iter(list).find(|&frame| !frames.is_pinned(frame))
    }

    /// The frames of `list` from head to tail.
    pub(crate) fn iter(&self, list: usize) -> impl Iterator<Item = Frame> + '_ {
        self.lists[list].iter(&self.links)
    }

    /// Asserts that links, lengths, numbers and orders agree.
    pub(crate) fn check_invariants(&self) {
        for list in 0..LISTS {
            self.lists[list].check_invariants(&self.links);
            assert!(self.iter(list).is_sorted_by_key(|frame| self.key(frame)), "keys out of order");
            let listed = self.iter(list).all(|frame| self.list_of(frame) == Some(list));
            assert!(listed, "a page is in another list");
        }
        let listed: u32 = self.lists.iter().map(FrameList::len).sum();
        let known = self.list_of.iter().flatten().count();
        assert_eq!(known, listed as usize, "a frame has a list and is in none");
    }
}
