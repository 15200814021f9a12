//! CFLRU, clean-first LRU, with a static window or a dynamic one.

use std::collections::VecDeque;

use num_rational::Ratio;

use crate::{Event, Op, State, Twin, parameters::Parameters};

#[derive(Clone)]
pub(crate) struct Cflru {
    frames: usize,
    window_pages: usize,
    controller: Option<Controller>,
    /// (page, dirty).
    lru_to_mru: VecDeque<(u64, bool)>,
}

/// moves the window after each period.
#[derive(Clone)]
struct Controller {
    period: usize,
    step_pages: usize,
    threshold: Ratio<i128>,
    cost_read: Ratio<i128>,
    cost_write: Ratio<i128>,
    /// without it a write fault issues no read, and the controller observes that.
    write_allocate_fetch: bool,
    enlarge: bool,
    references: usize,
    cost: Ratio<i128>,
    previous_cost: Option<Ratio<i128>>,
}

impl Cflru {
    pub(crate) fn with_static_window(frames: usize, parameters: &mut Parameters) -> Cflru {
        Cflru {
            frames,
            window_pages: parameters.window_pages(frames),
            controller: None,
            lru_to_mru: VecDeque::new(),
        }
    }

    pub(crate) fn with_dynamic_window(frames: usize, parameters: &mut Parameters) -> Cflru {
        Cflru {
            frames,
            window_pages: frames / 3,
            controller: Some(Controller::new(frames, parameters)),
            lru_to_mru: VecDeque::new(),
        }
    }

    /// the clean page nearest the LRU end inside the region; if none, the LRU page.
    fn victim(&self) -> usize {
        let mut region = self.lru_to_mru.iter().take(self.window_pages);
        region.position(|(_, dirty)| !dirty).unwrap_or(0)
    }

    pub(crate) fn evict(&mut self) -> (u64, bool) {
        self.lru_to_mru.remove(self.victim()).expect("memory is full")
    }
}

impl Twin for Cflru {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        let wrote = op == Op::Write;
        let mut event = Event::miss();
        let position = self.lru_to_mru.iter().position(|(other, _)| *other == page);
        if let Some(position) = position {
            let dirty = self.lru_to_mru[position].1;
            self.lru_to_mru.remove(position);
            self.lru_to_mru.push_back((page, dirty || wrote));
            event = Event::hit();
        } else {
            while self.lru_to_mru.len() + ahead.len() >= self.frames {
                event.evicted.push(self.evict());
            }
            self.lru_to_mru.push_back((page, wrote));
            self.lru_to_mru.extend(ahead.iter().map(|page| (*page, false)));
        }
        if let Some(controller) = &mut self.controller {
            controller.observe(op, &event, ahead.len());
            self.window_pages = controller.end_reference(self.window_pages, self.frames);
        }
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        let position = self.lru_to_mru.iter().position(|(other, _)| *other == page);
        self.lru_to_mru.remove(position.expect("the page is in memory")).is_some_and(|held| held.1)
    }

    fn pass_by(&mut self, _: u64, _: Op) {
        if let Some(controller) = &mut self.controller {
            self.window_pages = controller.end_reference(self.window_pages, self.frames);
        }
    }

    fn next_victim(&self) -> u64 {
        assert!(self.controller.is_none(), "static windows only");
        self.lru_to_mru[self.victim()].0
    }

    fn set_dirty(&mut self, page: u64, dirty: bool) {
        let held = self.lru_to_mru.iter_mut().find(|(other, _)| *other == page);
        held.expect("the page is in memory").1 = dirty;
    }

    fn state(&self) -> State {
        let entries = self.lru_to_mru.iter();
        let entries = entries.map(|(page, dirty)| State::entry(*page, &[*dirty]));
        State::Object(vec![
            ("window", State::Integer(self.window_pages as u64)),
            ("lru_to_mru", State::List(entries.collect())),
        ])
    }

    fn resident(&self) -> Vec<u64> {
        let mut pages: Vec<u64> = self.lru_to_mru.iter().map(|(page, _)| *page).collect();
        pages.sort_unstable();
        pages
    }
}

impl Controller {
    fn new(frames: usize, parameters: &mut Parameters) -> Controller {
        let period = parameters.integer("period").unwrap_or(1000);
        assert!(period >= 1, "`period` must be at least 1");
        let mut rational = |name, default| {
            let value = parameters.rational(name);
            value.unwrap_or(Ratio::from(default))
        };
        Controller {
            period,
            threshold: rational("threshold", 0),
            cost_read: rational("cost_read", 1),
            cost_write: rational("cost_write", 8),
            step_pages: parameters.integer("step").unwrap_or((frames / 16).max(1)),
            write_allocate_fetch: parameters.flag("write_allocate_fetch").unwrap_or(true),
            enlarge: true,
            references: 0,
            cost: Ratio::from(0),
            previous_cost: None,
        }
    }

    /// Adds the page I/Os that this reference issued.
    fn observe(&mut self, op: Op, event: &Event, ahead: usize) {
        if !event.hit && (op == Op::Read || self.write_allocate_fetch) {
            self.cost += self.cost_read;
        }
        if !event.hit {
            self.cost += self.cost_read * Ratio::from(ahead as i128);
        }
        for _ in event.evicted.iter().filter(|(_, dirty)| *dirty) {
            self.cost += self.cost_write;
        }
    }

    /// The window after this reference.
    fn end_reference(&mut self, window_pages: usize, frames: usize) -> usize {
        self.references += 1;
        if !self.references.is_multiple_of(self.period) {
            return window_pages;
        }
        let moves = match self.previous_cost {
            None => true,
            Some(previous) => {
                let change = self.cost - previous;
                if change > self.threshold {
                    self.enlarge = !self.enlarge;
                }
                change > self.threshold || change < -self.threshold
            }
        };
        self.previous_cost = Some(self.cost);
        self.cost = Ratio::from(0);
        match (moves, self.enlarge) {
            (false, _) => window_pages,
            // Clamped to [0, S]; the direction is not flipped by clamping.
            (true, true) => window_pages.saturating_add(self.step_pages).min(frames),
            (true, false) => window_pages.saturating_sub(self.step_pages),
        }
    }
}
