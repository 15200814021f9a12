//! An area of CRAW with its ghost, desired size and ratio.

use std::collections::VecDeque;

use num_rational::Ratio;

/// An area: a clock, its ghost (oldest first) and its desired size.
pub(super) struct Area {
    pub(super) from_hand: VecDeque<u64>,
    pub(super) ghost: VecDeque<u64>,
    pub(super) desired_size: Ratio<i128>,
}

impl Area {
    pub(super) fn new(desired_size: Ratio<i128>) -> Area {
        Area { from_hand: VecDeque::new(), ghost: VecDeque::new(), desired_size }
    }

    pub(super) fn contains(&self, page: u64) -> bool {
        self.from_hand.contains(&page)
    }

    /// Removes the page from the ghost; says whether it was there.
    pub(super) fn forget(&mut self, page: u64) -> bool {
        let remembered = self.ghost.contains(&page);
        self.ghost.retain(|ghost| *ghost != page);
        remembered
    }

    /// inserting an entry that is already there moves it to the MRU end.
    pub(super) fn remember(&mut self, page: u64) {
        self.forget(page);
        self.ghost.push_back(page);
    }

    /// Moves the desired size by `change`; A-29: clamped to [0, S].
    pub(super) fn resize(&mut self, change: Ratio<i128>, frames: usize) {
        let size = self.desired_size + change;
        self.desired_size = size.clamp(Ratio::from(0), Ratio::from(frames as i128));
    }

    pub(super) fn is_zero_by_zero(&self) -> bool {
        self.from_hand.is_empty() && self.desired_size == Ratio::from(0)
    }

    /// ratio(self) >= ratio(other), A-22: an empty area has ratio 0, a non-empty one of size 0 has +∞, and ∞ = ∞.
    pub(super) fn ratio_is_at_least(&self, other: &Area) -> bool {
        match (self.ratio(), other.ratio()) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(own), Some(other)) => own >= other,
        }
    }

    /// None is +∞.
    fn ratio(&self) -> Option<Ratio<i128>> {
        if self.from_hand.is_empty() {
            return Some(Ratio::from(0));
        }
        let size = Ratio::from(self.from_hand.len() as i128);
        (self.desired_size > Ratio::from(0)).then(|| size / self.desired_size)
    }
}
