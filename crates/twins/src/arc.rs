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

    /// The four cases of a fault on `page` in a full memory.
    fn evict(&mut self, page: u64) -> Held {
        let (b1, b2) = (self.b1.len(), self.b2.len());
        if self.b1.contains(&page) {
            let step = (b2 as f64 / b1 as f64).max(1.0);
            self.p = (self.p + step).min(self.frames as f64);
        } else if self.b2.contains(&page) {
            let step = (b1 as f64 / b2 as f64).max(1.0);
            self.p = (self.p - step).max(0.0);
        } else if self.t1.len() == self.frames {
            return self.t1.pop_front().expect("T1 holds all frames");
        } else if self.t1.len() + b1 == self.frames {
            self.b1.pop_front();
        } else if self.t1.len() + self.t2.len() + b1 + b2 == 2 * self.frames {
            self.b2.pop_front();
        }
        self.replace(page)
    }

    fn replace(&mut self, page: u64) -> Held {
        let t1 = self.t1.len() as f64;
        let from_t1 = t1 > self.p || (t1 == self.p && self.b2.contains(&page));
        let (list, ghosts) = if from_t1 && !self.t1.is_empty() {
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
    fn reference(&mut self, page: u64, op: Op) -> Event {
        if let Some(held) = self.t1.take(page).or_else(|| self.t2.take(page)) {
            self.t2.push_back(accessed(held, op));
            return Event::hit();
        }
        let mut event = Event::miss();
        if self.t1.len() + self.t2.len() == self.frames {
            event.evicted.push(self.evict(page));
        }
        let was_ghost = self.b1.contains(&page) || self.b2.contains(&page);
        self.b1.retain(|ghost| *ghost != page);
        self.b2.retain(|ghost| *ghost != page);
        let list = if was_ghost { &mut self.t2 } else { &mut self.t1 };
        list.push_back((page, op == Op::Write));
        event
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
