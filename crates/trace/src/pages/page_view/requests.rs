//! Which records of a view belong to one request of the trace: a device is asked once for all pages that it touches.

use super::Record;
use crate::request::Op;

const BITS_PER_WORD: usize = u64::BITS as usize;

/// Requests of several pages among the records of a view: a bit for each record, and how many pages they have.
///
/// The records of such a request stand one behind the other, a page apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedRequests {
    /// Tells whether a record's first reference belongs to the request of the record before, which is one reference.
    goes_on: Vec<u64>,
    reads_joined: u64,
    writes_joined: u64,
    most_pages: u64,
}

impl SharedRequests {
    /// Returns whether the record belongs to the request of the record before it. If that one is a run of several
    /// references, the answer is no: its last one references a page that was just referenced.
    #[inline]
    pub fn goes_on(&self, record: usize) -> bool {
        let word = self.goes_on.get(record / BITS_PER_WORD).copied().unwrap_or(0);
        word >> (record % BITS_PER_WORD) & 1 == 1
    }

    /// Returns whether a record and an earlier one belong to one request.
    #[inline]
    pub fn are_together(&self, earlier: usize, record: usize) -> bool {
        (earlier + 1..=record).rev().all(|between| self.goes_on(between))
    }

    /// References by requests that read, without the first of each.
    pub fn reads_joined(&self) -> u64 {
        self.reads_joined
    }

    /// References by requests that write, without the first of each.
    pub fn writes_joined(&self) -> u64 {
        self.writes_joined
    }

    /// The most pages of a request.
    pub fn most_pages(&self) -> u64 {
        self.most_pages
    }

    /// The last record is a page of a request, the `page`-th from 0.
    pub(super) fn note(&mut self, records: &[Record], op: Op, page: u64) {
        self.most_pages = self.most_pages.max(page + 1);
        match op {
            Op::Read => self.reads_joined += 1,
            Op::Write => self.writes_joined += 1,
        }
        let [.., before, _] = records else { return };
        if before.is_run() {
            return;
        }
        let record = records.len() - 1;
        if self.goes_on.len() <= record / BITS_PER_WORD {
            self.goes_on.resize(record / BITS_PER_WORD + 1, 0);
        }
        self.goes_on[record / BITS_PER_WORD] |= 1 << (record % BITS_PER_WORD);
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        (self.goes_on.len() * size_of::<u64>()) as u64
    }
}
