//! SIEVE: a hand sifts a FIFO queue from its tail to its head.

use std::collections::VecDeque;

use crate::clock_page::{ClockPage, ascending};
use crate::{Event, Op, State, Twin, parameters::Parameters, visibility::Visibility};

pub(crate) struct Sieve {
    frames: usize,
    visibility: Visibility,
    /// The oldest page, at the tail, first; the reference bit is the visited bit.
    tail_to_head: VecDeque<ClockPage>,
    /// The page that the hand points to.
    hand: Option<u64>,
}

impl Sieve {
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> Sieve {
        Sieve {
            frames,
            visibility: parameters.visibility(),
            tail_to_head: VecDeque::new(),
            hand: None,
        }
    }

    fn position_of_hand(&self) -> Option<usize> {
        let hand = self.hand?;
        self.tail_to_head.iter().position(|entry| entry.page == hand)
    }

    fn evict(&mut self) -> (u64, bool) {
        let mut position = self.position_of_hand().unwrap_or(0);
        while self.tail_to_head[position].reference {
            self.tail_to_head[position].clear_reference();
            // Past the head the search goes on at the tail.
            position = (position + 1) % self.tail_to_head.len();
        }
        self.hand = self.tail_to_head.get(position + 1).map(|neighbour| neighbour.page);
        let victim = self.tail_to_head.remove(position).expect("the position is in the queue");
        (victim.page, victim.dirty)
    }
}

impl Twin for Sieve {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        if let Some(entry) = self.tail_to_head.iter_mut().find(|entry| entry.page == page) {
            entry.access(op, self.visibility);
            return Event::hit();
        }
        let mut event = Event::miss();
        while self.tail_to_head.len() + ahead.len() >= self.frames {
            event.evicted.push(self.evict());
        }
        self.tail_to_head.push_back(ClockPage::load(page, op, false, self.visibility));
        self.tail_to_head.extend(ahead.iter().map(|page| ClockPage::ahead(*page)));
        event
    }

    /// The hand at the page moves on as it does when the page is evicted.
    fn drop_page(&mut self, page: u64) -> bool {
        let position = self.tail_to_head.iter().position(|entry| entry.page == page);
        let position = position.expect("the page is in memory");
        if self.hand == Some(page) {
            self.hand = self.tail_to_head.get(position + 1).map(|neighbour| neighbour.page);
        }
        self.tail_to_head.remove(position).is_some_and(|entry| entry.dirty)
    }

    fn state(&self) -> State {
        let entry = |entry: &ClockPage| State::entry(entry.page, &[entry.reference]);
        let hand = self.position_of_hand().map(|position| entry(&self.tail_to_head[position]));
        State::Object(vec![
            ("tail_to_head", State::List(self.tail_to_head.iter().map(entry).collect())),
            ("hand", State::List(hand.into_iter().collect())),
        ])
    }

    fn resident(&self) -> Vec<u64> {
        ascending(&self.tail_to_head)
    }
}
