//! # CLOCK-Pro: LIRS as a clock
//!
//! **What it keeps.** One clock of *hot* pages, *resident cold* pages and *non-resident cold* pages. Each page
//! in memory has a reference bit. Some cold pages are in their *test period*; every non-resident one is. The
//! target for the number of resident cold pages is `m_c`; `m` is the number of frames, `m_h = m - m_c`. Three
//! hands: `HAND_hot` marks where the clock begins; the *list head*, where pages are put, is the place that it
//! reaches last. Hand `HAND_cold` is at the first resident cold page from `HAND_hot`, and `HAND_test` at the
//! first page in its test period. Shown from `HAND_hot` on: `clock`, all pages of the clock; `hot` and
//! `resident_cold`; `in_test`, the pages in their test period; then `m_c`.
//!
//! **Victim.** `HAND_cold` examines its page, which then is not in its place any more, as many times as needed.
//! With no resident cold page `HAND_hot` first makes one.
//! Bit 0: the page leaves memory; in its test period it keeps its place as a non-resident cold page, else it
//! leaves the clock. Bit 1: the bit is cleared and the page is put at the list head; if it is in its test
//! period, that ends, the page becomes hot, `m_c` grows and `HAND_hot` acts. When a page has become
//! non-resident and there are more than `m` of them, `HAND_test` ends the test period of its page, until
//! there are no more than `m`.
//!
//! The incoming page is hot if it is still in the clock: its old place and test period end, it is put at
//! the list head with bit 0, `m_c` grows and `HAND_hot` acts. Any other page is cold, in its test period, and
//! put at the list head.
//!
//! *`HAND_hot` acts:* while there are more than `m_h` hot pages it makes one cold, without looking at their
//! number again on the way. It examines the page that it is at and moves past it, which puts the page at the
//! list head, until a hot page with bit 0 has become cold, without a test period. A hot page with bit 1 gets
//! bit 0; the test period of a cold page ends. Having made a page cold it moves on, in the same way, past
//! cold pages, until it is at a hot page or none is left.
//!
//! *`m_c` grows* by 1, up to `m`. It shrinks by 1, down to 1, when a hand ends the test period of a page that
//! is non-resident or has bit 0. A non-resident page whose test period ends leaves the clock.
//!
//! **On a write.** Sets the reference bit as a read does; a dirty page is not spared.
//!
//! **Parameters.** `cold_share`: the first `m_c` as a share of the frames, rounded down and at least 1
//! (default 1/100, the share of cold pages in LIRS). With 1, no page stays hot before a test period has
//! ended without a reference.
//!
//! **Cost per hit and per victim.** One OR; constant on average. The pages that `HAND_cold` and `HAND_test`
//! stop at have lists of their own, so that these hands pass over no others. It takes 16 bytes per page of
//! the footprint, 9 per frame and up to 16 per page in its test period.
//!
//! **Deviations from the paper.** The paper leaves open the initial value and the limits of `m_c`. It does not say
//! what happens to a hot page that becomes cold: here it gets no test period, since it has the largest recency.
//! Nor does it say what happens to a bit that is set when a test period ends: here it stays, and `m_c` does not
//! shrink, since there was a reference. A referenced cold page that is not in its test period gets no new one: "no
//! status change". Pinned pages are passed over, by `HAND_cold` in place, by `HAND_hot` to the list head, with
//! their bits untouched and their status kept, except for a test period. If all hot pages are pinned, `HAND_hot`
//! gives up; if all resident cold pages are pinned, or there is none, it makes one more page cold.
//!
//! **Reference.** S. Jiang, F. Chen, X. Zhang: CLOCK-Pro: an effective improvement of the CLOCK replacement.
//! USENIX Annual Technical Conference 2005.

use alloc::vec;
use alloc::vec::Vec;

use super::{BitDriven, Capabilities, Fault, Inspector, PagePolicy, pages_of_share};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Parameter, Settings};
use crate::parts::{FrameList, GhostLists, Links, PageList};
use crate::{Frame, Frames, HitBits, PageId};

