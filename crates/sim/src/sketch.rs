//! The memory of tinylfu: roughly how often each block was referenced recently, in few bits.

/// Rows of counters.
const ROWS: u64 = 4;
/// Counters of a row for each block of the capacity.
const COUNTERS_PER_BLOCK: u64 = 8;
/// References for each block of the capacity, after which all counters are halved.
const SAMPLE_PER_BLOCK: u64 = 10;
/// A counter has 4 bits.
const COUNTER_BITS: u64 = 4;
const COUNTER_MAX: u64 = (1 << COUNTER_BITS) - 1;
const COUNTERS_PER_WORD: u64 = u64::BITS as u64 / COUNTER_BITS;
/// Masks a word of counters after each was shifted right by one.
const HALVES: u64 = 0x7777_7777_7777_7777;
/// SplitMix64's step.
const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// A count-min sketch of 4 rows: 16 bytes for each block of the capacity.
#[derive(Clone, Debug)]
pub(crate) struct Sketch {
    words: Vec<u64>,
    words_per_row: u64,
    counters_per_row: u64,
    sample: u64,
    left_in_sample: u64,
}

impl Sketch {
    /// The sketch of a cache of `capacity` blocks, at least 1; nothing has been referenced yet.
    pub(crate) fn new(capacity: u32) -> Self {
        let counters_per_row = COUNTERS_PER_BLOCK * u64::from(capacity);
        let words_per_row = counters_per_row.div_ceil(COUNTERS_PER_WORD);
        let sample = SAMPLE_PER_BLOCK * u64::from(capacity);
        Sketch {
            words: vec![0; (ROWS * words_per_row) as usize],
            words_per_row,
            counters_per_row,
            sample,
            left_in_sample: sample,
        }
    }

    /// Counts a reference to a block, by its [key](block_key).
    #[inline]
    pub(crate) fn note(&mut self, key: u64) {
        // The counters are halved after a reference, which is before the next one.
        if self.left_in_sample == 0 {
            self.halve();
            self.left_in_sample = self.sample;
        }
        self.left_in_sample -= 1;
        for row in 0..ROWS {
            let (word, shift) = self.place(key, row);
            let below_max = self.words[word] >> shift & COUNTER_MAX < COUNTER_MAX;
            self.words[word] += u64::from(below_max) << shift;
        }
    }

    /// The least of the block's counters.
    #[inline]
    pub(crate) fn estimate(&self, key: u64) -> u64 {
        let counter = |row| {
            let (word, shift) = self.place(key, row);
            self.words[word] >> shift & COUNTER_MAX
        };
        (0..ROWS).map(counter).min().expect("there are rows")
    }

    #[cold]
    fn halve(&mut self) {
        for word in &mut self.words {
            *word = *word >> 1 & HALVES;
        }
    }

    /// The word of a counter, and how far the counter is shifted in it.
    #[inline]
    fn place(&self, key: u64, row: u64) -> (usize, u64) {
        let state = key.wrapping_mul(ROWS).wrapping_add(row + 1).wrapping_mul(GOLDEN_GAMMA);
        let counter = mix(state) % self.counters_per_row;
        let word = row * self.words_per_row + counter / COUNTERS_PER_WORD;
        (word as usize, counter % COUNTERS_PER_WORD * COUNTER_BITS)
    }
}

/// The number that stands for a block of a stream; streams are numbered from 0 as they appear in a trace.
pub(crate) fn block_key(stream_position: u32, block: u64) -> u64 {
    block.wrapping_add(u64::from(stream_position) << 48)
}

/// SplitMix64's output for a state.
#[inline]
fn mix(state: u64) -> u64 {
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_stops_at_15_and_is_halved_after_ten_references_for_each_block() {
        let mut sketch = Sketch::new(2);
        for count in 1..=20 {
            sketch.note(7);
            assert_eq!(sketch.estimate(7), count.min(15));
        }
        // The 20th reference was the last of the sample.
        sketch.note(8);
        assert_eq!((sketch.estimate(7), sketch.estimate(8)), (7, 1));
    }

    #[test]
    fn the_hash_is_splitmix64_from_seed_0() {
        assert_eq!(mix(GOLDEN_GAMMA), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(GOLDEN_GAMMA.wrapping_mul(2)), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn streams_keep_their_blocks_apart() {
        assert_eq!(block_key(0, 5), 5);
        assert_eq!(block_key(2, 5), (2 << 48) + 5);
    }
}
