//! A drive: a translation layer with its counters.

use std::ops::Range;

use super::counts::MappingCounts;
use super::error::{EndOfLife, FlashError, Refused, WriteError};
use super::ftl::Ftl;
use super::geometry::{Geometry, LogicalPage};
use super::map::Map;
use super::mapping_options::{Mapping, Separation};
use super::operations::Counters;
use super::options::FtlOptions;
use super::wear::Wear;

/// The division of a drive's pages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacity {
    /// Pages of the flash memory.
    pub raw_pages: u64,
    /// Pages that the host may use.
    pub logical_pages: u64,
    /// Pages beyond the host's: raw − logical, the over-provisioning.
    pub reserve_pages: u64,
    /// Pages of the blocks that collection keeps free, part of the reserve.
    pub minimum_free_pages: u64,
    /// Bytes of a page.
    pub page_bytes: u32,
}

impl Capacity {
    /// Over-provisioning as a share of the raw capacity.
    pub fn reserve_of_raw(&self) -> f64 {
        self.reserve_pages as f64 / self.raw_pages as f64
    }

    /// Over-provisioning as a share of the logical capacity.
    pub fn reserve_of_logical(&self) -> f64 {
        self.reserve_pages as f64 / self.logical_pages as f64
    }

    /// Physical pages available to data, so without those of the blocks kept free, per logical page.
    pub fn alpha(&self) -> f64 {
        (self.raw_pages - self.minimum_free_pages) as f64 / self.logical_pages as f64
    }
}

/// A drive that counts.
#[derive(Debug, Clone)]
pub struct Drive {
    pub(super) ftl: Ftl,
    pub(super) counters: Counters,
}

impl Drive {
    /// An erased drive.
    ///
    /// # Errors
    ///
    /// As of [`Ftl::new`].
    pub fn new(geometry: Geometry, options: FtlOptions) -> Result<Drive, FlashError> {
        Ok(Drive { ftl: Ftl::new(geometry, options)?, counters: Counters::default() })
    }

    /// The host writes a page.
    ///
    /// # Errors
    ///
    /// The drive is worn out, or the page does not fit its zone; it keeps its last version.
    ///
    /// # Panics
    ///
    /// The page is not below the number of logical pages.
    #[inline]
    pub fn write(&mut self, page: LogicalPage) -> Result<(), WriteError> {
        self.ftl.write(page, &mut self.counters).map_err(|refused| self.write_error(refused))
    }

    /// The host writes pages one after the other, which may repeat: the same as [`Drive::write`] for each of them, and
    /// faster.
    ///
    /// # Errors
    ///
    /// The drive is worn out, or a page does not fit its zone; that page and those behind it keep their last versions.
    ///
    /// # Panics
    ///
    /// A page is not below the number of logical pages.
    #[inline]
    pub fn write_all(&mut self, pages: &[LogicalPage]) -> Result<(), WriteError> {
        self.ftl.write_all(pages, &mut self.counters).map_err(|refused| self.write_error(refused))
    }

    /// The host reads a page. Says whether it is on flash: never written or trimmed pages are not.
    ///
    /// # Panics
    ///
    /// The page is not below the number of logical pages.
    #[inline]
    pub fn read(&mut self, page: LogicalPage) -> bool {
        self.ftl.read(page, &mut self.counters).is_some()
    }

    /// The host no longer needs a page (TRIM). Says whether there was one.
    ///
    /// # Panics
    ///
    /// The page is not below the number of logical pages.
    pub fn trim(&mut self, page: LogicalPage) -> bool {
        self.trim_all(page.0..page.0 + 1)
    }

    /// The host no longer needs these pages (TRIM). Says whether there was one. Zones are reset if they are wholly inside.
    ///
    /// # Panics
    ///
    /// A page is not below the number of logical pages.
    pub fn trim_all(&mut self, pages: Range<u32>) -> bool {
        self.ftl.trim(pages, &mut self.counters)
    }

    /// A stream of the trace, by its position among them, wrote a page that will go to flash, at once or later: only
    /// [`Separation::Stream`](super::Separation::Stream) looks at it.
    #[inline]
    pub fn wrote(&mut self, page: LogicalPage, stream: u32) {
        self.ftl.wrote(page, stream);
    }

    #[cold]
    pub(super) fn write_error(&self, refused: Refused) -> WriteError {
        match refused {
            Refused::WornOut => WriteError::EndOfLife(EndOfLife {
                host_writes: self.counters.host_writes,
                retired_blocks: self.wear().retired_blocks,
            }),
            Refused::Zone(fault) => WriteError::Zone(fault),
        }
    }

    /// The mapping's counts since the drive was built or preconditioned.
    pub fn mapping_counts(&self) -> MappingCounts {
        self.ftl.counts()
    }

    /// The counts since the drive was built or preconditioned.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Erases of each block since the drive was built or preconditioned.
    pub fn wear(&self) -> Wear {
        self.ftl.wear()
    }

    /// The division of the drive's pages.
    pub fn capacity(&self) -> Capacity {
        self.ftl.options.capacity(&self.ftl.geometry)
    }

    /// The translation layer.
    pub fn ftl(&self) -> &Ftl {
        &self.ftl
    }
}

impl FtlOptions {
    /// Bytes of all structures of a drive of this geometry, about: [`Ftl::memory_bytes`] without building one.
    pub fn memory_bytes(&self, geometry: &Geometry) -> u64 {
        /// What a block costs in the queue of erased blocks and among the candidates.
        const BYTES_OF_WAITING_BLOCK: u64 = 12;
        /// What a block costs as a data block and log block.
        const BYTES_OF_DATA_BLOCK: u64 = 28;
        /// What an entry of the map costs in a cache.
        const BYTES_OF_CACHED_ENTRY: u64 = 20;
        let pages = u64::from(self.logical_pages);
        let beside_map = match &self.mapping {
            Mapping::Zoned(_) => return geometry.blocks() * BYTES_OF_WAITING_BLOCK,
            Mapping::Page(page) => match page.separation {
                Separation::Off => 0,
                Separation::Stream(_) => 2 * pages,
                Separation::Temperature { .. } => 8 * pages,
            },
            Mapping::Dftl(dftl) => {
                4 * pages + u64::from(dftl.cmt_entries).min(pages) * BYTES_OF_CACHED_ENTRY
            }
            Mapping::Bast(_) | Mapping::Fast(_) => geometry.blocks() * BYTES_OF_DATA_BLOCK,
        };
        let blocks = geometry.blocks() * BYTES_OF_WAITING_BLOCK;
        Map::bytes_of(geometry, self.logical_pages) + blocks + beside_map
    }

    /// The division of pages that a drive of this geometry would have; the logical pages are fewer than the raw ones.
    pub fn capacity(&self, geometry: &Geometry) -> Capacity {
        let raw_pages = geometry.raw_pages();
        let logical_pages = u64::from(self.logical_pages);
        let pools = u64::from(self.pool_count(geometry));
        let pool_free_blocks = match self.mapping {
            Mapping::Page(_) | Mapping::Dftl(_) => {
                self.minimum_free.blocks(self.pool_blocks(geometry))
            }
            Mapping::Bast(_) | Mapping::Fast(_) | Mapping::Zoned(_) => 0,
        };
        let free_blocks = u64::from(pool_free_blocks) * pools;
        Capacity {
            raw_pages,
            logical_pages,
            reserve_pages: raw_pages - logical_pages,
            minimum_free_pages: free_blocks * u64::from(geometry.pages_per_block),
            page_bytes: geometry.page_bytes,
        }
    }
}
