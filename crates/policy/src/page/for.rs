//! # FOR: flash-based operation-aware replacement, in the way of FOR+
//!
//! **What it keeps.** For each page, of its *references* and of its *writes*: when the last one was, and the distance between
//! the last two. Time is the number of references. A write is a reference too, because it needs its page in memory. A page
//! can be *hot* in its references, in its writes, in both (`hot`) or in neither (`cold`). Each of these four classes has an LRU
//! list of its clean pages and one of its dirty ones, shown together. `reference_order` and `write_order` have the pages that
//! are hot in that operation, the one that has gone without it for longest first.
//!
//! **Victim.** Of the pages at the LRU ends of the eight lists, the one of least *weight*. A weight is a sum: 1 / (how far
//! apart its references are), `c` / (how far apart its writes are), and of a dirty page `c` / (time since its last reference),
//! for its write-back. How far apart operations are is the distance between the last two or the time since the last one,
//! whichever is longer; or that time alone if there was one. A page without writes has no summand for them. Of pages of
//! equal weight the one that has not moved for longest leaves.
//!
//! **On a write.** The page goes to the MRU end of its list of dirty pages, as after any reference if it is dirty. It becomes
//! hot in an operation of which it has a distance, if fewer pages are hot than may be, or if the hot page that has gone
//! without that operation for longest has gone without for longer than this distance. The latter then becomes cold in it, and
//! goes to the MRU end of its new list.
//!
//! **Parameters.**
//!
//! * `c`: cost of a page write over that of a page read, at least 1 (default: that of the device; 8 for flash).
//!
//! * `hot_share`: how many pages may be hot in an operation, as a share of all frames, rounded down (default 1/2).
//!
//! * `history`: whether a page that comes back has its former times (`keep`, default) or none (`forget`).
//!
//! **Cost per hit and per victim.** A few list moves, and at most eight weights for a victim; constant. 36 bytes per frame
//! and 32 per page.
//!
//! **Deviations from the paper.** This is our reading: its text was not at hand. It is established that a weight sums cost
//! times locality of reads and of writes, that the distance between operations and the time since the last one tell locality,
//! that a dirty page's write-back counts, and that FOR+ finds its victim in constant time by dividing pages into hot and cold
//! for each operation, in the way of LIRS. The formula, the division and the memory of pages that left are ours. A summand is
//! a whole number of 2^-30 / (denominator of `c`), rounded down. References to one page in direct succession count as one,
//! and as a write if one of them writes. A page that is read ahead counts as referenced for the first time. A page that is
//! written back without leaving goes to its place by its last move. Pinned pages are passed over and keep their places.
//!
//! **Reference.** Y. Lv, B. Cui, B. He, X. Chen: Operation-aware buffer management in flash-based systems. SIGMOD 2011.

use alloc::vec;
use alloc::vec::Vec;

use super::{AccessDriven, Capabilities, Fault, Inspector, PagePolicy};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::parts::{FrameList, KeyedLists, Links};
use crate::{Frame, Frames, Op, PageId, Ratio};

/// Each operation, and the part of a list's number that says that its pages are hot in it.
const REFERENCE: usize = 0;
const WRITE: usize = 1;
const HOT_IN: [usize; 2] = [2, 4];
/// The part of a list's number that says that its pages are dirty.
const DIRTY: usize = 1;

/// What a cost of 1 is counted in, over the denominator of `c`: three costs of up to 2^32 fit in 64 bits.
const UNIT: u64 = 1 << 30;

/// One operation on a page. Times are above 0, which stands for none.
#[derive(Clone, Copy, Debug)]
struct Operation {
    last: u64,
    distance: u64,
}

/// A page of which nothing is known.
const UNKNOWN: [Operation; 2] = [Operation { last: 0, distance: 0 }; 2];

impl Operation {
    fn happens(&mut self, now: u64) {
        if self.last > 0 {
            self.distance = (now - self.last).max(1);
        }
        self.last = now;
    }

    /// How far apart these operations are as seen from `now`; there was one.
    fn apart(&self, now: u64) -> u64 {
        (now - self.last).max(self.distance)
    }
}

