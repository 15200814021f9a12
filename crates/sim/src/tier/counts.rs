//! What a replay under two tiers counts.

use clockhand_policy::tier::{Movements, Served, Tier};
use clockhand_policy::{Op, PageId};

use super::course::Windows;
use crate::intervals::grows;

/// Counts of a replay; those of accesses are by tier and operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TierCounts {
    /// References that found their page in the fast tier.
    pub(crate) fast_hits: u64,
    pub(crate) fast: [u64; 2],
    pub(crate) slow: [u64; 2],
    pub(crate) first_touches: u64,
    pub(crate) storage_faults: u64,
    pub(crate) storage_writes: u64,
    pub(crate) promotions: u64,
    pub(crate) promotions_refused: u64,
    pub(crate) demotions: u64,
    pub(crate) free_demotions: u64,
    pub(crate) evictions: u64,
    pub(crate) ping_pongs: u64,
    pub(crate) hint_faults: u64,
    pub(crate) samples: u64,
    pub(crate) scanned_pages: u64,
    /// Pages that were written whole to the slow tier.
    pub(crate) slow_entries: u64,
    pub(crate) slow_pages_peak: u32,
}

grows!(TierCounts {
    fast_hits,
    fast,
    slow,
    first_touches,
    storage_faults,
    storage_writes,
    promotions,
    promotions_refused,
    demotions,
    free_demotions,
    evictions,
    ping_pongs,
    hint_faults,
    samples,
    scanned_pages,
    slow_entries,
} kept { slow_pages_peak });

impl TierCounts {
    /// All references.
    pub(crate) fn references(&self) -> u64 {
        self.fast.iter().chain(&self.slow).sum()
    }
}

/// Counts moves, and what each page wears of the slow tier.
#[derive(Clone, Debug)]
pub(crate) struct Counter {
    pub(crate) counts: TierCounts,
    /// By page: the number of the reference of its last demotion; 0 without one.
    last_demotion: Vec<u64>,
    /// By page: lines written in the slow tier, and times that it was written there whole.
    pub(crate) wear: Vec<[u32; 2]>,
    ping_pong: u64,
    /// What is noted over time, if anything is.
    pub(crate) windows: Option<Windows>,
}

impl Counter {
    /// Counts for pages numbered below `pages`; a promotion within `ping_pong` references of the demotion is one of ping-pong.
    pub(crate) fn new(pages: u32, ping_pong: u64) -> Self {
        Counter {
            counts: TierCounts::default(),
            last_demotion: vec![0; pages as usize],
            wear: vec![[0; 2]; pages as usize],
            ping_pong,
            windows: None,
        }
    }

    #[inline]
    pub(crate) fn served(&mut self, served: Served) {
        let Served { page, op, found, by } = served;
        self.counts.fast_hits += u64::from(found == Some(Tier::Fast));
        match by {
            Tier::Fast => self.counts.fast[op as usize] += 1,
            Tier::Slow => {
                self.counts.slow[op as usize] += 1;
                self.wear[page.index()][0] += u32::from(op == Op::Write);
            }
        }
    }

    fn wrote_whole(&mut self, page: PageId) {
        self.counts.slow_entries += 1;
        self.wear[page.index()][1] += 1;
    }
}

impl Movements for Counter {
    fn placed(&mut self, page: PageId, tier: Tier, is_back: bool) {
        self.counts.storage_faults += u64::from(is_back);
        self.counts.first_touches += u64::from(!is_back);
        if tier == Tier::Slow {
            self.wrote_whole(page);
        }
    }

    fn promoted(&mut self, page: PageId, now: u64) {
        self.counts.promotions += 1;
        let last = self.last_demotion[page.index()];
        self.counts.ping_pongs += u64::from(last > 0 && now - last <= self.ping_pong);
    }

    fn refused(&mut self, _: PageId) {
        self.counts.promotions_refused += 1;
    }

    fn demoted(&mut self, page: PageId, is_free: bool, now: u64) {
        self.counts.demotions += 1;
        self.last_demotion[page.index()] = now;
        match is_free {
            true => self.counts.free_demotions += 1,
            false => self.wrote_whole(page),
        }
    }

    fn evicted(&mut self, _: PageId, is_written: bool) {
        self.counts.evictions += 1;
        self.counts.storage_writes += u64::from(is_written);
    }

    fn hint_fault(&mut self, _: PageId) {
        self.counts.hint_faults += 1;
    }

    fn sampled(&mut self) {
        self.counts.samples += 1;
    }

    fn scanned(&mut self, pages: u64) {
        self.counts.scanned_pages += pages;
    }
}
