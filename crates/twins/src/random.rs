//! RANDOM: the page in a frame drawn with equal chances leaves.

use crate::page_list::{Held, accessed};
use crate::split_mix::SplitMix;
use crate::{Event, Op, State, Twin, parameters::Parameters};

pub(crate) struct Random {
    frames: usize,
    numbers: SplitMix,
    /// What each frame holds, in the order in which frames are first filled.
    held: Vec<Held>,
}

impl Random {
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> Random {
        // RANDOM consults no bit, so it behaves the same whichever accesses are seen.
        let _ = parameters.visibility();
        let seed = parameters.integer("seed").unwrap_or(0);
        Random { frames, numbers: SplitMix::new(seed as u64), held: Vec::new() }
    }

    /// The frame floor(n * S / 2^32), where n is the upper half of the next number.
    fn draw_frame(&mut self) -> usize {
        let upper_half = self.numbers.draw() >> 32;
        ((u128::from(upper_half) * self.frames as u128) >> 32) as usize
    }
}

impl Twin for Random {
    fn reference(&mut self, page: u64, op: Op) -> Event {
        if let Some(held) = self.held.iter_mut().find(|held| held.0 == page) {
            *held = accessed(*held, op);
            return Event::hit();
        }
        let mut event = Event::miss();
        let loaded = (page, op == Op::Write);
        if self.held.len() == self.frames {
            let frame = self.draw_frame();
            event.evicted.push(self.held[frame]);
            self.held[frame] = loaded;
        } else {
            self.held.push(loaded);
        }
        event
    }

    fn state(&self) -> State {
        State::Object(vec![("frames", State::pages(self.held.iter().map(|(page, _)| page)))])
    }

    fn resident(&self) -> Vec<u64> {
        let mut pages: Vec<u64> = self.held.iter().map(|held| held.0).collect();
        pages.sort_unstable();
        pages
    }
}
