//! One level of a TLB: which translations it holds, and which one is replaced.
//!
//! A translation is known by its *key*, a dense number, so that a look-up is one load from a table. The number
//! that chooses the set is given when it is inserted. The cache of upper page-table entries is one of these too.

use clockhand_policy::SplitMix64;

use super::geometry::{Replacement, TlbGeometry};

/// No slot holds the key; no key is in the slot.
const NONE: u32 = u32::MAX;

/// One level. A slot is a way of a set: `set × ways + way`.
#[derive(Clone, Debug)]
pub(crate) struct Tlb {
    ways: u32,
    sets: u32,
    /// By key.
    slot_of: Vec<u32>,
    /// By slot.
    key_in: Vec<u32>,
    free: FreeWays,
    order: Order,
}

/// The state that decides which way of a full set is replaced.
#[derive(Clone, Debug)]
enum Order {
    /// The list of a set from the most recently used to the least.
    Recency(Lists),
    /// The list of a set from the newest to the oldest.
    Arrival(Lists),
    Random(SplitMix64),
    Tree(Trees),
}

impl Tlb {
    /// An empty level for keys below `keys`.
    pub(crate) fn new(geometry: TlbGeometry, keys: usize, seed: u64) -> Self {
        let (ways, sets) = (geometry.ways(), geometry.sets());
        let order = match geometry.replacement() {
            Replacement::Lru => Order::Recency(Lists::new(ways, sets)),
            Replacement::Fifo => Order::Arrival(Lists::new(ways, sets)),
            Replacement::Random => Order::Random(SplitMix64::new(seed)),
            Replacement::Plru => Order::Tree(Trees::new(ways, sets)),
        };
        Tlb {
            ways,
            sets,
            slot_of: vec![NONE; keys],
            key_in: vec![NONE; geometry.entries() as usize],
            free: FreeWays::new(ways, sets),
            order,
        }
    }

    /// Looks a translation up; one that is there has been used.
    #[inline]
    pub(crate) fn uses(&mut self, key: u32) -> bool {
        let slot = self.slot_of[key as usize];
        if slot == NONE {
            return false;
        }
        match &mut self.order {
            Order::Recency(lists) => lists.make_first(slot),
            Order::Arrival(_) | Order::Random(_) => (),
            Order::Tree(trees) => trees.point_away(slot),
        }
        true
    }

    /// Inserts a translation that is not there; `number` modulo the sets chooses its set.
    pub(crate) fn insert(&mut self, key: u32, number: u64) {
        debug_assert_eq!(self.slot_of[key as usize], NONE, "the translation is there already");
        if self.sets == 0 {
            return;
        }
        let set = if self.sets == 1 { 0 } else { (number % u64::from(self.sets)) as u32 };
        let slot = match self.free.take_lowest(set) {
            Some(slot) => slot,
            None => self.replace(set),
        };
        self.slot_of[key as usize] = slot;
        self.key_in[slot as usize] = key;
        match &mut self.order {
            Order::Recency(lists) | Order::Arrival(lists) => lists.push_front(slot, set),
            Order::Random(_) => (),
            Order::Tree(trees) => trees.point_away(slot),
        }
    }

    /// Drops the victim of a full set; its slot.
    fn replace(&mut self, set: u32) -> u32 {
        let slot = match &mut self.order {
            Order::Recency(lists) | Order::Arrival(lists) => lists.take_last(set),
            Order::Random(numbers) => {
                set * self.ways + (numbers.next() % u64::from(self.ways)) as u32
            }
            Order::Tree(trees) => trees.victim(set),
        };
        self.slot_of[self.key_in[slot as usize] as usize] = NONE;
        slot
    }

    /// Drops a translation if it is there; its way is free.
    pub(crate) fn invalidate(&mut self, key: u32) {
        let slot = std::mem::replace(&mut self.slot_of[key as usize], NONE);
        if slot == NONE {
            return;
        }
        self.key_in[slot as usize] = NONE;
        self.free.give_back(slot);
        if let Order::Recency(lists) | Order::Arrival(lists) = &mut self.order {
            lists.unlink(slot);
        }
    }

    /// Drops every translation whose key `is_gone`.
    pub(crate) fn invalidate_where(&mut self, is_gone: impl Fn(u32) -> bool) {
        for slot in 0..self.key_in.len() {
            let key = self.key_in[slot];
            if key != NONE && is_gone(key) {
                self.invalidate(key);
            }
        }
    }

    /// The keys by set and way.
    #[cfg(test)]
    pub(crate) fn keys(&self) -> Vec<Vec<Option<u32>>> {
        let known = |&key: &u32| (key != NONE).then_some(key);
        let of_set = |ways: &[u32]| ways.iter().map(known).collect();
        self.key_in.chunks(self.ways.max(1) as usize).map(of_set).collect()
    }

    /// The keys of the only set, the next to be replaced first.
    #[cfg(test)]
    pub(crate) fn oldest_first(&self) -> Vec<u32> {
        let Order::Recency(lists) = &self.order else { panic!("only lists have an order") };
        let slots = lists.last_first(0);
        slots.into_iter().map(|slot| self.key_in[slot as usize]).collect()
    }
}

