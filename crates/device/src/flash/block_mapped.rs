//! The mappings with log blocks: pools of them behind one map.

use super::counts::MappingCounts;
use super::data_blocks::{BlockTurn, DataBlocks, Numbering};
use super::error::WornOut;
use super::geometry::{Block, Divisor, Geometry, LogicalPage};
use super::map::Map;
use super::mapping_options::LogBlocks;
use super::operations::FlashOperations;
use super::options::FtlOptions;

/// A pool whose overwrites go to log blocks.
pub(super) trait LogPool: Sized {
    /// An erased pool with this many log blocks.
    fn new(data: DataBlocks, log_blocks: u32) -> Self;

    /// The host writes a page.
    fn write<O: FlashOperations>(
        &mut self,
        page: LogicalPage,
        turn: &mut BlockTurn<'_, O>,
    ) -> Result<(), WornOut>;

    /// Its data blocks.
    fn data(&self) -> &DataBlocks;

    fn memory_bytes(&self) -> usize;

    /// Checks that every block and page is in its place.
    fn check(&self, map: &Map) -> Result<(), String>;
}

/// A drive that maps blocks.
#[derive(Debug, Clone)]
pub(super) struct BlockMapped<P> {
    pub(super) map: Map,
    pub(super) pools: Vec<P>,
    pool_divisor: Divisor,
    pub(super) counts: MappingCounts,
}

impl<P: LogPool> BlockMapped<P> {
    /// An erased drive whose geometry and options were checked.
    pub(super) fn new(geometry: &Geometry, options: &FtlOptions, log: &LogBlocks) -> Self {
        let pools = options.pool_count(geometry);
        let pool_blocks = options.pool_blocks(geometry);
        let pool = |index: u32| {
            let FtlOptions { logical_pages, .. } = *options;
            let numbering = Numbering::new(index, pools, logical_pages, geometry.pages_per_block);
            let all_others = pool_blocks - numbering.logical_blocks() - 1;
            let data = DataBlocks::new(Block(index * pool_blocks), pool_blocks, numbering);
            P::new(data, log.log_blocks.unwrap_or(all_others))
        };
        BlockMapped {
            map: Map::new(geometry, options.logical_pages),
            pools: (0..pools).map(pool).collect(),
            pool_divisor: Divisor::new(pools),
            counts: MappingCounts::default(),
        }
    }

    pub(super) fn write<O: FlashOperations>(
        &mut self,
        page: LogicalPage,
        endurance_erases: Option<u32>,
        operations: &mut O,
    ) -> Result<(), WornOut> {
        let (_, pool) = self.pool_divisor.divide(page.0);
        let BlockMapped { map, counts, pools, .. } = self;
        let mut turn = BlockTurn { map, operations, endurance_erases, counts };
        pools[pool as usize].write(page, &mut turn)
    }

    pub(super) fn blocks_retired(&self) -> u32 {
        self.pools.iter().map(|pool| pool.data().blocks_retired).sum()
    }

    /// Sets all erase counts and counts of decisions to 0. No block may be retired yet.
    pub(super) fn forget_past(&mut self) {
        self.map.forget_wear();
        self.counts = MappingCounts::default();
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.map.memory_bytes() + self.pools.iter().map(P::memory_bytes).sum::<usize>()
    }
}
