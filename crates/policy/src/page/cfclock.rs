//! # CFCLOCK: clean-first CLOCK
//!
//! **What it keeps.** A ring of all pages, a hand, a reference bit per page, and a window of `w` pages counted
//! from the hand.
//!
//! **Victim.** Step 1: the first clean page with reference bit 0 in the window. Step 2: else the first page
//! with reference bit 0 in the window, which is dirty. Step 3: else a CLOCK scan from the page after the
//! window, which clears reference bits until it finds one that is 0. The hand then moves behind the victim.
//!
//! **On a write.** Sets the reference bit as a read does; a dirty page is kept before a clean one.
//!
//! **Parameters.**
//!
//! * `window_share`: the window as a share of all frames, rounded down (default 1/3); or
//!   `window_pages`: the window in pages.
//!
//! * `clear_passed`: whether every page that the hand passes over, from its old place up to the
//!   victim, gets reference bit 0 (default true). With `false` nothing is cleared in steps 1 and 2,
//!   nor in the window before the scan of step 3.
//!
//! **Cost per hit and per victim.** One OR; constant per page that the hand passes. The search for a clean
//! page does not examine again the pages that it has ruled out.
//!
//! If pages leave out of turn, the window is at most the pages in memory.
//!
//! **Deviations from the paper.** The paper describes CFCLOCK in prose and does not say when reference bits
//! are cleared, the most consequential choice of all: on real traces `clear_passed=false` costs up to twice
//! the I/O time. The default is the only choice under which CFCLOCK equals CLOCK for a window of 0 or 1, on
//! read-only and on write-only traces.
//!
//! **Reference.** H. Lee, H. Bahn, K. G. Shin: Page replacement for write references in NAND flash based
//! virtual memory systems. JCSE 8(3), 2014, section V.

use core::ops::Range;

use super::cflru::{WINDOW_PARAMETERS, window_pages};
use super::{BitDriven, Capabilities, Fault, Inspector, PagePolicy};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::parts::{FrameRing, LinkedRing, next_position};
use crate::{Frame, Frames, HitBits};

/// The pages in the order in which the hand reaches them, and the window.
#[derive(Clone, Debug)]
pub struct Cfclock {
    order: Order,
    window: Window,
}

/// In place as long as each page that leaves makes room for the next one that comes.
#[derive(Clone, Debug)]
enum Order {
    InPlace(InPlace),
    Linked(Linked),
}

#[derive(Clone, Copy, Debug)]
struct Window {
    pages: u32,
    clear_passed: bool,
}

/// The ring is the frames themselves, as in CLOCK. Steps of the hand are counted from the start of time, so
/// that a place ahead of the hand keeps its number while the hand moves; step `n` is frame `n mod frames`.
#[derive(Clone, Debug)]
struct InPlace {
    ring: FrameRing,
    /// The step of the page under the hand.
    hand_step: u64,
    /// No clean, unreferenced page stands from the hand up to this step. Such a page can appear ahead of
    /// the hand only by a write-back without eviction or by unpinning.
    ruled_out_step: u64,
}

/// The pages in any frames.
#[derive(Clone, Debug)]
struct Linked {
    ring: LinkedRing,
    /// This many pages from the hand on are not clean and unreferenced, as in [`InPlace`].
    ruled_out: u32,
    /// The last of them.
    last_ruled_out: Frame,
    /// The victim, until the next page comes.
    leaving: Frame,
}

impl Cataloged for Cfclock {
    const DESCRIPTION: Description = Description {
        name: "cfclock",
        summary: "CLOCK that evicts a clean page first within a window from the hand",
        paper: "Lee, Bahn, Shin 2014",
        parameters: &[
            WINDOW_PARAMETERS[0],
            WINDOW_PARAMETERS[1],
            Parameter {
                name: "clear_passed",
                summary: "whether pages that the hand passes over lose their reference bit",
                domain: Domain::Flag,
                default: Default::Value("true"),
                only_with: None,
            },
        ],
        source: include_str!("cfclock.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        let ring = FrameRing::new(size.frames);
        let window = Window {
            pages: window_pages(settings, size.frames),
            clear_passed: settings.flag("clear_passed"),
        };
        Cfclock { order: Order::InPlace(InPlace { ring, hand_step: 0, ruled_out_step: 0 }), window }
    }
}

impl InPlace {
    /// The frame of a step that is not behind the hand.
    fn position_of(&self, step: u64) -> u32 {
        let mut position = u64::from(self.ring.hand()) + (step - self.hand_step);
        while position >= u64::from(self.ring.frames()) {
            position -= u64::from(self.ring.frames());
        }
        position as u32
    }

