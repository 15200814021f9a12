//! The blocks of the translation pages of a drive whose map is on flash.

use super::error::WornOut;
use super::geometry::{
    Block, Divisor, Geometry, LogicalPage, NO_PAGE, PhysicalPage, TranslationPage,
};
use super::map::Map;
use super::mapping_options::Mapping;
use super::operations::{Cause, FlashOperations};
use super::options::{Frontiers, FtlOptions, VictimRule};
use super::pool::{Pool, PoolSize, Turn};

/// The last blocks of each pool, collected on their own by greedy choice. They are numbered through here, without the data
/// blocks between those of one pool and of the next.
#[derive(Debug, Clone)]
pub(super) struct TranslationRegion {
    pub(super) map: Map,
    pub(super) pools: Vec<Pool>,
    pool_divisor: Divisor,
    place: Place,
    /// Programs so far.
    clock: u64,
}

/// The place of the region's blocks on the drive.
#[derive(Debug, Clone)]
struct Place {
    /// By pool: blocks of the region.
    blocks: Vec<u32>,
    /// Block numbers that the region reserves for each pool, even if the pool has fewer.
    numbers: u32,
    /// All blocks of a pool.
    pool_blocks: u32,
    pages_per_block: u32,
}

impl Place {
    fn block(&self, block: Block) -> Block {
        let (pool, in_pool) = (block.0 / self.numbers, block.0 % self.numbers);
        let end_of_data = self.pool_blocks - self.blocks[pool as usize];
        Block(pool * self.pool_blocks + end_of_data + in_pool)
    }

    fn page(&self, page: PhysicalPage) -> PhysicalPage {
        let block = self.block(Block(page.0 / self.pages_per_block));
        PhysicalPage(block.0 * self.pages_per_block + page.0 % self.pages_per_block)
    }
}

impl TranslationRegion {
    /// An erased region for `pages` translation pages; `blocks` are those of each pool.
    pub(super) fn new(
        geometry: &Geometry,
        options: &FtlOptions,
        pages: u32,
        blocks: Vec<u32>,
    ) -> TranslationRegion {
        let pool_count = options.pool_count(geometry);
        let pool_blocks = options.pool_blocks(geometry);
        let pages_per_block = geometry.pages_per_block;
        let numbers = blocks.iter().copied().max().expect("there is a pool");
        let one = Geometry::one_pool(numbers * pool_count, pages_per_block, geometry.page_bytes);
        let minimum_free = options.minimum_free.blocks(pool_blocks);
        let blocks_required = pages.div_ceil(pool_count) / pages_per_block + minimum_free + 1;
        let size = |blocks| PoolSize { blocks, minimum_free, blocks_required, classes: 1 };
        let greedy = FtlOptions {
            mapping: Mapping::default(),
            victim: VictimRule::Greedy,
            frontiers: Frontiers::Shared,
            wear_limit: None,
            wear_levelling: None,
            ..options.clone()
        };
        let pool = |(index, blocks): (u32, &u32)| {
            Pool::new(Block(index * numbers), size(*blocks), &greedy)
        };
        TranslationRegion {
            map: Map::new(&one, pages),
            pools: (0..pool_count).zip(&blocks).map(pool).collect(),
            pool_divisor: Divisor::new(pool_count),
            place: Place { blocks, numbers, pool_blocks, pages_per_block },
            clock: 0,
        }
    }

    /// The pool that a translation page belongs to.
    pub(super) fn pool(&self, page: LogicalPage) -> usize {
        self.pool_divisor.divide(page.0).1 as usize
    }

    /// The place of a translation page, if it is on flash.
    pub(super) fn find(&self, page: TranslationPage) -> Option<PhysicalPage> {
        let at = *self.map.physical.get(page.0 as usize)?;
        (at != NO_PAGE).then(|| self.place.page(PhysicalPage(at)))
    }

    /// Reads a translation page, if it is on flash, and programs it again.
    pub(super) fn update<O: FlashOperations>(
        &mut self,
        page: TranslationPage,
        endurance_erases: Option<u32>,
        operations: &mut O,
    ) -> Result<(), WornOut> {
        if let Some(from) = self.find(page) {
            operations.read_translation(from, page);
        }
        let page = LogicalPage(page.0);
        let pool = self.pool(page);
        let mut of_translation = OfTranslation { operations, place: &self.place };
        let mut turn = Turn {
            map: &mut self.map,
            operations: &mut of_translation,
            clock: self.clock,
            endurance_erases,
            classes: None,
        };
        let done = self.pools[pool].write(&[page], &mut turn);
        self.clock += 1;
        done
    }
}

/// Tells what happens to pages of the region as what happens to translation pages of the drive.
struct OfTranslation<'a, O> {
    operations: &'a mut O,
    place: &'a Place,
}

impl<O: FlashOperations> FlashOperations for OfTranslation<'_, O> {
    fn program(&mut self, to: PhysicalPage, holds: LogicalPage) {
        self.operations.program_translation(self.place.page(to), TranslationPage(holds.0));
    }

    fn relocate(
        &mut self,
        _cause: Cause,
        from: PhysicalPage,
        to: PhysicalPage,
        holds: LogicalPage,
    ) {
        let (from, to) = (self.place.page(from), self.place.page(to));
        self.operations.relocate_translation(from, to, TranslationPage(holds.0));
    }

    fn erase(&mut self, cause: Cause, block: Block) {
        self.operations.erase(cause, self.place.block(block));
    }
}
