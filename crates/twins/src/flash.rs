//! The flash drive of rule A-77, and the options beside it, of rules too: slow and literal.

mod collection;
mod dftl;
mod event;
mod log_blocks;
mod zones;

pub use dftl::{DftlRules, DftlTwin};
pub use event::{FlashCause, FlashEvent};
pub use log_blocks::{LogBlockRules, LogBlockTwin};
pub use zones::{ZoneRefusal, ZoneRules, ZonedTwin};

use std::collections::{BTreeMap, VecDeque};

use crate::split_mix::SplitMix;

/// Which pages have a frontier of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlashClasses {
    /// None.
    Off,
    /// Those of each stream, modulo this many.
    Streams(u32),
    /// Those written again within this many host writes.
    Temperature(u64),
}

/// The SLC region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlcRules {
    /// Blocks of each die.
    pub blocks: usize,
    /// Bits of a cell elsewhere.
    pub bits_per_cell: usize,
    /// True if a write that finds it full folds a block; or else it goes to the main region.
    pub folds: bool,
}

/// The drive's rules. A pool is a die; one die is the one pool of A-77.
#[derive(Clone, Debug)]
pub struct FlashRules {
    /// Dies; logical page p belongs to die p mod dies.
    pub dies: usize,
    /// Blocks of each die.
    pub blocks_per_die: usize,
    /// Pages of a block.
    pub pages_per_block: usize,
    /// Logical pages.
    pub logical_pages: u32,
    /// `greedy`, `fifo`, `d-choices:D`, `random` or `cost-benefit`.
    pub victim: String,
    /// True if relocated pages go to a block of their own.
    pub separate: bool,
    /// Erased blocks of a die below which it is collected; A-77 has 2.
    pub minimum_free: usize,
    /// Erases above the average block, rounded down, that make collection pass over a block.
    pub wear_limit: Option<u32>,
    /// Erases above the least worn full block that make that one be collected too, into the block just erased.
    pub wear_levelling: Option<u32>,
    /// Erases after which a block is retired.
    pub endurance: Option<u32>,
    /// Seed of the drawing.
    pub seed: u64,
    /// Which pages are kept apart.
    pub classes: FlashClasses,
    /// The SLC region.
    pub slc: Option<SlcRules>,
}

#[derive(Clone, Default)]
struct Block {
    /// What was programmed into its pages, in order.
    programmed: Vec<u32>,
    erases: u32,
    retired: bool,
    /// When it became full, among all that did.
    filled: u64,
    /// The host write that last programmed or invalidated one of its pages.
    modified: u64,
}

/// The drive.
pub struct FlashTwin {
    rules: FlashRules,
    blocks: Vec<Block>,
    /// Where each logical page is: block, and page in it.
    places: BTreeMap<u32, (usize, usize)>,
    /// By die: erased blocks.
    erased: Vec<VecDeque<usize>>,
    /// By die: its blocks that are collected.
    ranges: Vec<std::ops::Range<usize>>,
    /// By die and class: the block that the host's pages go to.
    host: Vec<Vec<Option<usize>>>,
    /// By die: erased SLC blocks.
    slc_erased: Vec<VecDeque<usize>>,
    /// By die: SLC blocks that were written, in that order; the last one may have room.
    slc_written: Vec<VecDeque<usize>>,
    /// By page: the stream that wrote it last.
    streams: BTreeMap<u32, u32>,
    /// By page: the class that its version on flash was written with.
    stream_classes: BTreeMap<u32, usize>,
    /// By page: the host write that wrote it last.
    last_writes: BTreeMap<u32, u64>,
    /// By die: the block that relocated pages go to, if it is another.
    relocation: Vec<Option<usize>>,
    /// By die: the block that the pages of little worn blocks go to.
    levelling: Vec<Option<usize>>,
    /// By die: what is drawn.
    numbers: Vec<SplitMix>,
    writes: u64,
    fills: u64,
    events: Vec<FlashEvent>,
}

impl FlashTwin {
    /// An erased drive.
    pub fn new(rules: FlashRules) -> FlashTwin {
        let slc_blocks = rules.slc.map_or(0, |slc| slc.blocks);
        let per_die = rules.blocks_per_die;
        let range = |die: usize| die * per_die..(die + 1) * per_die - slc_blocks;
        let ranges = (0..rules.dies).map(range).collect();
        FlashTwin::of_blocks(rules, ranges)
    }

