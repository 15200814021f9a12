//! CRAW and CRAW-A (A-20 … A-37).

mod area;
mod page;

use num_rational::Ratio;

use area::Area;
use page::Page;

use crate::{Event, Op, State, Twin, parameters::Parameters, visibility::Visibility};

#[derive(Clone, Copy, PartialEq, Eq)]
enum WriteArea {
    W1,
    W2,
}

#[derive(Default)]
struct Statistics {
    reclaims: u64,
    null_reclaims: u64,
    w1_drained: u64,
    stale_ghosts: u64,
    zero_by_zero: u64,
    ghost_r_hits: u64,
    ghost_w1_hits: u64,
    ghost_w2_hits: u64,
}

pub(crate) struct Craw {
    frames: usize,
    /// CRAW-A: R is T, the area of all references.
    r_holds_all_references: bool,
    c: Ratio<i128>,
    ghosts_are_exclusive: bool,
    eager_write_back: bool,
    visibility: Visibility,
    memory: Vec<Page>,
    r: Area,
    w1: Area,
    w2: Area,
    /// hits in R' since the last adaptation.
    ghost_r_hits: u64,
    /// the ghost to trim next.
    turn: WriteArea,
    statistics: Statistics,
}

impl Craw {
    /// CRAW.
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> Craw {
        let c = parameters.rational("c").unwrap_or(Ratio::from(8));
        assert!(c >= Ratio::from(1), "`c` must be at least 1 (A-20)");
        // S_R = S/c and S_W1 = S_W2 = (S − S_R)/2, never rounded.
        let all = Ratio::from(frames as i128);
        let size_r = all / c;
        let size_w = (all - size_r) / 2;
        Craw {
            frames,
            r_holds_all_references: false,
            c,
            ghosts_are_exclusive: parameters.choice("ghosts", &["exclusive", "literal"]) == 0,
            eager_write_back: parameters.choice("write_back", &["lazy", "eager"]) == 1,
            visibility: parameters.visibility(),
            memory: Vec::new(),
            r: Area::new(size_r),
            w1: Area::new(size_w),
            w2: Area::new(size_w),
            ghost_r_hits: 0,
            turn: WriteArea::W1,
            statistics: Statistics::default(),
        }
    }

    /// CRAW-A.
    pub(crate) fn new_all_references(frames: usize, parameters: &mut Parameters) -> Craw {
        Craw { r_holds_all_references: true, ..Craw::new(frames, parameters) }
    }

    fn page_mut(&mut self, page: u64) -> &mut Page {
        let mut pages = self.memory.iter_mut();
        pages.find(|entry| entry.page == page).expect("a linked page is in memory")
    }

    fn area_mut(&mut self, area: WriteArea) -> &mut Area {
        match area {
            WriteArea::W1 => &mut self.w1,
            WriteArea::W2 => &mut self.w2,
        }
    }

    fn is_in_w(&self, page: u64) -> bool {
        self.w1.contains(page) || self.w2.contains(page)
    }

    /// An access to a page in memory; it never changes a list.
    fn access(&mut self, page: u64, op: Op) {
        let visibility = self.visibility;
        let write_sets_read_bit = self.r_holds_all_references;
        self.page_mut(page).access(op, visibility, write_sets_read_bit);
    }

    /// One fault; the order is that of A-27.
    fn fault(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        let mut event = Event::miss();
        let mut calls = 0;
        while self.memory.len() + ahead.len() >= self.frames {
            let victim = self.reclaim(&mut event.written_back);
            calls = if victim.is_some() { 0 } else { calls + 1 };
            event.evicted.extend(victim);
            assert!(calls < 6 * self.frames, "a page needs at most 6S calls (A-25)");
        }
        self.memory.push(Page::load(page, op));
        if op == Op::Read || self.r_holds_all_references {
            self.fault_into_r(page);
        }
        if op == Op::Write {
            self.fault_into_w(page);
        }
        self.trim_ghosts();
        if self.visibility.retries_fault() {
            // The retried access is known, wherever later ones are seen.
            let write_sets_read_bit = self.r_holds_all_references;
            self.page_mut(page).access(op, Visibility::Mapped, write_sets_read_bit);
        }
        for page in ahead {
            self.memory.push(Page::load(*page, Op::Read));
            self.fault_into_r(*page);
            self.trim_ghosts();
        }
        event
    }

    fn fault_into_r(&mut self, page: u64) {
        if self.r.forget(page) {
            self.statistics.ghost_r_hits += 1;
            self.ghost_r_hits += 1;
            // one global counter.
            if Ratio::from(i128::from(self.ghost_r_hits)) >= self.c {
                self.ghost_r_hits = 0;
                self.r.resize(Ratio::from(1), self.frames);
                self.w1.resize(Ratio::new(-1, 2), self.frames);
                self.w2.resize(Ratio::new(-1, 2), self.frames);
            }
        }
        self.r.from_hand.push_back(page);
    }

