//! LFU: the page with the fewest references since it was loaded leaves, of several the least recent one.

use crate::page_list::{Held, accessed};
use crate::{Event, Op, State, Twin};

pub(crate) struct Lfu {
    frames: usize,
    /// Pages with their counts, the one whose last reference is longest ago first.
    by_recency: Vec<(Held, u64)>,
}

impl Lfu {
    pub(crate) fn new(frames: usize) -> Lfu {
        Lfu { frames, by_recency: Vec::new() }
    }

    /// Pages and counts in the order they would leave.
    fn by_count(&self) -> Vec<(Held, u64)> {
        let mut pages = self.by_recency.clone();
        // A stable sort keeps the order of recency within a count.
        pages.sort_by_key(|(_, count)| *count);
        pages
    }
}

impl Twin for Lfu {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        if let Some(position) = self.by_recency.iter().position(|(held, _)| held.0 == page) {
            let (held, count) = self.by_recency.remove(position);
            self.by_recency.push((accessed(held, op), count + 1));
            return Event::hit();
        }
        let mut event = Event::miss();
        while self.by_recency.len() + ahead.len() >= self.frames {
            let (victim, _) = self.by_count()[0];
            self.by_recency.retain(|(held, _)| *held != victim);
            event.evicted.push(victim);
        }
        self.by_recency.push(((page, op == Op::Write), 1));
        self.by_recency.extend(ahead.iter().map(|page| ((*page, false), 1)));
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        let position = self.by_recency.iter().position(|(held, _)| held.0 == page);
        self.by_recency.remove(position.expect("the page is in memory")).0.1
    }

    fn state(&self) -> State {
        let pages = self.by_count();
        let is_first = |index: &usize| *index == 0 || pages[*index].1 != pages[*index - 1].1;
        let first_of_count = (0..pages.len()).filter(is_first).map(|index| &pages[index].0.0);
        State::Object(vec![
            ("by_count", State::pages(pages.iter().map(|(held, _)| &held.0))),
            ("first_of_count", State::pages(first_of_count)),
        ])
    }

    fn resident(&self) -> Vec<u64> {
        let mut pages: Vec<u64> = self.by_recency.iter().map(|(held, _)| held.0).collect();
        pages.sort_unstable();
        pages
    }
}
