//! References by the rank of their page: the curves of the CRAW paper's Figures 2 to 5.

use clockhand_trace::PageView;

use super::inversion::{InvertedRange, inverted_ranges};
use super::{Kind, for_each_reference};
use crate::error::SimError;
use crate::stack_distance::{LruCounts, LruStack};
use clockhand_trace::progress::Progress;

/// How many references of one kind went to the page at each rank of a list of that kind.
///
/// The rank is that just before the reference, from 1. A page's first reference of the kind has no rank: the page is
/// not on the list yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranking {
    /// Entry `i` counts the references to rank `i + 1`; as many entries as pages.
    counts: Vec<u64>,
    /// Entry `i` is how many references had been made when the list got its page number `i + 1`.
    grown_after: Vec<u64>,
    references: u64,
    /// References of a block, or 0; and the counts when each block ended.
    every: u64,
    blocks: Vec<Vec<u64>>,
}

impl Ranking {
    /// Counts this many references, in blocks if there are any.
    pub(super) fn in_blocks(blocks: u64, references: u64) -> Self {
        let every = if blocks == 0 { 0 } else { references.div_ceil(blocks) };
        Ranking { every, ..Ranking::default() }
    }

    /// Counts one reference: to the page at `rank`, or to one that is not on the list yet.
    #[inline]
    pub(super) fn add(&mut self, rank: Option<u32>) {
        self.references += 1;
        match rank {
            Some(rank) => self.counts[rank as usize - 1] += 1,
            None => {
                self.counts.push(0);
                self.grown_after.push(self.references);
            }
        }
        if self.every > 0 && self.references.is_multiple_of(self.every) {
            self.blocks.push(self.counts.clone());
        }
    }

    /// The ranking of all references by recency, from their stack distances.
    pub(super) fn of_distances(counts: &LruCounts, references: u64) -> Self {
        let grown_after = counts.first_records().to_vec();
        let both = |distance| {
            let (reads, writes) = counts.at_distance(distance);
            reads + writes
        };
        let counts = (1..=grown_after.len() as u32).map(both).collect();
        Ranking { counts, grown_after, references, ..Ranking::default() }
    }

    /// References of the kind, first ones included.
    pub fn references(&self) -> u64 {
        self.references
    }

    /// Pages on the list in the end, which is also the number of first references.
    pub fn pages(&self) -> u64 {
        self.counts.len() as u64
    }

    /// References of the kind to pages that had one before.
    pub fn re_references(&self) -> u64 {
        self.references - self.pages()
    }

    /// Entry `i` counts the references to rank `i + 1`.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The counts when each block of equally many references ended, if blocks are wanted; what is left behind the last
    /// one belongs to none.
    pub fn blocks(&self) -> &[Vec<u64>] {
        &self.blocks
    }

    /// For each rank, the probability that the next reference of the kind goes to the page there: references to the
    /// rank over references that were made while some page had it; `None` if none was.
    pub fn probabilities(&self) -> impl Iterator<Item = Option<f64>> {
        self.counts.iter().zip(&self.grown_after).map(|(&count, &grown_after)| {
            let chances = self.references - grown_after;
            (chances > 0).then(|| count as f64 / chances as f64)
        })
    }

    /// The ranges where the ranking mispredicts the next reference.
    pub fn inverted_ranges(&self) -> Vec<InvertedRange> {
        inverted_ranges(&self.counts)
    }
}

/// The ranking by recency: the rank is the stack distance on an LRU list of references of this kind only.
pub(super) fn recency_ranking(
    view: &PageView,
    kind: Kind,
    blocks: u64,
    progress: &Progress,
) -> Result<Ranking, SimError> {
    let ranking = Ranking::in_blocks(blocks, kind.references(view));
    let mut state = (LruStack::new(view.footprint_pages()), ranking);
    for_each_reference(
        view,
        progress,
        &mut state,
        |(stack, _), page| stack.look_ahead(page),
        |(stack, ranking), page, is_write| {
            if kind.includes(is_write) {
                ranking.add(stack.reference(page));
            }
        },
    )?;
    Ok(state.1)
}
