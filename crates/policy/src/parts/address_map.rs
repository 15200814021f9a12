//! A map from sparse addresses to dense slots, for data that cannot have an array with one entry per page.

use alloc::vec;
use alloc::vec::Vec;

const EMPTY: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: u64,
    slot: u32,
}

/// Open addressing with linear probing, a fixed hash and no tombstones. It cannot be iterated, so that the
/// order of its entries shows nowhere. Grows to twice its size when it is three quarters full; a map whose
/// number of keys is bounded stops allocating.
///
/// Costs between 21 and 43 bytes per key.
#[derive(Clone, Debug)]
pub(crate) struct AddressMap {
    entries: Vec<Entry>,
    len: usize,
}

impl AddressMap {
    pub(crate) fn new() -> Self {
        AddressMap { entries: vec![Entry { key: 0, slot: EMPTY }; 16], len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The number is a power of two, so that a mask does for a remainder.
    fn mask(&self) -> usize {
        self.entries.len() - 1
    }

    /// Where a search for `key` begins: the high bits of a product with 2^64 over the golden ratio.
    #[inline]
    fn home(&self, key: u64) -> usize {
        let product = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (product >> (64 - self.entries.len().trailing_zeros())) as usize
    }

    /// The position of `key`, or that of the empty entry where it would be.
    #[inline]
    fn position(&self, key: u64) -> usize {
        let mut position = self.home(key);
        loop {
            let entry = self.entries[position];
            if entry.slot == EMPTY || entry.key == key {
                return position;
            }
            position = (position + 1) & self.mask();
        }
    }

    #[inline]
    pub(crate) fn get(&self, key: u64) -> Option<u32> {
        let slot = self.entries[self.position(key)].slot;
        (slot != EMPTY).then_some(slot)
    }

    /// Maps `key`, which is not mapped, to `slot`.
    pub(crate) fn insert(&mut self, key: u64, slot: u32) {
        debug_assert!(self.get(key).is_none() && slot != EMPTY, "a key is mapped once");
        if self.len + 1 > self.entries.len() / 4 * 3 {
            self.grow();
        }
        let position = self.position(key);
        self.entries[position] = Entry { key, slot };
        self.len += 1;
    }

    fn grow(&mut self) {
        let doubled = vec![Entry { key: 0, slot: EMPTY }; self.entries.len() * 2];
        let old = core::mem::replace(&mut self.entries, doubled);
        for entry in old.into_iter().filter(|entry| entry.slot != EMPTY) {
            let position = self.position(entry.key);
            self.entries[position] = entry;
        }
    }

    /// Forgets `key`, which is mapped. Entries behind it move up, so that no search ends early.
    pub(crate) fn remove(&mut self, key: u64) {
        let mut hole = self.position(key);
        debug_assert_ne!(self.entries[hole].slot, EMPTY, "a key that is removed is mapped");
        let mut position = hole;
        loop {
            position = (position + 1) & self.mask();
            let entry = self.entries[position];
            if entry.slot == EMPTY {
                break;
            }
            let from_home = position.wrapping_sub(self.home(entry.key)) & self.mask();
            let from_hole = position.wrapping_sub(hole) & self.mask();
            if from_home >= from_hole {
                self.entries[hole] = entry;
                hole = position;
            }
        }
        self.entries[hole].slot = EMPTY;
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;

    #[test]
    fn it_answers_as_a_plain_map() {
        let (mut map, mut plain) = (AddressMap::new(), BTreeMap::new());
        let mut random = 1969u64;
        for round in 0..20_000u32 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // Few keys, and far apart ones with equal low bits.
            let key = ((random >> 40) % 300) << (random % 3 * 20);
            match plain.remove(&key) {
                Some(_) if round % 2 == 0 => map.remove(key),
                Some(slot) => {
                    plain.insert(key, slot);
                }
                None => {
                    map.insert(key, round);
                    plain.insert(key, round);
                }
            }
            assert_eq!(map.get(key), plain.get(&key).copied());
            assert_eq!(map.len(), plain.len());
        }
        for (&key, &slot) in &plain {
            assert_eq!(map.get(key), Some(slot));
        }
    }
}
