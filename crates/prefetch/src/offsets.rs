//! Pages at distances that recur.
//!
//! In a column of a table or in an index that was made in another order, the next page lies far away, but often at the
//! same distance as before. So the pager counts the distances between accesses that come shortly after one another, and
//! reads what lies at the frequent ones from here. Hardware prefetches by offsets too (P. Michaud, "Best-Offset
//! Hardware Prefetching", HPCA 2016). Leap does so for remote memory, by one offset at a time (H. Al Maruf and M.
//! Chowdhury, "Effectively Prefetching Remote Memory with Leap", USENIX ATC 2020).

use std::collections::VecDeque;

use crate::PAGE_BYTES;

/// Distances are counted from this number of earlier accesses.
const LOOK_BACK: usize = 16;

/// Accesses in a period, over which distances are counted.
const PERIOD: u32 = 32;

/// A distance with this count in a period is an offset. Random accesses hardly ever reach it.
const FREQUENT: usize = 10;

/// The most offsets.
const MOST_OFFSETS: usize = 8;

/// After this number of pages, an offset is given up if less than half of them were used.
const PROBATION: u32 = 8;

/// Distances that differ by no more are the same: objects of one kind differ a little in size.
const SAME: i64 = PAGE_BYTES as i64;

/// A distance that is expected to recur.
#[derive(Debug)]
struct Offset {
    id: OffsetId,
    bytes: i64,
    /// The number of pages that have been read because of it, and how many of them were used. Both are halved when a
    /// period ends.
    read: u32,
    used: u32,
}

impl Offset {
    fn pays(&self) -> bool {
        self.read < PROBATION || 2 * self.used >= self.read
    }
}

/// The number of an offset; the next one has another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OffsetId(u64);

/// An access that is expected, at which place, and because of which offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    pub(crate) place: u64,
    because_of: OffsetId,
}

/// The distances of one program. Places are bytes of its memory.
#[derive(Debug, Default)]
pub(crate) struct Offsets {
    /// The last places, the latest at the end.
    recent: VecDeque<u64>,
    /// The distances of this period, and of how many accesses they are.
    distances: Vec<i64>,
    accesses: u32,
    /// The most frequent first.
    offsets: Vec<Offset>,
    begun: u64,
}

impl Offsets {
    /// Called when the program waits for a place. Returns the places that it is likely to need soon, the likeliest
    /// first.
    pub(crate) fn follow(&mut self, place: u64) -> Vec<Expected> {
        self.accessed(place);
        let paying = self.offsets.iter().filter(|offset| offset.pays());
        let expected = paying.filter_map(|offset| {
            let place = place.checked_add_signed(offset.bytes)?;
            Some(Expected { place, because_of: offset.id })
        });
        expected.collect()
    }

    /// A page is read because of what is expected.
    pub(crate) fn read(&mut self, expected: Expected) {
        if let Some(offset) = self.find(expected.because_of) {
            offset.read += 1;
        }
    }

    /// It has been accessed.
    pub(crate) fn used(&mut self, expected: Expected) {
        if let Some(offset) = self.find(expected.because_of) {
            offset.used += 1;
        }
        self.accessed(expected.place);
    }

    fn find(&mut self, id: OffsetId) -> Option<&mut Offset> {
        self.offsets.iter_mut().find(|offset| offset.id == id)
    }

    fn accessed(&mut self, place: u64) {
        let distances = self.recent.iter().map(|&recent| place.wrapping_sub(recent) as i64);
        // Pages nearer than that are the same one or the next.
        self.distances.extend(distances.filter(|distance| distance.abs() >= SAME));
        if self.recent.len() == LOOK_BACK {
            self.recent.pop_front();
        }
        self.recent.push_back(place);
        self.accesses += 1;
        if self.accesses == PERIOD {
            self.end_period();
        }
    }

