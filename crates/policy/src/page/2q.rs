//! # 2Q: two queues
//!
//! **What it keeps.** `A1in`, a FIFO queue of recently loaded pages; `A1out`, the ghosts of pages that left `A1in`, in
//! the order they left; `Am`, an LRU list of pages that came back while they were in `A1out`. Shown by these names,
//! each from the oldest or LRU end.
//!
//! **Victim.** If `|A1in| > Kin`, the oldest page of `A1in`, which becomes the newest ghost of `A1out`; else
//! the LRU page of `Am`, which is forgotten. If the chosen list is empty, the victim is taken from the other
//! one by that list's rule.
//!
//! The incoming page is first looked up in `A1out`. Then, while `|A1out| > Kout`, the oldest ghost is dropped. A page
//! that was found goes to the MRU end of `Am`, and its ghost is forgotten. Any other page becomes the newest page of
//! `A1in`. A hit in `Am` moves the page to the MRU end; a hit in `A1in` does nothing.
//!
//! **On a write.** As on a read; a dirty page is not spared.
//!
//! **Parameters.** `kin_share`: `Kin` as a share of the frames (default 1/4); `kout_share`: `Kout` as a share
//! of the frames (default 1/2). Both are rounded down, and are at least 1 page.
//!
//! **Cost per hit and per victim.** At most one list move; constant.
//!
//! **Deviations from the paper.** The full version, with the shares that the paper recommends. The listing
//! takes the victim from `Am` whenever `|A1in| <= Kin`, even when `Am` is empty; in that case `A1in` is used here.
//! The listing looks up the page in `A1out` before anything leaves; here that is done afterwards, but before
//! `A1out` is trimmed, which is equivalent: the ghost that is found still counts while `A1out` is trimmed.
//! Pinned pages are passed over and keep their places; a list of pinned pages counts as empty.
//!
//! **Reference.** T. Johnson, D. Shasha: 2Q: a low overhead high performance buffer management replacement
//! algorithm. VLDB 1994.

use alloc::vec;
use alloc::vec::Vec;

use super::{
    AccessDriven, Capabilities, Fault, Inspector, PagePolicy, first_unpinned, pages_of_share,
};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Parameter, Settings};
use crate::parts::{FrameList, GhostLists, Links};
use crate::{Frame, Frames, Op};

/// The two queues share their links: a page is in one of them.
#[derive(Clone, Debug)]
pub struct TwoQ {
    kin: u32,
    kout: u32,
    links: Links,
    a1in: FrameList,
    am: FrameList,
    a1out: GhostLists<1, 1>,
    is_in_am: Vec<bool>,
}

impl Cataloged for TwoQ {
    const DESCRIPTION: Description = Description {
        name: "2q",
        summary: "a page enters the LRU list only when it comes back soon after its first stay",
        paper: "Johnson, Shasha 1994",
        parameters: &[
            Parameter::share(
                "kin_share",
                "pages of the FIFO queue as a share of all frames",
                "1/4",
            ),
            Parameter::share(
                "kout_share",
                "ghosts of the FIFO queue as a share of all frames",
                "1/2",
            ),
        ],
        source: include_str!("2q.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        TwoQ {
            kin: pages_of_share(settings, "kin_share", size.frames),
            kout: pages_of_share(settings, "kout_share", size.frames),
            links: Links::new(size.frames),
            a1in: FrameList::EMPTY,
            am: FrameList::EMPTY,
            a1out: GhostLists::new(size.pages),
            is_in_am: vec![false; size.frames as usize],
        }
    }
}

impl TwoQ {
    fn evict_from_a1in<F: Frames>(&mut self, frames: &F) -> Option<Frame> {
        let victim = first_unpinned(&self.a1in, &self.links, frames)?;
        self.a1in.remove(&mut self.links, victim);
        self.a1out.push(0, frames.page(victim));
        Some(victim)
    }

