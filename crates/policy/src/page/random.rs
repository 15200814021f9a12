//! # RANDOM: any page, with equal chances
//!
//! **What it keeps.** A generator of pseudo-random numbers, and how many frames there are. Frames are numbered from 0
//! in the order they are first filled, and a new page takes its victim's frame (of several free frames, the one that
//! became free last). Shown: `frames`, the pages in this order.
//!
//! **Victim.** One number is drawn per victim: the page in frame `floor(n * S / 2^32)`, where `n` is the
//! upper half of the 64-bit number and `S` the number of frames. A pinned page there, or a free frame, is
//! passed over, as are those in the frames that follow; behind the last frame comes frame 0.
//!
//! **On a write.** Nothing.
//!
//! **Parameters.** `seed`: where the sequence of numbers begins (default: the seed of the run).
//!
//! **Cost per hit and per victim.** None; constant.
//!
//! **Deviations from the paper.** The paper names no generator; this is SplitMix64 by Steele, Lea and Flood
//! with the increment 9E3779B97F4A7C15 (hexadecimal). Its state is the seed before the first number is drawn,
//! so that seed 0 begins with E220A8397B1DCDAF. With pinned pages the chances are not equal: the page behind
//! them also has their chances.
//!
//! **Reference.** L. A. Belady: A study of replacement algorithms for a virtual-storage computer. IBM Systems
//! Journal 5(2), 1966. G. L. Steele, D. Lea, C. H. Flood: Fast splittable pseudorandom number generators.
//! OOPSLA 2014.

use super::{BitDriven, Capabilities, Fault, Inspector, PagePolicy};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::parts::{FrameSet, SplitMix64, frames_from};
use crate::{Frame, Frames, HitBits};

/// A generator of pseudo-random frame numbers.
#[derive(Clone, Debug)]
pub struct Random {
    frames: u32,
    held: FrameSet,
    numbers: SplitMix64,
}

impl Cataloged for Random {
    const DESCRIPTION: Description = Description {
        name: "random",
        summary: "any page leaves, with equal chances",
        paper: "Belady 1966",
        parameters: &[Parameter {
            name: "seed",
            summary: "where the sequence of pseudo-random numbers begins",
            domain: Domain::Count { min: 0, max: u64::MAX },
            default: Default::Seed,
            only_with: None,
        }],
        source: include_str!("random.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        let seed = settings.count("seed").unwrap_or(0);
        Random {
            frames: size.frames,
            held: FrameSet::new(size.frames),
            numbers: SplitMix64::new(seed),
        }
    }
}

impl PagePolicy for Random {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        let number = self.numbers.next() >> 32;
        let position = ((number * u64::from(self.frames)) >> 32) as u32;
        let can_leave = |&frame: &Frame| self.held.contains(frame) && !frames.is_pinned(frame);
        let victim = frames_from(position, self.frames).find(can_leave);
        let victim = victim.expect("a frame is not pinned");
        self.held.remove(victim);
        victim
    }

    fn loaded<F: Frames>(&mut self, _: Fault, frame: Frame, _: &mut F) {
        self.held.insert(frame);
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.held.remove(frame);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        let held = frames_from(0, self.frames).filter(|&frame| self.held.contains(frame));
        inspector.list("frames", &mut { held });
    }
}

impl Capabilities for Random {
    const TAKES_MORE_PAGES: bool = true;
}

impl BitDriven for Random {
    const HIT_BITS: HitBits = HitBits::Reference;
}

#[cfg(test)]
mod tests {
    use crate::worked_examples::run;

    /// The upper halves of the first numbers from seed 1234567 are, as shares of 2^32, 0.350, 0.174, 0.532,
    /// 0.249 and 0.889: with four frames, 1, 0, 2, 0 and 3.
    #[test]
    fn the_drawn_frames_are_emptied_one_after_the_other() {
        let after = run("random:seed=1234567", 4, "R1 R2 R3 R4 R5 W6 R7 R8 R9");
        assert_eq!(after.evicted, "2 1 3 6* 4");
        assert_eq!(after.state, "frames=[8 5 7 9]");
    }
}
