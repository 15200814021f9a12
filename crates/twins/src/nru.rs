//! NRU, not recently used.

use std::collections::VecDeque;

use crate::clock_page::{ClockPage, ascending, take};
use crate::{
    Event, Op, State, Twin,
    parameters::Parameters,
    visibility::{Periods, Visibility},
};

enum Mode {
    /// The enhanced second-chance algorithm.
    Scan,
    /// Reference bits are cleared after every `period` references and never by the hand.
    Periodic(Periods),
}

pub(crate) struct Nru {
    frames: usize,
    mode: Mode,
    visibility: Visibility,
    from_hand: VecDeque<ClockPage>,
}

impl Nru {
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> Nru {
        let visibility = parameters.visibility();
        let mode = match parameters.choice("mode", &["scan", "periodic"]) {
            0 => Mode::Scan,
            _ => {
                let period = parameters.integer("period").filter(|period| *period >= 1);
                let period = period.expect("`mode=periodic` needs `period` of at least 1");
                Mode::Periodic(Periods::new(period, visibility))
            }
        };
        Nru { frames, mode, visibility, from_hand: VecDeque::new() }
    }

    fn evict(&mut self) -> (u64, bool) {
        let victim = match self.mode {
            Mode::Scan => self.scan(),
            Mode::Periodic(_) => self.lowest_class(),
        };
        // The hand then points to the page after the victim; the others keep their cyclic order.
        self.from_hand.rotate_left(victim);
        let page = self.from_hand.pop_front().expect("memory is full");
        (page.page, page.dirty)
    }

    /// Position of the victim from the hand; repeats pass A, pass B until there is one.
    fn scan(&mut self) -> usize {
        loop {
            // Pass A: the first (0,0) page, no bit changed.
            let pass_a = self.from_hand.iter().position(|page| !page.reference && !page.dirty);
            if let Some(victim) = pass_a {
                return victim;
            }
            // Pass B: the first (0,1) page; every page passed over gets reference bit 0.
            for position in 0..self.from_hand.len() {
                let page = &mut self.from_hand[position];
                if !page.reference && page.dirty {
                    return position;
                }
                page.clear_reference();
            }
        }
    }

    /// Position of the first page, from the hand, of the lowest non-empty class.
    fn lowest_class(&self) -> usize {
        let classes = [(false, false), (false, true), (true, false), (true, true)];
        classes
            .iter()
            .find_map(|class| {
                self.from_hand.iter().position(|page| (page.reference, page.dirty) == *class)
            })
            .expect("every page is in a class")
    }

    /// `mode=periodic`: all reference bits are cleared after every P-th reference.
    fn end_reference(&mut self, is_miss: bool) {
        if let Mode::Periodic(periods) = &mut self.mode
            && periods.end_reference(is_miss)
        {
            for page in &mut self.from_hand {
                page.clear_reference();
            }
        }
    }
}

impl Twin for Nru {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        let mut event = Event::miss();
        if let Some(entry) = self.from_hand.iter_mut().find(|entry| entry.page == page) {
            entry.access(op, self.visibility);
            event = Event::hit();
        } else {
            while self.from_hand.len() + ahead.len() >= self.frames {
                event.evicted.push(self.evict());
            }
            let loaded = ClockPage::load(page, op, false, self.visibility);
            self.from_hand.push_back(loaded);
            self.from_hand.extend(ahead.iter().map(|page| ClockPage::ahead(*page)));
        }
        self.end_reference(!event.hit);
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        take(&mut self.from_hand, page).expect("the page is in memory").dirty
    }

    fn pass_by(&mut self, _: u64, _: Op) {
        self.end_reference(false);
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
