//! Whether geometry and options make a drive: how many blocks each mapping needs.

use super::data_blocks::logical_blocks;
use super::dftl::entries_per_page;
use super::error::FlashError;
use super::geometry::Geometry;
use super::mapping_options::{DftlOptions, Mapping, Separation, ZoneOptions};
use super::options::{Allocation, FtlOptions, MINIMUM_FREE_BLOCKS_MIN, MinimumFree, VictimRule};

/// Free blocks that temperature needs: collection relocates into one of hot and one of cold pages.
const APART_FREE_BLOCKS_MIN: u32 = 3;

impl FtlOptions {
    /// Pools of a drive of this geometry.
    pub(super) fn pool_count(&self, geometry: &Geometry) -> u32 {
        match (self.allocation, &self.mapping) {
            (Allocation::OnePool, _) | (_, Mapping::Zoned(_)) => 1,
            // There are fewer dies than pages, whose number was checked.
            (Allocation::Striped, _) => geometry.dies() as u32,
        }
    }

    /// Blocks of each pool of a drive of this geometry.
    pub(super) fn pool_blocks(&self, geometry: &Geometry) -> u32 {
        // There are fewer blocks than pages, whose number was checked.
        (geometry.blocks() / u64::from(self.pool_count(geometry))) as u32
    }

    /// Blocks of a pool with which the mapping always finds one to write to.
    pub(super) fn blocks_required(&self, geometry: &Geometry, pool_blocks: u32) -> u64 {
        match &self.mapping {
            Mapping::Page(page) => {
                let slc_blocks = page.slc.map_or(0, |slc| slc.blocks);
                self.data_blocks_required(geometry, pool_blocks) + u64::from(slc_blocks)
            }
            Mapping::Bast(log) | Mapping::Fast(log) => {
                let log_blocks = log.log_blocks.unwrap_or(self.log_blocks_min());
                let data = logical_blocks(
                    0,
                    self.pool_count(geometry),
                    self.logical_pages,
                    geometry.pages_per_block,
                );
                u64::from(data) + u64::from(log_blocks) + 1
            }
            Mapping::Dftl(dftl) => {
                let region = self.translation_blocks_of(0, geometry, pool_blocks, dftl);
                self.data_blocks_required(geometry, pool_blocks) + region
            }
            Mapping::Zoned(zones) => zones.zone_blocks.into(),
        }
    }

    /// Log blocks without which the mapping cannot work.
    fn log_blocks_min(&self) -> u32 {
        // FAST needs one for sequences and one for the others.
        if matches!(self.mapping, Mapping::Fast(_)) { 2 } else { 1 }
    }

    /// The number of blocks with which collection always finds an invalid page. Take away all but one of the free
    /// blocks and those being written (one of each class, and one with wear levelling). The rest must hold more pages
    /// than can be valid.
    pub(super) fn data_blocks_required(&self, geometry: &Geometry, pool_blocks: u32) -> u64 {
        let logical_pages = self.logical_pages.div_ceil(self.pool_count(geometry));
        u64::from(logical_pages / geometry.pages_per_block)
            + u64::from(self.minimum_free.blocks(pool_blocks))
            + u64::from(self.mapping.separation().classes())
            + u64::from(self.wear_levelling.is_some())
    }

    /// By pool: blocks of the translation pages.
    pub(super) fn translation_blocks(&self, geometry: &Geometry, dftl: &DftlOptions) -> Vec<u32> {
        let pool_blocks = self.pool_blocks(geometry);
        let pools = 0..self.pool_count(geometry);
        // There are fewer than the pool's blocks, which was checked.
        pools
            .map(|pool| self.translation_blocks_of(pool, geometry, pool_blocks, dftl) as u32)
            .collect()
    }

    fn translation_blocks_of(
        &self,
        pool: u32,
        geometry: &Geometry,
        pool_blocks: u32,
        dftl: &DftlOptions,
    ) -> u64 {
        let pages = self.logical_pages.div_ceil(entries_per_page(geometry, dftl));
        let pools = self.pool_count(geometry);
        let blocks = logical_blocks(pool, pools, pages, geometry.pages_per_block);
        2 * u64::from(blocks) + u64::from(self.minimum_free.blocks(pool_blocks))
    }

    /// The fewest blocks that hold the logical pages, if a number of blocks is kept free; a share of the blocks
    /// gives no such number.
    pub(crate) fn blocks_min(&self, geometry: &Geometry) -> u64 {
        let keeps_share_free = matches!(self.minimum_free, MinimumFree::Share(_));
        let is_collected = matches!(self.mapping, Mapping::Page(_) | Mapping::Dftl(_));
        if self.check_rules(geometry).is_err() || keeps_share_free && is_collected {
            return 0;
        }
        self.blocks_required(geometry, 0).saturating_mul(self.pool_count(geometry).into())
    }

