//! Pseudo-random numbers: the same seed gives the same sequence everywhere.

/// SplitMix64: the generator of G. L. Steele, D. Lea, C. H. Flood: Fast splittable pseudorandom number
/// generators. OOPSLA 2014.
#[derive(Clone, Debug)]
pub(super) struct SplitMix64(u64);

impl SplitMix64 {
    pub(super) fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    #[inline]
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, from the upper half of the next 64 bits.
    /// No number is favoured by more than 2^-32.
    #[inline]
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        (((self.next() >> 32) * u64::from(bound)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_that_of_the_published_generator() {
        let mut numbers = SplitMix64::new(1_234_567);
        for expected in [6_457_827_717_110_365_317, 3_203_168_211_198_807_973] {
            assert_eq!(numbers.next(), expected);
        }
    }

    #[test]
    fn numbers_below_a_bound_reach_all_of_them_and_no_other() {
        let mut numbers = SplitMix64::new(7);
        let mut seen = [0_u32; 10];
        for _ in 0..10_000 {
            seen[numbers.below(10) as usize] += 1;
        }
        assert!(seen.iter().all(|count| (850..1150).contains(count)), "{seen:?}");
    }
}
