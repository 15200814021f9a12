//! LRU: the page whose last reference is the oldest leaves.

use std::collections::VecDeque;

use crate::{Event, Op, State, Twin};

#[derive(Clone)]
pub(crate) struct Lru {
    frames: usize,
    /// (page, dirty).
    lru_to_mru: VecDeque<(u64, bool)>,
}

impl Lru {
    pub(crate) fn new(frames: usize) -> Lru {
        Lru { frames, lru_to_mru: VecDeque::new() }
    }

    pub(crate) fn evict(&mut self) -> (u64, bool) {
        self.lru_to_mru.pop_front().expect("a page is in memory")
    }

    /// The list, each page with its dirty flag.
    pub(crate) fn state_with_dirty(&self) -> State {
        let entries = self.lru_to_mru.iter().map(|(page, dirty)| State::entry(*page, &[*dirty]));
        State::Object(vec![("lru_to_mru", State::List(entries.collect()))])
    }
}

impl Twin for Lru {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        let wrote = op == Op::Write;
        let position = self.lru_to_mru.iter().position(|(other, _)| *other == page);
        if let Some(position) = position {
            let dirty = self.lru_to_mru[position].1;
            self.lru_to_mru.remove(position);
            self.lru_to_mru.push_back((page, dirty || wrote));
            return Event::hit();
        }
        let mut event = Event::miss();
        while self.lru_to_mru.len() + ahead.len() >= self.frames {
            event.evicted.push(self.evict());
        }
        self.lru_to_mru.push_back((page, wrote));
        self.lru_to_mru.extend(ahead.iter().map(|page| (*page, false)));
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        let position = self.lru_to_mru.iter().position(|(other, _)| *other == page);
        self.lru_to_mru.remove(position.expect("the page is in memory")).is_some_and(|held| held.1)
    }

    fn set_dirty(&mut self, page: u64, dirty: bool) {
        let held = self.lru_to_mru.iter_mut().find(|(other, _)| *other == page);
        held.expect("the page is in memory").1 = dirty;
    }

    fn next_victim(&self) -> u64 {
        self.lru_to_mru[0].0
    }

    fn state(&self) -> State {
        let pages = State::pages(self.lru_to_mru.iter().map(|(page, _)| page));
        State::Object(vec![("lru_to_mru", pages)])
    }

    fn resident(&self) -> Vec<u64> {
        let mut pages: Vec<u64> = self.lru_to_mru.iter().map(|(page, _)| *page).collect();
        pages.sort_unstable();
        pages
    }
}
