//! Full blocks by the number of their valid pages.

use super::map::BlockRecord;

/// Blocks, or groups of them, whose least number is kept.
const GROUP: usize = 64;
/// Stands for a block that is not a candidate. No victim has this number of valid pages: a block without an invalid
/// page is never collected.
const NO_CANDIDATE: u16 = u16::MAX;

/// The number of valid pages of each full block, the least number of each 64 blocks, and the least of each 4,096.
///
/// A block that loses a page is three comparisons. The block with the fewest valid pages is found by looking at one number
/// per 4,096 blocks, and then at 64 twice. A block costs 2 bytes.
#[derive(Debug, Clone)]
pub(super) struct FewestValid {
    /// By block; the last group is filled up.
    blocks: Vec<u16>,
    /// By 64 blocks; the last group is filled up.
    groups: Vec<u16>,
    /// By 64 groups.
    tops: Vec<u16>,
}

fn least(numbers: &[u16]) -> u16 {
    numbers.iter().copied().fold(NO_CANDIDATE, u16::min)
}

/// The first place of a group where a number stands that does stand there. Without a branch for each place, of which one
/// could not be foreseen.
fn place_of(number: u16, group: &[u16; GROUP]) -> usize {
    // Of eight bytes that are 0 or 1 the factor collects the lowest bits in the highest byte.
    const COLLECTS: u64 = 0x0102_0408_1020_4080;
    let is_equal = group.map(|other| u8::from(other == number));
    let (words, _) = is_equal.as_chunks::<8>();
    let places = words.iter().rev().fold(0, |places, word| {
        places << 8 | u64::from_le_bytes(*word).wrapping_mul(COLLECTS) >> 56
    });
    places.trailing_zeros() as usize
}

impl FewestValid {
    pub(super) fn new(blocks: u32) -> FewestValid {
        let groups = (blocks as usize).div_ceil(GROUP);
        let tops = groups.div_ceil(GROUP);
        FewestValid {
            blocks: vec![NO_CANDIDATE; groups * GROUP],
            groups: vec![NO_CANDIDATE; tops * GROUP],
            tops: vec![NO_CANDIDATE; tops],
        }
    }

    /// Adds a block that is not here, or lowers the number of its valid pages.
    #[inline]
    pub(super) fn lower(&mut self, block: u32, valid_pages: u16) {
        let block = block as usize;
        self.blocks[block] = valid_pages;
        let group = &mut self.groups[block / GROUP];
        *group = valid_pages.min(*group);
        let top = &mut self.tops[block / (GROUP * GROUP)];
        *top = valid_pages.min(*top);
    }

    /// Removes a block.
    pub(super) fn remove(&mut self, block: u32) {
        let group = block as usize / GROUP;
        self.blocks[block as usize] = NO_CANDIDATE;
        self.groups[group] = least(members(&self.blocks, group));
        self.tops[group / GROUP] = least(members(&self.groups, group / GROUP));
    }

    /// The smallest block number among those with fewest valid pages.
    pub(super) fn first(&self) -> Option<u32> {
        let fewest = least(&self.tops);
        let top = self.tops.iter().position(|&number| number == fewest)?;
        let group = top * GROUP + place_of(fewest, members(&self.groups, top));
        let block = group * GROUP + place_of(fewest, members(&self.blocks, group));
        (fewest != NO_CANDIDATE).then_some(block as u32)
    }

    /// The first block, in the order of valid pages and then of numbers, that has an invalid page and that `accept` takes.
    pub(super) fn first_accepted(
        &self,
        records: &[BlockRecord],
        pages_per_block: u32,
        accept: impl Fn(BlockRecord) -> bool,
    ) -> Option<u32> {
        let (mut fewest, mut first) = (pages_per_block.min(NO_CANDIDATE.into()) as u16, None);
        for (top, &least_of_top) in self.tops.iter().enumerate() {
            if least_of_top >= fewest {
                continue;
            }
            for group in top * GROUP..(top + 1) * GROUP {
                if self.groups[group] >= fewest {
                    continue;
                }
                for (block, &valid_pages) in (group * GROUP..).zip(members(&self.blocks, group)) {
                    if valid_pages < fewest && accept(records[block]) {
                        (fewest, first) = (valid_pages, Some(block as u32));
                    }
                }
            }
        }
        first
    }

    /// Returns whether a block stands here with this number, or not at all.
    pub(super) fn holds(&self, block: u32, valid_pages: Option<u16>) -> bool {
        self.blocks[block as usize] == valid_pages.unwrap_or(NO_CANDIDATE)
    }

    /// Returns whether each number of an upper level is the least of those below it.
    pub(super) fn check_levels(&self) -> bool {
        let agrees = |upper: &[u16], lower: &[u16]| {
            (0..lower.len() / GROUP).all(|group| upper[group] == least(members(lower, group)))
        };
        agrees(&self.groups, &self.blocks) && agrees(&self.tops, &self.groups)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.blocks) + size_of_val(&*self.groups) + size_of_val(&*self.tops)
    }
}

/// The numbers of a group.
fn members(level: &[u16], group: usize) -> &[u16; GROUP] {
    &level.as_chunks().0[group]
}
