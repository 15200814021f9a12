//! # MEMTIS: a histogram of sampled accesses sets the threshold
//!
//! **What it keeps.** For each page, a count of its sampled accesses, halved now and then. A histogram of the counts in
//! 16 bins by powers of two. Two thresholds: the lowest hot bin, and the lowest bin that is not cold.
//!
//! **Victim.** After every `migrate`-th reference the slow pages whose bin is hot are promoted, the highest counts
//! first, while a frame is free or the fast tier has a page below the warm bin. Of these pages the one with the least
//! count is demoted.
//!
//! **On a write.** As on a read.
//!
//! **Parameters.**
//!
//! * `sample`: references between two samples (default 7).
//!
//! * `adapt`: samples after which the thresholds are set again (500).
//!
//! * `cool`: samples after which all counts are halved (10000).
//!
//! * `migrate`: references between two migrations (1000).
//!
//! **Cost per hit and per victim.** Constant per reference; a migration that can move pages looks at the hot ones of the slow
//! tier, a halving at all that have a count. A demotion takes the first of a heap of the fast tier's pages, which is made
//! again when counts have been halved. 13 bytes per page, and 8 per page of the fast tier.
//!
//! **Deviations from the paper.** An approximation defined by Clockhand's rules. The bins, the thresholds and the 75 % below
//! which pages one bin colder stay are the paper's; its kernel samples every 199th access, adapts after 100,000 samples, cools
//! after 2,000,000 and migrates every 500 ms. Here numbers are smaller, for short traces. Huge pages are left out.
//!
//! **Reference.** T. Lee et al.: MEMTIS: efficient memory tiering with dynamic page classification and page size determination.
//! SOSP 2023.

use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::catalog::{Cataloged, TierSize, count};
use super::{
    Countdown, Entry, Movements, Served, Tier, TierInspector, TierPolicy, Tiers, show_pages,
};
use crate::catalog::Description;
use crate::parameters::Settings;
use crate::parts::{Links, PageList};
use crate::{Op, PageId};

const BINS: usize = 16;

/// The policy.
#[derive(Clone, Debug)]
pub struct Memtis {
    counts: Vec<u32>,
    tiers: Vec<Option<Tier>>,
    links: Links<PageId>,
    /// The pages of the fast tier by the bin of their count, then those of the slow one.
    lists: [[PageList; BINS]; 2],
    /// The lowest hot bin, and the lowest bin that is not cold.
    hot: usize,
    warm: usize,
    samples: Countdown,
    thresholds: Countdown,
    halvings: Countdown,
    migrations: Countdown,
    fast_frames: u32,
    /// The pages of the fast tier, the coldest first, by counts that may have grown since; `None` until it is needed.
    coldest: Option<BinaryHeap<Reverse<(u32, u32)>>>,
}

/// The bin of a count: the logarithm of the count and one.
fn bin_of(count: u32) -> usize {
    ((u64::from(count) + 1).ilog2() as usize).min(BINS - 1)
}

impl Cataloged for Memtis {
    const DESCRIPTION: Description = Description {
        name: "memtis",
        summary: "a histogram of sampled accesses says how hot a page must be to fit into the fast tier",
        paper: "Lee et al. 2023",
        parameters: &[
            count("sample", "every so many references one is sampled", "7"),
            count("adapt", "samples after which the thresholds are set again", "500"),
            count("cool", "samples after which all counts are halved", "10000"),
            count("migrate", "references between two migrations", "1000"),
        ],
        source: include_str!("memtis.rs"),
    };

    fn build(settings: &Settings, size: TierSize) -> Self {
        let number = |name| settings.count(name).expect("it has a default");
        let countdown = |name| Countdown::new(number(name));
        Memtis {
            counts: vec![0; size.pages as usize],
            tiers: vec![None; size.pages as usize],
            links: Links::new(size.pages),
            lists: [[PageList::EMPTY; BINS]; 2],
            hot: 1,
            warm: 1,
            samples: countdown("sample"),
            thresholds: countdown("adapt"),
            halvings: countdown("cool"),
            migrations: countdown("migrate"),
            fast_frames: size.fast_frames,
            coldest: None,
        }
    }
}

impl TierPolicy for Memtis {
    fn choose_victim(&mut self, _: PageId) -> PageId {
        let page = self.take_coldest();
        self.leave(page);
        page
    }

    fn entered_fast(&mut self, page: PageId, _: Op, _: Entry) {
        self.enter(page, Tier::Fast);
    }

    fn entered_slow(&mut self, page: PageId) {
        self.enter(page, Tier::Slow);
    }

    fn left_slow(&mut self, page: PageId) {
        self.leave(page);
    }

    fn evicted(&mut self, page: PageId) {
        self.counts[page.index()] = 0;
    }

    #[inline]
    fn served<M: Movements>(&mut self, served: Served, tiers: &mut Tiers<M>) {
        if self.samples.ends() {
            self.take_sample(served.page);
            tiers.movements().sampled();
        }
    }

