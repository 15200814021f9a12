//! # ARC: adaptive replacement cache
//!
//! **What it keeps.** Two LRU lists: `T1` of pages referenced once, and `T2` of pages referenced again. The ghost lists
//! `B1` and `B2` of pages that left them, in the order of leaving. The target size `p` of `T1`, initially 0. Shown by
//! these names, each list from the LRU end or the oldest ghost.
//!
//! **Victim.** `x` is the incoming page, `c` the number of frames.
//!
//! * If `x` is in `B1`, `p` becomes `min(p +
//!   max(1, |B2| / |B1|), c)`, then `REPLACE`.
//!
//! * If `x` is in `B2`, `p` becomes `max(p - max(1, |B1| / |B2|), 0)`, then `REPLACE`.
//!
//! * If `x` is in neither and `|T1| = c`, the LRU page of `T1` leaves and is forgotten.
//!
//! * If `x` is in neither, `|T1| + |B1| = c` and `|T1| < c`, the oldest ghost of `B1` is dropped, then
//!   `REPLACE`.
//!
//! * If `x` is in neither and `|T1| + |B1| < c`, the oldest ghost of `B2` is dropped if the four lists hold
//!   `2c` pages, then `REPLACE`.
//!
//! In `REPLACE` the LRU page of `T1` leaves and becomes the newest ghost of `B1` if `T1` is not empty and
//! either `|T1| > p`, or `|T1| = p` and `x` is in `B2`. Else the LRU page of `T2` leaves and becomes the
//! newest ghost of `B2`. Then `x` goes to the MRU end of `T2` if it was in a ghost list, which forgets it,
//! else to the MRU end of `T1`.
//!
//! A hit moves its page to the MRU end of `T2`.
//!
//! **On a write.** As on a read; a dirty page is not spared.
//!
//! **Parameters.** None.
//!
//! **Cost per hit and per victim.** One list move; constant.
//!
//! **Deviations from the paper.** None: the listing of FAST '03. `|B2| / |B1|` is real division, `p` is binary64 and
//! evaluated in the written order, and the lengths are taken before `x` leaves its ghost list. If pages leave out of
//! turn, or several at once, `p` moves once for each incoming page, and each load of a page that is in no list drops
//! ghosts as long as the listing would drop one. Only unpinned pages count when the listing tests whether a list is
//! empty: if the list that `REPLACE` would take has none, it takes the other one.
//!
//! **Reference.** N. Megiddo, D. S. Modha: ARC: a self-tuning, low overhead replacement cache. FAST 2003.

use super::{AccessDriven, Capabilities, Fault, Inspector, PagePolicy};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::Settings;
use crate::parts::{GhostLists, TwoLists, has_ghosts};
use crate::{Frame, Frames, Op, PageId};

/// Numbers of the lists.
const T1: usize = 0;
const T2: usize = 1;
/// Numbers of the ghost lists: those of the lists that their pages left.
const B1: usize = T1;
const B2: usize = T2;

/// The two LRU lists, their ghosts and `T1`'s target size.
#[derive(Clone, Debug)]
pub struct Arc {
    frames: u32,
    /// `T1` and `T2`.
    lists: TwoLists,
    /// `B1` and `B2`.
    ghosts: GhostLists<1, 2>,
    p: f64,
    /// The page that comes, between the word of it and the choice of a victim.
    incoming: Option<PageId>,
    /// The ghost for which `p` has been moved already, until it comes.
    adapted_for: Option<PageId>,
}

impl Cataloged for Arc {
    const DESCRIPTION: Description = Description {
        name: "arc",
        summary: "adaptive balance of recency and frequency, by ghost hits",
        paper: "Megiddo, Modha 2003",
        parameters: &[],
        source: include_str!("arc.rs"),
    };

    fn build(_: &Settings, size: Size) -> Self {
        Arc {
            frames: size.frames,
            lists: TwoLists::new(size.frames),
            ghosts: GhostLists::new(size.pages),
            p: 0.0,
            incoming: None,
            adapted_for: None,
        }
    }
}

