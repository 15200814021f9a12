//! Which slots of a store are free, and how many owners each of the others has.

use super::Slot;

/// The number of runs of free slots that a search for a long one examines before it gives up.
const RUNS_LOOKED_AT: usize = 64;

/// Bits of a word of the bitmap.
const WORD_BITS: usize = u64::BITS as usize;

/// The slots of a store, allocated next-fit: a search begins where the last one ended. So pages written one after the
/// other lie side by side, and a slot stays unused as long as possible.
#[derive(Debug, Default)]
pub(super) struct SlotTable {
    /// Owners of each slot; a slot without an owner is free.
    owners: Vec<u32>,
    /// One bit for each slot, set if it is free; bits past the last slot are clear.
    free: Vec<u64>,
    free_slots: usize,
    /// Where the next search begins.
    next: usize,
}

impl SlotTable {
    /// Slots, free or not.
    pub(super) fn slots(&self) -> usize {
        self.owners.len()
    }

    pub(super) fn free_slots(&self) -> usize {
        self.free_slots
    }

    /// Adds `slots` free ones; the next search begins with them.
    pub(super) fn extend(&mut self, slots: usize) {
        self.next = self.owners.len();
        self.owners.resize(self.next + slots, 0);
        self.free.resize(self.owners.len().div_ceil(WORD_BITS), 0);
        for slot in self.next..self.owners.len() {
            self.free[slot / WORD_BITS] |= 1 << (slot % WORD_BITS);
        }
        self.free_slots += slots;
    }

    /// The first of `slots` free slots side by side, if a short search finds them.
    pub(super) fn find_run(&self, slots: usize) -> Option<usize> {
        if slots > self.free_slots {
            return None;
        }
        let mut looked_at = 0;
        let wrapped = (self.next + slots).min(self.slots());
        for (mut from, to) in [(self.next, self.slots()), (0, wrapped)] {
            while let Some(start) = self.next_with(from, to, true) {
                let end = to.min(start + slots);
                match self.next_with(start, end, false) {
                    None if end - start == slots => return Some(start),
                    None => break,
                    Some(used) => from = used,
                }
                looked_at += 1;
                if looked_at == RUNS_LOOKED_AT {
                    return None;
                }
            }
        }
        None
    }

    /// Gives out `slots` slots with one owner each: a run if a short search finds one, else the next free ones.
    ///
    /// # Panics
    ///
    /// If fewer than `slots` are free.
    pub(super) fn take(&mut self, slots: usize, taken: &mut Vec<Slot>) {
        assert!(slots <= self.free_slots, "{slots} slots of {} free ones", self.free_slots);
        let mut from = self.find_run(slots).unwrap_or(self.next);
        for _ in 0..slots {
            let slot = self
                .next_with(from, self.slots(), true)
                .or_else(|| self.next_with(0, from, true))
                .expect("as many are free as have been counted");
            self.free[slot / WORD_BITS] &= !(1 << (slot % WORD_BITS));
            self.owners[slot] = 1;
            taken.push(Slot(u32::try_from(slot).expect("a table has at most 2^32 slots")));
            from = slot + 1;
        }
        self.free_slots -= slots;
        self.next = from;
    }

    pub(super) fn owners(&self, slot: Slot) -> u32 {
        self.owners[slot.0 as usize]
    }

    pub(super) fn share(&mut self, slot: Slot) {
        let owners = &mut self.owners[slot.0 as usize];
        assert!(*owners > 0, "a free slot cannot be shared: {slot:?}");
        *owners += 1;
    }

    /// Removes one owner; returns whether the slot is now free.
    pub(super) fn release(&mut self, slot: Slot) -> bool {
        let index = slot.0 as usize;
        assert!(self.owners[index] > 0, "a free slot cannot be released: {slot:?}");
        self.owners[index] -= 1;
        let is_free = self.owners[index] == 0;
        if is_free {
            self.free[index / WORD_BITS] |= 1 << (index % WORD_BITS);
            self.free_slots += 1;
        }
        is_free
    }

    /// The first slot of `from..to` that is free, or that is in use, as `is_free` says.
    fn next_with(&self, from: usize, to: usize, is_free: bool) -> Option<usize> {
        let flip = if is_free { 0 } else { u64::MAX };
        let mut index = from;
        while index < to {
            let rest = (self.free[index / WORD_BITS] ^ flip) >> (index % WORD_BITS);
            if rest != 0 {
                let found = index + rest.trailing_zeros() as usize;
                return (found < to).then_some(found);
            }
            index = (index / WORD_BITS + 1) * WORD_BITS;
        }
        None
    }

    /// Recounts everything.
    #[cfg(test)]
    pub(super) fn check_invariants(&self) {
        let mut free_slots = 0;
        for (slot, &owners) in self.owners.iter().enumerate() {
            let is_free = self.free[slot / WORD_BITS] >> (slot % WORD_BITS) & 1 == 1;
            assert_eq!(is_free, owners == 0, "slot {slot}");
            free_slots += usize::from(is_free);
        }
        assert_eq!(self.free_slots, free_slots);
        let bits: u32 = self.free.iter().map(|word| word.count_ones()).sum();
        assert_eq!(bits as usize, free_slots, "no bit past the last slot");
        assert!(self.next <= self.slots());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(slots: &[Slot]) -> Vec<u32> {
        slots.iter().map(|slot| slot.0).collect()
    }

    fn take(table: &mut SlotTable, slots: usize) -> Vec<u32> {
        let mut taken = Vec::new();
        table.take(slots, &mut taken);
        table.check_invariants();
        numbers(&taken)
    }

    #[test]
    fn a_batch_gets_consecutive_slots_where_there_are_some() {
        let mut table = SlotTable::default();
        table.extend(200);
        take(&mut table, 130);
        for slot in [3, 5, 60, 61, 62, 63, 64, 65, 66] {
            table.release(Slot(slot));
        }
        assert_eq!(take(&mut table, 68), (130..198).collect::<Vec<_>>());
        assert_eq!(take(&mut table, 7), (60..67).collect::<Vec<_>>());
        assert_eq!(take(&mut table, 4), [198, 199, 3, 5], "no run is left");
    }

    #[test]
    fn a_slot_that_was_released_rests_until_the_search_comes_round() {
        let mut table = SlotTable::default();
        table.extend(4);
        assert_eq!(take(&mut table, 1), [0]);
        table.release(Slot(0));
        assert_eq!(take(&mut table, 1), [1]);
        assert_eq!(take(&mut table, 3), [2, 3, 0]);
    }

    #[test]
    fn a_shared_slot_is_free_when_its_last_owner_releases_it() {
        let mut table = SlotTable::default();
        table.extend(1);
        take(&mut table, 1);
        table.share(Slot(0));
        assert!(!table.release(Slot(0)));
        assert_eq!(table.free_slots(), 0);
        assert!(table.release(Slot(0)));
        table.check_invariants();
    }

    #[test]
    fn new_slots_are_taken_first() {
        let mut table = SlotTable::default();
        table.extend(3);
        take(&mut table, 2);
        table.release(Slot(0));
        table.extend(2);
        assert_eq!(take(&mut table, 2), [3, 4]);
        assert_eq!(take(&mut table, 2), [0, 2]);
    }
}
