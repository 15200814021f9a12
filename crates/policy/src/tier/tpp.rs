//! # TPP: transparent page placement
//!
//! **What it keeps.** Two lists for the fast tier, active and inactive, with an accessed bit for each page. For the slow tier
//! a mark for pages whose next access is a hint fault, and whether a page is active.
//!
//! **Victim.** Pages are demoted ahead of need: after a reference that leaves fewer than `low_share` of the frames free, until
//! `high_share` are. While the inactive list is shorter than the active one, the active list's tail moves to its head. Then
//! the inactive list's tail is demoted, unless it was accessed: it becomes active.
//!
//! **On a write.** As on a read: an access to a marked slow page is a hint fault. With `rule=active` the first one
//! makes the page active, and a second one asks for promotion; `rule=first` asks at once; `rule=latency` asks if the
//! fault comes within `latency` references after the mark. A page that asks is promoted if a frame is free.
//!
//! **Parameters.**
//!
//! * `scan_period`: references between two scans (default 1000).
//!
//! * `scan_pages`: slow pages that a scan looks at (64).
//!
//! * `rule`: which slow pages are promoted: `active` (default), `first` or `latency`.
//!
//! * `latency`: the longest time between scan and fault, in references, that `rule=latency`
//!   promotes (1000).
//!
//! * `low_share`, `high_share`: the free frames of the fast tier that start demotion, and that end
//!   it, as shares of it (1/50, 1/25).
//!
//! **Cost per hit and per victim.** Constant per reference; a scan looks at up to `scan_pages` pages. 14 bytes per page.
//!
//! **Deviations from the paper.** An approximation defined by Clockhand's rules: promotion from the active list and the 2 % of
//! free frames are the paper's, `rule=latency` is that of Linux's automatic NUMA balancing; periods are in references.
//!
//! **Reference.** H. Al Maruf et al.: TPP: transparent page placement for CXL-enabled tiered-memory. ASPLOS 2023.

use alloc::vec;
use alloc::vec::Vec;

use super::catalog::{Cataloged, TierSize, count};
use super::{Countdown, Entry, Movements, TierInspector, TierPolicy, Tiers, show_pages};
use crate::catalog::Description;
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::parts::{Links, PageList};
use crate::{Op, PageId};

const ACCESSED: u8 = 1;
/// On the active list, or an active page of the slow tier.
const ACTIVE: u8 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Active,
    First,
    Latency(u64),
}

/// The policy.
#[derive(Clone, Debug)]
pub struct Tpp {
    flags: Vec<u8>,
    links: Links<PageId>,
    active: PageList,
    inactive: PageList,
    /// By page: the number of the reference after which it was marked; 0 if it is not.
    marks: Vec<u64>,
    slow: SlowPages,
    /// The page behind the last one that a scan looked at.
    cursor: usize,
    scans: Countdown,
    scan_pages: u32,
    rule: Rule,
    low_frames: u32,
    high_frames: u32,
}

/// Which pages are in the slow tier, a bit each.
#[derive(Clone, Debug)]
struct SlowPages(Vec<u64>);

impl SlowPages {
    fn set(&mut self, page: PageId, is_slow: bool) {
        let (word, bit) = (page.index() / 64, 1 << (page.index() % 64));
        if is_slow {
            self.0[word] |= bit;
        } else {
            self.0[word] &= !bit;
        }
    }

    /// The first slow page from number `from` on, without going around.
    fn from(&self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut bits = self.0.get(word)? & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.0.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }
}

impl Cataloged for Tpp {
    const DESCRIPTION: Description = Description {
        name: "tpp",
        summary: "hint faults promote active pages; a reserve of free frames is kept by demoting ahead",
        paper: "Al Maruf et al. 2023",
        parameters: &[
            count("scan_period", "references between two scans of the slow tier", "1000"),
            count("scan_pages", "slow pages that a scan looks at", "64"),
            Parameter {
                name: "rule",
                summary: "which hint faults ask for promotion",
                domain: Domain::Choice(&["active", "first", "latency"]),
                default: Default::Value("active"),
                only_with: None,
            },
            Parameter {
                only_with: Some(("rule", "latency")),
                domain: Domain::Count { min: 0, max: u32::MAX as u64 },
                ..count("latency", "references from the mark to a fault that asks", "1000")
            },
            Parameter::share(
                "low_share",
                "share of the frames below which pages are demoted",
                "1/50",
            ),
            Parameter::share("high_share", "share of the frames that are then made free", "1/25"),
        ],
        source: include_str!("tpp.rs"),
    };

