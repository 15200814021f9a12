//! # CLOCK: second chance
//!
//! **What it keeps.** A ring of all pages, a hand, and a reference bit per page that the hardware sets on
//! each hit.
//!
//! **Victim.** From the hand: a page with reference bit 1 gets bit 0 and the hand moves on; the first page
//! with bit 0 leaves. The new page goes to the tail, the place that the hand reaches last.
//!
//! **On a write.** Sets the reference bit as a read does; a dirty page is not spared.
//!
//! **Parameters.** `insert_ref`: the reference bit of a new page (default 0: the paper's text sets the bit
//! "on each hit"; many implementations set 1).
//!
//! **Cost per hit and per victim.** One OR; constant on average, at most one revolution.
//!
//! **Deviations from the paper.** None.
//!
//! **Reference.** F. J. Corbató: A paging experiment with the Multics system. In Honor of P. M. Morse,
//! MIT Press, 1969; as used in H. Lee, H. Bahn, K. G. Shin: Page replacement for write references in NAND
//! flash based virtual memory systems. JCSE 8(3), 2014.

use super::{BitDriven, Fault, Inspector, PagePolicy, ring_from, ring_next};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::{Frame, Frames, HitBits};

/// The ring is the frames themselves: they are filled in order, and a new page takes its victim's place,
/// which is the one that the hand reaches last.
#[derive(Clone, Debug)]
pub struct Clock {
    hand: u32,
    frames: u32,
    loaded: u32,
    insert_referenced: bool,
}

impl Cataloged for Clock {
    const DESCRIPTION: Description = Description {
        name: "clock",
        summary: "second chance: a page referenced since the hand last passed stays",
        paper: "Corbató 1969",
        parameters: &[Parameter {
            name: "insert_ref",
            summary: "reference bit of a new page",
            domain: Domain::Count { min: 0, max: 1 },
            default: Default::Value("0"),
            only_with: None,
        }],
        source: include_str!("clock.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        let insert_referenced = settings.count("insert_ref") == Some(1);
        Clock { hand: 0, frames: size.frames, loaded: 0, insert_referenced }
    }
}

impl PagePolicy for Clock {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        loop {
            let frame = Frame(self.hand);
            self.hand = ring_next(self.hand, self.frames);
            if frames.is_pinned(frame) {
                continue;
            }
            if !frames.is_referenced(frame) {
                return frame;
            }
            frames.clear_bits(frame);
        }
    }

    fn loaded<F: Frames>(&mut self, _: Fault, frame: Frame, frames: &mut F) {
        self.loaded = (self.loaded + 1).min(self.frames);
        if self.insert_referenced {
            frames.set_read_bit(frame);
        }
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        inspector.list("from_hand", &mut ring_from(self.hand, self.loaded));
    }
}

impl BitDriven for Clock {
    const HIT_BITS: HitBits = HitBits::Reference;
}