impl Arc {
    /// Moves `p` for a page that is in this ghost list, once.
    #[inline]
    fn adapt(&mut self, page: PageId, list: usize) {
        if self.adapted_for.replace(page) == Some(page) {
            return;
        }
        let (len_b1, len_b2) = (f64::from(self.ghosts.len(B1)), f64::from(self.ghosts.len(B2)));
        self.p = match list {
            B1 => (self.p + (len_b2 / len_b1).max(1.0)).min(self.frames.into()),
            _ => (self.p - (len_b1 / len_b2).max(1.0)).max(0.0),
        };
    }

    /// The listing's Cases II and III, for a page that is in this ghost list.
    #[inline(never)]
    fn make_room_for_ghost<F: Frames>(&mut self, page: PageId, list: usize, frames: &F) -> Frame {
        self.adapt(page, list);
        self.replace(list == B2, frames)
    }

    /// The listing's Case IV, for a page that is in no list.
    #[inline(always)]
    fn make_room_for_new_page<F: Frames>(&mut self, frames: &F) -> Frame {
        if self.lists.len(T1) == self.frames {
            let victim = self.first_unpinned(T1, frames).expect("a frame is not pinned");
            self.lists.remove(victim);
            return victim;
        }
        self.trim_ghosts();
        self.replace(false, frames)
    }

    /// Makes room in the lists for a page that is in none of them.
    #[inline(always)]
    fn trim_ghosts(&mut self) {
        let (frames, in_t1) = (u64::from(self.frames), u64::from(self.lists.len(T1)));
        self.ghosts.shrink(B1, (frames - 1).saturating_sub(in_t1));
        let others = in_t1 + u64::from(self.lists.len(T2)) + u64::from(self.ghosts.len(B1));
        self.ghosts.shrink(B2, (2 * frames - 1).saturating_sub(others));
    }

    /// The listing's `REPLACE`.
    #[inline(always)]
    fn replace<F: Frames>(&mut self, comes_from_b2: bool, frames: &F) -> Frame {
        let len_t1 = f64::from(self.lists.len(T1));
        let from_t1 = len_t1 > self.p || (comes_from_b2 && len_t1 == self.p);
        let mut list = if from_t1 { T1 } else { T2 };
        let victim = self.first_unpinned(list, frames).unwrap_or_else(|| {
            list = T1 + T2 - list;
            self.first_unpinned(list, frames).expect("a frame is not pinned")
        });
        self.lists.remove(victim);
        self.ghosts.push_new(list, frames.page(victim));
        victim
    }

    #[inline(always)]
    fn first_unpinned<F: Frames>(&self, list: usize, frames: &F) -> Option<Frame> {
        if self.lists.len(list) == 0 || frames.is_pinned(self.lists.head(list)) {
            return self.first_unpinned_behind_head(list, frames);
        }
        Some(self.lists.head(list))
    }

    #[cold]
    fn first_unpinned_behind_head<F: Frames>(&self, list: usize, frames: &F) -> Option<Frame> {
        self.lists.iter(list).find(|&frame| !frames.is_pinned(frame))
    }

    /// A ghost of this list has come back, to `frame`.
    #[inline(never)]
    fn come_back(&mut self, page: PageId, list: usize, frame: Frame) {
        self.adapt(page, list);
        self.ghosts.remove(list, page);
        self.adapted_for = None;
        self.lists.push_tail(T2, frame);
    }
}

impl PagePolicy for Arc {
    #[inline(always)]
    fn make_room_for(&mut self, page: PageId) {
        self.incoming = Some(page);
    }

