//! CLOCK-NV: the clock of blocks in NVM.

use super::media::Block;
use crate::buffer::BlockState;
use crate::buffer::mechanism::block::{BlockSlot, BlockTable};
use crate::parts::Circle;

/// A circle of blocks whose weight is their number of pages in NVM. Their marks are the reference bits.
pub(super) struct ClockNv {
    pub(super) capacity: u32,
    circle: Circle<BlockSlot>,
    pages: u32,
}

impl ClockNv {
    pub(super) fn new(capacity: u32) -> Self {
        ClockNv { capacity, circle: Circle::EMPTY, pages: 0 }
    }

    pub(super) fn len(&self) -> u32 {
        self.pages
    }

    pub(super) fn is_full(&self) -> bool {
        self.pages >= self.capacity
    }

    /// Adds the page of `bit`, or writes it where it is, and sets its block's reference bit.
    #[inline(always)]
    pub(super) fn write(&mut self, slot: BlockSlot, block: &mut Block, bit: u64) {
        if block.nvm & bit == 0 {
            assert!(!self.is_full(), "NVM is full");
            let is_new = block.nvm == 0;
            block.nvm |= bit;
            block.nvm_pages += 1;
            self.pages += 1;
            match is_new {
                true => self.circle.push_tail(slot, 1),
                false => self.circle.set_weight(slot, block.nvm_pages),
            }
        }
        self.circle.mark(slot);
    }

    /// A page of the block, which is here, was read.
    pub(super) fn set_referenced(&mut self, slot: BlockSlot) {
        self.circle.mark(slot);
    }

    /// Removes the page of `bit`, which is here; a block without a page leaves the circle.
    pub(super) fn remove(&mut self, slot: BlockSlot, block: &mut Block, bit: u64) {
        block.nvm &= !bit;
        block.nvm_pages -= 1;
        self.pages -= 1;
        if block.nvm == 0 {
            self.circle.remove(slot);
        } else {
            self.circle.set_weight(slot, block.nvm_pages);
        }
    }

    /// The block to leave: among those with the most pages, from the hand, one with reference bit 1 gets bit 0
    /// and is skipped, the first one with bit 0 leaves. It is out of the circle, its pages are still here, and
    /// the hand is on the block behind it.
    pub(super) fn choose_victim(&mut self) -> BlockSlot {
        self.circle.take_heaviest().expect("NVM that is full has a block")
    }

    /// The block under the hand leaves the circle, its pages are still here.
    pub(super) fn take_under_hand(&mut self) -> Option<BlockSlot> {
        let slot = self.circle.under_hand()?;
        self.circle.remove(slot);
        Some(slot)
    }

    /// The pages of a block that has left the circle are gone.
    pub(super) fn forget_pages(&mut self, block: &mut Block) {
        self.pages -= u32::from(block.nvm_pages);
        (block.nvm, block.nvm_pages) = (0, 0);
    }

    /// The blocks from the hand on.
    pub(super) fn blocks_from_hand<'a>(
        &'a self,
        blocks: &'a BlockTable<Block>,
    ) -> impl Iterator<Item = BlockState> + 'a {
        self.circle.iter().map(|slot| {
            let Block { block, nvm, .. } = blocks[slot];
            BlockState { block, present: nvm, dirty: nvm, referenced: self.circle.is_marked(slot) }
        })
    }

    pub(super) fn check_invariants(&self, blocks: &BlockTable<Block>) {
        let weight = |slot| blocks[slot].nvm.count_ones() as u8;
        self.circle.check_invariants(weight);
        let pages: u32 = self.circle.iter().map(|slot| blocks[slot].nvm.count_ones()).sum();
        assert_eq!(pages, self.pages, "the pages in NVM are recounted");
        assert!(pages <= self.capacity, "more pages than NVM has place for");
        let most = self.circle.iter().map(weight).max();
        let naive = self.circle.iter().find(|&slot| Some(weight(slot)) == most);
        assert_eq!(self.circle.first_heaviest(), naive, "the search begins as a naive scan");
    }
}
