//! CLOCK-D: the clock of pages in DRAM.

use alloc::vec::Vec;

use super::media::Block;
use crate::buffer::mechanism::block::{BlockSlot, BlockTable};
use crate::buffer::{PageState, PagesPerBlock};
use crate::parts::{FrameList, Links, Listed};
use crate::{Frame, LogicalPage};

/// A page in DRAM. Its dirty and reference bits are in its block's masks. 32 bytes with its links.
#[derive(Clone, Copy, Debug)]
struct Held {
    page: LogicalPage,
    /// The place of its block, which stays known as long as it has a page here.
    slot: BlockSlot,
    /// The next frame that holds a page of the same block.
    next_of_block: Frame,
}

/// A page that has left the ring but is still here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departing {
    pub(super) page: LogicalPage,
    pub(super) slot: BlockSlot,
    frame: Frame,
}

/// A ring of pages whose head is under the hand, and the dirty ones again in the order they became dirty.
pub(super) struct ClockD {
    pub(super) capacity: u32,
    pages_per_block: PagesPerBlock,
    held: Vec<Held>,
    unused: Vec<Frame>,
    links: Links,
    ring: FrameList,
    dirty_links: Links,
    dirty: FrameList,
    departing: Option<Departing>,
}

impl ClockD {
    pub(super) fn new(capacity: u32, pages_per_block: PagesPerBlock) -> Self {
        ClockD {
            capacity,
            pages_per_block,
            held: Vec::new(),
            unused: Vec::new(),
            links: Links::new(0),
            ring: FrameList::EMPTY,
            dirty_links: Links::new(0),
            dirty: FrameList::EMPTY,
            departing: None,
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.ring.len() + u32::from(self.departing.is_some())
    }

    /// Returns whether a page has to leave, or is leaving, before one is added.
    #[inline]
    pub(super) fn needs_room(&self) -> bool {
        self.departing.is_some() || self.ring.len() >= self.capacity
    }

    pub(super) fn dirty_len(&self) -> u32 {
        self.dirty.len()
    }

    /// The page that is to leave, once it was chosen.
    #[inline]
    pub(super) fn departing(&self) -> Option<Departing> {
        self.departing
    }

    /// Chooses the page to leave: from the hand, a page with reference bit 1 gets bit 0, the first one with bit
    /// 0 leaves.
    #[inline(always)]
    pub(super) fn choose_victim(&mut self, blocks: &mut BlockTable<Block>) -> Departing {
        loop {
            let frame = self.ring.head();
            let Held { page, slot, .. } = self.held[frame.index()];
            let (block, bit) = (&mut blocks[slot], self.pages_per_block.bit(page));
            if block.referenced & bit == 0 {
                let departing = Departing { page, slot, frame };
                self.ring.remove(&mut self.links, frame);
                self.departing = Some(departing);
                return departing;
            }
            block.referenced &= !bit;
            self.ring.move_to_tail(&mut self.links, frame);
        }
    }

    /// Chooses the page that has been dirty for longest to leave, if one is dirty.
    pub(super) fn choose_oldest_dirty(&mut self) -> Option<Departing> {
        let frame = self.dirty.head();
        if frame != Frame::NONE {
            let Held { page, slot, .. } = self.held[frame.index()];
            self.ring.remove(&mut self.links, frame);
            self.departing = Some(Departing { page, slot, frame });
        }
        self.departing
    }

    /// The page that has been dirty for longest.
    pub(super) fn oldest_dirty(&self) -> Option<LogicalPage> {
        let frame = self.dirty.head();
        (frame != Frame::NONE).then(|| self.held[frame.index()].page)
    }

    /// Adds `page` of the block in `slot`, with reference bit 0, in the place that the hand reaches last.
    #[inline(always)]
    pub(super) fn add(
        &mut self,
        slot: BlockSlot,
        block: &mut Block,
        page: LogicalPage,
        dirty: bool,
    ) {
        assert!(self.len() < self.capacity, "DRAM is full");
        let held = Held { page, slot, next_of_block: block.first_frame };
        let frame = match self.unused.pop() {
            Some(frame) => {
                self.held[frame.index()] = held;
                frame
            }
            None => {
                let frame = Frame(self.held.len() as u32);
                self.held.push(held);
                self.links.grow_to(frame);
                self.dirty_links.grow_to(frame);
                frame
            }
        };
        let bit = self.pages_per_block.bit(page);
        block.first_frame = frame;
        block.dram |= bit;
        self.ring.push_tail(&mut self.links, frame);
        if dirty {
            block.dirty |= bit;
            self.dirty.push_tail(&mut self.dirty_links, frame);
        }
    }

    /// The frame that holds `page` and the one before it in the chain of its block.
    fn frames_of(&self, block: &Block, page: LogicalPage) -> (Frame, Frame) {
        let (mut before, mut frame) = (Frame::NONE, block.first_frame);
        while self.held[frame.index()].page != page {
            (before, frame) = (frame, self.held[frame.index()].next_of_block);
        }
        (before, frame)
    }

    /// `page`, which is here, is written.
    pub(super) fn set_dirty(&mut self, block: &mut Block, page: LogicalPage) {
        let bit = self.pages_per_block.bit(page);
        if block.dirty & bit == 0 {
            block.dirty |= bit;
            let (_, frame) = self.frames_of(block, page);
            self.dirty.push_tail(&mut self.dirty_links, frame);
        }
    }

    /// `page`, which is here, is on flash in this version.
    pub(super) fn set_clean(&mut self, block: &mut Block, page: LogicalPage) {
        let bit = self.pages_per_block.bit(page);
        if block.dirty & bit != 0 {
            block.dirty &= !bit;
            let (_, frame) = self.frames_of(block, page);
            self.dirty.remove(&mut self.dirty_links, frame);
        }
    }

    /// Removes `page`, which is here.
    #[inline(always)]
    pub(super) fn remove(&mut self, block: &mut Block, page: LogicalPage) {
        let bit = self.pages_per_block.bit(page);
        let (before, frame) = self.frames_of(block, page);
        if block.dirty & bit != 0 {
            self.dirty.remove(&mut self.dirty_links, frame);
        }
        let next = self.held[frame.index()].next_of_block;
        if before == Frame::NONE {
            block.first_frame = next;
        } else {
            self.held[before.index()].next_of_block = next;
        }
        if self.departing.is_some_and(|departing| departing.frame == frame) {
            self.departing = None;
        } else {
            self.ring.remove(&mut self.links, frame);
        }
        self.unused.push(frame);
        block.dram &= !bit;
        block.dirty &= !bit;
        block.referenced &= !bit;
    }

    /// The pages from the hand on.
    pub(super) fn pages_from_hand<'a>(
        &'a self,
        blocks: &'a BlockTable<Block>,
    ) -> impl Iterator<Item = PageState> + 'a {
        self.ring.iter(&self.links).map(move |frame| {
            let Held { page, slot, .. } = self.held[frame.index()];
            let (block, bit) = (&blocks[slot], self.pages_per_block.bit(page));
            PageState {
                page,
                dirty: block.dirty & bit != 0,
                referenced: block.referenced & bit != 0,
            }
        })
    }

    pub(super) fn check_invariants(&self, blocks: &BlockTable<Block>) {
        self.ring.check_invariants(&self.links);
        self.dirty.check_invariants(&self.dirty_links);
        assert!(self.len() <= self.capacity, "more pages than DRAM has place for");
        assert_eq!(self.held.len() - self.unused.len(), self.len() as usize, "frames in use");
        let dirty = self.pages_from_hand(blocks).filter(|page| page.dirty).count();
        assert_eq!(dirty, self.dirty.len() as usize, "the dirty pages are recounted");
        for state in self.pages_from_hand(blocks) {
            let slot = blocks.find(self.pages_per_block.block_of(state.page));
            let block = &blocks[slot.unwrap_or(BlockSlot::NONE)];
            assert_ne!(block.dram & self.pages_per_block.bit(state.page), 0, "a page's bit");
        }
    }
}
