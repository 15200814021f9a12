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

use super::{BitDriven, Fault, Inspector, PagePolicy, ring_from, ring_next};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::Settings;
use crate::{Frame, Frames, HitBits};

/// The ring is the frames themselves: they are filled in order, and a new page takes its victim's place,
/// which is the one that the hand reaches last.
#[derive(Clone, Debug)]
pub struct Fifo {
    hand: u32,
    frames: u32,
    loaded: u32,
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
        Fifo { hand: 0, frames: size.frames, loaded: 0 }
    }
}

impl PagePolicy for Fifo {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        loop {
            let frame = Frame(self.hand);
            self.hand = ring_next(self.hand, self.frames);
            if !frames.is_pinned(frame) {
                return frame;
            }
        }
    }

    fn loaded<F: Frames>(&mut self, _: Fault, _: Frame, _: &mut F) {
        self.loaded = (self.loaded + 1).min(self.frames);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        inspector.list("fifo", &mut ring_from(self.hand, self.loaded));
    }
}

impl BitDriven for Fifo {
    const HIT_BITS: HitBits = HitBits::Reference;
}
