//! CLOCK, second chance.

use std::collections::VecDeque;

use crate::clock_page::{ClockPage, ascending, take};
use crate::{Event, Op, State, Twin, parameters::Parameters, visibility::Visibility};

#[derive(Clone)]
pub(crate) struct Clock {
    frames: usize,
    insert_ref: bool,
    visibility: Visibility,
    /// a clock is a queue whose head is under the hand.
    from_hand: VecDeque<ClockPage>,
}

impl Clock {
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> Clock {
        Clock {
            frames,
            insert_ref: parameters.flag("insert_ref").unwrap_or(false),
            visibility: parameters.visibility(),
            from_hand: VecDeque::new(),
        }
    }

    /// a page with bit 1 gets bit 0 and the hand moves on; the first page with bit 0 is evicted.
    pub(crate) fn evict(&mut self) -> (u64, bool) {
        loop {
            let mut page = self.from_hand.pop_front().expect("memory is full");
            if !page.reference {
                return (page.page, page.dirty);
            }
            page.clear_reference();
            self.from_hand.push_back(page);
        }
    }
}

impl Clock {
    /// The clock, each page with its reference bit and its dirty flag.
    pub(crate) fn state_with_dirty(&self) -> State {
        let entry = |it: &ClockPage| State::entry(it.page, &[it.reference, it.dirty]);
        State::Object(vec![("from_hand", State::List(self.from_hand.iter().map(entry).collect()))])
    }
}

impl Twin for Clock {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        if let Some(entry) = self.from_hand.iter_mut().find(|entry| entry.page == page) {
            entry.access(op, self.visibility);
            return Event::hit();
        }
        let mut event = Event::miss();
        while self.from_hand.len() + ahead.len() >= self.frames {
            event.evicted.push(self.evict());
        }
        let loaded = ClockPage::load(page, op, self.insert_ref, self.visibility);
        self.from_hand.push_back(loaded);
        self.from_hand.extend(ahead.iter().map(|page| ClockPage::ahead(*page)));
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        take(&mut self.from_hand, page).expect("the page is in memory").dirty
    }

    fn set_dirty(&mut self, page: u64, dirty: bool) {
        let held = self.from_hand.iter_mut().find(|entry| entry.page == page);
        held.expect("the page is in memory").dirty = dirty;
    }

    fn state(&self) -> State {
        let entries = self.from_hand.iter();
        let entries = entries.map(|entry| State::entry(entry.page, &[entry.reference]));
        State::Object(vec![("from_hand", State::List(entries.collect()))])
    }

    fn resident(&self) -> Vec<u64> {
        ascending(&self.from_hand)
    }
}
