//! Pseudo-random numbers from a seed: where requests go, and what is written.

/// SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`, which is far below 2^64, so that the bias does not show.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// Bytes that no device can compress.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for word in bytes.chunks_mut(8) {
            word.copy_from_slice(&self.next().to_le_bytes()[..word.len()]);
        }
    }

    /// The numbers from 0 to `count` in one random cycle: following the entries from any one visits all.
    pub(crate) fn cycle(&mut self, count: usize) -> Vec<u32> {
        let mut next: Vec<u32> = (0..count as u32).collect();
        // Sattolo's shuffle.
        for last in (1..count).rev() {
            next.swap(last, self.below(last));
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_visits_every_number_once() {
        for count in [1, 2, 3, 100] {
            let next = Random::new(1).cycle(count);
            let mut at = 0;
            let mut seen = vec![false; count];
            for _ in 0..count {
                assert!(!std::mem::replace(&mut seen[at], true));
                at = next[at] as usize;
            }
            assert_eq!(at, 0);
        }
    }
}
