//! Ranks of Zipf popularity.

use super::random::Random;

/// Samples ranks: rank `k`, from 1 to `ranks`, with a probability in proportion to `k^-skew`.
///
/// Rejection-inversion of W. Hörmann, G. Derflinger: Rejection-inversion to generate variates from
/// monotone discrete distributions. ACM Transactions on Modeling and Computer Simulation 6(3), 1996.
/// It needs no table, and draws 1 to 1.1 numbers per rank.
#[derive(Clone, Debug)]
pub(super) struct Zipf {
    ranks: f64,
    skew: f64,
    /// The paper's H(1.5) - h(1) and H(ranks + 0.5): where the inverted area begins and ends.
    area_from: f64,
    area_to: f64,
    /// The paper's s: ranks whose inverse lies no farther below them need no second test.
    sure_within: f64,
}

impl Zipf {
    /// `ranks` from 1 to 2^52, which binary64 holds exactly; `skew` from 0, where all ranks are
    /// equally popular.
    pub(super) fn new(ranks: u64, skew: f64) -> Self {
        let mut zipf =
            Self { ranks: ranks as f64, skew, area_from: 0.0, area_to: 0.0, sure_within: 0.0 };
        zipf.area_from = zipf.area(1.5) - 1.0;
        zipf.area_to = zipf.area(zipf.ranks + 0.5);
        zipf.sure_within = 2.0 - zipf.inverse_area(zipf.area(2.5) - zipf.density(2.0));
        zipf
    }

    /// A rank, from 0: the most popular one first.
    #[inline]
    pub(super) fn sample(&self, random: &mut Random) -> u64 {
        loop {
            let area = self.area_to + random.positive_unit() * (self.area_from - self.area_to);
            let inverse = self.inverse_area(area);
            let rank = ((inverse + 0.5) as u64 as f64).clamp(1.0, self.ranks);
            if rank - inverse <= self.sure_within
                || area >= self.area(rank + 0.5) - self.density(rank)
            {
                return rank as u64 - 1;
            }
        }
    }

    /// The paper's h: `x^-skew`.
    fn density(&self, x: f64) -> f64 {
        libm::exp(-self.skew * libm::log(x))
    }

    /// The paper's H, an integral of h: `(x^(1-skew) - 1) / (1-skew)`, and `ln x` for skew 1.
    fn area(&self, x: f64) -> f64 {
        let logarithm = libm::log(x);
        let exponent = (1.0 - self.skew) * logarithm;
        if exponent.abs() < NEARLY_0 {
            // Two terms of the series of (e^x - 1) / x, where the quotient would lose all digits.
            return logarithm * (1.0 + exponent * 0.5);
        }
        logarithm * (libm::expm1(exponent) / exponent)
    }

    #[inline]
    fn inverse_area(&self, area: f64) -> f64 {
        // Rounding may carry the argument of the logarithm below 0.
        let scaled = (area * (1.0 - self.skew)).max(-1.0);
        if scaled.abs() < NEARLY_0 {
            // Two terms of the series of ln(1 + x) / x.
            return libm::exp(area * (1.0 - scaled * 0.5));
        }
        libm::exp(area * (libm::log1p(scaled) / scaled))
    }
}

/// Below it the third term of either series is less than half a unit in the last place of 1.
const NEARLY_0: f64 = 1e-8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_is_as_frequent_as_its_power_says() {
        const SAMPLES: u32 = 400_000;
        for skew in [0.0, 0.5, 0.9, 0.999_999_999, 1.0, 1.2, 3.0] {
            let zipf = Zipf::new(50, skew);
            let mut random = Random::new(7);
            let mut counts = [0_u32; 50];
            (0..SAMPLES).for_each(|_| counts[zipf.sample(&mut random) as usize] += 1);
            let weight = |rank: usize| (rank as f64 + 1.0).powf(-skew);
            let weights: f64 = (0..50).map(weight).sum();
            for (rank, &count) in counts.iter().enumerate() {
                let expected = f64::from(SAMPLES) * weight(rank) / weights;
                // Five standard deviations of a Poisson count.
                let bound = 5.0 * expected.sqrt() + 1.0;
                assert!((f64::from(count) - expected).abs() < bound, "skew {skew}, rank {rank}");
            }
        }
    }

    #[test]
    fn ranks_stay_in_range_at_the_ends_of_the_parameters() {
        for ranks in [1, 2, 3, 1 << 40, 1 << 48] {
            for skew in [0.0, 1e-12, 1.0 - 1e-12, 1.0, 1.0 + 1e-12, 10.0] {
                let zipf = Zipf::new(ranks, skew);
                let mut random = Random::new(3);
                for _ in 0..2_000 {
                    assert!(zipf.sample(&mut random) < ranks, "{ranks} ranks, skew {skew}");
                }
            }
        }
    }
}
