//! FIFO: the page that was loaded first leaves.

use std::collections::VecDeque;

use crate::{Event, Op, State, Twin, parameters::Parameters};

pub(crate) struct Fifo {
    frames: usize,
    /// (page, dirty), the oldest first.
    queue: VecDeque<(u64, bool)>,
}

impl Fifo {
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> Fifo {
        // FIFO consults no bit, so it behaves the same whichever accesses are seen.
        let _ = parameters.visibility();
        Fifo { frames, queue: VecDeque::new() }
    }
}

impl Twin for Fifo {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        if let Some((_, dirty)) = self.queue.iter_mut().find(|(other, _)| *other == page) {
            *dirty |= op == Op::Write;
            return Event::hit();
        }
        let mut event = Event::miss();
        while self.queue.len() + ahead.len() >= self.frames {
            event.evicted.extend(self.queue.pop_front());
        }
        self.queue.push_back((page, op == Op::Write));
        self.queue.extend(ahead.iter().map(|page| (*page, false)));
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        let position = self.queue.iter().position(|(other, _)| *other == page);
        self.queue.remove(position.expect("the page is in memory")).is_some_and(|held| held.1)
    }

    fn next_victim(&self) -> u64 {
        self.queue[0].0
    }

    fn state(&self) -> State {
        let pages = State::pages(self.queue.iter().map(|(page, _)| page));
        State::Object(vec![("fifo", pages)])
    }

    fn resident(&self) -> Vec<u64> {
        let mut pages: Vec<u64> = self.queue.iter().map(|(page, _)| *page).collect();
        pages.sort_unstable();
        pages
    }
}