    /// An erased drive that has these blocks of each die.
    pub(crate) fn of_blocks(rules: FlashRules, ranges: Vec<std::ops::Range<usize>>) -> FlashTwin {
        let per_die = rules.blocks_per_die;
        let classes = match rules.classes {
            FlashClasses::Off => 1,
            FlashClasses::Streams(streams) => streams as usize,
            FlashClasses::Temperature(_) => 2,
        };
        let slc_of = |die: usize| match rules.slc {
            Some(_) => (ranges[die].end..(die + 1) * per_die).collect(),
            None => VecDeque::new(),
        };
        FlashTwin {
            blocks: vec![Block::default(); rules.dies * per_die],
            places: BTreeMap::new(),
            erased: ranges.iter().map(|range| range.clone().collect()).collect(),
            host: vec![vec![None; classes]; rules.dies],
            slc_erased: (0..rules.dies).map(slc_of).collect(),
            slc_written: vec![VecDeque::new(); rules.dies],
            streams: BTreeMap::new(),
            stream_classes: BTreeMap::new(),
            last_writes: BTreeMap::new(),
            relocation: vec![None; rules.dies],
            levelling: vec![None; rules.dies],
            numbers: ranges
                .iter()
                .map(|range| SplitMix::new(rules.seed.wrapping_add((range.start as u64) << 32)))
                .collect(),
            writes: 0,
            fills: 0,
            events: Vec::new(),
            ranges,
            rules,
        }
    }

    /// A stream writes a page, which the drive gets at once or later.
    pub fn wrote(&mut self, page: u32, stream: u32) {
        self.streams.insert(page, stream);
    }

    /// A host write: what it led to, and whether it was carried out.
    pub fn write(&mut self, page: u32) -> (Vec<FlashEvent>, bool) {
        self.writes += 1;
        let die = page as usize % self.rules.dies;
        let class = match self.rules.classes {
            FlashClasses::Streams(streams) => {
                (self.streams.get(&page).copied().unwrap_or(0) % streams) as usize
            }
            _ => self.class_of_moved(page),
        };
        let done = match self.rules.slc {
            Some(slc) => self.write_slc(die, page, class, slc),
            None => self.write_to(die, page, class, None),
        };
        self.last_writes.insert(page, self.writes);
        self.stream_classes.insert(page, class);
        (std::mem::take(&mut self.events), done)
    }

    /// The class of a page that is on flash.
    fn class_of_moved(&self, page: u32) -> usize {
        match self.rules.classes {
            FlashClasses::Off => 0,
            FlashClasses::Streams(_) => self.stream_classes.get(&page).copied().unwrap_or(0),
            FlashClasses::Temperature(hot_within) => {
                let last = self.last_writes.get(&page);
                usize::from(last.is_some_and(|last| self.writes - last <= hot_within))
            }
        }
    }

    /// The host trims a page.
    pub fn trim(&mut self, page: u32) {
        if let Some((block, _)) = self.places.remove(&page) {
            self.blocks[block].modified = self.writes;
        }
    }

    /// The physical page of a logical one.
    pub fn find(&self, page: u32) -> Option<u32> {
        self.places.get(&page).map(|(block, at)| self.number(*block, *at))
    }

    /// Erases of each block.
    pub fn erases(&self) -> Vec<u32> {
        self.blocks.iter().map(|block| block.erases).collect()
    }

    fn write_slc(&mut self, die: usize, page: u32, class: usize, slc: SlcRules) -> bool {
        let pages = self.rules.pages_per_block / slc.bits_per_cell;
        let has_room = |twin: &FlashTwin, block: usize| twin.blocks[block].programmed.len() < pages;
        let newest = self.slc_written[die].back().copied();
        if newest.is_none_or(|newest| !has_room(self, newest)) {
            if self.slc_erased[die].is_empty() && slc.folds && !self.fold(die) {
                return false;
            }
            match self.slc_erased[die].pop_front() {
                Some(block) => self.slc_written[die].push_back(block),
                None => return self.write_to(die, page, class, None),
            }
        }
        let block = *self.slc_written[die].back().expect("one has room");
        let (to, _) = self.program(block, page);
        self.events.push(FlashEvent::Program { to, page });
        true
    }

