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

use super::ace::{LeavingOrder, unreferenced_first};
use super::{BitDriven, Capabilities, Fault, Inspector, PagePolicy};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::parts::{Ring, Turn};
use crate::{Frame, Frames, HitBits};

/// The ring, and what a new page's bit is.
#[derive(Clone, Debug)]
pub struct Clock {
    ring: Ring,
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
        Clock { ring: Ring::new(size.frames), insert_referenced }
    }
}

impl PagePolicy for Clock {
    #[inline(always)]
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        self.ring.before_victim();
        match &mut self.ring {
            Ring::InPlace(ring) => ring.take_unreferenced(frames),
            Ring::Linked(ring) => ring.take_first(|frame| frames.is_unreferenced_clearing(frame)),
        }
    }

    #[inline(always)]
    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, frames: &mut F) {
        self.ring.loaded(frame);
        if self.insert_referenced && !fault.is_ahead() {
            frames.set_read_bit(frame);
        }
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.ring.remove(frame);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        inspector.ring("from_hand", &mut self.ring.iter());
    }

    fn check_invariants<F: Frames>(&self, _: &F) {
        self.ring.check_invariants();
    }
}

impl Capabilities for Clock {
    const TAKES_MORE_PAGES: bool = true;
}

impl LeavingOrder for Clock {
    fn in_leaving_order<F: Frames>(&self, frames: &F) -> impl Iterator<Item = Frame> {
        unreferenced_first(|| self.ring.iter(), frames)
    }
}

impl BitDriven for Clock {
    const HIT_BITS: HitBits = HitBits::Reference;
}
