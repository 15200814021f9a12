//! LRU-WSR, write sequence reordering.

use std::collections::VecDeque;

use crate::{Event, Op, State, Twin};

#[derive(Clone, Copy)]
struct Page {
    page: u64,
    dirty: bool,
    cold: bool,
}

#[derive(Clone)]
pub(crate) struct LruWsr {
    frames: usize,
    lru_to_mru: VecDeque<Page>,
}

impl LruWsr {
    pub(crate) fn new(frames: usize) -> LruWsr {
        LruWsr { frames, lru_to_mru: VecDeque::new() }
    }

    pub(crate) fn evict(&mut self) -> (u64, bool) {
        loop {
            let mut page = self.lru_to_mru.pop_front().expect("memory is full");
            if !page.dirty || page.cold {
                return (page.page, page.dirty);
            }
            page.cold = true;
            self.lru_to_mru.push_back(page);
        }
    }
}

impl Twin for LruWsr {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        let wrote = op == Op::Write;
        let position = self.lru_to_mru.iter().position(|other| other.page == page);
        if let Some(position) = position {
            let dirty = self.lru_to_mru[position].dirty || wrote;
            self.lru_to_mru.remove(position);
            let cold = false;
            self.lru_to_mru.push_back(Page { page, dirty, cold });
            return Event::hit();
        }
        let mut event = Event::miss();
        while self.lru_to_mru.len() + ahead.len() >= self.frames {
            event.evicted.push(self.evict());
        }
        self.lru_to_mru.push_back(Page { page, dirty: wrote, cold: false });
        let unreferenced = |page: &u64| Page { page: *page, dirty: false, cold: false };
        self.lru_to_mru.extend(ahead.iter().map(unreferenced));
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        let position = self.lru_to_mru.iter().position(|other| other.page == page);
        self.lru_to_mru.remove(position.expect("the page is in memory")).is_some_and(|it| it.dirty)
    }

    fn set_dirty(&mut self, page: u64, dirty: bool) {
        let held = self.lru_to_mru.iter_mut().find(|other| other.page == page);
        held.expect("the page is in memory").dirty = dirty;
    }

    fn state(&self) -> State {
        let entries = self.lru_to_mru.iter();
        let entries = entries.map(|entry| State::entry(entry.page, &[entry.dirty, entry.cold]));
        State::Object(vec![("lru_to_mru", State::List(entries.collect()))])
    }

    fn resident(&self) -> Vec<u64> {
        let mut pages: Vec<u64> = self.lru_to_mru.iter().map(|entry| entry.page).collect();
        pages.sort_unstable();
        pages
    }
}
