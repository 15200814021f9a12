//! `hemem`.

use std::collections::{BTreeMap, VecDeque};

use crate::Op;

#[derive(Clone, Copy, Default)]
struct Counters {
    reads: u64,
    writes: u64,
    clock: u64,
}

pub(super) struct Hemem {
    pub(super) sample: u64,
    read_hot: u64,
    write_hot: u64,
    cool: u64,
    pub(super) migrate: u64,
    clock: u64,
    counters: BTreeMap<u64, Counters>,
    /// By tier (fast or not) and class (hot or not), from head to tail.
    lists: BTreeMap<(bool, bool), VecDeque<u64>>,
}

impl Hemem {
    pub(super) fn new(
        sample: u64,
        (read_hot, write_hot): (u64, u64),
        cool: u64,
        migrate: u64,
    ) -> Hemem {
        let keys = [(false, false), (false, true), (true, false), (true, true)];
        let lists = keys.map(|key| (key, VecDeque::new())).into();
        let counters = BTreeMap::new();
        Hemem { sample, read_hot, write_hot, cool, migrate, clock: 0, counters, lists }
    }

    fn of(&self, page: u64) -> Counters {
        self.counters.get(&page).copied().unwrap_or_default()
    }

    fn is_hot(&self, page: u64) -> bool {
        self.of(page).reads >= self.read_hot || self.of(page).writes >= self.write_hot
    }

    pub(super) fn enter(&mut self, page: u64, is_fast: bool) {
        let is_hot = self.is_hot(page);
        let by_writes = self.of(page).writes >= self.write_hot;
        let list = self.lists.get_mut(&(is_fast, is_hot)).expect("there are four lists");
        if by_writes {
            list.push_front(page);
        } else {
            list.push_back(page);
        }
    }

    pub(super) fn leave(&mut self, page: u64) {
        self.lists.values_mut().for_each(|list| list.retain(|other| *other != page));
    }

    pub(super) fn forget(&mut self, page: u64) {
        self.counters.remove(&page);
    }

    pub(super) fn take_sample(&mut self, page: u64, op: Op, is_fast: bool) {
        let was_hot = self.lists[&(is_fast, true)].contains(&page);
        let mut counters = self.of(page);
        for _ in counters.clock..self.clock {
            counters.reads /= 2;
            counters.writes /= 2;
        }
        counters.clock = self.clock;
        match op {
            Op::Read => counters.reads += 1,
            Op::Write => counters.writes += 1,
        }
        self.counters.insert(page, counters);
        if self.is_hot(page) != was_hot {
            self.leave(page);
            self.enter(page, is_fast);
        }
        if counters.reads + counters.writes >= self.cool {
            self.clock += 1;
        }
    }

    pub(super) fn first_hot_of_slow(&self) -> Option<u64> {
        self.lists[&(false, true)].front().copied()
    }

    pub(super) fn has_cold_of_fast(&self) -> bool {
        !self.lists[&(true, false)].is_empty()
    }

    pub(super) fn victim(&mut self) -> u64 {
        let heads = [false, true].map(|is_hot| self.lists[&(true, is_hot)].front().copied());
        let page = heads[0].or(heads[1]).expect("a full tier has pages");
        self.leave(page);
        page
    }
}