/// The pages that are hot in an operation, in the order of that operation.
#[derive(Clone, Debug)]
struct Hot {
    list: FrameList,
    links: Links,
    is_hot: Vec<bool>,
}

impl Hot {
    fn new(frames: u32) -> Self {
        let is_hot = vec![false; frames as usize];
        Hot { list: FrameList::EMPTY, links: Links::new(frames), is_hot }
    }

    fn enter(&mut self, frame: Frame) {
        self.is_hot[frame.index()] = true;
        self.list.push_tail(&mut self.links, frame);
    }

    fn leave(&mut self, frame: Frame) {
        if core::mem::take(&mut self.is_hot[frame.index()]) {
            self.list.remove(&mut self.links, frame);
        }
    }
}

/// Eight lists in the order of the last moves, and what is known of pages, whether they are in memory or not.
#[derive(Clone, Debug)]
pub struct For {
    lists: KeyedLists<u64, 8>,
    moves: u64,
    hot: [Hot; 2],
    most_hot: u32,
    /// By page.
    known: Vec<[Operation; 2]>,
    keeps_history: bool,
    c: Ratio,
    now: u64,
    run: Run,
}

/// The references to one page in direct succession.
#[derive(Clone, Copy, Debug)]
struct Run {
    frame: Frame,
    writes: bool,
}

impl Cataloged for For {
    const DESCRIPTION: Description = Description {
        name: "for",
        summary: "the page leaves whose reads and writes, by their distances and costs, weigh least",
        paper: "Lv, Cui, He, Chen 2011",
        parameters: &[
            Parameter::WRITE_COST,
            Parameter::share(
                "hot_share",
                "pages that may be hot in an operation as a share of all frames",
                "1/2",
            ),
            Parameter {
                name: "history",
                summary: "whether a page that comes back has its former times",
                domain: Domain::Choice(&["keep", "forget"]),
                default: Default::Value("keep"),
                only_with: None,
            },
        ],
        source: include_str!("for.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        let share = settings.ratio("hot_share").expect("a share has a default");
        For {
            lists: KeyedLists::new(size.frames),
            moves: 0,
            hot: [REFERENCE, WRITE].map(|_| Hot::new(size.frames)),
            most_hot: share.floor_of(size.frames) as u32,
            known: vec![UNKNOWN; size.pages as usize],
            keeps_history: settings.choice("history") == "keep",
            c: settings.ratio("c").expect("c has a default"),
            now: 1,
            run: Run { frame: Frame::NONE, writes: false },
        }
    }
}

impl For {
    /// The page in `frame` goes to the MRU end of its list.
    fn push(&mut self, frame: Frame, is_dirty: bool) {
        self.lists.remove(frame);
        self.moves += 1;
        let list = self.list_for(frame, is_dirty);
        self.lists.push_tail(list, frame, self.moves);
    }

    fn list_for(&self, frame: Frame, is_dirty: bool) -> usize {
        let hot_in = |operation: usize| {
            if self.hot[operation].is_hot[frame.index()] { HOT_IN[operation] } else { 0 }
        };
        hot_in(REFERENCE) + hot_in(WRITE) + if is_dirty { DIRTY } else { 0 }
    }

    /// A page in memory is referenced or written at the present time.
    fn operate<F: Frames>(&mut self, operation: usize, frame: Frame, page: PageId, frames: &F) {
        let known = &mut self.known[page.index()][operation];
        known.happens(self.now);
        let distance = known.distance;
        let hot = &mut self.hot[operation];
        if hot.is_hot[frame.index()] {
            return hot.list.move_to_tail(&mut hot.links, frame);
        }
        if distance == 0 || self.most_hot == 0 {
            return;
        }
        if hot.list.len() < self.most_hot {
            return hot.enter(frame);
        }
        let coldest = hot.list.head();
        let last = self.known[frames.page(coldest).index()][operation].last;
        if distance < self.now - last {
            hot.leave(coldest);
            hot.enter(frame);
            self.push(coldest, frames.is_dirty(coldest));
        }
    }

