//! Recounts everything: what must hold after every step.

use super::ftl::Ftl;
use super::geometry::{Block, LogicalPage, PhysicalPage};
use super::map::BlockState;

impl Ftl {
    /// Checks that each logical page maps to exactly one valid physical page and back, that counts of valid pages equal a recount,
    /// that erased blocks are empty and queued once, that the full blocks are the candidates, each in its place, and that no page
    /// lies in a pool to which it does not belong. For tests: it examines everything.
    ///
    /// # Errors
    ///
    /// What does not hold.
    pub fn check_invariants(&self) -> Result<(), String> {
        self.check_pages()?;
        (0..self.map.blocks.len()).try_for_each(|block| self.check_block(Block(block as u32)))?;
        self.pools.iter().try_for_each(|pool| {
            let blocks = pool.first.0 as usize..(pool.first.0 + pool.blocks) as usize;
            pool.candidates.check(pool.first, &self.map.blocks[blocks])
        })
    }

    fn is_valid(&self, page: PhysicalPage) -> bool {
        let (block, page_in_block) = self.map.place(page);
        let words = &self.map.valid[self.map.words(block)];
        words[page_in_block as usize / 64] >> (page_in_block % 64) & 1 == 1
    }

    fn check_pages(&self) -> Result<(), String> {
        for page in (0..self.map.physical.len() as u32).map(LogicalPage) {
            let Some(at) = self.map.find(page) else { continue };
            if !self.is_valid(at) || self.map.logical[at.0 as usize] != page.0 {
                return Err(format!("logical page {} is not at physical page {}", page.0, at.0));
            }
            let (block, _) = self.map.place(at);
            let pool = &self.pools[self.pool(page)];
            if !(pool.first.0..pool.first.0 + pool.blocks).contains(&block.0) {
                return Err(format!("logical page {} is in the pool of another", page.0));
            }
        }
        for page in (0..self.map.logical.len() as u32).map(PhysicalPage) {
            let holds = LogicalPage(self.map.logical[page.0 as usize]);
            if self.is_valid(page) && self.map.find(holds) != Some(page) {
                return Err(format!("physical page {} is valid and no page's place", page.0));
            }
        }
        Ok(())
    }

    fn check_block(&self, block: Block) -> Result<(), String> {
        let record = self.map.record(block);
        let words = &self.map.valid[self.map.words(block)];
        let valid_pages: u32 = words.iter().map(|word| word.count_ones()).sum();
        if valid_pages != u32::from(record.valid_pages) {
            return Err(format!("block {} counts its valid pages wrongly", block.0));
        }
        let empty = matches!(record.state, BlockState::Erased | BlockState::Retired);
        if empty && valid_pages > 0 {
            return Err(format!("block {} is erased and has valid pages", block.0));
        }
        let owner = |pool: &&super::pool::Pool| {
            (pool.first.0..pool.first.0 + pool.blocks).contains(&block.0)
        };
        let pool = self.pools.iter().find(owner).ok_or("a block is in no pool")?;
        let queued = pool.erased.iter().filter(|erased| **erased == block.0).count();
        if queued != usize::from(record.state == BlockState::Erased) {
            return Err(format!(
                "block {} is {queued} times in the queue of erased blocks",
                block.0
            ));
        }
        let frontiers = [pool.host, pool.relocation, pool.levelling];
        let open = frontiers.into_iter().any(|open| !open.is_none() && open.block == block);
        if open == (record.state == BlockState::Open) {
            Ok(())
        } else {
            Err(format!("block {} is open and not being written, or the reverse", block.0))
        }
    }
}
