//! Estimates in a few bits how often pages were referenced recently.

use alloc::vec;
use alloc::vec::Vec;

use super::SplitMix64;
use crate::PageId;

const ROWS: u64 = 4;
const COUNTERS_PER_WORD: u64 = 16;
const LARGEST_COUNT: u64 = 15;
/// The lower three bits of each counter: what is left of it when a word is shifted by one.
const HALVES: u64 = 0x7777_7777_7777_7777;

/// A count-min sketch of four rows of 4-bit counters that is aged: after every sample all counts are halved.
///
/// With a doorkeeper, a Bloom filter of as many bits as there are counters, the first reference to a page
/// in a sample is remembered there and not counted.
#[derive(Clone, Debug)]
pub(crate) struct FrequencySketch {
    counters_per_row: u64,
    words: Vec<u64>,
    doorkeeper: Option<Vec<u64>>,
    sample: u64,
    additions: u64,
}

impl FrequencySketch {
    /// For a memory of `frames` frames, halved when `sample` references have been added.
    pub(crate) fn new(frames: u32, sample: u64, has_doorkeeper: bool) -> Self {
        let counters_per_row = (4 * u64::from(frames).next_power_of_two()).max(COUNTERS_PER_WORD);
        let counters = ROWS * counters_per_row;
        FrequencySketch {
            counters_per_row,
            words: vec![0; (counters / COUNTERS_PER_WORD) as usize],
            doorkeeper: has_doorkeeper.then(|| vec![0; (counters / 64) as usize]),
            sample,
            additions: 0,
        }
    }

    /// The counter of `page` in each row.
    #[inline]
    fn counters(&self, page: PageId) -> [u64; ROWS as usize] {
        let mut hashes = SplitMix64::new(page.0.into());
        let mut first_of_row = 0;
        [(); ROWS as usize].map(|()| {
            let counter = first_of_row + (hashes.next() & (self.counters_per_row - 1));
            first_of_row += self.counters_per_row;
            counter
        })
    }

    #[inline]
    fn count(&self, counter: u64) -> u64 {
        let shift = 4 * (counter % COUNTERS_PER_WORD);
        self.words[(counter / COUNTERS_PER_WORD) as usize] >> shift & LARGEST_COUNT
    }

    /// Adds a reference to `page`.
    pub(crate) fn add(&mut self, page: PageId) {
        let counters = self.counters(page);
        if self.passes_doorkeeper(&counters) {
            for counter in counters {
                let below = self.count(counter) < LARGEST_COUNT;
                let shift = 4 * (counter % COUNTERS_PER_WORD);
                self.words[(counter / COUNTERS_PER_WORD) as usize] += u64::from(below) << shift;
            }
        }
        self.additions += 1;
        if self.additions >= self.sample {
            self.age();
        }
    }

    /// Returns whether the page was here before in this sample; always without a doorkeeper.
    fn passes_doorkeeper(&mut self, counters: &[u64]) -> bool {
        let Some(bits) = &mut self.doorkeeper else { return true };
        let mut known = true;
        for counter in counters {
            let (word, bit) = (&mut bits[(counter / 64) as usize], 1 << (counter % 64));
            known &= *word & bit != 0;
            *word |= bit;
        }
        known
    }

    /// About how many references to `page` were added: the smallest of its counters, and one more if the
    /// doorkeeper knows it.
    pub(crate) fn estimate(&self, page: PageId) -> u64 {
        let counters = self.counters(page);
        let known = self.doorkeeper.as_ref().is_some_and(|bits| {
            counters.iter().all(|counter| bits[(counter / 64) as usize] >> (counter % 64) & 1 != 0)
        });
        let fewest = counters.map(|counter| self.count(counter)).into_iter().min();
        fewest.unwrap_or(0) + u64::from(known)
    }

    fn age(&mut self) {
        for word in &mut self.words {
            *word = *word >> 1 & HALVES;
        }
        if let Some(bits) = &mut self.doorkeeper {
            bits.fill(0);
        }
        self.additions /= 2;
    }

    /// The references added in this sample, half of the last one's included.
    pub(crate) fn additions(&self) -> u64 {
        self.additions
    }

    /// Asserts that the sample is not over.
    pub(crate) fn check_invariants(&self) {
        assert!(self.additions < self.sample, "the sketch is not aged in time");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: u64 = 1 << 40;

    #[test]
    fn a_page_alone_is_counted_exactly_up_to_fifteen() {
        let mut sketch = FrequencySketch::new(100, MANY, false);
        for references in 1..=20 {
            sketch.add(PageId(7));
            assert_eq!(sketch.estimate(PageId(7)), references.min(15));
        }
        assert_eq!(sketch.estimate(PageId(8)), 0);
    }

    #[test]
    fn an_estimate_is_never_below_the_count() {
        let mut sketch = FrequencySketch::new(16, MANY, false);
        for page in 0..200 {
            (0..page % 7).for_each(|_| sketch.add(PageId(page)));
        }
        assert!((0..200).all(|page| sketch.estimate(PageId(page)) >= u64::from(page % 7)));
    }

    #[test]
    fn a_sample_ends_with_all_counts_halved() {
        let mut sketch = FrequencySketch::new(100, 10, false);
        (0..7).for_each(|_| sketch.add(PageId(1)));
        (0..2).for_each(|_| sketch.add(PageId(2)));
        assert_eq!([1, 2].map(|page| sketch.estimate(PageId(page))), [7, 2]);
        sketch.add(PageId(3));
        assert_eq!([1, 2, 3].map(|page| sketch.estimate(PageId(page))), [3, 1, 0]);
        assert_eq!(sketch.additions(), 5, "half of the sample counts for the next one");
    }

    #[test]
    fn the_doorkeeper_keeps_first_references_and_forgets_them_with_the_sample() {
        let mut sketch = FrequencySketch::new(100, 5, true);
        let mut after = |page| {
            sketch.add(PageId(page));
            [1, 2].map(|page| sketch.estimate(PageId(page)))
        };
        assert_eq!(after(1), [1, 0], "known to the doorkeeper alone");
        assert_eq!(after(1), [2, 0], "and counted once");
        assert_eq!(after(2), [2, 1]);
        assert_eq!(after(1), [3, 1]);
        assert_eq!(after(1), [1, 0], "3 counted is 1 halved, and the doorkeeper is clear again");
    }
}
