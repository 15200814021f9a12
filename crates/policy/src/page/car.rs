//! # CAR: CLOCK with adaptive replacement
//!
//! **What it keeps.** Two clocks, `T1` of pages seen once and `T2` of pages seen again, the ghost lists `B1`
//! and `B2` of pages that left them, and the target size `p` of `T1`. One reference bit per page.
//!
//! **Victim.** While `|T1| >= max(1, p)` the head of `T1` is examined, else the head of `T2`. A page with bit 0
//! leaves for the newest end of its ghost list. One with bit 1 gets bit 0 and goes to the tail of `T2`.
//!
//! **On a write.** Sets the reference bit as a read does; a dirty page is not spared.
//!
//! **Parameters.** None.
//!
//! **Cost per hit and per victim.** One OR; constant on average.
//!
//! **Deviations from the paper.** None: the listing of FAST '04, with `c` = the number of frames. The division `|B2| /
//! |B1|` is real, `p` is binary64 and evaluated in the written order, and the lengths are taken before the page is
//! removed from its ghost list. If pages leave out of turn, or several at once, the lists may not fill memory. The
//! other clock is then examined when one is empty. Each load of a page that is not a ghost trims `B1` while `|T1| +
//! |B1|` is not below `c`, then `B2` while all four lists hold `2c` pages or more. Otherwise this is the listing's
//! rule.
//!
//! **Reference.** S. Bansal, D. S. Modha: CAR: clock with adaptive replacement. FAST 2004.

use alloc::vec;
use alloc::vec::Vec;

use super::{BitDriven, Capabilities, Fault, Inspector, PagePolicy};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::Settings;
use crate::parts::{FrameQueue, GhostLists, has_ghosts};
use crate::{Frame, Frames, HitBits, PageId};

/// Numbers of the ghost lists.
const B1: usize = 0;
const B2: usize = 1;

/// The two clocks, their ghosts and `T1`'s target size.
#[derive(Clone, Debug)]
pub struct Car {
    frames: u32,
    t1: FrameQueue,
    t2: FrameQueue,
    /// `B1` and `B2`.
    ghosts: GhostLists<1, 2>,
    is_in_t2: Vec<bool>,
    p: f64,
    /// The hand of `T1` is used while `T1` has this many pages: at least `p` and 1.
    least_t1: u32,
}

impl Cataloged for Car {
    const DESCRIPTION: Description = Description {
        name: "car",
        summary: "CLOCK with adaptive replacement: recency and frequency, by ghost hits",
        paper: "Bansal, Modha 2004",
        parameters: &[],
        source: include_str!("car.rs"),
    };

    fn build(_: &Settings, size: Size) -> Self {
        Car {
            frames: size.frames,
            t1: FrameQueue::new(),
            t2: FrameQueue::new(),
            ghosts: GhostLists::new(size.pages),
            is_in_t2: vec![false; size.frames as usize],
            p: 0.0,
            least_t1: 1,
        }
    }
}

impl Car {
    #[inline]
    fn prefers_t1(&self) -> bool {
        self.t1.len() >= self.least_t1
    }

    /// The listing's `replace()`, in memory without pinned pages.
    #[inline(always)]
    fn replace<F: Frames>(&mut self, frames: &mut F) -> Frame {
        loop {
            // T2 may be empty, although T1 is small, after pages have left out of turn.
            let from_t1 = self.prefers_t1() || self.t2.len() == 0;
            let clock = if from_t1 { &self.t1 } else { &self.t2 };
            if frames.is_pinned(clock.head()) {
                return self.replace_passing_pinned(frames);
            }
            if let Some(victim) = self.examine_head(from_t1, frames) {
                return victim;
            }
        }
    }

    /// As `replace()`. A pinned page goes to the tail of its own clock; a clock that shows only pinned pages once
    /// around leaves the choice to the other one.
    #[cold]
    fn replace_passing_pinned<F: Frames>(&mut self, frames: &mut F) -> Frame {
        let (mut pinned_in_t1, mut pinned_in_t2) = (0, 0);
        loop {
            let prefers_t1 = self.prefers_t1() && pinned_in_t1 < self.t1.len();
            let from_t1 = prefers_t1 || pinned_in_t2 >= self.t2.len();
            let (clock, pinned) = match from_t1 {
                true => (&mut self.t1, &mut pinned_in_t1),
                false => (&mut self.t2, &mut pinned_in_t2),
            };
            if frames.is_pinned(clock.head()) {
                let frame = clock.pop_head();
                clock.push_tail(frame);
                *pinned += 1;
            } else if let Some(victim) = self.examine_head(from_t1, frames) {
                return victim;
            } else {
                pinned_in_t2 = 0;
            }
        }
    }

