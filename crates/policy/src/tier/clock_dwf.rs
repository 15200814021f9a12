//! # CLOCK-DWF: clock with dirty bits and write frequency
//!
//! **What it keeps.** The pages of the fast tier on a clock: for each its written bit, its write frequency, and how often
//! the hand has overlooked it.
//!
//! **Victim.** From the hand: a page whose written bit is set loses it, its frequency grows by one, and the hand moves on. A
//! page with a frequency above the mean, which is taken once for each search, is overlooked `expiration` times. The first
//! other page is demoted.
//!
//! **On a write.** A write to a slow page promotes it first; reads never promote. A new page that is written goes to the fast
//! tier, a new page that is read to the slow one, whether there is room or not. A later write sets the written bit.
//!
//! **Parameters.** `expiration`: how often a page of high frequency is overlooked (default 1). `history`: `keep` (default), a
//! page that comes back has its former frequency; `forget`, it has 0. Storage forgets in either case.
//!
//! **Cost per hit and per victim.** Constant per write; a victim costs the movements of the hand, and one pass over the fast
//! tier's frequencies is saved by keeping their sum. 9 bytes per page.
//!
//! **Deviations from the paper.** An approximation: the paper's abstract and public implementations were at hand, not
//! its text. From the paper: writes promote and reads do not.
//!
//! **Reference.** S. Lee, H. Bahn, S. H. Noh: CLOCK-DWF: a write-history-aware page replacement algorithm for hybrid PCM and
//! DRAM memory architectures. IEEE Transactions on Computers 63(9), 2014.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use super::catalog::{Cataloged, TierSize};
use super::{Entry, Movements, TierInspector, TierPolicy, Tiers, Wanted};
use crate::catalog::Description;
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::{Op, PageId};

/// The policy.
#[derive(Clone, Debug)]
pub struct ClockDwf {
    /// The fast tier's pages, from the one under the hand.
    clock: VecDeque<PageId>,
    pages: Vec<Page>,
    /// Of the frequencies of the pages on the clock.
    sum: u64,
    expiration: u32,
    keeps_history: bool,
}

#[derive(Clone, Copy, Debug, core::default::Default)]
struct Page {
    frequency: u32,
    overlooked: u32,
    is_written: bool,
}

impl Cataloged for ClockDwf {
    const DESCRIPTION: Description = Description {
        name: "clock-dwf",
        summary: "writes promote, reads do not; a clock keeps pages that are written often",
        paper: "Lee, Bahn, Noh 2014",
        parameters: &[
            Parameter {
                name: "expiration",
                summary: "how often a page of high write frequency is overlooked",
                domain: Domain::Count { min: 0, max: 65_535 },
                default: Default::Value("1"),
                only_with: None,
            },
            Parameter {
                name: "history",
                summary: "whether a page that comes back has its former frequency",
                domain: Domain::Choice(&["keep", "forget"]),
                default: Default::Value("keep"),
                only_with: None,
            },
        ],
        source: include_str!("clock_dwf.rs"),
    };

    fn build(settings: &Settings, size: TierSize) -> Self {
        ClockDwf {
            clock: VecDeque::new(),
            pages: vec![Page::default(); size.pages as usize],
            sum: 0,
            expiration: settings.count("expiration").expect("it has a default") as u32,
            keeps_history: settings.choice("history") == "keep",
        }
    }
}

impl TierPolicy for ClockDwf {
    const HAS_PLACEMENT: bool = true;

    fn placement(&self, _: PageId, op: Op) -> Option<Wanted> {
        Some(Wanted::by_operation(op))
    }

    #[inline]
    fn found_fast(&mut self, page: PageId, op: Op) {
        self.pages[page.index()].is_written |= op == Op::Write;
    }

    #[inline]
    fn found_slow<M: Movements>(&mut self, page: PageId, op: Op, tiers: &mut Tiers<M>) {
        if op == Op::Write {
            tiers.promote(self, page, op);
        }
    }

    fn choose_victim(&mut self, _: PageId) -> PageId {
        let (sum, pages) = (self.sum, self.clock.len() as u64);
        loop {
            let page = self.clock.pop_front().expect("a full tier has pages");
            let known = &mut self.pages[page.index()];
            if known.is_written {
                known.is_written = false;
                known.frequency = known.frequency.saturating_add(1);
                known.overlooked = 0;
                self.sum += 1;
            } else if u64::from(known.frequency) * pages > sum && known.overlooked < self.expiration
            {
                known.overlooked += 1;
            } else {
                self.sum -= u64::from(known.frequency);
                return page;
            }
            self.clock.push_back(page);
        }
    }

    fn entered_fast(&mut self, page: PageId, _: Op, _: Entry) {
        let known = &mut self.pages[page.index()];
        let frequency = if self.keeps_history { known.frequency } else { 0 };
        *known = Page { frequency, ..Page::default() };
        self.sum += u64::from(frequency);
        self.clock.push_back(page);
    }

    fn evicted(&mut self, page: PageId) {
        self.pages[page.index()] = Page::default();
    }

    fn inspect(&self, inspector: &mut dyn TierInspector) {
        let row = |&page: &PageId| {
            let known = &self.pages[page.index()];
            let numbers =
                [known.is_written.into(), known.frequency.into(), known.overlooked.into()];
            [page.0.into(), numbers[0], numbers[1], numbers[2]]
        };
        inspector.list("from_hand", &mut self.clock.iter().map(row), 4);
    }
}
