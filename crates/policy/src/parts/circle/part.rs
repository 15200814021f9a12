//! A part of the circle.

pub(super) const NONE: u32 = u32::MAX;
/// Places of a part.
pub(super) const PLACES: usize = 64;

/// Up to 64 entries that follow each other. One that left leaves its place free. Bit n of a mask stands for place n.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The places that have an entry.
    pub(super) taken: u64,
    /// The places whose entry is marked.
    pub(super) marked: u64,
    /// By weight: the places whose entry has it.
    pub(super) of_weight: [u64; PLACES + 1],
    /// By place.
    pub(super) weights: [u8; PLACES],
    pub(super) entries: [u32; PLACES],
    /// Where in the circle's order the part is.
    pub(super) position: u32,
}

impl Part {
    pub(super) const EMPTY: Part = Part {
        taken: 0,
        marked: 0,
        of_weight: [0; PLACES + 1],
        weights: [0; PLACES],
        entries: [NONE; PLACES],
        position: 0,
    };

    /// The largest weight of its entries, which is at most `bound`.
    #[inline]
    pub(super) fn largest(&self, bound: u8) -> u8 {
        let mut weight = bound;
        while weight > 0 && self.of_weight[usize::from(weight)] == 0 {
            weight -= 1;
        }
        weight
    }

    /// The second half of its places, moved to the first half.
    pub(super) fn take_upper_half(&mut self) -> Part {
        const HALF: usize = PLACES / 2;
        let mut upper =
            Part { taken: self.taken >> HALF, marked: self.marked >> HALF, ..Part::EMPTY };
        for (upper, lower) in upper.of_weight.iter_mut().zip(&mut self.of_weight) {
            *upper = *lower >> HALF;
            *lower &= u64::MAX >> HALF;
        }
        upper.weights[..HALF].copy_from_slice(&self.weights[HALF..]);
        upper.entries[..HALF].copy_from_slice(&self.entries[HALF..]);
        self.taken &= u64::MAX >> HALF;
        self.marked &= u64::MAX >> HALF;
        upper
    }
}
