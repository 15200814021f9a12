//! The circle of a clock whose hand looks for the heaviest entry.

use alloc::vec::Vec;

use core::marker::PhantomData;

use super::Listed;

const NONE: u32 = u32::MAX;
/// Places of a part of the circle.
const PLACES: usize = 64;

/// Up to 64 entries that follow each other. One that left leaves its place free.
#[derive(Clone, Debug)]
struct Part {
    /// Bit n says that place n has an entry.
    taken: u64,
    /// By place; 0 if it is free.
    weights: [u8; PLACES],
    entries: [u32; PLACES],
    /// Where in the circle's order the part is.
    position: u32,
}

/// Blocks, or frames, in the order in which the hand reaches them, each with a weight from 0 to 64.
///
/// The circle is divided into parts of up to 64 places, and of each it is known which weight none of its entries
/// exceeds. So a weight is changed, and an entry removed from anywhere and the hand set behind it, in constant time; the
/// first entry from the hand with the largest weight is found by a scan of one byte per part, eight of them at once. A part
/// that turns out to have no such entry is told so then: a lighter entry is no reason to look for the next heaviest one. A
/// new entry shifts the entries up to the next free place; a part that is full is divided. 15 bytes per entry where parts
/// are half full, as after they are divided.
#[derive(Clone, Debug)]
pub(crate) struct Circle<T> {
    parts: Vec<Part>,
    unused: Vec<u32>,
    /// The parts that have entries, in the hand's order.
    order: Vec<u32>,
    /// By position in the order: no entry of the part weighs more.
    bounds: Vec<u8>,
    /// By weight: its entries; of weight 0 they are not counted.
    entries_of_weight: Vec<u32>,
    largest_weight: u8,
    /// By entry: its part and its place in it, as part × 64 + place.
    places: Vec<u32>,
    /// The place of the entry under the hand.
    hand: u32,
    listed: PhantomData<T>,
}

fn split(place: u32) -> (usize, usize) {
    (place as usize / PLACES, place as usize % PLACES)
}

fn joined(part: usize, at: usize) -> u32 {
    (part * PLACES + at) as u32
}

fn largest(bytes: &[u8]) -> u8 {
    bytes.iter().copied().fold(0, u8::max)
}

