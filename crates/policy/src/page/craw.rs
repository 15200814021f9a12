//! # CRAW: CLOCK for read and write
//!
//! **What it keeps.** Three clocks: the read area `R`, and the write area in two parts, `W1` (temporal
//! locality, written once) and `W2` (write frequency, written more than once). A page may be in `R` and in one
//! of `W1` and `W2` at once. Each has a ghost list, `R'`, `W1'` and `W2'`, and a desired size. A read bit and
//! a write bit per page.
//!
//! **Victim.** `RECLAIM` takes the area with the largest ratio of current to desired size (ties: `R`, `W1`, `W2`). From
//! `R`: the page under the hand goes to `W1` if its write bit is set and it is in no write area. If its read bit is set
//! it goes to the tail of `R`, else it leaves `R` for `R'`. From `W1` and `W2` in the same way with the roles
//! exchanged, and a page whose write bit is set goes to the tail of `W2`. A page that has left all areas leaves memory;
//! until one does, `RECLAIM` is called again.
//!
//! **On a write.** A hit sets the write bit. A write fault goes to `W1`, or to `W2` if the page is in `W1'` or
//! `W2'`, which also enlarges the desired size of `W1` or `W2` by 1 and shrinks that of `R` by 1. A read fault
//! goes to `R`; every `c` such faults in `R'` enlarge `R` by 1 and shrink `W1` and `W2` by 1/2.
//!
//! **Parameters.**
//!
//! * `c`: the cost of a page write over that of a page read (default: the device's).
//!
//! * `ghosts`: what happens to the ghost entry of a page that a scan links again: `exclusive`
//!   removes it (default), `literal` keeps it.
//!
//! * `write_back`: when a page that leaves `W1` or `W2` but stays in `R` is written: when it leaves
//!   memory (`lazy`, default), or at once (`eager`).
//!
//! **Cost per hit and per victim.** One OR; constant on average, at most six steps per frame. 8 bytes per
//! page of the footprint (12 with literal ghosts) and up to 73 per frame.
//!
//! **Deviations from the paper.** The figure's 0/0 would end in an endless loop: an empty area has ratio 0. If
//! a scan empties `W1`, `RECLAIM` returns without a page. Sizes are exact rationals. The dirty state belongs
//! to the memory and is not the write bit. Ghosts of the write areas are trimmed in turns, `W1'` first.
//!
//! **Reference.** H. Lee, H. Bahn, K. G. Shin: Page replacement for write references in NAND flash based
//! virtual memory systems. JCSE 8(3), 2014, section IV and figure 9.

use alloc::vec;
use alloc::vec::Vec;

use super::{BitDriven, Capabilities, Fault, Inspector, PagePolicy};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::parts::{DesiredSizes, FrameQueue, GhostLists, has_ghosts};
use crate::{Frame, Frames, HitBits, Op, PageId};

/// The parameters of CRAW and CRAW-A.
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::WRITE_COST,
    Parameter {
        name: "ghosts",
        summary: "what happens to the ghost entry of a page that a scan links again",
        domain: Domain::Choice(&["exclusive", "literal"]),
        default: Default::Value("exclusive"),
        only_with: None,
    },
    Parameter {
        name: "write_back",
        summary: "when a page is written that leaves W1 or W2 but stays in R",
        domain: Domain::Choice(&["lazy", "eager"]),
        default: Default::Value("lazy"),
        only_with: None,
    },
];

/// The three areas; ties are broken in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Area {
    R = 0,
    W1 = 1,
    W2 = 2,
}

const AREAS: [Area; 3] = [Area::R, Area::W1, Area::W2];

/// The processor cannot predict what happens to a page, which depends on the reference and on the area. So a table
/// replaces branches.
impl Area {
    /// The area of a page that comes by a reference of this kind and is not remembered.
    #[inline]
    fn first_of(op: Op) -> Area {
        [Area::R, Area::W1][op as usize]
    }

    /// The references that keep a page in the area.
    #[inline]
    fn op(self) -> Op {
        [Op::Read, Op::Write, Op::Write][self as usize]
    }

    /// The references that bring a page of the area to the other side as well.
    #[inline]
    fn other_op(self) -> Op {
        [Op::Write, Op::Read, Op::Read][self as usize]
    }

    /// The area that a page of this area moves to when it was referenced again.
    #[inline]
    fn next(self) -> Area {
        [Area::R, Area::W2, Area::W2][self as usize]
    }
}

/// A set of areas that are in memory at once for a page: bit `area`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Membership(u8);

impl Membership {
    const NONE: Membership = Membership(0);

