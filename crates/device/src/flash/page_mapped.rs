//! The page mapping: each page is mapped by itself, and full blocks are collected.

use super::classes::Classes;
use super::counts::MappingCounts;
use super::error::WornOut;
use super::geometry::{Block, Divisor, Geometry, LogicalPage, PhysicalPage};
use super::map::Map;
use super::mapping_options::PageOptions;
use super::operations::FlashOperations;
use super::options::FtlOptions;
use super::pool::{Pool, PoolSize, Turn};
use super::slc::SlcRegion;

/// Pages whose entries of the page table are read together before they are written.
const PAGES_AHEAD: usize = 256;

/// A page-mapped drive.
///
/// A write first makes sure of a block to write into. If none is being written and fewer than the minimum of erased
/// blocks are left, blocks are collected until there are that many. The victim's valid pages are relocated in page
/// order. Then it is erased and joins the end of the queue of erased blocks. Then the page is programmed, and only then
/// does its previous version become invalid. A block becomes a candidate for collection when its last page is
/// programmed.
#[derive(Debug, Clone)]
pub(super) struct PageMapped {
    pub(super) map: Map,
    pub(super) pools: Vec<Pool>,
    /// One for each pool, or none.
    pub(super) slc: Vec<SlcRegion>,
    classes: Option<Classes>,
    /// True if it keeps no pages apart and has no SLC region.
    is_plain: bool,
    pool_divisor: Divisor,
    /// Host writes so far.
    clock: u64,
}

impl PageMapped {
    /// An erased drive whose geometry and options were checked.
    pub(super) fn new(geometry: &Geometry, options: &FtlOptions, page: &PageOptions) -> PageMapped {
        let pool_count = options.pool_count(geometry);
        let pool_blocks = options.pool_blocks(geometry);
        let slc_blocks = page.slc.map_or(0, |slc| slc.blocks);
        let size = PoolSize {
            blocks: pool_blocks - slc_blocks,
            minimum_free: options.minimum_free.blocks(pool_blocks),
            blocks_required: options.blocks_required(geometry, pool_blocks) as u32 - slc_blocks,
            classes: page.separation.classes(),
        };
        let firsts = (0..pool_count).map(|index| index * pool_blocks);
        let slc_of = |first: u32| {
            let first = Block(first + size.blocks);
            page.slc.map(|slc| SlcRegion::new(first, slc, geometry.pages_per_block))
        };
        PageMapped {
            map: Map::new(geometry, options.logical_pages),
            pools: firsts.clone().map(|first| Pool::new(Block(first), size, options)).collect(),
            slc: firsts.filter_map(slc_of).collect(),
            classes: Classes::new(page.separation, options.logical_pages),
            is_plain: *page == PageOptions::default(),
            pool_divisor: Divisor::new(pool_count),
            clock: 0,
        }
    }

    #[inline]
    pub(super) fn write_all<O: FlashOperations>(
        &mut self,
        pages: &[LogicalPage],
        endurance_erases: Option<u32>,
        operations: &mut O,
    ) -> Result<(), WornOut> {
        if !self.is_plain {
            return self.write_all_apart(pages, endurance_erases, operations);
        }
        let PageMapped { map, pools, pool_divisor, clock, .. } = self;
        let mut turn = Turn { map, operations, clock: *clock, endurance_erases, classes: None };
        let done = pages.chunks(PAGES_AHEAD).try_for_each(|pages| {
            turn.map.look_ahead(pages);
            if let [pool] = &mut **pools {
                return pool.write(pages, &mut turn);
            }
            let pool_of = |page: &LogicalPage| pool_divisor.divide(page.0).1 as usize;
            let mut of_pools = pages.chunk_by(|one, next| pool_of(one) == pool_of(next));
            of_pools.try_for_each(|pages| pools[pool_of(&pages[0])].write(pages, &mut turn))
        });
        *clock = turn.clock;
        done
    }

