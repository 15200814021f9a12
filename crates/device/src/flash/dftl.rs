//! DFTL: each page is mapped by itself, and the map is on flash.

use super::cached_entries::CachedEntries;
use super::counts::MappingCounts;
use super::error::WornOut;
use super::geometry::{Block, Divisor, Geometry, LogicalPage, PhysicalPage, TranslationPage};
use super::map::Map;
use super::mapping_options::DftlOptions;
use super::operations::{Cause, FlashOperations};
use super::options::FtlOptions;
use super::pool::{Pool, PoolSize, Turn};
use super::translation_region::TranslationRegion;
use super::wear::Wear;

/// A page-mapped drive that caches some entries of its map. Every page that the host reads, writes or trims is looked
/// up first: an entry that is not cached evicts another one, whose translation page is programmed again if it is dirty,
/// and is loaded.
#[derive(Debug, Clone)]
pub(super) struct Dftl {
    pub(super) map: Map,
    pub(super) pools: Vec<Pool>,
    pub(super) translation: TranslationRegion,
    pub(super) cache: CachedEntries,
    batch_eviction: bool,
    entries_per_page: u32,
    pool_divisor: Divisor,
    /// Host writes so far.
    clock: u64,
    /// Set when a read or a TRIM found no block for a translation page: no page is written any more.
    is_worn_out: bool,
    pub(super) counts: MappingCounts,
}

/// Entries of a translation page.
pub(super) fn entries_per_page(geometry: &Geometry, dftl: &DftlOptions) -> u32 {
    geometry.page_bytes / dftl.entry_bytes
}

impl Dftl {
    /// An erased drive whose geometry and options were checked.
    pub(super) fn new(geometry: &Geometry, options: &FtlOptions, dftl: &DftlOptions) -> Dftl {
        let pool_blocks = options.pool_blocks(geometry);
        let region_blocks = options.translation_blocks(geometry, dftl);
        let entries_per_page = entries_per_page(geometry, dftl);
        let size = |pool: u32| PoolSize {
            blocks: pool_blocks - region_blocks[pool as usize],
            minimum_free: options.minimum_free.blocks(pool_blocks),
            blocks_required: options.data_blocks_required(geometry, pool_blocks) as u32,
            classes: 1,
        };
        let pool = |index: u32| Pool::new(Block(index * pool_blocks), size(index), options);
        let pools = (0..options.pool_count(geometry)).map(pool).collect();
        let pages = options.logical_pages.div_ceil(entries_per_page);
        Dftl {
            map: Map::new(geometry, options.logical_pages),
            pools,
            translation: TranslationRegion::new(geometry, options, pages, region_blocks),
            cache: CachedEntries::new(dftl.cmt_entries, dftl.cmt_policy, options.logical_pages),
            batch_eviction: dftl.batch_eviction,
            entries_per_page,
            pool_divisor: Divisor::new(options.pool_count(geometry)),
            clock: 0,
            is_worn_out: false,
            counts: MappingCounts::default(),
        }
    }

    /// Brings a page's entry into the cache.
    fn look_up<O: FlashOperations>(
        &mut self,
        page: LogicalPage,
        endurance_erases: Option<u32>,
        operations: &mut O,
    ) -> Result<(), WornOut> {
        if self.cache.look_up(page) {
            self.counts.cmt_hits += 1;
            return Ok(());
        }
        self.counts.cmt_misses += 1;
        if let Some((victim, is_dirty)) = self.cache.victim() {
            if is_dirty {
                let of_victim = TranslationPage(victim.0 / self.entries_per_page);
                self.translation.update(of_victim, endurance_erases, operations)?;
                if self.batch_eviction {
                    let first = of_victim.0 * self.entries_per_page;
                    let end = first.saturating_add(self.entries_per_page);
                    self.cache.clean(first..end.min(self.map.physical.len() as u32));
                }
            }
            self.cache.evict(victim);
        }
        let wanted = TranslationPage(page.0 / self.entries_per_page);
        if let Some(from) = self.translation.find(wanted) {
            operations.load_translation(from, wanted, page);
        }
        self.cache.insert(page);
        Ok(())
    }

    pub(super) fn write<O: FlashOperations>(
        &mut self,
        page: LogicalPage,
        endurance_erases: Option<u32>,
        operations: &mut O,
    ) -> Result<(), WornOut> {
        if self.is_worn_out {
            return Err(WornOut);
        }
        self.look_up(page, endurance_erases, operations)?;
        let pool = self.pool(page);
        let mut collecting = Collecting {
            operations,
            cache: &mut self.cache,
            translation: &mut self.translation,
            entries_per_page: self.entries_per_page,
            endurance_erases,
            moved: Vec::new(),
            done: Ok(()),
        };
        let mut turn = Turn {
            map: &mut self.map,
            operations: &mut collecting,
            clock: self.clock,
            endurance_erases,
            classes: None,
        };
        let done = self.pools[pool].write(&[page], &mut turn);
        self.clock += 1;
        done.and(collecting.done)?;
        self.cache.make_dirty(page);
        Ok(())
    }

