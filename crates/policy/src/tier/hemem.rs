//! # HeMem: sampled counts, and lists of hot and cold pages
//!
//! **What it keeps.** For each page, counts of its sampled reads and writes, and the clock of their last cooling. For
//! each tier, a list of its hot pages and one of its cold ones.
//!
//! **Victim.** After every `migrate`-th reference the head of the slow tier's hot list is promoted while a frame is free or the
//! fast tier has a cold page, whose list's head is demoted.
//!
//! **On a write.** A page is hot from fewer writes than reads, and pages that are hot by their writes go to the head of a list.
//!
//! **Parameters.**
//!
//! * `sample`: references between two samples (default 7).
//!
//! * `read_hot`, `write_hot`: samples of reads, or of writes, that make a page hot (8 and 4).
//!
//! * `cool`: samples of one page after which the clock moves on; the counts of each page are halved
//!   when it is next sampled (18).
//!
//! * `migrate`: references between two migrations (1000).
//!
//! **Cost per hit and per victim.** Constant. 25 bytes per page.
//!
//! **Deviations from the paper.** An approximation defined by Clockhand's rules: thresholds, cooling and that written pages come
//! first are the paper's; its sampling by the processor and its 10 ms between migrations are counted in references here.
//!
//! **Reference.** A. Raybuck, T. Stamler, W. Zhang, M. Erez, S. Peter: HeMem: scalable tiered memory management for big data
//! applications and real NVM. SOSP 2021.

use alloc::vec;
use alloc::vec::Vec;

use super::catalog::{Cataloged, TierSize, count};
use super::{
    Countdown, Entry, Movements, Served, Tier, TierInspector, TierPolicy, Tiers, show_pages,
};
use crate::catalog::Description;
use crate::parameters::{Domain, Parameter, Settings};
use crate::parts::{Links, PageList};
use crate::{Op, PageId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Cold,
    Hot,
}

/// The policy.
#[derive(Clone, Debug)]
pub struct Hemem {
    pages: Vec<Page>,
    /// The list of its tier that each page is on.
    lists_of: Vec<Option<(Tier, Class)>>,
    links: Links<PageId>,
    /// Cold and hot pages of the fast tier, then of the slow one.
    lists: [[PageList; 2]; 2],
    clock: u32,
    samples: Countdown,
    migrations: Countdown,
    read_hot: u64,
    write_hot: u64,
    cool: u64,
}

#[derive(Clone, Copy, Debug, core::default::Default)]
struct Page {
    reads: u32,
    writes: u32,
    clock: u32,
}

const fn from_0(name: &'static str, summary: &'static str, default: &'static str) -> Parameter {
    Parameter {
        domain: Domain::Count { min: 0, max: u32::MAX as u64 },
        ..count(name, summary, default)
    }
}

impl Cataloged for Hemem {
    const DESCRIPTION: Description = Description {
        name: "hemem",
        summary: "sampled counts class pages as hot or cold; written pages are promoted first",
        paper: "Raybuck et al. 2021",
        parameters: &[
            count("sample", "every so many references one is sampled", "7"),
            from_0("read_hot", "sampled reads from which a page is hot", "8"),
            from_0("write_hot", "sampled writes from which a page is hot", "4"),
            count("cool", "samples of one page after which counts are halved", "18"),
            count("migrate", "references between two migrations", "1000"),
        ],
        source: include_str!("hemem.rs"),
    };

    fn build(settings: &Settings, size: TierSize) -> Self {
        let number = |name| settings.count(name).expect("it has a default");
        Hemem {
            pages: vec![Page::default(); size.pages as usize],
            lists_of: vec![None; size.pages as usize],
            links: Links::new(size.pages),
            lists: [[PageList::EMPTY; 2]; 2],
            clock: 0,
            samples: Countdown::new(number("sample")),
            migrations: Countdown::new(number("migrate")),
            read_hot: number("read_hot"),
            write_hot: number("write_hot"),
            cool: number("cool"),
        }
    }
}

