//! The blocks that have a page in the buffer.

use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

use crate::parts::{AddressMap, Listed};

/// The number of neighbourhoods of 256 bytes above which the processor's cache no longer holds the map and the blocks.
const LARGE_NEIGHBOURHOODS: usize = 512;

/// A place in a [`BlockTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockSlot(pub(crate) u32);

impl Listed for BlockSlot {
    const NONE: BlockSlot = BlockSlot(u32::MAX);

    #[inline]
    fn index(self) -> usize {
        self.0 as usize
    }

    #[inline]
    fn from_index(index: u32) -> Self {
        BlockSlot(index)
    }
}

/// A slab of blocks with a map from their numbers. It grows as blocks come, up to the largest number that was ever
/// buffered at once, and its map grows with the part of the drive that has them.
#[derive(Clone, Debug)]
pub(crate) struct BlockTable<T> {
    map: AddressMap,
    blocks: Vec<T>,
    unused: Vec<BlockSlot>,
}

impl<T> BlockTable<T> {
    pub(crate) fn new() -> Self {
        BlockTable { map: AddressMap::new(), blocks: Vec::new(), unused: Vec::new() }
    }

    #[inline]
    pub(crate) fn find(&self, block: u64) -> Option<BlockSlot> {
        self.map.get(block).map(BlockSlot)
    }

    /// The entry of `block`, or any other if it is not here: a look ahead must not branch on that, because the
    /// processor could not predict it. None if the processor's cache holds the table: looking ahead would only cost
    /// time.
    #[inline]
    pub(crate) fn entry_ahead(&self, block: u64) -> Option<&T> {
        if self.map.neighbourhoods() < LARGE_NEIGHBOURHOODS {
            return None;
        }
        let slot = self.map.get_or_max(block) as usize;
        self.blocks.get(slot.min(self.blocks.len().wrapping_sub(1)))
    }

    /// Enters `block`, which is not here.
    pub(crate) fn insert(&mut self, block: u64, entry: T) -> BlockSlot {
        let slot = match self.unused.pop() {
            Some(slot) => {
                self.blocks[slot.index()] = entry;
                slot
            }
            None => {
                self.blocks.push(entry);
                BlockSlot(self.blocks.len() as u32 - 1)
            }
        };
        self.map.insert(block, slot.0);
        slot
    }

    /// Forgets `block`, which is in `slot`.
    pub(crate) fn remove(&mut self, block: u64, slot: BlockSlot) {
        self.map.remove(block);
        self.unused.push(slot);
    }

    /// The number of blocks.
    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }
}

impl<T> Index<BlockSlot> for BlockTable<T> {
    type Output = T;

    #[inline]
    fn index(&self, slot: BlockSlot) -> &T {
        &self.blocks[slot.index()]
    }
}

impl<T> IndexMut<BlockSlot> for BlockTable<T> {
    #[inline]
    fn index_mut(&mut self, slot: BlockSlot) -> &mut T {
        &mut self.blocks[slot.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_large_table_is_read_ahead() {
        let mut table = BlockTable::new();
        let far_apart = (0..LARGE_NEIGHBOURHOODS as u64).map(|neighbourhood| neighbourhood * 64);
        for (block, entry) in far_apart.zip(0_u32..) {
            assert_eq!(table.entry_ahead(0), None);
            table.insert(block, entry);
        }
        assert_eq!(table.entry_ahead(128), Some(&2));
        assert!(table.entry_ahead(1).is_some(), "another entry stands for one that is not here");
    }
}
