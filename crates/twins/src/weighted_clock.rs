//! Weighted CLOCK: a dirty page gets extra rounds.

use std::collections::VecDeque;

use crate::clock_page::{ClockPage, ascending};
use crate::{Event, Op, State, Twin, parameters::Parameters, visibility::Visibility};

pub(crate) struct WeightedClock {
    frames: usize,
    rounds: usize,
    visibility: Visibility,
    /// Each page with how often it was spared since it was last found referenced.
    from_hand: VecDeque<(ClockPage, usize)>,
}

impl WeightedClock {
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> WeightedClock {
        WeightedClock {
            frames,
            rounds: parameters.integer("rounds").unwrap_or(3),
            visibility: parameters.visibility(),
            from_hand: VecDeque::new(),
        }
    }

    fn evict(&mut self) -> (u64, bool) {
        loop {
            let (mut page, spared) = self.from_hand.pop_front().expect("memory is full");
            if page.reference {
                page.clear_reference();
                self.from_hand.push_back((page, 0));
            } else if page.dirty && spared < self.rounds {
                self.from_hand.push_back((page, spared + 1));
            } else {
                return (page.page, page.dirty);
            }
        }
    }
}

impl Twin for WeightedClock {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        if let Some((entry, _)) = self.from_hand.iter_mut().find(|(entry, _)| entry.page == page) {
            entry.access(op, self.visibility);
            return Event::hit();
        }
        let mut event = Event::miss();
        while self.from_hand.len() + ahead.len() >= self.frames {
            event.evicted.push(self.evict());
        }
        self.from_hand.push_back((ClockPage::load(page, op, false, self.visibility), 0));
        self.from_hand.extend(ahead.iter().map(|page| (ClockPage::ahead(*page), 0)));
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        let position = self.from_hand.iter().position(|(entry, _)| entry.page == page);
        self.from_hand.remove(position.expect("the page is in memory")).is_some_and(|it| it.0.dirty)
    }

    fn set_dirty(&mut self, page: u64, dirty: bool) {
        let held = self.from_hand.iter_mut().find(|(other, _)| other.page == page);
        held.expect("the page is in memory").0.dirty = dirty;
    }

    fn state(&self) -> State {
        let pages = self.from_hand.iter();
        let entries =
            pages.clone().map(|(page, _)| State::entry(page.page, &[page.reference, page.dirty]));
        let spared = pages.map(|(_, spared)| State::Real(*spared as f64));
        State::Object(vec![
            ("from_hand", State::List(entries.collect())),
            ("spared", State::List(spared.collect())),
        ])
    }

    fn resident(&self) -> Vec<u64> {
        ascending(self.from_hand.iter().map(|(page, _)| page))
    }
}