    /// The steps from `start`, which is not behind the hand, with their frames.
    fn steps_from(&self, start: u64) -> impl Iterator<Item = (u64, Frame)> + use<> {
        let frames = self.ring.frames();
        let mut position = self.position_of(start);
        (start..).map(move |step| {
            let frame = Frame(position);
            position = next_position(position, frames);
            (step, frame)
        })
    }

    /// The frames from step `start` up to `end`, at most once around the ring, as the stretch before the
    /// ring's last frame and the one behind it.
    fn stretches(&self, start: u64, end: u64) -> [Range<u32>; 2] {
        let pages = end.saturating_sub(start) as u32;
        let first = self.position_of(start);
        let before_end = pages.min(self.ring.frames() - first);
        [first..first + before_end, 0..pages - before_end]
    }

    /// Step 1.
    fn clean_in_window<F: Frames>(&mut self, window_end: u64, frames: &F) -> Option<u64> {
        let start = self.ruled_out_step.max(self.hand_step);
        let mut first_pinned = None;
        let mut passed = start;
        for mut stretch in self.stretches(start, window_end) {
            while let Some(frame) = frames.first_clean_unreferenced(stretch.clone()) {
                let step = passed + u64::from(frame.0 - stretch.start);
                if !frames.is_pinned(frame) {
                    self.ruled_out_step = first_pinned.unwrap_or(step);
                    return Some(step);
                }
                first_pinned = first_pinned.or(Some(step));
                passed = step + 1;
                stretch.start = frame.0 + 1;
            }
            passed += u64::from(stretch.end - stretch.start);
        }
        self.ruled_out_step = first_pinned.unwrap_or(passed);
        None
    }

    /// Step 2.
    fn unreferenced_in_window<F: Frames>(&self, window_end: u64, frames: &F) -> Option<u64> {
        let pages = (window_end - self.hand_step) as usize;
        self.steps_from(self.hand_step)
            .take(pages)
            .find(|&(_, frame)| !frames.is_referenced(frame) && !frames.is_pinned(frame))
            .map(|(step, _)| step)
    }

    /// As [`InPlace::unreferenced_in_window`]; the pages before it lose their bits, all of them if there is none.
    fn unreferenced_in_window_clearing<F: Frames>(
        &self,
        window_end: u64,
        frames: &mut F,
    ) -> Option<u64> {
        let mut passed = self.hand_step;
        for stretch in self.stretches(self.hand_step, window_end) {
            if let Some(frame) = frames.first_unreferenced_clearing(stretch.clone()) {
                return Some(passed + u64::from(frame.0 - stretch.start));
            }
            passed += u64::from(stretch.end - stretch.start);
        }
        None
    }

    /// Step 3.
    fn scan_from<F: Frames>(&self, start: u64, frames: &mut F) -> u64 {
        let mut steps = self.steps_from(start);
        loop {
            let (step, frame) = steps.next().expect("the ring has no end");
            if frames.is_unreferenced_clearing(frame) {
                return step;
            }
        }
    }

    fn clear_from_hand<F: Frames>(&self, end: u64, frames: &mut F) {
        for stretch in self.stretches(self.hand_step, end) {
            frames.clear_bits_of_unpinned(stretch);
        }
    }

