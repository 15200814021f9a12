//! # CCF-LRU: cold clean pages leave first
//!
//! **What it keeps.** Two LRU lists. `cold_clean` has clean pages that were referenced once. `mixed` has all others, each
//! with a cold flag (`cold`).
//!
//! **Victim.** The LRU page of `cold_clean`. If there is none, the LRU page of `mixed` is examined: a cold one leaves; a
//! dirty one becomes cold and moves to the MRU end of `mixed`; a clean one goes to `cold_clean`; then the next one is
//! examined. If that leaves no page in `mixed`, the LRU page of `cold_clean` leaves after all.
//!
//! **On a write.** A page that a write loads goes to the MRU end of `mixed`, one that a read loads to that of
//! `cold_clean`. A hit of either kind moves its page to the MRU end of `mixed` and clears its cold flag.
//!
//! **Parameters.** `new_dirty`: whether a page that a write loads is `hot` (default), so that it gets a second chance, or
//! `cold`, so that it leaves when it comes to the LRU end of `mixed`.
//!
//! **Cost per hit and per victim.** One list move; constant on average, since a page of `mixed` is spared once for each
//! time that it is referenced. 10 bytes per frame.
//!
//! **Deviations from the paper.** This is our reading: its text was not at hand. Public implementations agree on the
//! rules above. Of those that we read, one loads written pages hot and one cold, hence the parameter. The paper has no
//! write-back without eviction: such a page stays in its list, and a cold one leaves from there, clean. So does a page
//! of `cold_clean` that becomes dirty without a reference. Pinned pages are passed over and keep their places.
//!
//! **Reference.** Z. Li, P. Jin, X. Su, K. Cui, L. Yue: CCF-LRU: a new buffer replacement algorithm for flash memory.
//! IEEE Transactions on Consumer Electronics 55(3), 2009.

use alloc::vec;
use alloc::vec::Vec;

use super::{AccessDriven, Capabilities, Fault, Inspector, PagePolicy};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::parts::TwoLists;
use crate::{Frame, Frames, Op};

/// Numbers of the lists.
const COLD_CLEAN: usize = 0;
const MIXED: usize = 1;

/// The two lists, and which pages of the mixed one are cold.
#[derive(Clone, Debug)]
pub struct CcfLru {
    lists: TwoLists,
    cold: Vec<bool>,
    new_dirty_is_cold: bool,
}

impl Cataloged for CcfLru {
    const DESCRIPTION: Description = Description {
        name: "ccf-lru",
        summary: "clean pages that were referenced once leave first, then dirty ones after a second chance",
        paper: "Li, Jin, Su, Cui, Yue 2009",
        parameters: &[Parameter {
            name: "new_dirty",
            summary: "whether a page that a write loads gets a second chance",
            domain: Domain::Choice(&["hot", "cold"]),
            default: Default::Value("hot"),
            only_with: None,
        }],
        source: include_str!("ccf_lru.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        CcfLru {
            lists: TwoLists::new(size.frames),
            cold: vec![false; size.frames as usize],
            new_dirty_is_cold: settings.choice("new_dirty") == "cold",
        }
    }
}

impl CcfLru {
    /// The page of the mixed list that leaves; those that are examined before it are spared.
    fn choose_mixed<F: Frames>(&mut self, frames: &F) -> Option<Frame> {
        let mut next = self.lists.first(MIXED);
        while let Some(frame) = next {
            // A page that is spared may be the next one, since it goes to the end of the list.
            next = self.lists.next(frame);
            if frames.is_pinned(frame) {
                continue;
            }
            if self.cold[frame.index()] {
                return Some(frame);
            }
            self.lists.remove(frame);
            self.cold[frame.index()] = true;
            let list = if frames.is_dirty(frame) { MIXED } else { COLD_CLEAN };
            self.lists.push_tail(list, frame);
            next = next.or_else(|| self.lists.first(MIXED));
        }
        None
    }
}

impl PagePolicy for CcfLru {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        let unpinned =
            |lists: &TwoLists| lists.iter(COLD_CLEAN).find(|&frame| !frames.is_pinned(frame));
        let victim = unpinned(&self.lists)
            .or_else(|| self.choose_mixed(frames))
            .or_else(|| unpinned(&self.lists))
            .expect("a page is not pinned");
        self.lists.remove(victim);
        victim
    }

    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, _: &mut F) {
        let wrote = fault.op == Op::Write;
        self.cold[frame.index()] = !wrote || self.new_dirty_is_cold;
        self.lists.push_tail(if wrote { MIXED } else { COLD_CLEAN }, frame);
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.lists.remove(frame);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        inspector.list("cold_clean", &mut self.lists.iter(COLD_CLEAN));
        inspector.list("mixed", &mut self.lists.iter(MIXED));
        let cold = |frame: Frame| f64::from(u8::from(self.cold[frame.index()]));
        inspector.values("cold", &mut self.lists.iter(MIXED).map(cold));
    }

    fn check_invariants<F: Frames>(&self, _: &F) {
        self.lists.check_invariants();
        let is_cold = |frame: Frame| self.cold[frame.index()];
        assert!(self.lists.iter(COLD_CLEAN).all(is_cold), "a hot page is among the cold ones");
    }
}

impl Capabilities for CcfLru {
    const TAKES_MORE_PAGES: bool = true;
}

impl AccessDriven for CcfLru {
    #[inline]
    fn hit<F: Frames>(&mut self, _: Op, frame: Frame, _: &F) {
        self.cold[frame.index()] = false;
        self.lists.move_to_tail_of_1(frame);
    }
}

#[cfg(test)]
mod tests {
    use crate::worked_examples::run;

    #[test]
    fn cold_clean_pages_leave_before_all_others() {
        // 2 was referenced once and only read; 1 was written, 3 read twice.
        let after = run("ccf-lru", 3, "W1 R2 R3 R3 R4");
        assert_eq!(after.evicted, "2");
        assert_eq!(after.state, "cold_clean=[4] mixed=[1 3] cold=[0 0]");
    }

    #[test]
    fn a_hot_dirty_page_becomes_cold_and_a_hot_clean_one_cold_clean() {
        // At W3 the dirty 1 becomes cold, 2 goes among the cold clean ones, and 1, met again, leaves.
        let after = run("ccf-lru", 2, "W1 R2 R2 W3");
        assert_eq!(after.evicted, "1*");
        assert_eq!(after.state, "cold_clean=[2] mixed=[3] cold=[0]");
    }

    #[test]
    fn a_written_page_that_is_loaded_cold_leaves_without_a_second_chance() {
        let after = run("ccf-lru:new_dirty=cold", 2, "W1 W2 R2 W3");
        assert_eq!(after.evicted, "1*");
        assert_eq!(after.state, "cold_clean=[] mixed=[2 3] cold=[0 1]");
    }

    #[test]
    fn where_all_pages_are_clean_and_hot_the_first_that_was_cooled_leaves() {
        let after = run("ccf-lru", 2, "R1 R2 R2 R1 R3");
        assert_eq!(after.evicted, "2");
        assert_eq!(after.state, "cold_clean=[1 3] mixed=[] cold=[]");
    }
}
