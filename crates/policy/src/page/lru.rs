//! # LRU: least recently used
//!
//! **What it keeps.** A list of all pages in the order of their last reference.
//!
//! **Victim.** The page at the LRU end.
//!
//! **On a write.** Moves the page to the MRU end as a read does; a dirty page is not spared.
//!
//! **Parameters.** None.
//!
//! **Cost per hit and per victim.** One list move; constant.
//!
//! **Deviations from the paper.** None. A pinned page at the LRU end is passed over and keeps its place.
//!
//! **Reference.** R. L. Mattson, J. Gecsei, D. R. Slutz, I. L. Traiger: Evaluation techniques for storage
//! hierarchies. IBM Systems Journal 9(2), 1970.

use super::ace::LeavingOrder;
use super::{AccessDriven, Capabilities, Fault, Inspector, PagePolicy, first_unpinned};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::Settings;
use crate::parts::{FrameList, Links};
use crate::{Frame, Frames, Op};

/// A list threaded through the frames, from the LRU end to the MRU end.
#[derive(Clone, Debug)]
pub struct Lru {
    links: Links,
    list: FrameList,
}

impl Cataloged for Lru {
    const DESCRIPTION: Description = Description {
        name: "lru",
        summary: "the page whose last reference is longest ago leaves",
        paper: "Mattson, Gecsei, Slutz, Traiger 1970",
        parameters: &[],
        source: include_str!("lru.rs"),
    };

    fn build(_: &Settings, size: Size) -> Self {
        Lru { links: Links::new(size.frames), list: FrameList::EMPTY }
    }
}

impl PagePolicy for Lru {
    #[inline(always)]
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        let mut frame = self.list.head();
        while frames.is_pinned(frame) {
            frame = self.links.next(frame);
        }
        self.list.remove(&mut self.links, frame);
        frame
    }

    #[inline(always)]
    fn loaded<F: Frames>(&mut self, _: Fault, frame: Frame, _: &mut F) {
        self.list.push_tail(&mut self.links, frame);
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.list.remove(&mut self.links, frame);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        inspector.list("lru_to_mru", &mut self.list.iter(&self.links));
    }

    fn check_invariants<F: Frames>(&self, _: &F) {
        self.list.check_invariants(&self.links);
    }
}

impl Capabilities for Lru {
    const LOOKS_AHEAD: bool = true;
    const CAN_PEEK: bool = true;
    const TAKES_MORE_PAGES: bool = true;

    fn peek_victim<F: Frames>(&self, frames: &F) -> Option<Frame> {
        first_unpinned(&self.list, &self.links, frames)
    }
}

impl LeavingOrder for Lru {
    fn in_leaving_order<F: Frames>(&self, _: &F) -> impl Iterator<Item = Frame> {
        self.list.iter(&self.links)
    }
}

impl AccessDriven for Lru {
    #[inline(always)]
    fn hit<F: Frames>(&mut self, _: Op, frame: Frame, _: &F) {
        self.list.move_to_tail(&mut self.links, frame);
    }
}
