//! # CREDIT-CLOCK: a clock that looks at a page again only when its credit has run out
//!
//! **What it keeps.** `2K + R + 1` FIFO lists (at least `2K + 3`) in a circle, the hand in one of them. A page
//! with credit `n` stands `n + 1` lists ahead of the hand, and the hand reaches it when all lists between are
//! empty: the credit is a number of rounds of the hand. The constant `K` is `max(4, c rounded)`; `c` is the
//! cost of a page write in page reads. Per page, a reference bit that the hardware sets on each hit, and a
//! level: how often in a row the hand found the page referenced. Shown: `from_hand`, all pages from the hand
//! on, and for each of them in `lists` how many lists it is ahead of the hand, in `levels` its level.
//!
//! **Victim.** The head of the hand's list, or of the next one that is not empty. With reference bit 0 the page
//! leaves, dirty or not: its credit is used up. With reference bit 1 it gets bit 0. If it is dirty, its level
//! rises by one, to 2 at most, and its credit is `K` times the level; if it is clean, its level rises by one,
//! to `R` at most, and its credit is the level.
//!
//! **On a write.** A hit sets the reference bit as a read does. A page that a write loads begins with level 1 and
//! credit `K`, one that a read loads with level 0 and none.
//!
//! **Parameters.**
//!
//! * `c`: the cost of a page write over that of a page read, at least 1 (default: that of the
//!   device; 8 for flash).
//!
//! * `k`: `K` itself, instead of `c`.
//!
//! * `clean_levels`: `R` (default 4).
//!
//! * `dirty_levels`: the highest level of a dirty page (default 2).
//!
//! * `new_dirty_share`: the credit of a page that a write loads, as a share of `K`, rounded down
//!   (default 1); with 0 its level is 0 too.
//!
//! The last three serve to measure what each part contributes.
//!
//! **Cost per hit and per victim.** One OR; constant on average per page that the hand examines, and no page is
//! examined before its credit has run out. The hand may step over as many empty lists as there are.
//!
//! **Deviations from the paper.** There is no paper: this is Clockhand's own policy, and `docs/policies.md` says
//! which of its parts are known from others. `K` is at most 255. A write-back without eviction changes
//! neither credit nor level. A pinned page at the hand goes to the next list with its bit untouched.
//!
//! **Reference.** Clockhand, docs/policies.md, 2026.

use alloc::vec;
use alloc::vec::Vec;

use super::ace::{LeavingOrder, unreferenced_first};
use super::{BitDriven, Capabilities, Fault, Inspector, PagePolicy};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::parts::{FrameList, Links};
use crate::{Frame, Frames, HitBits, Op, Ratio};

/// With a dearer write than this, dirty pages would stay for good, and the lists would outnumber the pages.
const MAX_K: u64 = 255;
/// Below this, a dirty page is not kept longer than a clean one that is referenced often.
const MIN_K: u64 = 4;

const fn count(
    name: &'static str,
    summary: &'static str,
    range: (u64, u64),
    default: Default,
) -> Parameter {
    let domain = Domain::Count { min: range.0, max: range.1 };
    Parameter { name, summary, domain, default, only_with: None }
}

/// Lists in a circle; the hand stands in the list `now`.
#[derive(Clone, Debug)]
pub struct CreditClock {
    links: Links,
    lists: Vec<FrameList>,
    now: usize,
    /// The list of the page in each frame.
    list_of: Vec<u16>,
    level_of: Vec<u8>,
    k: u16,
    clean_levels: u8,
    dirty_levels: u8,
    new_dirty_credit: u16,
}

impl Cataloged for CreditClock {
    const DESCRIPTION: Description = Description {
        name: "credit-clock",
        summary: "a clock that looks at a page again only when its credit has run out",
        paper: "Clockhand 2026",
        parameters: &[
            Parameter::WRITE_COST,
            count("k", "credit per level of a dirty page", (1, MAX_K), Default::InsteadOf("c")),
            count("clean_levels", "highest level of a clean page", (0, 64), Default::Value("4")),
            count("dirty_levels", "highest level of a dirty page", (1, 4), Default::Value("2")),
            Parameter::share(
                "new_dirty_share",
                "credit of a page that a write loads, as a share of k",
                "1",
            ),
        ],
        source: include_str!("credit_clock.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        let k = settings.count("k").unwrap_or_else(|| {
            let c = settings.ratio("c").expect("c has a default where k is not given");
            rounded(c).clamp(MIN_K, MAX_K)
        });
        let level = |name| settings.count(name).expect("a level has a default");
        let (clean_levels, dirty_levels) = (level("clean_levels"), level("dirty_levels"));
        let lists = dirty_levels * k + (clean_levels + 1).max(3);
        let new_dirty_share = settings.ratio("new_dirty_share").expect("a share has a default");
        CreditClock {
            links: Links::new(size.frames),
            lists: vec![FrameList::EMPTY; lists as usize],
            now: 0,
            list_of: vec![0; size.frames as usize],
            level_of: vec![0; size.frames as usize],
            k: k as u16,
            clean_levels: clean_levels as u8,
            dirty_levels: dirty_levels as u8,
            new_dirty_credit: new_dirty_share.floor_of(k as u32) as u16,
        }
    }
}

/// To the nearest whole number, a half upwards.
fn rounded(ratio: Ratio) -> u64 {
    let (numerator, denominator) = (ratio.numerator(), ratio.denominator());
    (2 * numerator + denominator) / (2 * denominator)
}

