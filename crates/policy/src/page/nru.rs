//! # NRU: not recently used, the enhanced second chance
//!
//! **What it keeps.** A ring of all pages and a hand. The class of a page is (reference bit, dirty), and the
//! classes leave in the order (0,0), (0,1), (1,0), (1,1).
//!
//! **Victim.** With `mode=scan`, pass A, once around from the hand, takes the first (0,0) page and changes
//! nothing. Pass B, once around, takes the first (0,1) page and clears the reference bit of every page passed
//! over. If neither finds a page, A and B are repeated. With `mode=periodic` the victim is the first page, from
//! the hand, of the lowest class that has one. The hand then moves behind the victim.
//!
//! **On a write.** Sets the reference bit as a read does; a dirty page is kept before a clean one.
//!
//! **Parameters.** `mode`: `scan` (default), or `periodic`: the hand clears nothing, and all reference bits are cleared
//! after every `period`-th reference, hits included (default 1000).
//!
//! **Cost per hit and per victim.** One OR; constant on average: sets of candidates, searched 64 frames at a
//! time, replace the revolutions. Periodic mode clears all bits once per period. Once pages have left out of
//! turn, or several at once, each step costs the logarithm of the number of pages.
//!
//! **Deviations from the paper.** The text gives only the order of the classes ("higher priority to modified"
//! is priority to be kept). The two passes are the textbooks' enhanced second-chance algorithm.
//!
//! **Reference.** A. S. Tanenbaum: Modern Operating Systems; as described in H. Lee, H. Bahn, K. G. Shin:
//! Page replacement for write references in NAND flash based virtual memory systems. JCSE 8(3), 2014.

use core::num::NonZeroU64;

use alloc::vec::Vec;

use super::{BitDriven, Capabilities, Fault, Inspector, PagePolicy};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::parts::{Circle, FrameRing, FrameSet, frames_from};
use crate::{Frame, Frames, HitBits, Op};

/// The order of the pages, and what is known of their classes.
#[derive(Clone, Debug)]
pub struct Nru {
    period: Option<NonZeroU64>,
    order: Order,
}

/// In place as long as each page that leaves makes room for the next one that comes.
#[derive(Clone, Debug)]
enum Order {
    InPlace(InPlace),
    Linked(Linked),
}

/// The ring is the frames themselves, as in CLOCK.
///
/// Each set holds at least the pages of its class, and may hold the last victim's frame. A page enters a class when it
/// is loaded, loses its reference bit, is written back or becomes dirty; all of this passes through here. It leaves a
/// class by a hit, unseen. A search that meets it drops it from the set.
#[derive(Clone, Debug)]
struct InPlace {
    ring: FrameRing,
    unreferenced_clean: FrameSet,
    unreferenced_dirty: FrameSet,
    /// Kept in periodic mode only.
    clean: Option<FrameSet>,
}

/// The pages in any frames, each weighted by its class: the first to leave weighs most. As in [`InPlace`] a weight may be
/// too large, and is put right when a search meets it.
#[derive(Clone, Debug)]
struct Linked {
    circle: Circle<Frame>,
    /// The victim, until the next page comes.
    leaving: Frame,
    passed: Vec<Frame>,
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
        let period = settings.count("period").and_then(NonZeroU64::new);
        let set = || FrameSet::new(size.frames);
        let in_place = InPlace {
            ring: FrameRing::new(size.frames),
            unreferenced_clean: set(),
            unreferenced_dirty: set(),
            clean: period.map(|_| set()),
        };
        Nru { period, order: Order::InPlace(in_place) }
    }
}

/// The first member of `set`, once around from `hand`, that is of the class and not pinned.
#[inline(always)]
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

impl InPlace {
    #[inline(always)]
    fn unreferenced<F: Frames>(&mut self, dirty: bool, frames: &F) -> Option<Frame> {
        let set = if dirty { &mut self.unreferenced_dirty } else { &mut self.unreferenced_clean };
        first_of_class(set, self.ring.hand(), frames, |frames, frame| {
            !frames.is_referenced(frame) && frames.is_dirty(frame) == dirty
        })
    }