    /// W1' is tested before W2'; either hit links into W2.
    fn fault_into_w(&mut self, page: u64) {
        if self.w1.forget(page) {
            self.statistics.ghost_w1_hits += 1;
            self.w1.resize(Ratio::from(1), self.frames);
            self.r.resize(Ratio::from(-1), self.frames);
            self.w2.from_hand.push_back(page);
        } else if self.w2.forget(page) {
            self.statistics.ghost_w2_hits += 1;
            self.w2.resize(Ratio::from(1), self.frames);
            self.r.resize(Ratio::from(-1), self.frames);
            self.w2.from_hand.push_back(page);
        } else {
            self.w1.from_hand.push_back(page);
        }
    }

    /// RECLAIM: the page that left memory with its dirty flag, or None (NULL).
    fn reclaim(&mut self, written_back: &mut Vec<u64>) -> Option<(u64, bool)> {
        let areas = [&self.r, &self.w1, &self.w2];
        let zero_by_zero = areas.iter().any(|area| area.is_zero_by_zero());
        let [r, w1, w2] = areas;
        // ties go to R, then W1, then W2.
        let victim = if r.ratio_is_at_least(w1) && r.ratio_is_at_least(w2) {
            self.reclaim_from_r()
        } else if w1.ratio_is_at_least(r) && w1.ratio_is_at_least(w2) {
            self.reclaim_from_w(WriteArea::W1, written_back)
        } else {
            self.reclaim_from_w(WriteArea::W2, written_back)
        };
        self.statistics.reclaims += 1;
        self.statistics.null_reclaims += u64::from(victim.is_none());
        self.statistics.zero_by_zero += u64::from(zero_by_zero);
        victim
    }

    fn reclaim_from_r(&mut self) -> Option<(u64, bool)> {
        loop {
            let page = self.r.from_hand.pop_front().expect("R is not empty (A-22)");
            let bits = *self.page_mut(page);
            // (1)
            if bits.write_bit && !self.is_in_w(page) {
                self.link_into_w1_by_scan(page);
                self.page_mut(page).clear_write_bit();
            }
            // (2)
            if bits.read_bit {
                self.page_mut(page).clear_read_bit();
                self.r.from_hand.push_back(page);
                continue;
            }
            // (3)
            self.r.remember(page);
            if self.is_in_w(page) {
                return None;
            }
            return Some(self.leave_memory(page));
        }
    }

    fn reclaim_from_w(
        &mut self,
        area: WriteArea,
        written_back: &mut Vec<u64>,
    ) -> Option<(u64, bool)> {
        loop {
            let Some(page) = self.area_mut(area).from_hand.pop_front() else {
                // the scan moved every page of W1 to W2.
                self.statistics.w1_drained += 1;
                return None;
            };
            let bits = *self.page_mut(page);
            // (1)
            if bits.read_bit && !self.r.contains(page) {
                self.link_into_r_by_scan(page);
                self.page_mut(page).clear_read_bit();
            }
            // (2)
            if bits.write_bit {
                self.page_mut(page).clear_write_bit();
                self.w2.from_hand.push_back(page);
                continue;
            }
            // (3)
            self.area_mut(area).remember(page);
            if !self.r.contains(page) {
                return Some(self.leave_memory(page));
            }
            //
            if self.eager_write_back && bits.dirty {
                self.page_mut(page).dirty = false;
                written_back.push(page);
            }
            return None;
        }
    }

    /// the page may still be in R'.
    fn link_into_r_by_scan(&mut self, page: u64) {
        self.statistics.stale_ghosts += u64::from(self.r.ghost.contains(&page));
        if self.ghosts_are_exclusive {
            self.r.forget(page);
        }
        self.r.from_hand.push_back(page);
    }

    /// the page may still be in W1' or W2'; it goes to W1 even so.
    fn link_into_w1_by_scan(&mut self, page: u64) {
        let stale = self.w1.ghost.contains(&page) || self.w2.ghost.contains(&page);
        self.statistics.stale_ghosts += u64::from(stale);
        if self.ghosts_are_exclusive {
            self.w1.forget(page);
            self.w2.forget(page);
        }
        self.w1.from_hand.push_back(page);
    }

    fn leave_memory(&mut self, page: u64) -> (u64, bool) {
        let dirty = self.page_mut(page).dirty;
        self.memory.retain(|entry| entry.page != page);
        (page, dirty)
    }

