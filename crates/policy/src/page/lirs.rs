//! # LIRS: low inter-reference recency set
//!
//! **What it keeps.** Pages in memory are *LIR* pages, at most `Llirs` of them, or *resident HIR* pages.
//! Stack `S` orders by last reference, the latest on top, all LIR pages and those HIR pages, in memory or
//! not, that were referenced since the LIR page at the bottom was. Queue `Q` holds the resident HIR pages.
//! Shown: `S` and its `LIR` pages, from the bottom, and `Q`, from the front.
//!
//! **Victim.** The page at the front of `Q`; if it is in `S` it stays there as a non-resident HIR page.
//!
//! The page that is loaded, or hit, is then put on top of `S`, wherever it was. *LIR page:* nothing else. *HIR
//! page that was in `S`* (hit or not): becomes a LIR page and leaves `Q`. If the LIR pages are then more than
//! `Llirs`, the one at the bottom of `S` leaves `S` and goes to the end of `Q` as a resident HIR page. *Any
//! other page:* on a hit it goes to the end of `Q`; when it is loaded, it becomes a LIR page if there are fewer
//! than `Llirs`, else a HIR page at the end of `Q`.
//!
//! Finally, on every reference, `S` is *pruned*: HIR pages at its bottom leave it, until a LIR page is at
//! the bottom or `S` is empty; those that are not in memory are forgotten.
//!
//! **On a write.** As on a read; a dirty page is not spared.
//!
//! **Parameters.** `hir_share`: `Lhirs`, the frames for resident HIR pages, as a share of all frames, rounded
//! down and at least 1 (default 1/100, as in the paper); `Llirs` is the rest.
//!
//! **Cost per hit and per victim.** A few list steps, constant on average: a page is pruned once for each
//! time that it enters `S`. 13 bytes per page of the footprint and 8 per frame.
//!
//! **Deviations from the paper.** None on its rules; with `Llirs` = 0, which the paper does not consider, `S` is always
//! empty and `Q` an LRU list. Stack `S` is not limited and can hold the whole footprint; some implementations limit it
//! (libCacheSim: to twice the frames). Pinned pages are passed over and keep their places. If all pages of `Q` are
//! pinned, or `Q` is empty because pages left out of turn, the unpinned LIR page nearest the bottom of `S` leaves. `S`
//! is then pruned. A page that leaves out of turn leaves `S` too.
//!
//! **Reference.** S. Jiang, X. Zhang: LIRS: an efficient low inter-reference recency set replacement policy
//! to improve buffer cache performance. SIGMETRICS 2002.

use alloc::vec;
use alloc::vec::Vec;

use super::{
    AccessDriven, Capabilities, Fault, Inspector, PagePolicy, first_unpinned, pages_of_share,
};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Parameter, Settings};
use crate::parts::{FrameList, Links, PageList};
use crate::{Frame, Frames, Op, PageId};

/// The parameter of LIRS and LIRS-WSR.
pub(super) const HIR_SHARE: Parameter = Parameter::share(
    "hir_share",
    "frames for resident HIR pages as a share of all frames",
    "1/100",
);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Lir,
    HirInStack,
    NotInStack,
}

/// The stack is a list of pages, since it holds some that have left; the queue is a list of frames.
#[derive(Clone, Debug)]
pub struct Lirs {
    most_lir_pages: u32,
    lir_pages: u32,
    stack: PageList,
    stack_links: Links<PageId>,
    status: Vec<Status>,
    frame_of_page: Vec<Frame>,
    queue: FrameList,
    queue_links: Links,
}

impl Cataloged for Lirs {
    const DESCRIPTION: Description = Description {
        name: "lirs",
        summary: "pages with a long time between their last two references leave",
        paper: "Jiang, Zhang 2002",
        parameters: &[HIR_SHARE],
        source: include_str!("lirs.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        Lirs {
            most_lir_pages: size.frames - pages_of_share(settings, "hir_share", size.frames),
            lir_pages: 0,
            stack: PageList::EMPTY,
            stack_links: Links::new(size.pages),
            status: vec![Status::NotInStack; size.pages as usize],
            frame_of_page: vec![Frame::NONE; size.pages as usize],
            queue: FrameList::EMPTY,
            queue_links: Links::new(size.frames),
        }
    }
}

impl Lirs {
    fn put_on_top(&mut self, page: PageId, status: Status) {
        match self.status[page.index()] {
            Status::NotInStack => self.stack.push_tail(&mut self.stack_links, page),
            _ => self.stack.move_to_tail(&mut self.stack_links, page),
        }
        self.status[page.index()] = status;
    }