    fn build(settings: &Settings, size: TierSize) -> Self {
        let number = |name| settings.count(name).expect("it has a default");
        let share = |name| settings.ratio(name).expect("a share has a default");
        let frames = |name| share(name).floor_of(size.fast_frames).min(u32::MAX.into()) as u32;
        let low_frames = frames("low_share").max(1);
        let pages = size.pages as usize;
        Tpp {
            flags: vec![0; pages],
            links: Links::new(size.pages),
            active: PageList::EMPTY,
            inactive: PageList::EMPTY,
            marks: vec![0; pages],
            slow: SlowPages(vec![0; pages.div_ceil(64)]),
            cursor: 0,
            scans: Countdown::new(number("scan_period")),
            scan_pages: number("scan_pages") as u32,
            rule: match settings.choice("rule") {
                "active" => Rule::Active,
                "first" => Rule::First,
                _ => Rule::Latency(number("latency")),
            },
            low_frames,
            high_frames: frames("high_share").max(low_frames),
        }
    }
}

impl TierPolicy for Tpp {
    #[inline]
    fn found_fast(&mut self, page: PageId, _: Op) {
        self.flags[page.index()] |= ACCESSED;
    }

    #[inline]
    fn found_slow<M: Movements>(&mut self, page: PageId, op: Op, tiers: &mut Tiers<M>) {
        let mark = core::mem::take(&mut self.marks[page.index()]);
        if mark == 0 {
            return;
        }
        tiers.movements().hint_fault(page);
        let flags = &mut self.flags[page.index()];
        let was_active = *flags & ACTIVE != 0;
        let asks = match self.rule {
            Rule::Active => {
                *flags |= ACTIVE;
                was_active
            }
            Rule::First => true,
            Rule::Latency(most) => tiers.now() - mark <= most,
        };
        if !asks {
            return;
        }
        match tiers.free_fast_frames() {
            0 => tiers.refuse(page),
            _ => _ = tiers.promote(self, page, op),
        }
    }

    /// Only where a driver fills the fast tier beyond what is kept free.
    fn choose_victim(&mut self, _: PageId) -> PageId {
        self.take_victim()
    }

    fn entered_fast(&mut self, page: PageId, _: Op, entry: Entry) {
        match entry {
            Entry::Promoted => {
                self.flags[page.index()] = ACTIVE;
                self.active.push_head(&mut self.links, page);
            }
            Entry::Placed => {
                self.flags[page.index()] = 0;
                self.inactive.push_head(&mut self.links, page);
            }
        }
    }

    fn entered_slow(&mut self, page: PageId) {
        self.flags[page.index()] = 0;
        self.marks[page.index()] = 0;
        self.slow.set(page, true);
    }

    fn left_slow(&mut self, page: PageId) {
        self.slow.set(page, false);
        self.flags[page.index()] = 0;
        self.marks[page.index()] = 0;
    }

    #[inline]
    fn ends<M: Movements>(&mut self, tiers: &mut Tiers<M>) {
        if self.scans.ends() {
            self.scan(tiers);
        }
        if tiers.free_fast_frames() < self.low_frames {
            self.demote_ahead(tiers);
        }
    }

    fn inspect(&self, inspector: &mut dyn TierInspector) {
        let row = |page: PageId| {
            let accessed = self.flags[page.index()] & ACCESSED;
            [page.0.into(), accessed.into(), 0, 0]
        };
        inspector.list("active", &mut self.active.iter(&self.links).map(row), 2);
        inspector.list("inactive", &mut self.inactive.iter(&self.links).map(row), 2);
        let slow = || (0..self.flags.len()).filter(|&page| self.slow.from(page) == Some(page));
        let page = |page: usize| PageId(page as u32);
        show_pages(inspector, "marked", slow().filter(|&at| self.marks[at] > 0).map(page));
        let is_active = |&at: &usize| self.flags[at] & ACTIVE != 0;
        show_pages(inspector, "slow_active", slow().filter(is_active).map(page));
    }
}

impl Tpp {
    #[inline(never)]
    fn scan<M: Movements>(&mut self, tiers: &mut Tiers<M>) {
        let looked_at = self.scan_pages.min(tiers.slow_pages());
        for _ in 0..looked_at {
            let next = self.slow.from(self.cursor).or_else(|| self.slow.from(0));
            let page = next.expect("the slow tier has pages");
            if self.marks[page] == 0 {
                self.marks[page] = tiers.now();
            }
            self.cursor = page + 1;
        }
        tiers.movements().scanned(looked_at.into());
    }

    #[inline(never)]
    fn demote_ahead<M: Movements>(&mut self, tiers: &mut Tiers<M>) {
        while tiers.free_fast_frames() < self.high_frames.min(tiers.fast_frames()) {
            let victim = self.take_victim();
            tiers.demote(self, victim);
        }
    }

    fn take_victim(&mut self) -> PageId {
        loop {
            while self.inactive.len() < self.active.len() {
                let page = self.active.tail();
                self.active.remove(&mut self.links, page);
                self.flags[page.index()] = 0;
                self.inactive.push_head(&mut self.links, page);
            }
            let page = self.inactive.tail();
            self.inactive.remove(&mut self.links, page);
            if self.flags[page.index()] & ACCESSED == 0 {
                return page;
            }
            self.flags[page.index()] = ACTIVE;
            self.active.push_head(&mut self.links, page);
        }
    }
}