    /// The two trimming loops, once per fault, after linking.
    fn trim_ghosts(&mut self) {
        while self.r.from_hand.len() + self.r.ghost.len() > self.frames && !self.r.ghost.is_empty()
        {
            self.r.ghost.pop_front();
        }
        loop {
            let linked = self.w1.from_hand.len() + self.w2.from_hand.len();
            let ghosts = self.w1.ghost.len() + self.w2.ghost.len();
            if linked + ghosts <= self.frames || ghosts == 0 {
                return;
            }
            self.trim_in_turn();
        }
    }

    /// Takes the oldest entry of the list named by `turn`, or of the other list if that one is empty; then `turn` is
    /// the other list.
    fn trim_in_turn(&mut self) {
        let other = match self.turn {
            WriteArea::W1 => WriteArea::W2,
            WriteArea::W2 => WriteArea::W1,
        };
        let removed = self.area_mut(self.turn).ghost.pop_front();
        if removed.is_some() {
            self.turn = other;
        } else {
            // The other list lost an entry, so the turn stays.
            self.area_mut(other).ghost.pop_front();
        }
    }

    /// A-24 and, for exclusive ghosts, A-30.
    fn check_invariants(&self) {
        let linked_in_w = self.w1.from_hand.len() + self.w2.from_hand.len();
        assert!(self.r.from_hand.len() <= self.frames && linked_in_w <= self.frames);
        for entry in &self.memory {
            let page = entry.page;
            assert!(self.r.contains(page) || self.is_in_w(page));
            assert!(!(self.w1.contains(page) && self.w2.contains(page)));
            assert!(entry.dirty || !self.is_in_w(page), "A-33");
        }
        if self.ghosts_are_exclusive {
            let is_w_ghost = |page| self.w1.ghost.contains(page) || self.w2.ghost.contains(page);
            assert!(!self.r.ghost.iter().any(|page| self.r.contains(*page)));
            assert!(!self.w1.ghost.iter().any(|page| self.w2.ghost.contains(page)));
            let mut linked = self.w1.from_hand.iter().chain(&self.w2.from_hand);
            assert!(!linked.any(is_w_ghost));
        }
    }

    fn render_clock(&self, area: &Area) -> State {
        let entries = area.from_hand.iter().map(|page| {
            let mut pages = self.memory.iter();
            let entry =
                pages.find(|entry| entry.page == *page).expect("a linked page is in memory");
            State::entry(*page, &[entry.read_bit, entry.write_bit])
        });
        State::List(entries.collect())
    }
}

impl Twin for Craw {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        let event = if self.memory.iter().any(|entry| entry.page == page) {
            self.access(page, op);
            Event::hit()
        } else {
            self.fault(page, op, ahead)
        };
        self.check_invariants();
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        for area in [&mut self.r, &mut self.w1, &mut self.w2] {
            area.from_hand.retain(|other| *other != page);
        }
        self.leave_memory(page).1
    }

    fn state(&self) -> State {
        let size = |area: &Area| {
            let size = area.desired_size;
            State::Real(*size.numer() as f64 / *size.denom() as f64)
        };
        let dirty = self.memory.iter().filter(|entry| entry.dirty);
        let mut dirty: Vec<u64> = dirty.map(|entry| entry.page).collect();
        dirty.sort_unstable();
        State::Object(vec![
            ("R", self.render_clock(&self.r)),
            ("W1", self.render_clock(&self.w1)),
            ("W2", self.render_clock(&self.w2)),
            ("gR", State::pages(&self.r.ghost)),
            ("gW1", State::pages(&self.w1.ghost)),
            ("gW2", State::pages(&self.w2.ghost)),
            ("S_R", size(&self.r)),
            ("S_W1", size(&self.w1)),
            ("S_W2", size(&self.w2)),
            ("ghost_R_hits", State::Integer(self.ghost_r_hits)),
            (
                "turn",
                State::Integer(match self.turn {
                    WriteArea::W1 => 1,
                    WriteArea::W2 => 2,
                }),
            ),
            ("dirty", State::pages(&dirty)),
        ])
    }

    fn resident(&self) -> Vec<u64> {
        let mut pages: Vec<u64> = self.memory.iter().map(|entry| entry.page).collect();
        pages.sort_unstable();
        pages
    }

    fn statistics(&self) -> Vec<(&'static str, u64)> {
        let statistics = &self.statistics;
        vec![
            ("reclaims", statistics.reclaims),
            ("null_reclaims", statistics.null_reclaims),
            ("w1_drained", statistics.w1_drained),
            ("stale_ghosts", statistics.stale_ghosts),
            ("zero_by_zero", statistics.zero_by_zero),
            ("hits_gR", statistics.ghost_r_hits),
            ("hits_gW1", statistics.ghost_w1_hits),
            ("hits_gW2", statistics.ghost_w2_hits),
        ]
    }
}
