//! CAR, CLOCK with adaptive replacement.

use std::collections::VecDeque;

use crate::clock_page::{ClockPage, ascending, take};
use crate::{Event, Op, State, Twin, parameters::Parameters, visibility::Visibility};

pub(crate) struct Car {
    frames: usize,
    visibility: Visibility,
    /// Target size of T1. A-09: binary64, evaluated in the written order.
    p: f64,
    t1: VecDeque<ClockPage>,
    t2: VecDeque<ClockPage>,
    /// Ghosts, LRU end first.
    b1: VecDeque<u64>,
    b2: VecDeque<u64>,
}

impl Car {
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> Car {
        Car {
            frames,
            visibility: parameters.visibility(),
            p: 0.0,
            t1: VecDeque::new(),
            t2: VecDeque::new(),
            b1: VecDeque::new(),
            b2: VecDeque::new(),
        }
    }

    /// A-08 (i).
    fn replace(&mut self) -> (u64, bool) {
        loop {
            // T1 if T2 is empty, T2 if T1 is empty.
            let from_t1 = !self.t1.is_empty()
                && (self.t2.is_empty() || self.t1.len() as f64 >= self.p.max(1.0));
            let (clock, ghost) =
                if from_t1 { (&mut self.t1, &mut self.b1) } else { (&mut self.t2, &mut self.b2) };
            let mut page = clock.pop_front().expect("the examined clock has a page");
            if !page.reference {
                ghost.push_back(page.page);
                return (page.page, page.dirty);
            }
            page.clear_reference();
            self.t2.push_back(page);
        }
    }

    /// A-08 (ii), as A-83 completes it.
    fn trim_directory(&mut self, page: u64) {
        if self.b1.contains(&page) || self.b2.contains(&page) {
            return;
        }
        while self.t1.len() + self.b1.len() >= self.frames && !self.b1.is_empty() {
            self.b1.pop_front();
        }
        let in_memory = self.t1.len() + self.t2.len();
        while in_memory + self.b1.len() + self.b2.len() >= 2 * self.frames && !self.b2.is_empty() {
            self.b2.pop_front();
        }
    }

    /// The last part of A-08: adapts p and links the loaded page.
    fn link(&mut self, loaded: ClockPage) {
        // Taken before the page is removed from its ghost list, so neither divisor is 0.
        let (b1, b2) = (self.b1.len() as f64, self.b2.len() as f64);
        let page = loaded.page;
        self.trim_directory(page);
        if self.b1.contains(&page) {
            self.p = (self.p + (b2 / b1).max(1.0)).min(self.frames as f64);
            self.b1.retain(|ghost| *ghost != page);
            self.t2.push_back(loaded);
        } else if self.b2.contains(&page) {
            self.p = (self.p - (b1 / b2).max(1.0)).max(0.0);
            self.b2.retain(|ghost| *ghost != page);
            self.t2.push_back(loaded);
        } else {
            self.t1.push_back(loaded);
        }
    }
}

impl Twin for Car {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        let mut pages = self.t1.iter_mut().chain(&mut self.t2);
        if let Some(entry) = pages.find(|entry| entry.page == page) {
            entry.access(op, self.visibility);
            return Event::hit();
        }
        let mut event = Event::miss();
        while self.t1.len() + self.t2.len() + ahead.len() >= self.frames {
            event.evicted.push(self.replace());
        }
        self.link(ClockPage::load(page, op, false, self.visibility));
        ahead.iter().for_each(|page| self.link(ClockPage::ahead(*page)));
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        let dropped = take(&mut self.t1, page).or_else(|| take(&mut self.t2, page));
        dropped.expect("the page is in memory").dirty
    }

    fn state(&self) -> State {
        let clock = |pages: &VecDeque<ClockPage>| {
            let entries = pages.iter();
            let entries = entries.map(|entry| State::entry(entry.page, &[entry.reference]));
            State::List(entries.collect())
        };
        State::Object(vec![
            ("p", State::Real(self.p)),
            ("T1", clock(&self.t1)),
            ("T2", clock(&self.t2)),
            ("B1", State::pages(&self.b1)),
            ("B2", State::pages(&self.b2)),
        ])
    }

    fn resident(&self) -> Vec<u64> {
        ascending(self.t1.iter().chain(&self.t2))
    }
}
