//! The circle of a clock whose hand looks for the heaviest entry.

use alloc::vec::Vec;

use core::marker::PhantomData;

mod part;

use super::Listed;
use part::{NONE, PLACES, Part};

/// Blocks, or frames, in the order in which the hand reaches them, each with a weight from 0 to 64 and perhaps a mark.
///
/// The circle is divided into parts of up to 64 places. Of each part it is known which entries have which weight, one
/// bit for each, and which weight is its largest. So it takes constant time to change a weight, or to remove an entry
/// anywhere and set the hand behind it. The search for the first entry from the hand with the largest weight scans one
/// byte per part, eight at once, and then looks at one word of the part. All marked entries of a part are passed over
/// together. A new entry shifts the entries up to the nearest free place; a part that is full is divided. 31 bytes per
/// entry where parts are half full, as after they are divided.
#[derive(Clone, Debug)]
pub(crate) struct Circle<T> {
    parts: Vec<Part>,
    unused: Vec<u32>,
    /// The parts that have entries, in the hand's order.
    order: Vec<u32>,
    /// By position in the order: the part's largest weight.
    largest: Vec<u8>,
    /// By weight: its entries.
    entries_of_weight: Vec<u32>,
    largest_weight: u8,
    /// By entry: its part and its place in it, as part × 64 + place.
    places: Vec<u32>,
    /// The place of the entry under the hand.
    hand: u32,
    listed: PhantomData<T>,
}

#[inline]
fn split(place: u32) -> (usize, usize) {
    (place as usize / PLACES, place as usize % PLACES)
}

