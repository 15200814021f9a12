//! An LRU list of pages by their addresses.

use alloc::vec::Vec;

use crate::parts::{AddressMap, FrameList, Links};
use crate::{Frame, LogicalPage};

/// Pages from the least to the most recently used one, each found in constant time. 16 bytes per page, and 21
/// to 43 in the map.
#[derive(Clone, Debug)]
pub(crate) struct LogicalPageList {
    frame_of_page: AddressMap,
    pages: Vec<LogicalPage>,
    unused: Vec<Frame>,
    links: Links,
    list: FrameList,
}

impl LogicalPageList {
    pub(crate) fn new() -> Self {
        LogicalPageList {
            frame_of_page: AddressMap::new(),
            pages: Vec::new(),
            unused: Vec::new(),
            links: Links::new(0),
            list: FrameList::EMPTY,
        }
    }

    pub(crate) fn len(&self) -> u32 {
        self.list.len()
    }

    /// Lists `page`, which is not listed, as the most recently used one.
    pub(crate) fn insert(&mut self, page: LogicalPage) {
        let frame = match self.unused.pop() {
            Some(frame) => {
                self.pages[frame.index()] = page;
                frame
            }
            None => {
                self.pages.push(page);
                Frame(self.pages.len() as u32 - 1)
            }
        };
        self.links.grow_to(frame);
        self.frame_of_page.insert(page.0, frame.0);
        self.list.push_tail(&mut self.links, frame);
    }

    fn frame_of(&self, page: LogicalPage) -> Frame {
        Frame(self.frame_of_page.get(page.0).expect("the page is listed"))
    }

    /// Makes `page`, which is listed, the most recently used one.
    pub(crate) fn use_now(&mut self, page: LogicalPage) {
        let frame = self.frame_of(page);
        self.list.move_to_tail(&mut self.links, frame);
    }

    /// Unlists `page`, which is listed.
    pub(crate) fn remove(&mut self, page: LogicalPage) {
        let frame = self.frame_of(page);
        self.list.remove(&mut self.links, frame);
        self.frame_of_page.remove(page.0);
        self.unused.push(frame);
    }

    /// The least recently used page.
    pub(crate) fn least_recently_used(&self) -> Option<LogicalPage> {
        self.pages.get(self.list.head().index()).copied()
    }

    /// The pages from the least to the most recently used one.
    pub(crate) fn iter(&self) -> impl Iterator<Item = LogicalPage> + '_ {
        self.list.iter(&self.links).map(|frame| self.pages[frame.index()])
    }

    pub(crate) fn check_invariants(&self) {
        self.list.check_invariants(&self.links);
        assert_eq!(self.frame_of_page.len(), self.list.len() as usize, "the map's length");
        for frame in self.list.iter(&self.links) {
            assert_eq!(self.frame_of(self.pages[frame.index()]), frame, "a page's frame");
        }
    }
}
