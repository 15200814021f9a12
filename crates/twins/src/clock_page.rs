//! A page on a clock with one reference bit.

use std::collections::VecDeque;

use crate::{Op, visibility::Visibility};

/// A page of CLOCK, NRU, CAR or CFCLOCK: one reference bit, set by reads and writes alike.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockPage {
    pub(crate) page: u64,
    pub(crate) reference: bool,
    mapped: bool,
    pub(crate) dirty: bool,
}

impl ClockPage {
    /// A page just loaded by a fault: its bit is `insert_ref`, then the access is retried if memory is mapped.
    pub(crate) fn load(page: u64, op: Op, insert_ref: bool, visibility: Visibility) -> ClockPage {
        let mut loaded =
            ClockPage { page, reference: insert_ref, mapped: false, dirty: op == Op::Write };
        if visibility.retries_fault() {
            loaded.access(op, visibility);
        }
        loaded
    }

    /// A page that comes with another one and has not been referenced.
    pub(crate) fn ahead(page: u64) -> ClockPage {
        ClockPage { page, reference: false, mapped: false, dirty: false }
    }

    /// An access to the resident page.
    pub(crate) fn access(&mut self, op: Op, visibility: Visibility) {
        if visibility.sees(self.mapped, op) {
            self.reference = true;
            self.mapped = true;
        }
        self.dirty |= op == Op::Write;
    }

    /// The hand clears the bit; clearing a set bit unmaps the page.
    pub(crate) fn clear_reference(&mut self) {
        if self.reference {
            self.reference = false;
            self.mapped = false;
        }
    }
}

/// Takes `page` out of the clock.
pub(crate) fn take(clock: &mut VecDeque<ClockPage>, page: u64) -> Option<ClockPage> {
    let position = clock.iter().position(|entry| entry.page == page)?;
    clock.remove(position)
}

/// The page numbers of `pages`, ascending.
pub(crate) fn ascending<'a>(pages: impl IntoIterator<Item = &'a ClockPage>) -> Vec<u64> {
    let mut pages: Vec<u64> = pages.into_iter().map(|entry| entry.page).collect();
    pages.sort_unstable();
    pages
}
