//! S3-FIFO: a small queue, a main queue and a queue of ghosts.

use std::collections::VecDeque;

use crate::page_list::{Held, accessed};
use crate::{Event, Op, State, Twin, parameters::Parameters};

/// A page in memory and its frequency of 0 to 3.
type Counted = (Held, u64);

pub(crate) struct S3Fifo {
    frames: usize,
    small_pages: usize,
    ghosts: usize,
    move_to_main_threshold: u64,
    fills_main: bool,
    has_evicted: bool,
    /// The queues S, M and G, each from the oldest.
    s: VecDeque<Counted>,
    m: VecDeque<Counted>,
    g: VecDeque<u64>,
}

impl S3Fifo {
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> S3Fifo {
        let small_pages = parameters.share("small_share", (1, 10), frames).max(1);
        S3Fifo {
            frames,
            small_pages,
            ghosts: frames.saturating_sub(small_pages).max(1),
            move_to_main_threshold: parameters.integer("move_to_main_threshold").unwrap_or(2)
                as u64,
            fills_main: parameters.choice("fill", &["small", "main"]) == 1,
            has_evicted: false,
            s: VecDeque::new(),
            m: VecDeque::new(),
            g: VecDeque::new(),
        }
    }

    fn evict(&mut self) -> Held {
        self.has_evicted = true;
        if self.s.len() < self.small_pages && !self.m.is_empty() {
            return self.evict_from_main();
        }
        while let Some((held, frequency)) = self.s.pop_front() {
            if frequency < self.move_to_main_threshold {
                self.g.push_back(held.0);
                return held;
            }
            self.m.push_back((held, 0));
        }
        self.evict_from_main()
    }

    fn evict_from_main(&mut self) -> Held {
        loop {
            let (held, frequency) = self.m.pop_front().expect("M has a page");
            if frequency == 0 {
                return held;
            }
            self.m.push_back((held, frequency - 1));
        }
    }

    fn load(&mut self, loaded: Held) {
        let page = loaded.0;
        let fills_main = self.fills_main && !self.has_evicted && self.s.len() >= self.small_pages;
        let queue = if self.g.contains(&page) || fills_main { &mut self.m } else { &mut self.s };
        queue.push_back((loaded, 0));
        self.g.retain(|ghost| *ghost != page);
        while self.g.len() > self.ghosts {
            self.g.pop_front();
        }
    }

    fn in_memory(&self) -> impl Iterator<Item = &Counted> {
        self.s.iter().chain(&self.m)
    }
}

impl Twin for S3Fifo {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        let mut pages = self.s.iter_mut().chain(&mut self.m);
        if let Some((held, frequency)) = pages.find(|(held, _)| held.0 == page) {
            *held = accessed(*held, op);
            *frequency = (*frequency + 1).min(3);
            return Event::hit();
        }
        let mut event = Event::miss();
        while self.in_memory().count() + ahead.len() >= self.frames {
            event.evicted.push(self.evict());
        }
        self.load((page, op == Op::Write));
        ahead.iter().for_each(|page| self.load((*page, false)));
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        let dropped = self.in_memory().find(|(held, _)| held.0 == page);
        let dirty = dropped.expect("the page is in memory").0.1;
        self.s.retain(|(held, _)| held.0 != page);
        self.m.retain(|(held, _)| held.0 != page);
        dirty
    }

    fn state(&self) -> State {
        let queue = |queue: &VecDeque<Counted>| State::pages(queue.iter().map(|(held, _)| &held.0));
        let of_frequency = |frequency: u64| {
            let pages = self.in_memory().filter(|(_, other)| *other == frequency);
            State::pages(pages.map(|(held, _)| &held.0))
        };
        State::Object(vec![
            ("S", queue(&self.s)),
            ("M", queue(&self.m)),
            ("G", State::pages(&self.g)),
            ("frequency_1", of_frequency(1)),
            ("frequency_2", of_frequency(2)),
            ("frequency_3", of_frequency(3)),
        ])
    }

    fn resident(&self) -> Vec<u64> {
        let mut pages: Vec<u64> = self.in_memory().map(|(held, _)| held.0).collect();
        pages.sort_unstable();
        pages
    }
}
