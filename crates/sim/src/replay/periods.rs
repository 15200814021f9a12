//! The periods of a policy, which it is told the ends of.

use std::num::NonZeroU64;

/// References until the ends of periods.
pub(super) struct Periods {
    references: u64,
    /// Until the next end.
    left: u64,
}

impl Periods {
    /// Each of `references`; the first begins with the trace.
    pub(super) fn of(references: NonZeroU64) -> Self {
        Periods { references: references.get(), left: references.get() }
    }

    /// Takes the next records until a period ends, at most `most`. Returns how many, and the references of the last one if
    /// the period ends with it. `lengths` has the references of each; where it has none, each is one.
    pub(super) fn until_end(
        &mut self,
        most: usize,
        lengths: &mut impl Iterator<Item = u32>,
    ) -> (usize, Option<u64>) {
        for record in 1..=most {
            let length = lengths.next().map_or(1, u64::from);
            self.left -= length;
            if self.left == 0 {
                self.left = self.references;
                return (record, Some(length));
            }
        }
        (most, None)
    }
}
