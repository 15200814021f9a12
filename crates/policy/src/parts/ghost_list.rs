//! Ghosts: the numbers of pages that have left, in the order of their leaving.

use alloc::vec;
use alloc::vec::Vec;

use crate::PageId;

/// Bits of a word that say which list the page is in.
const LIST_BITS: u32 = 2;
/// The word of an unknown page.
const NONE: u32 = 0;
/// Not 0, so that no ghost has the word [`NONE`].
const FIRST_TURN: u32 = 1;
/// Turns that a word can hold.
const TURNS: u32 = u32::MAX >> LIST_BITS;
/// The ghost that stood here has been removed.
const REMOVED: PageId = PageId(u32::MAX);

/// First-in, first-out lists of pages with constant-time look-up and removal; a page may be in several of them.
///
/// The ghosts of a list are in a ring in the order of leaving. A removed one leaves a hole, so that no other ghost is
/// touched; the oldest end never has holes. The words of a page are side by side, so that asking all lists costs one
/// cache line. Dropping the oldest ghost touches no word. The first lists have a word each; the others share the last
/// word, because a page is in at most one of them. Costs 4 bytes per word and page of the footprint and on average 8,
/// at most 16, per ghost that was ever remembered at the same time.
#[derive(Clone, Debug)]
pub(crate) struct GhostLists<const WORDS: usize, const LISTS: usize> {
    /// Each word has a list's number and when the page left, counted from 1. The page is not a ghost, and has been
    /// dropped, if that is older than the list's oldest ghost.
    words_of_page: Vec<[u32; WORDS]>,
    /// The words of the last list, if it shares none.
    words_of_last_list: Vec<u32>,
    rings: [Ring; LISTS],
}

/// The ghosts of one list. A ghost's place is its turn modulo the number of places.
#[derive(Clone, Debug)]
struct Ring {
    /// A power of two of places.
    places: Vec<PageId>,
    oldest_turn: u32,
    next_turn: u32,
    len: u32,
}

#[inline]
fn word_of(list: usize, turn: u32) -> u32 {
    turn << LIST_BITS | list as u32
}

/// Places of the smallest ring.
const MIN_PLACES: usize = 16;

impl Ring {
    fn new() -> Self {
        let places = vec![REMOVED; MIN_PLACES];
        Ring { places, oldest_turn: FIRST_TURN, next_turn: FIRST_TURN, len: 0 }
    }

    #[inline]
    fn place(&self, turn: u32) -> usize {
        turn as usize & (self.places.len() - 1)
    }

    /// Returns whether a page with this word is in this list, and has not been dropped since it was remembered.
    #[inline]
    fn reaches(&self, list: usize, word: u32) -> bool {
        // A word of another list is far off.
        let age = word.wrapping_sub(word_of(list, self.oldest_turn)).rotate_right(LIST_BITS);
        age < self.next_turn - self.oldest_turn
    }

    #[inline]
    fn is_full(&self) -> bool {
        (self.next_turn - self.oldest_turn) as usize == self.places.len() || self.next_turn == TURNS
    }

    /// The ghost of this turn leaves the ring.
    #[inline]
    fn empty(&mut self, turn: u32) {
        let place = self.place(turn);
        self.places[place] = REMOVED;
        self.len -= 1;
        self.pass_holes();
    }

    /// The oldest end goes on to the oldest ghost.
    #[inline]
    fn pass_holes(&mut self) {
        while self.next_turn - self.oldest_turn > self.len
            && self.places[self.place(self.oldest_turn)] == REMOVED
        {
            self.oldest_turn += 1;
        }
    }

    /// Moves the ghosts into a ring with about half of its places free, their turns counted from `oldest_turn` on.
    fn grow(&mut self, oldest_turn: u32) {
        let places = (2 * self.len as usize).next_power_of_two().max(MIN_PLACES);
        let old = core::mem::replace(&mut self.places, vec![REMOVED; places]);
        let turns = self.oldest_turn..self.next_turn;
        (self.oldest_turn, self.next_turn) = (oldest_turn, oldest_turn);
        let ghosts = turns.map(|turn| old[turn as usize & (old.len() - 1)]);
        for page in ghosts.filter(|&page| page != REMOVED) {
            let place = self.place(self.next_turn);
            self.places[place] = page;
            self.next_turn += 1;
        }
    }
}

impl<const WORDS: usize, const LISTS: usize> GhostLists<WORDS, LISTS> {
    pub(crate) fn new(pages: u32) -> Self {
        GhostLists {
            words_of_page: vec![[NONE; WORDS]; pages as usize],
            words_of_last_list: Vec::new(),
            rings: core::array::from_fn(|_| Ring::new()),
        }
    }

    /// The last list shares its word no more: a page may be in it whatever other lists it is in.
    pub(crate) fn with_last_list_apart(mut self) -> Self {
        // One word at least: without any, the list would share.
        self.words_of_last_list = vec![NONE; self.words_of_page.len().max(1)];
        self
    }