    fn take_from_stack(&mut self, page: PageId) {
        self.stack.remove(&mut self.stack_links, page);
        self.status[page.index()] = Status::NotInStack;
    }

    /// Puts `page`, which is not a LIR page, on top of the stack as one. A LIR page at the bottom that `spares` goes
    /// there too instead of giving way; for each of them it must say no in the end.
    fn make_lir(&mut self, page: PageId, mut spares: impl FnMut(Frame) -> bool) {
        self.put_on_top(page, Status::Lir);
        self.lir_pages += 1;
        if self.lir_pages <= self.most_lir_pages {
            return;
        }
        loop {
            let bottom = self.stack.head();
            let frame = self.frame_of_page[bottom.index()];
            let comes_itself = bottom == page && self.lir_pages > 1;
            if !comes_itself && !spares(frame) {
                self.take_from_stack(bottom);
                self.lir_pages -= 1;
                return self.queue.push_tail(&mut self.queue_links, frame);
            }
            self.put_on_top(bottom, Status::Lir);
            self.prune();
        }
    }

    fn prune(&mut self) {
        while self.stack.len() > 0 && self.status[self.stack.head().index()] != Status::Lir {
            self.take_from_stack(self.stack.head());
        }
    }

    fn forget_lir(&mut self, page: PageId) {
        self.take_from_stack(page);
        self.lir_pages -= 1;
        self.prune();
    }

    /// The LIR page nearest the bottom that is not pinned, for want of a page in the queue.
    fn evict_lir<F: Frames>(&mut self, frames: &F) -> Frame {
        let victim = self.lir_frames().find(|&frame| !frames.is_pinned(frame));
        let victim = victim.expect("a frame is not pinned");
        self.forget_lir(frames.page(victim));
        victim
    }

    /// The page at the front of the queue that leaves; one that `spares` goes to the end instead.
    pub(super) fn take_victim<F: Frames>(
        &mut self,
        frames: &F,
        mut spares: impl FnMut(Frame) -> bool,
    ) -> Frame {
        let victim = loop {
            let Some(front) = first_unpinned(&self.queue, &self.queue_links, frames) else {
                break self.evict_lir(frames);
            };
            if !spares(front) {
                self.queue.remove(&mut self.queue_links, front);
                break front;
            }
            self.queue.move_to_tail(&mut self.queue_links, front);
        };
        self.frame_of_page[frames.page(victim).index()] = Frame::NONE;
        victim
    }

    /// `page` has been loaded into `frame`.
    pub(super) fn load(&mut self, page: PageId, frame: Frame, spares: impl FnMut(Frame) -> bool) {
        self.frame_of_page[page.index()] = frame;
        let was_in_stack = self.status[page.index()] == Status::HirInStack;
        if was_in_stack || self.lir_pages < self.most_lir_pages {
            self.make_lir(page, spares);
        } else {
            self.put_on_top(page, Status::HirInStack);
            self.queue.push_tail(&mut self.queue_links, frame);
        }
        self.prune();
    }

    /// `page` in `frame` is referenced.
    pub(super) fn touch(&mut self, page: PageId, frame: Frame, spares: impl FnMut(Frame) -> bool) {
        match self.status[page.index()] {
            Status::Lir => self.put_on_top(page, Status::Lir),
            Status::HirInStack => {
                self.queue.remove(&mut self.queue_links, frame);
                self.make_lir(page, spares);
            }
            Status::NotInStack => {
                self.put_on_top(page, Status::HirInStack);
                self.queue.move_to_tail(&mut self.queue_links, frame);
            }
        }
        self.prune();
    }

    /// The pages of the queue, from its front.
    pub(super) fn queued_frames(&self) -> impl Iterator<Item = Frame> + '_ {
        self.queue.iter(&self.queue_links)
    }

    /// Shows the stack, from its bottom.
    pub(super) fn inspect_stack(&self, inspector: &mut dyn Inspector) {
        inspector.ghosts("S", &mut self.stack.iter(&self.stack_links));
    }

    /// The LIR pages, from the bottom of the stack.
    pub(super) fn lir_frames(&self) -> impl Iterator<Item = Frame> + '_ {
        let lir_pages = self.stack.iter(&self.stack_links);
        let lir_pages = lir_pages.filter(|page| self.status[page.index()] == Status::Lir);
        lir_pages.map(|page| self.frame_of_page[page.index()])
    }
}

