//! Predicts pages by following an array or list of pointers.
//!
//! Lines that are sorted, a list of objects, an index: an array of pointers is read in its order, and what they point
//! to lies anywhere. Neighbours in memory or in the store then say nothing about what is wanted next, but the array
//! does. So the pager looks for the pointer that led to a miss. If its neighbours have led to the misses before and
//! after, the targets of the next ones are read with it. Hardware that prefetches indirect accesses does the same: X.
//! Yu et al., "IMP: Indirect Memory Prefetcher", MICRO 2015.

use std::ops::Range;

use clockhand_policy::PageId;

use crate::{PAGE_BYTES, View};

/// Words before or behind a pointer that are searched for the next one: 64 pointers in structures of 32 bytes. A
/// trusted trail searches 512, most of which may lead to pages in memory.
const REACH: u64 = 256;
const TRUSTED_REACH: u64 = 2048;

/// A pointer leads to an access if it points to it or to at most this number of bytes before it.
const OBJECT_BYTES: u64 = 256;

/// The most trails that are followed.
const MOST_TRAILS: usize = 4;

/// A trail is trusted after it has led to this number of accesses.
const TRUSTED: u32 = 2;

/// A trail is lost when it has led to none of this number of accesses; one that is not trusted yet, after fewer.
const PATIENCE: u32 = 256;
const PATIENCE_AT_FIRST: u32 = 64;

/// After this number of accesses elsewhere, a trail's words are read again, since they may have changed.
const KEPT_FOR: u32 = 8;

/// The fewest accesses to which no trail leads between two searches, and the most pages that one looks at: 1,160 take
/// 1.2 ms.
const LEAST_BETWEEN_SEARCHES: u32 = 64;
const MOST_SEARCHED: usize = 4096;

/// Pages that a search reads together.
const SEARCHED_TOGETHER: usize = 64;

const WORD_BYTES: u64 = size_of::<u64>() as u64;
const PAGE_WORDS: u64 = PAGE_BYTES / WORD_BYTES;

/// Pointers that lie side by side and have led to accesses one after the other.
#[derive(Debug)]
struct Trail {
    /// Of which word of memory the last of them is.
    at: u64,
    /// Where the next ones are. `None` as long as that is not known.
    direction: Option<Direction>,
    /// To how many accesses it has led, apart from the first.
    followed: u32,
    /// The number of accesses since that it did not lead to.
    missed: u32,
    /// The words that contain its next pointer, as last read, and the place of the first one.
    words: Vec<u64>,
    first: u64,
    /// True if a page of them has come into memory since.
    is_outdated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

impl Trail {
    fn new(at: u64) -> Self {
        Trail {
            at,
            direction: None,
            followed: 0,
            missed: 0,
            words: Vec::new(),
            first: at,
            is_outdated: true,
        }
    }

    /// The number of words beside its last pointer that contain the next one.
    fn reach(&self) -> u64 {
        if self.followed < TRUSTED { REACH } else { TRUSTED_REACH }
    }

    /// Reads the words that contain its next pointer.
    fn read(&mut self, view: &dyn View) {
        let (before, behind) = match self.direction {
            None => (self.reach(), self.reach()),
            Some(Direction::Up) => (0, self.reach()),
            Some(Direction::Down) => (self.reach(), 0),
        };
        self.is_outdated = false;
        self.first = self.at.saturating_sub(before);
        let end = (self.at + behind + 1).min(words_of(view));
        read(view, self.first..end, &mut self.words);
    }

    /// The last-read words ahead of its last pointer, and the place of the first one.
    fn ahead(&self) -> (u64, &[u64]) {
        let at = (self.at - self.first) as usize;
        match self.direction {
            None => (self.first, &self.words),
            Some(Direction::Up) => (self.at, self.words.get(at..).unwrap_or_default()),
            Some(Direction::Down) => (self.first, self.words.get(..=at).unwrap_or_default()),
        }
    }

    /// Returns whether more words must be read: too few lie ahead, or a page of theirs has come into memory since.
    fn is_short(&self) -> bool {
        self.is_outdated || (self.ahead().1.len() as u64) < self.reach() / 2
    }

    /// Which word, the nearest of those ahead, leads to the address.
    fn pointer_to(&self, address: u64) -> Option<u64> {
        let (first, words) = self.ahead();
        if !leads_any(words, address) {
            return None;
        }
        let words = (first..).zip(words);
        let pointers = words.filter(|&(_, &word)| leads_to(word, address)).map(|(at, _)| at);
        pointers.min_by_key(|at| at.abs_diff(self.at))
    }

    /// The pages to which its next pointers lead, as they were read last.
    fn pages_ahead(&self, view: &dyn View) -> Vec<PageId> {
        let bytes = words_of(view) * WORD_BYTES;
        let page = |word: &u64| {
            let offset = word.wrapping_sub(view.first_address());
            (offset < bytes).then_some(PageId((offset / PAGE_BYTES) as u32))
        };
        let pages = self.ahead().1.iter().filter_map(page);
        match self.direction {
            Some(Direction::Down) => pages.rev().collect(),
            _ => pages.collect(),
        }
    }

