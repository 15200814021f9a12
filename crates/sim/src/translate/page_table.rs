//! How large the page tables are: 8 bytes for each leaf, and for each upper entry that leads to one.

use super::space::{NONE, UpperTables};

const ENTRY_BYTES: u64 = 8;

/// Counts the entries in use; an upper entry is in use while something below it is.
#[derive(Clone, Debug)]
pub(crate) struct PageTable {
    leaves: u64,
    upper_entries: u64,
    /// By upper entry: the entries right below it that are in use.
    below: Vec<u32>,
    most_entries: u64,
}

impl PageTable {
    pub(crate) fn new(tables: &UpperTables) -> Self {
        PageTable { leaves: 0, upper_entries: 0, below: vec![0; tables.len()], most_entries: 0 }
    }

    /// A leaf is made; `above` is the upper entry that leads to it, or [`NONE`].
    pub(crate) fn add_leaf(&mut self, tables: &UpperTables, above: u32) {
        self.leaves += 1;
        let mut entry = above;
        while entry != NONE {
            self.below[entry as usize] += 1;
            if self.below[entry as usize] > 1 {
                return;
            }
            self.upper_entries += 1;
            entry = tables.parent_of(entry);
        }
    }

    /// A leaf is gone.
    pub(crate) fn remove_leaf(&mut self, tables: &UpperTables, above: u32) {
        self.leaves -= 1;
        let mut entry = above;
        while entry != NONE {
            self.below[entry as usize] -= 1;
            if self.below[entry as usize] > 0 {
                return;
            }
            self.upper_entries -= 1;
            entry = tables.parent_of(entry);
        }
    }

    /// A reference has ended.
    pub(crate) fn note(&mut self) {
        self.most_entries = self.most_entries.max(self.leaves + self.upper_entries);
    }

    /// The most bytes after any reference.
    pub(crate) fn most_bytes(&self) -> u64 {
        ENTRY_BYTES * self.most_entries
    }
}
