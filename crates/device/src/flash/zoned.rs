//! Zones: the host writes each in order and resets it, and the drive maps nothing.

use std::ops::Range;

use super::counts::MappingCounts;
use super::error::{Refused, ZoneFault};
use super::geometry::{Block, Divisor, Geometry, LogicalPage, PhysicalPage};
use super::mapping_options::{ZoneOptions, ZoneWrites};
use super::operations::{Cause, FlashOperations};
use super::wear::Wear;

/// Zones of a drive, each of blocks that lie on neighbouring dies.
#[derive(Debug, Clone)]
pub(super) struct Zoned {
    options: ZoneOptions,
    pages_per_block: u32,
    blocks_per_die: u32,
    zone_divisor: Divisor,
    block_divisor: Divisor,
    die_divisor: Divisor,
    /// By zone: pages up to its write pointer.
    pointers: Vec<u32>,
    /// Zones that are partly written.
    open: u32,
    /// By block, all dies.
    erases: Vec<u32>,
    pub(super) blocks_retired: u32,
    pub(super) counts: MappingCounts,
}

impl Zoned {
    /// An erased drive whose geometry and options were checked.
    pub(super) fn new(geometry: &Geometry, options: ZoneOptions) -> Zoned {
        let zone_pages = options.zone_blocks * geometry.pages_per_block;
        Zoned {
            options,
            pages_per_block: geometry.pages_per_block,
            blocks_per_die: geometry.planes_per_die * geometry.blocks_per_plane,
            zone_divisor: Divisor::new(zone_pages),
            block_divisor: Divisor::new(options.zone_blocks),
            die_divisor: Divisor::new(geometry.dies() as u32),
            pointers: vec![0; (geometry.blocks() / u64::from(options.zone_blocks)) as usize],
            open: 0,
            erases: vec![0; geometry.blocks() as usize],
            blocks_retired: 0,
            counts: MappingCounts::default(),
        }
    }

    fn zone_pages(&self) -> u32 {
        self.options.zone_blocks * self.pages_per_block
    }

    /// Where a page of a zone is.
    #[inline]
    fn place(&self, zone: u32, page_in_zone: u32) -> PhysicalPage {
        let (page_in_block, block_of_zone) = self.block_divisor.divide(page_in_zone);
        PhysicalPage(self.block(zone, block_of_zone).0 * self.pages_per_block + page_in_block)
    }

    /// A block of a zone: they go round the dies.
    fn block(&self, zone: u32, block_of_zone: u32) -> Block {
        let (on_die, die) =
            self.die_divisor.divide(zone * self.options.zone_blocks + block_of_zone);
        Block(die * self.blocks_per_die + on_die)
    }

    fn first_page(&self, zone: u32) -> u32 {
        zone * self.zone_pages()
    }

    pub(super) fn write<O: FlashOperations>(
        &mut self,
        page: LogicalPage,
        endurance_erases: Option<u32>,
        operations: &mut O,
    ) -> Result<(), Refused> {
        let (zone, page_in_zone) = self.zone_divisor.divide(page.0);
        let (zone_pages, pointer) = (self.zone_pages(), self.pointers[zone as usize]);
        let pointer_page = LogicalPage(self.first_page(zone) + pointer);
        if self.is_worn_out(zone, endurance_erases) {
            return Err(Refused::WornOut);
        }
        if pointer == zone_pages {
            return Err(ZoneFault::Full { zone, page }.into());
        }
        let opens = pointer == 0;
        if let Some(most) = self.options.max_open_zones
            && opens
            && self.open >= most
        {
            return Err(ZoneFault::ManyOpen { zone, page, open: self.open }.into());
        }
        if page_in_zone != pointer {
            if self.options.writes == ZoneWrites::Strict {
                return Err(ZoneFault::NotAtPointer { zone, page, pointer: pointer_page }.into());
            }
            self.counts.misplaced_writes += 1;
        }
        operations.program(self.place(zone, pointer), pointer_page);
        self.pointers[zone as usize] += 1;
        let closes = pointer + 1 == zone_pages;
        self.open = self.open + u32::from(opens) - u32::from(closes);
        Ok(())
    }

    /// Returns whether a block of a zone reached its endurance.
    fn is_worn_out(&self, zone: u32, endurance_erases: Option<u32>) -> bool {
        endurance_erases.is_some_and(|endurance| {
            let mut blocks = 0..self.options.zone_blocks;
            blocks.any(|block| self.erases[self.block(zone, block).0 as usize] >= endurance)
        })
    }

    #[inline]
    pub(super) fn find(&self, page: LogicalPage) -> Option<PhysicalPage> {
        let (zone, page_in_zone) = self.zone_divisor.divide(page.0);
        (page_in_zone < self.pointers[zone as usize]).then(|| self.place(zone, page_in_zone))
    }

    /// Resets the zones wholly inside; of others nothing happens. Says whether a page was there.
    pub(super) fn trim<O: FlashOperations>(
        &mut self,
        pages: Range<u32>,
        endurance_erases: Option<u32>,
        operations: &mut O,
    ) -> bool {
        if pages.is_empty() {
            return false;
        }
        let zone_pages = u64::from(self.zone_pages());
        let zones = pages.start / self.zone_pages()..(pages.end - 1) / self.zone_pages() + 1;
        let mut any = false;
        for zone in zones {
            let (first, end) = (u64::from(zone) * zone_pages, (u64::from(zone) + 1) * zone_pages);
            if first < pages.start.into() || end > pages.end.into() {
                self.counts.ignored_trims += 1;
                continue;
            }
            any |= self.reset(zone, endurance_erases, operations);
        }
        any
    }

    /// Erases the programmed blocks of a zone, by their numbers.
    fn reset<O: FlashOperations>(
        &mut self,
        zone: u32,
        endurance_erases: Option<u32>,
        operations: &mut O,
    ) -> bool {
        let pointer = std::mem::take(&mut self.pointers[zone as usize]);
        self.open -= u32::from(pointer > 0 && pointer < self.zone_pages());
        let programmed = 0..pointer.min(self.options.zone_blocks);
        let mut blocks: Vec<Block> = programmed.map(|block| self.block(zone, block)).collect();
        blocks.sort_unstable();
        for block in blocks {
            let erases = &mut self.erases[block.0 as usize];
            *erases += 1;
            self.blocks_retired += u32::from(endurance_erases == Some(*erases));
            operations.erase(Cause::Reset, block);
        }
        pointer > 0
    }

    pub(super) fn wear(&self) -> Wear {
        Wear::new(self.erases.iter().copied(), self.blocks_retired)
    }

    /// Sets all erase counts and counts of decisions to 0.
    pub(super) fn forget_past(&mut self) {
        self.erases.fill(0);
        self.counts = MappingCounts::default();
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.pointers) + size_of_val(&*self.erases)
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let zone_pages = self.zone_pages();
        let is_partly_written = |pointer: &&u32| **pointer > 0 && **pointer < zone_pages;
        let open = self.pointers.iter().filter(is_partly_written).count();
        match open == self.open as usize && self.pointers.iter().all(|page| *page <= zone_pages) {
            true => Ok(()),
            false => Err("open zones are counted wrongly".to_owned()),
        }
    }
}
