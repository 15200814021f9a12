//! # NRU: not recently used, the enhanced second chance
//!
//! **What it keeps.** A ring of all pages and a hand. The class of a page is (reference bit, dirty), and the
//! classes leave in the order (0,0), (0,1), (1,0), (1,1).
//!
//! **Victim.** `mode=scan`: pass A, once around from the hand, takes the first (0,0) page and changes
//! nothing; pass B, once around, takes the first (0,1) page and clears the reference bit of every page
//! passed over; if neither finds a page, A and B again. `mode=periodic`: the first page, from the hand, of
//! the lowest class that has one. The hand then stands behind the victim.
//!
//! **On a write.** Sets the reference bit as a read does; a dirty page is kept before a clean one.
//!
//! **Parameters.** `mode`: `scan` (default), or `periodic`, in which the hand clears nothing and all
//! reference bits are cleared after every `period`-th reference, hits included (default 1000).
//!
//! **Cost per hit and per victim.** One OR; constant on average: sets of candidates, looked up 64 frames at a
//! time, take the place of the revolutions. Periodic mode clears all bits once per period.
//!
//! **Deviations from the paper.** The text gives only the order of the classes ("higher priority to modified"
//! is priority to be kept). The two passes are the textbooks' enhanced second-chance algorithm.
//!
//! **Reference.** A. S. Tanenbaum: Modern Operating Systems; as described in H. Lee, H. Bahn, K. G. Shin:
//! Page replacement for write references in NAND flash based virtual memory systems. JCSE 8(3), 2014.

use core::num::NonZeroU64;

use super::{BitDriven, Fault, Inspector, PagePolicy, ring_from, ring_next};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::parts::FrameSet;
use crate::{Frame, Frames, HitBits, Op};

/// The ring is the frames themselves, as in CLOCK.
///
/// Each set holds at least the pages of its class. A page can enter a class only by being loaded, by losing
/// its reference bit or by being written back, all of which pass through here; it leaves a class by a hit,
/// unseen, and is then dropped from the set when a search meets it.
#[derive(Clone, Debug)]
pub struct Nru {
    hand: u32,
    frames: u32,
    loaded: u32,
    period: Option<NonZeroU64>,
    unreferenced_clean: FrameSet,
    unreferenced_dirty: FrameSet,
    /// Kept in periodic mode only.
    clean: FrameSet,
}

impl Cataloged for Nru {
    const DESCRIPTION: Description = Description {
        name: "nru",
        summary: "not recently used: unreferenced before referenced, then clean before dirty",
        paper: "Tanenbaum; Lee, Bahn, Shin 2014",
        parameters: &[
            Parameter {
                name: "mode",
                summary: "who clears reference bits: the hand, or a timer",
                domain: Domain::Choice(&["scan", "periodic"]),
                default: Default::Value("scan"),
                only_with: None,
            },
            Parameter {
                name: "period",
                summary: "references after which all reference bits are cleared",
                domain: Domain::Count { min: 1, max: u64::MAX },
                default: Default::Value("1000"),
                only_with: Some(("mode", "periodic")),
            },
        ],
        source: include_str!("nru.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        Nru {
            hand: 0,
            frames: size.frames,
            loaded: 0,
            period: settings.count("period").and_then(NonZeroU64::new),
            unreferenced_clean: FrameSet::new(size.frames),
            unreferenced_dirty: FrameSet::new(size.frames),
            clean: FrameSet::new(size.frames),
        }
    }
}

/// The first member of `set`, once around from `hand`, that is of the class and not pinned.
fn first_of_class<F: Frames>(
    set: &mut FrameSet,
    hand: u32,
    frames: &F,
    is_of_class: impl Fn(&F, Frame) -> bool,
) -> Option<Frame> {
    for (start, end) in [(hand, u32::MAX), (0, hand)] {
        let mut position = start;
        while let Some(frame) = set.next_from(position).filter(|frame| frame.0 < end) {
            if !is_of_class(frames, frame) {
                set.remove(frame);
            } else if !frames.is_pinned(frame) {
                return Some(frame);
            }
            position = frame.0 + 1;
        }
    }
    None
}

