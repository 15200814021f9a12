//! `clock-dwf`.

use std::collections::{BTreeMap, VecDeque};

use num_rational::Ratio;

use crate::Op;

struct Entry {
    page: u64,
    bit: bool,
    overlooked: u64,
}

pub(super) struct ClockDwf {
    expiration: u64,
    keeps_history: bool,
    from_hand: VecDeque<Entry>,
    frequency: BTreeMap<u64, u64>,
}

impl ClockDwf {
    pub(super) fn new(expiration: u64, keeps_history: bool) -> ClockDwf {
        let (from_hand, frequency) = (VecDeque::new(), BTreeMap::new());
        ClockDwf { expiration, keeps_history, from_hand, frequency }
    }

    pub(super) fn found_fast(&mut self, page: u64, op: Op) {
        let entry = self.from_hand.iter_mut().find(|entry| entry.page == page);
        entry.expect("it is fast").bit |= op == Op::Write;
    }

    pub(super) fn enter_fast(&mut self, page: u64) {
        if !self.keeps_history {
            self.frequency.remove(&page);
        }
        self.from_hand.push_back(Entry { page, bit: false, overlooked: 0 });
    }

    pub(super) fn forget(&mut self, page: u64) {
        self.frequency.remove(&page);
    }

    fn frequency(&self, page: u64) -> u64 {
        self.frequency.get(&page).copied().unwrap_or(0)
    }

    pub(super) fn victim(&mut self) -> u64 {
        let sum: u64 = self.from_hand.iter().map(|entry| self.frequency(entry.page)).sum();
        let mean = Ratio::new(sum, self.from_hand.len() as u64);
        loop {
            let mut entry = self.from_hand.pop_front().expect("a full tier has pages");
            if entry.bit {
                entry.bit = false;
                entry.overlooked = 0;
                *self.frequency.entry(entry.page).or_insert(0) += 1;
            } else if Ratio::from(self.frequency(entry.page)) > mean
                && entry.overlooked < self.expiration
            {
                entry.overlooked += 1;
            } else {
                return entry.page;
            }
            self.from_hand.push_back(entry);
        }
    }
}
