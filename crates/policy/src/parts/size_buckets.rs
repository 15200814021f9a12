//! Blocks in buckets by their number of pages, the least recently used one first in each.

use alloc::vec::Vec;

use super::{Links, List, Listed};
use crate::buffer::BlockSlot;

/// The place of a block in the lists.
#[derive(Clone, Copy, Debug, Default)]
struct Listing {
    last_use: u64,
    /// 0 if the block is not listed.
    pages: u32,
}

/// One list per number of pages from 1 to 64, in the order of the last use. 24 bytes per block.
#[derive(Clone, Debug)]
pub(crate) struct SizeBuckets {
    links: Links<BlockSlot>,
    buckets: [List<BlockSlot>; 64],
    /// Bit n says that the bucket of n + 1 pages is not empty.
    occupied: u64,
    listings: Vec<Listing>,
    uses: u64,
}

impl SizeBuckets {
    pub(crate) fn new() -> Self {
        SizeBuckets {
            links: Links::new(0),
            buckets: [List::EMPTY; 64],
            occupied: 0,
            listings: Vec::new(),
            uses: 0,
        }
    }

    /// Returns whether `block` is listed.
    pub(crate) fn contains(&self, block: BlockSlot) -> bool {
        self.listings.get(block.index()).is_some_and(|listing| listing.pages > 0)
    }

    /// Lists `block`, wherever it was, as the most recently used one of `pages` pages.
    pub(crate) fn use_now(&mut self, block: BlockSlot, pages: u32) {
        if block.index() >= self.listings.len() {
            self.links.grow_to(block);
            self.listings.resize(block.index() + 1, Listing::default());
        }
        self.remove(block);
        self.uses += 1;
        self.listings[block.index()] = Listing { last_use: self.uses, pages };
        self.buckets[pages as usize - 1].push_tail(&mut self.links, block);
        self.occupied |= 1 << (pages - 1);
    }

    /// Unlists `block`, if it is listed.
    pub(crate) fn remove(&mut self, block: BlockSlot) {
        let pages = core::mem::take(&mut self.listings[block.index()].pages);
        if pages == 0 {
            return;
        }
        let bucket = &mut self.buckets[pages as usize - 1];
        bucket.remove(&mut self.links, block);
        if bucket.len() == 0 {
            self.occupied &= !(1 << (pages - 1));
        }
    }

    /// `block`, which is listed, has lost pages without being used: it takes its place by its last use. The
    /// one step that is not constant; only a TRIM takes it.
    pub(crate) fn shrink(&mut self, block: BlockSlot, pages: u32) {
        self.remove(block);
        let last_use = self.listings[block.index()].last_use;
        let bucket = &mut self.buckets[pages as usize - 1];
        let mut before = bucket.tail();
        while before != BlockSlot::NONE && self.listings[before.index()].last_use > last_use {
            before = self.links.previous(before);
        }
        bucket.insert_after(&mut self.links, before, block);
        self.listings[block.index()].pages = pages;
        self.occupied |= 1 << (pages - 1);
    }

    /// The least recently used of the blocks with the most pages.
    pub(crate) fn largest(&self) -> Option<BlockSlot> {
        let pages = u64::BITS - self.occupied.leading_zeros();
        (pages > 0).then(|| self.buckets[pages as usize - 1].head())
    }

    /// All blocks from the least to the most recently used.
    pub(crate) fn by_last_use(&self) -> Vec<BlockSlot> {
        let mut blocks: Vec<BlockSlot> =
            self.buckets.iter().flat_map(|bucket| bucket.iter(&self.links)).collect();
        blocks.sort_unstable_by_key(|block| self.listings[block.index()].last_use);
        blocks
    }

    /// Asserts that buckets, their order and the blocks' numbers of pages agree, and that the largest block
    /// is that of a naive scan.
    pub(crate) fn check_invariants(&self, pages: impl Fn(BlockSlot) -> u32) {
        for (index, bucket) in self.buckets.iter().enumerate() {
            bucket.check_invariants(&self.links);
            assert_eq!(self.occupied >> index & 1 == 1, bucket.len() > 0, "an occupied bucket");
            let mut last_use = 0;
            for block in bucket.iter(&self.links) {
                let listing = self.listings[block.index()];
                assert_eq!((pages(block), index as u32 + 1), (listing.pages, listing.pages));
                assert!(listing.last_use > last_use, "a bucket is out of order");
                last_use = listing.last_use;
            }
        }
        let by_use = self.by_last_use();
        let most = by_use.iter().map(|&block| pages(block)).max();
        let naive = by_use.iter().copied().find(|&block| Some(pages(block)) == most);
        assert_eq!(self.largest(), naive, "the victim is that of a naive scan");
    }
}
