//! A page policy that keeps the fast tier: what it sees of the references, and which pages are promoted to it.

use std::fmt;

use clockhand_policy::memory::fast::FastMemory;
use clockhand_policy::page::{Fault, Inspector, PagePolicy};
use clockhand_policy::tier::{
    Countdown, Entry, Movements, Served, Tier, TierInspector, TierPolicy, Tiers,
};
use clockhand_policy::{Frame, Frames, Op, PageId};
use clockhand_trace::Record;

use super::promotion;
use crate::replay::Feed;

/// What a page policy sees of the references.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Sight {
    /// Every reference, before its access.
    #[default]
    All,
    /// One reference in this number, after its access.
    Sample(u64),
    /// The bits that accesses have set, each time after this number of references.
    Bits(u64),
}

impl fmt::Display for Sight {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sight::All => formatter.write_str("all"),
            Sight::Sample(every) => write!(formatter, "sample:{every}"),
            Sight::Bits(every) => write!(formatter, "bits:{every}"),
        }
    }
}

/// Numbers of pages as the policy wants them: those of the tiers, or by address.
#[derive(Clone, Copy)]
pub(super) struct Numbers<'a> {
    /// By page of the tiers, and back; empty if the numbers are the same.
    pub(super) by_address: &'a [u32],
    pub(super) back: &'a [u32],
}

impl Numbers<'_> {
    #[inline]
    fn of_policy(self, page: PageId) -> PageId {
        self.by_address.get(page.index()).map_or(page, |&number| PageId(number))
    }

    #[inline]
    fn of_tiers(self, page: PageId) -> PageId {
        self.back.get(page.index()).map_or(page, |&number| PageId(number))
    }
}

/// The bits that accesses have set since they were last taken.
pub(super) struct AccessBits {
    /// By group of 64 pages: which were read, and which were written.
    groups: Vec<[u64; 2]>,
    /// The groups with a bit.
    touched: Vec<u32>,
}

impl AccessBits {
    pub(super) fn new(pages: u32) -> Self {
        AccessBits { groups: vec![[0; 2]; pages.div_ceil(64) as usize], touched: Vec::new() }
    }

    #[inline]
    fn set(&mut self, page: PageId, op: Op) {
        let group = &mut self.groups[page.index() / 64];
        if *group == [0; 2] {
            self.touched.push(page.0 / 64);
        }
        group[op as usize] |= 1 << (page.0 % 64);
    }

    fn clear(&mut self, page: PageId) {
        if let Some(group) = self.groups.get_mut(page.index() / 64) {
            group.iter_mut().for_each(|bits| *bits &= !(1 << (page.0 % 64)));
        }
    }

    /// Takes all bits: the pages that have one, in page order, each with a write if it was written.
    fn take(&mut self) -> Vec<(PageId, Op)> {
        self.touched.sort_unstable();
        let mut pages = Vec::new();
        for group in self.touched.drain(..) {
            let [read, written] = std::mem::take(&mut self.groups[group as usize]);
            let mut left = read | written;
            while left != 0 {
                let place = left.trailing_zeros();
                let op = if written >> place & 1 != 0 { Op::Write } else { Op::Read };
                pages.push((PageId(group * 64 + place), op));
                left &= left - 1;
            }
        }
        pages
    }
}

/// A page policy with its memory, the fast tier.
pub(super) struct PageTier<'a, P, T> {
    pub(super) memory: clockhand_policy::Memory<P>,
    pub(super) feed: T,
    pub(super) sight: Sight,
    pub(super) rule: promotion::Memory<'a>,
    pub(super) numbers: Numbers<'a>,
    /// The ends of the policy's periods.
    pub(super) periods: Option<Countdown>,
    /// When the next sample or scan is; none where all is seen.
    pub(super) looks: Option<Countdown>,
    /// Bits that accesses have set, if the policy sees bits.
    pub(super) bits: AccessBits,
}

impl<P: PagePolicy, T: Feed<P>> PageTier<'_, P, T> {
    /// The policy learns of a reference to a page of the fast tier. If that writes, the page is dirty: the access is
    /// the one that follows, or the fast tier has served it already.
    #[inline]
    fn tell_hit(&mut self, page: PageId, op: Op) {
        let page = self.numbers.of_policy(page);
        let frame = self.memory.frame_of(page);
        self.feed.hit(&mut self.memory, Record::single(page.0, op == Op::Write), frame);
    }

    /// The rule learns of a reference, and asked if it may promote.
    #[inline]
    fn ask<M: Movements>(&mut self, page: PageId, op: Op, tiers: &mut Tiers<M>) {
        let now = tiers.now();
        self.rule.note(page, true, now);
        if tiers.fast_frames() == 0 {
            return;
        }
        let (memory, numbers) = (&self.memory, self.numbers);
        let would_leave = || {
            let victim = (tiers.free_fast_frames() == 0).then(|| memory.peek_victim()).flatten()?;
            Some(numbers.of_tiers(memory.frames().page(victim)))
        };
        if self.rule.promotes(page, op, now, would_leave) {
            tiers.promote(self, page, op);
        }
    }

    /// The policy learns of a sampled reference.
    #[inline(never)]
    fn take_sample<M: Movements>(&mut self, served: Served, tiers: &mut Tiers<M>) {
        let Served { page, op, found, by } = served;
        tiers.movements().sampled();
        if found.is_none() {
            return self.rule.note(page, by == Tier::Slow, tiers.now());
        }
        match by {
            Tier::Fast => {
                self.rule.note(page, false, tiers.now());
                self.tell_hit(page, op);
            }
            Tier::Slow => self.ask(page, op, tiers),
        }
    }

    /// The bits of all pages are taken and cleared, and reported as one reference each.
    #[inline(never)]
    fn scan<M: Movements>(&mut self, tiers: &mut Tiers<M>) {
        let resident = tiers.resident_pages();
        tiers.movements().scanned(resident.into());
        let mut slow = Vec::new();
        for (page, op) in self.bits.take() {
            match tiers.tier_of(page) {
                Some(Tier::Fast) => {
                    self.rule.note(page, false, tiers.now());
                    self.tell_hit(page, op);
                }
                Some(Tier::Slow) => slow.push((page, op)),
                None => {}
            }
        }
        for (page, op) in slow {
            if tiers.tier_of(page) == Some(Tier::Slow) {
                self.ask(page, op, tiers);
            }
        }
    }

    /// A page of the fast tier is written; the policy may not see it.
    #[inline]
    fn make_dirty(&mut self, page: PageId) {
        let frame = self.memory.frame_of(self.numbers.of_policy(page));
        if !self.memory.frames().is_dirty(frame) {
            self.memory.make_dirty(frame);
        }
    }
}

