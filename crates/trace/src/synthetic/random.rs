//! Random numbers and chances in integers.

use std::fmt;

use crate::quantity;

/// SplitMix64: the generator of G. L. Steele, D. Lea, C. H. Flood: Fast splittable pseudorandom
/// number generators. OOPSLA 2014.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator whose sequence has nothing to do with this one's.
    pub(super) fn fork(&mut self) -> Self {
        Self(self.next())
    }

    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Below `limit`, which is not 0. The chance of each number is off by less than 2^-64, whatever
    /// the limit.
    #[inline]
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    /// A multiple of 2^-53, above 0 and at most 1.
    #[inline]
    pub(super) fn positive_unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    #[inline]
    pub(super) fn happens(&mut self, chance: Chance) -> bool {
        self.next() >> 1 < chance.of_2_63
    }
}

/// A probability as a number of 2^63 equally likely cases.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chance {
    of_2_63: u64,
}

/// A share between 0 % and 100 %, exact to a billionth of a percent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Share {
    billionths_of_percent: u64,
}

impl Share {
    const DECIMALS: usize = 9;
    /// Everything.
    pub const WHOLE: Self = Self { billionths_of_percent: 100_000_000_000 };
    /// Nothing.
    pub const NONE: Self = Self { billionths_of_percent: 0 };

    /// Reads `70%` or `12.5%`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_suffix('%')?;
        let billionths_of_percent = quantity::decimal(digits.trim(), Self::DECIMALS)?;
        Some(Self { billionths_of_percent }).filter(|share| *share <= Self::WHOLE)
    }

    /// This share of `count`, rounded down.
    pub(super) fn of(self, count: u64) -> u64 {
        let parts = u128::from(self.billionths_of_percent) * u128::from(count);
        (parts / u128::from(Self::WHOLE.billionths_of_percent)) as u64
    }

    pub(super) fn chance(self) -> Chance {
        Chance { of_2_63: self.of(1 << 63) }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}%", quantity::decimal_text(self.billionths_of_percent, Self::DECIMALS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_that_of_the_published_generator() {
        let mut random = Random::new(1_234_567);
        for expected in [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ] {
            assert_eq!(random.next(), expected);
        }
    }

    #[test]
    fn certain_and_impossible_chances_are_exactly_that() {
        let mut random = Random::new(1);
        for _ in 0..10_000 {
            assert!(random.happens(Share::WHOLE.chance()));
            assert!(!random.happens(Share::NONE.chance()));
            assert!((f64::MIN_POSITIVE..=1.0).contains(&random.positive_unit()));
            assert_eq!(random.below(1), 0);
        }
    }

    #[test]
    fn shares_are_read_exactly_and_written_as_they_are_read() {
        for text in ["0%", "100%", "12.5%", "0.000000001%"] {
            assert_eq!(Share::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Share::parse("29%").unwrap().of(100), 29);
        for text in ["", "%", "70", "101%", "100.1%", "-1%", "5%%", "0.0000000001%"] {
            assert_eq!(Share::parse(text), None, "{text}");
        }
    }
}
