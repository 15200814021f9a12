//! The swap cache: contents of pages in memory that the program cannot reach.
//!
//! With sensed bits the kernel makes translations by itself wherever the memory file has content. So a page that left and
//! one that was read ahead must not be in the file, and a page that is being read must appear there as a whole.

use clockhand_policy::PageId;
use rustc_hash::FxHashMap;

use crate::store::{Page, PageAddress};

/// Pages kept for the next contents, so that memory need not be allocated each time.
const MOST_SPARE: usize = 256;

/// Contents by page. Nothing iterates over them.
#[derive(Default)]
pub(super) struct SwapCache {
    contents: FxHashMap<PageId, Box<Page>>,
    spare: Vec<Box<Page>>,
}

impl SwapCache {
    /// A place for the content of a page, instead of any other that it has here. Its bytes are undefined.
    pub(super) fn place(&mut self, page: PageId) -> &mut Page {
        self.remove(page);
        let place = self.unused();
        self.contents.entry(page).or_insert(place)
    }

    /// A free place. Its bytes are undefined.
    pub(super) fn unused(&mut self) -> Box<Page> {
        self.spare.pop().unwrap_or_else(|| Box::new(Page::ZEROS))
    }

    /// This is the content of a page, in place of any other that it has here.
    pub(super) fn put(&mut self, page: PageId, content: Box<Page>) {
        self.remove(page);
        self.contents.insert(page, content);
    }

    /// Where the content of a page is.
    pub(super) fn address(&mut self, page: PageId) -> PageAddress {
        self.content(page).address()
    }

    /// The same, to change it.
    pub(super) fn content(&mut self, page: PageId) -> &mut Page {
        self.contents.get_mut(&page).expect("the page has content in the swap cache")
    }

    /// The content of a page that has some here.
    pub(super) fn at(&self, page: PageId) -> &Page {
        self.contents.get(&page).expect("the page has content in the swap cache")
    }

    /// Returns whether a page has content here.
    pub(super) fn has(&self, page: PageId) -> bool {
        self.contents.contains_key(&page)
    }

    /// The content of a page is not needed any more, if it has any.
    pub(super) fn remove(&mut self, page: PageId) {
        if let Some(place) = self.contents.remove(&page)
            && self.spare.len() < MOST_SPARE
        {
            self.spare.push(place);
        }
    }
}