    #[inline]
    fn ends<M: Movements>(&mut self, tiers: &mut Tiers<M>) {
        if self.migrations.ends() {
            self.migrate(tiers);
        }
    }

    fn inspect(&self, inspector: &mut dyn TierInspector) {
        let rows = self.counts.iter().enumerate();
        let mut rows = rows
            .filter(|&(page, &count)| count > 0 || self.tiers[page].is_some())
            .map(|(page, &count)| [page as u64, count.into(), 0, 0]);
        inspector.list("counts", &mut rows, 2);
        inspector.value("hot", self.hot as u64);
        inspector.value("warm", self.warm as u64);
        show_pages(inspector, "fast", self.of(Tier::Fast));
    }
}

impl Memtis {
    fn of(&self, tier: Tier) -> impl Iterator<Item = PageId> + '_ {
        let tiers = self.tiers.iter().enumerate();
        tiers.filter(move |&(_, &of)| of == Some(tier)).map(|(page, _)| PageId(page as u32))
    }

    fn enter(&mut self, page: PageId, tier: Tier) {
        self.tiers[page.index()] = Some(tier);
        let count = self.counts[page.index()];
        self.lists[tier as usize][bin_of(count)].push_tail(&mut self.links, page);
        if let (Tier::Fast, Some(coldest)) = (tier, &mut self.coldest) {
            coldest.push(Reverse((count, page.0)));
        }
    }

    fn leave(&mut self, page: PageId) {
        let tier = self.tiers[page.index()].take().expect("a page that leaves was there");
        let bin = bin_of(self.counts[page.index()]);
        self.lists[tier as usize][bin].remove(&mut self.links, page);
    }

    /// Takes the page of least count, then of least number, off the heap. A page's count on the heap is at most its
    /// count now.
    fn take_coldest(&mut self) -> PageId {
        let mut coldest = self.coldest.take().unwrap_or_else(|| {
            self.of(Tier::Fast).map(|page| Reverse((self.counts[page.index()], page.0))).collect()
        });
        loop {
            let Reverse((known, page)) = coldest.pop().expect("a full tier has pages");
            let count = self.counts[page as usize];
            if count == known {
                self.coldest = Some(coldest);
                return PageId(page);
            }
            coldest.push(Reverse((count, page)));
        }
    }

    /// The page has another count.
    fn set_count(&mut self, page: PageId, count: u32) {
        let tier = self.tiers[page.index()].expect("the page is in memory");
        let before = bin_of(core::mem::replace(&mut self.counts[page.index()], count));
        let lists = &mut self.lists[tier as usize];
        if before != bin_of(count) {
            lists[before].remove(&mut self.links, page);
            lists[bin_of(count)].push_tail(&mut self.links, page);
        }
    }

    #[inline(never)]
    fn take_sample(&mut self, page: PageId) {
        self.set_count(page, self.counts[page.index()].saturating_add(1));
        if self.halvings.ends() {
            self.halve();
        }
        if self.thresholds.ends() {
            self.set_thresholds();
        }
    }

    fn halve(&mut self) {
        let counted = self.lists.iter().flat_map(|lists| &lists[1..]);
        let counted: Vec<PageId> = counted.flat_map(|list| list.iter(&self.links)).collect();
        for page in counted {
            self.set_count(page, self.counts[page.index()] / 2);
        }
        self.coldest = None;
    }

    /// Pages are hot from the lowest bin on from which all higher ones fit into the fast tier together.
    fn set_thresholds(&mut self) {
        let frames = u64::from(self.fast_frames);
        let (mut sum, mut lowest) = (0, 0);
        for bin in (0..BINS).rev() {
            let pages: u64 = self.lists.iter().map(|lists| u64::from(lists[bin].len())).sum();
            if sum + pages > frames {
                lowest = bin + 1;
                break;
            }
            sum += pages;
        }
        self.hot = lowest.clamp(1, BINS - 1);
        let fills_little = 4 * sum < 3 * frames;
        self.warm = if fills_little { self.hot - 1 } else { self.hot };
    }

    fn has_room<M: Movements>(&self, tiers: &Tiers<M>) -> bool {
        let cold = &self.lists[Tier::Fast as usize][..self.warm];
        tiers.free_fast_frames() > 0 || cold.iter().any(|list| list.len() > 0)
    }

    #[inline(never)]
    fn migrate<M: Movements>(&mut self, tiers: &mut Tiers<M>) {
        if !self.has_room(tiers) {
            return;
        }
        let hot = self.lists[Tier::Slow as usize][self.hot..].iter();
        let mut hot: Vec<PageId> = hot.flat_map(|list| list.iter(&self.links)).collect();
        hot.sort_unstable_by_key(|page| (Reverse(self.counts[page.index()]), page.0));
        for page in hot {
            let is_there = tiers.tier_of(page) == Some(Tier::Slow);
            if is_there && !(self.has_room(tiers) && tiers.promote(self, page, Op::Read)) {
                break;
            }
        }
    }
}
