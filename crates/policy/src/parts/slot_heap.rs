//! Numbered things in the order of their keys, which change.

use alloc::vec;
use alloc::vec::Vec;

const NONE: u32 = u32::MAX;

/// A binary heap of slots, the one with the least key first. It knows the place of each slot, so that a key can change in
/// logarithmic time. No two slots in it may have equal keys.
#[derive(Clone, Debug)]
pub(crate) struct SlotHeap<K> {
    heap: Vec<u32>,
    /// By slot.
    places: Vec<u32>,
    keys: Vec<K>,
}

impl<K: Copy + Ord + Default> SlotHeap<K> {
    pub(crate) fn new(slots: u32) -> Self {
        SlotHeap {
            heap: Vec::with_capacity(slots as usize),
            places: vec![NONE; slots as usize],
            keys: vec![K::default(); slots as usize],
        }
    }

    /// The slot with the least key.
    pub(crate) fn first(&self) -> Option<u32> {
        self.heap.first().copied()
    }

    pub(crate) fn key(&self, slot: u32) -> K {
        self.keys[slot as usize]
    }

    /// The slots in the heap, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.heap.iter().copied()
    }

    /// Gives `slot` this key; it is in the heap from then on.
    pub(crate) fn set(&mut self, slot: u32, key: K) {
        self.keys[slot as usize] = key;
        let mut place = self.places[slot as usize];
        if place == NONE {
            place = self.heap.len() as u32;
            self.heap.push(slot);
            self.places[slot as usize] = place;
        }
        self.settle(place as usize);
    }

    /// Takes `slot`, which is in the heap, out of it.
    pub(crate) fn remove(&mut self, slot: u32) {
        let place = core::mem::replace(&mut self.places[slot as usize], NONE) as usize;
        let last = self.heap.pop().expect("the heap has this slot");
        if last != slot {
            self.heap[place] = last;
            self.places[last as usize] = place as u32;
            self.settle(place);
        }
    }

    /// Moves the slot at `place`, whose key has changed, up or down to where it belongs.
    fn settle(&mut self, mut place: usize) {
        while place > 0 && self.key_at(place) < self.key_at((place - 1) / 2) {
            place = self.exchange(place, (place - 1) / 2);
        }
        loop {
            let children = 2 * place + 1..(2 * place + 3).min(self.heap.len());
            let least = children.min_by_key(|&child| self.key_at(child));
            match least {
                Some(child) if self.key_at(child) < self.key_at(place) => {
                    place = self.exchange(place, child);
                }
                _ => return,
            }
        }
    }

    fn key_at(&self, place: usize) -> K {
        self.key(self.heap[place])
    }

    fn exchange(&mut self, place: usize, other: usize) -> usize {
        self.heap.swap(place, other);
        for place in [place, other] {
            self.places[self.heap[place] as usize] = place as u32;
        }
        other
    }

    /// Asserts that places and order are right.
    pub(crate) fn check_invariants(&self) {
        for (place, &slot) in self.heap.iter().enumerate() {
            assert_eq!(self.places[slot as usize] as usize, place, "a slot's place is wrong");
            let above = place.saturating_sub(1) / 2;
            assert!(self.key_at(above) <= self.key_at(place), "the heap is out of order");
        }
        let placed = self.places.iter().filter(|&&place| place != NONE).count();
        assert_eq!(placed, self.heap.len(), "a slot has a place and is not in the heap");
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_first_slot_has_the_least_key_whatever_changes() {
        let mut heap = SlotHeap::new(12);
        let mut plain: BTreeMap<u32, (u64, u32)> = BTreeMap::new();
        let mut numbers = crate::parts::SplitMix64::new(1);
        for _ in 0..3000 {
            let slot = (numbers.next() % 12) as u32;
            if plain.contains_key(&slot) && numbers.next().is_multiple_of(3) {
                heap.remove(slot);
                plain.remove(&slot);
            } else {
                let key = (numbers.next() % 50, slot);
                heap.set(slot, key);
                plain.insert(slot, key);
            }
            heap.check_invariants();
            let least = plain.iter().min_by_key(|(_, key)| **key).map(|(slot, _)| *slot);
            assert_eq!(heap.first(), least);
            let mut slots: Vec<u32> = heap.iter().collect();
            slots.sort_unstable();
            assert!(slots.iter().eq(plain.keys()));
        }
    }
}
