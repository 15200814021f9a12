//! FLUSH: what must be persistent before it is complete.

use std::collections::VecDeque;

/// What was issued between two FLUSHes.
#[derive(Debug, Clone, Copy, Default)]
struct Period {
    /// Programs and migrations that are not complete.
    left: u32,
    /// The FLUSH that ended it.
    flush: Option<u32>,
}

/// The periods that are not over, from the oldest on.
#[derive(Debug)]
pub(super) struct Flushes {
    periods: VecDeque<Period>,
    /// The number of the oldest.
    first: u32,
    /// FLUSHes that are complete.
    pub(super) complete: Vec<u32>,
}

impl Flushes {
    pub(super) fn new() -> Self {
        Flushes { periods: VecDeque::from([Period::default()]), first: 0, complete: Vec::new() }
    }

    /// Something begins that the next FLUSH waits for. Says in which period.
    #[inline]
    pub(super) fn begin(&mut self) -> u32 {
        let last = self.periods.len() - 1;
        self.periods[last].left += 1;
        self.first.wrapping_add(last as u32)
    }

    /// Something of a period is over.
    #[inline]
    pub(super) fn end(&mut self, period: u32) {
        self.periods[period.wrapping_sub(self.first) as usize].left -= 1;
        self.complete_some();
    }

    /// A FLUSH waits for all that was begun so far.
    pub(super) fn flush(&mut self, request: u32) {
        let last = self.periods.len() - 1;
        self.periods[last].flush = Some(request);
        self.periods.push_back(Period::default());
        self.complete_some();
    }

    fn complete_some(&mut self) {
        while let Some(&Period { left: 0, flush: Some(request) }) = self.periods.front() {
            self.complete.push(request);
            self.periods.pop_front();
            self.first = self.first.wrapping_add(1);
        }
    }
}
