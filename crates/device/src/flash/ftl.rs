//! The flash translation layer.

use super::error::FlashError;
use super::geometry::{Block, Divisor, Geometry, LogicalPage, PhysicalPage};
use super::map::Map;
use super::operations::FlashOperations;
use super::options::{Allocation, FtlOptions, MINIMUM_FREE_BLOCKS_MIN, MinimumFree, VictimRule};
use super::pool::{Pool, Turn};
use super::wear::Wear;

/// No block is left that could take the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WornOut;

/// Pages whose entries of the page table are read together before they are written.
const PAGES_AHEAD: usize = 256;

/// A page-mapped flash translation layer: decides where pages go and what is collected, and reports it.
///
/// A write first makes sure of a block to write into. If none is being written and fewer than the minimum of erased
/// blocks are left, blocks are collected until there are that many: the victim's valid pages are relocated in page order,
/// it is erased and joins the end of the queue of erased blocks. Then the page is programmed, and only then does its
/// previous version become invalid. A block becomes a candidate for collection when its last page is programmed.
#[derive(Debug, Clone)]
pub struct Ftl {
    pub(super) geometry: Geometry,
    pub(super) options: FtlOptions,
    pub(super) map: Map,
    pub(super) pools: Vec<Pool>,
    pool_divisor: Divisor,
    /// Host writes so far.
    clock: u64,
    /// Whether a write found no block; it is the end of all writes.
    is_worn_out: bool,
    /// Whether blocks are retired at their endurance: not while the drive is preconditioned.
    pub(super) endurance_counts: bool,
}

impl Ftl {
    /// An erased drive.
    ///
    /// # Errors
    ///
    /// A geometry with an empty part or more pages than can be numbered; too few blocks for the logical pages, the free
    /// blocks and one that is being written; options that contradict each other.
    pub fn new(geometry: Geometry, options: FtlOptions) -> Result<Ftl, FlashError> {
        options.check(&geometry)?;
        let pool_count = options.pool_count(&geometry);
        let pool_blocks = options.pool_blocks(&geometry);
        let blocks_required = options.blocks_required(&geometry, pool_blocks) as u32;
        let pool = |first| Pool::new(Block(first), pool_blocks, blocks_required, &options);
        Ok(Ftl {
            map: Map::new(&geometry, options.logical_pages),
            pools: (0..pool_count).map(|index| pool(index * pool_blocks)).collect(),
            pool_divisor: Divisor::new(pool_count),
            clock: 0,
            is_worn_out: false,
            endurance_counts: true,
            geometry,
            options,
        })
    }

    /// The geometry it was built with.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The options it was built with.
    pub fn options(&self) -> &FtlOptions {
        &self.options
    }

    /// The host writes a page.
    ///
    /// # Errors
    ///
    /// The drive is worn out; the page keeps its last version.
    ///
    /// # Panics
    ///
    /// The page is not below the number of logical pages.
    #[inline]
    pub fn write<O: FlashOperations>(
        &mut self,
        page: LogicalPage,
        operations: &mut O,
    ) -> Result<(), WornOut> {
        self.write_all(&[page], operations)
    }

    /// The host writes pages one after the other, which may repeat. The same as [`Ftl::write`] for each of them, and
    /// faster: what belongs to a block is done once for all its pages that follow each other.
    ///
    /// # Errors
    ///
    /// The drive is worn out; the page that found no block and those behind it keep their last versions.
    ///
    /// # Panics
    ///
    /// A page is not below the number of logical pages.
    #[inline]
    pub fn write_all<O: FlashOperations>(
        &mut self,
        pages: &[LogicalPage],
        operations: &mut O,
    ) -> Result<(), WornOut> {
        if self.is_worn_out {
            return Err(WornOut);
        }
        let endurance_erases =
            if self.endurance_counts { self.options.endurance_erases } else { None };
        let Ftl { map, pools, pool_divisor, clock, .. } = self;
        let mut turn = Turn { map, operations, clock: *clock, endurance_erases };
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
        self.is_worn_out = done.is_err();
        done
    }

    /// The host reads a page. Says where it is on flash; nothing is read if it was never written or is trimmed.
    ///
    /// # Panics
    ///
    /// The page is not below the number of logical pages.
    #[inline]
    pub fn read<O: FlashOperations>(
        &self,
        page: LogicalPage,
        operations: &mut O,
    ) -> Option<PhysicalPage> {
        let from = self.map.find(page)?;
        operations.read(from, page);
        Some(from)
    }

