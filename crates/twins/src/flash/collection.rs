//! Which block a page-mapped drive collects, and where its pages go.

use std::collections::BTreeMap;

use super::{FlashCause, FlashEvent, FlashTwin};

impl FlashTwin {
    pub(super) fn collect(&mut self, die: usize) -> bool {
        let logical_pages = (self.rules.logical_pages as usize).div_ceil(self.rules.dies);
        let open = self.host[die].len() + usize::from(self.rules.wear_levelling.is_some());
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

    /// Returns whether age (1 - u) / 2u of `left` is above that of `right`; the 2 cancels. A block with nothing valid
    /// has infinitely much.
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

    /// The block that a moved page goes to, if one is being written.
    fn target(&mut self, die: usize, page: u32, levels: bool) -> &mut Option<usize> {
        let class = self.class_of_moved(page);
        if levels {
            &mut self.levelling[die]
        } else if self.rules.separate {
            &mut self.relocation[die]
        } else {
            &mut self.host[die][class]
        }
    }

    /// Returns whether a block's valid pages find room: where they go to, and one erased block for each place that is
    /// too small.
    fn fits(&mut self, die: usize, block: usize, levels: bool) -> bool {
        let pages: Vec<u32> =
            self.valid(block).into_iter().map(|at| self.blocks[block].programmed[at]).collect();
        let mut moved: BTreeMap<(usize, Option<usize>), usize> = BTreeMap::new();
        for page in pages {
            let class = if levels || self.rules.separate { 0 } else { self.class_of_moved(page) };
            let open = *self.target(die, page, levels);
            *moved.entry((class, open)).or_default() += 1;
        }
        let lacks_room = |((_, open), moved): &(&(usize, Option<usize>), &usize)| {
            let room =
                |open: usize| self.rules.pages_per_block - self.blocks[open].programmed.len();
            **moved > open.map_or(0, room)
        };
        moved.iter().filter(lacks_room).count() <= self.erased[die].len()
    }

    fn reclaim(&mut self, die: usize, block: usize, levels: bool) -> bool {
        if !self.fits(die, block, levels) {
            return false;
        }
        for at in self.valid(block) {
            let page = self.blocks[block].programmed[at];
            let open = match *self.target(die, page, levels) {
                Some(open) => open,
                None if levels => self.erased[die].pop_back().expect("a block is erased"),
                None => self.erased[die].pop_front().expect("a block is erased"),
            };
            let (to, full) = self.program(open, page);
            *self.target(die, page, levels) = (!full).then_some(open);
            let (cause, from) = (FlashCause::Collect, self.number(block, at));
            self.events.push(FlashEvent::Relocate { cause, from, to, page });
        }
        if !self.erase(block, FlashCause::Collect) {
            self.erased[die].push_back(block);
        }
        true
    }
}