    /// A reference to the page in `frame`; its first one in succession if `is_new`.
    fn refer<F: Frames>(&mut self, op: Op, frame: Frame, is_new: bool, frames: &F) {
        let page = frames.page(frame);
        if is_new {
            self.now += 1;
            self.run = Run { frame, writes: false };
            self.operate(REFERENCE, frame, page, frames);
        }
        if op == Op::Write && !self.run.writes {
            self.run.writes = true;
            self.operate(WRITE, frame, page, frames);
        }
    }

    /// What is lost per unit of time if the page in `frame` leaves at the next reference.
    fn weight(&self, page: PageId, is_dirty: bool) -> u64 {
        let (next, c) = (self.now + 1, self.c.numerator() * UNIT);
        let [reference, write] = &self.known[page.index()];
        let read = self.c.denominator() * UNIT / reference.apart(next);
        let written = if write.last > 0 { c / write.apart(next) } else { 0 };
        let write_back = if is_dirty { c / (next - reference.last) } else { 0 };
        read + written + write_back
    }

    fn remove<F: Frames>(&mut self, frame: Frame, frames: &F) {
        self.lists.remove(frame);
        self.hot.iter_mut().for_each(|hot| hot.leave(frame));
        if self.run.frame == frame {
            self.run.frame = Frame::NONE;
        }
        if !self.keeps_history {
            self.known[frames.page(frame).index()] = UNKNOWN;
        }
    }

    /// The page in `frame` becomes clean or dirty where it is.
    fn set_dirty(&mut self, frame: Frame, is_dirty: bool) {
        if self.lists.list_of(frame).is_some() {
            let list = self.list_for(frame, is_dirty);
            self.lists.place(list, frame, self.lists.key(frame));
        }
    }

    /// The pages of a class from the LRU end.
    fn in_order(&self, class: usize) -> impl Iterator<Item = Frame> + '_ {
        let mut clean = self.lists.iter(class).peekable();
        let mut dirty = self.lists.iter(class + DIRTY).peekable();
        core::iter::from_fn(move || match (clean.peek(), dirty.peek()) {
            (Some(&one), Some(&other)) if self.lists.key(one) > self.lists.key(other) => {
                dirty.next()
            }
            (Some(_), _) => clean.next(),
            (None, _) => dirty.next(),
        })
    }
}

impl PagePolicy for For {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        let ends = (0..8).filter_map(|list| {
            let frame = self.lists.first_unpinned(list, frames)?;
            let weight = self.weight(frames.page(frame), list & DIRTY != 0);
            Some((weight, self.lists.key(frame), frame))
        });
        let (_, _, victim) =
            ends.min_by_key(|&(weight, key, _)| (weight, key)).expect("a page is not pinned");
        self.remove(victim, frames);
        victim
    }

    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, frames: &mut F) {
        if fault.is_ahead() {
            let first = Operation { last: self.now, distance: 0 };
            self.known[fault.page.index()][REFERENCE] = first;
        } else {
            self.refer(fault.op, frame, true, frames);
        }
        self.push(frame, fault.op == Op::Write);
    }

    fn written_back<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.set_dirty(frame, false);
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, frames: &F) {
        self.remove(frame, frames);
        self.known[frames.page(frame).index()] = UNKNOWN;
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        let classes = ["cold", "hot_in_references", "hot_in_writes", "hot"];
        for (name, class) in classes.into_iter().zip([0, 2, 4, 6]) {
            inspector.list(name, &mut self.in_order(class));
        }
        for (name, hot) in ["reference_order", "write_order"].into_iter().zip(&self.hot) {
            inspector.list(name, &mut hot.list.iter(&hot.links));
        }
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("hot_in_references_pages", self.hot[REFERENCE].list.len().into());
        show("hot_in_writes_pages", self.hot[WRITE].list.len().into());
    }

    fn check_invariants<F: Frames>(&self, _: &F) {
        self.lists.check_invariants();
        for list in 0..8 {
            let belongs = |frame| self.list_for(frame, list & DIRTY != 0) == list;
            assert!(self.lists.iter(list).all(belongs), "a page is in the list of another class");
        }
        for hot in &self.hot {
            hot.list.check_invariants(&hot.links);
            let flags = hot.is_hot.iter().filter(|&&is_hot| is_hot).count();
            assert_eq!(flags, hot.list.len() as usize, "a hot page is in no list");
            assert!(hot.list.len() <= self.most_hot, "too many pages are hot");
        }
    }
}

