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

use super::cflru::{WINDOW_PARAMETERS, window_pages};
use super::{BitDriven, Fault, Inspector, PagePolicy, ring_from};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::{Frame, Frames};

/// The ring is the frames themselves, as in CLOCK. Steps of the hand are counted from the start of time, so
/// that a place ahead of the hand keeps its number while the hand moves; step `n` is frame `n mod frames`.
#[derive(Clone, Debug)]
pub struct Cfclock {
    hand_step: u64,
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
            ruled_out_step: 0,
            frames: size.frames,
            loaded: 0,
            window_pages: window_pages(settings, size.frames),
            clear_passed: settings.flag("clear_passed"),
        }
    }
}

impl Cfclock {
    fn frame_at(&self, step: u64) -> Frame {
        Frame((step % u64::from(self.frames)) as u32)
    }

    /// Step 1.
    fn clean_in_window<F: Frames>(&mut self, window_end: u64, frames: &F) -> Option<u64> {
        let mut may_rule_out = true;
        for step in self.ruled_out_step.max(self.hand_step)..window_end {
            let frame = self.frame_at(step);
            let candidate = !frames.is_referenced(frame) && !frames.is_dirty(frame);
            if candidate && !frames.is_pinned(frame) {
                return Some(step);
            }
            may_rule_out &= !candidate;
            if may_rule_out {
                self.ruled_out_step = step + 1;
            }
        }
        None
    }

    /// Step 2.
    fn unreferenced_in_window<F: Frames>(&self, window_end: u64, frames: &F) -> Option<u64> {
        (self.hand_step..window_end).find(|&step| {
            let frame = self.frame_at(step);
            !frames.is_referenced(frame) && !frames.is_pinned(frame)
        })
    }

    /// Step 3.
    fn scan_from<F: Frames>(&self, start: u64, frames: &mut F) -> u64 {
        let mut step = start;
        loop {
            let frame = self.frame_at(step);
            if !frames.is_pinned(frame) {
                if !frames.is_referenced(frame) {
                    return step;
                }
                frames.clear_bits(frame);
            }
            step += 1;
        }
    }

    fn clear_between<F: Frames>(&self, start: u64, end: u64, frames: &mut F) {
        for step in start..end {
            let frame = self.frame_at(step);
            if !frames.is_pinned(frame) {
                frames.clear_bits(frame);
            }
        }
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
            self.clear_between(self.hand_step, cleared_up_to, frames);
        }
        let victim_step = in_window.unwrap_or_else(|| self.scan_from(window_end, frames));
        self.hand_step = victim_step + 1;
        self.frame_at(victim_step)
    }

    fn loaded<F: Frames>(&mut self, _: Fault, _: Frame, _: &mut F) {
        self.loaded = (self.loaded + 1).min(self.frames);
    }

    fn written_back<F: Frames>(&mut self, frame: Frame, _: &F) {
        let is_victim = self.hand_step > 0 && frame == self.frame_at(self.hand_step - 1);
        if !is_victim {
            self.ruled_out_step = self.hand_step;
        }
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        let hand = self.frame_at(self.hand_step).0;
        inspector.list("from_hand", &mut ring_from(hand, self.loaded));
    }

    fn check_invariants<F: Frames>(&self, frames: &F) {
        let revolution_end = self.hand_step + u64::from(self.frames);
        for step in self.hand_step..self.ruled_out_step.min(revolution_end) {
            let frame = self.frame_at(step);
            let candidate = !frames.is_referenced(frame) && !frames.is_dirty(frame);
            assert!(!candidate, "a clean, unreferenced page is ruled out");
        }
    }
}

impl BitDriven for Cfclock {}
