//! Ghosts: the numbers of pages that have left, in the order in which they left.

use alloc::vec;
use alloc::vec::Vec;

use crate::PageId;

/// The page is not a ghost.
const NONE: u32 = u32::MAX;
/// The ghost that stood here has been removed.
const REMOVED: PageId = PageId(u32::MAX);

/// A first-in, first-out list of pages with constant-time look-up and removal.
///
/// The ghosts are in a ring in the order in which their pages left. One that is removed leaves a hole, so that no other
/// ghost is touched; there are never holes at the oldest end. Costs 4 bytes per page of the footprint and on average 8, at
/// most 16, per ghost that was ever remembered at the same time.
#[derive(Clone, Debug)]
pub(crate) struct GhostList {
    /// When the page left, counted from 0; its place in the ring is that modulo the ring's length.
    turn_of_page: Vec<u32>,
    /// A power of two of places.
    ring: Vec<PageId>,
    oldest_turn: u32,
    next_turn: u32,
    len: u32,
}

/// Places of the smallest ring.
const MIN_PLACES: usize = 16;

impl GhostList {
    pub(crate) fn new(pages: u32) -> Self {
        GhostList {
            turn_of_page: vec![NONE; pages as usize],
            ring: vec![REMOVED; MIN_PLACES],
            oldest_turn: 0,
            next_turn: 0,
            len: 0,
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    pub(crate) fn contains(&self, page: PageId) -> bool {
        self.turn_of_page[page.index()] != NONE
    }

    #[inline]
    fn place(&self, turn: u32) -> usize {
        turn as usize & (self.ring.len() - 1)
    }

    /// Remembers `page` as the newest ghost; one that is already here moves to the newest end.
    #[inline]
    pub(crate) fn push(&mut self, page: PageId) {
        self.remove(page);
        if (self.next_turn - self.oldest_turn) as usize == self.ring.len() || self.next_turn == NONE
        {
            self.make_place();
        }
        let place = self.place(self.next_turn);
        self.ring[place] = page;
        self.turn_of_page[page.index()] = self.next_turn;
        self.next_turn += 1;
        self.len += 1;
    }

    /// Closes the holes, in a larger ring if more than half of the places are taken.
    #[cold]
    fn make_place(&mut self) {
        if 2 * self.len as usize > self.ring.len() || self.next_turn == NONE {
            let places = (2 * self.len as usize).next_power_of_two().max(MIN_PLACES);
            let mut ring = Vec::with_capacity(places);
            ring.extend(self.iter());
            ring.resize(places, REMOVED);
            (self.ring, self.oldest_turn, self.next_turn) = (ring, 0, self.len);
        }
        let mut next_turn = self.oldest_turn;
        for turn in self.oldest_turn..self.next_turn {
            let page = self.ring[self.place(turn)];
            if page != REMOVED {
                let place = self.place(next_turn);
                self.ring[place] = page;
                self.turn_of_page[page.index()] = next_turn;
                next_turn += 1;
            }
        }
        self.next_turn = next_turn;
    }

    /// Forgets `page`; returns whether it was here.
    #[inline]
    pub(crate) fn remove(&mut self, page: PageId) -> bool {
        let turn = core::mem::replace(&mut self.turn_of_page[page.index()], NONE);
        if turn == NONE {
            return false;
        }
        let place = self.place(turn);
        self.ring[place] = REMOVED;
        self.len -= 1;
        if turn == self.oldest_turn {
            self.pass_holes();
        }
        true
    }

    #[inline]
    fn pass_holes(&mut self) {
        while self.oldest_turn != self.next_turn
            && self.ring[self.place(self.oldest_turn)] == REMOVED
        {
            self.oldest_turn += 1;
        }
    }

    /// The oldest ghost, if there is one.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<PageId> {
        (self.len > 0).then(|| self.ring[self.place(self.oldest_turn)])
    }

    /// Forgets the oldest ghost, if there is one.
    #[inline]
    pub(crate) fn drop_oldest(&mut self) {
        if let Some(page) = self.oldest() {
            self.remove(page);
        }
    }

    /// The ghosts from the oldest to the newest.
    pub(crate) fn iter(&self) -> impl Iterator<Item = PageId> + '_ {
        let turns = self.oldest_turn..self.next_turn;
        turns.map(|turn| self.ring[self.place(turn)]).filter(|&page| page != REMOVED)
    }

    /// Asserts that ring, look-up table and length agree.
    pub(crate) fn check_invariants(&self) {
        assert_eq!(self.iter().count(), self.len as usize, "the ghost list's length is wrong");
        for page in self.iter() {
            let place = self.place(self.turn_of_page[page.index()]);
            assert_eq!(self.ring[place], page, "a ghost's place belongs to another page");
        }
        let (oldest, next) = (self.oldest_turn, self.next_turn);
        assert!(oldest == next || self.ring[self.place(oldest)] != REMOVED, "the oldest is a hole");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps over a list and over a plain vector, which must hold the same.
    fn follow(steps: u32, first_turn: u32) {
        let pages = 40;
        let mut ghosts = GhostList::new(pages);
        (ghosts.oldest_turn, ghosts.next_turn) = (first_turn, first_turn);
        let mut expected: Vec<PageId> = Vec::new();
        let mut number = 1_u64;
        for _ in 0..steps {
            number = number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let page = PageId((number >> 33) as u32 % pages);
            let was_here = expected.contains(&page);
            assert_eq!(ghosts.contains(page), was_here);
            match number >> 60 {
                0..8 => {
                    ghosts.push(page);
                    expected.retain(|&other| other != page);
                    expected.push(page);
                }
                8..12 => {
                    assert_eq!(ghosts.remove(page), was_here);
                    expected.retain(|&other| other != page);
                }
                _ => {
                    assert_eq!(ghosts.oldest(), expected.first().copied());
                    ghosts.drop_oldest();
                    expected.drain(..expected.len().min(1));
                }
            }
            assert_eq!(ghosts.iter().collect::<Vec<_>>(), expected);
            ghosts.check_invariants();
        }
    }

    #[test]
    fn ghosts_are_those_of_a_plain_vector() {
        follow(5_000, 0);
    }

    #[test]
    fn turns_are_counted_anew_before_they_run_out() {
        follow(5_000, u32::MAX - 100);
    }
}
