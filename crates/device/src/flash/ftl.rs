//! The flash translation layer: one of the mappings.

use std::ops::Range;

use super::bast::BastPool;
use super::block_mapped::BlockMapped;
use super::counts::MappingCounts;
use super::dftl::Dftl;
use super::error::{FlashError, Refused, WornOut};
use super::fast::FastPool;
use super::geometry::{Geometry, LogicalPage, PhysicalPage, TranslationPage};
use super::mapping_options::Mapping;
use super::operations::FlashOperations;
use super::options::FtlOptions;
use super::page_mapped::PageMapped;
use super::wear::Wear;
use super::zoned::Zoned;

/// A flash translation layer: decides where pages go and what is erased, and reports it. It has no notion of time, so that
/// one that counts and one with time decide alike.
#[derive(Debug, Clone)]
pub struct Ftl {
    pub(super) geometry: Geometry,
    pub(super) options: FtlOptions,
    pub(super) mapped: Mapped,
    /// True if a write found no block; it is the end of all writes.
    is_worn_out: bool,
    /// True if blocks are retired at their endurance: not while the drive is preconditioned.
    pub(super) endurance_counts: bool,
}

/// The mapping of a drive, and what it keeps.
#[derive(Debug, Clone)]
pub(super) enum Mapped {
    Page(PageMapped),
    Bast(BlockMapped<BastPool>),
    Fast(BlockMapped<FastPool>),
    Dftl(Box<Dftl>),
    Zoned(Zoned),
}

impl Ftl {
    /// An erased drive.
    ///
    /// # Errors
    ///
    /// A geometry with an empty part or more pages than can be numbered; too few blocks for the logical pages and what the
    /// mapping needs beside them; options that contradict each other.
    pub fn new(geometry: Geometry, options: FtlOptions) -> Result<Ftl, FlashError> {
        options.check(&geometry)?;
        let mapped = match &options.mapping {
            Mapping::Page(page) => Mapped::Page(PageMapped::new(&geometry, &options, page)),
            Mapping::Bast(log) => Mapped::Bast(BlockMapped::new(&geometry, &options, log)),
            Mapping::Fast(log) => Mapped::Fast(BlockMapped::new(&geometry, &options, log)),
            Mapping::Dftl(dftl) => Mapped::Dftl(Box::new(Dftl::new(&geometry, &options, dftl))),
            Mapping::Zoned(zones) => Mapped::Zoned(Zoned::new(&geometry, *zones)),
        };
        Ok(Ftl { geometry, options, mapped, is_worn_out: false, endurance_counts: true })
    }

    /// The geometry it was built with.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The options it was built with.
    pub fn options(&self) -> &FtlOptions {
        &self.options
    }

