//! RANDOM: the page in a frame drawn with equal chances leaves.

use crate::page_list::{Held, accessed};
use crate::split_mix::SplitMix;
use crate::{Event, Op, State, Twin, parameters::Parameters};

pub(crate) struct Random {
    frames: usize,
    numbers: SplitMix,
    /// The page of each frame, in the order frames are first filled.
    held: Vec<Option<Held>>,
    /// Frames that have held a page, the last one to become free at the end.
    free: Vec<usize>,
}

impl Random {
    pub(crate) fn new(frames: usize, parameters: &mut Parameters) -> Random {
        // RANDOM consults no bit, so it behaves the same whichever accesses are seen.
        let _ = parameters.visibility();
        let seed = parameters.integer("seed").unwrap_or(0);
        Random { frames, numbers: SplitMix::new(seed as u64), held: Vec::new(), free: Vec::new() }
    }

    /// The frame floor(n * S / 2^32), where n is the upper half of the next number.
    fn draw_frame(&mut self) -> usize {
        let upper_half = self.numbers.draw() >> 32;
        ((u128::from(upper_half) * self.frames as u128) >> 32) as usize
    }
}

impl Random {
    /// The drawn frame's page, or that of the next frame that holds one.
    fn evict(&mut self) -> Held {
        let mut frame = self.draw_frame();
        loop {
            if let Some(victim) = self.held.get_mut(frame).and_then(Option::take) {
                self.free.push(frame);
                return victim;
            }
            frame = (frame + 1) % self.frames;
        }
    }

    fn load(&mut self, held: Held) {
        match self.free.pop() {
            Some(frame) => self.held[frame] = Some(held),
            None => self.held.push(Some(held)),
        }
    }
}

impl Twin for Random {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        if let Some(held) = self.held.iter_mut().flatten().find(|held| held.0 == page) {
            *held = accessed(*held, op);
            return Event::hit();
        }
        let mut event = Event::miss();
        while self.resident().len() + ahead.len() >= self.frames {
            event.evicted.push(self.evict());
        }
        self.load((page, op == Op::Write));
        ahead.iter().for_each(|page| self.load((*page, false)));
        event
    }

    fn drop_page(&mut self, page: u64) -> bool {
        let holds = |held: &Option<Held>| held.is_some_and(|held| held.0 == page);
        let frame = self.held.iter().position(holds).expect("the page is in memory");
        self.free.push(frame);
        self.held[frame].take().expect("the frame holds the page").1
    }

    fn state(&self) -> State {
        State::Object(vec![(
            "frames",
            State::pages(self.held.iter().flatten().map(|(page, _)| page)),
        )])
    }

    fn resident(&self) -> Vec<u64> {
        let mut pages: Vec<u64> = self.held.iter().flatten().map(|held| held.0).collect();
        pages.sort_unstable();
        pages
    }
}
