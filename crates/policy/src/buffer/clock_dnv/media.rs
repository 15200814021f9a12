//! Both memories: which page is where.

use super::clock_d::ClockD;
use super::clock_nv::ClockNv;
use crate::buffer::mechanism::block::{BlockSlot, BlockTable};
use crate::buffer::{Medium, Occupancy, PageState, PagesPerBlock};
use crate::{Frame, LogicalPage};

/// The pages of one block, in both memories: 48 bytes, and 31 in the circle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) block: u64,
    /// Pages in DRAM, those of them that are dirty, and their reference bits.
    pub(super) dram: u64,
    pub(super) dirty: u64,
    pub(super) referenced: u64,
    /// Pages in NVM, and how many they are.
    pub(super) nvm: u64,
    pub(super) nvm_pages: u8,
    pub(super) first_frame: Frame,
}

/// CLOCK-D and CLOCK-NV, and the blocks that they share.
pub(super) struct Media {
    pub(super) pages_per_block: PagesPerBlock,
    pub(super) blocks: BlockTable<Block>,
    pub(super) dram: ClockD,
    pub(super) nvm: ClockNv,
    /// Pages in both memories, which only `dram_copy` has.
    copied_pages: u32,
}

impl Media {
    pub(super) fn new(dram_pages: u32, nvm_pages: u32, pages_per_block: PagesPerBlock) -> Self {
        Media {
            pages_per_block,
            blocks: BlockTable::new(),
            dram: ClockD::new(dram_pages, pages_per_block),
            nvm: ClockNv::new(nvm_pages),
            copied_pages: 0,
        }
    }

    pub(super) fn occupancy(&self) -> Occupancy {
        Occupancy {
            dram_pages: self.dram.len(),
            nvm_pages: self.nvm.len(),
            dirty_pages: self.dram.dirty_len() + self.nvm.len() - self.copied_pages,
        }
    }

    #[inline]
    pub(super) fn find(&self, page: LogicalPage) -> Option<BlockSlot> {
        self.blocks.find(self.pages_per_block.block_of(page))
    }

    /// The slot of the block of `page`, which has a page in the buffer.
    pub(super) fn slot_of(&self, page: LogicalPage) -> BlockSlot {
        self.find(page).expect("the block of a buffered page is known")
    }

    pub(super) fn find_or_insert(&mut self, page: LogicalPage) -> BlockSlot {
        self.find(page).unwrap_or_else(|| self.insert(page))
    }

    /// Enters the block of `page`, which is not known.
    #[inline(always)]
    pub(super) fn insert(&mut self, page: LogicalPage) -> BlockSlot {
        let block = self.pages_per_block.block_of(page);
        let empty = Block {
            block,
            dram: 0,
            dirty: 0,
            referenced: 0,
            nvm: 0,
            nvm_pages: 0,
            first_frame: Frame::NONE,
        };
        self.blocks.insert(block, empty)
    }

    #[inline(always)]
    pub(super) fn forget_if_empty(&mut self, slot: BlockSlot) {
        let Block { block, dram, nvm, .. } = self.blocks[slot];
        if dram | nvm == 0 {
            self.blocks.remove(block, slot);
        }
    }

    /// Where the newest version of `page` of the block in `slot` is.
    #[inline]
    pub(super) fn medium_in(&self, slot: BlockSlot, page: LogicalPage) -> Option<Medium> {
        let (block, bit) = (&self.blocks[slot], self.pages_per_block.bit(page));
        if block.dram & bit != 0 {
            Some(Medium::Dram)
        } else {
            (block.nvm & bit != 0).then_some(Medium::Nvm)
        }
    }

    #[inline]
    pub(super) fn place_of(&self, page: LogicalPage) -> Option<Medium> {
        self.find(page).and_then(|slot| self.medium_in(slot, page))
    }

    pub(super) fn is_in_nvm(&self, page: LogicalPage) -> bool {
        let bit = self.pages_per_block.bit(page);
        self.find(page).is_some_and(|slot| self.blocks[slot].nvm & bit != 0)
    }

    /// The bit of `page` in the block in `slot`, if it is a page of that block.
    #[inline]
    pub(super) fn bit_in(&self, slot: BlockSlot, page: LogicalPage) -> u64 {
        let is_own = self.pages_per_block.block_of(page) == self.blocks[slot].block;
        if is_own { self.pages_per_block.bit(page) } else { 0 }
    }

    /// Writes `page` of the block in `slot` to NVM.
    #[inline(always)]
    pub(super) fn write_to_nvm(&mut self, slot: BlockSlot, page: LogicalPage) {
        let bit = self.pages_per_block.bit(page);
        self.nvm.write(slot, &mut self.blocks[slot], bit);
    }

    /// Removes `page` from NVM, and its block if nothing is left of it.
    pub(super) fn remove_from_nvm(&mut self, page: LogicalPage) {
        let (slot, bit) = (self.slot_of(page), self.pages_per_block.bit(page));
        self.copied_pages -= u32::from(self.blocks[slot].dram & bit != 0);
        self.nvm.remove(slot, &mut self.blocks[slot], bit);
        self.forget_if_empty(slot);
    }

    /// Adds `page` of the block in `slot` to DRAM.
    #[inline(always)]
    pub(super) fn add_to_dram(&mut self, slot: BlockSlot, page: LogicalPage, dirty: bool) {
        let block = &mut self.blocks[slot];
        let is_in_nvm = block.nvm & self.pages_per_block.bit(page) != 0;
        self.dram.add(slot, block, page, dirty);
        self.copied_pages += u32::from(is_in_nvm);
    }

    /// Removes `page` of the block in `slot` from DRAM; its block remains known.
    #[inline(always)]
    pub(super) fn remove_from_dram(&mut self, slot: BlockSlot, page: LogicalPage) {
        let bit = self.pages_per_block.bit(page);
        let block = &mut self.blocks[slot];
        self.copied_pages -= u32::from(block.nvm & bit != 0);
        self.dram.remove(block, page);
    }

    /// The pages in NVM of the block in `slot`, which has left the circle, are on flash.
    #[inline(always)]
    pub(super) fn forget_nvm_pages(&mut self, slot: BlockSlot) {
        let block = &mut self.blocks[slot];
        if block.dram & block.nvm != 0 {
            self.copied_pages -= (block.dram & block.nvm).count_ones();
        }
        self.nvm.forget_pages(block);
    }

    pub(super) fn check_invariants(&self, can_copy: bool) {
        self.dram.check_invariants(&self.blocks);
        self.nvm.check_invariants(&self.blocks);
        let in_both = |page: &PageState| self.is_in_nvm(page.page);
        let copied = self.dram.pages_from_hand(&self.blocks).filter(in_both);
        let mut pages = 0;
        for page in copied {
            assert!(can_copy, "DRAM and NVM are disjoint");
            assert!(page.dirty, "a copy of a page in NVM is newer");
            pages += 1;
        }
        assert_eq!(pages, self.copied_pages, "the pages in both are recounted");
    }
}
