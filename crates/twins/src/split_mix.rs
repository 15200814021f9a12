//! SplitMix64, as in G. L. Steele, D. Lea, C. H. Flood: Fast splittable pseudorandom number generators (2014).

/// The numbers that follow from a seed.
#[derive(Clone, Debug)]
pub(crate) struct SplitMix(u64);

impl SplitMix {
    /// The state is the seed before the first number is drawn.
    pub(crate) fn new(seed: u64) -> SplitMix {
        SplitMix(seed)
    }

    pub(crate) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_from_seed_0_are_the_published_ones() {
        let mut numbers = SplitMix::new(0);
        assert_eq!(numbers.draw(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(numbers.draw(), 0x6e78_9e6a_a1b9_65f4);
    }
}
