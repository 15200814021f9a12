//! Ranking inversions: ranges of ranks in which a better rank does not mean more references.

/// Ranks that a good ranking would have ordered otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InvertedRange {
    /// The first rank.
    pub first_rank: u64,
    /// The last rank.
    pub last_rank: u64,
    /// References to these ranks.
    pub references: u64,
    /// The number of them above the range's mean count, which would have to move to an earlier rank.
    pub displaced_references: f64,
}

#[derive(Clone, Copy)]
struct Block {
    first: usize,
    ranks: u64,
    references: u64,
}

impl Block {
    /// Returns whether its mean count is below that of `later`.
    fn is_below(&self, later: &Block) -> bool {
        u128::from(self.references) * u128::from(later.ranks)
            < u128::from(later.references) * u128::from(self.ranks)
    }
}

/// The ranges where the least-squares fit that never rises has to level the counts.
///
/// The fit is found by pooling adjacent violators (Ayer et al. 1955): ranks are joined for as long as a later block
/// has a larger mean than the one before it. A curve that never rises has no such range.
pub(super) fn inverted_ranges(counts: &[u64]) -> Vec<InvertedRange> {
    let mut blocks: Vec<Block> = Vec::new();
    for (first, &references) in counts.iter().enumerate() {
        let mut block = Block { first, ranks: 1, references };
        while let Some(before) = blocks.pop_if(|before| before.is_below(&block)) {
            block = Block {
                first: before.first,
                ranks: before.ranks + block.ranks,
                references: before.references + block.references,
            };
        }
        blocks.push(block);
    }
    blocks.iter().filter(|block| block.ranks > 1).map(|block| range(block, counts)).collect()
}

fn range(block: &Block, counts: &[u64]) -> InvertedRange {
    let mean = block.references as f64 / block.ranks as f64;
    let counts = &counts[block.first..block.first + block.ranks as usize];
    InvertedRange {
        first_rank: block.first as u64 + 1,
        last_rank: block.first as u64 + block.ranks,
        references: block.references,
        displaced_references: counts.iter().map(|&count| (count as f64 - mean).max(0.0)).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(counts: &[u64]) -> Vec<(u64, u64, u64, f64)> {
        let ranges = inverted_ranges(counts);
        let fields = |range: &InvertedRange| {
            (range.first_rank, range.last_rank, range.references, range.displaced_references)
        };
        ranges.iter().map(fields).collect()
    }

    #[test]
    fn counts_that_never_rise_have_no_inversion() {
        assert_eq!(ranges(&[9, 9, 4, 4, 1, 0, 0]), []);
        assert_eq!(ranges(&[]), []);
    }

    #[test]
    fn a_rise_is_pooled_with_the_ranks_before_it_that_are_lower_than_the_mean() {
        assert_eq!(ranges(&[10, 2, 6, 1]), [(2, 3, 8, 2.0)]);
        assert_eq!(ranges(&[10, 3, 2, 7, 1]), [(2, 4, 12, 3.0)]);
        assert_eq!(ranges(&[1, 2, 3]), [(1, 3, 6, 1.0)]);
        assert_eq!(ranges(&[5, 1, 0, 5, 0, 2]), [(2, 4, 6, 3.0), (5, 6, 2, 1.0)]);
    }
}