    /// A driver that does not know which page comes is answered as for one that is in no list.
    #[inline(always)]
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        let ghost = self.incoming.take().and_then(|page| Some((page, self.ghosts.list_of(page)?)));
        match ghost {
            Some((page, list)) => self.make_room_for_ghost(page, list, frames),
            None => self.make_room_for_new_page(frames),
        }
    }

    #[inline(always)]
    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, _: &mut F) {
        if let Some(list) = self.ghosts.list_of(fault.page) {
            return self.come_back(fault.page, list, frame);
        }
        self.trim_ghosts();
        self.adapted_for = None;
        self.lists.push_tail(T1, frame);
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.lists.remove(frame);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        inspector.list("T1", &mut self.lists.iter(T1));
        inspector.list("T2", &mut self.lists.iter(T2));
        inspector.ghosts("B1", &mut self.ghosts.iter(B1));
        inspector.ghosts("B2", &mut self.ghosts.iter(B2));
        inspector.value("p", self.p);
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("p_pages", self.p);
        show("T1_pages", self.lists.len(T1).into());
        show("T2_pages", self.lists.len(T2).into());
        show("B1_ghosts", self.ghosts.len(B1).into());
        show("B2_ghosts", self.ghosts.len(B2).into());
    }

    fn check_invariants<F: Frames>(&self, frames: &F) {
        self.ghosts.check_invariants();
        let in_l1 = self.lists.len(T1) + self.ghosts.len(B1);
        assert!(in_l1 <= self.frames, "T1 and B1 exceed the frames");
        let in_all = u64::from(in_l1) + u64::from(self.lists.len(T2) + self.ghosts.len(B2));
        assert!(in_all <= 2 * u64::from(self.frames), "the lists exceed twice the frames");
        assert!((0.0..=f64::from(self.frames)).contains(&self.p), "p is out of range");
        self.lists.check_invariants();
        for frame in self.lists.iter(T1).chain(self.lists.iter(T2)) {
            let page = frames.page(frame);
            let is_ghost = self.ghosts.contains(B1, page) || self.ghosts.contains(B2, page);
            assert!(!is_ghost, "a page in memory is a ghost");
        }
    }
}

impl Capabilities for Arc {
    has_ghosts!();
}

impl AccessDriven for Arc {
    #[inline(always)]
    fn hit<F: Frames>(&mut self, _: Op, frame: Frame, _: &F) {
        self.lists.move_to_tail_of_1(frame);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::Memory;
    use crate::memory::fast::FastMemory;
    use crate::worked_examples::run;

    #[test]
    fn ghost_hits_move_the_target_and_choose_the_list() {
        // 1 is referenced again. 4: |T1| = 2 > 0, so 2 leaves for B1.
        let after = run("arc", 3, "R1 R2 R3 R1 R4");
        assert_eq!(after.evicted, "2");
        assert_eq!(after.state, "T1=[3 4] T2=[1] B1=[2] B2=[] p=0");
        // 2 is in B1: p = 1, |T1| = 2 > 1, so 3 leaves. 5: |T1| + |B1| = 2 < 3, the lists hold 4; |T1| = 1 is not
        // above p and 5 is not in B2: 1 leaves for B2.
        let after = run("arc", 3, "R1 R2 R3 W1 R4 R2 R5");
        assert_eq!(after.evicted, "2 3 1*");
        assert_eq!(after.state, "T1=[4 5] T2=[2] B1=[3] B2=[1] p=1");
        // 1 is in B2: p = 0 and 4 leaves for B1. 3 is in B1, of two: p = 1; |T1| = 1 is not above it: 2 leaves.
        let after = run("arc", 3, "R1 R2 R3 W1 R4 R2 R5 R1 R3");
        assert_eq!(after.evicted, "2 3 1* 4 2");
        assert_eq!(after.state, "T1=[5] T2=[1 3] B1=[4] B2=[2] p=1");
    }

    #[test]
    fn a_driver_that_does_not_know_which_page_comes_is_answered_as_for_a_new_one() {
        let policy = Arc::build(&Settings::new(vec![]), Size { frames: 2, pages: 4 });
        let mut memory = Memory::new(2, 4, policy);
        for page in [1, 2, 3].map(PageId) {
            while memory.is_full() {
                let victim = memory.propose_victim().expect("nothing is pinned");
                assert_eq!(memory.frames().page(victim), PageId(1));
                memory.commit_eviction();
            }
            memory.load(Fault::new(page, Op::Read));
            memory.check_invariants();
        }
    }

    #[test]
    fn a_first_list_that_fills_memory_leaves_no_ghost() {
        let after = run("arc", 2, "R1 W2 R3 R4");
        assert_eq!(after.evicted, "1 2*");
        assert_eq!(after.state, "T1=[3 4] T2=[] B1=[] B2=[] p=0");
    }

    #[test]
    fn a_ghost_hit_in_b2_takes_from_a_first_list_of_the_target_size() {
        // 2, then 3 come back from B1, so p = 2. 1 is in B2: p = 1 = |T1|, and 4 leaves, not 2 of T2.
        let after = run("arc", 3, "R1 R2 R3 R1 R4 R2 R3 R1");
        assert_eq!(after.evicted, "2 3 1 4");
        assert_eq!(after.state, "T1=[] T2=[2 3 1] B1=[4] B2=[] p=1");
    }
}