impl Capabilities for For {
    const TAKES_MORE_PAGES: bool = true;

    fn take_more_pages(&mut self, pages: u32) {
        self.known.resize(pages as usize, UNKNOWN);
    }

    fn loaded_clean<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.set_dirty(frame, false);
    }

    fn made_dirty<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.set_dirty(frame, true);
    }
}

impl AccessDriven for For {
    #[inline]
    fn hit<F: Frames>(&mut self, op: Op, frame: Frame, frames: &F) {
        self.refer(op, frame, self.run.frame != frame, frames);
        self.push(frame, op == Op::Write || frames.is_dirty(frame));
    }
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned;
    use alloc::string::String;

    use crate::worked_examples::run;

    fn run_without_hot_pages(policy: &str, frames: u32, references: &str) -> (String, String) {
        let after = run(policy, frames, references);
        let pages = after.state.strip_suffix(NONE_HOT).expect("no page is hot");
        (after.evicted, pages.to_owned())
    }

    const NONE_HOT: &str =
        " hot_in_references=[] hot_in_writes=[] hot=[] reference_order=[] write_order=[]";

    #[test]
    fn a_page_that_was_written_weighs_more_than_one_that_was_read() {
        // When 4 comes, 1 weighs 1/3 + 8/3 + 8/3, since it is dirty, 2 only 1/2, and 3, which was read last, 1.
        let after = run_without_hot_pages("for:hot_share=0", 3, "W1 R2 R3 R4");
        assert_eq!(after, ("2".into(), "cold=[1 3 4]".into()));
    }

    #[test]
    fn a_dirty_page_leaves_before_one_that_was_just_read_when_it_is_old_enough() {
        // With c = 2 page 1 weighs 5/4 when 5 comes, and 5/5 when 6 does, which is less than 1, since its summands are rounded.
        let after = run_without_hot_pages("for:c=2,hot_share=0", 2, "W1 R2 R3 R4 R5 R6");
        assert_eq!(after, ("2 3 4 1*".into(), "cold=[5 6]".into()));
    }

    #[test]
    fn a_page_becomes_hot_and_the_coldest_hot_page_cold() {
        // Two pages may be hot. 3 is, by a distance of 2, when 1 has gone without a reference for 4.
        let after = run("for", 4, "R1 R2 R1 R2 R3 R4 R3");
        assert_eq!(
            after.state,
            "cold=[4 1] hot_in_references=[2 3] hot_in_writes=[] hot=[] reference_order=[2 3] write_order=[]"
        );
        // Its writes are another operation: 1 is hot in both.
        let after = run("for", 4, "W1 R2 W1");
        assert_eq!(
            after.state,
            "cold=[2] hot_in_references=[] hot_in_writes=[] hot=[1] reference_order=[1] write_order=[1]"
        );
    }

    #[test]
    fn a_page_that_comes_back_has_its_history_or_none() {
        let after = run("for", 2, "R1 R2 R3 R1");
        assert_eq!(after.evicted, "1 2");
        assert!(after.state.starts_with("cold=[3] hot_in_references=[1] "), "{}", after.state);
        let after = run("for:history=forget", 2, "R1 R2 R3 R1");
        assert!(after.state.starts_with("cold=[3 1] hot_in_references=[] "), "{}", after.state);
    }

    #[test]
    fn references_in_direct_succession_count_as_one() {
        let once = run("for", 4, "R1 R2 W1 R3 R1");
        for several in ["R1 R1 R2 W1 R3 R1", "R1 R2 R1 W1 R1 R3 R1", "R1 R2 R2 W1 W1 R3 R3 R1 R1"] {
            assert_eq!(run("for", 4, several).state, once.state, "{several}");
        }
    }
}
