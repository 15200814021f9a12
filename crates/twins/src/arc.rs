//! ARC, adaptive replacement cache.

use std::collections::VecDeque;

use crate::page_list::{Held, PageList, accessed, ascending};
use crate::{Event, Op, State, Twin};

pub(crate) struct Arc {
    frames: usize,
    /// Target size of T1: binary64, evaluated in the written order.
    p: f64,
    t1: PageList,
    t2: PageList,
    /// Ghosts, the oldest first.
    b1: VecDeque<u64>,
    b2: VecDeque<u64>,
}

impl Arc {
    pub(crate) fn new(frames: usize) -> Arc {
        Arc {
            frames,
            p: 0.0,
            t1: PageList::default(),
            t2: PageList::default(),
            b1: VecDeque::new(),
            b2: VecDeque::new(),
        }
    }

    /// Cases II and III: `p` moves, once for each page that comes.
    fn adapt(&mut self, page: u64) {
        let (b1, b2) = (self.b1.len(), self.b2.len());
        if self.b1.contains(&page) {
            let step = (b2 as f64 / b1 as f64).max(1.0);
            self.p = (self.p + step).min(self.frames as f64);
        } else if self.b2.contains(&page) {
            let step = (b1 as f64 / b2 as f64).max(1.0);
            self.p = (self.p - step).max(0.0);
        }
    }

    /// What makes a page leave for `page`.
    fn evict(&mut self, page: u64) -> Held {
        if !self.is_ghost(page) {
            if self.t1.len() == self.frames {
                return self.t1.pop_front().expect("T1 holds all frames");
            }
            self.trim();
        }
        self.replace(page)
    }

    fn is_ghost(&self, page: u64) -> bool {
        self.b1.contains(&page) || self.b2.contains(&page)
    }

    /// Case IV, for lists that need not fill memory.
    fn trim(&mut self) {
        while self.t1.len() + self.b1.len() >= self.frames && self.b1.pop_front().is_some() {}
        let in_memory = self.t1.len() + self.t2.len();
        while in_memory + self.b1.len() + self.b2.len() >= 2 * self.frames
            && self.b2.pop_front().is_some()
        {}
    }

    fn load(&mut self, held: Held) {
        let was_ghost = self.is_ghost(held.0);
        if !was_ghost {
            self.trim();
        }
        self.b1.retain(|ghost| *ghost != held.0);
        self.b2.retain(|ghost| *ghost != held.0);
        let list = if was_ghost { &mut self.t2 } else { &mut self.t1 };
        list.push_back(held);
    }

    fn replace(&mut self, page: u64) -> Held {
        let t1 = self.t1.len() as f64;
        let from_t1 = t1 > self.p || (t1 == self.p && self.b2.contains(&page));
        let (list, ghosts) = if self.t2.is_empty() || from_t1 && !self.t1.is_empty() {
            (&mut self.t1, &mut self.b1)
        } else {
            (&mut self.t2, &mut self.b2)
        };
        let victim = list.pop_front().expect("the list that REPLACE takes has a page");
        ghosts.push_back(victim.0);
        victim
    }
}

impl Twin for Arc {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        if let Some(held) = self.t1.take(page).or_else(|| self.t2.take(page)) {
            self.t2.push_back(accessed(held, op));
            return Event::hit();
        }
        let mut event = Event::miss();
        self.adapt(page);
        while self.t1.len() + self.t2.len() + ahead.len() >= self.frames {
            event.evicted.push(self.evict(page));
        }
        self.load((page, op == Op::Write));
        for page in ahead {
            self.adapt(*page);
            self.load((*page, false));
        }
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        let dropped = self.t1.take(page).or_else(|| self.t2.take(page));
        dropped.expect("the page is in memory").1
    }

    fn state(&self) -> State {
        State::Object(vec![
            ("p", State::Real(self.p)),
            ("T1", self.t1.state()),
            ("T2", self.t2.state()),
            ("B1", State::pages(&self.b1)),
            ("B2", State::pages(&self.b2)),
        ])
    }

    fn resident(&self) -> Vec<u64> {
        ascending([&self.t1, &self.t2])
    }
}
