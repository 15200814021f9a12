//! CFCLOCK, clean-first CLOCK.

use std::collections::VecDeque;

use crate::clock_page::{ClockPage, ascending, take};
use crate::{Event, Op, State, Twin, parameters::Parameters, visibility::Visibility};

pub(crate) struct Cfclock {
    frames: usize,
    window_pages: usize,
    clear_passed: bool,
    visibility: Visibility,
    from_hand: VecDeque<ClockPage>,
}

impl Cfclock {
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> Cfclock {
        Cfclock {
            frames,
            window_pages: parameters.window_pages(frames),
            clear_passed: parameters.flag("clear_passed").unwrap_or(true),
            visibility: parameters.visibility(),
            from_hand: VecDeque::new(),
        }
    }

    fn evict(&mut self) -> (u64, bool) {
        // the window is at most the resident pages.
        let window_pages = self.window_pages.min(self.from_hand.len());
        let window = self.from_hand.iter().take(window_pages);
        // Step 1: first clean page with reference bit 0 in the window.
        let step_1 = window.clone().position(|page| !page.dirty && !page.reference);
        // Step 2: else first page with reference bit 0 in the window.
        let step_2 = || window.clone().position(|page| !page.reference);
        let victim = match step_1.or_else(step_2) {
            Some(victim) => {
                self.pass_over(victim);
                victim
            }
            None => {
                self.pass_over(window_pages);
                self.scan_after_window(window_pages)
            }
        };
        // Hand := page after the victim.
        self.from_hand.rotate_left(victim);
        let page = self.from_hand.pop_front().expect("memory is full");
        (page.page, page.dirty)
    }

    /// The hand passes over its first `count` pages: their bits become 0, unless `clear_passed=false`.
    ///
    /// In step 3 these are the pages of the window, and they are cleared before the scan: a scan that wraps then takes
    /// the page under the old hand, as CLOCK does. This makes reason (c) of the rule true.
    fn pass_over(&mut self, count: usize) {
        if self.clear_passed {
            for page in self.from_hand.iter_mut().take(count) {
                page.clear_reference();
            }
        }
    }

    /// Step 3: a CLOCK scan from the page after the window, wrapping if necessary.
    fn scan_after_window(&mut self, window_pages: usize) -> usize {
        let mut position = window_pages % self.from_hand.len();
        while self.from_hand[position].reference {
            self.from_hand[position].clear_reference();
            position = (position + 1) % self.from_hand.len();
        }
        position
    }
}

impl Twin for Cfclock {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        if let Some(entry) = self.from_hand.iter_mut().find(|entry| entry.page == page) {
            entry.access(op, self.visibility);
            return Event::hit();
        }
        let mut event = Event::miss();
        while self.from_hand.len() + ahead.len() >= self.frames {
            event.evicted.push(self.evict());
        }
        let loaded = ClockPage::load(page, op, false, self.visibility);
        self.from_hand.push_back(loaded);
        self.from_hand.extend(ahead.iter().map(|page| ClockPage::ahead(*page)));
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        take(&mut self.from_hand, page).expect("the page is in memory").dirty
    }

    fn set_dirty(&mut self, page: u64, dirty: bool) {
        let held = self.from_hand.iter_mut().find(|other| other.page == page);
        held.expect("the page is in memory").dirty = dirty;
    }

    fn state(&self) -> State {
        let entries = self.from_hand.iter();
        let entries =
            entries.map(|entry| State::entry(entry.page, &[entry.reference, entry.dirty]));
        State::Object(vec![("from_hand", State::List(entries.collect()))])
    }

    fn resident(&self) -> Vec<u64> {
        ascending(&self.from_hand)
    }
}