    /// Whether geometry and options make a drive.
    ///
    /// # Errors
    ///
    /// As of [`Ftl::new`](super::Ftl::new).
    pub fn check(&self, geometry: &Geometry) -> Result<(), FlashError> {
        geometry.check()?;
        self.check_rules(geometry)?;
        let pool_count = self.pool_count(geometry);
        let pool_blocks = self.pool_blocks(geometry);
        let required = self.blocks_required(geometry, pool_blocks);
        if u64::from(pool_blocks) >= required {
            return Ok(());
        }
        let logical_pages = self.logical_pages.div_ceil(pool_count);
        let minimum_free = self.minimum_free.blocks(pool_blocks);
        let per_pool = if pool_count == 1 { "" } else { "of each die " };
        let few = |parts| FlashError::FewBlocks {
            mapping: self.mapping.name(),
            blocks: pool_blocks,
            logical_pages,
            required,
            parts,
            per_pool,
        };
        let data = logical_pages.div_ceil(geometry.pages_per_block);
        Err(match &self.mapping {
            Mapping::Page(page) if page.slc.is_none() && page.separation == Separation::Off => {
                FlashError::NoOverProvisioning {
                    blocks: pool_blocks,
                    logical_pages,
                    minimum_free,
                    required,
                    per_pool,
                }
            }
            Mapping::Page(page) => few(format!(
                "{} hold data, {minimum_free} are kept free, {} are being written and {} are slc_blocks",
                logical_pages / geometry.pages_per_block,
                required
                    - u64::from(logical_pages / geometry.pages_per_block + minimum_free)
                    - u64::from(page.slc.map_or(0, |slc| slc.blocks)),
                page.slc.map_or(0, |slc| slc.blocks)
            )),
            Mapping::Bast(log) | Mapping::Fast(log) => few(format!(
                "{data} hold data, {} are log_blocks and 1 is for merging",
                log.log_blocks.unwrap_or(self.log_blocks_min())
            )),
            Mapping::Dftl(dftl) => few(format!(
                "{} are for the map and {} for data, with minimum_free in both",
                self.translation_blocks_of(0, geometry, pool_blocks, dftl),
                self.data_blocks_required(geometry, pool_blocks)
            )),
            Mapping::Zoned(zones) => {
                FlashError::LargeZone { zone_blocks: zones.zone_blocks, blocks: geometry.blocks() }
            }
        })
    }

    fn check_rules(&self, geometry: &Geometry) -> Result<(), FlashError> {
        if let Mapping::Zoned(ZoneOptions { zone_blocks, .. }) = self.mapping
            && u64::from(zone_blocks) > geometry.blocks()
        {
            return Err(FlashError::LargeZone { zone_blocks, blocks: geometry.blocks() });
        }
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
        self.check_mapping(geometry)
    }

    fn check_mapping(&self, geometry: &Geometry) -> Result<(), FlashError> {
        let zero = |option, number| match number {
            0 => Err(FlashError::Zero { option }),
            _ => Ok(()),
        };
        match &self.mapping {
            Mapping::Page(page) => {
                if let Some(slc) = page.slc {
                    zero("slc_blocks", slc.blocks)?;
                    zero("bits_per_cell", slc.bits_per_cell)?;
                    if geometry.pages_per_block < slc.bits_per_cell {
                        return Err(FlashError::NoSlcPage {
                            bits_per_cell: slc.bits_per_cell,
                            pages_per_block: geometry.pages_per_block,
                        });
                    }
                }
                if page.separation.classes_of_a_block() > 1
                    && let blocks = self.minimum_free.blocks(self.pool_blocks(geometry))
                    && blocks < APART_FREE_BLOCKS_MIN
                {
                    return Err(FlashError::FewFreeApart { blocks });
                }
                zero("the number of streams", page.separation.classes())
            }
            Mapping::Bast(log) | Mapping::Fast(log) => match log.log_blocks {
                Some(log_blocks) if log_blocks < self.log_blocks_min() => {
                    Err(FlashError::FewLogBlocks {
                        log_blocks,
                        least: self.log_blocks_min(),
                        mapping: self.mapping.name(),
                    })
                }
                _ => Ok(()),
            },
            Mapping::Dftl(dftl) => {
                zero("cmt_entries", dftl.cmt_entries)?;
                zero("entry_bytes", dftl.entry_bytes)?;
                match entries_per_page(geometry, dftl) {
                    0 => Err(FlashError::LargeEntry {
                        entry_bytes: dftl.entry_bytes,
                        page_bytes: geometry.page_bytes,
                    }),
                    _ => Ok(()),
                }
            }
            Mapping::Zoned(zones) => {
                zero("zone_blocks", zones.zone_blocks)?;
                zero("max_open_zones", zones.max_open_zones.unwrap_or(1))
            }
        }
    }
}