    /// Writes pages of a drive that keeps pages apart, or has an SLC region.
    // Out of line, so that a plain drive pays nothing for it.
    #[inline(never)]
    fn write_all_apart<O: FlashOperations>(
        &mut self,
        pages: &[LogicalPage],
        endurance_erases: Option<u32>,
        operations: &mut O,
    ) -> Result<(), WornOut> {
        let mut each = pages.iter();
        each.try_for_each(|page| self.write_apart(*page, endurance_erases, operations))
    }

    /// Writes one of them.
    fn write_apart<O: FlashOperations>(
        &mut self,
        page: LogicalPage,
        endurance_erases: Option<u32>,
        operations: &mut O,
    ) -> Result<(), WornOut> {
        self.clock += 1;
        let clock = self.clock;
        let index = self.pool(page);
        let classes = self.classes.as_ref();
        let class = classes.map_or(0, |classes| classes.of_written(page, clock));
        let mut turn = Turn { map: &mut self.map, operations, clock, endurance_erases, classes };
        let pool = &mut self.pools[index];
        match self.slc.get_mut(index) {
            Some(slc) => slc.write(page, class, pool, &mut turn)?,
            None => {
                pool.select(class);
                turn.clock -= 1;
                pool.write(&[page], &mut turn)?;
            }
        }
        if let Some(classes) = &mut self.classes {
            classes.programmed(page, clock);
        }
        Ok(())
    }

    /// Takes a step of collection or folding in a pool that rests. Says whether there was one.
    pub(super) fn background_step<O: FlashOperations>(
        &mut self,
        pool: usize,
        background_free: u32,
        endurance_erases: Option<u32>,
        operations: &mut O,
    ) -> Result<bool, WornOut> {
        let (clock, classes) = (self.clock, self.classes.as_ref());
        let mut turn = Turn { map: &mut self.map, operations, clock, endurance_erases, classes };
        let main = &mut self.pools[pool];
        if !main.has_begun()
            && let Some(slc) = self.slc.get_mut(pool)
            && slc.fold_step(main, &mut turn)?
        {
            return Ok(true);
        }
        main.background_step(background_free, &mut turn)
    }

    /// A stream wrote a page that will go to flash, at once or later.
    pub(super) fn wrote(&mut self, page: LogicalPage, stream: u32) {
        if let Some(classes) = &mut self.classes {
            classes.wrote(page, stream);
        }
    }

    #[inline]
    pub(super) fn find(&self, page: LogicalPage) -> Option<PhysicalPage> {
        self.map.find(page)
    }

    pub(super) fn trim(&mut self, page: LogicalPage) -> bool {
        let Some(was) = self.map.find(page) else {
            return false;
        };
        self.map.forget(page);
        let pool = self.pool(page);
        self.pools[pool].invalidate(was, &mut self.map, self.clock);
        true
    }

    /// The pool that a logical page belongs to.
    #[inline]
    pub(super) fn pool(&self, page: LogicalPage) -> usize {
        self.pool_divisor.divide(page.0).1 as usize
    }

    pub(super) fn blocks_retired(&self) -> u32 {
        let slc: u32 = self.slc.iter().map(|slc| slc.blocks_retired).sum();
        slc + self.pools.iter().map(|pool| pool.blocks_retired).sum::<u32>()
    }

    /// Sets all erase counts and counts of decisions to 0. No block may be retired yet.
    pub(super) fn forget_past(&mut self) {
        self.map.forget_wear();
        self.pools.iter_mut().for_each(Pool::forget_wear);
        for slc in &mut self.slc {
            (slc.folded_pages, slc.erases) = (0, 0);
        }
    }

    pub(super) fn counts(&self) -> MappingCounts {
        MappingCounts {
            folded_pages: self.slc.iter().map(|slc| slc.folded_pages).sum(),
            slc_erases: self.slc.iter().map(|slc| slc.erases).sum(),
            ..MappingCounts::default()
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.map.memory_bytes()
            + self.pools.iter().map(Pool::memory_bytes).sum::<usize>()
            + self.slc.iter().map(SlcRegion::memory_bytes).sum::<usize>()
            + self.classes.as_ref().map_or(0, Classes::memory_bytes)
    }
}
