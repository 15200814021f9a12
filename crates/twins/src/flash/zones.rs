//! The drive of zones, of rule A-119: slow and literal.

use super::{FlashCause, FlashEvent};

/// The drive's rules.
#[derive(Clone, Debug)]
pub struct ZoneRules {
    /// Dies.
    pub dies: usize,
    /// Blocks of each die.
    pub blocks_per_die: usize,
    /// Pages of a block.
    pub pages_per_block: usize,
    /// Blocks of a zone.
    pub zone_blocks: usize,
    /// True if a page that is not at the write pointer goes there.
    pub appends: bool,
    /// Zones that may be partly written.
    pub max_open_zones: Option<usize>,
}

/// Why a page was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneRefusal {
    /// The write pointer is at this page.
    Pointer(u32),
    /// The zone is full.
    Full,
    /// Too many zones are open.
    Open,
}

/// The drive.
pub struct ZonedTwin {
    rules: ZoneRules,
    /// By zone: pages written.
    written: Vec<usize>,
    /// Zones named in part by a TRIM.
    pub ignored_trims: u64,
    /// Pages that went elsewhere.
    pub misplaced_writes: u64,
}

impl ZonedTwin {
    /// An erased drive.
    pub fn new(rules: ZoneRules) -> ZonedTwin {
        let zones = rules.dies * rules.blocks_per_die / rules.zone_blocks;
        ZonedTwin { written: vec![0; zones], ignored_trims: 0, misplaced_writes: 0, rules }
    }

    fn zone_pages(&self) -> usize {
        self.rules.zone_blocks * self.rules.pages_per_block
    }

    /// Logical pages.
    pub fn pages(&self) -> usize {
        self.written.len() * self.zone_pages()
    }

    fn block(&self, zone: usize, index: usize) -> usize {
        let all = zone * self.rules.zone_blocks + index;
        all % self.rules.dies * self.rules.blocks_per_die + all / self.rules.dies
    }

    fn place(&self, page: usize) -> u32 {
        let (zone, at) = (page / self.zone_pages(), page % self.zone_pages());
        let block = self.block(zone, at % self.rules.zone_blocks);
        (block * self.rules.pages_per_block + at / self.rules.zone_blocks) as u32
    }

    /// A host write: the operation, or why it is refused.
    pub fn write(&mut self, page: u32) -> Result<FlashEvent, ZoneRefusal> {
        let zone_pages = self.zone_pages();
        let zone = page as usize / zone_pages;
        let pointer = zone * zone_pages + self.written[zone];
        let is_open = |written: &&usize| **written > 0 && **written < zone_pages;
        let open = self.written.iter().filter(is_open).count();
        if self.written[zone] == zone_pages {
            return Err(ZoneRefusal::Full);
        }
        if self.written[zone] == 0 && self.rules.max_open_zones.is_some_and(|most| open >= most) {
            return Err(ZoneRefusal::Open);
        }
        if pointer != page as usize {
            if !self.rules.appends {
                return Err(ZoneRefusal::Pointer(pointer as u32));
            }
            self.misplaced_writes += 1;
        }
        self.written[zone] += 1;
        Ok(FlashEvent::Program { to: self.place(pointer), page: pointer as u32 })
    }

    /// The physical page of a logical one.
    pub fn find(&self, page: u32) -> Option<u32> {
        let (zone, at) = (page as usize / self.zone_pages(), page as usize % self.zone_pages());
        (at < self.written[zone]).then(|| self.place(page as usize))
    }

    /// The host trims pages.
    pub fn trim(&mut self, pages: std::ops::Range<u32>) -> Vec<FlashEvent> {
        let mut events = Vec::new();
        for zone in 0..self.written.len() {
            let own = (zone * self.zone_pages()) as u32..((zone + 1) * self.zone_pages()) as u32;
            if pages.start <= own.start && own.end <= pages.end {
                let mut blocks: Vec<usize> = (0..self.rules.zone_blocks)
                    .filter(|index| *index < self.written[zone])
                    .map(|index| self.block(zone, index))
                    .collect();
                blocks.sort_unstable();
                self.written[zone] = 0;
                events.extend(blocks.into_iter().map(|block| FlashEvent::Erase {
                    cause: FlashCause::Reset,
                    block: block as u32,
                }));
            } else if own.clone().any(|page| pages.contains(&page)) {
                self.ignored_trims += 1;
            }
        }
        events
    }
}
