//! BAST: a log block belongs to one data block.

use super::block_mapped::LogPool;
use super::data_blocks::{BlockTurn, DataBlocks};
use super::error::WornOut;
use super::geometry::{Block, LogicalPage};
use super::index_lists::IndexLists;
use super::map::Map;
use super::operations::FlashOperations;

/// A pool of data blocks and of log blocks that each take the overwrites of one of them.
///
/// A page that cannot be written in place is appended to the log block of its data block. If all log blocks are in use,
/// the one that was written least recently is merged with its data block; a full one is merged too, and the page begins
/// again.
#[derive(Debug, Clone)]
pub(super) struct BastPool {
    data: DataBlocks,
    log_blocks: u32,
    in_use: u32,
    /// By logical block: its log block.
    logs: Vec<Option<Log>>,
    /// Logical blocks with a log block, the least recently written one first.
    written: IndexLists,
}

/// A log block.
#[derive(Debug, Clone, Copy)]
struct Log {
    block: Block,
    pages: u32,
    /// True if page i holds offset i, as far as it goes.
    is_in_order: bool,
}

const WRITTEN: u32 = 0;

impl LogPool for BastPool {
    fn new(data: DataBlocks, log_blocks: u32) -> BastPool {
        let logical_blocks = data.numbering.logical_blocks();
        BastPool {
            data,
            log_blocks,
            in_use: 0,
            logs: vec![None; logical_blocks as usize],
            written: IndexLists::new(logical_blocks, 1),
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
            let mut log = match self.logs[logical_block as usize] {
                Some(log) if log.pages == turn.map.pages_per_block => {
                    self.merge(logical_block, turn)?;
                    continue;
                }
                Some(log) => log,
                None => self.open(turn)?,
            };
            turn.program(page, log.block, log.pages);
            log.is_in_order &= log.pages == offset;
            log.pages += 1;
            self.logs[logical_block as usize] = Some(log);
            self.written.remove(logical_block);
            self.written.push_back(WRITTEN, logical_block);
            return Ok(());
        }
    }

    fn data(&self) -> &DataBlocks {
        &self.data
    }

    fn memory_bytes(&self) -> usize {
        self.data.memory_bytes() + self.written.memory_bytes() + size_of_val(&*self.logs)
    }

    fn check(&self, map: &Map) -> Result<(), String> {
        let logs: Vec<Block> = self.logs.iter().flatten().map(|log| log.block).collect();
        if logs.len() != self.in_use as usize || self.in_use > self.log_blocks {
            return Err("log blocks are counted wrongly".to_owned());
        }
        self.data.check(map, &logs, |block, logical_block| {
            self.logs[logical_block as usize].is_some_and(|log| log.block == block)
        })
    }
}

impl BastPool {
    /// A new log block.
    fn open<O: FlashOperations>(&mut self, turn: &mut BlockTurn<'_, O>) -> Result<Log, WornOut> {
        if self.in_use == self.log_blocks {
            let oldest = self.written.front(WRITTEN).expect("log blocks are in use");
            self.merge(oldest, turn)?;
        }
        let block = self.data.take(turn.map)?;
        self.in_use += 1;
        Ok(Log { block, pages: 0, is_in_order: true })
    }

    fn merge<O: FlashOperations>(
        &mut self,
        logical_block: u32,
        turn: &mut BlockTurn<'_, O>,
    ) -> Result<(), WornOut> {
        let log = self.logs[logical_block as usize].expect("it has a log block");
        if log.is_in_order {
            self.data.merge_in_order(logical_block, log.block, log.pages, turn);
        } else {
            self.data.merge_fully(logical_block, turn)?;
            self.data.erase(log.block, turn);
        }
        self.logs[logical_block as usize] = None;
        self.written.remove(logical_block);
        self.in_use -= 1;
        Ok(())
    }
}
