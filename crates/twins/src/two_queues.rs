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

impl TwoQueues {
    fn load(&mut self, held: Held) {
        let found = self.a1out.contains(&held.0);
        while self.a1out.len() > self.kout_pages {
            self.a1out.pop_front();
        }
        let list = if found { &mut self.am } else { &mut self.a1in };
        list.push_back(held);
        self.a1out.retain(|ghost| *ghost != held.0);
    }
}

impl Twin for TwoQueues {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        if let Some(held) = self.am.take(page) {
            self.am.push_back(accessed(held, op));
            return Event::hit();
        }
        if self.a1in.access(page, op) {
            return Event::hit();
        }
        let mut event = Event::miss();
        while self.a1in.len() + self.am.len() + ahead.len() >= self.frames {
            event.evicted.push(self.evict());
        }
        self.load((page, op == Op::Write));
        ahead.iter().for_each(|page| self.load((*page, false)));
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        let dropped = self.a1in.take(page).or_else(|| self.am.take(page));
        dropped.expect("the page is in memory").1
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
