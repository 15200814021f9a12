//! `memtis`.

use std::collections::BTreeMap;

pub(super) struct Memtis {
    pub(super) sample: u64,
    adapt: u64,
    cool: u64,
    pub(super) migrate: u64,
    counts: BTreeMap<u64, u64>,
    samples: u64,
    hot: usize,
    warm: usize,
}

impl Memtis {
    pub(super) fn new(sample: u64, adapt: u64, cool: u64, migrate: u64) -> Memtis {
        let (counts, samples) = (BTreeMap::new(), 0);
        Memtis { sample, adapt, cool, migrate, counts, samples, hot: 1, warm: 1 }
    }

    fn count(&self, page: u64) -> u64 {
        self.counts.get(&page).copied().unwrap_or(0)
    }

    /// min(15, floor(log2(c + 1))), by doubling.
    fn bin(&self, page: u64) -> usize {
        let more = self.count(page) + 1;
        (0..15).find(|bin| more < 2 << bin).unwrap_or(15)
    }

    pub(super) fn is_cold(&self, page: u64) -> bool {
        self.bin(page) < self.warm
    }

    /// The page of least count, the first one in page order.
    pub(super) fn coldest(&self, in_page_order: &[u64]) -> Option<u64> {
        in_page_order.iter().copied().min_by_key(|page| self.count(*page))
    }

    /// The hot ones of the slow tier, the highest counts first.
    pub(super) fn hot_of(&self, in_page_order: Vec<u64>) -> Vec<u64> {
        let mut hot = in_page_order;
        hot.retain(|page| self.bin(*page) >= self.hot);
        hot.sort_by_key(|page| u64::MAX - self.count(*page));
        hot
    }

    pub(super) fn forget(&mut self, page: u64) {
        self.counts.remove(&page);
    }

    pub(super) fn take_sample(&mut self, page: u64, in_memory: Vec<u64>, frames: usize) {
        *self.counts.entry(page).or_insert(0) += 1;
        self.samples += 1;
        if self.samples.is_multiple_of(self.cool) {
            self.counts.values_mut().for_each(|count| *count /= 2);
        }
        if self.samples.is_multiple_of(self.adapt) {
            self.set_thresholds(&in_memory, frames);
        }
    }

    fn set_thresholds(&mut self, in_memory: &[u64], frames: usize) {
        let pages_of = |bin| in_memory.iter().filter(|page| self.bin(**page) == bin).count();
        let (mut sum, mut no_longer_fits) = (0, -1);
        for bin in (0..16).rev() {
            if sum + pages_of(bin) > frames {
                no_longer_fits = bin as i64;
                break;
            }
            sum += pages_of(bin);
        }
        self.hot = (no_longer_fits + 1).clamp(1, 15) as usize;
        self.warm = if 4 * sum < 3 * frames { self.hot - 1 } else { self.hot };
    }
}