    /// A pointer of it has led to an access. Returns whether it is trusted because of that.
    fn leads_on(&mut self, at: u64) -> bool {
        self.missed = 0;
        if at == self.at {
            return false;
        }
        let direction = if at > self.at { Direction::Up } else { Direction::Down };
        self.direction = Some(direction);
        self.at = at;
        self.followed = self.followed.saturating_add(1);
        self.followed == TRUSTED
    }

    fn is_lost(&self) -> bool {
        let patience = if self.followed < TRUSTED { PATIENCE_AT_FIRST } else { PATIENCE };
        self.missed >= patience
    }
}

/// The trails of one memory.
#[derive(Debug, Default)]
pub(crate) struct Trails {
    trails: Vec<Trail>,
    /// Accesses to which no trail has led since the last search.
    unexplained: u32,
    /// The number of misses before the next search, and its minimum: a search takes time.
    patience: u32,
    least_patience: u32,
    /// With which page the next search begins.
    next: u32,
    /// What a search reads of the program's memory.
    words: Vec<u64>,
}

impl Trails {
    /// Called when the program waits for the byte at `offset` of its memory. Returns the pages that it is likely to
    /// need next, in that order, some more than once. `may_search` says whether a search may be worth it.
    pub(crate) fn follow(&mut self, offset: u64, view: &dyn View, may_search: bool) -> Vec<PageId> {
        let address = view.first_address() + offset;
        self.trails.retain_mut(|trail| {
            let mut pointer = trail.pointer_to(address);
            let is_old = trail.is_outdated || trail.missed % KEPT_FOR == KEPT_FOR - 1;
            if pointer.is_none() && is_old {
                trail.read(view);
                pointer = trail.pointer_to(address);
            }
            trail.missed += 1;
            let Some(at) = pointer else { return !trail.is_lost() };
            if trail.leads_on(at) {
                // There may be more of the kind.
                self.patience = self.least_patience;
            }
            if trail.is_short() {
                trail.read(view);
            }
            true
        });
        let leading = self.trails.iter().filter(|trail| trail.missed == 0);
        // Of copies of an array, the one that is followed.
        let leading = leading.max_by_key(|trail| trail.followed);
        if let Some(trail) = leading.filter(|trail| trail.followed >= TRUSTED) {
            return trail.pages_ahead(view);
        }
        self.unexplained = self.unexplained.saturating_add(1);
        if may_search && self.unexplained > self.patience.max(LEAST_BETWEEN_SEARCHES) {
            self.search(address, view, &view.pages_in_reach());
        }
        Vec::new()
    }

    /// A page has come into memory.
    pub(crate) fn arrived(&mut self, page: PageId) {
        let words = u64::from(page.0) * PAGE_WORDS..(u64::from(page.0) + 1) * PAGE_WORDS;
        for trail in &mut self.trails {
            let end = trail.first + trail.words.len() as u64;
            trail.is_outdated |= words.start < end && trail.first < words.end;
        }
    }

    /// Begins a trail at each pointer to the access that is found in these pages.
    fn search(&mut self, address: u64, view: &dyn View, pages: &[PageId]) {
        let least = (pages.len().min(MOST_SEARCHED) as u32 / 8).max(LEAST_BETWEEN_SEARCHES);
        self.unexplained = 0;
        self.least_patience = least;
        self.patience = (2 * self.patience).clamp(least, 64 * least);
        let first = pages.partition_point(|&page| page.0 < self.next);
        let (before, behind) = pages.split_at(first);
        let mut left = MOST_SEARCHED;
        for pages in [behind, before] {
            let pages = &pages[..pages.len().min(left)];
            left -= pages.len();
            let rows = pages.chunk_by(|page, next| page.0 + 1 == next.0);
            for row in rows.flat_map(|row| row.chunks(SEARCHED_TOGETHER)) {
                let first = u64::from(row[0].0) * PAGE_WORDS;
                let place = first..first + row.len() as u64 * PAGE_WORDS;
                read(view, place.clone(), &mut self.words);
                self.next = row[row.len() - 1].0 + 1;
                if !leads_any(&self.words, address) {
                    continue;
                }
                for (at, _) in place.zip(&self.words).filter(|&(_, &word)| leads_to(word, address))
                {
                    let is_beside = |trail: &Trail| trail.at.abs_diff(at) < REACH;
                    if self.trails.len() < MOST_TRAILS && !self.trails.iter().any(is_beside) {
                        self.trails.push(Trail::new(at));
                    }
                }
            }
        }
    }
}

/// How many words the memory of a program has.
fn words_of(view: &dyn View) -> u64 {
    u64::from(view.pages()) * PAGE_WORDS
}

fn read(view: &dyn View, place: Range<u64>, words: &mut Vec<u64>) {
    words.resize((place.end - place.start) as usize, 0);
    view.peek(place.start, words);
}

/// Returns whether a word points to an object that contains the address.
fn leads_to(word: u64, address: u64) -> bool {
    address.wrapping_sub(word) < OBJECT_BYTES
}

/// Returns whether one of the words does. Nearly always none does, and this needs no branches.
fn leads_any(words: &[u64], address: u64) -> bool {
    words.iter().fold(false, |found, &word| found | leads_to(word, address))
}
