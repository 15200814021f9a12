//! Two tiers of memory (A-130 … A-142), literally: lists that are searched, and costs that are added event by event.

mod background;
mod clock_dwf;
mod hemem;
mod m_clock;
mod memtis;
mod page_policy;
mod prices;
mod rules;
mod tpp;

use std::collections::{BTreeMap, BTreeSet};

use crate::Op;
use clock_dwf::ClockDwf;
use hemem::Hemem;
use m_clock::MClock;
use memtis::Memtis;
use page_policy::PageKeeper;
pub use page_policy::{TierPromotion, TierSight};
pub use prices::{TierPrices, TierTimes, static_pages};
pub use rules::{TierEvent, TierKeeper, TierPlacement, TierRules};
use tpp::Tpp;
pub use tpp::TppRule;

enum Keeper {
    Page(PageKeeper),
    ClockDwf(ClockDwf),
    MClock(MClock),
    Tpp(Tpp),
    Memtis(Memtis),
    Hemem(Hemem),
    Static(BTreeSet<u64>),
}

/// Two tiers.
pub struct TierTwin {
    rules: TierRules,
    keeper: Keeper,
    /// The number of the present reference, from 1.
    now: u64,
    /// Pages by their first references: page order.
    order: Vec<u64>,
    fast: Vec<u64>,
    /// From the hand, each with its bit.
    slow: Vec<(u64, bool)>,
    /// From the oldest.
    shadows: Vec<u64>,
    /// Written since they last came from or went to storage.
    written: BTreeSet<u64>,
    placements: u64,
    promotions_left: u64,
    second: u64,
    events: Vec<TierEvent>,
    last_demotion: BTreeMap<u64, u64>,
    /// Promotions at most W references after the page's last demotion.
    pub ping_pongs: u64,
    /// References that found their page in the fast tier.
    pub fast_hits: u64,
    /// The most frames of the slow tier in use.
    pub slow_pages_peak: usize,
}

impl TierTwin {
    /// Empty tiers; `future` is the whole trace, which only `min` looks at.
    pub fn new(rules: TierRules, keeper: TierKeeper, future: &[(u64, Op)]) -> TierTwin {
        let keeper = match keeper {
            TierKeeper::Page(policy, parameters, sight, promotion) => {
                let frames = rules.fast_frames;
                let made = PageKeeper::new(policy, &parameters, frames, sight, promotion, future);
                Keeper::Page(made)
            }
            TierKeeper::ClockDwf(expiration, keeps) => {
                Keeper::ClockDwf(ClockDwf::new(expiration, keeps))
            }
            TierKeeper::MClock(rounds) => Keeper::MClock(MClock::new(rounds)),
            TierKeeper::Tpp(period, pages, rule, free) => {
                Keeper::Tpp(Tpp::new(period, pages, rule, free))
            }
            TierKeeper::Memtis(sample, adapt, cool, migrate) => {
                Keeper::Memtis(Memtis::new(sample, adapt, cool, migrate))
            }
            TierKeeper::Hemem(sample, read_hot, write_hot, cool, migrate) => {
                Keeper::Hemem(Hemem::new(sample, (read_hot, write_hot), cool, migrate))
            }
            TierKeeper::Static(pages) => Keeper::Static(pages),
        };
        TierTwin {
            promotions_left: rules.limit.map_or(u64::MAX, |(most, _)| most),
            rules,
            keeper,
            now: 0,
            order: Vec::new(),
            fast: Vec::new(),
            slow: Vec::new(),
            shadows: Vec::new(),
            written: BTreeSet::new(),
            placements: 0,
            second: 0,
            events: Vec::new(),
            last_demotion: BTreeMap::new(),
            ping_pongs: 0,
            fast_hits: 0,
            slow_pages_peak: 0,
        }
    }

    /// Applies a reference, in this second of trace time, and says what happened (A-130's order).
    pub fn reference(&mut self, page: u64, op: Op, second: u64) -> Vec<TierEvent> {
        self.now += 1;
        self.renew_limit(second);
        let is_new = !self.is_fast(page) && !self.is_slow(page);
        if self.is_fast(page) {
            self.fast_hits += 1;
            self.found_fast(page, op);
        } else if self.is_slow(page) {
            self.found_slow(page, op);
        } else {
            self.place(page, op);
        }
        self.serve(page, op, is_new);
        self.sample(page, op, is_new);
        if let Keeper::Page(keeper) = &mut self.keeper {
            keeper.end_reference(page, op);
        }
        self.background();
        std::mem::take(&mut self.events)
    }

    /// The slow tier from the hand, each page with its bit.
    pub fn slow(&self) -> &[(u64, bool)] {
        &self.slow
    }

    /// The pages that have shadows, from the oldest shadow.
    pub fn shadows(&self) -> &[u64] {
        &self.shadows
    }