    /// Moves the pages of the SLC block that became full first, and erases it.
    fn fold(&mut self, die: usize) -> bool {
        let Some(block) = self.slc_written[die].front().copied() else { return true };
        for at in 0..self.blocks[block].programmed.len() {
            let page = self.blocks[block].programmed[at];
            if self.places.get(&page) != Some(&(block, at)) {
                continue;
            }
            let from = self.number(block, at);
            let class = self.class_of_moved(page);
            if !self.write_to(die, page, class, Some(from)) {
                return false;
            }
        }
        self.slc_written[die].pop_front();
        if !self.erase(block, FlashCause::Fold) {
            self.slc_erased[die].push_back(block);
        }
        true
    }

    /// Writes a page into the main region: of the host, or folded from a place.
    fn write_to(&mut self, die: usize, page: u32, class: usize, folded: Option<u32>) -> bool {
        if self.host[die][class].is_none() {
            while self.erased[die].len() < self.rules.minimum_free {
                if !self.collect(die) {
                    return false;
                }
            }
        }
        let block = match self.host[die][class] {
            Some(block) => block,
            None => self.erased[die].pop_front().expect("a block is erased"),
        };
        let (to, full) = self.program(block, page);
        self.host[die][class] = (!full).then_some(block);
        self.events.push(match folded {
            None => FlashEvent::Program { to, page },
            Some(from) => FlashEvent::Relocate { cause: FlashCause::Fold, from, to, page },
        });
        true
    }

    /// Programs the next page of a block; the old copy is invalid from then on.
    fn program(&mut self, block: usize, page: u32) -> (u32, bool) {
        let at = self.blocks[block].programmed.len();
        self.blocks[block].programmed.push(page);
        if let Some((old, _)) = self.places.insert(page, (block, at)) {
            self.blocks[old].modified = self.writes;
        }
        let full = at + 1 == self.rules.pages_per_block;
        if full {
            self.fills += 1;
            self.blocks[block].filled = self.fills;
            self.blocks[block].modified = self.writes;
        }
        (self.number(block, at), full)
    }

    /// Erases a block; says whether it is retired.
    fn erase(&mut self, block: usize, cause: FlashCause) -> bool {
        let erased = &mut self.blocks[block];
        erased.programmed.clear();
        erased.erases += 1;
        erased.retired = self.rules.endurance.is_some_and(|endurance| erased.erases >= endurance);
        let retired = erased.retired;
        self.events.push(FlashEvent::Erase { cause, block: block as u32 });
        retired
    }

    fn number(&self, block: usize, page: usize) -> u32 {
        (block * self.rules.pages_per_block + page) as u32
    }

    fn valid(&self, block: usize) -> Vec<usize> {
        let programmed = self.blocks[block].programmed.iter().enumerate();
        let valid = programmed.filter(|(at, page)| self.places.get(page) == Some(&(block, *at)));
        valid.map(|(at, _)| at).collect()
    }

    fn die_blocks(&self, die: usize) -> std::ops::Range<usize> {
        self.ranges[die].clone()
    }

    fn full(&self, die: usize) -> Vec<usize> {
        let is_full =
            |block: &usize| self.blocks[*block].programmed.len() == self.rules.pages_per_block;
        self.die_blocks(die).filter(is_full).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_a_77() {
        let mut drive = FlashTwin::new(FlashRules {
            dies: 1,
            blocks_per_die: 5,
            pages_per_block: 4,
            logical_pages: 8,
            victim: "greedy".to_owned(),
            separate: false,
            minimum_free: 2,
            wear_limit: None,
            wear_levelling: None,
            endurance: None,
            seed: 0,
            classes: FlashClasses::Off,
            slc: None,
        });
        let writes = [0, 1, 2, 3, 4, 5, 6, 7, 0, 4, 1, 5, 0, 4, 0, 4, 2];
        let events: Vec<FlashEvent> =
            writes.into_iter().flat_map(|page| drive.write(page).0).collect();
        let erases =
            events.iter().filter(|event| matches!(event, FlashEvent::Erase { .. })).count();
        assert_eq!((events.len() - erases, erases), (21, 2));
    }
}