    #[inline(always)]
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
        let all = frames_from(self.ring.hand(), self.ring.frames());
        for frame in all.take_while(|&frame| Some(frame) != victim) {
            if !frames.is_pinned(frame) {
                frames.clear_bits(frame);
                self.set_unreferenced(frame, frames.is_dirty(frame));
            }
        }
    }

    fn victim_by_class<F: Frames>(&mut self, frames: &F) -> Frame {
        let hand = self.ring.hand();
        self.unreferenced(false, frames)
            .or_else(|| self.unreferenced(true, frames))
            .or_else(|| {
                let is_clean = |frames: &F, frame| !frames.is_dirty(frame);
                first_of_class(self.clean.as_mut()?, hand, frames, is_clean)
            })
            .or_else(|| self.ring.iter().find(|&frame| !frames.is_pinned(frame)))
            .expect("a frame is not pinned")
    }

    #[inline(always)]
    fn set_unreferenced(&mut self, frame: Frame, dirty: bool) {
        self.unreferenced_clean.set(frame, !dirty);
        self.unreferenced_dirty.set(frame, dirty);
    }

    #[inline(always)]
    fn loaded(&mut self, frame: Frame, dirty: bool) {
        self.ring.load();
        self.set_unreferenced(frame, dirty);
        if let Some(clean) = &mut self.clean {
            clean.set(frame, !dirty);
        }
    }

    fn written_back(&mut self, frame: Frame) {
        // The victim's frame is searched again only when the next page is in it.
        if self.ring.gap() != Some(frame) {
            self.unreferenced_clean.insert(frame);
            if let Some(clean) = &mut self.clean {
                clean.insert(frame);
            }
        }
    }
}

/// What a page weighs.
fn weight<F: Frames>(frame: Frame, frames: &F) -> u8 {
    match (frames.is_referenced(frame), frames.is_dirty(frame)) {
        (false, false) => UNREFERENCED_CLEAN,
        (false, true) => UNREFERENCED_DIRTY,
        (true, false) => 1,
        (true, true) => 0,
    }
}

const UNREFERENCED_CLEAN: u8 = 3;
const UNREFERENCED_DIRTY: u8 = 2;

impl Linked {
    fn of<F: Frames>(in_place: &InPlace, frames: &F) -> Self {
        let mut circle = Circle::EMPTY;
        in_place.ring.iter().for_each(|frame| circle.push_tail(frame, weight(frame, frames)));
        Linked { circle, leaving: Frame::NONE, passed: Vec::new() }
    }

    /// The first page, from the hand, of the lowest class that has one which can leave, and what it weighs.
    fn lowest_class<F: Frames>(&mut self, frames: &F) -> (Frame, u8) {
        loop {
            let frame = self.circle.first_heaviest().expect("memory is not empty");
            let own = weight(frame, frames);
            if own < self.circle.largest_weight() {
                self.circle.set_weight(frame, own);
            } else if frames.is_pinned(frame) {
                return self.lowest_class_among_pinned(frames);
            } else {
                return (frame, own);
            }
        }
    }

    fn lowest_class_among_pinned<F: Frames>(&self, frames: &F) -> (Frame, u8) {
        let unpinned = self.circle.iter().filter(|&frame| !frames.is_pinned(frame));
        let mut weighed = unpinned.map(|frame| (frame, weight(frame, frames)));
        let first = weighed.next().expect("a frame is not pinned");
        weighed.fold(first, |best, other| if other.1 > best.1 { other } else { best })
    }

    fn victim_by_scan<F: Frames>(&mut self, frames: &mut F) -> Frame {
        loop {
            let (first, class) = self.lowest_class(frames);
            if class == UNREFERENCED_CLEAN {
                return first;
            }
            let victim = (class == UNREFERENCED_DIRTY).then_some(first);
            self.clear_passed(victim, frames);
            if let Some(victim) = victim {
                return victim;
            }
        }
    }

    fn clear_passed<F: Frames>(&mut self, victim: Option<Frame>, frames: &mut F) {
        let mut passed = core::mem::take(&mut self.passed);
        passed.extend(self.circle.iter().take_while(|&frame| Some(frame) != victim));
        for frame in passed.drain(..) {
            if !frames.is_pinned(frame) {
                frames.clear_bits(frame);
                self.circle.set_weight(frame, weight(frame, frames));
            }
        }
        self.passed = passed;
    }

    fn take(&mut self, victim: Frame) {
        self.circle.remove_and_pass(victim);
        self.leaving = victim;
    }
}

