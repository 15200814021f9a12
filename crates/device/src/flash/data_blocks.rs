//! Shared by the two mappings with log blocks: data blocks, where each page has a fixed place, and their merges with
//! versions elsewhere.

use std::collections::VecDeque;

use super::counts::MappingCounts;
use super::error::WornOut;
use super::geometry::{Block, Divisor, LogicalPage, PhysicalPage};
use super::map::{BlockState, Map};
use super::operations::{Cause, FlashOperations};

/// No block.
const NO_BLOCK: u32 = u32::MAX;

/// Which pages of the drive belong to a pool: page p to pool p mod pools, and there to logical block p div pools div pages per
/// block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbering {
    pub(super) pool: u32,
    pub(super) pools: u32,
    pub(super) logical_pages: u32,
    pages_per_block: u32,
    pool_divisor: Divisor,
    block_divisor: Divisor,
}

impl Numbering {
    pub(super) fn new(
        pool: u32,
        pools: u32,
        logical_pages: u32,
        pages_per_block: u32,
    ) -> Numbering {
        let (pool_divisor, block_divisor) = (Divisor::new(pools), Divisor::new(pages_per_block));
        Numbering { pool, pools, logical_pages, pages_per_block, pool_divisor, block_divisor }
    }

    /// A page's logical block, and its offset there.
    #[inline]
    pub(super) fn place(&self, page: LogicalPage) -> (u32, u32) {
        let (in_pool, _) = self.pool_divisor.divide(page.0);
        self.block_divisor.divide(in_pool)
    }

    /// The page at an offset of a logical block, unless the drive ends before it.
    #[inline]
    fn page(&self, logical_block: u32, offset: u32) -> Option<LogicalPage> {
        let in_pool =
            u64::from(logical_block) * u64::from(self.pages_per_block) + u64::from(offset);
        let page = in_pool * u64::from(self.pools) + u64::from(self.pool);
        (page < self.logical_pages.into()).then_some(LogicalPage(page as u32))
    }

    /// Logical blocks of the pool.
    pub(super) fn logical_blocks(&self) -> u32 {
        logical_blocks(self.pool, self.pools, self.logical_pages, self.pages_per_block)
    }
}

/// Logical blocks of a pool: its pages over those of a block, rounded up.
pub(super) fn logical_blocks(
    pool: u32,
    pools: u32,
    logical_pages: u32,
    pages_per_block: u32,
) -> u32 {
    let pages = logical_pages.saturating_sub(pool).div_ceil(pools);
    pages.div_ceil(pages_per_block)
}

/// What one request of the host may change and tell, beside the pool.
pub(super) struct BlockTurn<'a, O> {
    pub(super) map: &'a mut Map,
    pub(super) operations: &'a mut O,
    pub(super) endurance_erases: Option<u32>,
    pub(super) counts: &'a mut MappingCounts,
}

impl<O: FlashOperations> BlockTurn<'_, O> {
    /// The host's page is programmed into a block's page.
    #[inline]
    pub(super) fn program(&mut self, page: LogicalPage, block: Block, page_in_block: u32) {
        let to = PhysicalPage(self.map.first_page(block).0 + page_in_block);
        self.map.move_to(page, to);
        self.operations.program(to, page);
    }
}

/// The data blocks of a pool and its erased blocks.
#[derive(Debug, Clone)]
pub(super) struct DataBlocks {
    pub(super) numbering: Numbering,
    pub(super) first: Block,
    pub(super) blocks: u32,
    /// In the order they will be written.
    pub(super) erased: VecDeque<u32>,
    pub(super) blocks_retired: u32,
    /// By logical block: its data block.
    data: Vec<u32>,
    /// By logical block: pages of its data block up to the last one that is programmed.
    programmed: Vec<u32>,
}

impl DataBlocks {
    pub(super) fn new(first: Block, blocks: u32, numbering: Numbering) -> DataBlocks {
        let logical_blocks = numbering.logical_blocks() as usize;
        DataBlocks {
            numbering,
            first,
            blocks,
            erased: (first.0..first.0 + blocks).collect(),
            blocks_retired: 0,
            data: vec![NO_BLOCK; logical_blocks],
            programmed: vec![0; logical_blocks],
        }
    }

    /// An erased block to write to.
    pub(super) fn take(&mut self, map: &mut Map) -> Result<Block, WornOut> {
        let block = Block(self.erased.pop_front().ok_or(WornOut)?);
        map.record_mut(block).state = BlockState::Programmed;
        Ok(block)
    }

    pub(super) fn erase<O: FlashOperations>(&mut self, block: Block, turn: &mut BlockTurn<'_, O>) {
        if turn.map.erase(block, turn.endurance_erases) {
            self.blocks_retired += 1;
        } else {
            self.erased.push_back(block.0);
        }
        turn.operations.erase(Cause::Merge, block);
    }

