//! `tpp`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Which hint faults ask for promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TppRule {
    /// Those on active pages; others make the page active.
    Active,
    /// All.
    First,
    /// Those at most this number of references after the mark.
    Latency(u64),
}

pub(super) struct Tpp {
    pub(super) scan_period: u64,
    pub(super) scan_pages: usize,
    rule: TppRule,
    low: usize,
    high: usize,
    /// From head to tail.
    active: VecDeque<u64>,
    inactive: VecDeque<u64>,
    /// Pages of the fast tier with accessed bit 1.
    accessed: BTreeSet<u64>,
    /// Pages of the slow tier with the number of the marking reference.
    marks: BTreeMap<u64, u64>,
    slow_active: BTreeSet<u64>,
    pub(super) last_looked_at: Option<u64>,
    /// True if demotion ahead goes on until `high` frames are free.
    is_demoting: bool,
}

impl Tpp {
    pub(super) fn new(
        scan_period: u64,
        scan_pages: usize,
        rule: TppRule,
        (low, high): (usize, usize),
    ) -> Tpp {
        Tpp {
            scan_period,
            scan_pages,
            rule,
            low,
            high,
            active: VecDeque::new(),
            inactive: VecDeque::new(),
            accessed: BTreeSet::new(),
            marks: BTreeMap::new(),
            slow_active: BTreeSet::new(),
            last_looked_at: None,
            is_demoting: false,
        }
    }

    pub(super) fn found_fast(&mut self, page: u64) {
        self.accessed.insert(page);
    }

    /// Tells whether a hint fault asks for promotion; `None` if the page is not marked.
    pub(super) fn hint(&mut self, page: u64, now: u64) -> Option<bool> {
        let mark = self.marks.remove(&page)?;
        Some(match self.rule {
            TppRule::Active => !self.slow_active.insert(page),
            TppRule::First => true,
            TppRule::Latency(most) => now - mark <= most,
        })
    }

    pub(super) fn mark(&mut self, page: u64, now: u64) {
        self.marks.entry(page).or_insert(now);
        self.last_looked_at = Some(page);
    }

    pub(super) fn enter_fast(&mut self, page: u64, promoted: bool) {
        self.accessed.remove(&page);
        if promoted {
            self.active.push_front(page);
        } else {
            self.inactive.push_front(page);
        }
    }

    pub(super) fn leave_slow(&mut self, page: u64) {
        self.marks.remove(&page);
        self.slow_active.remove(&page);
    }

    /// Returns whether another page is demoted ahead, with this number of frames and pages.
    pub(super) fn demotes_ahead(&mut self, frames: usize, pages: usize) -> bool {
        let free = frames - pages;
        self.is_demoting = (self.is_demoting || free < self.low) && free < self.high && pages > 0;
        self.is_demoting
    }

    pub(super) fn victim(&mut self) -> u64 {
        loop {
            while self.inactive.len() < self.active.len() {
                let page = self.active.pop_back().expect("it is the longer list");
                self.accessed.remove(&page);
                self.inactive.push_front(page);
            }
            let page = self.inactive.pop_back().expect("the fast tier has pages");
            if !self.accessed.remove(&page) {
                return page;
            }
            self.active.push_front(page);
        }
    }
}