    #[inline]
    fn endurance_erases(&self) -> Option<u32> {
        if self.endurance_counts { self.options.endurance_erases } else { None }
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
    pub fn write<O: FlashOperations>(
        &mut self,
        page: LogicalPage,
        operations: &mut O,
    ) -> Result<(), Refused> {
        self.write_all(&[page], operations)
    }

    /// The host writes pages one after the other, which may repeat. The same as [`Ftl::write`] for each of them, and
    /// faster: what belongs to a block is done once for all its pages that follow each other.
    ///
    /// # Errors
    ///
    /// The drive is worn out, or a page does not fit its zone; that page and those behind it keep their last versions.
    ///
    /// # Panics
    ///
    /// A page is not below the number of logical pages.
    #[inline]
    pub fn write_all<O: FlashOperations>(
        &mut self,
        pages: &[LogicalPage],
        operations: &mut O,
    ) -> Result<(), Refused> {
        if self.is_worn_out {
            return Err(Refused::WornOut);
        }
        let endurance = self.endurance_erases();
        let Mapped::Page(mapped) = &mut self.mapped else {
            return self.write_each(pages, operations);
        };
        match mapped.write_all(pages, endurance, operations) {
            Ok(()) => Ok(()),
            Err(worn_out) => {
                self.is_worn_out = true;
                Err(worn_out.into())
            }
        }
    }

    /// Writes pages with a mapping that takes one at a time.
    // Out of line, so that the page mapping, through which most runs go, pays nothing for it.
    #[inline(never)]
    fn write_each<O: FlashOperations>(
        &mut self,
        pages: &[LogicalPage],
        operations: &mut O,
    ) -> Result<(), Refused> {
        let endurance = self.endurance_erases();
        for page in pages.iter().copied() {
            let done = match &mut self.mapped {
                Mapped::Page(mapped) => mapped.write_all(&[page], endurance, operations),
                Mapped::Bast(mapped) => mapped.write(page, endurance, operations),
                Mapped::Fast(mapped) => mapped.write(page, endurance, operations),
                Mapped::Dftl(mapped) => mapped.write(page, endurance, operations),
                Mapped::Zoned(mapped) => match mapped.write(page, endurance, operations) {
                    Err(Refused::WornOut) => Err(WornOut),
                    other => {
                        other?;
                        Ok(())
                    }
                },
            };
            if done.is_err() {
                self.is_worn_out = true;
                return Err(Refused::WornOut);
            }
        }
        Ok(())
    }

    /// A stream of the trace, by its position among them, wrote a page that will go to flash, at once or later: only
    /// [`Separation::Stream`](super::Separation::Stream) looks at it.
    #[inline]
    pub fn wrote(&mut self, page: LogicalPage, stream: u32) {
        if let Mapped::Page(mapped) = &mut self.mapped {
            mapped.wrote(page, stream);
        }
    }

    /// The host reads a page. Says where it is on flash; nothing is read if it was never written or is trimmed, but its entry is
    /// looked up if the map is on flash.
    ///
    /// # Panics
    ///
    /// The page is not below the number of logical pages.
    #[inline]
    pub fn read<O: FlashOperations>(
        &mut self,
        page: LogicalPage,
        operations: &mut O,
    ) -> Option<PhysicalPage> {
        let endurance = self.endurance_erases();
        let from = match &mut self.mapped {
            Mapped::Dftl(mapped) => mapped.read(page, endurance, operations)?,
            _ => self.find(page)?,
        };
        operations.read(from, page);
        Some(from)
    }

    /// The place of a page on flash, if it is there.
    ///
    /// # Panics
    ///
    /// The page is not below the number of logical pages.
    #[inline]
    pub fn find(&self, page: LogicalPage) -> Option<PhysicalPage> {
        match &self.mapped {
            Mapped::Page(mapped) => mapped.find(page),
            Mapped::Bast(mapped) => mapped.map.find(page),
            Mapped::Fast(mapped) => mapped.map.find(page),
            Mapped::Dftl(mapped) => mapped.map.find(page),
            Mapped::Zoned(mapped) => mapped.find(page),
        }
    }

    /// Looks up pages that are written or read soon, one after the other: so the processor waits for many look-ups together.
    pub fn look_ahead(&self, pages: &[LogicalPage]) {
        match &self.mapped {
            Mapped::Page(mapped) => mapped.map.look_ahead(pages),
            Mapped::Bast(mapped) => mapped.map.look_ahead(pages),
            Mapped::Fast(mapped) => mapped.map.look_ahead(pages),
            Mapped::Dftl(mapped) => mapped.map.look_ahead(pages),
            Mapped::Zoned(_) => {}
        }
    }

    /// The place of a translation page on flash, if map and page are there.
    pub fn find_translation(&self, page: TranslationPage) -> Option<PhysicalPage> {
        match &self.mapped {
            Mapped::Dftl(mapped) => mapped.translation.find(page),
            _ => None,
        }
    }

    /// The host no longer needs these pages (TRIM). Says whether there was one. A drive of zones resets those wholly inside.
    ///
    /// # Panics
    ///
    /// A page is not below the number of logical pages.
    pub fn trim<O: FlashOperations>(&mut self, pages: Range<u32>, operations: &mut O) -> bool {
        let endurance = self.endurance_erases();
        let each = pages.clone().map(LogicalPage);
        match &mut self.mapped {
            Mapped::Page(mapped) => each.fold(false, |any, page| any | mapped.trim(page)),
            Mapped::Bast(mapped) => each.fold(false, |any, page| any | mapped.map.remove(page)),
            Mapped::Fast(mapped) => each.fold(false, |any, page| any | mapped.map.remove(page)),
            Mapped::Dftl(mapped) => {
                each.fold(false, |any, page| any | mapped.trim(page, endurance, operations))
            }
            Mapped::Zoned(mapped) => mapped.trim(pages, endurance, operations),
        }
    }

    /// Takes a step of collection or folding in a pool that rests: a page is moved, or a block erased. Says whether there was
    /// one; only the page mapping has such steps. A drive that is worn out takes none.
    pub fn background_step<O: FlashOperations>(
        &mut self,
        pool: u32,
        background_free: u32,
        operations: &mut O,
    ) -> bool {
        let endurance = self.endurance_erases();
        match &mut self.mapped {
            Mapped::Page(mapped) => mapped
                .background_step(pool as usize, background_free, endurance, operations)
                .unwrap_or(false),
            _ => false,
        }
    }

    /// Pools that are written and collected each by itself.
    pub fn pools(&self) -> u32 {
        self.options.pool_count(&self.geometry)
    }

    /// Blocks of each pool.
    pub fn pool_blocks(&self) -> u32 {
        self.options.pool_blocks(&self.geometry)
    }

    /// What the mapping decided so far.
    pub fn counts(&self) -> MappingCounts {
        match &self.mapped {
            Mapped::Page(mapped) => mapped.counts(),
            Mapped::Bast(mapped) => mapped.counts,
            Mapped::Fast(mapped) => mapped.counts,
            Mapped::Dftl(mapped) => mapped.counts,
            Mapped::Zoned(mapped) => mapped.counts,
        }
    }

    /// Erases of each block so far.
    pub fn wear(&self) -> Wear {
        let (map, retired) = match &self.mapped {
            Mapped::Page(mapped) => (&mapped.map, mapped.blocks_retired()),
            Mapped::Bast(mapped) => (&mapped.map, mapped.blocks_retired()),
            Mapped::Fast(mapped) => (&mapped.map, mapped.blocks_retired()),
            Mapped::Dftl(mapped) => return mapped.wear(),
            Mapped::Zoned(mapped) => return mapped.wear(),
        };
        Wear::new(map.blocks.iter().map(|record| record.erases), retired)
    }

    /// Sets all erase counts and counts of decisions to 0. No block may be retired yet.
    pub(super) fn forget_past(&mut self) {
        match &mut self.mapped {
            Mapped::Page(mapped) => mapped.forget_past(),
            Mapped::Bast(mapped) => mapped.forget_past(),
            Mapped::Fast(mapped) => mapped.forget_past(),
            Mapped::Dftl(mapped) => mapped.forget_past(),
            Mapped::Zoned(mapped) => mapped.forget_past(),
        }
    }

    /// Bytes of all its structures: with the page mapping at most 10 for each physical page, unless a block has very few pages.
    /// Pages that are kept apart by streams take 2 more, those by temperature 8, and a map on flash 4 and 20 for each cached
    /// entry.
    pub fn memory_bytes(&self) -> usize {
        match &self.mapped {
            Mapped::Page(mapped) => mapped.memory_bytes(),
            Mapped::Bast(mapped) => mapped.memory_bytes(),
            Mapped::Fast(mapped) => mapped.memory_bytes(),
            Mapped::Dftl(mapped) => mapped.memory_bytes(),
            Mapped::Zoned(mapped) => mapped.memory_bytes(),
        }
    }
}