impl TierPolicy for Hemem {
    fn choose_victim(&mut self, _: PageId) -> PageId {
        let [cold, hot] = &self.lists[Tier::Fast as usize];
        // Hot pages leave only where there is no slow tier, when a page is placed.
        let page = if cold.len() > 0 { cold.head() } else { hot.head() };
        self.leave(page);
        page
    }

    fn entered_fast(&mut self, page: PageId, _: Op, _: Entry) {
        self.join(page, Tier::Fast);
    }

    fn entered_slow(&mut self, page: PageId) {
        self.join(page, Tier::Slow);
    }

    fn left_slow(&mut self, page: PageId) {
        self.leave(page);
    }

    fn evicted(&mut self, page: PageId) {
        self.pages[page.index()] = Page::default();
    }

    #[inline]
    fn served<M: Movements>(&mut self, served: Served, tiers: &mut Tiers<M>) {
        if self.samples.ends() {
            self.take_sample(served);
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
        inspector.value("clock", self.clock.into());
        let known = self.pages.iter().enumerate().filter(|(_, page)| page.reads + page.writes > 0);
        let mut rows = known.map(|(number, page)| {
            [number as u64, page.reads.into(), page.writes.into(), page.clock.into()]
        });
        inspector.list("of", &mut rows, 4);
        let names = [["fast_cold", "fast_hot"], ["slow_cold", "slow_hot"]];
        for (names, lists) in names.into_iter().zip(&self.lists) {
            for (name, list) in names.into_iter().zip(lists) {
                show_pages(inspector, name, list.iter(&self.links));
            }
        }
    }
}

impl Hemem {
    fn is_hot_by_writes(&self, page: PageId) -> bool {
        u64::from(self.pages[page.index()].writes) >= self.write_hot
    }

    fn class(&self, page: PageId) -> Class {
        let is_hot = u64::from(self.pages[page.index()].reads) >= self.read_hot;
        if is_hot || self.is_hot_by_writes(page) { Class::Hot } else { Class::Cold }
    }

    fn join(&mut self, page: PageId, tier: Tier) {
        let class = self.class(page);
        let is_first = class == Class::Hot && self.is_hot_by_writes(page);
        self.lists_of[page.index()] = Some((tier, class));
        let list = &mut self.lists[tier as usize][class as usize];
        match is_first {
            true => list.push_head(&mut self.links, page),
            false => list.push_tail(&mut self.links, page),
        }
    }

    fn leave(&mut self, page: PageId) {
        let (tier, class) = self.lists_of[page.index()].take().expect("a page is on a list");
        self.lists[tier as usize][class as usize].remove(&mut self.links, page);
    }

    #[inline(never)]
    fn take_sample(&mut self, Served { page, op, by, .. }: Served) {
        let known = &mut self.pages[page.index()];
        let halvings = self.clock - known.clock;
        let halved = |count: u32| count.checked_shr(halvings).unwrap_or(0);
        (known.reads, known.writes) = (halved(known.reads), halved(known.writes));
        known.clock = self.clock;
        match op {
            Op::Read => known.reads += 1,
            Op::Write => known.writes += 1,
        }
        let samples = u64::from(known.reads) + u64::from(known.writes);
        if self.lists_of[page.index()] != Some((by, self.class(page))) {
            self.leave(page);
            self.join(page, by);
        }
        if samples >= self.cool {
            self.clock += 1;
        }
    }

    #[inline(never)]
    fn migrate<M: Movements>(&mut self, tiers: &mut Tiers<M>) {
        while self.lists[Tier::Slow as usize][Class::Hot as usize].len() > 0 {
            let page = self.lists[Tier::Slow as usize][Class::Hot as usize].head();
            let has_cold = self.lists[Tier::Fast as usize][Class::Cold as usize].len() > 0;
            let has_room = tiers.free_fast_frames() > 0 || has_cold;
            if !has_room || !tiers.promote(self, page, Op::Read) {
                return;
            }
        }
    }
}