    /// Pages are numbered below `pages` from now on, more than before; the new ones are not ghosts.
    pub(crate) fn take_more(&mut self, pages: u32) {
        self.words_of_page.resize(pages as usize, [NONE; WORDS]);
        if !self.words_of_last_list.is_empty() {
            self.words_of_last_list.resize(pages as usize, NONE);
        }
    }

    #[inline]
    fn is_apart(&self, list: usize) -> bool {
        WORDS > 1 && !self.words_of_last_list.is_empty() && list == LISTS - 1
    }

    #[inline]
    fn word(&self, list: usize, page: PageId) -> u32 {
        match self.is_apart(list) {
            true => self.words_of_last_list[page.index()],
            false => self.words_of_page[page.index()][list.min(WORDS - 1)],
        }
    }

    #[inline]
    fn word_mut(&mut self, list: usize, page: PageId) -> &mut u32 {
        match self.is_apart(list) {
            true => &mut self.words_of_last_list[page.index()],
            false => &mut self.words_of_page[page.index()][list.min(WORDS - 1)],
        }
    }

    /// What is known of `page`: where it stands, for the processor to fetch it.
    #[inline]
    pub(crate) fn known_of(&self, page: PageId) -> &u32 {
        &self.words_of_page[page.index()][0]
    }

    #[inline]
    pub(crate) fn len(&self, list: usize) -> u32 {
        self.rings[list].len
    }

    /// The list that `page` is in, of those that share the last word.
    #[inline]
    pub(crate) fn list_of(&self, page: PageId) -> Option<usize> {
        self.list_in_word(WORDS - 1, page)
    }

    /// The list that `page` is in, of those of a word.
    #[inline]
    pub(crate) fn list_in_word(&self, word: usize, page: PageId) -> Option<usize> {
        let word = self.words_of_page[page.index()][word];
        let list = (word % (1 << LIST_BITS)) as usize;
        (list < LISTS && self.rings[list].reaches(list, word)).then_some(list)
    }

    #[inline]
    pub(crate) fn contains(&self, list: usize, page: PageId) -> bool {
        self.rings[list].reaches(list, self.word(list, page))
    }

    /// Remembers `page` as the newest ghost of `list`; one that is already there moves to the newest end.
    #[inline]
    pub(crate) fn push(&mut self, list: usize, page: PageId) {
        self.remove(list, page);
        self.push_new(list, page);
    }

    /// Remembers `page`, which is not in `list`, as its newest ghost. The page's old word is not read, so that nothing
    /// waits for it.
    #[inline]
    pub(crate) fn push_new(&mut self, list: usize, page: PageId) {
        debug_assert!(!self.contains(list, page), "the page is a ghost already");
        if self.rings[list].is_full() {
            self.make_place(list);
        }
        let ring = &mut self.rings[list];
        let place = ring.place(ring.next_turn);
        ring.places[place] = page;
        let word = word_of(list, ring.next_turn);
        ring.next_turn += 1;
        ring.len += 1;
        *self.word_mut(list, page) = word;
    }

    /// Closes the holes, in a larger ring if more than half of the places are taken.
    #[cold]
    fn make_place(&mut self, list: usize) {
        let ring = &mut self.rings[list];
        if ring.next_turn == TURNS {
            // Turns of dropped ghosts would be taken for new ones.
            let words = self.words_of_page.as_flattened_mut().iter_mut();
            let words = words.chain(&mut self.words_of_last_list);
            let words = words.filter(|word| **word % (1 << LIST_BITS) == list as u32);
            words.for_each(|word| *word = NONE);
            ring.grow(FIRST_TURN);
        } else if 2 * ring.len as usize > ring.places.len() {
            ring.grow(ring.oldest_turn);
        }
        let (mut next_turn, turns) = (ring.oldest_turn, ring.oldest_turn..ring.next_turn);
        for turn in turns {
            let ring = &mut self.rings[list];
            let page = ring.places[ring.place(turn)];
            if page != REMOVED {
                let place = ring.place(next_turn);
                ring.places[place] = page;
                *self.word_mut(list, page) = word_of(list, next_turn);
                next_turn += 1;
            }
        }
        self.rings[list].next_turn = next_turn;
    }

    /// Forgets `page`; says whether it was in `list`.
    #[inline]
    pub(crate) fn remove(&mut self, list: usize, page: PageId) -> bool {
        let word = self.word(list, page);
        let ring = &mut self.rings[list];
        let was_here = ring.reaches(list, word);
        if was_here {
            ring.empty(word >> LIST_BITS);
            *self.word_mut(list, page) = NONE;
        }
        was_here
    }

    /// The oldest ghost of `list`, if there is one.
    #[inline]
    pub(crate) fn oldest(&self, list: usize) -> Option<PageId> {
        let ring = &self.rings[list];
        (ring.len > 0).then(|| ring.places[ring.place(ring.oldest_turn)])
    }

    /// Forgets the oldest ghosts of `list` until there are no more than `most`.
    #[inline]
    pub(crate) fn shrink(&mut self, list: usize, most: u64) {
        while u64::from(self.len(list)) > most {
            self.drop_oldest(list);
        }
    }

