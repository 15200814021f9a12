//! # linux-mglru: the generations of Linux 6.1 and later, simplified
//!
//! This is an approximation of a kernel, defined by this text: Linux with multi-generational LRU.
//!
//! **What it keeps.** Generations from `min_seq`, the oldest, to `max_seq`, at first 0 to 3, each a list of pages of
//! both kinds. Per page its accessed bit, which the hardware sets at each memory reference, including the one that
//! faults. The number of calls that hit it since it entered its generation. Shown: `generation_0` (the oldest) to
//! `generation_3`, each from the newest page, the pages that one call and that more calls have hit, `min_seq` and
//! `max_seq`.
//!
//! A page that a memory reference loads goes to the head of `max_seq`; one that a call loads, or that is read ahead, to
//! the head of `min_seq`. A call that hits is counted; from the second one on, the page goes from `min_seq` to the head of
//! the next generation.
//!
//! **Victim.** Until `batch` frames are free, or as many as are needed: if there are at least three generations and the
//! oldest is empty, it ends. Else, if there are only two, the pages *age*. All pages in memory are examined, generation
//! by generation from the oldest, each from the tail. Those with an accessed bit lose it and go to the head of
//! `max_seq`, unless they are in it. Then a new, empty generation begins. Else the tail of the oldest generation is
//! examined: if it was accessed it loses the bit and goes to the head of `max_seq`, else it leaves.
//!
//! **On a write.** Nothing.
//!
//! **Parameters.** `batch`: frames that one call makes free (default a quarter of the frames, at most 32).
//!
//! **Cost per hit and per victim.** One OR; a page that leaves costs constant time, ageing examines every page in memory.
//! 10 bytes per frame.
//!
//! **Deviations from the paper.** This policy comes from no paper; the kernel also has tiers with a feedback loop,
//! Bloom filters for page tables, memory groups and a swappiness. A pinned page is not aged and goes to the head of
//! `max_seq` when it is examined, with its bit untouched.
//!
//! **Reference.** Y. Zhao: Multi-gen LRU framework. Linux 6.1, 2022 (mm/vmscan.c).

use alloc::vec;
use alloc::vec::Vec;

use super::linux24::{BATCH, Call, batch_of, one_page};
use super::{BitDriven, Capabilities, Cause, Fault, Inspector, PagePolicy, Reclaim};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::Settings;
use crate::parts::{FrameList, Links, List};
use crate::{Frame, Frames, HitBits};

/// There are never more.
const GENERATIONS: usize = 4;
/// The youngest ones, which no page leaves.
const MIN_GENERATIONS: u64 = 2;
/// Calls that a page of the oldest generation is hit by before it moves on.
const CALLS_TO_MOVE: u8 = 2;
const NAMES: [&str; GENERATIONS] = ["generation_0", "generation_1", "generation_2", "generation_3"];

/// Each generation's list from its tail, the oldest page; generation `n` is in place `n mod 4`.
#[derive(Clone, Debug)]
pub struct LinuxMglru {
    batch: u32,
    links: Links,
    lists: [FrameList; GENERATIONS],
    min_seq: u64,
    max_seq: u64,
    place_of: Vec<u8>,
    /// Calls that hit a page in its generation, at most [`CALLS_TO_MOVE`].
    call_hits: Vec<u8>,
    calls: u64,
    scanned: u64,
}

impl Cataloged for LinuxMglru {
    const DESCRIPTION: Description = Description {
        name: "linux-mglru",
        summary: "multi-generational LRU of Linux since 6.1, simplified",
        paper: "Linux 6.1, 2022",
        parameters: &[BATCH],
        source: include_str!("linux_mglru.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        LinuxMglru {
            batch: batch_of(settings, size.frames),
            links: Links::new(size.frames),
            lists: [FrameList::EMPTY; GENERATIONS],
            min_seq: 0,
            max_seq: 3,
            place_of: vec![0; size.frames as usize],
            call_hits: vec![0; size.frames as usize],
            calls: 0,
            scanned: 0,
        }
    }
}

fn place(generation: u64) -> usize {
    generation as usize % GENERATIONS
}

impl LinuxMglru {
    fn list(&self, generation: u64) -> &FrameList {
        &self.lists[place(generation)]
    }

    fn unlink(&mut self, frame: Frame) {
        let place = usize::from(self.place_of[frame.index()]);
        self.lists[place].remove(&mut self.links, frame);
    }

    /// Links a page at the head of a generation, which no call has hit it in.
    fn enter(&mut self, frame: Frame, generation: u64) {
        self.place_of[frame.index()] = place(generation) as u8;
        self.call_hits[frame.index()] = 0;
        self.lists[place(generation)].push_tail(&mut self.links, frame);
    }

