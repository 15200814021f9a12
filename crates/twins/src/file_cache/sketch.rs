//! The counters of tinylfu.

use crate::split_mix::SplitMix;

/// Four rows of counters from 0 to 15.
pub(crate) struct Sketch {
    capacity: usize,
    rows: [Vec<u64>; 4],
    references: usize,
}

impl Sketch {
    pub(crate) fn new(capacity: usize) -> Sketch {
        Sketch { capacity, rows: [(); 4].map(|()| vec![0; 8 * capacity]), references: 0 }
    }

    /// Output number 4·b + i + 1 of SplitMix64 seeded with 0, without drawing all that come before it.
    fn counter(&self, block: u64, row: u64) -> usize {
        let before = block.wrapping_mul(4).wrapping_add(row);
        let output = SplitMix::new(before.wrapping_mul(0x9E37_79B9_7F4A_7C15)).draw();
        (output % (8 * self.capacity as u64)) as usize
    }

    /// A reference; all counters are halved behind the decision on every (10 · capacity)-th, so before the next one.
    pub(crate) fn count(&mut self, block: u64) {
        if self.references > 0 && self.references.is_multiple_of(10 * self.capacity) {
            self.rows.iter_mut().flatten().for_each(|counter| *counter /= 2);
        }
        self.references += 1;
        for row in 0..4 {
            let counter = self.counter(block, row);
            let counter = &mut self.rows[row as usize][counter];
            *counter = (*counter + 1).min(15);
        }
    }

    pub(crate) fn estimate(&self, block: u64) -> u64 {
        let counters = (0..4).map(|row| self.rows[row as usize][self.counter(block, row)]);
        counters.min().expect("four rows")
    }
}