    /// Programs a page at its fixed place in its data block if nothing is programmed there or behind. Says whether it did. A
    /// logical block without a data block gets one.
    #[inline]
    pub(super) fn write_in_place<O: FlashOperations>(
        &mut self,
        page: LogicalPage,
        (logical_block, offset): (u32, u32),
        turn: &mut BlockTurn<'_, O>,
    ) -> Result<bool, WornOut> {
        let index = logical_block as usize;
        if self.data[index] == NO_BLOCK {
            self.data[index] = self.take(turn.map)?.0;
        }
        if self.programmed[index] > offset {
            return Ok(false);
        }
        turn.program(page, Block(self.data[index]), offset);
        self.programmed[index] = offset + 1;
        Ok(true)
    }

    /// A log block with the first `pages` offsets of a logical block, in order, becomes its data block: a switch if it is full,
    /// or else partial, when the last versions of the other offsets are copied behind. The old data block is erased.
    pub(super) fn merge_in_order<O: FlashOperations>(
        &mut self,
        logical_block: u32,
        log: Block,
        pages: u32,
        turn: &mut BlockTurn<'_, O>,
    ) {
        let pages_per_block = self.numbering.pages_per_block;
        let mut programmed = pages;
        if pages == pages_per_block {
            turn.counts.switch_merges += 1;
        } else {
            turn.counts.partial_merges += 1;
            programmed = self.copy(logical_block, pages, log, turn).max(pages);
        }
        self.replace(logical_block, log, programmed, turn);
    }

    /// The last versions of all pages of a logical block are copied into a new block, which becomes its data block. The old one
    /// is erased.
    pub(super) fn merge_fully<O: FlashOperations>(
        &mut self,
        logical_block: u32,
        turn: &mut BlockTurn<'_, O>,
    ) -> Result<(), WornOut> {
        let new = self.take(turn.map)?;
        turn.counts.full_merges += 1;
        let programmed = self.copy(logical_block, 0, new, turn);
        self.replace(logical_block, new, programmed, turn);
        Ok(())
    }

    /// Copies the last versions of a logical block's offsets from `first` on to the same offsets of a block. Returns the one
    /// behind the last, or 0.
    fn copy<O: FlashOperations>(
        &mut self,
        logical_block: u32,
        first: u32,
        block: Block,
        turn: &mut BlockTurn<'_, O>,
    ) -> u32 {
        let mut end = 0;
        for offset in first..self.numbering.pages_per_block {
            let Some(page) = self.numbering.page(logical_block, offset) else { break };
            let Some(from) = turn.map.find(page) else { continue };
            let to = PhysicalPage(turn.map.first_page(block).0 + offset);
            turn.map.move_to(page, to);
            turn.operations.relocate(Cause::Merge, from, to, page);
            end = offset + 1;
        }
        end
    }

    fn replace<O: FlashOperations>(
        &mut self,
        logical_block: u32,
        block: Block,
        programmed: u32,
        turn: &mut BlockTurn<'_, O>,
    ) {
        let index = logical_block as usize;
        let old = std::mem::replace(&mut self.data[index], block.0);
        self.programmed[index] = programmed;
        self.erase(Block(old), turn);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        (self.erased.capacity() + self.data.len() + self.programmed.len()) * size_of::<u32>()
    }

    /// Checks that every block is erased, retired, a data block or one of `logs`, once. Every page must be at its place
    /// in its data block, or in a log block that takes it.
    pub(super) fn check(
        &self,
        map: &Map,
        logs: &[Block],
        takes: impl Fn(Block, u32) -> bool,
    ) -> Result<(), String> {
        let state_of = |block: u32| map.record(Block(block)).state;
        let in_state = |state| {
            let blocks = self.first.0..self.first.0 + self.blocks;
            blocks.filter(move |block| state_of(*block) == state).collect::<Vec<_>>()
        };
        let mut erased: Vec<u32> = self.erased.iter().copied().collect();
        erased.sort_unstable();
        if erased != in_state(BlockState::Erased) {
            return Err("the queue of erased blocks is not the erased ones".to_owned());
        }
        let data = self.data.iter().copied().filter(|block| *block != NO_BLOCK);
        let mut used: Vec<u32> = data.chain(logs.iter().map(|block| block.0)).collect();
        used.sort_unstable();
        if used != in_state(BlockState::Programmed) {
            return Err("a programmed block is neither a data block nor a log block".to_owned());
        }
        let pages =
            (self.numbering.pool..map.physical.len() as u32).step_by(self.numbering.pools as usize);
        for page in pages.map(LogicalPage) {
            let Some(at) = map.find(page) else { continue };
            let (logical_block, offset) = self.numbering.place(page);
            let (block, page_in_block) = map.place(at);
            let data = self.data[logical_block as usize];
            let programmed = self.programmed[logical_block as usize];
            let in_place = data == block.0 && page_in_block == offset && offset < programmed;
            let in_log = data != block.0 && logs.contains(&block) && takes(block, logical_block);
            if !in_place && !in_log {
                return Err(format!("page {} is neither in place nor in a log block", page.0));
            }
        }
        Ok(())
    }
}
