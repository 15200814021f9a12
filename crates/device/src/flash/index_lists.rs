//! Lists of small numbers, each number in at most one of them.

/// Doubly linked lists through arrays: every step is a few stores. A number costs 8 bytes.
#[derive(Debug, Clone)]
pub(super) struct IndexLists {
    /// By number, and behind them by list: the number before, or the list's own place.
    before: Vec<u32>,
    after: Vec<u32>,
    numbers: u32,
}

impl IndexLists {
    /// `lists` empty lists of numbers below `numbers`.
    pub(super) fn new(numbers: u32, lists: u32) -> IndexLists {
        let links: Vec<u32> = (0..numbers + lists).collect();
        IndexLists { before: links.clone(), after: links, numbers }
    }

    /// Puts a number that is in no list at the end of one.
    pub(super) fn push_back(&mut self, list: u32, number: u32) {
        let end = self.numbers + list;
        let last = self.before[end as usize];
        self.after[last as usize] = number;
        self.before[number as usize] = last;
        self.after[number as usize] = end;
        self.before[end as usize] = number;
    }

    /// Takes a number out of its list.
    pub(super) fn remove(&mut self, number: u32) {
        let (before, after) = (self.before[number as usize], self.after[number as usize]);
        self.after[before as usize] = after;
        self.before[after as usize] = before;
        self.before[number as usize] = number;
        self.after[number as usize] = number;
    }

    /// The number at the front of a list.
    pub(super) fn front(&self, list: u32) -> Option<u32> {
        let first = self.after[(self.numbers + list) as usize];
        (first < self.numbers).then_some(first)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.before) + size_of_val(&*self.after)
    }
}
