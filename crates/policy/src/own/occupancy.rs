//! The occupied frames of a memory, as the caller of a foreign policy knows them without asking it.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::{Frame, Frames};

/// What is known of a frame besides its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It holds no page.
    Free,
    /// It holds a page.
    Held,
    /// Its page was chosen and is about to leave.
    Leaving,
}

/// What to do about a choice that cannot be.
pub const REMEDY_OF_VICTIM: &str =
    "return a frame whose page is in memory and not pinned, and forget it";

/// The places of a memory and how far it has come: tells which choices of a policy can be, and where it failed.
#[derive(Clone, Debug)]
pub struct Occupancy {
    places: Vec<Place>,
    faults: u64,
    hits: u64,
    next_in_turn: u32,
}

impl Occupancy {
    /// A memory of this number of frames, all free.
    pub fn new(frames: u32) -> Self {
        let places = vec![Place::Free; frames as usize];
        Occupancy { places, faults: 0, hits: 0, next_in_turn: 0 }
    }

    /// The number of frames.
    pub fn frames(&self) -> u32 {
        self.places.len() as u32
    }

    /// The state of the frame of this number, if there is one.
    pub fn place(&self, number: i64) -> Option<Place> {
        self.places.get(usize::try_from(number).ok()?).copied()
    }

    /// A page has come into `frame`.
    pub fn loaded(&mut self, frame: Frame) {
        self.places[frame.index()] = Place::Held;
        self.faults += 1;
    }

    /// A page was referenced, and the policy sees it.
    pub fn hit(&mut self) {
        self.hits += 1;
    }

    /// The page in `frame` was chosen.
    pub fn chosen(&mut self, frame: Frame) {
        self.places[frame.index()] = Place::Leaving;
    }

    /// The page in `frame` has left out of turn.
    pub fn dropped(&mut self, frame: Frame) {
        self.places[frame.index()] = Place::Free;
    }

    /// Where it is, in words, for a policy that learns of hits or not.
    pub fn in_words(&self, sees_hits: bool) -> String {
        let (word, number) = match sees_hits {
            true => ("reference", self.faults + self.hits),
            false => ("fault", self.faults),
        };
        format!("{word} {number} of its memory of {} frames", self.frames())
    }

    /// The frame of this number as a victim.
    ///
    /// # Errors
    ///
    /// Why it cannot be one, as what the policy did.
    pub fn victim(&self, number: i64, frames: &dyn Frames) -> Result<Frame, String> {
        let frame = Frame(number as u32);
        match self.place(number) {
            None => Err(format!(
                "chose frame {number}, which there is not (they go from 0 to {}),",
                self.frames() - 1
            )),
            Some(Place::Free) => Err(format!("chose frame {number}, which holds no page,")),
            Some(Place::Leaving) => {
                Err(format!("chose frame {number} twice, and no page came between,"))
            }
            Some(Place::Held) if frames.is_pinned(frame) => {
                Err(format!("chose frame {number}, which is pinned,"))
            }
            Some(Place::Held) => Ok(frame),
        }
    }

    /// The next frame whose page can leave, for a policy that has failed.
    ///
    /// # Panics
    ///
    /// If all pages are pinned, when no victim is asked for.
    pub fn in_turn(&mut self, frames: &dyn Frames) -> Frame {
        let can_leave = |frame: &u32| {
            self.places[*frame as usize] == Place::Held && !frames.is_pinned(Frame(*frame))
        };
        let mut turn = (self.next_in_turn..self.frames()).chain(0..self.next_in_turn);
        let frame = turn.find(can_leave).expect("a page is not pinned");
        self.next_in_turn = (frame + 1) % self.frames();
        Frame(frame)
    }
}