impl CreditClock {
    fn list_ahead(&self, steps: usize) -> usize {
        let list = self.now + steps;
        if list < self.lists.len() { list } else { list - self.lists.len() }
    }

    fn put(&mut self, frame: Frame, credit: u16) {
        let list = self.list_ahead(1 + usize::from(credit));
        self.list_of[frame.index()] = list as u16;
        self.lists[list].push_tail(&mut self.links, frame);
    }

    fn remove(&mut self, frame: Frame) {
        let list = usize::from(self.list_of[frame.index()]);
        self.lists[list].remove(&mut self.links, frame);
    }

    /// A page that the hand found referenced.
    fn renew(&mut self, frame: Frame, is_dirty: bool) {
        let highest = if is_dirty { self.dirty_levels } else { self.clean_levels };
        let level = (self.level_of[frame.index()] + 1).min(highest);
        self.level_of[frame.index()] = level;
        let per_level = if is_dirty { self.k } else { 1 };
        self.put(frame, per_level * u16::from(level));
    }

    /// The frames from the hand on, each with how many lists it is ahead of the hand.
    fn pages_ahead(&self) -> impl Iterator<Item = (usize, Frame)> + '_ {
        (0..self.lists.len()).flat_map(|steps| {
            let list = self.lists[self.list_ahead(steps)];
            list.iter(&self.links).map(move |frame| (steps, frame))
        })
    }
}

impl PagePolicy for CreditClock {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        loop {
            while self.lists[self.now].len() == 0 {
                self.now = self.list_ahead(1);
            }
            let frame = self.lists[self.now].head();
            self.remove(frame);
            if frames.is_pinned(frame) {
                self.put(frame, 0);
            } else if frames.is_referenced(frame) {
                frames.clear_bits(frame);
                self.renew(frame, frames.is_dirty(frame));
            } else {
                return frame;
            }
        }
    }

    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, _: &mut F) {
        let credit = if fault.op == Op::Write { self.new_dirty_credit } else { 0 };
        self.level_of[frame.index()] = u8::from(credit > 0);
        self.put(frame, credit);
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.remove(frame);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        inspector.ring("from_hand", &mut self.pages_ahead().map(|(_, frame)| frame));
        inspector.values("lists", &mut self.pages_ahead().map(|(steps, _)| steps as f64));
        let level = |(_, frame): (usize, Frame)| self.level_of[frame.index()].into();
        inspector.values("levels", &mut self.pages_ahead().map(level));
    }

    fn check_invariants<F: Frames>(&self, _: &F) {
        self.lists.iter().for_each(|list| list.check_invariants(&self.links));
        for (steps, frame) in self.pages_ahead() {
            let list = usize::from(self.list_of[frame.index()]);
            assert_eq!(list, self.list_ahead(steps), "a page's list");
            let highest = self.clean_levels.max(self.dirty_levels);
            assert!(self.level_of[frame.index()] <= highest, "a page's level");
        }
    }
}

impl Capabilities for CreditClock {
    const TAKES_MORE_PAGES: bool = true;
}

impl LeavingOrder for CreditClock {
    fn in_leaving_order<F: Frames>(&self, frames: &F) -> impl Iterator<Item = Frame> {
        unreferenced_first(|| self.pages_ahead().map(|(_, frame)| frame), frames)
    }
}

impl BitDriven for CreditClock {
    const HIT_BITS: HitBits = HitBits::Reference;
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use crate::worked_examples::run;

    #[test]
    fn a_dirty_page_is_looked_at_again_after_k_rounds() {
        // The example of docs/policies.md. W1 has credit 4 and stands five lists ahead.
        let after = run("credit-clock:k=4", 3, "W1 R2 R3");
        assert_eq!(after.state, "from_hand=[2 3 1] lists=[1 1 5] levels=[0 0 1]");
        // 2 is referenced, gets level 1 and credit 1; 3 leaves.
        let after = run("credit-clock:k=4", 3, "W1 R2 R3 R2 R4");
        assert_eq!(after.evicted, "3");
        assert_eq!(after.state, "from_hand=[4 2 1] lists=[1 2 4] levels=[0 1 1]");
    }

    #[test]
    fn the_credit_of_an_unreferenced_dirty_page_runs_out() {
        let after = run("credit-clock:k=4", 2, "W1 R2 R3 R4 R5 R6 R7");
        assert_eq!(after.evicted, "2 3 4 5 1*");
        assert_eq!(after.state, "from_hand=[6 7] lists=[0 1] levels=[0 0]");
    }

    #[test]
    fn without_levels_of_clean_pages_reads_are_served_as_by_clock() {
        let references = "R1 R2 R3 R1 R4 R2 R5 R1";
        let [own, clock] = ["credit-clock:clean_levels=0", "clock"].map(|p| run(p, 3, references));
        assert_eq!(own.evicted, clock.evicted);
    }

    #[test]
    fn k_is_c_rounded_but_4_at_least() {
        let lists = |policy: &str| run(policy, 1, "W1").state;
        for (policy, list) in
            [("c=1", 5), ("c=4.4", 5), ("c=4.5", 6), ("c=13.3", 14), ("c=9999", 256)]
        {
            let expected = format!("from_hand=[1] lists=[{list}] levels=[1]");
            assert_eq!(lists(&format!("credit-clock:{policy}")), expected);
        }
    }
}
