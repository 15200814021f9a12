//! # W-TinyLFU: a window before a cache that admits by frequency
//!
//! **What it keeps.** The *window* is an LRU list of the most recently loaded pages. The *main* cache has two
//! LRU lists: *probation*, and *protected* for pages that were hit in probation. A sketch counts recent
//! references to pages, in memory or not. Shown: `window`, `probation` and `protected` from the LRU end, and
//! `additions`, the references that the sketch has in its sample.
//!
//! **Victim.** The candidate is the LRU page of the window, its rival the LRU page of probation, or of
//! protected if probation is empty. If the sketch has a larger count for the candidate, the rival leaves and
//! the candidate goes to the MRU end of probation; else the candidate leaves. Without a rival the candidate
//! leaves.
//!
//! The incoming page goes to the MRU end of the window. While the window has more pages than its size, its LRU page
//! goes to the MRU end of probation. A hit in the window or in protected moves the page to the MRU end. A hit in
//! probation moves it to the MRU end of protected. If protected then has more pages than its size, its LRU page goes to
//! the MRU end of probation.
//!
//! *The sketch* has four rows of `w` counters from 0 to 15, where `w` is four times the smallest power of two
//! that is not below the number of frames, and at least 16. A page's counter in row `i` (1 to 4) is the
//! number `h mod w`. There `h` is the `i`-th output of SplitMix64 (see `random`) seeded with the page's rank
//! among the pages of the trace, from 0, in the order of stream and address. The seed is not the address. A
//! page's count is the smallest of its four counters. Each reference is an addition: it adds 1 to those of
//! the four that are below 15, before anything else on a hit and after everything else on a fault; reading a
//! page ahead is not a reference. After `sample_factor * S` additions (`S` frames) all counters are halved,
//! rounded down, and half of that number of additions, rounded down, counts as made already.
//!
//! **On a write.** As on a read; a dirty page is not spared.
//!
//! **Parameters.**
//!
//! * `window_share`: the window as a share of the frames, rounded down and at least 1 page (default
//!   1/100).
//!
//! * `protected_share`: the protected list as a share of the rest, rounded down (default 4/5).
//!
//! * `sample_factor`: references after which the sketch is aged, per frame (default 10).
//!
//! * `doorkeeper`: whether there is a Bloom filter of one bit beside each counter (default false).
//!   If one of a page's four bits is 0, a reference sets them and adds to no counter, but is an
//!   addition too. A page whose four bits are 1 counts one more. Ageing clears all bits.
//!
//! **Cost per hit and per victim.** Four counters and one list move; constant on average. 8 to 16 bytes per
//! frame for the sketch.
//!
//! **Deviations from the paper.** The paper has a doorkeeper, and the Caffeine library by the same authors has
//! none; it is an option here. The paper compares after adding the faulting reference; here it is added after
//! the victim has been chosen. Pinned pages are passed over and keep their places; if the whole window is
//! pinned, the rival leaves.
//!
//! **Reference.** G. Einziger, R. Friedman, B. Manes: TinyLFU: a highly efficient cache admission policy. ACM
//! Transactions on Storage 13(4), 2017.

use alloc::vec;
use alloc::vec::Vec;

use super::{
    AccessDriven, Capabilities, Fault, Inspector, PagePolicy, first_unpinned, pages_of_share,
};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::parts::{FrameList, FrequencySketch, Links};
use crate::{Frame, Frames, Op};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Segment {
    Window,
    Probation,
    Protected,
}

const SEGMENTS: [(Segment, &str); 3] = [
    (Segment::Window, "window"),
    (Segment::Probation, "probation"),
    (Segment::Protected, "protected"),
];

/// The three lists share their links: a page is in one of them.
#[derive(Clone, Debug)]
pub struct WTinyLfu {
    window_pages: u32,
    protected_pages: u32,
    links: Links,
    lists: [FrameList; 3],
    segment: Vec<Segment>,
    sketch: FrequencySketch,
}

impl Cataloged for WTinyLfu {
    const DESCRIPTION: Description = Description {
        name: "w-tinylfu",
        summary: "new pages pass a window and then compete by frequency with the main cache",
        paper: "Einziger, Friedman, Manes 2017",
        parameters: &[
            Parameter::share("window_share", "the window as a share of all frames", "1/100"),
            Parameter::share(
                "protected_share",
                "the protected segment as a share of the main cache",
                "4/5",
            ),
            Parameter {
                name: "sample_factor",
                summary: "references per frame after which the sketch is aged",
                domain: Domain::Count { min: 1, max: u32::MAX as u64 },
                default: Default::Value("10"),
                only_with: None,
            },
            Parameter {
                name: "doorkeeper",
                summary: "whether a Bloom filter takes first references in place of the sketch",
                domain: Domain::Flag,
                default: Default::Value("false"),
                only_with: None,
            },
        ],
        source: include_str!("w_tinylfu.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        let window_pages = pages_of_share(settings, "window_share", size.frames);
        let protected_share = settings.ratio("protected_share").expect("a share has a default");
        let main_pages = size.frames - window_pages;
        let sample_factor = settings.count("sample_factor").expect("it has a default");
        let sample = sample_factor * u64::from(size.frames);
        WTinyLfu {
            window_pages,
            protected_pages: protected_share.floor_of(main_pages) as u32,
            links: Links::new(size.frames),
            lists: [FrameList::EMPTY; 3],
            segment: vec![Segment::Window; size.frames as usize],
            sketch: FrequencySketch::new(size.frames, sample, settings.flag("doorkeeper")),
        }
    }
}

impl WTinyLfu {
    fn list(&self, segment: Segment) -> &FrameList {
        &self.lists[segment as usize]
    }

