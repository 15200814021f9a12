//! # Static: the best placement that never changes
//!
//! **What it keeps.** Which pages live in the fast tier: those for which it saves most, by all of their accesses.
//!
//! **Victim.** None: nothing ever leaves the fast tier for the slow one.
//!
//! **On a write.** A write counts by what the slow tier's writes cost more than the fast one's.
//!
//! **Parameters.** None.
//!
//! **Cost per hit and per victim.** Constant. One byte per page, and a pass over the trace before.
//!
//! **Deviations from the paper.** It is a bound for placements without migration, not a policy that can run: it knows all
//! accesses beforehand.
//!
//! **Reference.** None; the offline baseline of studies of tiered memory.

use alloc::vec::Vec;

use super::{Entry, Tier, TierPolicy, Wanted};
use crate::catalog::Description;
use crate::{Op, PageId};

/// What the catalog says of it.
pub const DESCRIPTION: Description = Description {
    name: "static",
    summary: "the pages for which it pays most live in the fast tier, from their first references on",
    paper: "offline baseline",
    parameters: &[],
    source: include_str!("fixed.rs"),
};

/// The policy.
#[derive(Clone, Debug)]
pub struct Fixed {
    lives_in_fast: Vec<bool>,
}

impl Fixed {
    /// Pages `lives_in_fast`, by their numbers, live in the fast tier; they must fit.
    pub fn new(lives_in_fast: Vec<bool>) -> Self {
        Fixed { lives_in_fast }
    }
}

impl TierPolicy for Fixed {
    const HAS_PLACEMENT: bool = true;

    fn placement(&self, page: PageId, _: Op) -> Option<Wanted> {
        let tier = if self.lives_in_fast[page.index()] { Tier::Fast } else { Tier::Slow };
        Some(Wanted { tier, makes_room: true })
    }

    fn choose_victim(&mut self, _: PageId) -> PageId {
        unreachable!("the pages that live in the fast tier fit")
    }

    fn entered_fast(&mut self, _: PageId, _: Op, _: Entry) {}
}
