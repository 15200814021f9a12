//! The tier of a page that is in neither.

use core::fmt;

use super::Tier;
use crate::Op;

/// A wish for a page that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Where.
    pub tier: Tier,
    /// True if another page makes room there; else the other tier is taken if only that has room.
    pub makes_room: bool,
}

impl Wanted {
    /// A new page that is written belongs in the fast tier, one that is read in the slow one, whether there is room or not.
    pub(super) fn by_operation(op: Op) -> Self {
        let tier = if op == Op::Write { Tier::Fast } else { Tier::Slow };
        Wanted { tier, makes_room: true }
    }
}

/// The driver's rule for pages that come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Placement {
    /// The fast tier while it has room, then the slow one.
    #[default]
    Fast,
    /// The slow tier, while it has room.
    Slow,
    /// Of each `fast + slow` pages that come, the first `fast` want the fast tier.
    Interleave {
        /// How many want the fast tier.
        fast: u32,
        /// How many want the slow tier.
        slow: u32,
    },
    /// Always the fast tier; another page leaves it.
    MakeRoom,
}

impl Placement {
    /// What the page wants that comes as number `position`, counted from 0.
    pub(super) fn wants(self, position: u64) -> Wanted {
        let tier = match self {
            Placement::Fast | Placement::MakeRoom => Tier::Fast,
            Placement::Slow => Tier::Slow,
            Placement::Interleave { fast, slow } => {
                let in_round = position % (u64::from(fast) + u64::from(slow));
                if in_round < u64::from(fast) { Tier::Fast } else { Tier::Slow }
            }
        };
        Wanted { tier, makes_room: self == Placement::MakeRoom }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Placement::Fast => formatter.write_str("fast"),
            Placement::Slow => formatter.write_str("slow"),
            Placement::Interleave { fast, slow } => write!(formatter, "interleave:{fast}:{slow}"),
            Placement::MakeRoom => formatter.write_str("make-room"),
        }
    }
}