    /// The pages of the fast tier, ascending.
    pub fn fast(&self) -> Vec<u64> {
        let mut fast = self.fast.clone();
        fast.sort_unstable();
        fast
    }

    fn is_fast(&self, page: u64) -> bool {
        self.fast.contains(&page)
    }

    fn is_slow(&self, page: u64) -> bool {
        self.slow.iter().any(|(other, _)| *other == page)
    }

    /// A page's place in page order.
    fn rank(&self, page: u64) -> usize {
        self.order.iter().position(|other| *other == page).expect("it was referenced")
    }

    fn in_page_order(&self, pages: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut pages: Vec<u64> = pages.collect();
        pages.sort_by_key(|page| self.rank(*page));
        pages
    }

    fn has_free_frame(&self) -> bool {
        self.fast.len() < self.rules.fast_frames
    }

    fn is_slow_full(&self) -> bool {
        self.rules.slow_frames.is_some_and(|most| self.slow.len() + self.shadows.len() >= most)
    }

    ///
    fn renew_limit(&mut self, second: u64) {
        let Some((most, period)) = self.rules.limit else { return };
        let begins = match period {
            0 => second != self.second,
            period => (self.now - 1).is_multiple_of(period),
        };
        if begins {
            self.promotions_left = most;
        }
        self.second = second;
    }

    fn found_fast(&mut self, page: u64, op: Op) {
        match &mut self.keeper {
            Keeper::Page(keeper) if keeper.sees_all() => keeper.hit(page, op, self.now),
            Keeper::ClockDwf(dwf) => dwf.found_fast(page, op),
            Keeper::MClock(m_clock) => m_clock.found_fast(page, op),
            Keeper::Tpp(tpp) => tpp.found_fast(page),
            _ => {}
        }
    }

    fn found_slow(&mut self, page: u64, op: Op) {
        match &mut self.keeper {
            Keeper::Page(keeper) if keeper.sees_all() => self.ask(page, op),
            Keeper::ClockDwf(_) if op == Op::Write => _ = self.promote(page, op),
            Keeper::MClock(m_clock) => {
                let asks = op == Op::Write && m_clock.is_promoted(page);
                if asks {
                    self.promote(page, op);
                }
            }
            Keeper::Tpp(tpp) => {
                let Some(asks) = tpp.hint(page, self.now) else { return };
                self.events.push(TierEvent::Hint(page));
                if asks && self.has_free_frame() {
                    self.promote(page, op);
                } else if asks && self.rules.fast_frames > 0 {
                    self.events.push(TierEvent::Refuse(page));
                }
            }
            _ => {}
        }
    }

    /// Applies A-136's rule to a page in the slow tier.
    fn ask(&mut self, page: u64, op: Op) {
        let has_free_frame = self.has_free_frame();
        let Keeper::Page(keeper) = &mut self.keeper else { panic!("page policies are asked") };
        keeper.tell_rule(page, true, self.now);
        if self.rules.fast_frames > 0 && keeper.asks(page, op, self.now, has_free_frame) {
            self.promote(page, op);
        }
    }

    ///
    fn place(&mut self, page: u64, op: Op) {
        let number = self.placements;
        self.placements += 1;
        let (mut goes_fast, makes_room) = match &self.keeper {
            Keeper::ClockDwf(_) | Keeper::MClock(_) => (op == Op::Write, true),
            Keeper::Static(lives) => (lives.contains(&page), true),
            _ => match self.rules.placement {
                TierPlacement::Fast => (true, false),
                TierPlacement::Slow => (false, false),
                TierPlacement::Interleave(fast, slow) => (number % (fast + slow) < fast, false),
                TierPlacement::MakeRoom => (true, true),
            },
        };
        let slow_has_room = !self.is_slow_full() || !self.shadows.is_empty();
        if self.rules.fast_frames == 0 {
            goes_fast = false;
        } else if self.rules.slow_frames == Some(0) {
            goes_fast = true;
        } else if !makes_room && goes_fast && !self.has_free_frame() {
            goes_fast = false;
        } else if !makes_room && !goes_fast && !slow_has_room && self.has_free_frame() {
            goes_fast = true;
        }
        if self.order.contains(&page) {
            self.events.push(TierEvent::Fault(page, goes_fast));
        } else {
            self.order.push(page);
            self.events.push(TierEvent::Place(page, goes_fast));
        }
        if goes_fast {
            self.enter_fast(page, op, false);
        } else {
            self.make_room_in_slow();
            self.enter_slow(page);
        }
    }

