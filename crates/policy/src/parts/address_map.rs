//! A map from sparse addresses to dense slots, for data that cannot have an array with one entry per page.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

const EMPTY: u32 = u32::MAX;
/// Neighbouring keys whose slots stand side by side.
const NEIGHBOURS: usize = 64;
/// Keys of a neighbourhood below this one are found without a search: 2^32 keys, as many as the largest drive has pages.
const NEAR: u64 = 1 << 26;

/// Tables of 64 neighbouring keys each. It cannot be iterated, so that the order of its entries shows nowhere.
///
/// Costs 4 bytes for each key of a neighbourhood that ever had one: at most 4 bytes for each page of a drive, 256 for a key
/// without neighbours. A look-up is two loads, the first of them from a table small enough for the processor's cache.
#[derive(Clone, Debug)]
pub(crate) struct AddressMap {
    /// By neighbourhood: its table; 0, the one that stays empty, if it has none.
    near: Vec<u32>,
    far: BTreeMap<u64, u32>,
    tables: Vec<[u32; NEIGHBOURS]>,
    len: usize,
}

impl AddressMap {
    pub(crate) fn new() -> Self {
        let tables = alloc::vec![[EMPTY; NEIGHBOURS]];
        AddressMap { near: Vec::new(), far: BTreeMap::new(), tables, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The number of neighbourhoods ever that had a key.
    #[inline]
    pub(crate) fn neighbourhoods(&self) -> usize {
        self.tables.len() - 1
    }

    /// The neighbourhood of `key`, and its place there.
    #[inline]
    fn place(key: u64) -> (u64, usize) {
        (key / NEIGHBOURS as u64, key as usize % NEIGHBOURS)
    }

    #[inline]
    fn table(&self, neighbourhood: u64) -> usize {
        let table = match neighbourhood < NEAR {
            true => self.near.get(neighbourhood as usize),
            false => self.far.get(&neighbourhood),
        };
        table.map_or(0, |&table| table as usize)
    }

    #[inline]
    pub(crate) fn get(&self, key: u64) -> Option<u32> {
        let slot = self.get_or_max(key);
        (slot != EMPTY).then_some(slot)
    }

    /// The slot of `key`; one that is larger than any if it is not mapped.
    #[inline]
    pub(crate) fn get_or_max(&self, key: u64) -> u32 {
        let (neighbourhood, place) = Self::place(key);
        self.tables[self.table(neighbourhood)][place]
    }

    /// Maps `key`, which is not mapped, to `slot`.
    #[inline]
    pub(crate) fn insert(&mut self, key: u64, slot: u32) {
        debug_assert!(self.get(key).is_none() && slot != EMPTY, "a key is mapped once");
        let (neighbourhood, place) = Self::place(key);
        let table = match self.table(neighbourhood) {
            0 => self.add_table(neighbourhood),
            table => table,
        };
        self.tables[table][place] = slot;
        self.len += 1;
    }

    #[cold]
    fn add_table(&mut self, neighbourhood: u64) -> usize {
        let table = self.tables.len();
        self.tables.push([EMPTY; NEIGHBOURS]);
        if neighbourhood < NEAR {
            if neighbourhood as usize >= self.near.len() {
                self.near.resize(neighbourhood as usize + 1, 0);
            }
            self.near[neighbourhood as usize] = table as u32;
        } else {
            self.far.insert(neighbourhood, table as u32);
        }
        table
    }

    /// Forgets `key`, which is mapped.
    #[inline]
    pub(crate) fn remove(&mut self, key: u64) {
        let (neighbourhood, place) = Self::place(key);
        let table = self.table(neighbourhood);
        let slot = &mut self.tables[table][place];
        debug_assert_ne!(*slot, EMPTY, "a key that is removed is mapped");
        *slot = EMPTY;
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_answers_as_a_plain_map() {
        let (mut map, mut plain) = (AddressMap::new(), BTreeMap::new());
        let mut random = 1969u64;
        for round in 0..20_000u32 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // Few keys, and far apart ones with equal low bits.
            let key = ((random >> 40) % 300) << (random % 4 * 20);
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
