//! 2Q, the full version: a FIFO queue of new pages, its ghosts, and an LRU list of those that came back.

use std::collections::VecDeque;

use crate::page_list::{Held, PageList, accessed, ascending};
use crate::{Event, Op, State, Twin, parameters::Parameters};

pub(crate) struct TwoQueues {
    frames: usize,
    kin_pages: usize,
    kout_pages: usize,
    a1in: PageList,
    /// Ghosts, the oldest first.
    a1out: VecDeque<u64>,
    am: PageList,
}

impl TwoQueues {
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> TwoQueues {
        TwoQueues {
            frames,
            kin_pages: parameters.share("kin_share", (1, 4), frames).max(1),
            kout_pages: parameters.share("kout_share", (1, 2), frames).max(1),
            a1in: PageList::default(),
            a1out: VecDeque::new(),
            am: PageList::default(),
        }
    }

    fn evict(&mut self) -> Held {
        let from_a1in = self.a1in.len() > self.kin_pages;
        if from_a1in || self.am.is_empty() {
            let victim = self.a1in.pop_front().expect("memory is full");
            self.a1out.push_back(victim.0);
            return victim;
        }
        self.am.pop_front().expect("Am is not empty")
    }
}

impl Twin for TwoQueues {
    fn reference(&mut self, page: u64, op: Op) -> Event {
        if let Some(held) = self.am.take(page) {
            self.am.push_back(accessed(held, op));
            return Event::hit();
        }
        if self.a1in.access(page, op) {
            return Event::hit();
        }
        let mut event = Event::miss();
        let is_full = self.a1in.len() + self.am.len() == self.frames;
        if is_full {
            event.evicted.push(self.evict());
        }
        let found = self.a1out.contains(&page);
        if is_full && self.a1out.len() > self.kout_pages {
            self.a1out.pop_front();
        }
        let list = if found { &mut self.am } else { &mut self.a1in };
        list.push_back((page, op == Op::Write));
        self.a1out.retain(|ghost| *ghost != page);
        event
    }

    fn state(&self) -> State {
        State::Object(vec![
            ("A1in", self.a1in.state()),
            ("A1out", State::pages(&self.a1out)),
            ("Am", self.am.state()),
        ])
    }

    fn resident(&self) -> Vec<u64> {
        ascending([&self.a1in, &self.am])
    }
}