/// The first position of `least` or more, looked for in eight bytes of up to 64 at once.
fn position_from(least: u8, bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        // The top bit of each byte that is large enough.
        let sums = u64::from_le_bytes(*word) + ONES * u64::from(128 - least);
        let found = sums & (ONES << 7);
        if found != 0 {
            return Some(index * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let found = rest.iter().position(|&byte| byte >= least);
    found.map(|position| words.len() * 8 + position)
}

impl<T: Listed> Circle<T> {
    pub(crate) const EMPTY: Self = Circle {
        parts: Vec::new(),
        unused: Vec::new(),
        order: Vec::new(),
        bounds: Vec::new(),
        entries_of_weight: Vec::new(),
        largest_weight: 0,
        places: Vec::new(),
        hand: NONE,
        listed: PhantomData,
    };

    /// Sets what stands in a place that has an entry or had one.
    #[inline]
    fn weigh(&mut self, part: usize, at: usize, weight: u8) {
        let Part { weights, position, .. } = &mut self.parts[part];
        let before = usize::from(core::mem::replace(&mut weights[at], weight));
        let bound = &mut self.bounds[*position as usize];
        *bound = weight.max(*bound);
        let entries = &mut self.entries_of_weight;
        entries[before] = entries[before].wrapping_sub(1);
        entries[usize::from(weight)] = entries[usize::from(weight)].wrapping_add(1);
        self.largest_weight = weight.max(self.largest_weight);
        while self.largest_weight > 0 && entries[usize::from(self.largest_weight)] == 0 {
            self.largest_weight -= 1;
        }
    }

    /// Puts a part without entries into the order.
    fn add_part(&mut self, position: usize) -> usize {
        self.entries_of_weight.resize(PLACES + 1, 0);
        let part = self.unused.pop().unwrap_or(self.parts.len() as u32);
        if part as usize == self.parts.len() {
            let (weights, entries) = ([0; PLACES], [NONE; PLACES]);
            self.parts.push(Part { taken: 0, weights, entries, position: 0 });
        }
        self.order.insert(position, part);
        self.bounds.insert(position, 0);
        self.number_from(position);
        part as usize
    }

    /// Takes a part without entries out of the order.
    fn remove_part(&mut self, part: usize) {
        let position = self.parts[part].position as usize;
        self.order.remove(position);
        self.bounds.remove(position);
        self.number_from(position);
        self.unused.push(part as u32);
    }

    fn number_from(&mut self, first: usize) {
        for (position, &part) in self.order.iter().enumerate().skip(first) {
            self.parts[part as usize].position = position as u32;
        }
    }

    fn put(&mut self, part: usize, at: usize, entry: u32, weight: u8) {
        self.parts[part].taken |= 1 << at;
        self.parts[part].entries[at] = entry;
        self.places[entry as usize] = joined(part, at);
        self.weigh(part, at, weight);
    }

    fn take(&mut self, part: usize, at: usize) {
        self.parts[part].taken &= !(1 << at);
        self.weigh(part, at, 0);
    }

    /// Moves an entry to a free place, and the hand with it.
    fn shift(&mut self, from: (usize, usize), to: (usize, usize)) {
        let Part { taken, weights, entries, .. } = &mut self.parts[from.0];
        *taken &= !(1 << from.1);
        let (entry, weight) = (entries[from.1], core::mem::take(&mut weights[from.1]));
        let Part { taken, weights, entries, position } = &mut self.parts[to.0];
        *taken |= 1 << to.1;
        (entries[to.1], weights[to.1]) = (entry, weight);
        let bound = &mut self.bounds[*position as usize];
        *bound = weight.max(*bound);
        self.places[entry as usize] = joined(to.0, to.1);
        if self.hand == joined(from.0, from.1) {
            self.hand = joined(to.0, to.1);
        }
    }

    /// A free place that the hand reaches last, made if there is none.
    fn place_before_hand(&mut self) -> (usize, usize) {
        if self.hand == NONE {
            let part = self.add_part(0);
            self.hand = joined(part, 0);
            return (part, 0);
        }
        let (part, at) = split(self.hand);
        let free = !self.parts[part].taken;
        let (free_below, free_above) = (free & ((1 << at) - 1), free >> at << at);
        if free_below != 0 {
            let hole = PLACES - 1 - free_below.leading_zeros() as usize;
            (hole + 1..at).for_each(|from| self.shift((part, from), (part, from - 1)));
            (part, at - 1)
        } else if at == 0 {
            self.place_at_end(part)
        } else if free_above != 0 {
            let hole = free_above.trailing_zeros() as usize;
            (at..hole).rev().for_each(|from| self.shift((part, from), (part, from + 1)));
            (part, at)
        } else {
            self.divide(part);
            self.place_before_hand()
        }
    }

    /// A free place behind the last entry of the part that comes before `part`, which is full or begins with the hand.
    fn place_at_end(&mut self, part: usize) -> (usize, usize) {
        let parts = self.order.len();
        let before = (self.parts[part].position as usize + parts - 1) % parts;
        let last = self.order[before] as usize;
        match self.parts[last].taken {
            u64::MAX => (self.add_part(before + 1), 0),
            taken if taken >> (PLACES - 1) == 0 => (last, PLACES - taken.leading_zeros() as usize),
            taken => {
                let hole = PLACES - 1 - (!taken).leading_zeros() as usize;
                (hole + 1..PLACES).for_each(|from| self.shift((last, from), (last, from - 1)));
                (last, PLACES - 1)
            }
        }
    }

    /// Moves the second half of a full part into a new one behind it.
    fn divide(&mut self, part: usize) {
        let behind = self.add_part(self.parts[part].position as usize + 1);
        (PLACES / 2..PLACES).for_each(|at| self.shift((part, at), (behind, at - PLACES / 2)));
    }

    /// Links `entry`, which is not here, in the place that the hand reaches last.
    pub(crate) fn push_tail(&mut self, entry: T, weight: u8) {
        if entry.index() >= self.places.len() {
            self.places.resize(entry.index() + 1, NONE);
        }
        let (part, at) = self.place_before_hand();
        self.put(part, at, entry.index() as u32, weight);
    }

    pub(crate) fn weight(&self, entry: T) -> u8 {
        let (part, at) = split(self.places[entry.index()]);
        self.parts[part].weights[at]
    }

    #[inline]
    pub(crate) fn set_weight(&mut self, entry: T, weight: u8) {
        let (part, at) = split(self.places[entry.index()]);
        self.weigh(part, at, weight);
    }

    /// The place that the hand reaches after `place`; the same if there is no other.
    fn following(&self, place: u32) -> u32 {
        let (part, at) = split(place);
        let Part { taken, position, .. } = self.parts[part];
        let behind = taken & (u64::MAX << at << 1);
        if behind != 0 {
            return joined(part, behind.trailing_zeros() as usize);
        }
        let next = self.order[(position as usize + 1) % self.order.len()] as usize;
        joined(next, self.parts[next].taken.trailing_zeros() as usize)
    }

    fn entry_in(&self, place: u32) -> T {
        let (part, at) = split(place);
        T::from_index(self.parts[part].entries[at])
    }

    /// Unlinks `entry`; if the hand is on it, the hand moves to the next.
    pub(crate) fn remove(&mut self, entry: T) {
        if self.hand == self.places[entry.index()] {
            return self.remove_and_pass(entry);
        }
        let (part, at) = split(self.places[entry.index()]);
        self.take(part, at);
        if self.parts[part].taken == 0 {
            self.remove_part(part);
        }
    }

    /// Unlinks `entry` and moves the hand to the entry behind it.
    pub(crate) fn remove_and_pass(&mut self, entry: T) {
        let place = self.places[entry.index()];
        let behind = self.following(place);
        // Not the place itself, so that the entry is unlinked and the hand stays.
        self.hand = if behind == place { NONE } else { behind };
        self.remove(entry);
    }

    /// Moves the hand from the entry that it is on to the next.
    pub(crate) fn pass(&mut self) {
        self.hand = self.following(self.hand);
    }

    /// The largest weight, 0 if the circle is empty.
    #[inline]
    pub(crate) fn largest_weight(&self) -> u8 {
        self.largest_weight
    }

    /// The first of the heaviest from a place on, around the circle.
    fn first_from(&mut self, part: usize, at: usize) -> T {
        let weight = self.largest_weight();
        let found = |part: &Part, at: usize| T::from_index(part.entries[at]);
        if let Some(further) = position_from(weight, &self.parts[part].weights[at..]) {
            return found(&self.parts[part], at + further);
        }
        let mut from = self.parts[part].position as usize + 1;
        loop {
            let (before, behind) = self.bounds.split_at(from);
            let position = match position_from(weight, behind) {
                Some(further) => from + further,
                None => position_from(weight, before).expect("a part has this weight"),
            };
            let part = &self.parts[self.order[position] as usize];
            match position_from(weight, &part.weights) {
                Some(at) => return found(part, at),
                None => self.bounds[position] = largest(&part.weights),
            }
            from = position;
        }
    }

    /// The first of the heaviest blocks from the hand.
    pub(crate) fn first_heaviest(&mut self) -> Option<T> {
        if self.hand == NONE || self.largest_weight() == 0 {
            return self.under_hand();
        }
        let (part, at) = split(self.hand);
        Some(self.first_from(part, at))
    }

    /// The next of the heaviest blocks behind `entry`, around the circle.
    pub(crate) fn next_heaviest(&mut self, entry: T) -> T {
        let place = self.places[entry.index()];
        if self.largest_weight() == 0 {
            return self.entry_in(self.following(place));
        }
        let (part, at) = split(place);
        self.first_from(part, at + 1)
    }

    /// The entry under the hand.
    pub(crate) fn under_hand(&self) -> Option<T> {
        (self.hand != NONE).then(|| self.entry_in(self.hand))
    }

    /// All blocks, from the hand.
    pub(crate) fn iter(&self) -> impl Iterator<Item = T> + '_ {
        let mut next = (self.hand != NONE).then_some(self.hand);
        core::iter::from_fn(move || {
            let place = next?;
            next = Some(self.following(place)).filter(|&following| following != self.hand);
            Some(self.entry_in(place))
        })
    }

    /// Asserts that places, parts and largest weights agree and that the weights are those of `weight`.
    pub(crate) fn check_invariants(&self, weight: impl Fn(T) -> u8) {
        for entry in self.iter() {
            assert_eq!(self.weight(entry), weight(entry), "a weight is wrong");
            assert_eq!(self.entry_in(self.places[entry.index()]), entry, "a place is wrong");
        }
        let heaviest = self.iter().map(weight).max().unwrap_or(0);
        assert_eq!(self.largest_weight(), heaviest, "the largest weight is wrong");
        for (position, &part) in self.order.iter().enumerate() {
            let part = &self.parts[part as usize];
            assert_eq!(part.position as usize, position, "a part's position is wrong");
            assert_ne!(part.taken, 0, "a part without an entry");
            assert!(largest(&part.weights) <= self.bounds[position], "a bound is wrong");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::BlockSlot;
    use alloc::collections::VecDeque;

    #[test]
    fn it_turns_as_a_plain_queue() {
        turns_as_a_plain_queue(4000, 50);
    }

    #[test]
    fn many_parts_turn_as_a_plain_queue() {
        turns_as_a_plain_queue(8000, 700);
    }

    /// Entries are numbered below `entries`; half of the steps add one, where there is one left.
    fn turns_as_a_plain_queue(rounds: u32, entries: u32) {
        let (mut circle, mut plain) = (Circle::<BlockSlot>::EMPTY, VecDeque::<(u32, u8)>::new());
        let mut random = 2017u64;
        for round in 0..rounds {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (draw, weight) = ((random >> 33) as usize, (random >> 62) as u8);
            let place = if plain.is_empty() { 0 } else { draw % plain.len() };
            match random >> 20 & 15 {
                0 | 1 | 8.. if plain.iter().all(|&(block, _)| block != round % entries) => {
                    circle.push_tail(BlockSlot(round % entries), weight);
                    plain.push_back((round % entries, weight));
                }
                2 if !plain.is_empty() => {
                    let (block, _) = plain.remove(place).unwrap();
                    circle.remove(BlockSlot(block));
                }
                3 if !plain.is_empty() => {
                    plain.rotate_left(place);
                    let (block, _) = plain.pop_front().unwrap();
                    circle.remove_and_pass(BlockSlot(block));
                }
                4 if !plain.is_empty() => {
                    assert_eq!(circle.under_hand(), Some(BlockSlot(plain[0].0)));
                    circle.pass();
                    plain.rotate_left(1);
                }
                5 if !plain.is_empty() => {
                    circle.set_weight(BlockSlot(plain[place].0), weight);
                    plain[place].1 = weight;
                }
                6 if !plain.is_empty() => {
                    let largest = plain.iter().map(|&(_, weight)| weight).max().unwrap();
                    let behind = (1..=plain.len()).map(|step| plain[(place + step) % plain.len()]);
                    let mut heaviest = behind.filter(|&(_, weight)| weight == largest);
                    let next = heaviest.next().unwrap().0;
                    assert_eq!(circle.next_heaviest(BlockSlot(plain[place].0)), BlockSlot(next));
                }
                _ => {
                    let largest = plain.iter().map(|&(_, weight)| weight).max();
                    let first = plain.iter().find(|&&(_, weight)| Some(weight) == largest);
                    assert_eq!(circle.first_heaviest(), first.map(|&(block, _)| BlockSlot(block)));
                }
            }
            assert!(circle.iter().eq(plain.iter().map(|&(block, _)| BlockSlot(block))));
            let weight_of = |slot: BlockSlot| plain.iter().find(|one| one.0 == slot.0).unwrap().1;
            circle.check_invariants(weight_of);
        }
    }
}