    #[inline]
    fn of(area: Area) -> Membership {
        Membership(1 << area as u8)
    }

    /// The areas of references of this kind.
    #[inline]
    fn of_side(op: Op) -> Membership {
        let write_areas = Membership(1 << Area::W1 as u8 | 1 << Area::W2 as u8);
        [Membership::of(Area::R), write_areas][op as usize]
    }

    #[inline]
    fn is_in_any(self, areas: Membership) -> bool {
        self.0 & areas.0 != 0
    }
}

/// CRAW's areas, ghosts and desired sizes.
#[derive(Clone, Debug)]
pub struct Craw {
    frames: u32,
    areas: [FrameQueue; 3],
    /// The areas that a page is in: `R`, one of `W1` and `W2`, or both.
    memberships: Vec<Membership>,
    ghosts: GhostLists<2, 3>,
    sizes: DesiredSizes,
    read_ghost_hits: u64,
    read_ghost_hits_needed: u64,
    trim_next: Area,
    ghosts_are_exclusive: bool,
    writes_back_eagerly: bool,
}

impl Cataloged for Craw {
    const DESCRIPTION: Description = Description {
        name: "craw",
        summary: "CLOCK for read and write: separate areas whose sizes follow ghost hits and cost",
        paper: "Lee, Bahn, Shin 2014",
        parameters: PARAMETERS,
        source: include_str!("craw.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        let c = settings.ratio("c").expect("c has a default");
        let ghosts_are_exclusive = settings.choice("ghosts") == "exclusive";
        let ghosts = GhostLists::new(size.pages);
        Craw {
            frames: size.frames,
            areas: core::array::from_fn(|_| FrameQueue::new()),
            memberships: vec![Membership::NONE; size.frames as usize],
            // Exclusive ghosts of W1' and W2' share a word, since no page can be in both.
            ghosts: if ghosts_are_exclusive { ghosts } else { ghosts.with_last_list_apart() },
            sizes: DesiredSizes::new(size.frames, c),
            read_ghost_hits: 0,
            read_ghost_hits_needed: c.ceil(),
            trim_next: Area::W1,
            ghosts_are_exclusive,
            writes_back_eagerly: settings.choice("write_back") == "eager",
        }
    }
}

/// How one call of `RECLAIM` ended.
enum Reclaimed {
    /// The page left its last area, and so leaves memory.
    Page(Frame),
    /// A page left this area but is in another one, or no page that can leave is left here: ask again.
    Nothing,
    /// All pages of the area are pinned.
    AllPinned,
}

impl Craw {
    /// The area to reclaim from, among those that are not `barred`.
    #[inline(always)]
    fn victim_area(&self, barred: [bool; 3]) -> Area {
        let ratio = |area: Area| {
            let len = if barred[area as usize] { 0 } else { self.areas[area as usize].len() };
            (area as usize, len)
        };
        let [r, w1, w2] = AREAS.map(ratio);
        let at_least = |first, second| self.sizes.ratio_at_least(first, second);
        if at_least(r, w1) && at_least(r, w2) {
            Area::R
        } else if at_least(w1, r) && at_least(w1, w2) {
            Area::W1
        } else {
            Area::W2
        }
    }

    #[inline(always)]
    fn reclaim<F: Frames>(&mut self, area: Area, frames: &mut F) -> Reclaimed {
        let mut scanned = false;
        loop {
            let queue = &self.areas[area as usize];
            if queue.len() == 0 {
                return Reclaimed::Nothing;
            }
            if frames.is_pinned(queue.head()) {
                return self.reclaim_passing_pinned(area, scanned, frames);
            }
            if let Some(reclaimed) = self.examine_head(area, frames) {
                return reclaimed;
            }
            scanned = true;
        }
    }

    /// `RECLAIM` from where the hand meets a pinned page, which goes to the tail.
    #[cold]
    fn reclaim_passing_pinned<F: Frames>(
        &mut self,
        area: Area,
        mut scanned: bool,
        frames: &mut F,
    ) -> Reclaimed {
        let mut pinned = 0;
        loop {
            let queue = &mut self.areas[area as usize];
            if queue.len() == 0 {
                return Reclaimed::Nothing;
            }
            if pinned == queue.len() {
                // The pages that the scan has moved from W1 to W2 may be the only ones that can leave.
                return if scanned { Reclaimed::Nothing } else { Reclaimed::AllPinned };
            }
            if frames.is_pinned(queue.head()) {
                let frame = queue.pop_head();
                queue.push_tail(frame);
                pinned += 1;
                continue;
            }
            if let Some(reclaimed) = self.examine_head(area, frames) {
                return reclaimed;
            }
            (pinned, scanned) = (0, true);
        }
    }