/// The clock is a list of pages from `HAND_hot` to the list head. Resident cold pages and pages in their test
/// period have a list each, in the same order: all of them are put at the list head and nowhere else.
#[derive(Clone, Debug)]
pub struct ClockPro {
    frames: u32,
    clock: PageList,
    clock_links: Links<PageId>,
    frame_of_page: Vec<Frame>,
    is_hot: Vec<bool>,
    hot_pages: u32,
    cold: FrameList,
    cold_links: Links,
    /// Its oldest page is the one at `HAND_test`.
    in_test: GhostLists<1, 1>,
    nonresident_pages: u32,
    /// `m_c`.
    cold_target: u32,
}

impl Cataloged for ClockPro {
    const DESCRIPTION: Description = Description {
        name: "clock-pro",
        summary: "LIRS as a clock: pages that come back within their test period are hot",
        paper: "Jiang, Chen, Zhang 2005",
        parameters: &[Parameter::share(
            "cold_share",
            "frames for cold pages at first, as a share of all frames",
            "1/100",
        )],
        source: include_str!("clock_pro.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        ClockPro {
            frames: size.frames,
            clock: PageList::EMPTY,
            clock_links: Links::new(size.pages),
            frame_of_page: vec![Frame::NONE; size.pages as usize],
            is_hot: vec![false; size.frames as usize],
            hot_pages: 0,
            cold: FrameList::EMPTY,
            cold_links: Links::new(size.frames),
            in_test: GhostLists::new(size.pages),
            nonresident_pages: 0,
            cold_target: pages_of_share(settings, "cold_share", size.frames),
        }
    }
}

impl ClockPro {
    fn is_hot(&self, page: PageId) -> bool {
        let frame = self.frame_of_page[page.index()];
        frame != Frame::NONE && self.is_hot[frame.index()]
    }

    /// The page that `HAND_cold` examines, if a resident cold page is not pinned.
    fn at_hand_cold<F: Frames>(&self, frames: &F) -> Option<Frame> {
        self.cold.iter(&self.cold_links).find(|&frame| !frames.is_pinned(frame))
    }

    fn make_hot<F: Frames>(&mut self, frame: Frame, frames: &mut F) {
        self.is_hot[frame.index()] = true;
        self.hot_pages += 1;
        self.cold_target = (self.cold_target + 1).min(self.frames);
        while self.hot_pages > self.frames - self.cold_target {
            if !self.run_hand_hot(frames) {
                return;
            }
        }
    }

    /// Makes the next hot page with bit 0 cold; says whether there was one that is not pinned.
    fn run_hand_hot<F: Frames>(&mut self, frames: &mut F) -> bool {
        let mut pinned = 0;
        while pinned < self.hot_pages {
            let page = self.clock.head();
            if !self.is_hot(page) {
                self.pass_cold(page, frames);
                continue;
            }
            let frame = self.frame_of_page[page.index()];
            self.clock.move_to_tail(&mut self.clock_links, page);
            if frames.is_pinned(frame) {
                pinned += 1;
            } else if frames.is_referenced(frame) {
                frames.clear_bits(frame);
                pinned = 0;
            } else {
                self.is_hot[frame.index()] = false;
                self.hot_pages -= 1;
                self.cold.push_tail(&mut self.cold_links, frame);
                self.stop_at_hot_page(frames);
                return true;
            }
        }
        false
    }

    fn stop_at_hot_page<F: Frames>(&mut self, frames: &F) {
        while self.hot_pages > 0 && !self.is_hot(self.clock.head()) {
            self.pass_cold(self.clock.head(), frames);
        }
    }

    /// `HAND_hot` moves over the cold page that it is at.
    fn pass_cold<F: Frames>(&mut self, page: PageId, frames: &F) {
        let frame = self.frame_of_page[page.index()];
        if frame != Frame::NONE {
            self.clock.move_to_tail(&mut self.clock_links, page);
            self.cold.move_to_tail(&mut self.cold_links, frame);
        }
        if self.in_test.contains(0, page) {
            self.end_test(page, frames);
        }
    }

