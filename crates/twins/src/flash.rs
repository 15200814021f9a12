//! The flash drive of rule A-77, and the options beside it: slow and literal.

use std::collections::{BTreeMap, VecDeque};

use crate::split_mix::SplitMix;

/// What the drive does to its flash memory. Pages are numbered through all blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlashEvent {
    /// The host's page is programmed.
    Program {
        /// Physical page.
        to: u32,
        /// Logical page.
        page: u32,
    },
    /// A valid page is moved.
    Relocate {
        /// Physical page read.
        from: u32,
        /// Physical page programmed.
        to: u32,
        /// Logical page.
        page: u32,
    },
    /// A block is erased.
    Erase {
        /// Its number.
        block: u32,
    },
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
    /// Whether relocated pages go to a block of their own.
    pub separate: bool,
    /// Erased blocks of a die below which it is collected; A-77 has 2.
    pub minimum_free: usize,
    /// Erases above the average block, rounded down, from which a block is passed over.
    pub wear_limit: Option<u32>,
    /// Erases above the least worn full block at which that one is collected too, into the block just erased.
    pub wear_levelling: Option<u32>,
    /// Erases after which a block is retired.
    pub endurance: Option<u32>,
    /// Seed of the drawing.
    pub seed: u64,
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
    /// By die: the block that the host's pages go to.
    host: Vec<Option<usize>>,
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
        let per_die = rules.blocks_per_die;
        let first = |die: usize| die * per_die;
        FlashTwin {
            blocks: vec![Block::default(); rules.dies * per_die],
            places: BTreeMap::new(),
            erased: (0..rules.dies).map(|die| (first(die)..first(die + 1)).collect()).collect(),
            host: vec![None; rules.dies],
            relocation: vec![None; rules.dies],
            levelling: vec![None; rules.dies],
            numbers: (0..rules.dies)
                .map(|die| SplitMix::new(rules.seed.wrapping_add((first(die) as u64) << 32)))
                .collect(),
            writes: 0,
            fills: 0,
            events: Vec::new(),
            rules,
        }
    }

    /// A host write: what it led to, and whether it was carried out.
    pub fn write(&mut self, page: u32) -> (Vec<FlashEvent>, bool) {
        self.writes += 1;
        let die = page as usize % self.rules.dies;
        let done = self.write_to(die, page);
        (std::mem::take(&mut self.events), done)
    }

    /// The host trims a page.
    pub fn trim(&mut self, page: u32) {
        if let Some((block, _)) = self.places.remove(&page) {
            self.blocks[block].modified = self.writes;
        }
    }

    /// Erases of each block.
    pub fn erases(&self) -> Vec<u32> {
        self.blocks.iter().map(|block| block.erases).collect()
    }

    fn write_to(&mut self, die: usize, page: u32) -> bool {
        if self.host[die].is_none() {
            while self.erased[die].len() < self.rules.minimum_free {
                if !self.collect(die) {
                    return false;
                }
            }
        }
        let block = match self.host[die] {
            Some(block) => block,
            None => self.erased[die].pop_front().expect("a block is erased"),
        };
        let (at, full) = self.program(block, page);
        self.host[die] = (!full).then_some(block);
        self.events.push(FlashEvent::Program { to: at, page });
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

    fn number(&self, block: usize, page: usize) -> u32 {
        (block * self.rules.pages_per_block + page) as u32
    }

    fn valid(&self, block: usize) -> Vec<usize> {
        let programmed = self.blocks[block].programmed.iter().enumerate();
        let valid = programmed.filter(|(at, page)| self.places.get(page) == Some(&(block, *at)));
        valid.map(|(at, _)| at).collect()
    }

    fn die_blocks(&self, die: usize) -> std::ops::Range<usize> {
        die * self.rules.blocks_per_die..(die + 1) * self.rules.blocks_per_die
    }

    fn full(&self, die: usize) -> Vec<usize> {
        let is_full =
            |block: &usize| self.blocks[*block].programmed.len() == self.rules.pages_per_block;
        self.die_blocks(die).filter(is_full).collect()
    }

    fn collect(&mut self, die: usize) -> bool {
        let logical_pages = (self.rules.logical_pages as usize).div_ceil(self.rules.dies);
        let open = if self.rules.wear_levelling.is_some() { 2 } else { 1 };
        let needed = logical_pages / self.rules.pages_per_block + self.rules.minimum_free + open;
        if self.die_blocks(die).filter(|block| !self.blocks[*block].retired).count() < needed {
            return false;
        }
        let victim = self.victim(die);
        if !self.reclaim(die, victim, false) {
            return false;
        }
        let Some(spread) = self.rules.wear_levelling else { return true };
        if self.blocks[victim].retired {
            return true;
        }
        let coldest =
            self.full(die).into_iter().min_by_key(|block| (self.blocks[*block].erases, *block));
        match coldest {
            Some(block) if self.blocks[block].erases + spread <= self.blocks[victim].erases => {
                self.reclaim(die, block, true)
            }
            _ => true,
        }
    }

    fn victim(&mut self, die: usize) -> usize {
        let full = self.full(die);
        let fewest = |block: &usize| (self.valid(*block).len(), *block);
        let in_use = self.die_blocks(die).filter(|block| !self.blocks[*block].retired);
        let erases: Vec<u32> = in_use.map(|block| self.blocks[block].erases).collect();
        let mean = erases.iter().sum::<u32>() / erases.len() as u32;
        let unworn: Vec<usize> = match self.rules.wear_limit {
            Some(limit) => full
                .iter()
                .copied()
                .filter(|block| self.blocks[*block].erases <= mean + limit)
                .filter(|block| self.valid(*block).len() < self.rules.pages_per_block)
                .collect(),
            None => Vec::new(),
        };
        let choice = if unworn.is_empty() { full } else { unworn };
        match self.rules.victim.as_str() {
            "greedy" => choice.into_iter().min_by_key(fewest).expect("a block is full"),
            "fifo" => choice
                .into_iter()
                .min_by_key(|block| self.blocks[*block].filled)
                .expect("a block is full"),
            "random" => self.draw(die, 1),
            "cost-benefit" => {
                let mut best = choice[0];
                for block in choice {
                    if self.benefit_exceeds(block, best) {
                        best = block;
                    }
                }
                best
            }
            other => {
                let d = other.strip_prefix("d-choices:").expect("a victim rule");
                self.draw(die, d.parse().expect("a number"))
            }
        }
    }

    /// Whether age (1 - u) / 2u of `left` is above that of `right`; the 2 cancels. A block with nothing valid has infinitely much.
    fn benefit_exceeds(&self, left: usize, right: usize) -> bool {
        let pages = self.rules.pages_per_block as u128;
        let benefit = |block: usize| {
            let valid = self.valid(block).len() as u128;
            let age = u128::from(self.writes - self.blocks[block].modified + 1);
            (age * (pages - valid), valid)
        };
        match (benefit(left), benefit(right)) {
            (_, (_, 0)) => false,
            ((_, 0), _) => true,
            ((left, left_valid), (right, right_valid)) => left * right_valid > right * left_valid,
        }
    }

    fn draw(&mut self, die: usize, draws: usize) -> usize {
        let full = self.full(die);
        let blocks = self.die_blocks(die);
        let mut drawn = Vec::new();
        while drawn.len() < draws {
            let upper_half = self.numbers[die].draw() >> 32;
            let block = blocks.start + ((upper_half * blocks.len() as u64) >> 32) as usize;
            if full.contains(&block) {
                drawn.push(block);
            }
        }
        drawn
            .into_iter()
            .min_by_key(|block| (self.valid(*block).len(), *block))
            .expect("one was drawn")
    }

    /// The block that moved pages go to, if one is being written.
    fn target(&mut self, die: usize, levels: bool) -> &mut Option<usize> {
        if levels {
            &mut self.levelling[die]
        } else if self.rules.separate {
            &mut self.relocation[die]
        } else {
            &mut self.host[die]
        }
    }

    fn reclaim(&mut self, die: usize, block: usize, levels: bool) -> bool {
        let pages = self.rules.pages_per_block;
        let open = *self.target(die, levels);
        let room = open.map_or(0, |open| pages - self.blocks[open].programmed.len());
        let valid = self.valid(block);
        if self.erased[die].is_empty() && valid.len() > room {
            return false;
        }
        for at in valid {
            let page = self.blocks[block].programmed[at];
            let open = match *self.target(die, levels) {
                Some(open) => open,
                None if levels => self.erased[die].pop_back().expect("a block is erased"),
                None => self.erased[die].pop_front().expect("a block is erased"),
            };
            let (to, full) = self.program(open, page);
            *self.target(die, levels) = (!full).then_some(open);
            self.events.push(FlashEvent::Relocate { from: self.number(block, at), to, page });
        }
        let erased = &mut self.blocks[block];
        erased.programmed.clear();
        erased.erases += 1;
        erased.retired = self.rules.endurance.is_some_and(|endurance| erased.erases >= endurance);
        if !erased.retired {
            self.erased[die].push_back(block);
        }
        self.events.push(FlashEvent::Erase { block: block as u32 });
        true
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
        });
        let writes = [0, 1, 2, 3, 4, 5, 6, 7, 0, 4, 1, 5, 0, 4, 0, 4, 2];
        let events: Vec<FlashEvent> =
            writes.into_iter().flat_map(|page| drive.write(page).0).collect();
        let erases =
            events.iter().filter(|event| matches!(event, FlashEvent::Erase { .. })).count();
        assert_eq!((events.len() - erases, erases), (21, 2));
    }
}
