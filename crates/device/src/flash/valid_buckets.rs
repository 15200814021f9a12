//! Full blocks by the number of their valid pages, in the order of their numbers.

use super::map::BlockRecord;

/// A set of blocks for each number of valid pages; the first block of the lowest set is found without a search.
///
/// A set is a bit per block, a bit per 64 blocks and a bit per 4096. The words of all sets that stand for the same blocks
/// are neighbours, because a block that loses a page moves to the next lower set. All sets together take a bit per page.
#[derive(Debug, Clone)]
pub(super) struct ValidBuckets {
    /// Sets: one for each number of valid pages from 0.
    sets: usize,
    /// A bit per block; word = block / 64 × sets + valid pages.
    blocks: Vec<u64>,
    /// A bit per word of `blocks`: whether it is not 0.
    words: Vec<u64>,
    /// A bit per word of `words`: whether it is not 0.
    groups: Vec<u64>,
    /// No set below this one has a block.
    lowest: usize,
}

impl ValidBuckets {
    pub(super) fn new(blocks: u32, pages_per_block: u32) -> ValidBuckets {
        let sets = pages_per_block as usize + 1;
        let level = |count: usize| count.div_ceil(64);
        let words = level(blocks as usize);
        let groups = level(words);
        ValidBuckets {
            sets,
            blocks: vec![0; words * sets],
            words: vec![0; groups * sets],
            groups: vec![0; level(groups) * sets],
            lowest: sets,
        }
    }

    /// Adds a block that is in no set.
    pub(super) fn insert(&mut self, block: u32, valid_pages: u16) {
        self.set(block, valid_pages.into());
        self.lowest = self.lowest.min(valid_pages.into());
    }

    /// Removes a block from the set where it is.
    pub(super) fn remove(&mut self, block: u32, valid_pages: u16) {
        self.clear(block, valid_pages.into());
    }

    /// Moves a block that lost pages, and has `valid_pages` left, to a lower set.
    #[inline]
    pub(super) fn lower(&mut self, block: u32, valid_pages: u16, lost: u16) {
        let valid_pages = usize::from(valid_pages);
        self.clear(block, valid_pages + usize::from(lost));
        self.set(block, valid_pages);
        self.lowest = self.lowest.min(valid_pages);
    }

    #[inline]
    fn set(&mut self, block: u32, set: usize) {
        let block = block as usize;
        self.blocks[block / 64 * self.sets + set] |= 1 << (block % 64);
        self.words[block / 4096 * self.sets + set] |= 1 << (block / 64 % 64);
        self.groups[block / 262_144 * self.sets + set] |= 1 << (block / 4096 % 64);
    }

    #[inline]
    fn clear(&mut self, block: u32, set: usize) {
        let block = block as usize;
        let word = &mut self.blocks[block / 64 * self.sets + set];
        *word &= !(1 << (block % 64));
        // Whether a word becomes empty is a toss-up, so that a branch here would cost more than the write.
        let emptied = u64::from(*word == 0);
        let group = &mut self.words[block / 4096 * self.sets + set];
        *group &= !(emptied << (block / 64 % 64));
        if *group == 0 {
            self.groups[block / 262_144 * self.sets + set] &= !(1 << (block / 4096 % 64));
        }
    }

    /// The smallest block number among those with fewest valid pages.
    pub(super) fn first(&mut self) -> Option<u32> {
        while self.lowest < self.sets {
            if let Some(block) = self.first_of(self.lowest, |_| true) {
                return Some(block);
            }
            self.lowest += 1;
        }
        None
    }

    /// The first block, in the order of valid pages and then of numbers, that has an invalid page and that `accept` takes.
    pub(super) fn first_accepted(
        &mut self,
        records: &[BlockRecord],
        accept: impl Fn(BlockRecord) -> bool,
    ) -> Option<u32> {
        self.first()?;
        (self.lowest..self.sets - 1)
            .find_map(|set| self.first_of(set, |block| accept(records[block as usize])))
    }

    /// The first block of a set that `accept` takes.
    fn first_of(&self, set: usize, accept: impl Fn(u32) -> bool) -> Option<u32> {
        let word_of = |level: &[u64], index: usize| level[index * self.sets + set];
        let top_words = self.groups.len() / self.sets;
        for top in 0..top_words {
            for group in ones(word_of(&self.groups, top), top) {
                for word in ones(word_of(&self.words, group), group) {
                    let accepted = |block: &usize| accept(*block as u32);
                    if let Some(block) = ones(word_of(&self.blocks, word), word).find(accepted) {
                        return Some(block as u32);
                    }
                }
            }
        }
        None
    }

    /// Whether a block is in this set and in no other.
    pub(super) fn holds_only(&self, block: u32, set: Option<u16>) -> bool {
        (0..self.sets).all(|other| {
            let word = self.blocks[block as usize / 64 * self.sets + other];
            (word >> (block % 64) & 1 == 1) == (set.map(usize::from) == Some(other))
        })
    }

    /// Whether each bit of an upper level says what the level below it holds, and no set below the lowest has a block.
    pub(super) fn check_levels(&self) -> bool {
        let agrees = |upper: &[u64], lower: &[u64]| {
            (0..lower.len()).all(|index| {
                let (row, set) = (index / self.sets, index % self.sets);
                let bit = upper[row / 64 * self.sets + set] >> (row % 64) & 1;
                (bit == 1) == (lower[index] != 0)
            })
        };
        agrees(&self.words, &self.blocks)
            && agrees(&self.groups, &self.words)
            && (0..self.lowest).all(|set| self.first_of(set, |_| true).is_none())
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.blocks) + size_of_val(&*self.words) + size_of_val(&*self.groups)
    }
}

/// Numbers of the bits that are 1, in ascending order, of word number `index`.
fn ones(word: u64, index: usize) -> impl Iterator<Item = usize> {
    let rest = |word: &u64| Some(word & (word - 1)).filter(|rest| *rest != 0);
    std::iter::successors(Some(word).filter(|word| *word != 0), rest)
        .map(move |word| index * 64 + word.trailing_zeros() as usize)
}
