//! Popular pages must not be neighbours: ranks are assigned to places at random.

use super::random::Random;

/// The number of mixing rounds; three leave no order that a test of neighbours finds.
const ROUNDS: usize = 3;

/// A permutation of the numbers below a limit, computed and not stored.
///
/// Each round multiplies by an odd number, adds a key and folds high bits onto low ones, all within the bits that the
/// limit needs. Each step can be undone, so the whole is a permutation of the powers of two. A result past the limit is
/// permuted again until it is below (cycle walking), which takes fewer than two turns on average.
#[derive(Clone, Debug)]
pub(super) struct Scatter {
    limit: u64,
    mask: u64,
    shift: u32,
    /// An odd multiplier and a key per round.
    rounds: [(u64, u64); ROUNDS],
}

impl Scatter {
    /// A permutation of the numbers below `limit`, which is not 0.
    pub(super) fn new(limit: u64, random: &mut Random) -> Self {
        let bits = u64::BITS - (limit - 1).leading_zeros();
        let mask = if bits == 0 { 0 } else { u64::MAX >> (u64::BITS - bits) };
        let rounds = [(); ROUNDS].map(|()| (random.next() | 1, random.next()));
        Self { limit, mask, shift: bits.div_ceil(2).max(1), rounds }
    }

    #[inline]
    pub(super) fn place(&self, rank: u64) -> u64 {
        let mut place = rank;
        loop {
            for (multiplier, key) in self.rounds {
                place = place.wrapping_mul(multiplier).wrapping_add(key) & self.mask;
                place ^= place >> self.shift;
            }
            if place < self.limit {
                return place;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_taken_once() {
        for limit in (1..300).chain([1_000, 4_096, 65_537]) {
            let scatter = Scatter::new(limit, &mut Random::new(limit));
            let mut taken = vec![false; limit as usize];
            for rank in 0..limit {
                let place = scatter.place(rank) as usize;
                assert!(!std::mem::replace(&mut taken[place], true), "{limit}: {place} twice");
            }
        }
    }

    #[test]
    fn neighbouring_ranks_are_no_neighbours_and_seeds_differ() {
        const LIMIT: u64 = 100_000;
        let places = |seed| {
            let scatter = Scatter::new(LIMIT, &mut Random::new(seed));
            (0..LIMIT).map(move |rank| scatter.place(rank)).collect::<Vec<_>>()
        };
        let (first, second) = (places(1), places(2));
        let near = first.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) <= 10).count();
        // At random 2 of 10,000 pairs are so near: 20 of them.
        assert!(near < 60, "{near} of {LIMIT} neighbours stay near");
        let equal = first.iter().zip(&second).filter(|(one, other)| one == other).count();
        assert!(equal < 20, "{equal} places are equal under two seeds");
        // Over seeds, the first rank is spread evenly: 20 of 5000 at each of 250 places.
        let at_0 =
            (0..5_000).filter(|&seed| Scatter::new(250, &mut Random::new(seed)).place(0) == 0);
        assert!((2..50).contains(&at_0.count()));
        // The popular half is spread evenly over the halves of the places.
        let low = first[..LIMIT as usize / 2].iter().filter(|&&place| place < LIMIT / 2).count();
        assert!((24_000..26_000).contains(&low), "{low}");
    }
}
