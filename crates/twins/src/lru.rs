//! LRU: the page whose last reference is the oldest leaves.

use std::collections::VecDeque;

use crate::{Event, Op, State, Twin};

pub(crate) struct Lru {
    frames: usize,
    /// (page, dirty).
    lru_to_mru: VecDeque<(u64, bool)>,
}

impl Lru {
    pub(crate) fn new(frames: usize) -> Lru {
        Lru { frames, lru_to_mru: VecDeque::new() }
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
            event.evicted.extend(self.lru_to_mru.pop_front());
        }
        self.lru_to_mru.push_back((page, wrote));
        self.lru_to_mru.extend(ahead.iter().map(|page| (*page, false)));
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        let position = self.lru_to_mru.iter().position(|(other, _)| *other == page);
        self.lru_to_mru.remove(position.expect("the page is in memory")).is_some_and(|held| held.1)
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
