//! Ranks of Zipf popularity.

use super::random::Random;

/// The most steps of each octave of ranks (from `2^j` to `2^(j+1)`).
const STEPS_PER_OCTAVE: u64 = 32;

/// Samples ranks: rank `k`, from 1 to `ranks`, with a probability in proportion to `k^-skew`.
///
/// Rejection from a step function that lies above the popularity and touches it where each step
/// begins (L. Devroye: Non-Uniform Random Variate Generation. Springer, 1986, chapters II.3 and
/// VIII.1). A step is chosen through an alias table (M. D. Vose, IEEE Transactions on Software
/// Engineering 17(9), 1991), a rank of it evenly, and the rank is kept with the popularity at the rank over that at the
/// start of the step. Most ranks are kept without computing a power, because the popularity at the
/// end of the step would have been enough. The table has at most 32 steps per octave of ranks, so
/// that memory does not grow with the footprint.
#[derive(Clone, Debug)]
pub(super) struct Zipf {
    skew: f64,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
struct Step {
    /// The first rank, from 1.
    first: u64,
    /// Number of ranks.
    width: u64,
    /// A rank of the step is kept below this number of 2^64 in any case.
    surely_kept_below: u64,
    /// The step itself is taken below this number of 2^64, else its alias.
    own_below: u64,
    alias: usize,
}

impl Zipf {
    /// `ranks` from 1 to 2^52, which binary64 holds exactly; `skew` from 0, where all ranks are
    /// equally popular.
    pub(super) fn new(ranks: u64, skew: f64) -> Self {
        let mut steps = Vec::new();
        let mut first = 1;
        while first <= ranks {
            let octave = 1 << first.ilog2();
            let width = (octave / STEPS_PER_OCTAVE.min(octave)).min(ranks - first + 1);
            let surely_kept = power(first, first + width - 1, skew);
            let surely_kept_below = of_2_64(surely_kept);
            steps.push(Step { first, width, surely_kept_below, own_below: u64::MAX, alias: 0 });
            first += width;
        }
        let weights = steps.iter().map(|step| step.width as f64 * power(1, step.first, skew));
        let weights: Vec<f64> = weights.collect();
        pair_aliases(&mut steps, weights);
        Self { skew, steps }
    }

    /// A rank, from 0: the most popular one first.
    #[inline]
    pub(super) fn sample(&self, random: &mut Random) -> u64 {
        loop {
            let product = u128::from(random.next()) * self.steps.len() as u128;
            let (index, coin) = ((product >> 64) as usize, product as u64);
            let drawn = &self.steps[index];
            let step = if coin < drawn.own_below { drawn } else { &self.steps[drawn.alias] };
            if step.width == 1 {
                return step.first - 1;
            }
            let rank = step.first + random.below(step.width);
            let coin = random.next();
            if coin < step.surely_kept_below || coin < of_2_64(power(step.first, rank, self.skew)) {
                return rank - 1;
            }
        }
    }
}

/// `(from / to)^skew`: how popular rank `to` is, in units of rank `from`.
fn power(from: u64, to: u64, skew: f64) -> f64 {
    libm::exp(skew * (libm::log(from as f64) - libm::log(to as f64)))
}

/// A probability as a number of 2^64 equally likely cases; 1 becomes one case less.
fn of_2_64(probability: f64) -> u64 {
    (probability * 18_446_744_073_709_551_616.0) as u64
}

/// Vose's algorithm: each step that is lighter than the mean is filled up with a part of a heavier
/// one, so that all are chosen evenly.
fn pair_aliases(steps: &mut [Step], mut weights: Vec<f64>) {
    let mean = weights.iter().sum::<f64>() / weights.len() as f64;
    let (mut light, mut heavy): (Vec<_>, Vec<_>) =
        (0..steps.len()).partition(|&index| weights[index] < mean);
    while let (Some(&filled), Some(&filler)) = (light.last(), heavy.last()) {
        light.pop();
        steps[filled].own_below = of_2_64(weights[filled] / mean);
        steps[filled].alias = filler;
        weights[filler] -= mean - weights[filled];
        if weights[filler] < mean {
            heavy.pop();
            light.push(filler);
        }
    }
    // The rest differs from the mean by rounding only, and is its own alias.
    for index in light.into_iter().chain(heavy) {
        steps[index].alias = index;
    }
}

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