    /// A test period passes; a non-resident page leaves the clock.
    fn end_test<F: Frames>(&mut self, page: PageId, frames: &F) {
        self.in_test.remove(0, page);
        let frame = self.frame_of_page[page.index()];
        if frame == Frame::NONE {
            self.clock.remove(&mut self.clock_links, page);
            self.nonresident_pages -= 1;
        }
        if frame == Frame::NONE || !frames.is_referenced(frame) {
            self.cold_target = (self.cold_target - 1).max(1);
        }
    }

    fn evict<F: Frames>(&mut self, frame: Frame, frames: &F) {
        let page = frames.page(frame);
        self.cold.remove(&mut self.cold_links, frame);
        self.frame_of_page[page.index()] = Frame::NONE;
        if !self.in_test.contains(0, page) {
            self.clock.remove(&mut self.clock_links, page);
            return;
        }
        self.nonresident_pages += 1;
        while self.nonresident_pages > self.frames {
            let at_hand_test = self.in_test.oldest(0).expect("non-resident pages are in test");
            self.end_test(at_hand_test, frames);
        }
    }
}

impl PagePolicy for ClockPro {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        loop {
            let Some(frame) = self.at_hand_cold(frames) else {
                let made_cold = self.run_hand_hot(frames);
                assert!(made_cold, "a frame is not pinned");
                continue;
            };
            if !frames.is_referenced(frame) {
                self.evict(frame, frames);
                return frame;
            }
            frames.clear_bits(frame);
            let page = frames.page(frame);
            self.clock.move_to_tail(&mut self.clock_links, page);
            if self.in_test.remove(0, page) {
                self.cold.remove(&mut self.cold_links, frame);
                self.make_hot(frame, frames);
            } else {
                self.cold.move_to_tail(&mut self.cold_links, frame);
            }
        }
    }

    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, frames: &mut F) {
        let page = fault.page;
        let comes_back = self.in_test.remove(0, page);
        if comes_back {
            self.clock.remove(&mut self.clock_links, page);
            self.nonresident_pages -= 1;
        }
        self.frame_of_page[page.index()] = frame;
        self.clock.push_tail(&mut self.clock_links, page);
        if comes_back {
            self.make_hot(frame, frames);
        } else {
            self.is_hot[frame.index()] = false;
            self.in_test.push(0, page);
            self.cold.push_tail(&mut self.cold_links, frame);
        }
    }

    /// A page that leaves out of turn leaves the clock too; its test period, if it is in one, ends without a word.
    fn dropped<F: Frames>(&mut self, frame: Frame, frames: &F) {
        let page = frames.page(frame);
        if self.is_hot[frame.index()] {
            self.hot_pages -= 1;
        } else {
            self.cold.remove(&mut self.cold_links, frame);
        }
        self.in_test.remove(0, page);
        self.clock.remove(&mut self.clock_links, page);
        self.frame_of_page[page.index()] = Frame::NONE;
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        inspector.ghosts("clock", &mut self.clock.iter(&self.clock_links));
        let hot = self.clock.iter(&self.clock_links).filter(|&page| self.is_hot(page));
        inspector.list("hot", &mut hot.map(|page| self.frame_of_page[page.index()]));
        inspector.list("resident_cold", &mut self.cold.iter(&self.cold_links));
        inspector.ghosts("in_test", &mut self.in_test.iter(0));
        inspector.value("m_c", self.cold_target.into());
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("cold_target_pages", self.cold_target.into());
    }

    fn check_invariants<F: Frames>(&self, frames: &F) {
        self.clock.check_invariants(&self.clock_links);
        self.cold.check_invariants(&self.cold_links);
        self.in_test.check_invariants();
        assert!((1..=self.frames).contains(&self.cold_target), "m_c is out of range");
        assert!(self.nonresident_pages <= self.frames, "too many non-resident pages");
        let (mut hot, mut nonresident) = (0, 0);
        let mut cold = self.cold.iter(&self.cold_links);
        let mut in_test = self.in_test.iter(0);
        for page in self.clock.iter(&self.clock_links) {
            let frame = self.frame_of_page[page.index()];
            if self.in_test.contains(0, page) {
                assert_eq!(in_test.next(), Some(page), "the order of the pages in test");
            } else {
                assert_ne!(frame, Frame::NONE, "a non-resident page is not in test");
            }
            match frame {
                Frame::NONE => nonresident += 1,
                frame if self.is_hot[frame.index()] => {
                    assert!(!self.in_test.contains(0, page), "a hot page is in test");
                    hot += 1;
                }
                frame => assert_eq!(cold.next(), Some(frame), "the order of the cold pages"),
            }
            if frame != Frame::NONE {
                assert_eq!(frames.page(frame), page, "a page's frame is wrong");
            }
        }
        assert_eq!(
            (cold.next(), in_test.next()),
            (None, None),
            "a listed page is not in the clock"
        );
        assert_eq!((hot, nonresident), (self.hot_pages, self.nonresident_pages), "the counts");
    }
}