    /// The hand takes the page at the head of `area`, which goes on to the tail of `R` or `W2`, or leaves the area.
    #[inline(always)]
    fn examine_head<F: Frames>(&mut self, area: Area, frames: &mut F) -> Option<Reclaimed> {
        let frame = self.areas[area as usize].pop_head();
        let (op, other_op) = (area.op(), area.other_op());
        if frames.bit(other_op, frame) && !self.is_in_any(frame, Membership::of_side(other_op)) {
            self.link_again(Area::first_of(other_op), frame, frames.page(frame));
            frames.clear_bit(other_op, frame);
        }
        if !frames.bit(op, frame) {
            return Some(self.leave_area(area, frame, frames));
        }
        frames.clear_bit(op, frame);
        self.forget_membership(area, frame);
        self.link(area.next(), frame);
        None
    }

    /// The page that the hand has taken from `area` becomes its ghost.
    #[inline(always)]
    fn leave_area<F: Frames>(&mut self, area: Area, frame: Frame, frames: &mut F) -> Reclaimed {
        self.forget_membership(area, frame);
        match self.ghosts_are_exclusive {
            true => self.ghosts.push_new(area as usize, frames.page(frame)),
            false => self.ghosts.push(area as usize, frames.page(frame)),
        }
        if self.memberships[frame.index()] == Membership::NONE {
            return Reclaimed::Page(frame);
        }
        if self.writes_back_eagerly && area != Area::R {
            frames.request_write_back(frame);
        }
        Reclaimed::Nothing
    }

    /// The victim, where all pages of an area are pinned.
    #[cold]
    fn choose_victim_beside<F: Frames>(&mut self, pinned: Area, frames: &mut F) -> Frame {
        let mut barred = [false; 3];
        barred[pinned as usize] = true;
        loop {
            let area = self.victim_area(barred);
            match self.reclaim(area, frames) {
                Reclaimed::Page(frame) => return frame,
                Reclaimed::Nothing => barred = [false; 3],
                Reclaimed::AllPinned => barred[area as usize] = true,
            }
        }
    }

    #[inline]
    fn is_in_any(&self, frame: Frame, areas: Membership) -> bool {
        self.memberships[frame.index()].is_in_any(areas)
    }

    #[inline]
    fn forget_membership(&mut self, area: Area, frame: Frame) {
        self.memberships[frame.index()].0 &= !Membership::of(area).0;
    }

    /// Links a page, which is in no area of this side, at the tail of `area`. On a fault this is all: the
    /// ghost entry has been tested, and so removed, before.
    #[inline]
    fn link(&mut self, area: Area, frame: Frame) {
        self.areas[area as usize].push_tail(frame);
        self.memberships[frame.index()].0 |= Membership::of(area).0;
    }

    /// Links a page that a scan met on the other side, where it stays.
    #[inline(never)]
    fn link_again(&mut self, area: Area, frame: Frame, page: PageId) {
        self.link(area, frame);
        if self.ghosts_are_exclusive {
            match area {
                Area::R => _ = self.ghosts.remove(Area::R as usize, page),
                Area::W1 | Area::W2 => {
                    self.ghosts.remove(Area::W1 as usize, page);
                    self.ghosts.remove(Area::W2 as usize, page);
                }
            }
        }
    }

    /// A fault that belongs to the side of `op`: tests its ghosts, `W1'` before `W2'`, and links the page.
    #[inline(always)]
    pub(super) fn fault_to(&mut self, op: Op, page: PageId, frame: Frame) {
        match self.ghost_list(op, page) {
            Some(area) => self.come_back(area, page, frame),
            None => self.link(Area::first_of(op), frame),
        }
    }

    /// The area of this side whose ghost the page is.
    #[inline(always)]
    fn ghost_list(&self, op: Op, page: PageId) -> Option<Area> {
        let list = self.ghosts.list_in_word(op as usize, page);
        if !self.ghosts_are_exclusive && op == Op::Write && list.is_none() {
            return self.ghosts.contains(Area::W2 as usize, page).then_some(Area::W2);
        }
        list.map(|list| AREAS[list])
    }

