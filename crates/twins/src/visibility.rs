//! Which accesses the hardware shows.

use crate::Op;

/// Which accesses set bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// Every hit sets its bit; the faulting access sets none.
    Exact,
    /// The faulting access is retried and seen; on a mapped page only writes are seen.
    Mapped,
    /// As `Mapped`, but the first access to a page that is not mapped also shows as a read, and periods end with misses.
    Sensed,
}

impl Visibility {
    /// Returns whether an access to a resident page sets its bits.
    pub(crate) fn sees(self, mapped: bool, op: Op) -> bool {
        match self {
            Visibility::Exact => true,
            Visibility::Mapped | Visibility::Sensed => !mapped || op == Op::Write,
        }
    }

    /// Returns whether the access that faulted is retried after the page is loaded.
    pub(crate) fn retries_fault(self) -> bool {
        self != Visibility::Exact
    }

    /// Returns whether an access to a resident page shows as a read although it writes.
    pub(crate) fn shows_a_read(self, mapped: bool) -> bool {
        self == Visibility::Sensed && !mapped
    }
}

/// The ends of periods of a policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Periods {
    visibility: Visibility,
    period: usize,
    /// References so far; the first one is number 1.
    references: usize,
    /// A period has ended, and the policy has not been told.
    is_due: bool,
}

impl Periods {
    pub(crate) fn new(period: usize, visibility: Visibility) -> Periods {
        Periods { visibility, period, references: 0, is_due: false }
    }

    /// A reference ends; says whether a period ends with it.
    pub(crate) fn end_reference(&mut self, is_miss: bool) -> bool {
        self.references += 1;
        self.is_due |= self.references.is_multiple_of(self.period);
        let ends = self.is_due && (is_miss || self.visibility != Visibility::Sensed);
        self.is_due &= !ends;
        ends
    }
}
