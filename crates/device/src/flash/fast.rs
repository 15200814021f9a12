//! FAST: all data blocks share the log blocks.

use std::collections::VecDeque;

use super::block_mapped::LogPool;
use super::data_blocks::{BlockTurn, DataBlocks};
use super::error::WornOut;
use super::geometry::{Block, LogicalPage};
use super::map::Map;
use super::operations::FlashOperations;

/// A pool of data blocks, one log block for a sequence of overwrites, and log blocks for all other ones.
///
/// A page that cannot be written in place begins a sequence if it is the first of its block. It continues a sequence if
/// it is its next page. Otherwise it is appended to the newest of the other log blocks. If they are all in use, the
/// oldest is reclaimed: each data block with a last version there is merged into a new one.
#[derive(Debug, Clone)]
pub(super) struct FastPool {
    data: DataBlocks,
    sequential: Option<Sequence>,
    /// Most random log blocks.
    random_blocks: usize,
    /// Log blocks with pages of any data block, the oldest first.
    random: VecDeque<Block>,
    /// Pages of the newest of them.
    random_pages: u32,
}

/// The log block that holds the first pages of a logical block, in order.
#[derive(Debug, Clone, Copy)]
struct Sequence {
    logical_block: u32,
    block: Block,
    pages: u32,
}

impl LogPool for FastPool {
    fn new(data: DataBlocks, log_blocks: u32) -> FastPool {
        FastPool {
            data,
            sequential: None,
            random_blocks: log_blocks as usize - 1,
            random: VecDeque::new(),
            random_pages: 0,
        }
    }

    fn write<O: FlashOperations>(
        &mut self,
        page: LogicalPage,
        turn: &mut BlockTurn<'_, O>,
    ) -> Result<(), WornOut> {
        let place = self.data.numbering.place(page);
        let (logical_block, offset) = place;
        loop {
            if self.data.write_in_place(page, place, turn)? {
                return Ok(());
            }
            if offset == 0 {
                self.merge_sequence(turn);
                let block = self.data.take(turn.map)?;
                turn.program(page, block, 0);
                self.sequential = Some(Sequence { logical_block, block, pages: 1 });
                return Ok(());
            }
            match &mut self.sequential {
                Some(sequence) if sequence.logical_block == logical_block => {
                    if sequence.pages == offset {
                        turn.program(page, sequence.block, offset);
                        sequence.pages += 1;
                        return Ok(());
                    }
                    self.merge_sequence(turn);
                }
                _ => return self.append(page, turn),
            }
        }
    }

    fn data(&self) -> &DataBlocks {
        &self.data
    }

    fn memory_bytes(&self) -> usize {
        self.data.memory_bytes() + self.random.capacity() * size_of::<Block>()
    }

    fn check(&self, map: &Map) -> Result<(), String> {
        if self.random.len() > self.random_blocks {
            return Err("more random log blocks than there may be".to_owned());
        }
        let of_sequence = self.sequential.map(|sequence| sequence.block);
        let logs: Vec<Block> = self.random.iter().copied().chain(of_sequence).collect();
        self.data.check(map, &logs, |block, logical_block| match self.sequential {
            Some(sequence) if sequence.block == block => sequence.logical_block == logical_block,
            _ => true,
        })
    }
}

impl FastPool {
    /// Appends a page to the newest random log block.
    fn append<O: FlashOperations>(
        &mut self,
        page: LogicalPage,
        turn: &mut BlockTurn<'_, O>,
    ) -> Result<(), WornOut> {
        if self.random.is_empty() || self.random_pages == turn.map.pages_per_block {
            if self.random.len() == self.random_blocks {
                self.reclaim_oldest(turn)?;
            }
            self.random.push_back(self.data.take(turn.map)?);
            self.random_pages = 0;
        }
        let newest = *self.random.back().expect("one was just opened");
        turn.program(page, newest, self.random_pages);
        self.random_pages += 1;
        Ok(())
    }

    fn merge_sequence<O: FlashOperations>(&mut self, turn: &mut BlockTurn<'_, O>) {
        if let Some(Sequence { logical_block, block, pages }) = self.sequential.take() {
            self.data.merge_in_order(logical_block, block, pages, turn);
        }
    }

    fn reclaim_oldest<O: FlashOperations>(
        &mut self,
        turn: &mut BlockTurn<'_, O>,
    ) -> Result<(), WornOut> {
        let oldest = *self.random.front().expect("random log blocks are in use");
        while let Some(at) = turn.map.first_valid_page(oldest) {
            let page = LogicalPage(turn.map.logical[at.0 as usize]);
            let (logical_block, _) = self.data.numbering.place(page);
            self.data.merge_fully(logical_block, turn)?;
            if let Some(sequence) = self.sequential
                && sequence.logical_block == logical_block
            {
                self.data.erase(sequence.block, turn);
                self.sequential = None;
            }
        }
        self.random.pop_front();
        self.data.erase(oldest, turn);
        Ok(())
    }
}