#[inline]
fn joined(part: usize, at: usize) -> u32 {
    (part * PLACES + at) as u32
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
        largest: Vec::new(),
        entries_of_weight: Vec::new(),
        largest_weight: 0,
        places: Vec::new(),
        hand: NONE,
        listed: PhantomData,
    };

    /// Counts an entry that a part got.
    #[inline]
    fn count_added(&mut self, position: u32, weight: u8) {
        let largest = &mut self.largest[position as usize];
        *largest = weight.max(*largest);
        self.entries_of_weight[usize::from(weight)] += 1;
        self.largest_weight = weight.max(self.largest_weight);
    }

    /// Counts an entry that a part lost.
    #[inline(always)]
    fn count_lost(&mut self, part: usize, weight: u8) {
        let part = &self.parts[part];
        if part.of_weight[usize::from(weight)] == 0 {
            let largest = &mut self.largest[part.position as usize];
            *largest = part.largest(*largest);
        }
        let entries = &mut self.entries_of_weight;
        entries[usize::from(weight)] -= 1;
        while self.largest_weight > 0 && entries[usize::from(self.largest_weight)] == 0 {
            self.largest_weight -= 1;
        }
    }

    /// Puts a part without entries into the order.
    fn add_part(&mut self, position: usize) -> usize {
        self.entries_of_weight.resize(PLACES + 1, 0);
        let part = self.unused.pop().unwrap_or(self.parts.len() as u32);
        if part as usize == self.parts.len() {
            self.parts.push(Part::EMPTY);
        }
        self.order.insert(position, part);
        self.largest.insert(position, 0);
        self.number_from(position);
        part as usize
    }

    /// Takes a part without entries out of the order.
    fn remove_part(&mut self, part: usize) {
        let position = self.parts[part].position as usize;
        self.order.remove(position);
        self.largest.remove(position);
        self.number_from(position);
        self.unused.push(part as u32);
    }

    fn number_from(&mut self, first: usize) {
        for (position, &part) in self.order.iter().enumerate().skip(first) {
            self.parts[part as usize].position = position as u32;
        }
    }

    #[inline(always)]
    fn put(&mut self, (part, at): (usize, usize), entry: u32, weight: u8) {
        let Part { taken, of_weight, weights, entries, position, .. } = &mut self.parts[part];
        *taken |= 1 << at;
        of_weight[usize::from(weight)] |= 1 << at;
        (weights[at], entries[at]) = (weight, entry);
        let position = *position;
        self.places[entry as usize] = joined(part, at);
        self.count_added(position, weight);
    }

    /// Frees a place.
    #[inline(always)]
    fn take(&mut self, part: usize, at: usize) {
        let Part { taken, marked, of_weight, weights, .. } = &mut self.parts[part];
        let weight = weights[at];
        *taken &= !(1 << at);
        *marked &= !(1 << at);
        of_weight[usize::from(weight)] &= !(1 << at);
        self.count_lost(part, weight);
    }

    /// Moves the entries from `at` up to the place before `hole`, which is free, to the next place; or those behind `hole`
    /// up to `at` to the one before. `at` is free then.
    fn shift(&mut self, part: usize, at: usize, hole: usize) {
        let Part { taken, marked, of_weight, weights, entries, .. } = &mut self.parts[part];
        let mut to = hole;
        while to != at {
            let from = if hole > at { to - 1 } else { to + 1 };
            let (entry, weight) = (entries[from], weights[from]);
            (entries[to], weights[to]) = (entry, weight);
            of_weight[usize::from(weight)] ^= 1 << from | 1 << to;
            self.places[entry as usize] = joined(part, to);
            to = from;
        }
        *taken ^= 1 << hole ^ 1 << at;
        let (low, high) = (hole.min(at), hole.max(at));
        let shifted = u64::MAX << low & u64::MAX >> (PLACES - 1 - high);
        let marks = *marked & shifted;
        *marked = *marked & !shifted | if hole > at { marks << 1 } else { marks >> 1 };
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
        let below = PLACES.wrapping_sub(1 + free_below.leading_zeros() as usize);
        let above = free_above.trailing_zeros() as usize;
        if at == 0 {
            self.place_at_end(part)
        } else if free_below != 0 && (free_above == 0 || at - below <= above - at) {
            self.shift(part, at - 1, below);
            (part, at - 1)
        } else if free_above != 0 {
            self.shift(part, at, above);
            self.hand = joined(part, at + 1);
            (part, at)
        } else {
            self.divide(part);
            self.place_before_hand()
        }
    }

    /// A free place behind the last entry of the part that comes before `part`, which begins with the hand.
    fn place_at_end(&mut self, part: usize) -> (usize, usize) {
        let parts = self.order.len();
        let before = (self.parts[part].position as usize + parts - 1) % parts;
        let last = self.order[before] as usize;
        match self.parts[last].taken {
            u64::MAX => (self.add_part(before + 1), 0),
            taken if taken >> (PLACES - 1) == 0 => (last, PLACES - taken.leading_zeros() as usize),
            taken => {
                let hole = PLACES - 1 - (!taken).leading_zeros() as usize;
                self.shift(last, PLACES - 1, hole);
                (last, PLACES - 1)
            }
        }
    }

    /// Moves the second half of a full part into a new one behind it, and the hand with it.
    fn divide(&mut self, part: usize) {
        let position = self.parts[part].position as usize;
        let behind = self.add_part(position + 1);
        let upper = self.parts[part].take_upper_half();
        for (at, &entry) in upper.entries[..PLACES / 2].iter().enumerate() {
            self.places[entry as usize] = joined(behind, at);
        }
        self.largest[position + 1] = upper.largest(PLACES as u8);
        self.largest[position] = self.parts[part].largest(PLACES as u8);
        self.parts[behind] = Part { position: position as u32 + 1, ..upper };
        let (under_hand, at) = split(self.hand);
        if under_hand == part && at >= PLACES / 2 {
            self.hand = joined(behind, at - PLACES / 2);
        }
    }

    /// Links `entry`, which is not here, without a mark, in the place that the hand reaches last.
    pub(crate) fn push_tail(&mut self, entry: T, weight: u8) {
        if entry.index() >= self.places.len() {
            self.places.resize(entry.index() + 1, NONE);
        }
        let place = self.place_before_hand();
        self.put(place, entry.index() as u32, weight);
    }

    pub(crate) fn weight(&self, entry: T) -> u8 {
        let (part, at) = split(self.places[entry.index()]);
        self.parts[part].weights[at]
    }

    #[inline(always)]
    pub(crate) fn set_weight(&mut self, entry: T, weight: u8) {
        let (part, at) = split(self.places[entry.index()]);
        let Part { of_weight, weights, position, .. } = &mut self.parts[part];
        let before = core::mem::replace(&mut weights[at], weight);
        of_weight[usize::from(before)] ^= 1 << at;
        of_weight[usize::from(weight)] ^= 1 << at;
        let position = *position;
        self.count_added(position, weight);
        self.count_lost(part, before);
    }

    /// Returns whether `entry` is marked.
    pub(crate) fn is_marked(&self, entry: T) -> bool {
        let (part, at) = split(self.places[entry.index()]);
        self.parts[part].marked >> at & 1 == 1
    }

    /// Marks `entry`.
    #[inline]
    pub(crate) fn mark(&mut self, entry: T) {
        let (part, at) = split(self.places[entry.index()]);
        self.parts[part].marked |= 1 << at;
    }

    /// The place that the hand reaches after `place`; the same one if it is alone.
    fn following(&self, place: u32) -> u32 {
        let (part, at) = split(place);
        let Part { taken, position, .. } = &self.parts[part];
        let behind = taken & (u64::MAX << at << 1);
        if behind != 0 {
            return joined(part, behind.trailing_zeros() as usize);
        }
        let next = *position as usize + 1;
        let next = self.order[if next == self.order.len() { 0 } else { next }] as usize;
        joined(next, self.parts[next].taken.trailing_zeros() as usize)
    }

    fn entry_in(&self, place: u32) -> T {
        let (part, at) = split(place);
        T::from_index(self.parts[part].entries[at])
    }

    /// Unlinks `entry`; if the hand is on it, the hand moves to the next.
    pub(crate) fn remove(&mut self, entry: T) {
        let place = self.places[entry.index()];
        match self.hand == place {
            true => self.take_and_pass(place),
            false => self.take_from(place),
        }
    }

    /// Unlinks `entry` and moves the hand to the entry behind it.
    pub(crate) fn remove_and_pass(&mut self, entry: T) {
        self.take_and_pass(self.places[entry.index()]);
    }

    #[inline]
    fn take_and_pass(&mut self, place: u32) {
        let behind = self.following(place);
        self.hand = if behind == place { NONE } else { behind };
        self.take_from(place);
    }

    /// Unlinks the entry in `place`, which the hand is not on.
    #[inline(always)]
    fn take_from(&mut self, place: u32) {
        let (part, at) = split(place);
        self.take(part, at);
        if self.parts[part].taken == 0 {
            self.remove_part(part);
        }
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

    /// The next part around the circle with an entry of this weight, the largest one; the same part if no other has one.
    #[inline(always)]
    fn next_part(&self, part: usize, weight: u8) -> usize {
        let (before, behind) = self.largest.split_at(self.parts[part].position as usize + 1);
        let position = match position_from(weight, behind) {
            Some(further) => before.len() + further,
            None => position_from(weight, before).expect("a part has this weight"),
        };
        self.order[position] as usize
    }

    /// The first of the heaviest blocks from the hand.
    pub(crate) fn first_heaviest(&self) -> Option<T> {
        if self.hand == NONE {
            return None;
        }
        let weight = self.largest_weight();
        let (mut part, at) = split(self.hand);
        let mut found = self.parts[part].of_weight[usize::from(weight)] & (u64::MAX << at);
        if found == 0 {
            part = self.next_part(part, weight);
            found = self.parts[part].of_weight[usize::from(weight)];
        }
        Some(T::from_index(self.parts[part].entries[found.trailing_zeros() as usize]))
    }

    /// Unlinks, of the heaviest entries from the hand, the first without a mark, and moves the hand behind it. Those that
    /// it passes over lose their marks.
    pub(crate) fn take_heaviest(&mut self) -> Option<T> {
        if self.hand == NONE {
            return None;
        }
        let weight = self.largest_weight();
        let (mut part, at) = split(self.hand);
        let mut looked_at = u64::MAX << at;
        loop {
            let Part { marked, of_weight, entries, .. } = &mut self.parts[part];
            let heaviest = of_weight[usize::from(weight)] & looked_at;
            let found = heaviest & !*marked;
            // Without a found one, all places are before it.
            let before = (found & found.wrapping_neg()).wrapping_sub(1);
            *marked &= !(heaviest & before);
            if found != 0 {
                let at = found.trailing_zeros() as usize;
                let entry = T::from_index(entries[at]);
                self.take_and_pass(joined(part, at));
                return Some(entry);
            }
            part = self.next_part(part, weight);
            looked_at = u64::MAX;
        }
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
            let (part, at) = split(self.places[entry.index()]);
            assert_eq!(self.weight(entry), weight(entry), "a weight is wrong");
            assert_eq!(self.entry_in(self.places[entry.index()]), entry, "a place is wrong");
            let of_weight = self.parts[part].of_weight[usize::from(weight(entry))];
            assert_eq!(of_weight >> at & 1, 1, "a place does not stand with its weight");
        }
        let heaviest = self.iter().map(weight).max().unwrap_or(0);
        assert_eq!(self.largest_weight(), heaviest, "the largest weight is wrong");
        for (position, &part) in self.order.iter().enumerate() {
            let Part { taken, marked, of_weight, position: noted, .. } = self.parts[part as usize];
            assert_eq!(noted as usize, position, "a part's position is wrong");
            assert_ne!(taken, 0, "a part without an entry");
            assert_eq!(marked & !taken, 0, "a free place is marked");
            let places: u32 = of_weight.iter().map(|places| places.count_ones()).sum();
            assert_eq!(places, taken.count_ones(), "a place stands with several weights");
            let largest = of_weight.iter().rposition(|&places| places != 0);
            assert_eq!(largest, Some(self.largest[position].into()), "a largest weight is wrong");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::BlockSlot;
    use alloc::collections::{BTreeMap, BTreeSet, VecDeque};

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
        let mut marked = BTreeSet::new();
        let mut random = 2017u64;
        for round in 0..rounds {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (draw, weight) = ((random >> 33) as usize, [0, 1, 2, 64][(random >> 62) as usize]);
            let place = if plain.is_empty() { 0 } else { draw % plain.len() };
            match random >> 20 & 15 {
                0 | 1 | 8.. if plain.iter().all(|&(block, _)| block != round % entries) => {
                    circle.push_tail(BlockSlot(round % entries), weight);
                    plain.push_back((round % entries, weight));
                }
                2 if !plain.is_empty() => {
                    let (block, _) = plain.remove(place).unwrap();
                    circle.remove(BlockSlot(block));
                    marked.remove(&block);
                }
                3 if !plain.is_empty() => {
                    circle.mark(BlockSlot(plain[place].0));
                    marked.insert(plain[place].0);
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
                    while plain[0].1 != largest || marked.remove(&plain[0].0) {
                        plain.rotate_left(1);
                    }
                    let (block, _) = plain.pop_front().unwrap();
                    assert_eq!(circle.take_heaviest(), Some(BlockSlot(block)));
                }
                7 if !plain.is_empty() => {
                    plain.rotate_left(place);
                    let (block, _) = plain.pop_front().unwrap();
                    circle.remove_and_pass(BlockSlot(block));
                    marked.remove(&block);
                }
                _ => {
                    let largest = plain.iter().map(|&(_, weight)| weight).max();
                    let first = plain.iter().find(|&&(_, weight)| Some(weight) == largest);
                    assert_eq!(circle.first_heaviest(), first.map(|&(block, _)| BlockSlot(block)));
                }
            }
            assert!(circle.iter().eq(plain.iter().map(|&(block, _)| BlockSlot(block))));
            let is_marked = |slot: BlockSlot| marked.contains(&slot.0);
            assert!(circle.iter().all(|slot| circle.is_marked(slot) == is_marked(slot)));
            let weights: BTreeMap<u32, u8> = plain.iter().copied().collect();
            circle.check_invariants(|slot| weights[&slot.0]);
        }
    }
}
