//! A page of CRAW and CRAW-A, with its two bits.

use crate::{Op, visibility::Visibility};

/// A page in memory. It is linked in R, in W1 or W2, or in R and one of W1 and W2.
#[derive(Clone, Copy)]
pub(super) struct Page {
    pub(super) page: u64,
    /// Read bit; in CRAW-A the reference bit.
    pub(super) read_bit: bool,
    /// Write bit, which is not the dirty flag.
    pub(super) write_bit: bool,
    pub(super) mapped: bool,
    pub(super) dirty: bool,
}

impl Page {
    /// A page just loaded by a fault of kind `op`. A-23: both bits are 0 after the fault.
    pub(super) fn load(page: u64, op: Op) -> Page {
        Page { page, read_bit: false, write_bit: false, mapped: false, dirty: op == Op::Write }
    }

    /// An access sets its bit, if it is seen; in CRAW-A a write sets the reference bit too.
    pub(super) fn access(&mut self, op: Op, visibility: Visibility, write_sets_read_bit: bool) {
        if visibility.sees(self.mapped, op) {
            self.read_bit |=
                op == Op::Read || write_sets_read_bit || visibility.shows_a_read(self.mapped);
            self.write_bit |= op == Op::Write;
            self.mapped = true;
        }
        self.dirty |= op == Op::Write;
    }

    /// Clearing a set bit unmaps the page; the other bit stays.
    pub(super) fn clear_read_bit(&mut self) {
        if self.read_bit {
            self.read_bit = false;
            self.mapped = false;
        }
    }

    pub(super) fn clear_write_bit(&mut self) {
        if self.write_bit {
            self.write_bit = false;
            self.mapped = false;
        }
    }
}
