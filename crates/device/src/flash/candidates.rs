//! The full blocks, kept in the order in which the victim rule examines them.

use std::collections::VecDeque;

use super::fewest_valid::FewestValid;
use super::geometry::Block;
use super::map::{BlockRecord, BlockState};
use super::options::VictimRule;
use super::random::SplitMix64;

/// The full blocks of a pool, by their numbers within the pool.
#[derive(Debug, Clone)]
pub(super) enum Candidates {
    /// By the number of valid pages.
    Greedy(FewestValid),
    /// In the order they became full.
    Fifo(VecDeque<u32>),
    /// The number of blocks that are drawn; a block that is not full is drawn again.
    Drawn(u32, SplitMix64),
    /// By block: the host write that last programmed or invalidated one of its pages.
    CostBenefit(Vec<u64>),
}

/// What a choice among candidates depends on.
pub(super) struct View<'a> {
    /// The pool's blocks.
    pub(super) records: &'a [BlockRecord],
    pub(super) pages_per_block: u32,
    /// Host writes so far, the present one included.
    pub(super) clock: u64,
    /// Blocks erased more often than this are passed over.
    pub(super) erases_max: Option<u32>,
}

impl Candidates {
    pub(super) fn new(rule: VictimRule, blocks: u32, seed: u64) -> Self {
        match rule {
            VictimRule::Greedy => Candidates::Greedy(FewestValid::new(blocks)),
            VictimRule::Fifo => Candidates::Fifo(VecDeque::with_capacity(blocks as usize)),
            VictimRule::Random => Candidates::Drawn(1, SplitMix64::new(seed)),
            VictimRule::DChoices(d) => Candidates::Drawn(d, SplitMix64::new(seed)),
            VictimRule::CostBenefit => Candidates::CostBenefit(vec![0; blocks as usize]),
        }
    }

    /// A block became full.
    pub(super) fn insert(&mut self, block: u32, valid_pages: u16, clock: u64) {
        match self {
            Candidates::Greedy(fewest) => fewest.lower(block, valid_pages),
            Candidates::Fifo(queue) => queue.push_back(block),
            Candidates::Drawn(..) => {}
            Candidates::CostBenefit(modified) => modified[block as usize] = clock,
        }
    }

    /// Pages of a full block became invalid; `valid_pages` are left.
    #[inline]
    pub(super) fn lose_pages(&mut self, block: u32, valid_pages: u16, clock: u64) {
        match self {
            Candidates::Greedy(fewest) => fewest.lower(block, valid_pages),
            Candidates::Fifo(_) | Candidates::Drawn(..) => {}
            Candidates::CostBenefit(modified) => modified[block as usize] = clock,
        }
    }

    /// A full block is about to be collected.
    pub(super) fn remove(&mut self, block: u32) {
        match self {
            Candidates::Greedy(fewest) => fewest.remove(block),
            Candidates::Fifo(queue) => {
                // The victim is the first one; only wear levelling takes a block from further back.
                let position = queue.iter().position(|queued| *queued == block);
                queue.remove(position.expect("a full block is in the queue"));
            }
            Candidates::Drawn(..) | Candidates::CostBenefit(_) => {}
        }
    }

    /// The block to collect; none if no block is full.
    pub(super) fn choose(&mut self, view: &View<'_>) -> Option<u32> {
        match self {
            Candidates::Greedy(fewest) => {
                let unworn = view.erases_max.and_then(|erases_max| {
                    fewest.first_accepted(view.records, view.pages_per_block, |record| {
                        record.erases <= erases_max
                    })
                });
                unworn.or_else(|| fewest.first())
            }
            Candidates::Fifo(queue) => queue.front().copied(),
            Candidates::Drawn(draws, random) => draw(*draws, random, view.records),
            Candidates::CostBenefit(modified) => {
                let unworn =
                    view.erases_max.and_then(|erases_max| best(modified, view, erases_max));
                unworn.or_else(|| best(modified, view, u32::MAX))
            }
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Candidates::Greedy(fewest) => fewest.memory_bytes(),
            Candidates::Fifo(queue) => queue.capacity() * size_of::<u32>(),
            Candidates::Drawn(..) => 0,
            Candidates::CostBenefit(modified) => size_of_val(&**modified),
        }
    }

    /// Checks that exactly the full blocks are candidates, each in its place.
    pub(super) fn check(&self, first: Block, records: &[BlockRecord]) -> Result<(), String> {
        let is_full = |record: &BlockRecord| record.state == BlockState::Full;
        match self {
            Candidates::Greedy(fewest) => {
                for (block, record) in records.iter().enumerate() {
                    let valid_pages = is_full(record).then_some(record.valid_pages);
                    if !fewest.holds(block as u32, valid_pages) {
                        return Err(format!(
                            "block {} stands with a wrong number of valid pages",
                            first.0 as usize + block
                        ));
                    }
                }
                if fewest.check_levels() {
                    Ok(())
                } else {
                    Err("a least number of valid pages is wrong".to_owned())
                }
            }
            Candidates::Fifo(queue) => {
                let mut queued: Vec<u32> = queue.iter().copied().collect();
                queued.sort_unstable();
                let numbered = records.iter().enumerate();
                let full = numbered.filter(|(_, record)| is_full(record));
                let full: Vec<u32> = full.map(|(block, _)| block as u32).collect();
                if queued == full {
                    Ok(())
                } else {
                    Err("the queue is not the full blocks".to_owned())
                }
            }
            Candidates::Drawn(..) | Candidates::CostBenefit(_) => Ok(()),
        }
    }
}

/// The block with the fewest valid pages among `draws` randomly drawn ones, ties to the smallest number.
fn draw(draws: u32, random: &mut SplitMix64, records: &[BlockRecord]) -> Option<u32> {
    // Few blocks are not full when a block is to be collected, but without a full one the drawing would never end.
    records.iter().find(|record| record.state == BlockState::Full)?;
    let mut draw_full = || loop {
        let block = random.below(records.len() as u32);
        if records[block as usize].state == BlockState::Full {
            return block;
        }
    };
    let drawn = (0..draws).map(|_| draw_full());
    drawn.min_by_key(|block| (records[*block as usize].valid_pages, *block))
}

/// The full block with the highest benefit per cost that has an invalid page and at most this many erases.
fn best(modified: &[u64], view: &View<'_>, erases_max: u32) -> Option<u32> {
    let mut best: Option<(u128, u128, usize)> = None;
    for (block, record) in view.records.iter().enumerate() {
        let invalid_pages = view.pages_per_block - u32::from(record.valid_pages);
        if record.state != BlockState::Full || record.erases > erases_max || invalid_pages == 0 {
            continue;
        }
        let age = view.clock + 1 - modified[block];
        let benefit = u128::from(age) * u128::from(invalid_pages);
        let cost = u128::from(record.valid_pages);
        // benefit / cost against the best so far, without division: a block with no valid page costs 0.
        if best.is_none_or(|(best_benefit, best_cost, _)| benefit * best_cost > best_benefit * cost)
        {
            best = Some((benefit, cost, block));
        }
    }
    best.map(|(_, _, block)| block as u32)
}