impl Capabilities for ClockPro {
    const TAKES_MORE_PAGES: bool = true;

    fn take_more_pages(&mut self, pages: u32) {
        self.clock_links.grow_to(PageId(pages - 1));
        self.frame_of_page.resize(pages as usize, Frame::NONE);
        self.in_test.take_more(pages);
    }
}

impl BitDriven for ClockPro {
    const HIT_BITS: HitBits = HitBits::Reference;
}

#[cfg(test)]
mod tests {
    use crate::worked_examples::run;

    #[test]
    fn a_page_that_comes_back_in_its_test_period_is_hot() {
        // m_c begins at 1. 1 leaves in its test period and comes back for 2: hot, and m_c is 2.
        let after = run("clock-pro:cold_share=0", 3, "R1 W2 R3 R4 R1");
        assert_eq!(after.evicted, "1 2*");
        assert_eq!(
            after.state,
            "clock=[2 3 4 1] hot=[1] resident_cold=[3 4] in_test=[2 3 4] m_c=2"
        );
        // 2 comes back for 3: hot, m_c is 3, so that none may be hot. HAND_hot ends the test periods of 3, which
        // leaves the clock, and 4, so that m_c is 1 and 2 pages may be hot again; but then it is at work.
        let after = run("clock-pro:cold_share=0", 3, "R1 W2 R3 R4 R1 R2");
        assert_eq!(after.evicted, "1 2* 3");
        assert_eq!(after.state, "clock=[2 4 1] hot=[2] resident_cold=[4 1] in_test=[] m_c=1");
    }

    #[test]
    fn a_referenced_cold_page_in_its_test_period_becomes_hot_and_others_stay_cold() {
        // HAND_cold clears 1, hot now with m_c 2, and takes 2.
        let after = run("clock-pro", 3, "R1 R2 R3 R1 R4");
        assert_eq!(after.evicted, "2");
        assert_eq!(
            after.state,
            "clock=[2 3 1 4] hot=[1] resident_cold=[3 4] in_test=[2 3 4] m_c=2"
        );
    }

    #[test]
    fn hand_cold_is_at_the_furthest_page_from_the_list_head_wherever_it_was() {
        // HAND_cold clears 1, which is hot then, and takes 2 and 3. It is at 4 now. Page 2 comes back and is hot.
        // HAND_hot makes 1 cold and moves past 4, so 1 is further from the list head.
        let after = run("clock-pro", 3, "R1 R1 R2 R3 R4 R2");
        let moved = run("clock-pro", 3, "R1 R1 R2 R3 R4 R2 R3");
        assert_eq!((after.evicted.as_str(), moved.evicted.as_str()), ("2 3", "2 3 1"));
        assert_eq!(after.state, "clock=[2 1 4] hot=[2] resident_cold=[1 4] in_test=[] m_c=1");
        assert_eq!(moved.state, "clock=[2 4 3] hot=[2] resident_cold=[4 3] in_test=[3] m_c=1");
    }

    #[test]
    fn too_many_non_resident_pages_end_the_oldest_test_period() {
        let after = run("clock-pro:cold_share=1", 2, "R1 R2 R3 R4 R5");
        assert_eq!(after.evicted, "1 2 3");
        assert_eq!(
            after.state,
            "clock=[2 3 4 5] hot=[] resident_cold=[4 5] in_test=[2 3 4 5] m_c=1"
        );
    }
}
