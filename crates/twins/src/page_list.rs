//! Pages in memory that use no bit, in the order of a list.

use std::collections::VecDeque;

use crate::{Op, State};

/// A page in memory with its dirty flag.
pub(crate) type Held = (u64, bool);

/// `held` after one more access.
pub(crate) fn accessed(held: Held, op: Op) -> Held {
    (held.0, held.1 || op == Op::Write)
}

/// A FIFO queue or LRU list, from the oldest or LRU end.
#[derive(Default)]
pub(crate) struct PageList(VecDeque<Held>);

impl PageList {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The page at the oldest or LRU end.
    pub(crate) fn front(&self) -> Option<u64> {
        self.0.front().map(|held| held.0)
    }

    pub(crate) fn push_back(&mut self, held: Held) {
        self.0.push_back(held);
    }

    pub(crate) fn pop_front(&mut self) -> Option<Held> {
        self.0.pop_front()
    }

    /// Takes `page` out of the list, if it is there.
    pub(crate) fn take(&mut self, page: u64) -> Option<Held> {
        let position = self.0.iter().position(|held| held.0 == page)?;
        self.0.remove(position)
    }

    /// Applies an access to `page` where it is; says whether it is there.
    pub(crate) fn access(&mut self, page: u64, op: Op) -> bool {
        let held = self.0.iter_mut().find(|held| held.0 == page);
        held.map(|held| *held = accessed(*held, op)).is_some()
    }

    /// Sets the dirty flag of `page` where it is; says whether it is there.
    pub(crate) fn set_dirty(&mut self, page: u64, dirty: bool) -> bool {
        let held = self.0.iter_mut().find(|held| held.0 == page);
        held.map(|held| held.1 = dirty).is_some()
    }

    pub(crate) fn pages(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|held| held.0)
    }

    pub(crate) fn state(&self) -> State {
        State::pages(self.0.iter().map(|(page, _)| page))
    }

    pub(crate) fn state_with_dirty(&self) -> State {
        State::List(self.0.iter().map(|(page, dirty)| State::entry(*page, &[*dirty])).collect())
    }
}

/// The page numbers of `lists`, ascending.
pub(crate) fn ascending<'a>(lists: impl IntoIterator<Item = &'a PageList>) -> Vec<u64> {
    let mut pages: Vec<u64> = lists.into_iter().flat_map(PageList::pages).collect();
    pages.sort_unstable();
    pages
}
