//! # SIEVE: lazy promotion, quick demotion
//!
//! **What it keeps.** A FIFO queue of all pages, the newest at its head and the oldest at its tail. A visited bit per
//! page, which is the reference bit. A hand that points to a page of the queue or to none. Shown: `tail_to_head`, and
//! `hand`, no page or one.
//!
//! **Victim.** From the hand, or from the tail if the hand points to no page, towards the head: a page with
//! visited bit 1 gets bit 0 and keeps its place; the first page with bit 0 leaves. Past the head the search
//! goes on at the tail. The hand then points to the victim's neighbour towards the head, or to none if the
//! victim was at the head. The new page goes to the head with visited bit 0.
//!
//! **On a write.** Sets the visited bit as a read does; a dirty page is not spared.
//!
//! **Parameters.** None.
//!
//! **Cost per hit and per victim.** One OR; constant on average, at most one revolution and one page.
//!
//! **Deviations from the paper.** None: Algorithm 1. A page that is loaded while the hand points to none is
//! examined last, since the next search begins at the tail. A pinned page is passed over with its bit untouched.
//!
//! **Reference.** Y. Zhang, J. Yang, Y. Yue, Y. Vigfusson, K. V. Rashmi: SIEVE is simpler than LRU: an
//! efficient turn-key eviction algorithm for web caches. NSDI 2024.

use super::{BitDriven, Capabilities, Fault, Inspector, PagePolicy};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::Settings;
use crate::parts::{FrameList, Links};
use crate::{Frame, Frames, HitBits};

/// The queue, listed from its tail, the oldest page, to its head.
#[derive(Clone, Debug)]
pub struct Sieve {
    links: Links,
    oldest_to_newest: FrameList,
    hand: Frame,
}

impl Cataloged for Sieve {
    const DESCRIPTION: Description = Description {
        name: "sieve",
        summary: "a FIFO queue in which the hand leaves visited pages where they are",
        paper: "Zhang, Yang, Yue, Vigfusson, Rashmi 2024",
        parameters: &[],
        source: include_str!("sieve.rs"),
    };

    fn build(_: &Settings, size: Size) -> Self {
        Sieve {
            links: Links::new(size.frames),
            oldest_to_newest: FrameList::EMPTY,
            hand: Frame::NONE,
        }
    }
}

impl PagePolicy for Sieve {
    #[inline(always)]
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        let mut frame = self.hand;
        loop {
            if frame == Frame::NONE {
                frame = self.oldest_to_newest.head();
            }
            let newer = self.links.next(frame);
            if !frames.is_pinned(frame) {
                if !frames.is_referenced(frame) {
                    self.hand = newer;
                    self.oldest_to_newest.remove(&mut self.links, frame);
                    return frame;
                }
                frames.clear_bits(frame);
            }
            frame = newer;
        }
    }

    #[inline(always)]
    fn loaded<F: Frames>(&mut self, _: Fault, frame: Frame, _: &mut F) {
        self.oldest_to_newest.push_tail(&mut self.links, frame);
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
        if self.hand == frame {
            self.hand = self.links.next(frame);
        }
        self.oldest_to_newest.remove(&mut self.links, frame);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        inspector.list("tail_to_head", &mut self.oldest_to_newest.iter(&self.links));
        let hand = (self.hand != Frame::NONE).then_some(self.hand);
        inspector.list("hand", &mut hand.into_iter());
    }

    fn check_invariants<F: Frames>(&self, _: &F) {
        self.oldest_to_newest.check_invariants(&self.links);
        let at_hand = self.oldest_to_newest.iter(&self.links).any(|frame| frame == self.hand);
        assert!(at_hand || self.hand == Frame::NONE, "the hand points to a page that has left");
    }
}

impl Capabilities for Sieve {
    const TAKES_MORE_PAGES: bool = true;
}

impl BitDriven for Sieve {
    const HIT_BITS: HitBits = HitBits::Reference;
}

#[cfg(test)]
mod tests {
    use crate::worked_examples::run;

    #[test]
    fn visited_pages_keep_their_places_and_the_hand_goes_on_behind_the_victim() {
        // 1 and 2 are visited: the hand clears both, 3 leaves, and the hand points to 4.
        let after = run("sieve", 4, "R1 W2 R3 R4 R1 R2 R5");
        assert_eq!(after.evicted, "3");
        assert_eq!(after.state, "tail_to_head=[1 2 4 5] hand=[4]");
        // 4 leaves; 5, visited, is cleared at the head; the search wraps to 1.
        let after = run("sieve", 4, "R1 W2 R3 R4 R1 R2 R5 R6 R5 R6 R7 R8");
        assert_eq!(after.evicted, "3 4 1 2*");
        assert_eq!(after.state, "tail_to_head=[5 6 7 8] hand=[5]");
    }

    #[test]
    fn a_victim_at_the_head_leaves_the_hand_without_a_page() {
        let after = run("sieve", 2, "R1 R2 R1 R3");
        assert_eq!(
            (after.evicted.as_str(), after.state.as_str()),
            ("2", "tail_to_head=[1 3] hand=[]")
        );
        // From the tail: 1 was cleared before and leaves, not 3.
        let after = run("sieve", 2, "R1 R2 R1 R3 R4");
        assert_eq!(
            (after.evicted.as_str(), after.state.as_str()),
            ("2 1", "tail_to_head=[3 4] hand=[3]")
        );
    }
}