impl PagePolicy for Lirs {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        self.take_victim(frames, |_| false)
    }

    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, _: &mut F) {
        self.load(fault.page, frame, |_| false);
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, frames: &F) {
        let page = frames.page(frame);
        match self.status[page.index()] {
            Status::Lir => self.forget_lir(page),
            status => {
                self.queue.remove(&mut self.queue_links, frame);
                if status == Status::HirInStack {
                    self.take_from_stack(page);
                }
            }
        }
        self.frame_of_page[page.index()] = Frame::NONE;
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        self.inspect_stack(inspector);
        inspector.list("LIR", &mut self.lir_frames());
        inspector.list("Q", &mut self.queued_frames());
    }

    fn check_invariants<F: Frames>(&self, frames: &F) {
        self.stack.check_invariants(&self.stack_links);
        self.queue.check_invariants(&self.queue_links);
        let in_stack = self.status.iter().filter(|&&status| status != Status::NotInStack).count();
        assert_eq!(in_stack, self.stack.len() as usize, "a page's status is not that of its list");
        assert_eq!(self.lir_frames().count(), self.lir_pages as usize, "the number of LIR pages");
        assert!(self.lir_pages <= self.most_lir_pages, "too many LIR pages");
        if self.stack.len() > 0 {
            let bottom = self.status[self.stack.head().index()];
            assert_eq!(bottom, Status::Lir, "the stack is not pruned");
        }
        for frame in self.queued_frames() {
            let page = frames.page(frame).index();
            assert_ne!(self.status[page], Status::Lir, "a LIR page is in the queue");
            assert_eq!(self.frame_of_page[page], frame, "a page's frame is wrong");
        }
        for frame in self.lir_frames() {
            let page = frames.page(frame).index();
            assert_eq!(self.frame_of_page[page], frame, "a LIR page's frame is wrong");
        }
    }
}

impl Capabilities for Lirs {
    const TAKES_MORE_PAGES: bool = true;

    fn take_more_pages(&mut self, pages: u32) {
        self.stack_links.grow_to(PageId(pages - 1));
        self.status.resize(pages as usize, Status::NotInStack);
        self.frame_of_page.resize(pages as usize, Frame::NONE);
    }
}

impl AccessDriven for Lirs {
    const COUNTS_REFERENCES: bool = true;

    fn hit<F: Frames>(&mut self, _: Op, frame: Frame, frames: &F) {
        self.touch(frames.page(frame), frame, |_| false);
    }
}

#[cfg(test)]
mod tests {
    use crate::worked_examples::run;

    #[test]
    fn a_page_that_comes_back_while_it_is_in_the_stack_becomes_lir() {
        // Llirs 2. 3 is HIR and leaves for 4, but stays in S; 3 comes back: 4 leaves, 3 is LIR, 1 is HIR.
        let after = run("lirs", 3, "R1 W2 R3 R4 R3");
        assert_eq!(after.evicted, "3 4");
        assert_eq!(after.state, "S=[2 4 3] LIR=[2 3] Q=[1]");
    }

    #[test]
    fn a_hit_on_the_bottom_prunes_the_stack() {
        // 3 and 4 lie above 1; 1 moves to the top, then 2: pruned to 1 and 2, and 3 is forgotten.
        let after = run("lirs", 3, "R1 R2 R3 R4 R1");
        assert_eq!(after.state, "S=[2 3 4 1] LIR=[2 1] Q=[4]");
        let after = run("lirs", 3, "R1 R2 R3 R4 R1 R2");
        assert_eq!(after.state, "S=[1 2] LIR=[1 2] Q=[4]");
        // 4 is HIR and no longer in S: a hit puts it there, a second one makes it LIR in place of 1.
        let after = run("lirs", 3, "R1 R2 R3 R4 R1 R2 R4");
        assert_eq!(after.state, "S=[1 2 4] LIR=[1 2] Q=[4]");
        let after = run("lirs", 3, "R1 R2 R3 R4 R1 R2 R4 R4");
        assert_eq!(after.evicted, "3");
        assert_eq!(after.state, "S=[2 4] LIR=[2 4] Q=[1]");
    }

    #[test]
    fn without_lir_pages_the_queue_is_an_lru_list() {
        let after = run("lirs:hir_share=1", 3, "R1 R2 W3 R1 R4 R5");
        assert_eq!(after.evicted, "2 3*");
        assert_eq!(after.state, "S=[] LIR=[] Q=[1 4 5]");
    }
}
