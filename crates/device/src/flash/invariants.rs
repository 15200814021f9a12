//! Recounts everything: what must hold after every step.

use super::block_mapped::{BlockMapped, LogPool};
use super::dftl::Dftl;
use super::ftl::{Ftl, Mapped};
use super::geometry::{Block, LogicalPage, PhysicalPage};
use super::map::{BlockState, Map};
use super::page_mapped::PageMapped;
use super::pool::Pool;

impl Ftl {
    /// Checks everything, for tests. Each logical page maps to exactly one valid physical page and back. Counts of
    /// valid pages equal a recount. Each block is in one state and queued accordingly. Exactly the full blocks are
    /// candidates for collection, each in its place. No page lies where it does not belong.
    ///
    /// # Errors
    ///
    /// What does not hold.
    pub fn check_invariants(&self) -> Result<(), String> {
        match &self.mapped {
            Mapped::Page(mapped) => mapped.check(),
            Mapped::Bast(mapped) => mapped.check(),
            Mapped::Fast(mapped) => mapped.check(),
            Mapped::Dftl(mapped) => mapped.check(),
            Mapped::Zoned(mapped) => mapped.check(),
        }
    }
}

impl PageMapped {
    fn check(&self) -> Result<(), String> {
        self.map.check()?;
        let in_slc = |block, index: usize| self.slc.get(index).is_some_and(|slc| slc.has(block));
        check_pages(&self.map, &self.pools, |page| self.pool(page), in_slc)?;
        self.pools.iter().try_for_each(|pool| check_blocks(&self.map, pool))?;
        let state_of = |block| self.map.record(block).state;
        self.slc.iter().try_for_each(|slc| slc.check(state_of))
    }
}

impl Dftl {
    fn check(&self) -> Result<(), String> {
        let region = &self.translation;
        self.map.check()?;
        region.map.check()?;
        self.cache.check()?;
        check_pages(&self.map, &self.pools, |page| self.pool(page), |_, _| false)?;
        check_pages(&region.map, &region.pools, |page| region.pool(page), |_, _| false)?;
        self.pools.iter().try_for_each(|pool| check_blocks(&self.map, pool))?;
        region.pools.iter().try_for_each(|pool| check_blocks(&region.map, pool))
    }
}

impl<P: LogPool> BlockMapped<P> {
    fn check(&self) -> Result<(), String> {
        self.map.check()?;
        self.pools.iter().try_for_each(|pool| pool.check(&self.map))
    }
}

impl Map {
    fn is_valid(&self, page: PhysicalPage) -> bool {
        let (block, page_in_block) = self.place(page);
        let words = &self.valid[self.words(block)];
        words[page_in_block as usize / 64] >> (page_in_block % 64) & 1 == 1
    }

    /// Whether tables, valid bits and counts agree.
    fn check(&self) -> Result<(), String> {
        for page in (0..self.physical.len() as u32).map(LogicalPage) {
            let Some(at) = self.find(page) else { continue };
            if !self.is_valid(at) || self.logical[at.0 as usize] != page.0 {
                return Err(format!("logical page {} is not at physical page {}", page.0, at.0));
            }
        }
        for page in (0..self.logical.len() as u32).map(PhysicalPage) {
            let holds = LogicalPage(self.logical[page.0 as usize]);
            if self.is_valid(page) && self.find(holds) != Some(page) {
                return Err(format!("physical page {} is valid and no page's place", page.0));
            }
        }
        (0..self.blocks.len()).try_for_each(|block| self.check_block(Block(block as u32)))
    }

    fn check_block(&self, block: Block) -> Result<(), String> {
        let record = self.record(block);
        let words = &self.valid[self.words(block)];
        let valid_pages: u32 = words.iter().map(|word| word.count_ones()).sum();
        if valid_pages != u32::from(record.valid_pages) {
            return Err(format!("block {} counts its valid pages wrongly", block.0));
        }
        let empty = matches!(record.state, BlockState::Erased | BlockState::Retired);
        if empty && valid_pages > 0 {
            return Err(format!("block {} is erased and has valid pages", block.0));
        }
        Ok(())
    }
}

/// Checks that each page is in a block of its pool, or in another block where it may be.
fn check_pages(
    map: &Map,
    pools: &[Pool],
    pool_of: impl Fn(LogicalPage) -> usize,
    may_be_in: impl Fn(Block, usize) -> bool,
) -> Result<(), String> {
    for page in (0..map.physical.len() as u32).map(LogicalPage) {
        let Some(at) = map.find(page) else { continue };
        let (block, _) = map.place(at);
        let index = pool_of(page);
        let pool = &pools[index];
        if !(pool.first.0..pool.first.0 + pool.blocks).contains(&block.0)
            && !may_be_in(block, index)
        {
            return Err(format!("logical page {} is in the pool of another", page.0));
        }
    }
    Ok(())
}

/// Checks that the blocks of a pool are in the queue, being written or candidates, as their states say.
fn check_blocks(map: &Map, pool: &Pool) -> Result<(), String> {
    for block in (pool.first.0..pool.first.0 + pool.blocks).map(Block) {
        let state = map.record(block).state;
        let queued = pool.erased.iter().filter(|erased| **erased == block.0).count();
        if queued != usize::from(state == BlockState::Erased) {
            return Err(format!(
                "block {} is {queued} times in the queue of erased blocks",
                block.0
            ));
        }
        let open = pool.open_frontiers().filter(|open| open.block == block).count();
        if open != usize::from(state == BlockState::Open) {
            return Err(format!("block {} is open and not being written, or the reverse", block.0));
        }
    }
    let blocks = pool.first.0 as usize..(pool.first.0 + pool.blocks) as usize;
    pool.candidates.check(pool.first, &map.blocks[blocks])
}