/// Which ways are free, as bits; a set begins with a word of its own.
#[derive(Clone, Debug)]
struct FreeWays {
    ways: u32,
    words_per_set: u32,
    bits: Vec<u64>,
    /// By set.
    free: Vec<u32>,
    /// By set: no word before this one has a free way.
    first_word: Vec<u32>,
}

impl FreeWays {
    fn new(ways: u32, sets: u32) -> Self {
        let words_per_set = ways.div_ceil(u64::BITS);
        let of_word = |word: u32| match ways - word * u64::BITS {
            rest @ 0..u64::BITS => (1 << rest) - 1,
            _ => u64::MAX,
        };
        FreeWays {
            ways,
            words_per_set,
            bits: (0..sets).flat_map(|_| (0..words_per_set).map(of_word)).collect(),
            free: vec![ways; sets as usize],
            first_word: vec![0; sets as usize],
        }
    }

    /// The slot of the lowest free way of a set, which is taken.
    #[inline]
    fn take_lowest(&mut self, set: u32) -> Option<u32> {
        if self.free[set as usize] == 0 {
            return None;
        }
        self.free[set as usize] -= 1;
        let mut word = self.first_word[set as usize];
        while self.bits[(set * self.words_per_set + word) as usize] == 0 {
            word += 1;
        }
        self.first_word[set as usize] = word;
        let bits = &mut self.bits[(set * self.words_per_set + word) as usize];
        let bit = bits.trailing_zeros();
        *bits &= *bits - 1;
        Some(set * self.ways + word * u64::BITS + bit)
    }

    fn give_back(&mut self, slot: u32) {
        let (set, way) = (slot / self.ways, slot % self.ways);
        let word = way / u64::BITS;
        self.free[set as usize] += 1;
        self.bits[(set * self.words_per_set + word) as usize] |= 1 << (way % u64::BITS);
        let first_word = &mut self.first_word[set as usize];
        *first_word = word.min(*first_word);
    }
}

/// A list of slots for each set, in a ring with an anchor: number `slots + set`.
#[derive(Clone, Debug)]
struct Lists {
    ways: u32,
    slots: u32,
    next: Vec<u32>,
    previous: Vec<u32>,
}

impl Lists {
    fn new(ways: u32, sets: u32) -> Self {
        let slots = ways * sets;
        let alone: Vec<u32> = (0..slots + sets).collect();
        Lists { ways, slots, next: alone.clone(), previous: alone }
    }

    #[inline]
    fn make_first(&mut self, slot: u32) {
        let before = self.previous[slot as usize];
        if before < self.slots {
            self.unlink(slot);
            let anchor =
                if self.ways == self.slots { self.slots } else { self.slots + slot / self.ways };
            self.link(slot, anchor);
        }
    }

    fn push_front(&mut self, slot: u32, set: u32) {
        self.link(slot, self.slots + set);
    }

    #[inline]
    fn link(&mut self, slot: u32, anchor: u32) {
        let second = self.next[anchor as usize];
        self.next[slot as usize] = second;
        self.previous[slot as usize] = anchor;
        self.previous[second as usize] = slot;
        self.next[anchor as usize] = slot;
    }

    #[inline]
    fn unlink(&mut self, slot: u32) {
        let (before, after) = (self.previous[slot as usize], self.next[slot as usize]);
        self.next[before as usize] = after;
        self.previous[after as usize] = before;
    }

    fn take_last(&mut self, set: u32) -> u32 {
        let last = self.previous[(self.slots + set) as usize];
        self.unlink(last);
        last
    }

    #[cfg(test)]
    fn last_first(&self, set: u32) -> Vec<u32> {
        let before = |&slot: &u32| Some(self.previous[slot as usize]);
        let slots = std::iter::successors(before(&(self.slots + set)), before);
        slots.take_while(|&slot| slot < self.slots).collect()
    }
}

/// A binary tree over the ways of each set; the children of node `i` (from 1) are `2 i` and `2 i + 1`. A node is
/// true when the half with the higher numbers is the next victim's.
#[derive(Clone, Debug)]
struct Trees {
    ways: u32,
    upper: Vec<bool>,
}

impl Trees {
    fn new(ways: u32, sets: u32) -> Self {
        Trees { ways, upper: vec![false; (ways * sets) as usize] }
    }

    /// Sets every node above a slot to point to the other half.
    #[inline]
    fn point_away(&mut self, slot: u32) {
        let way = slot & (self.ways - 1);
        let first = (slot - way) as usize;
        let mut node = self.ways + way;
        while node > 1 {
            self.upper[first + (node / 2) as usize] = node & 1 == 0;
            node /= 2;
        }
    }

    fn victim(&self, set: u32) -> u32 {
        let first = set * self.ways;
        let mut node = 1;
        while node < self.ways {
            node = 2 * node + u32::from(self.upper[(first + node) as usize]);
        }
        first + node - self.ways
    }
}
