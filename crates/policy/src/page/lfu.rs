//! # LFU: least frequently used
//!
//! **What it keeps.** For each page in memory, how often it has been referenced since it was loaded, including the
//! fault: 1 when it is loaded, one more with each hit, without limit. The count of a page that leaves is forgotten.
//! Shown: `by_count`, all pages in the order they would leave, and `first_of_count`, those whose count differs from
//! that of the page before.
//!
//! **Victim.** The page with the smallest count; among pages with that count, the least recently referenced
//! one.
//!
//! **On a write.** Counts as a read does; a dirty page is not spared.
//!
//! **Parameters.** None.
//!
//! **Cost per hit and per victim.** A few list steps each; constant. Pages of one count share a list, and the
//! lists are linked in the order of their counts.
//!
//! **Deviations from the paper.** The paper compares algorithms by their principles and leaves ties open. Of
//! the two variants in use this is "in-cache" LFU; "perfect" LFU would keep the counts of pages that have
//! left. Pinned pages are passed over and keep their places.
//!
//! **Reference.** A. V. Aho, P. J. Denning, J. D. Ullman: Principles of optimal page replacement. Journal of
//! the ACM 18(1), 1971.

use super::{AccessDriven, Capabilities, Fault, Inspector, PagePolicy};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::Settings;
use crate::parts::CountList;
use crate::{Frame, Frames, Op};

/// All pages in the order of their counts, then of their last references: each reference changes the count,
/// so that the page referenced last is the one that reached its count last.
#[derive(Clone, Debug)]
pub struct Lfu {
    pages: CountList,
}

impl Cataloged for Lfu {
    const DESCRIPTION: Description = Description {
        name: "lfu",
        summary: "the page with the fewest references since it was loaded leaves",
        paper: "Aho, Denning, Ullman 1971",
        parameters: &[],
        source: include_str!("lfu.rs"),
    };

    fn build(_: &Settings, size: Size) -> Self {
        Lfu { pages: CountList::new(size.frames) }
    }
}

impl PagePolicy for Lfu {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        let victim = self.pages.iter().find(|&frame| !frames.is_pinned(frame));
        let victim = victim.expect("a frame is not pinned");
        self.pages.remove(victim);
        victim
    }

    fn loaded<F: Frames>(&mut self, _: Fault, frame: Frame, _: &mut F) {
        self.pages.insert(frame);
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.pages.remove(frame);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        inspector.list("by_count", &mut self.pages.iter());
        inspector.list("first_of_count", &mut self.pages.firsts());
    }

    fn check_invariants<F: Frames>(&self, _: &F) {
        self.pages.check_invariants();
    }
}

impl Capabilities for Lfu {
    const LOOKS_AHEAD: bool = true;
    const TAKES_MORE_PAGES: bool = true;
}

impl AccessDriven for Lfu {
    const COUNTS_REFERENCES: bool = true;

    #[inline]
    fn hit<F: Frames>(&mut self, _: Op, frame: Frame, _: &F) {
        self.pages.increment(frame);
    }
}

#[cfg(test)]
mod tests {
    use crate::worked_examples::run;

    #[test]
    fn the_fewest_references_leave_and_among_equals_the_oldest_reference() {
        // Counts 2, 1, 1: 2 leaves before 3. Then 4 has 1, 3 has 2, 1 has 2 and was referenced before 3.
        let after = run("lfu", 3, "R1 R2 R3 R1 R4 R3 R5");
        assert_eq!(after.evicted, "2 4");
        assert_eq!(after.state, "by_count=[5 1 3] first_of_count=[5 1]");
    }

    #[test]
    fn a_page_that_comes_back_starts_again_at_one() {
        let after = run("lfu", 2, "W1 R1 R1 R2 R2 R3 R1 R3 R3 R3 R2 R2 R2 R4");
        // 2 (2) leaves for 3; 3 reaches 4, 1 has 4 and is older: 1 leaves for 2; 2 (3) leaves for 4.
        assert_eq!(after.evicted, "2 1* 2");
        assert_eq!(after.state, "by_count=[4 3] first_of_count=[4 3]");
    }
}