    fn push(&mut self, segment: Segment, frame: Frame) {
        self.lists[segment as usize].push_tail(&mut self.links, frame);
        self.segment[frame.index()] = segment;
    }

    fn remove(&mut self, frame: Frame) {
        let segment = self.segment[frame.index()];
        self.lists[segment as usize].remove(&mut self.links, frame);
    }

    fn move_to(&mut self, segment: Segment, frame: Frame) {
        self.remove(frame);
        self.push(segment, frame);
    }

    fn least_recent<F: Frames>(&self, segment: Segment, frames: &F) -> Option<Frame> {
        first_unpinned(self.list(segment), &self.links, frames)
    }
}

impl PagePolicy for WTinyLfu {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        let candidate = self.least_recent(Segment::Window, frames);
        let rival = self.least_recent(Segment::Probation, frames);
        let rival = rival.or_else(|| self.least_recent(Segment::Protected, frames));
        let count = |frame| self.sketch.estimate(frames.page(frame));
        let victim = match (candidate, rival) {
            (Some(candidate), Some(rival)) if count(candidate) > count(rival) => {
                self.move_to(Segment::Probation, candidate);
                rival
            }
            (candidate, rival) => candidate.or(rival).expect("a frame is not pinned"),
        };
        self.remove(victim);
        victim
    }

    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, _: &mut F) {
        self.push(Segment::Window, frame);
        while self.list(Segment::Window).len() > self.window_pages {
            self.move_to(Segment::Probation, self.list(Segment::Window).head());
        }
        if !fault.is_ahead() {
            self.sketch.add(fault.page);
        }
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.remove(frame);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        for (segment, name) in SEGMENTS {
            inspector.list(name, &mut self.list(segment).iter(&self.links));
        }
        inspector.value("additions", self.sketch.additions() as f64);
    }

    fn check_invariants<F: Frames>(&self, _: &F) {
        for (segment, _) in SEGMENTS {
            self.list(segment).check_invariants(&self.links);
            for frame in self.list(segment).iter(&self.links) {
                assert_eq!(self.segment[frame.index()], segment, "a page is in another segment");
            }
        }
        assert!(self.list(Segment::Window).len() <= self.window_pages, "the window is too large");
        let protected = self.list(Segment::Protected).len();
        assert!(protected <= self.protected_pages, "too many pages are protected");
        self.sketch.check_invariants();
    }
}

impl Capabilities for WTinyLfu {
    const PAGE_NUMBERS_MATTER: bool = true;
}

impl AccessDriven for WTinyLfu {
    const COUNTS_REFERENCES: bool = true;

    fn hit<F: Frames>(&mut self, _: Op, frame: Frame, frames: &F) {
        self.sketch.add(frames.page(frame));
        let segment = self.segment[frame.index()];
        if segment == Segment::Window {
            self.lists[segment as usize].move_to_tail(&mut self.links, frame);
            return;
        }
        self.move_to(Segment::Protected, frame);
        if self.list(Segment::Protected).len() > self.protected_pages {
            self.move_to(Segment::Probation, self.list(Segment::Protected).head());
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::worked_examples::run;

    /// Four frames: a window of 1, protected of 2. No counter is shared by these pages.
    #[test]
    fn the_page_that_leaves_the_window_stays_only_if_it_was_referenced_more() {
        // 1 to 3 go on to probation, 1 and 2 are hit there. 4 in the window and 3 have one reference each: 4
        // leaves. 5, hit twice, beats 3 and stays.
        let after = run("w-tinylfu", 4, "R1 R2 W3 R4 R1 R2 R5 R5 R6");
        assert_eq!(after.evicted, "4 3*");
        assert_eq!(after.state, "window=[6] probation=[5] protected=[1 2] additions=9");
    }

    #[test]
    fn a_full_protected_segment_gives_its_oldest_page_back_to_probation() {
        let after = run("w-tinylfu", 4, "R1 R2 R3 R4 R1 R2 R3");
        assert_eq!(after.state, "window=[4] probation=[1] protected=[2 3] additions=7");
    }

    #[test]
    fn ageing_lets_old_references_fade() {
        // With a sample of 8 references, 1 and 2 count 4 and 2 when 3 comes, and half of it afterwards.
        let after = run("w-tinylfu:sample_factor=4", 2, "R1 R1 R1 R1 R2 R2 R3 R3");
        assert_eq!(after.evicted, "2");
        assert_eq!(after.state, "window=[3] probation=[1] protected=[] additions=4");
        // 1 counts 2 and 3, halved from 2 and hit twice since, 3: 3 stays and 1 leaves.
        let after = run("w-tinylfu:sample_factor=4", 2, "R1 R1 R1 R1 R2 R2 R3 R3 R3 R3 R4");
        assert_eq!(after.evicted, "2 1");
        assert_eq!(after.state, "window=[4] probation=[3] protected=[] additions=7");
    }
}