    /// The host no longer needs a page (TRIM). Says whether there was one.
    ///
    /// # Panics
    ///
    /// The page is not below the number of logical pages.
    pub fn trim(&mut self, page: LogicalPage) -> bool {
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

    /// Erases of each block so far.
    pub fn wear(&self) -> Wear {
        let retired = self.pools.iter().map(|pool| pool.blocks_retired).sum();
        Wear::new(self.map.blocks.iter().map(|record| record.erases), retired)
    }

    /// Sets all erase counts to 0. No block may be retired yet.
    pub(super) fn forget_wear(&mut self) {
        for record in &mut self.map.blocks {
            record.erases = 0;
        }
        for pool in &mut self.pools {
            pool.forget_wear();
        }
    }

    /// Bytes of all its structures: at most 10 for each physical page, unless a block has very few pages.
    pub fn memory_bytes(&self) -> usize {
        self.map.memory_bytes() + self.pools.iter().map(Pool::memory_bytes).sum::<usize>()
    }
}

impl FtlOptions {
    /// Pools of a drive of this geometry.
    pub(super) fn pool_count(&self, geometry: &Geometry) -> u32 {
        match self.allocation {
            Allocation::OnePool => 1,
            // There are fewer dies than pages, whose number was checked.
            Allocation::Striped => geometry.dies() as u32,
        }
    }

    /// Blocks of a pool with which collection always finds an invalid page: with all but one of the free blocks left and one
    /// block being written (two with wear levelling), the full ones must hold more pages than can be valid.
    pub(super) fn blocks_required(&self, geometry: &Geometry, pool_blocks: u32) -> u64 {
        let logical_pages = self.logical_pages.div_ceil(self.pool_count(geometry));
        u64::from(logical_pages / geometry.pages_per_block)
            + u64::from(self.minimum_free.blocks(pool_blocks))
            + 1
            + u64::from(self.wear_levelling.is_some())
    }

    /// The fewest blocks that hold the logical pages, if a number of blocks is kept free; a share of the blocks
    /// gives no such number.
    pub(crate) fn blocks_min(&self, geometry: &Geometry) -> u64 {
        match self.minimum_free {
            MinimumFree::Blocks(_) => {
                self.blocks_required(geometry, 0) * u64::from(self.pool_count(geometry))
            }
            MinimumFree::Share(_) => 0,
        }
    }

    /// Blocks of each pool of a drive of this geometry.
    pub(super) fn pool_blocks(&self, geometry: &Geometry) -> u32 {
        // There are fewer blocks than pages, whose number was checked.
        (geometry.blocks() / u64::from(self.pool_count(geometry))) as u32
    }

    /// Whether geometry and options make a drive.
    ///
    /// # Errors
    ///
    /// As of [`Ftl::new`].
    pub fn check(&self, geometry: &Geometry) -> Result<(), FlashError> {
        geometry.check()?;
        self.check_rules()?;
        let pool_count = self.pool_count(geometry);
        let pool_blocks = self.pool_blocks(geometry);
        let required = self.blocks_required(geometry, pool_blocks);
        if u64::from(pool_blocks) < required {
            return Err(FlashError::NoOverProvisioning {
                blocks: pool_blocks,
                logical_pages: self.logical_pages.div_ceil(pool_count),
                minimum_free: self.minimum_free.blocks(pool_blocks),
                required,
                per_pool: if pool_count == 1 { "" } else { "of each die " },
            });
        }
        Ok(())
    }

    fn check_rules(&self) -> Result<(), FlashError> {
        if self.logical_pages == 0 {
            return Err(FlashError::NoLogicalPage);
        }
        if let MinimumFree::Blocks(blocks @ 0..MINIMUM_FREE_BLOCKS_MIN) = self.minimum_free {
            return Err(FlashError::FewFree { blocks });
        }
        if self.victim == VictimRule::DChoices(0) {
            return Err(FlashError::NoChoice);
        }
        if self.endurance_erases == Some(0) {
            return Err(FlashError::NoEndurance);
        }
        let compares_all = matches!(self.victim, VictimRule::Greedy | VictimRule::CostBenefit);
        if self.wear_limit.is_some() && !compares_all {
            return Err(FlashError::WearLimit);
        }
        Ok(())
    }
}
