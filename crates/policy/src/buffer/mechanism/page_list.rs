//! An LRU list of pages by their addresses.

use alloc::vec::Vec;

use crate::parts::{FrameList, Links};
use crate::{Frame, LogicalPage};

/// A listed page. 28 bytes with its links and its place among the unused.
#[derive(Clone, Copy, Debug)]
struct Entry {
    page: LogicalPage,
    /// The next frame that holds a page of the same block.
    next_of_block: Frame,
}

/// Pages from the least to the most recently used one. A page is found from the first frame of its block, which its
/// owner keeps: in as many steps as the block has pages in the list.
#[derive(Clone, Debug)]
pub(crate) struct LogicalPageList {
    entries: Vec<Entry>,
    unused: Vec<Frame>,
    links: Links,
    list: FrameList,
}

impl LogicalPageList {
    pub(crate) fn new() -> Self {
        LogicalPageList {
            entries: Vec::new(),
            unused: Vec::new(),
            links: Links::new(0),
            list: FrameList::EMPTY,
        }
    }

    pub(crate) fn len(&self) -> u32 {
        self.list.len()
    }

    /// Lists `page`, which is not listed, as the most recently used one.
    pub(crate) fn insert(&mut self, first_of_block: &mut Frame, page: LogicalPage) {
        let entry = Entry { page, next_of_block: *first_of_block };
        let frame = match self.unused.pop() {
            Some(frame) => {
                self.entries[frame.index()] = entry;
                frame
            }
            None => {
                self.entries.push(entry);
                Frame(self.entries.len() as u32 - 1)
            }
        };
        self.links.grow_to(frame);
        *first_of_block = frame;
        self.list.push_tail(&mut self.links, frame);
    }

    /// Makes `page`, which is listed, the most recently used one.
    pub(crate) fn use_now(&mut self, first_of_block: Frame, page: LogicalPage) {
        let mut frame = first_of_block;
        while self.entries[frame.index()].page != page {
            frame = self.entries[frame.index()].next_of_block;
        }
        self.list.move_to_tail(&mut self.links, frame);
    }

    /// Unlists `page`, which is listed.
    pub(crate) fn remove(&mut self, first_of_block: &mut Frame, page: LogicalPage) {
        let (mut before, mut frame) = (Frame::NONE, *first_of_block);
        while self.entries[frame.index()].page != page {
            (before, frame) = (frame, self.entries[frame.index()].next_of_block);
        }
        let next = self.entries[frame.index()].next_of_block;
        match before {
            Frame::NONE => *first_of_block = next,
            before => self.entries[before.index()].next_of_block = next,
        }
        self.unlist(frame);
    }

    /// Unlists all pages of a block.
    pub(crate) fn remove_block(&mut self, first_of_block: &mut Frame) {
        let mut frame = core::mem::replace(first_of_block, Frame::NONE);
        while frame != Frame::NONE {
            self.unlist(frame);
            frame = self.entries[frame.index()].next_of_block;
        }
    }

    fn unlist(&mut self, frame: Frame) {
        self.list.remove(&mut self.links, frame);
        self.unused.push(frame);
    }

    /// The least recently used page.
    pub(crate) fn least_recently_used(&self) -> Option<LogicalPage> {
        self.entries.get(self.list.head().index()).map(|entry| entry.page)
    }

    /// The pages from the least to the most recently used one.
    pub(crate) fn iter(&self) -> impl Iterator<Item = LogicalPage> + '_ {
        self.list.iter(&self.links).map(|frame| self.entries[frame.index()].page)
    }

    /// `first_of_block` takes a page and returns the owner's entry of its block.
    pub(crate) fn check_invariants(&self, first_of_block: impl Fn(LogicalPage) -> Frame) {
        self.list.check_invariants(&self.links);
        let listed = self.entries.len() - self.unused.len();
        assert_eq!(listed, self.list.len() as usize, "the frames in use");
        for frame in self.list.iter(&self.links) {
            let mut of_block = first_of_block(self.entries[frame.index()].page);
            while of_block != frame {
                assert_ne!(of_block, Frame::NONE, "a page is not found from its block");
                of_block = self.entries[of_block.index()].next_of_block;
            }
        }
    }
}
