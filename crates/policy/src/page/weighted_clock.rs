//! # Weighted CLOCK: dirty pages get extra rounds
//!
//! **What it keeps.** A ring of all pages and a hand. For each page a reference bit that the hardware sets on each hit,
//! and how often the hand has spared it since it was last found referenced (shown as `spared`).
//!
//! **Victim.** From the hand: a page with reference bit 1 gets bit 0, counts as never spared, and the hand moves on. A
//! dirty page with bit 0 that was spared fewer than `rounds` times is spared. The first other page leaves. The new page
//! goes to the tail, the place that the hand reaches last.
//!
//! **On a write.** Sets the reference bit as a read does; the page is dirty from then on.
//!
//! **Parameters.** `rounds`: how many more rounds than a clean page a dirty one gets (default 3); with 0 this is
//! CLOCK.
//!
//! **Cost per hit and per victim.** One OR; at most `rounds + 1` revolutions for a victim, and every dirty page is
//! examined in each of them.
//!
//! **Deviations from the paper.** The simplest clock that weighs writes, for comparison: the idea is that of
//! WWCLOCK, whose paper says how the weights follow from the I/O costs of each device; here the weight is
//! a parameter. A pinned page is passed over with its bit untouched.
//!
//! **Reference.** J. Park, E. Lee, H. Seo, K. Koh: WWCLOCK: page replacement algorithm considering asymmetric I/O
//! cost of flash memory. Journal of KIISE: Computing Practices and Letters 15(12), 2009.

use alloc::vec;
use alloc::vec::Vec;

use super::{BitDriven, Capabilities, Fault, Inspector, PagePolicy};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::parts::{FrameList, Links};
use crate::{Frame, Frames, HitBits};

/// The ring, listed from the page under the hand.
#[derive(Clone, Debug)]
pub struct WeightedClock {
    links: Links,
    from_hand: FrameList,
    spared: Vec<u8>,
    rounds: u8,
}

impl Cataloged for WeightedClock {
    const DESCRIPTION: Description = Description {
        name: "weighted-clock",
        summary: "CLOCK that spares a dirty page for some rounds more",
        paper: "Park, Lee, Seo, Koh 2009",
        parameters: &[Parameter {
            name: "rounds",
            summary: "rounds that a dirty page gets beyond a clean one",
            domain: Domain::Count { min: 0, max: 255 },
            default: Default::Value("3"),
            only_with: None,
        }],
        source: include_str!("weighted_clock.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        WeightedClock {
            links: Links::new(size.frames),
            from_hand: FrameList::EMPTY,
            spared: vec![0; size.frames as usize],
            rounds: settings.count("rounds").expect("rounds have a default") as u8,
        }
    }
}

impl PagePolicy for WeightedClock {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        loop {
            let frame = self.from_hand.head();
            if !frames.is_pinned(frame) {
                if frames.is_referenced(frame) {
                    frames.clear_bits(frame);
                    self.spared[frame.index()] = 0;
                } else if frames.is_dirty(frame) && self.spared[frame.index()] < self.rounds {
                    self.spared[frame.index()] += 1;
                } else {
                    self.from_hand.remove(&mut self.links, frame);
                    return frame;
                }
            }
            self.from_hand.move_to_tail(&mut self.links, frame);
        }
    }

    fn loaded<F: Frames>(&mut self, _: Fault, frame: Frame, _: &mut F) {
        self.spared[frame.index()] = 0;
        self.from_hand.push_tail(&mut self.links, frame);
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.from_hand.remove(&mut self.links, frame);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        inspector.ring("from_hand", &mut self.from_hand.iter(&self.links));
        let spared = |frame: Frame| self.spared[frame.index()].into();
        inspector.values("spared", &mut self.from_hand.iter(&self.links).map(spared));
    }

    fn check_invariants<F: Frames>(&self, _: &F) {
        self.from_hand.check_invariants(&self.links);
    }
}

impl Capabilities for WeightedClock {
    const TAKES_MORE_PAGES: bool = true;
}

impl BitDriven for WeightedClock {
    const HIT_BITS: HitBits = HitBits::Reference;
}

#[cfg(test)]
mod tests {
    use crate::worked_examples::run;

    #[test]
    fn a_dirty_page_is_spared_for_its_rounds_and_then_leaves() {
        // 1 is spared at R3 and at R4; at R5 its two rounds are over.
        let after = run("weighted-clock:rounds=2", 2, "W1 R2 R3 R4 R5");
        assert_eq!(after.evicted, "2 3 1*");
        assert_eq!(after.state, "from_hand=[4 5] spared=[0 0]");
    }

    #[test]
    fn a_reference_renews_the_rounds() {
        let after = run("weighted-clock:rounds=1", 2, "W1 R2 R3 R1 R4 R5");
        assert_eq!(after.evicted, "2 3 4");
        assert_eq!(after.state, "from_hand=[1 5] spared=[1 0]");
    }

    #[test]
    fn with_dirty_pages_only_the_hand_goes_round_until_a_page_has_none_left() {
        let after = run("weighted-clock:rounds=2", 2, "W1 W2 W3");
        assert_eq!(
            (after.evicted.as_str(), after.state.as_str()),
            ("1*", "from_hand=[2 3] spared=[2 0]")
        );
    }
}
