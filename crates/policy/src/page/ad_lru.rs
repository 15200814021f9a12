//! # AD-LRU: adaptive double LRU
//!
//! **What it keeps.** Two LRU lists: `cold`, pages that were referenced once, and `hot`, pages that were referenced again
//! in memory. Their sizes adapt: a hit moves a page from one to the other. Each page has a reference flag
//! (`cold_referenced`, `hot_referenced`), set when it is loaded and by a hit.
//!
//! **Victim.** From `cold` if it has more than `min_cold_share` of the frames, else from `hot`. In that list the clean
//! page nearest the LRU end leaves. If all are dirty, the LRU page is examined: one whose flag is set loses the flag and
//! moves to the MRU end of its list; the first other one leaves.
//!
//! **On a write.** As on a read: a hit moves the page to the MRU end of `hot`. A page that is loaded goes to the MRU end
//! of `cold`.
//!
//! **Parameters.** `min_cold_share`: how many pages `cold` keeps, as a share of all frames, rounded down (default 1/10).
//!
//! **Cost per hit and per victim.** One list move; constant on average, since a page is spared once for each time that it
//! is referenced. Clean and dirty pages of a list are linked apart. 18 bytes per frame.
//!
//! **Deviations from the paper.** This is our reading: its text was not at hand. Public implementations agree on the
//! rules above; where the paper has a pointer to the first clean page, the clean pages are a list here. The paper tunes
//! the least size of the cold list by the workload; the default is the one that we found named for its tests. If the
//! list that should give the victim has no page that can leave, the other one gives it. A page that is written back
//! without leaving is clean at its place in the LRU order. Pinned pages are passed over and keep their places.
//!
//! **Reference.** P. Jin, Y. Ou, T. Härder, Z. Li: AD-LRU: an efficient buffer replacement algorithm for flash-based
//! databases. Data & Knowledge Engineering 72, 2012.

use alloc::vec;
use alloc::vec::Vec;

use super::{AccessDriven, Capabilities, Fault, Inspector, PagePolicy};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Parameter, Settings};
use crate::parts::KeyedLists;
use crate::{Frame, Frames, Op};

/// The numbers of the lists are sums of these: clean pages and dirty ones of the cold list, then of the hot one.
const COLD: usize = 0;
const HOT: usize = 2;
const CLEAN: usize = 0;
const DIRTY: usize = 1;

/// Four lists in the order of the last references, or of the chances given since.
#[derive(Clone, Debug)]
pub struct AdLru {
    lists: KeyedLists<u64, 4>,
    referenced: Vec<bool>,
    moves: u64,
    least_cold: u32,
}

impl Cataloged for AdLru {
    const DESCRIPTION: Description = Description {
        name: "ad-lru",
        summary: "two LRU lists, cold and hot, each of which gives up a clean page first",
        paper: "Jin, Ou, Härder, Li 2012",
        parameters: &[Parameter::share(
            "min_cold_share",
            "pages that the cold list keeps as a share of all frames",
            "1/10",
        )],
        source: include_str!("ad_lru.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        let share = settings.ratio("min_cold_share").expect("a share has a default");
        AdLru {
            lists: KeyedLists::new(size.frames),
            referenced: vec![false; size.frames as usize],
            moves: 0,
            least_cold: share.floor_of(size.frames) as u32,
        }
    }
}

impl AdLru {
    /// The page in `frame` goes to the MRU end of a list.
    fn push(&mut self, list: usize, frame: Frame, referenced: bool) {
        self.lists.remove(frame);
        self.moves += 1;
        self.referenced[frame.index()] = referenced;
        self.lists.push_tail(list, frame, self.moves);
    }

    /// The page of the cold or of the hot list that leaves, if one of it can leave.
    fn choose<F: Frames>(&mut self, heat: usize, frames: &F) -> Option<Frame> {
        let clean = self.lists.first_unpinned(heat + CLEAN, frames);
        clean.or_else(|| {
            let mut frame = self.lists.first_unpinned(heat + DIRTY, frames)?;
            while self.referenced[frame.index()] {
                self.push(heat + DIRTY, frame, false);
                frame = self.lists.first_unpinned(heat + DIRTY, frames)?;
            }
            Some(frame)
        })
    }