    /// The ordinary case: step 1 finds a page before the last frame, and none is ruled out. Otherwise what has been looked
    /// at is ruled out.
    #[inline(always)]
    fn choose_near<F: Frames>(&mut self, window: Window, frames: &mut F) -> Option<Frame> {
        let hand = self.ring.hand();
        if self.ruled_out_step > self.hand_step {
            return None;
        }
        let end = (hand + window.pages).min(self.ring.frames());
        if window.clear_passed
            && let Some(victim) = frames.near_clean_clearing(hand..end)
        {
            self.hand_step += u64::from(victim.0 - hand) + 1;
            self.ring.take_and_stand_behind(victim);
            return Some(victim);
        }
        let found = frames.first_clean_unreferenced(hand..end);
        let passed = found.map_or(end, |frame| frame.0) - hand;
        self.ruled_out_step = self.hand_step + u64::from(passed);
        let victim = found.filter(|&frame| !frames.is_pinned(frame))?;
        if window.clear_passed {
            frames.clear_bits_of_unpinned(hand..victim.0);
        }
        self.hand_step = self.ruled_out_step + 1;
        self.ring.take_and_stand_behind(victim);
        Some(victim)
    }

    #[inline(never)]
    fn choose<F: Frames>(&mut self, window: Window, frames: &mut F) -> Frame {
        let window_end = self.hand_step + u64::from(window.pages);
        let in_window = match (self.clean_in_window(window_end, frames), window.clear_passed) {
            (Some(clean), true) => {
                self.clear_from_hand(clean, frames);
                Some(clean)
            }
            (None, true) => self.unreferenced_in_window_clearing(window_end, frames),
            (clean, false) => clean.or_else(|| self.unreferenced_in_window(window_end, frames)),
        };
        let victim_step = in_window.unwrap_or_else(|| self.scan_from(window_end, frames));
        let victim = Frame(self.position_of(victim_step));
        self.hand_step = victim_step + 1;
        self.ring.take_and_stand_behind(victim);
        victim
    }

    fn check_invariants<F: Frames>(&self, frames: &F) {
        let len = u64::from(self.ring.frames());
        assert_eq!(u64::from(self.ring.hand()), self.hand_step % len, "the hand");
        let ruled_out_end = self.ruled_out_step.min(self.hand_step + len);
        let ruled_out = self.stretches(self.hand_step, ruled_out_end).into_iter().flatten();
        assert!(!ruled_out.map(Frame).any(|frame| is_first_choice(frame, frames)), "{RULED_OUT}");
    }
}

const RULED_OUT: &str = "a clean, unreferenced page is ruled out";

fn is_first_choice<F: Frames>(frame: Frame, frames: &F) -> bool {
    !frames.is_referenced(frame) && !frames.is_dirty(frame)
}

impl Linked {
    /// Step 1.
    fn clean_in_window<F: Frames>(&mut self, window_pages: u32, frames: &F) -> Option<Frame> {
        let mut frame = match self.ruled_out {
            0 => self.ring.under_hand(),
            _ => self.ring.next(self.last_ruled_out),
        };
        let mut met_pinned = false;
        for _ in self.ruled_out..window_pages {
            if is_first_choice(frame, frames) {
                if !frames.is_pinned(frame) {
                    return Some(frame);
                }
                met_pinned = true;
            }
            if !met_pinned {
                self.ruled_out += 1;
                self.last_ruled_out = frame;
            }
            frame = self.ring.next(frame);
        }
        None
    }

    /// Step 3, from the page after the window.
    fn scan<F: Frames>(&mut self, window_pages: u32, frames: &mut F) -> Frame {
        let mut frame = self.ring.iter().nth(window_pages as usize);
        loop {
            let examined = frame.unwrap_or_else(|| self.ring.under_hand());
            if frames.is_unreferenced_clearing(examined) {
                return examined;
            }
            frame = Some(self.ring.next(examined));
        }
    }

    fn clear_passed<F: Frames>(&self, victim: Frame, window_pages: u32, frames: &mut F) {
        let in_window = self.ring.iter().take(window_pages as usize);
        for frame in in_window.take_while(|&frame| frame != victim) {
            if !frames.is_pinned(frame) {
                frames.clear_bits(frame);
            }
        }
    }