impl Nru {
    fn unreferenced<F: Frames>(&mut self, dirty: bool, frames: &F) -> Option<Frame> {
        let set = if dirty { &mut self.unreferenced_dirty } else { &mut self.unreferenced_clean };
        first_of_class(set, self.hand, frames, |frames, frame| {
            !frames.is_referenced(frame) && frames.is_dirty(frame) == dirty
        })
    }

    fn victim_by_scan<F: Frames>(&mut self, frames: &mut F) -> Frame {
        loop {
            if let Some(victim) = self.unreferenced(false, frames) {
                return victim;
            }
            let victim = self.unreferenced(true, frames);
            self.clear_passed(victim, frames);
            if let Some(victim) = victim {
                return victim;
            }
        }
    }

    /// Pass B clears what it passes over: up to `victim`, or once around.
    fn clear_passed<F: Frames>(&mut self, victim: Option<Frame>, frames: &mut F) {
        let passed = ring_from(self.hand, self.frames).take_while(|&frame| Some(frame) != victim);
        for frame in passed {
            if !frames.is_pinned(frame) {
                frames.clear_bits(frame);
                self.insert_unreferenced(frame, frames.is_dirty(frame));
            }
        }
    }

    fn victim_by_class<F: Frames>(&mut self, frames: &F) -> Frame {
        self.unreferenced(false, frames)
            .or_else(|| self.unreferenced(true, frames))
            .or_else(|| {
                let is_clean = |frames: &F, frame| !frames.is_dirty(frame);
                first_of_class(&mut self.clean, self.hand, frames, is_clean)
            })
            .or_else(|| ring_from(self.hand, self.frames).find(|&frame| !frames.is_pinned(frame)))
            .expect("a frame is not pinned")
    }

    fn insert_unreferenced(&mut self, frame: Frame, dirty: bool) {
        match dirty {
            true => self.unreferenced_dirty.insert(frame),
            false => self.unreferenced_clean.insert(frame),
        }
    }
}

impl PagePolicy for Nru {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        let victim = match self.period {
            None => self.victim_by_scan(frames),
            Some(_) => self.victim_by_class(frames),
        };
        self.unreferenced_clean.remove(victim);
        self.unreferenced_dirty.remove(victim);
        if self.period.is_some() {
            self.clean.remove(victim);
        }
        self.hand = ring_next(victim.0, self.frames);
        victim
    }

    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, _: &mut F) {
        self.loaded = (self.loaded + 1).min(self.frames);
        self.insert_unreferenced(frame, fault.op == Op::Write);
        if fault.op == Op::Read && self.period.is_some() {
            self.clean.insert(frame);
        }
    }

    fn written_back<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.unreferenced_clean.insert(frame);
        if self.period.is_some() {
            self.clean.insert(frame);
        }
    }

    fn period(&self) -> Option<NonZeroU64> {
        self.period
    }

    fn tick<F: Frames>(&mut self, frames: &mut F) {
        for frame in (0..self.loaded).map(Frame) {
            frames.clear_bits(frame);
            self.insert_unreferenced(frame, frames.is_dirty(frame));
        }
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        inspector.list("from_hand", &mut ring_from(self.hand, self.loaded));
    }

    fn check_invariants<F: Frames>(&self, frames: &F) {
        for frame in (0..self.loaded).map(Frame) {
            let set = if frames.is_dirty(frame) {
                &self.unreferenced_dirty
            } else {
                &self.unreferenced_clean
            };
            let listed = set.next_from(frame.0) == Some(frame);
            assert!(frames.is_referenced(frame) || listed, "an unreferenced page is in no set");
        }
    }
}

impl BitDriven for Nru {
    const HIT_BITS: HitBits = HitBits::Reference;
}
