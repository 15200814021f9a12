//! Which accesses the hardware shows.

use crate::Op;

/// Which accesses set bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// Every hit sets its bit; the faulting access sets none.
    Exact,
    /// The faulting access is retried and seen; on a mapped page only writes are seen.
    Mapped,
}

impl Visibility {
    /// Whether an access to a resident page sets its bits.
    pub(crate) fn sees(self, mapped: bool, op: Op) -> bool {
        match self {
            Visibility::Exact => true,
            Visibility::Mapped => !mapped || op == Op::Write,
        }
    }

    /// Whether the access that faulted is retried after the page is loaded.
    pub(crate) fn retries_fault(self) -> bool {
        self == Visibility::Mapped
    }
}
