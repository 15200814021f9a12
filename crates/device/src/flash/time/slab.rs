//! A vector whose places are used again.

use std::ops::{Index, IndexMut};

/// No entry of a [`Slab`].
pub(super) const NONE: u32 = u32::MAX;

/// Entries by number; a number is given again after its entry was removed.
#[derive(Debug)]
pub(super) struct Slab<T> {
    entries: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(super) const fn new() -> Self {
        Slab { entries: Vec::new(), free: Vec::new() }
    }

    #[inline]
    pub(super) fn insert(&mut self, entry: T) -> u32 {
        if let Some(id) = self.free.pop() {
            self.entries[id as usize] = entry;
            return id;
        }
        self.entries.push(entry);
        self.entries.len() as u32 - 1
    }

    /// Gives a number away whose entry is to be written; what stands there is old, or `new`.
    #[inline]
    pub(super) fn reserve(&mut self, new: impl FnOnce() -> T) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.entries.push(new());
            self.entries.len() as u32 - 1
        })
    }

    /// The number is given again from now on; the entry stays readable until then.
    #[inline]
    pub(super) fn remove(&mut self, id: u32) {
        self.free.push(id);
    }

    /// Entries that are in use.
    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, id: u32) -> &T {
        &self.entries[id as usize]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, id: u32) -> &mut T {
        &mut self.entries[id as usize]
    }
}
