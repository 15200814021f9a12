//! # CFCLOCK: clean-first CLOCK
//!
//! **What it keeps.** A ring of all pages, a hand, a reference bit per page, and a window of `w` pages counted
//! from the hand.
//!
//! **Victim.** Step 1: the first clean page with reference bit 0 in the window. Step 2: else the first page
//! with reference bit 0 in the window, which is dirty. Step 3: else a CLOCK scan from the page after the
//! window, which clears reference bits until it finds one that is 0. The hand then stands behind the victim.
//!
//! **On a write.** Sets the reference bit as a read does; a dirty page is kept before a clean one.
//!
//! **Parameters.** `window_share`: the window as a share of all frames, rounded down (default 1/3); or
//! `window_pages`. `clear_passed`: whether every page that the hand passes over, from its old place up to the
//! victim, gets reference bit 0 (default true); with `false` nothing is cleared in steps 1 and 2, nor in
//! the window before the scan of step 3.
//!
//! **Cost per hit and per victim.** One OR; constant per page that the hand passes. The search for a clean
//! page does not look again at pages that it has ruled out.
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
use super::{BitDriven, Fault, Inspector, PagePolicy, ring_from, ring_next};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::{Frame, Frames, HitBits};

/// The ring is the frames themselves, as in CLOCK. Steps of the hand are counted from the start of time, so
/// that a place ahead of the hand keeps its number while the hand moves; step `n` is frame `n mod frames`.
#[derive(Clone, Debug)]
pub struct Cfclock {
    hand_step: u64,
    /// The frame of `hand_step`, so that no step needs a division.
    hand: u32,
    /// No clean, unreferenced page stands from the hand up to this step. Such a page can appear ahead of
    /// the hand only by a write-back without eviction or by unpinning.
    ruled_out_step: u64,
    frames: u32,
    loaded: u32,
    window_pages: u32,
    clear_passed: bool,
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
        Cfclock {
            hand_step: 0,
            hand: 0,
            ruled_out_step: 0,
            frames: size.frames,
            loaded: 0,
            window_pages: window_pages(settings, size.frames),
            clear_passed: settings.flag("clear_passed"),
        }
    }
}

impl Cfclock {
    /// The frame of a step that is not behind the hand.
    fn position_of(&self, step: u64) -> u32 {
        let mut position = u64::from(self.hand) + (step - self.hand_step);
        while position >= u64::from(self.frames) {
            position -= u64::from(self.frames);
        }
        position as u32
    }

    /// The steps from `start`, which is not behind the hand, with their frames.
    fn steps_from(&self, start: u64) -> impl Iterator<Item = (u64, Frame)> + use<> {
        let frames = self.frames;
        let mut position = self.position_of(start);
        (start..).map(move |step| {
            let frame = Frame(position);
            position = ring_next(position, frames);
            (step, frame)
        })
    }

    /// The frames from step `start` up to `end`, at most once around the ring, as the stretch before the
    /// ring's last frame and the one behind it.
    fn stretches(&self, start: u64, end: u64) -> [Range<u32>; 2] {
        let pages = end.saturating_sub(start) as u32;
        let first = self.position_of(start);
        let before_end = pages.min(self.frames - first);
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

    /// Step 3.
    fn scan_from<F: Frames>(&self, start: u64, frames: &mut F) -> u64 {
        let mut steps = self.steps_from(start);
        loop {
            let (step, frame) = steps.next().expect("the ring has no end");
            if !frames.is_pinned(frame) {
                if !frames.is_referenced(frame) {
                    return step;
                }
                frames.clear_bits(frame);
            }
        }
    }

    fn clear_from_hand<F: Frames>(&self, end: u64, frames: &mut F) {
        for stretch in self.stretches(self.hand_step, end) {
            frames.clear_bits_of_unpinned(stretch);
        }
    }

    /// The hand takes the page at `step`, which is not behind it, and stands behind that page.
    fn take(&mut self, step: u64) -> Frame {
        let victim = self.position_of(step);
        self.hand_step = step + 1;
        self.hand = ring_next(victim, self.frames);
        Frame(victim)
    }
}

impl PagePolicy for Cfclock {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        let window_end = self.hand_step + u64::from(self.window_pages);
        let in_window = self
            .clean_in_window(window_end, frames)
            .or_else(|| self.unreferenced_in_window(window_end, frames));
        let cleared_up_to = in_window.unwrap_or(window_end);
        if self.clear_passed {
            self.clear_from_hand(cleared_up_to, frames);
        }
        let victim_step = in_window.unwrap_or_else(|| self.scan_from(window_end, frames));
        self.take(victim_step)
    }

    fn loaded<F: Frames>(&mut self, _: Fault, _: Frame, _: &mut F) {
        self.loaded = (self.loaded + 1).min(self.frames);
    }

    fn written_back<F: Frames>(&mut self, frame: Frame, _: &F) {
        let is_victim = ring_next(frame.0, self.frames) == self.hand;
        if !is_victim {
            self.ruled_out_step = self.hand_step;
        }
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        inspector.list("from_hand", &mut ring_from(self.hand, self.loaded));
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("window_pages", self.window_pages.into());
    }

    fn check_invariants<F: Frames>(&self, frames: &F) {
        assert_eq!(u64::from(self.hand), self.hand_step % u64::from(self.frames), "the hand");
        let revolution_end = self.hand_step + u64::from(self.frames);
        let ruled_out_end = self.ruled_out_step.min(revolution_end);
        for frame in self.stretches(self.hand_step, ruled_out_end).into_iter().flatten().map(Frame)
        {
            let candidate = !frames.is_referenced(frame) && !frames.is_dirty(frame);
            assert!(!candidate, "a clean, unreferenced page is ruled out");
        }
    }
}

impl BitDriven for Cfclock {
    const HIT_BITS: HitBits = HitBits::Reference;
}
