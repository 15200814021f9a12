//! # FIFO: first in, first out
//!
//! **What it keeps.** A ring of all frames in the order of loading, and a hand at the oldest page.
//!
//! **Victim.** The page under the hand.
//!
//! **On a write.** Nothing.
//!
//! **Parameters.** None.
//!
//! **Cost per hit and per victim.** None; constant.
//!
//! **Deviations from the paper.** None. A pinned page is passed over, as if it had just been loaded.
//!
//! **Reference.** L. A. Belady, R. A. Nelson, G. S. Shedler: An anomaly in space-time characteristics of
//! certain programs running in a paging machine. Communications of the ACM 12(6), 1969.

use super::{BitDriven, Capabilities, Fault, Inspector, PagePolicy};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::Settings;
use crate::parts::{Ring, Turn};
use crate::{Frame, Frames, HitBits};

/// A ring whose hand is at the oldest page.
#[derive(Clone, Debug)]
pub struct Fifo {
    ring: Ring,
}

impl Cataloged for Fifo {
    const DESCRIPTION: Description = Description {
        name: "fifo",
        summary: "the page that was loaded first leaves first",
        paper: "Belady, Nelson, Shedler 1969",
        parameters: &[],
        source: include_str!("fifo.rs"),
    };

    fn build(_: &Settings, size: Size) -> Self {
        Fifo { ring: Ring::new(size.frames) }
    }
}

impl PagePolicy for Fifo {
    #[inline(always)]
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        self.ring.before_victim();
        match &mut self.ring {
            Ring::InPlace(ring) => ring.take_first(|frame| !frames.is_pinned(frame)),
            Ring::Linked(ring) => ring.take_first(|frame| !frames.is_pinned(frame)),
        }
    }

    #[inline(always)]
    fn loaded<F: Frames>(&mut self, _: Fault, frame: Frame, _: &mut F) {
        self.ring.loaded(frame);
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.ring.remove(frame);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        inspector.list("fifo", &mut self.ring.iter());
    }

    fn check_invariants<F: Frames>(&self, _: &F) {
        self.ring.check_invariants();
    }
}

impl Capabilities for Fifo {
    const CAN_PEEK: bool = true;
    const TAKES_MORE_PAGES: bool = true;

    fn peek_victim<F: Frames>(&self, frames: &F) -> Option<Frame> {
        self.ring.first(|frame| !frames.is_pinned(frame))
    }
}

impl BitDriven for Fifo {
    const HIT_BITS: HitBits = HitBits::Reference;
}
