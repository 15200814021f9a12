//! The future, for policies that need it: the next record of the same page.

use clockhand_trace::Record;

/// No other record of this page follows.
pub(crate) const NEVER: u32 = u32::MAX;

/// For each record, the position of the next one of the same page, or [`NEVER`].
pub(crate) fn next_use(records: &[Record], pages: u32) -> Vec<u32> {
    let mut seen = vec![NEVER; pages as usize];
    let mut next = vec![NEVER; records.len()];
    for (position, record) in records.iter().enumerate().rev() {
        let page = record.page() as usize;
        next[position] = std::mem::replace(&mut seen[page], position as u32);
    }
    next
}
