//! # MEMTIS: a histogram of sampled accesses sets the threshold
//!
//! **What it keeps.** For each page a count of its sampled accesses, halved now and then; a histogram of the counts in 16 bins
//! by powers of two; the bins from which a page is hot, and below which it is cold.
//!
//! **Victim.** After every `migrate`-th reference the slow pages whose bin is hot are promoted, the highest counts first, while
//! a frame is free or the fast tier has a page below the warm bin: of these the one with the least count is demoted.
//!
//! **On a write.** As on a read.
//!
//! **Parameters.** `sample`: every so many references one is sampled (default 7). `adapt`: samples after which the
//! thresholds are set again (500). `cool`: samples after which all counts are halved (10000). `migrate`: references
//! between two migrations (1000).
//!
//! **Cost per hit and per victim.** Constant per reference; a migration that can move pages looks at all of them, and so does a
//! halving. 5 bytes per page.
//!
//! **Deviations from the paper.** An approximation defined by Clockhand's rules. The bins, the thresholds and the 75 % below
//! which pages one bin colder stay are the paper's; its kernel samples every 199th access, adapts after 100,000 samples, cools
//! after 2,000,000 and migrates every 500 ms. Here numbers are smaller, for short traces. Huge pages are left out.
//!
//! **Reference.** T. Lee et al.: MEMTIS: efficient memory tiering with dynamic page classification and page size determination.
//! SOSP 2023.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::catalog::{Cataloged, TierSize, count};
use super::{
    Entry, Movements, Served, Tier, TierInspector, TierPolicy, Tiers, ends_period, show_pages,
};
use crate::catalog::Description;
use crate::parameters::Settings;
use crate::{Op, PageId};

const BINS: usize = 16;

/// The policy.
#[derive(Clone, Debug)]
pub struct Memtis {
    counts: Vec<u32>,
    tiers: Vec<Option<Tier>>,
    /// Pages of either tier by the bin of their count.
    of_fast: [u32; BINS],
    of_slow: [u32; BINS],
    /// The bins from which pages are hot, and below which they are cold.
    hot: usize,
    warm: usize,
    samples: u64,
    sample: u64,
    adapt: u64,
    cool: u64,
    migrate: u64,
    until_sample: u64,
    until_migration: u64,
    fast_frames: u32,
    /// The fast pages that a migration may demote, the coldest last.
    cold: Vec<PageId>,
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
            count("adapt", "samples after which the thresholds are set anew", "500"),
            count("cool", "samples after which all counts are halved", "10000"),
            count("migrate", "references between two migrations", "1000"),
        ],
        source: include_str!("memtis.rs"),
    };

    fn build(settings: &Settings, size: TierSize) -> Self {
        let number = |name| settings.count(name).expect("it has a default");
        Memtis {
            counts: vec![0; size.pages as usize],
            tiers: vec![None; size.pages as usize],
            of_fast: [0; BINS],
            of_slow: [0; BINS],
            hot: 1,
            warm: 1,
            samples: 0,
            sample: number("sample"),
            adapt: number("adapt"),
            cool: number("cool"),
            migrate: number("migrate"),
            until_sample: number("sample"),
            until_migration: number("migrate"),
            fast_frames: size.fast_frames,
            cold: Vec::new(),
        }
    }
}

impl TierPolicy for Memtis {
    fn choose_victim(&mut self, _: PageId) -> PageId {
        let page = match self.cold.pop() {
            Some(coldest) => coldest,
            // A page is placed where there is no slow tier.
            None => self.coldest_of_fast(),
        };
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
        self.until_sample -= 1;
        if self.until_sample == 0 {
            self.until_sample = self.sample;
            self.take_sample(served.page);
            tiers.movements().sampled();
        }
    }

    #[inline]
    fn ends<M: Movements>(&mut self, tiers: &mut Tiers<M>) {
        self.until_migration -= 1;
        if self.until_migration == 0 {
            self.until_migration = self.migrate;
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

    fn histogram(&mut self, tier: Tier) -> &mut [u32; BINS] {
        match tier {
            Tier::Fast => &mut self.of_fast,
            Tier::Slow => &mut self.of_slow,
        }
    }

    fn enter(&mut self, page: PageId, tier: Tier) {
        self.tiers[page.index()] = Some(tier);
        let bin = bin_of(self.counts[page.index()]);
        self.histogram(tier)[bin] += 1;
    }

    fn leave(&mut self, page: PageId) {
        let tier = self.tiers[page.index()].take().expect("a page that leaves was there");
        let bin = bin_of(self.counts[page.index()]);
        self.histogram(tier)[bin] -= 1;
    }

    fn coldest_of_fast(&self) -> PageId {
        let coldest = self.of(Tier::Fast).min_by_key(|page| (self.counts[page.index()], page.0));
        coldest.expect("a full tier has pages")
    }

    #[inline(never)]
    fn take_sample(&mut self, page: PageId) {
        let tier = self.tiers[page.index()].expect("the page is in memory");
        let count = &mut self.counts[page.index()];
        let before = bin_of(*count);
        *count = count.saturating_add(1);
        let after = bin_of(*count);
        let histogram = self.histogram(tier);
        histogram[before] -= 1;
        histogram[after] += 1;
        self.samples += 1;
        if ends_period(self.samples, self.cool) {
            self.halve();
        }
        if ends_period(self.samples, self.adapt) {
            self.set_thresholds();
        }
    }

    fn halve(&mut self) {
        (self.of_fast, self.of_slow) = ([0; BINS], [0; BINS]);
        for page in 0..self.counts.len() {
            self.counts[page] /= 2;
            if let Some(tier) = self.tiers[page] {
                let bin = bin_of(self.counts[page]);
                self.histogram(tier)[bin] += 1;
            }
        }
    }

    /// Pages are hot from the lowest bin on from which all higher ones fit into the fast tier together.
    fn set_thresholds(&mut self) {
        let frames = u64::from(self.fast_frames);
        let (mut sum, mut lowest) = (0, 0);
        for bin in (0..BINS).rev() {
            let pages = u64::from(self.of_fast[bin]) + u64::from(self.of_slow[bin]);
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

    #[inline(never)]
    fn migrate<M: Movements>(&mut self, tiers: &mut Tiers<M>) {
        let has_hot = self.of_slow[self.hot..].iter().any(|&pages| pages > 0);
        let has_room = |policy: &Self, tiers: &Tiers<M>| {
            tiers.free_fast_frames() > 0
                || policy.of_fast[..policy.warm].iter().any(|&pages| pages > 0)
        };
        if !has_hot || !has_room(self, tiers) {
            return;
        }
        let bin = |page: PageId| bin_of(self.counts[page.index()]);
        let mut hot: Vec<PageId> =
            self.of(Tier::Slow).filter(|&page| bin(page) >= self.hot).collect();
        hot.sort_by_key(|page| (Reverse(self.counts[page.index()]), page.0));
        self.cold = self.of(Tier::Fast).filter(|&page| bin(page) < self.warm).collect();
        let counts = &self.counts;
        self.cold.sort_by_key(|page| Reverse((counts[page.index()], page.0)));
        for page in hot {
            let is_there = tiers.tier_of(page) == Some(Tier::Slow);
            if is_there && !(has_room(self, tiers) && tiers.promote(self, page, Op::Read)) {
                break;
            }
        }
        self.cold.clear();
    }
}