    fn evict_from_am<F: Frames>(&mut self, frames: &F) -> Option<Frame> {
        let victim = first_unpinned(&self.am, &self.links, frames)?;
        self.am.remove(&mut self.links, victim);
        Some(victim)
    }
}

impl PagePolicy for TwoQ {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        let victim = match self.a1in.len() > self.kin {
            true => self.evict_from_a1in(frames).or_else(|| self.evict_from_am(frames)),
            false => self.evict_from_am(frames).or_else(|| self.evict_from_a1in(frames)),
        };
        victim.expect("a frame is not pinned")
    }

    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, _: &mut F) {
        let comes_back = self.a1out.contains(0, fault.page);
        // More than one only if several pages have left for this one and those that come with it.
        self.a1out.shrink(0, self.kout.into());
        self.a1out.remove(0, fault.page);
        self.is_in_am[frame.index()] = comes_back;
        let queue = if comes_back { &mut self.am } else { &mut self.a1in };
        queue.push_tail(&mut self.links, frame);
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
        let queue = if self.is_in_am[frame.index()] { &mut self.am } else { &mut self.a1in };
        queue.remove(&mut self.links, frame);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        inspector.list("A1in", &mut self.a1in.iter(&self.links));
        inspector.list("Am", &mut self.am.iter(&self.links));
        inspector.ghosts("A1out", &mut self.a1out.iter(0));
    }

    fn check_invariants<F: Frames>(&self, frames: &F) {
        self.a1out.check_invariants();
        assert!(self.a1out.len(0) <= self.kout, "too many ghosts");
        for (queue, is_am) in [(&self.a1in, false), (&self.am, true)] {
            queue.check_invariants(&self.links);
            for frame in queue.iter(&self.links) {
                assert_eq!(self.is_in_am[frame.index()], is_am, "a page is in the other queue");
                assert!(!self.a1out.contains(0, frames.page(frame)), "a page in memory is a ghost");
            }
        }
    }
}

impl Capabilities for TwoQ {
    const TAKES_MORE_PAGES: bool = true;
    const LOOKS_AHEAD: bool = true;

    fn take_more_pages(&mut self, pages: u32) {
        self.a1out.take_more(pages);
    }
}

impl AccessDriven for TwoQ {
    #[inline]
    fn hit<F: Frames>(&mut self, _: Op, frame: Frame, _: &F) {
        if self.is_in_am[frame.index()] {
            self.am.move_to_tail(&mut self.links, frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::worked_examples::run;

    #[test]
    fn a_page_that_comes_back_enters_am_and_a_hit_in_a1in_changes_nothing() {
        // Kin 1, Kout 2. 1 leaves although it was hit; it comes back to Am, for which 2 leaves.
        let after = run("2q", 4, "R1 R2 R3 R4 R1 R5 W1");
        assert_eq!(after.evicted, "1 2");
        assert_eq!(after.state, "A1in=[3 4 5] Am=[1] A1out=[2]");
        // 3, 4 leave for 2 and 3; then |A1in| = 1 and the LRU page of Am leaves, with no ghost.
        let after = run("2q", 4, "R1 R2 R3 R4 R1 R5 W1 R2 R3 R2 R6");
        assert_eq!(after.evicted, "1 2 3 4 1*");
        assert_eq!(after.state, "A1in=[5 6] Am=[3 2] A1out=[4]");
    }

    #[test]
    fn a_ghost_that_is_found_goes_before_the_trimming_could_drop_it() {
        // Kin = Kout = 1: 1 is a ghost when it comes back and 2 leaves.
        let after = run("2q:kout_share=0", 2, "R1 R2 R3 R1");
        assert_eq!(after.evicted, "1 2");
        assert_eq!(after.state, "A1in=[3] Am=[1] A1out=[2]");
    }

    #[test]
    fn one_frame_is_a1in() {
        let after = run("2q", 1, "R1 R2 R1 R3");
        assert_eq!(after.evicted, "1 2 1");
        assert_eq!(after.state, "A1in=[3] Am=[] A1out=[2]");
    }
}