    /// the page leaves the slow tier, then a full fast tier gives up its victim, then the page is fast.
    fn promote(&mut self, page: u64, op: Op) -> bool {
        if self.rules.fast_frames == 0 {
            return false;
        }
        if self.promotions_left == 0 {
            self.events.push(TierEvent::Refuse(page));
            return false;
        }
        self.promotions_left -= u64::from(self.rules.limit.is_some());
        self.events.push(TierEvent::Promote(page));
        let last = self.last_demotion.get(&page);
        self.ping_pongs +=
            u64::from(last.is_some_and(|last| self.now - last <= self.rules.ping_pong));
        self.leave_slow(page);
        if self.rules.non_exclusive {
            self.shadows.push(page);
        }
        self.enter_fast(page, op, true);
        true
    }

    fn enter_fast(&mut self, page: u64, op: Op, promoted: bool) {
        let is_full = !self.has_free_frame();
        let victims = match &mut self.keeper {
            Keeper::Page(keeper) => keeper.enter_fast(page, op, promoted),
            Keeper::ClockDwf(dwf) if is_full => vec![dwf.victim()],
            Keeper::MClock(m_clock) if is_full => vec![m_clock.victim()],
            Keeper::Tpp(tpp) if is_full => vec![tpp.victim()],
            Keeper::Hemem(hemem) if is_full => vec![hemem.victim()],
            Keeper::Memtis(_) if is_full => {
                let fast = self.in_page_order(self.fast.iter().copied());
                let Keeper::Memtis(memtis) = &self.keeper else { unreachable!() };
                vec![memtis.coldest(&fast).expect("a full tier has pages")]
            }
            _ => vec![],
        };
        for victim in victims {
            self.demote(victim);
        }
        self.fast.push(page);
        match &mut self.keeper {
            Keeper::ClockDwf(dwf) => dwf.enter_fast(page),
            Keeper::MClock(m_clock) => m_clock.enter_fast(page, promoted),
            Keeper::Tpp(tpp) => tpp.enter_fast(page, promoted),
            Keeper::Hemem(hemem) => hemem.enter(page, true),
            Keeper::Page(_) | Keeper::Memtis(_) | Keeper::Static(_) => {}
        }
    }

    /// The victim, which its policy has forgotten, leaves the fast tier.
    fn demote(&mut self, page: u64) {
        self.fast.retain(|other| *other != page);
        let is_free = self.shadows.contains(&page);
        self.shadows.retain(|other| *other != page);
        if self.rules.slow_frames == Some(0) {
            return self.evict(page);
        }
        if !is_free {
            self.make_room_in_slow();
        }
        self.events.push(TierEvent::Demote(page, is_free));
        self.last_demotion.insert(page, self.now);
        self.enter_slow(page);
    }

    fn enter_slow(&mut self, page: u64) {
        self.slow.push((page, false));
        self.slow_pages_peak = self.slow_pages_peak.max(self.slow.len() + self.shadows.len());
        match &mut self.keeper {
            Keeper::Page(keeper) => keeper.enter_slow(page),
            Keeper::Hemem(hemem) => hemem.enter(page, false),
            _ => {}
        }
    }

    fn leave_slow(&mut self, page: u64) {
        self.slow.retain(|(other, _)| *other != page);
        match &mut self.keeper {
            Keeper::Tpp(tpp) => tpp.leave_slow(page),
            Keeper::Hemem(hemem) => hemem.leave(page),
            _ => {}
        }
    }

    /// A full slow tier gives up its oldest shadow, else the victim of its CLOCK.
    fn make_room_in_slow(&mut self) {
        if !self.is_slow_full() {
            return;
        }
        if !self.shadows.is_empty() {
            let oldest = self.shadows.remove(0);
            self.events.push(TierEvent::Unshadow(oldest));
            return;
        }
        while self.slow[0].1 {
            let (page, _) = self.slow.remove(0);
            self.slow.push((page, false));
        }
        let (page, _) = self.slow[0];
        self.leave_slow(page);
        self.evict(page);
    }

    fn evict(&mut self, page: u64) {
        self.events.push(TierEvent::Evict(page, self.written.remove(&page)));
        match &mut self.keeper {
            Keeper::Page(keeper) => keeper.forget(page),
            Keeper::ClockDwf(dwf) => dwf.forget(page),
            Keeper::MClock(m_clock) => m_clock.forget(page),
            Keeper::Memtis(memtis) => memtis.forget(page),
            Keeper::Hemem(hemem) => hemem.forget(page),
            Keeper::Tpp(_) | Keeper::Static(_) => {}
        }
    }

    /// The access itself, where the page now is.
    fn serve(&mut self, page: u64, op: Op, is_new: bool) {
        let by_fast = self.is_fast(page);
        self.events.push(TierEvent::Serve(page, op, by_fast));
        if op == Op::Write {
            self.written.insert(page);
            if by_fast {
                self.shadows.retain(|other| *other != page);
            }
        }
        if !by_fast && !is_new {
            self.slow.iter_mut().find(|(other, _)| *other == page).expect("it is slow").1 = true;
        }
        if let Keeper::Page(keeper) = &mut self.keeper {
            keeper.accessed(page, op, by_fast);
        }
    }
}
