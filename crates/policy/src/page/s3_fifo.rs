//! # S3-FIFO: simple, scalable caching with three static FIFO queues
//!
//! **What it keeps.** A small FIFO queue `S` and a main FIFO queue `M` of pages, and a FIFO queue `G` of the ghosts of
//! pages that left `S`. A frequency of 0 to 3 per page in memory: 0 when it is loaded, one more with each hit. Shown:
//! `S`, `M` and `G` from the oldest, and the pages of `S`, then of `M`, of each frequency, as `frequency_1` to
//! `frequency_3`.
//!
//! **Victim.** If `S` has at least its target size, from `S`, else from `M`. *From `S`:* the oldest page of
//! `S`; if its frequency is at least `move_to_main_threshold`, it becomes the newest page of `M` with
//! frequency 0, and the next oldest is examined; else it leaves and becomes the newest ghost. If `S` becomes
//! empty, from `M`. *From `M`:* the oldest page of `M`; if its frequency is above 0, it becomes the newest
//! page of `M` with one less, and the next oldest is examined; else it leaves and is forgotten.
//!
//! The incoming page becomes the newest page of `M` if it is in `G`, which forgets it, else of `S`. Finally,
//! if `G` has more ghosts than its size, it drops the oldest.
//!
//! **On a write.** Counts as a read does; a dirty page is not spared.
//!
//! **Parameters.**
//!
//! * `small_share`: the target size of `S` as a share of the frames, rounded down and at least 1
//!   page (default 1/10). `M` has the rest, and `G` as many ghosts as `M` has pages, at least 1.
//!
//! * `move_to_main_threshold`: the frequency with which a page moves to `M` (default 2: accessed
//!   more than once).
//!
//! * `fill`: which queue new pages join until the first page leaves. `small` (default) is as in the
//!   paper. With `main` they become the newest of `M` while `S` has at least its target size, as in
//!   the authors' later simulator libCacheSim, whose misses are then the same. On 200,000
//!   references by Zipf's law the two ways differ by up to 0.006 in the miss ratio.
//!
//! **Cost per hit and per victim.** One counter; constant on average, since each move costs a hit.
//!
//! **Deviations from the paper.** `M` has no limit of its own. Algorithm 1 also evicts from `M` when a page moves to a
//! full `M`; here one frame is needed and one page leaves. The next victim comes from `M`, since `S` is then below its
//! target. libCacheSim does the same. The incoming page is looked up in `G` before `G` is trimmed for the page that
//! left, as in libCacheSim; Algorithm 1 trims first. Pinned pages are passed over and keep their places and
//! frequencies; a queue of pinned pages alone counts as empty.
//!
//! **Reference.** J. Yang, Y. Zhang, Z. Qiu, Y. Yue, K. V. Rashmi: FIFO queues are all you need for cache
//! eviction. SOSP 2023.

use alloc::vec;
use alloc::vec::Vec;

use super::{AccessDriven, Capabilities, Fault, Inspector, PagePolicy, pages_of_share};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::parts::{FrameQueue, GhostLists, has_ghosts};
use crate::{Frame, Frames, Op};

const HIGHEST_FREQUENCY: u8 = 3;

/// The two queues and the ghosts.
#[derive(Clone, Debug)]
pub struct S3Fifo {
    small_pages: u32,
    most_ghosts: u32,
    move_to_main_threshold: u8,
    fills_main: bool,
    any_page_left: bool,
    /// Tells whether a page is in the main queue.
    is_in_main: Vec<bool>,
    small: FrameQueue,
    main: FrameQueue,
    ghosts: GhostLists<1, 1>,
    frequency: Vec<u8>,
}

const PARAMETERS: &[Parameter] = &[
    Parameter::share(
        "small_share",
        "target size of the small queue as a share of all frames",
        "1/10",
    ),
    Parameter {
        name: "move_to_main_threshold",
        summary: "hits with which a page moves from the small queue to the main one",
        domain: Domain::Count { min: 1, max: HIGHEST_FREQUENCY as u64 },
        default: Default::Value("2"),
        only_with: None,
    },
    Parameter {
        name: "fill",
        summary: "which queue takes new pages until the first page leaves",
        domain: Domain::Choice(&["small", "main"]),
        default: Default::Value("small"),
        only_with: None,
    },
];

impl Cataloged for S3Fifo {
    const DESCRIPTION: Description = Description {
        name: "s3-fifo",
        summary: "a small FIFO queue filters pages before a main one; ghosts tell what came too early",
        paper: "Yang, Zhang, Qiu, Yue, Rashmi 2023",
        parameters: PARAMETERS,
        source: include_str!("s3_fifo.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        let small_pages = pages_of_share(settings, "small_share", size.frames);
        let threshold = settings.count("move_to_main_threshold").expect("it has a default");
        S3Fifo {
            small_pages,
            most_ghosts: (size.frames - small_pages).max(1),
            move_to_main_threshold: threshold as u8,
            fills_main: settings.choice("fill") == "main",
            any_page_left: false,
            is_in_main: vec![false; size.frames as usize],
            small: FrameQueue::new(),
            main: FrameQueue::new(),
            ghosts: GhostLists::new(size.pages),
            frequency: vec![0; size.frames as usize],
        }
    }
}

impl S3Fifo {
    /// Algorithm 1's `EVICTS`; `None` if no page that can leave is left in the small queue.
    fn evict_from_small<F: Frames>(&mut self, frames: &F) -> Option<Frame> {
        loop {
            let frame = self.small.pop_first(|frame| !frames.is_pinned(frame))?;
            if self.frequency[frame.index()] < self.move_to_main_threshold {
                self.ghosts.push_new(0, frames.page(frame));
                return Some(frame);
            }
            self.frequency[frame.index()] = 0;
            self.is_in_main[frame.index()] = true;
            self.main.push_tail(frame);
        }
    }