    fn choose<F: Frames>(&mut self, window: Window, frames: &mut F) -> Frame {
        let window_pages = window.pages.min(self.ring.len());
        let clean = self.clean_in_window(window_pages, frames);
        let in_window = clean.or_else(|| {
            let mut pages = self.ring.iter().take(window_pages as usize);
            pages.find(|&frame| !frames.is_referenced(frame) && !frames.is_pinned(frame))
        });
        if window.clear_passed {
            self.clear_passed(in_window.unwrap_or(Frame::NONE), window_pages, frames);
        }
        // Only a victim of step 2 can leave pages ahead of the hand that are ruled out.
        let passed = match in_window {
            Some(victim) if clean.is_none() => {
                1 + self.ring.iter().take_while(|&frame| frame != victim).count() as u32
            }
            _ => self.ruled_out,
        };
        self.ruled_out = self.ruled_out.saturating_sub(passed);
        let victim = in_window.unwrap_or_else(|| self.scan(window_pages, frames));
        self.ring.take_and_stand_behind(victim);
        self.leaving = victim;
        victim
    }

    fn check_invariants<F: Frames>(&self, frames: &F) {
        self.ring.check_invariants();
        let mut ruled_out = self.ring.iter().take(self.ruled_out as usize);
        assert!(!ruled_out.any(|frame| is_first_choice(frame, frames)), "{RULED_OUT}");
    }
}

impl Cfclock {
    #[cold]
    fn link(&mut self) {
        if let Order::InPlace(InPlace { ring, .. }) = &self.order {
            self.order = Order::Linked(Linked {
                ring: LinkedRing::of(ring.iter(), ring.frames()),
                ruled_out: 0,
                last_ruled_out: Frame::NONE,
                leaving: Frame::NONE,
            });
        }
    }
}

impl PagePolicy for Cfclock {
    #[inline(always)]
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        if let Order::InPlace(in_place) = &self.order
            && !in_place.ring.is_whole()
        {
            self.link();
        }
        match &mut self.order {
            Order::InPlace(in_place) => match in_place.choose_near(self.window, frames) {
                Some(victim) => victim,
                None => in_place.choose(self.window, frames),
            },
            Order::Linked(linked) => linked.choose(self.window, frames),
        }
    }

    fn loaded<F: Frames>(&mut self, _: Fault, frame: Frame, _: &mut F) {
        match &mut self.order {
            Order::InPlace(in_place) => in_place.ring.load(),
            Order::Linked(linked) => {
                linked.ring.push_tail(frame);
                linked.leaving = Frame::NONE;
            }
        }
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.link();
        if let Order::Linked(linked) = &mut self.order {
            linked.ring.remove(frame);
            linked.ruled_out = 0;
        }
    }

    fn written_back<F: Frames>(&mut self, frame: Frame, _: &F) {
        match &mut self.order {
            Order::InPlace(in_place) => {
                let behind = next_position(frame.0, in_place.ring.frames());
                let is_victim = behind == in_place.ring.hand();
                if !is_victim {
                    in_place.ruled_out_step = in_place.hand_step;
                }
            }
            Order::Linked(linked) if linked.leaving != frame => linked.ruled_out = 0,
            Order::Linked(_) => {}
        }
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        match &self.order {
            Order::InPlace(in_place) => inspector.ring("from_hand", &mut in_place.ring.iter()),
            Order::Linked(linked) => inspector.ring("from_hand", &mut linked.ring.iter()),
        }
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("window_pages", self.window.pages.into());
    }

    fn check_invariants<F: Frames>(&self, frames: &F) {
        match &self.order {
            Order::InPlace(in_place) => in_place.check_invariants(frames),
            Order::Linked(linked) => linked.check_invariants(frames),
        }
    }
}

impl Capabilities for Cfclock {
    const MINDS_LAST_WRITE_BACK: bool = false;
    const TAKES_MORE_PAGES: bool = true;
}

impl BitDriven for Cfclock {
    const HIT_BITS: HitBits = HitBits::Reference;
}