    /// The host reads a page: its entry is looked up, whether or not the page is on flash.
    pub(super) fn read<O: FlashOperations>(
        &mut self,
        page: LogicalPage,
        endurance_erases: Option<u32>,
        operations: &mut O,
    ) -> Option<PhysicalPage> {
        self.is_worn_out |= self.look_up(page, endurance_erases, operations).is_err();
        self.map.find(page)
    }

    /// The host trims a page. Says whether there was one.
    pub(super) fn trim<O: FlashOperations>(
        &mut self,
        page: LogicalPage,
        endurance_erases: Option<u32>,
        operations: &mut O,
    ) -> bool {
        self.is_worn_out |= self.look_up(page, endurance_erases, operations).is_err();
        self.cache.make_dirty(page);
        let Some(was) = self.map.find(page) else { return false };
        self.map.forget(page);
        let pool = self.pool(page);
        self.pools[pool].invalidate(was, &mut self.map, self.clock);
        true
    }

    /// The pool that a logical page belongs to.
    pub(super) fn pool(&self, page: LogicalPage) -> usize {
        self.pool_divisor.divide(page.0).1 as usize
    }

    fn all_pools(&self) -> impl Iterator<Item = (&Map, &Pool)> {
        let data = self.pools.iter().map(|pool| (&self.map, pool));
        data.chain(self.translation.pools.iter().map(|pool| (&self.translation.map, pool)))
    }

    pub(super) fn wear(&self) -> Wear {
        let blocks = self.all_pools().flat_map(|(map, pool)| {
            let blocks = pool.first.0 as usize..(pool.first.0 + pool.blocks) as usize;
            map.blocks[blocks].iter().map(|record| record.erases)
        });
        Wear::new(blocks, self.all_pools().map(|(_, pool)| pool.blocks_retired).sum())
    }

    /// Sets all erase counts and counts of decisions to 0. No block may be retired yet.
    pub(super) fn forget_past(&mut self) {
        self.map.forget_wear();
        self.translation.map.forget_wear();
        self.pools.iter_mut().for_each(Pool::forget_wear);
        self.translation.pools.iter_mut().for_each(Pool::forget_wear);
        self.counts = MappingCounts::default();
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let pools: usize = self.all_pools().map(|(_, pool)| pool.memory_bytes()).sum();
        self.map.memory_bytes()
            + self.translation.map.memory_bytes()
            + self.cache.memory_bytes()
            + pools
    }
}

/// Tells what collection does with data, and writes the entries of the pages that it moved before the block is erased.
struct Collecting<'a, O> {
    operations: &'a mut O,
    cache: &'a mut CachedEntries,
    translation: &'a mut TranslationRegion,
    entries_per_page: u32,
    endurance_erases: Option<u32>,
    /// Pages that moved out of the block that is being collected.
    moved: Vec<LogicalPage>,
    /// Whether the entries could be written.
    done: Result<(), WornOut>,
}

impl<O: FlashOperations> Collecting<'_, O> {
    /// Entries that are cached become dirty; the others are written, each translation page once.
    fn write_entries(&mut self) -> Result<(), WornOut> {
        let uncached = self.moved.iter().filter(|page| !self.cache.make_dirty(**page));
        let mut pages: Vec<u32> = uncached.map(|page| page.0 / self.entries_per_page).collect();
        self.moved.clear();
        pages.sort_unstable();
        pages.dedup();
        pages.into_iter().map(TranslationPage).try_for_each(|page| {
            self.translation.update(page, self.endurance_erases, self.operations)
        })
    }
}

impl<O: FlashOperations> FlashOperations for Collecting<'_, O> {
    fn program(&mut self, to: PhysicalPage, holds: LogicalPage) {
        self.operations.program(to, holds);
    }

    fn relocate(&mut self, cause: Cause, from: PhysicalPage, to: PhysicalPage, holds: LogicalPage) {
        self.moved.push(holds);
        self.operations.relocate(cause, from, to, holds);
    }

    fn erase(&mut self, cause: Cause, block: Block) {
        let done = self.write_entries();
        self.done = self.done.and(done);
        self.operations.erase(cause, block);
    }
}
