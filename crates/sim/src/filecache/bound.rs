//! What no file cache can do better: the most hits, and a time that no admission with any policy goes below.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};

use super::cost::BlockCosts;
use super::future::Future;
use crate::error::SimError;

/// The bound of one trace and capacity; computed once, then priced.
pub(super) struct Bound<'a> {
    future: Future<'a>,
    capacity: u32,
    references: u64,
    /// The number of blocks that have how many references after their first.
    blocks_by_reuses: BTreeMap<u64, u64>,
    /// The most blocks of a record.
    most_blocks: u64,
    /// The most hits if only blocks with this number of further references enter.
    hits: BTreeMap<u64, u64>,
}

impl<'a> Bound<'a> {
    pub(super) fn new(
        future: Future<'a>,
        capacity: u32,
        references: u64,
        most_blocks: u64,
    ) -> Self {
        let mut blocks_by_reuses = BTreeMap::new();
        for reuses in future.further_references() {
            *blocks_by_reuses.entry(reuses).or_default() += 1;
        }
        let hits = BTreeMap::new();
        Bound { future, capacity, references, blocks_by_reuses, most_blocks, hits }
    }

    /// The most hits.
    pub(super) fn hits(&mut self) -> Result<u64, SimError> {
        self.most_hits(1)
    }

    fn most_hits(&mut self, reuses: u64) -> Result<u64, SimError> {
        if let Some(&known) = self.hits.get(&reuses) {
            return Ok(known);
        }
        let hits = self.future.most_hits(self.capacity, reuses)?;
        self.hits.insert(reuses, hits);
        Ok(hits)
    }

    /// The least time of all references in µs. Each hit gains `a` over the cheapest miss, each block that is admitted
    /// costs an insertion, and a block with m further references can be hit m times.
    pub(super) fn time_us(&mut self, costs: &BlockCosts) -> Result<BigRational, SimError> {
        let cheapest_us = costs.cheapest_miss_us(self.most_blocks);
        let gain_us = &cheapest_us - &costs.hit_us;
        let all_us = cheapest_us * BigInt::from(self.references);
        if gain_us <= BigRational::zero() {
            return Ok(all_us);
        }
        let insert_us = costs.insert_us();
        let Some(least) = ((&insert_us / &gain_us).floor().to_integer() + 1_u8).to_u64() else {
            return Ok(all_us);
        };
        let mut left = self.most_hits(least)?;
        let (mut gained_us, mut greatest_us) = (BigRational::zero(), BigRational::zero());
        for (&reuses, &blocks) in self.blocks_by_reuses.range(least..).rev() {
            if left == 0 {
                break;
            }
            // Blocks that are hit as often as they can be, and then one that is hit by what is left.
            let whole = blocks.min(left / reuses);
            left -= whole * reuses;
            gained_us += &gain_us * BigInt::from(whole * reuses) - &insert_us * BigInt::from(whole);
            greatest_us = greatest_us.max(gained_us.clone());
            if whole < blocks {
                gained_us += &gain_us * BigInt::from(left) - &insert_us;
                greatest_us = greatest_us.max(gained_us.clone());
                left = 0;
            }
        }
        Ok(all_us - greatest_us)
    }
}
