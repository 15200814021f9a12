//! What requests of several pages cost: a device sets up once for each, whatever it moves.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::CheckedAdd;

use crate::exact::Exact;

/// What a device charges for moving pages in one direction, in µs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestCost {
    /// Once a request: a command, a seek, half a rotation.
    pub setup_us: Exact,
    /// For each page, and for each place that a request passes over.
    pub transfer_us: Exact,
    /// The erase of each page written, where the device charges it.
    pub erase_us: Exact,
}

/// Pages that share requests: how many were moved by the request of a page before them, and the gaps within requests.
///
/// A gap is a number of places between two neighbours of a request that it does not move.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Joined {
    pages: u64,
    /// Entry `i` counts the gaps of `i` places; empty before the first gap.
    short_gaps: Vec<u64>,
    long_gaps: BTreeMap<u64, u64>,
}

/// Gaps shorter than this are counted in a table.
const SHORT_GAPS: u64 = 64;

impl Joined {
    /// `pages` pages that were moved by the request of a page before them, without gaps.
    pub fn without_gaps(pages: u64) -> Self {
        Joined { pages, ..Joined::default() }
    }

    /// A page is moved by the request of another one, `gap` places behind its neighbour.
    #[inline]
    pub fn join(&mut self, gap: u64) {
        self.join_all(gap, 1);
    }

    /// The same of several pages.
    #[inline]
    pub fn join_all(&mut self, gap: u64, pages: u64) {
        self.pages += pages;
        if gap > 0 && pages > 0 {
            self.pass_over(gap, pages);
        }
    }

    fn pass_over(&mut self, gap: u64, times: u64) {
        if gap >= SHORT_GAPS {
            *self.long_gaps.entry(gap).or_default() += times;
            return;
        }
        if self.short_gaps.is_empty() {
            self.short_gaps = vec![0; SHORT_GAPS as usize];
        }
        self.short_gaps[gap as usize] += times;
    }

    /// One request moves pages at these places, which ascend.
    pub fn request(&mut self, places: impl IntoIterator<Item = u64>) {
        let mut places = places.into_iter();
        let Some(mut last) = places.next() else { return };
        for place in places {
            self.join(place - last - 1);
            last = place;
        }
    }

    /// What was joined after an earlier state.
    #[must_use]
    pub fn since(&self, earlier: &Joined) -> Joined {
        let mut since = Joined::without_gaps(self.pages - earlier.pages);
        let before: BTreeMap<u64, u64> = earlier.gaps().collect();
        for (gap, times) in self.gaps() {
            let times = times - before.get(&gap).copied().unwrap_or(0);
            if times > 0 {
                since.pass_over(gap, times);
            }
        }
        since
    }

    /// Pages that were moved by the request of a page before them. All pages moved, less these, are the requests.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Each length of a gap, ascending, and how often it occurred.
    pub fn gaps(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let short = (0..).zip(self.short_gaps.iter().copied()).filter(|&(_, times)| times > 0);
        short.chain(self.long_gaps.iter().map(|(&gap, &times)| (gap, times)))
    }
}

impl RequestCost {
    /// The cost of a request of one page; `None` where the exact term does not fit its type.
    pub(crate) fn of_one_page(&self) -> Option<Exact> {
        self.setup_us.checked_add(&self.transfer_us)?.checked_add(&self.erase_us)
    }

    /// The cost of moving `pages` pages, some of them `joined` to requests of others, in µs.
    ///
    /// A request pays its set-up once. It lets a gap pass, or is set up again behind it, whichever takes less.
    pub fn time_us(&self, pages: u64, joined: &Joined) -> BigRational {
        let [setup, transfer, erase] =
            [&self.setup_us, &self.transfer_us, &self.erase_us].map(rational);
        let requests = BigInt::from(pages) - BigInt::from(joined.pages());
        let moved = (&transfer + erase) * BigInt::from(pages);
        let passed = joined.gaps().map(|(gap, times)| {
            let passing = &transfer * BigInt::from(gap);
            passing.min(setup.clone()) * BigInt::from(times)
        });
        moved + passed.sum::<BigRational>() + &setup * requests
    }

    /// How much less than a request for each page the `joined` ones take, in µs.
    pub fn saved_us(&self, joined: &Joined) -> BigRational {
        let one_each = Joined::default();
        self.time_us(joined.pages(), &one_each) - self.time_us(joined.pages(), joined)
    }
}

/// The same number without a bound.
pub(crate) fn rational(value: &Exact) -> BigRational {
    BigRational::new((*value.numer()).into(), (*value.denom()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_the_gaps_between_its_places() {
        let mut joined = Joined::default();
        joined.request([3]);
        joined.request([]);
        joined.request([5, 6, 9, 1000]);
        joined.request([0, 3, 4]);
        assert_eq!(joined.pages(), 5);
        assert_eq!(joined.gaps().collect::<Vec<_>>(), [(2, 2), (990, 1)]);
        assert_eq!(Joined::without_gaps(7).pages(), 7);
    }
}