impl<P: PagePolicy, T: Feed<P>> TierPolicy for PageTier<'_, P, T> {
    #[inline]
    fn begins(&mut self) {
        self.feed.before(&mut self.memory);
    }

    #[inline]
    fn found_fast(&mut self, page: PageId, op: Op) {
        if self.sight == Sight::All {
            self.tell_hit(page, op);
        }
    }

    #[inline]
    fn found_slow<M: Movements>(&mut self, page: PageId, op: Op, tiers: &mut Tiers<M>) {
        if self.sight == Sight::All {
            self.ask(page, op, tiers);
        }
    }

    fn choose_victim(&mut self, incoming: PageId) -> PageId {
        let incoming = self.numbers.of_policy(incoming);
        let victim = self.memory.propose_victim_for(incoming).expect("no page is pinned");
        while let Some(frame) = self.memory.next_write_back() {
            self.memory.written_back(frame);
        }
        if self.memory.frames().is_dirty(victim) {
            self.memory.written_back(victim);
        }
        self.numbers.of_tiers(self.memory.commit_eviction())
    }

    fn entered_fast(&mut self, page: PageId, op: Op, entry: Entry) {
        let fault = Fault::new(self.numbers.of_policy(page), op);
        // The access that a sample or a bit tells of was served before the page came.
        match entry {
            Entry::Promoted if self.sight != Sight::All => self.memory.load_clean(fault),
            Entry::Promoted | Entry::Placed => self.memory.load(fault),
        };
    }

    fn entered_slow(&mut self, page: PageId) {
        self.rule.entered_slow(page);
    }

    fn evicted(&mut self, page: PageId) {
        self.rule.evicted(page);
        self.bits.clear(page);
    }

    #[inline]
    fn served<M: Movements>(&mut self, served: Served, tiers: &mut Tiers<M>) {
        let Served { page, op, found, by } = served;
        // A policy that sees all references has seen the write.
        if by == Tier::Fast && op == Op::Write && self.sight != Sight::All {
            self.make_dirty(page);
        }
        match self.sight {
            // References that found their page in the slow tier have been seen.
            Sight::All => match (found, by) {
                (Some(Tier::Slow), _) => {}
                (_, by) => self.rule.note(page, by == Tier::Slow, tiers.now()),
            },
            Sight::Sample(_) => {
                if self.looks.as_mut().is_some_and(Countdown::ends) {
                    self.take_sample(served, tiers);
                }
            }
            Sight::Bits(_) => self.bits.set(page, op),
        }
    }

    #[inline]
    fn ends<M: Movements>(&mut self, tiers: &mut Tiers<M>) {
        if self.periods.as_mut().is_some_and(Countdown::ends) {
            self.memory.tick();
        }
        let scans = matches!(self.sight, Sight::Bits(_));
        if scans && self.looks.as_mut().is_some_and(Countdown::ends) {
            self.scan(tiers);
        }
    }

    fn inspect(&self, inspector: &mut dyn TierInspector) {
        self.memory.policy().inspect(&mut Lists { tier: self, inspector });
    }
}

/// Shows the lists of a page policy by the numbers of the tiers, each page with its reference bit.
struct Lists<'a, 'b, P, T> {
    tier: &'a PageTier<'b, P, T>,
    inspector: &'a mut dyn TierInspector,
}

impl<P: PagePolicy, T> Inspector for Lists<'_, '_, P, T> {
    fn list(&mut self, name: &'static str, frames: &mut dyn Iterator<Item = Frame>) {
        let PageTier { memory, numbers, .. } = self.tier;
        let row = |frame: Frame| {
            let page = numbers.of_tiers(memory.frames().page(frame));
            [page.0.into(), memory.frames().is_referenced(frame).into(), 0, 0]
        };
        self.inspector.list(name, &mut frames.map(row), 2);
    }

    fn ghosts(&mut self, _: &'static str, _: &mut dyn Iterator<Item = PageId>) {}

    fn value(&mut self, _: &'static str, _: f64) {}
}