    /// Algorithm 1's `EVICTM`; `None` if no page that can leave is in the main queue.
    fn evict_from_main<F: Frames>(&mut self, frames: &F) -> Option<Frame> {
        loop {
            let frame = self.main.pop_first(|frame| !frames.is_pinned(frame))?;
            if self.frequency[frame.index()] == 0 {
                return Some(frame);
            }
            self.frequency[frame.index()] -= 1;
            self.main.push_tail(frame);
        }
    }
}

impl PagePolicy for S3Fifo {
    #[inline(always)]
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        self.any_page_left = true;
        let victim = match self.small.len() >= self.small_pages {
            true => self.evict_from_small(frames).or_else(|| self.evict_from_main(frames)),
            false => self
                .evict_from_main(frames)
                .or_else(|| self.evict_from_small(frames).or_else(|| self.evict_from_main(frames))),
        };
        victim.expect("a frame is not pinned")
    }

    #[inline(always)]
    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, _: &mut F) {
        self.frequency[frame.index()] = 0;
        let was_ghost = self.ghosts.remove(0, fault.page);
        self.ghosts.shrink(0, self.most_ghosts.into());
        let small_is_filled = self.fills_main && self.small.len() >= self.small_pages;
        let to_main = was_ghost || (small_is_filled && !self.any_page_left);
        self.is_in_main[frame.index()] = to_main;
        let queue = if to_main { &mut self.main } else { &mut self.small };
        queue.push_tail(frame);
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
        let is_in_main = self.is_in_main[frame.index()];
        let queue = if is_in_main { &mut self.main } else { &mut self.small };
        queue.remove(frame);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        inspector.list("S", &mut self.small.iter());
        inspector.list("M", &mut self.main.iter());
        inspector.ghosts("G", &mut self.ghosts.iter(0));
        for (frequency, name) in (1..).zip(["frequency_1", "frequency_2", "frequency_3"]) {
            let pages = self.small.iter().chain(self.main.iter());
            let mut pages = pages.filter(|frame| self.frequency[frame.index()] == frequency);
            inspector.list(name, &mut pages);
        }
    }

    fn check_invariants<F: Frames>(&self, frames: &F) {
        self.small.check_invariants();
        self.main.check_invariants();
        self.ghosts.check_invariants();
        assert!(self.ghosts.len(0) <= self.most_ghosts, "too many ghosts");
        let in_main = self.main.iter();
        assert!({ in_main }.all(|frame| self.is_in_main[frame.index()]), "a page's queue is wrong");
        let in_small = self.small.iter();
        assert!(
            !{ in_small }.any(|frame| self.is_in_main[frame.index()]),
            "a page's queue is wrong"
        );
        for frame in self.small.iter().chain(self.main.iter()) {
            assert!(!self.ghosts.contains(0, frames.page(frame)), "a page in memory is a ghost");
            assert!(self.frequency[frame.index()] <= HIGHEST_FREQUENCY, "a frequency is too high");
        }
    }
}

impl Capabilities for S3Fifo {
    has_ghosts!();
}

impl AccessDriven for S3Fifo {
    const COUNTS_REFERENCES: bool = true;

    #[inline]
    fn hit<F: Frames>(&mut self, _: Op, frame: Frame, _: &F) {
        let frequency = &mut self.frequency[frame.index()];
        *frequency = (*frequency + 1).min(HIGHEST_FREQUENCY);
    }
}

#[cfg(test)]
mod tests {
    use crate::worked_examples::run;

    #[test]
    fn two_hits_move_a_page_to_the_main_queue_and_one_does_not() {
        // S has target 1. 1, hit twice, moves to M; 2, hit once, leaves.
        let after = run("s3-fifo", 4, "R1 R2 R3 R4 R1 R1 R2 W5");
        assert_eq!(after.evicted, "2");
        assert_eq!(
            after.state,
            "S=[3 4 5] M=[1] G=[2] frequency_1=[] frequency_2=[] frequency_3=[]"
        );
        let after = run("s3-fifo:move_to_main_threshold=1", 4, "R1 R2 R3 R4 R1 R1 R2 W5");
        assert_eq!(after.evicted, "3");
    }

    #[test]
    fn a_ghost_comes_back_to_the_main_queue_where_hits_buy_further_rounds() {
        // 1 and 2 leave S and come back to M, for which 3 and 4 leave; S = [5] has its target: 5 leaves for 3.
        let after = run("s3-fifo", 3, "R1 R2 R3 R4 R5 W1 R2");
        assert_eq!(after.evicted, "1 2 3 4");
        assert_eq!(
            after.state,
            "S=[5] M=[1 2] G=[3 4] frequency_1=[] frequency_2=[] frequency_3=[]"
        );
        // 3 takes 5's place, and M has all: 1, hit four times, counts 3; 2 leaves for 6, and 1 has 2 left.
        let after = run("s3-fifo", 3, "R1 R2 R3 R4 R5 W1 R2 R3 R1 R1 R1 R1 R6");
        assert_eq!(after.evicted, "1 2 3 4 5 2");
        assert_eq!(
            after.state,
            "S=[6] M=[3 1] G=[4 5] frequency_1=[] frequency_2=[1] frequency_3=[]"
        );
    }

    #[test]
    fn filling_the_main_queue_keeps_the_small_one_at_its_target() {
        let after = run("s3-fifo:fill=main", 3, "R1 R2 R3 R4");
        assert_eq!(after.evicted, "1");
        assert_eq!(after.state, "S=[4] M=[2 3] G=[1] frequency_1=[] frequency_2=[] frequency_3=[]");
    }
}