    /// A ghost of `area` comes back: adapts the sizes and links the page.
    #[inline(never)]
    fn come_back(&mut self, area: Area, page: PageId, frame: Frame) {
        self.ghosts.remove(area as usize, page);
        self.link(area.next(), frame);
        if area != Area::R {
            self.sizes.enlarge(area as usize);
            return self.sizes.shrink(Area::R as usize, self.sizes.one_page());
        }
        self.read_ghost_hits += 1;
        if self.read_ghost_hits >= self.read_ghost_hits_needed {
            self.read_ghost_hits = 0;
            self.sizes.enlarge(Area::R as usize);
            self.sizes.shrink(Area::W1 as usize, self.sizes.half_page());
            self.sizes.shrink(Area::W2 as usize, self.sizes.half_page());
        }
    }

    /// Drops the oldest ghosts until each side, with its ghosts, has no more entries than there are frames.
    #[inline(always)]
    pub(super) fn trim_ghosts(&mut self) {
        let len = |area: Area| u64::from(self.areas[area as usize].len());
        let ghosts = |area: Area| u64::from(self.ghosts.len(area as usize));
        let (in_r, frames) = (len(Area::R), u64::from(self.frames));
        let written = len(Area::W1) + len(Area::W2) + ghosts(Area::W1) + ghosts(Area::W2);
        self.ghosts.shrink(Area::R as usize, frames.saturating_sub(in_r));
        for _ in frames..written {
            let kept = if self.trim_next == Area::W1 { Area::W2 } else { Area::W1 };
            let (dropped, kept) = match self.ghosts.len(self.trim_next as usize) {
                0 => (kept, self.trim_next),
                _ => (self.trim_next, kept),
            };
            if self.ghosts.len(dropped as usize) == 0 {
                return;
            }
            self.ghosts.drop_oldest(dropped as usize);
            self.trim_next = kept;
        }
    }
}

impl PagePolicy for Craw {
    #[inline(always)]
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        loop {
            let area = self.victim_area([false; 3]);
            match self.reclaim(area, frames) {
                Reclaimed::Page(frame) => return frame,
                Reclaimed::Nothing => {}
                Reclaimed::AllPinned => return self.choose_victim_beside(area, frames),
            }
        }
    }

    #[inline(always)]
    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, _: &mut F) {
        self.fault_to(fault.op, fault.page, frame);
        self.trim_ghosts();
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
        for area in AREAS {
            if self.is_in_any(frame, Membership::of(area)) {
                self.areas[area as usize].remove(frame);
            }
        }
        self.memberships[frame.index()] = Membership::NONE;
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        for (area, name) in AREAS.into_iter().zip(["R", "W1", "W2"]) {
            inspector.ring(name, &mut self.areas[area as usize].iter());
        }
        for (area, name) in AREAS.into_iter().zip(["gR", "gW1", "gW2"]) {
            inspector.ghosts(name, &mut self.ghosts.iter(area as usize));
        }
        for (size, name) in self.sizes.in_pages().into_iter().zip(["S_R", "S_W1", "S_W2"]) {
            inspector.value(name, size);
        }
        inspector.value("ghost_R_hits", self.read_ghost_hits as f64);
        inspector.value("turn", f64::from(self.trim_next as u8));
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        let desired = ["S_R_pages", "S_W1_pages", "S_W2_pages"];
        for (name, size) in desired.into_iter().zip(self.sizes.in_pages()) {
            show(name, size);
        }
        for (name, list) in ["R_pages", "W1_pages", "W2_pages"].into_iter().zip(&self.areas) {
            show(name, list.len().into());
        }
        for (area, name) in AREAS.into_iter().zip(["R_ghosts", "W1_ghosts", "W2_ghosts"]) {
            show(name, self.ghosts.len(area as usize).into());
        }
        show("R_ghost_hits", self.read_ghost_hits as f64);
    }

    fn check_invariants<F: Frames>(&self, frames: &F) {
        self.ghosts.check_invariants();
        for area in AREAS {
            let queue = &self.areas[area as usize];
            queue.check_invariants();
            for frame in queue.iter() {
                let side = Membership::of_side(area.op());
                let member = self.memberships[frame.index()].0 & side.0 == Membership::of(area).0;
                assert!(member, "a page is linked in an area that it is not a member of");
                let ghost = self.ghosts.contains(area as usize, frames.page(frame));
                assert!(
                    !(self.ghosts_are_exclusive && ghost),
                    "a page is in an area and in its ghosts"
                );
            }
        }
        let [r, w1, w2] = AREAS.map(|area| self.areas[area as usize].len());
        assert!(r <= self.frames && w1 + w2 <= self.frames, "an area has more pages than frames");
        self.sizes.check_invariants();
    }
}

impl Capabilities for Craw {
    has_ghosts!();
}

impl BitDriven for Craw {
    const HIT_BITS: HitBits = HitBits::Separate;
}