    /// The page in `frame` becomes clean or dirty where it is.
    fn set_dirty(&mut self, frame: Frame, dirty: bool) {
        if let Some(list) = self.lists.list_of(frame) {
            let heat = list - list % HOT;
            let list = heat + if dirty { DIRTY } else { CLEAN };
            self.lists.place(list, frame, self.lists.key(frame));
        }
    }

    /// The pages of the cold or of the hot list, from the LRU end.
    fn in_order(&self, heat: usize) -> impl Iterator<Item = Frame> + '_ {
        let mut clean = self.lists.iter(heat + CLEAN).peekable();
        let mut dirty = self.lists.iter(heat + DIRTY).peekable();
        core::iter::from_fn(move || match (clean.peek(), dirty.peek()) {
            (Some(&one), Some(&other)) if self.lists.key(one) > self.lists.key(other) => {
                dirty.next()
            }
            (Some(_), _) => clean.next(),
            (None, _) => dirty.next(),
        })
    }
}

impl PagePolicy for AdLru {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        let cold_pages = self.lists.len(COLD + CLEAN) + self.lists.len(COLD + DIRTY);
        let order = if cold_pages > self.least_cold { [COLD, HOT] } else { [HOT, COLD] };
        let victim = order.into_iter().find_map(|heat| self.choose(heat, frames));
        let victim = victim.expect("a page is not pinned");
        self.lists.remove(victim);
        victim
    }

    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, _: &mut F) {
        let dirt = if fault.op == Op::Write { DIRTY } else { CLEAN };
        self.push(COLD + dirt, frame, !fault.is_ahead());
    }

    fn written_back<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.set_dirty(frame, false);
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.lists.remove(frame);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        let flag = |frame: Frame| f64::from(u8::from(self.referenced[frame.index()]));
        inspector.list("cold", &mut self.in_order(COLD));
        inspector.values("cold_referenced", &mut self.in_order(COLD).map(flag));
        inspector.list("hot", &mut self.in_order(HOT));
        inspector.values("hot_referenced", &mut self.in_order(HOT).map(flag));
    }

    fn check_invariants<F: Frames>(&self, _: &F) {
        self.lists.check_invariants();
    }
}

impl Capabilities for AdLru {
    const TAKES_MORE_PAGES: bool = true;

    fn loaded_clean<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.set_dirty(frame, false);
    }

    fn made_dirty<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.set_dirty(frame, true);
    }
}

impl AccessDriven for AdLru {
    #[inline]
    fn hit<F: Frames>(&mut self, op: Op, frame: Frame, frames: &F) {
        let dirty = op == Op::Write || frames.is_dirty(frame);
        self.push(HOT + if dirty { DIRTY } else { CLEAN }, frame, true);
    }
}

#[cfg(test)]
mod tests {
    use crate::worked_examples::run;

    #[test]
    fn the_cold_list_gives_up_its_oldest_clean_page() {
        let after = run("ad-lru", 4, "R1 R1 W2 R3 R4 R5");
        assert_eq!(after.evicted, "3");
        assert_eq!(after.state, "cold=[2 4 5] cold_referenced=[1 1 1] hot=[1] hot_referenced=[1]");
    }

    #[test]
    fn a_cold_list_that_is_no_longer_than_its_least_size_gives_up_nothing() {
        let after = run("ad-lru:min_cold_share=1/2", 4, "R1 R1 W2 W2 R3 W4 R5");
        assert_eq!(after.evicted, "1");
        let after = run("ad-lru:min_cold_share=1/4", 4, "R1 R1 W2 W2 R3 W4 R5");
        assert_eq!(after.evicted, "3");
    }

    #[test]
    fn a_dirty_page_gets_a_second_chance_in_its_list() {
        // 1 and 2 lose their flags at W3, and then 1 leaves.
        let after = run("ad-lru", 2, "W1 W2 W3");
        assert_eq!(after.evicted, "1*");
        assert_eq!(after.state, "cold=[2 3] cold_referenced=[0 1] hot=[] hot_referenced=[]");
    }
}