    fn move_to(&mut self, frame: Frame, generation: u64) {
        self.unlink(frame);
        self.enter(frame, generation);
    }

    fn age<F: Frames>(&mut self, frames: &mut F) {
        for generation in self.min_seq..=self.max_seq {
            let mut next = self.list(generation).head();
            // Pages that have come here in between have no bit any more.
            while next != Frame::NONE {
                let frame = next;
                next = self.links.next(frame);
                if frames.is_referenced(frame) && !frames.is_pinned(frame) {
                    frames.clear_bits(frame);
                    if generation != self.max_seq {
                        self.move_to(frame, self.max_seq);
                    }
                }
            }
        }
        self.max_seq += 1;
    }

    fn shrink<F: Frames>(&mut self, mut call: Call, frames: &mut F) {
        self.calls += 1;
        // Pinned pages that were passed over since something else was found to do.
        let mut passed = 0;
        while !call.is_done() {
            let generations = self.max_seq - self.min_seq + 1;
            if generations > MIN_GENERATIONS && self.list(self.min_seq).len() == 0 {
                self.min_seq += 1;
                continue;
            }
            if generations <= MIN_GENERATIONS {
                if self.lists.iter().map(List::len).sum::<u32>() <= passed {
                    return;
                }
                self.age(frames);
                continue;
            }
            self.scanned += 1;
            let frame = self.list(self.min_seq).head();
            if frames.is_pinned(frame) {
                passed += 1;
                self.move_to(frame, self.max_seq);
                continue;
            }
            passed = 0;
            if frames.is_referenced(frame) {
                frames.clear_bits(frame);
                self.move_to(frame, self.max_seq);
            } else {
                self.unlink(frame);
                call.evict(frame);
            }
        }
    }
}

impl PagePolicy for LinuxMglru {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        one_page(self, frames, Self::shrink)
    }

    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, frames: &mut F) {
        if fault.cause == Cause::Memory {
            self.enter(frame, self.max_seq);
            frames.set_read_bit(frame);
        } else {
            self.enter(frame, self.min_seq);
        }
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.unlink(frame);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        let all = || (self.min_seq..=self.max_seq).map(|generation| self.list(generation));
        for (name, list) in NAMES.into_iter().zip(all()) {
            inspector.list(name, &mut list.iter_back(&self.links));
        }
        for (name, hits) in [("one_call", 1), ("more_calls", CALLS_TO_MOVE)] {
            let pages = all().flat_map(|list| list.iter_back(&self.links));
            inspector.list(name, &mut pages.filter(|frame| self.call_hits[frame.index()] == hits));
        }
        inspector.value("min_seq", self.min_seq as f64);
        inspector.value("max_seq", self.max_seq as f64);
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("reclaims", self.calls as f64);
        show("scanned_pages", self.scanned as f64);
        show("oldest_generation", self.min_seq as f64);
        show("youngest_generation", self.max_seq as f64);
        show("oldest_generation_pages", self.list(self.min_seq).len().into());
        show("youngest_generation_pages", self.list(self.max_seq).len().into());
    }

    fn check_invariants<F: Frames>(&self, _: &F) {
        assert!((1..4).contains(&(self.max_seq - self.min_seq)), "two to four generations");
        for (place, list) in self.lists.iter().enumerate() {
            list.check_invariants(&self.links);
            let belongs = |frame: Frame| usize::from(self.place_of[frame.index()]) == place;
            assert!(list.iter(&self.links).all(belongs), "a page is in another generation");
        }
    }
}

impl Capabilities for LinuxMglru {
    const RECLAIMS_IN_BATCHES: bool = true;
    const TAKES_MORE_PAGES: bool = true;

    fn reclaim<F: Frames>(&mut self, wanted: Reclaim<'_>, frames: &mut F) {
        self.shrink(Call::new(self.batch, wanted), frames);
    }

    fn unmapped<F: Frames>(&mut self, frame: Frame, frames: &mut F) {
        frames.clear_bits(frame);
    }
}

impl BitDriven for LinuxMglru {
    const HIT_BITS: HitBits = HitBits::Reference;
    const SEES_CALLS: bool = true;

    fn called<F: Frames>(&mut self, frame: Frame, _: &mut F) {
        let hits = (self.call_hits[frame.index()] + 1).min(CALLS_TO_MOVE);
        self.call_hits[frame.index()] = hits;
        let is_oldest = usize::from(self.place_of[frame.index()]) == place(self.min_seq);
        if hits == CALLS_TO_MOVE && is_oldest {
            self.move_to(frame, self.min_seq + 1);
        }
    }
}