impl Nru {
    #[cold]
    fn link<F: Frames>(&mut self, frames: &F) {
        if let Order::InPlace(in_place) = &self.order {
            self.order = Order::Linked(Linked::of(in_place, frames));
        }
    }
}

impl PagePolicy for Nru {
    #[inline(always)]
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        if let Order::InPlace(in_place) = &self.order
            && !in_place.ring.is_whole()
        {
            self.link(frames);
        }
        let by_scan = self.period.is_none();
        match &mut self.order {
            Order::InPlace(in_place) => {
                let victim = match by_scan {
                    true => in_place.victim_by_scan(frames),
                    false => in_place.victim_by_class(frames),
                };
                in_place.ring.take_and_stand_behind(victim);
                victim
            }
            Order::Linked(linked) => {
                let victim = match by_scan {
                    true => linked.victim_by_scan(frames),
                    false => linked.lowest_class(frames).0,
                };
                linked.take(victim);
                victim
            }
        }
    }

    #[inline(always)]
    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, _: &mut F) {
        let dirty = fault.op == Op::Write;
        match &mut self.order {
            Order::InPlace(in_place) => in_place.loaded(frame, dirty),
            Order::Linked(linked) => {
                let weight = if dirty { UNREFERENCED_DIRTY } else { UNREFERENCED_CLEAN };
                linked.circle.push_tail(frame, weight);
                linked.leaving = Frame::NONE;
            }
        }
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, frames: &F) {
        self.link(frames);
        if let Order::Linked(linked) = &mut self.order {
            linked.circle.remove(frame);
        }
    }

    fn written_back<F: Frames>(&mut self, frame: Frame, frames: &F) {
        match &mut self.order {
            Order::InPlace(in_place) => in_place.written_back(frame),
            Order::Linked(linked) if linked.leaving != frame => {
                linked.circle.set_weight(frame, weight(frame, frames));
            }
            Order::Linked(_) => {}
        }
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        match &self.order {
            Order::InPlace(in_place) => inspector.ring("from_hand", &mut in_place.ring.iter()),
            Order::Linked(linked) => inspector.ring("from_hand", &mut linked.circle.iter()),
        }
    }

    fn check_invariants<F: Frames>(&self, frames: &F) {
        match &self.order {
            Order::InPlace(in_place) => {
                for frame in in_place.ring.iter() {
                    let set = match frames.is_dirty(frame) {
                        true => &in_place.unreferenced_dirty,
                        false => &in_place.unreferenced_clean,
                    };
                    let listed = set.contains(frame);
                    assert!(frames.is_referenced(frame) || listed, "a page is in no set");
                }
            }
            Order::Linked(Linked { circle, .. }) => {
                circle.check_invariants(|frame| circle.weight(frame));
                let too_light = |frame| circle.weight(frame) < weight(frame, frames);
                assert!(!circle.iter().any(too_light), "a page weighs too little");
            }
        }
    }
}

impl Capabilities for Nru {
    const MINDS_LAST_WRITE_BACK: bool = false;
    const LOOKS_AHEAD: bool = true;
    const TAKES_MORE_PAGES: bool = true;

    fn loaded_clean<F: Frames>(&mut self, frame: Frame, frames: &F) {
        self.written_back(frame, frames);
    }

    fn made_dirty<F: Frames>(&mut self, frame: Frame, _: &F) {
        if let Order::InPlace(in_place) = &mut self.order {
            in_place.unreferenced_dirty.insert(frame);
        }
    }

    fn period(&self) -> Option<NonZeroU64> {
        self.period
    }

    fn tick<F: Frames>(&mut self, frames: &mut F) {
        match &mut self.order {
            Order::InPlace(in_place) => {
                for frame in in_place.ring.iter() {
                    frames.clear_bits(frame);
                    in_place.set_unreferenced(frame, frames.is_dirty(frame));
                }
            }
            Order::Linked(linked) => {
                let mut all = core::mem::take(&mut linked.passed);
                all.extend(linked.circle.iter());
                for frame in all.drain(..) {
                    frames.clear_bits(frame);
                    linked.circle.set_weight(frame, weight(frame, frames));
                }
                linked.passed = all;
            }
        }
    }
}

impl BitDriven for Nru {
    const HIT_BITS: HitBits = HitBits::Reference;
}
