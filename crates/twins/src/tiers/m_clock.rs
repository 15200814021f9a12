//! `m-clock`, from its page.

use std::collections::{BTreeMap, VecDeque};

use crate::Op;

struct Entry {
    page: u64,
    referenced: bool,
    written: bool,
}

pub(super) struct MClock {
    rounds: u64,
    passed: u64,
    from_hand: VecDeque<Entry>,
    slow_writes: BTreeMap<u64, u64>,
}

impl MClock {
    pub(super) fn new(rounds: u64) -> MClock {
        MClock { rounds, passed: 0, from_hand: VecDeque::new(), slow_writes: BTreeMap::new() }
    }

    pub(super) fn found_fast(&mut self, page: u64, op: Op) {
        let entry = self.from_hand.iter_mut().find(|entry| entry.page == page);
        let entry = entry.expect("it is fast");
        entry.referenced = true;
        entry.written |= op == Op::Write;
    }

    /// A slow page is written: whether it is promoted.
    pub(super) fn is_promoted(&mut self, page: u64) -> bool {
        let last = self.slow_writes.insert(page, self.passed);
        let most = self.rounds * self.from_hand.len() as u64;
        last.is_some_and(|last| self.passed - last <= most)
    }

    pub(super) fn enter_fast(&mut self, page: u64, promoted: bool) {
        self.slow_writes.remove(&page);
        self.from_hand.push_back(Entry { page, referenced: promoted, written: promoted });
    }

    pub(super) fn forget(&mut self, page: u64) {
        self.slow_writes.remove(&page);
    }

    pub(super) fn victim(&mut self) -> u64 {
        loop {
            let mut entry = self.from_hand.pop_front().expect("a full tier has pages");
            self.passed += 1;
            match (entry.written, entry.referenced) {
                (true, _) => entry.written = false,
                (false, true) => entry.referenced = false,
                (false, false) => return entry.page,
            }
            self.from_hand.push_back(entry);
        }
    }
}
