//! The periods of a policy.

use std::num::NonZeroU64;

/// Counts references up to the end of a period of the policy, if it has periods.
pub(super) struct Period {
    references: Option<NonZeroU64>,
    left: u64,
    /// One has ended, and the policy has not been told.
    has_ended: bool,
}

impl Period {
    pub(super) fn new(references: Option<NonZeroU64>) -> Self {
        Period { references, left: references.map_or(0, NonZeroU64::get), has_ended: false }
    }

    /// Counts a reference.
    pub(super) fn count(&mut self) {
        let Some(references) = self.references else { return };
        self.left -= 1;
        if self.left == 0 {
            self.left = references.get();
            self.has_ended = true;
        }
    }

    /// Returns whether a period has ended of which the policy has not been told.
    pub(super) fn take_end(&mut self) -> bool {
        std::mem::take(&mut self.has_ended)
    }
}