    /// The page at the head of a clock leaves it: for `T2` if it has been referenced, else for a ghost list.
    #[inline(always)]
    fn examine_head<F: Frames>(&mut self, from_t1: bool, frames: &mut F) -> Option<Frame> {
        let (clock, ghosts) = if from_t1 { (&mut self.t1, B1) } else { (&mut self.t2, B2) };
        let frame = clock.pop_head();
        if !frames.is_referenced(frame) {
            self.ghosts.push_new(ghosts, frames.page(frame));
            return Some(frame);
        }
        frames.clear_bits(frame);
        self.is_in_t2[frame.index()] = true;
        self.t2.push_tail(frame);
        None
    }

    /// A ghost of this list comes back: `p` moves, and the page goes to `T2`.
    #[inline(never)]
    fn come_back(&mut self, page: PageId, list: usize, frame: Frame) {
        let (len_b1, len_b2) = (f64::from(self.ghosts.len(B1)), f64::from(self.ghosts.len(B2)));
        self.p = match list {
            B1 => (self.p + (len_b2 / len_b1).max(1.0)).min(self.frames.into()),
            _ => (self.p - (len_b1 / len_b2).max(1.0)).max(0.0),
        };
        let whole = self.p as u32;
        self.least_t1 = (whole + u32::from(f64::from(whole) < self.p)).max(1);
        self.ghosts.remove(list, page);
        self.is_in_t2[frame.index()] = true;
        self.t2.push_tail(frame);
    }

    /// Makes room in the lists for a page that is in none of them.
    #[inline(always)]
    fn trim_ghosts(&mut self) {
        let (frames, in_t1) = (u64::from(self.frames), u64::from(self.t1.len()));
        self.ghosts.shrink(B1, (frames - 1).saturating_sub(in_t1));
        let others = in_t1 + u64::from(self.t2.len()) + u64::from(self.ghosts.len(B1));
        self.ghosts.shrink(B2, (2 * frames - 1).saturating_sub(others));
    }
}

impl PagePolicy for Car {
    #[inline(always)]
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        self.replace(frames)
    }

    #[inline(always)]
    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, _: &mut F) {
        if let Some(list) = self.ghosts.list_of(fault.page) {
            return self.come_back(fault.page, list, frame);
        }
        self.trim_ghosts();
        self.is_in_t2[frame.index()] = false;
        self.t1.push_tail(frame);
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
        let clock = if self.is_in_t2[frame.index()] { &mut self.t2 } else { &mut self.t1 };
        clock.remove(frame);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        inspector.ring("T1", &mut self.t1.iter());
        inspector.ring("T2", &mut self.t2.iter());
        inspector.ghosts("B1", &mut self.ghosts.iter(B1));
        inspector.ghosts("B2", &mut self.ghosts.iter(B2));
        inspector.value("p", self.p);
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("p_pages", self.p);
        show("T1_pages", self.t1.len().into());
        show("T2_pages", self.t2.len().into());
        show("B1_ghosts", self.ghosts.len(B1).into());
        show("B2_ghosts", self.ghosts.len(B2).into());
    }

    fn check_invariants<F: Frames>(&self, frames: &F) {
        self.t1.check_invariants();
        self.t2.check_invariants();
        self.ghosts.check_invariants();
        assert!(self.t1.len() + self.t2.len() <= self.frames, "more pages than frames");
        assert!(self.t1.len() + self.ghosts.len(B1) <= self.frames, "T1 and B1 exceed the frames");
        assert!((0.0..=f64::from(self.frames)).contains(&self.p), "p is out of range");
        for frame in self.t1.iter().chain(self.t2.iter()) {
            let page = frames.page(frame);
            assert!(
                !self.ghosts.contains(B1, page) && !self.ghosts.contains(B2, page),
                "a page in memory is a ghost"
            );
        }
    }
}

impl Capabilities for Car {
    has_ghosts!();
}

impl BitDriven for Car {
    const HIT_BITS: HitBits = HitBits::Reference;
}
