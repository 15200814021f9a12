//! # LRU-WSR: LRU with write sequence reordering
//!
//! **What it keeps.** An LRU list and a cold flag per page, 0 when the page is loaded.
//!
//! **Victim.** The LRU page is examined: a clean one leaves; a dirty and cold one leaves; a dirty one that is
//! not cold becomes cold and moves to the MRU end, and the new LRU page is examined.
//!
//! **On a write.** As on a read: the page moves to the MRU end and its cold flag is cleared.
//!
//! **Parameters.** None.
//!
//! **Cost per hit and per victim.** One list move; constant on average, at most one move per page.
//!
//! **Deviations from the paper.** "If it is a dirty page, LRU-WSR clears the cold flag": any hit clears it
//! here, which is the same, since a clean page's flag is 0. A pinned page at the LRU end keeps its place.
//!
//! **Reference.** H. Jung, H. Shim, S. Park, S. Kang, J. Cha: LRU-WSR: integration of LRU and writes sequence
//! reordering for flash memory. IEEE Transactions on Consumer Electronics 54(3), 2008.

use alloc::vec;
use alloc::vec::Vec;

use super::ace::LeavingOrder;
use super::{AccessDriven, Capabilities, Fault, Inspector, PagePolicy};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::Settings;
use crate::parts::{FrameList, Links};
use crate::{Frame, Frames, Op};

/// An LRU list and the cold flags of its pages.
#[derive(Clone, Debug)]
pub struct LruWsr {
    links: Links,
    list: FrameList,
    cold: Vec<bool>,
}

impl Cataloged for LruWsr {
    const DESCRIPTION: Description = Description {
        name: "lru-wsr",
        summary: "LRU that gives a dirty page one more round, unless it is cold",
        paper: "Jung, Shim, Park, Kang, Cha 2008",
        parameters: &[],
        source: include_str!("lru_wsr.rs"),
    };

    fn build(_: &Settings, size: Size) -> Self {
        LruWsr {
            links: Links::new(size.frames),
            list: FrameList::EMPTY,
            cold: vec![false; size.frames as usize],
        }
    }
}

impl PagePolicy for LruWsr {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        let mut frame = self.list.head();
        loop {
            let next = self.links.next(frame);
            if !frames.is_pinned(frame) {
                if !frames.is_dirty(frame) || self.cold[frame.index()] {
                    self.list.remove(&mut self.links, frame);
                    return frame;
                }
                self.cold[frame.index()] = true;
                self.list.move_to_tail(&mut self.links, frame);
            }
            frame = if next == Frame::NONE { self.list.head() } else { next };
        }
    }

    fn loaded<F: Frames>(&mut self, _: Fault, frame: Frame, _: &mut F) {
        self.cold[frame.index()] = false;
        self.list.push_tail(&mut self.links, frame);
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.list.remove(&mut self.links, frame);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        inspector.list("lru_to_mru", &mut self.list.iter(&self.links));
        let mut cold = self.list.iter(&self.links).filter(|frame| self.cold[frame.index()]);
        inspector.list("cold", &mut cold);
    }

    fn check_invariants<F: Frames>(&self, _: &F) {
        self.list.check_invariants(&self.links);
    }
}

impl Capabilities for LruWsr {
    const TAKES_MORE_PAGES: bool = true;
}

impl LeavingOrder for LruWsr {
    fn in_leaving_order<F: Frames>(&self, _: &F) -> impl Iterator<Item = Frame> {
        let of = |cold: bool| {
            self.list.iter(&self.links).filter(move |frame| self.cold[frame.index()] == cold)
        };
        of(true).chain(of(false))
    }
}

impl AccessDriven for LruWsr {
    #[inline]
    fn hit<F: Frames>(&mut self, _: Op, frame: Frame, _: &F) {
        self.cold[frame.index()] = false;
        self.list.move_to_tail(&mut self.links, frame);
    }
}