    /// Takes the distances for offsets that were frequent.
    fn end_period(&mut self) {
        self.accesses = 0;
        self.distances.sort_unstable();
        let mut frequent = frequent(&self.distances);
        self.distances.clear();
        frequent.sort_by_key(|&(count, _)| std::cmp::Reverse(count));
        let mut before = std::mem::take(&mut self.offsets);
        for (_, bytes) in frequent {
            if self.offsets.len() == MOST_OFFSETS {
                break;
            }
            if self.offsets.iter().any(|offset| is_same(offset.bytes, bytes)) {
                continue;
            }
            let known = before.iter().position(|offset| is_same(offset.bytes, bytes));
            let offset = match known.map(|known| before.swap_remove(known)) {
                Some(known) => {
                    Offset { bytes, read: known.read / 2, used: known.used / 2, ..known }
                }
                None => {
                    self.begun += 1;
                    Offset { id: OffsetId(self.begun), bytes, read: 0, used: 0 }
                }
            };
            self.offsets.push(offset);
        }
    }
}

fn is_same(one: i64, other: i64) -> bool {
    one.abs_diff(other) <= SAME as u64
}

/// Counts equal distances in this sorted list, and gives the middle one of each run.
fn frequent(distances: &[i64]) -> Vec<(usize, i64)> {
    let mut first = 0;
    let mut frequent = Vec::new();
    for (last, &distance) in distances.iter().enumerate() {
        while distance - distances[first] > SAME {
            first += 1;
        }
        let count = last + 1 - first;
        if count >= FREQUENT {
            frequent.push((count, distances[first + count / 2]));
        }
    }
    frequent
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = PAGE_BYTES;

    /// The pages that are expected after these accesses, which were not expected themselves.
    fn expected_after(pages: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut offsets = Offsets::default();
        let followed = pages.into_iter().map(|page| offsets.follow(page * PAGE));
        let last = followed.last().expect("there are accesses");
        last.into_iter().map(|expected| expected.place / PAGE).collect()
    }

    #[test]
    fn a_column_of_a_table_is_expected_to_go_on() {
        let mut expected = expected_after((0..PERIOD.into()).map(|row| 100 + 37 * row));
        expected.sort_unstable();
        let last = 100 + 37 * (u64::from(PERIOD) - 1);
        assert_eq!(expected, (1..=8).map(|row| last + 37 * row).collect::<Vec<_>>());
    }

    #[test]
    fn a_column_may_be_read_from_its_end() {
        let expected = expected_after((0..PERIOD.into()).map(|row| 5000 - 37 * row));
        assert_eq!(expected[0], 5000 - 37 * u64::from(PERIOD));
    }

    #[test]
    fn several_distances_may_alternate() {
        // Numbers in the order of their multiples of the golden ratio: the next one is 55 or 89 further, or 34 back.
        let mut order: Vec<u64> = (0..144).collect();
        order.sort_by_key(|number| number * 89 % 144);
        let expected = expected_after(order.iter().map(|&number| 1000 + number).take(64));
        assert!(expected.len() >= 3, "{expected:?}");
        let last = 1000 + order[63];
        let next = order[64..80].iter().map(|number| 1000 + number);
        let right = next.filter(|next| expected.contains(next)).count();
        assert!(right >= 2, "{expected:?} from {last}");
    }

    #[test]
    fn nothing_is_expected_at_random() {
        let random = (0..1024).map(|number| number * 7919 * number % 100_003);
        assert_eq!(expected_after(random), []);
    }

    /// The number of pages that are expected after each of `accesses` accesses 37 pages apart, without expected ones.
    fn expected_of_column(accesses: u64, are_used: bool) -> Vec<usize> {
        let mut offsets = Offsets::default();
        let follow = |row: u64| {
            let expected = offsets.follow(37 * row * PAGE);
            for &expected in &expected {
                offsets.read(expected);
                if are_used {
                    offsets.used(expected);
                }
            }
            expected.len()
        };
        (0..accesses).map(follow).collect()
    }

    #[test]
    fn what_is_used_keeps_an_offset_and_what_is_not_used_ends_it() {
        let first = PERIOD as usize - 1;
        assert_eq!(expected_of_column(100, true)[first..].iter().min(), Some(&8));
        let unused = expected_of_column(100, false);
        let probation = PROBATION as usize;
        assert!(unused[first..first + probation].iter().all(|&expected| expected == 8));
        // The next period begins another probation.
        assert!(unused[first + probation..2 * first].iter().all(|&expected| expected == 0));
    }

    #[test]
    fn an_access_may_be_expected_at_no_place() {
        assert!(expected_after((0..PERIOD.into()).rev()).is_empty());
    }
}