    /// Forgets the oldest ghost of `list`, which has one.
    #[inline]
    pub(crate) fn drop_oldest(&mut self, list: usize) {
        let ring = &mut self.rings[list];
        ring.oldest_turn += 1;
        ring.len -= 1;
        ring.pass_holes();
    }

    /// The ghosts of `list` from the oldest to the newest.
    pub(crate) fn iter(&self, list: usize) -> impl Iterator<Item = PageId> + '_ {
        let ring = &self.rings[list];
        let turns = ring.oldest_turn..ring.next_turn;
        turns.map(|turn| ring.places[ring.place(turn)]).filter(|&page| page != REMOVED)
    }

    /// Asserts that rings, look-up table and lengths agree.
    pub(crate) fn check_invariants(&self) {
        for (list, ring) in self.rings.iter().enumerate() {
            assert_eq!(
                self.iter(list).count(),
                ring.len as usize,
                "a ghost list's length is wrong"
            );
            for page in self.iter(list) {
                assert!(self.contains(list, page), "a ghost has been dropped");
                let place = ring.place(self.word(list, page) >> LIST_BITS);
                assert_eq!(ring.places[place], page, "a ghost's place belongs to another page");
            }
            let (oldest, next) = (ring.oldest_turn, ring.next_turn);
            assert!(
                oldest == next || ring.places[ring.place(oldest)] != REMOVED,
                "the oldest is a hole"
            );
        }
    }
}

/// What a policy with [`GhostLists`] in its field `ghosts` says of them to the driver: they take more pages, and what they
/// know of a page can be fetched ahead.
macro_rules! has_ghosts {
    () => {
        const TAKES_MORE_PAGES: bool = true;
        const LOOKS_AHEAD: bool = true;

        fn take_more_pages(&mut self, pages: u32) {
            self.ghosts.take_more(pages);
        }

        #[inline(always)]
        fn look_ahead(&self, page: crate::PageId, fetch: impl Fn(&u32)) {
            fetch(self.ghosts.known_of(page));
        }
    };
}

pub(crate) use has_ghosts;

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps over two lists and over plain vectors, which must hold the same.
    fn follow<const WORDS: usize>(mut ghosts: GhostLists<WORDS, 2>, first_turn: u32) {
        for ring in &mut ghosts.rings {
            (ring.oldest_turn, ring.next_turn) = (first_turn, first_turn);
        }
        let mut expected_lists: [Vec<PageId>; 2] = Default::default();
        let mut number = 1_u64;
        for step in 0..5_000 {
            // Pages become known as they come, until all are.
            let pages = (1 + step / 20).min(PAGES);
            if pages as usize > ghosts.words_of_page.len() {
                ghosts.take_more(pages);
            }
            number = number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let page = PageId((number >> 33) as u32 % pages);
            let list = (number >> 20) as usize & 1;
            let may_push = WORDS == 2 || !expected_lists[1 - list].contains(&page);
            let expected = &mut expected_lists[list];
            let was_here = expected.contains(&page);
            assert_eq!(ghosts.contains(list, page), was_here);
            match number >> 60 {
                0..8 if may_push => {
                    ghosts.push(list, page);
                    expected.retain(|&other| other != page);
                    expected.push(page);
                }
                8..12 => {
                    assert_eq!(ghosts.remove(list, page), was_here);
                    expected.retain(|&other| other != page);
                }
                12.. => {
                    assert_eq!(ghosts.oldest(list), expected.first().copied());
                    let most = expected.len().saturating_sub(1);
                    ghosts.shrink(list, most as u64);
                    expected.drain(..expected.len() - most);
                }
                _ => {}
            }
            for (list, expected) in expected_lists.iter().enumerate() {
                assert_eq!(&ghosts.iter(list).collect::<Vec<_>>(), expected);
            }
            if WORDS == 1 {
                let list = expected_lists.iter().position(|list| list.contains(&page));
                assert_eq!(ghosts.list_of(page), list);
            }
            ghosts.check_invariants();
        }
    }

    const FIRST_PAGES: u32 = 3;
    const PAGES: u32 = 40;

    #[test]
    fn ghosts_are_those_of_plain_vectors() {
        follow(GhostLists::<2, 2>::new(FIRST_PAGES), FIRST_TURN);
        follow(GhostLists::<2, 2>::new(FIRST_PAGES).with_last_list_apart(), FIRST_TURN);
    }

    #[test]
    fn lists_that_share_a_word_keep_their_pages_apart() {
        follow(GhostLists::<1, 2>::new(FIRST_PAGES), FIRST_TURN);
    }

    #[test]
    fn turns_are_counted_anew_before_they_run_out() {
        follow(GhostLists::<2, 2>::new(FIRST_PAGES), TURNS - 100);
        follow(GhostLists::<2, 2>::new(FIRST_PAGES).with_last_list_apart(), TURNS - 100);
        follow(GhostLists::<1, 2>::new(FIRST_PAGES), TURNS - 100);
    }
}
