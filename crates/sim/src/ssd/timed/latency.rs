//! A row for each request: when it was where, and what it waited for.

use std::collections::VecDeque;

use clockhand_device::flash::time::{CompletedRequest, RequestKind};

/// A request that is complete, with its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencyRow {
    /// What it wanted.
    pub kind: RequestKind,
    /// Its first page on the drive; 0 of a FLUSH.
    pub first_page: u32,
    /// How many pages.
    pub pages: u32,
    /// When it was where.
    pub times: CompletedRequest,
}

impl LatencyRow {
    /// The letter of what it wanted: `R`, `W`, `F` (a forced write), `T` (TRIM) or `S` (FLUSH).
    pub fn op(&self) -> &'static str {
        match self.kind {
            RequestKind::Read => "R",
            RequestKind::Write => "W",
            RequestKind::ForcedWrite => "F",
            RequestKind::Trim => "T",
            RequestKind::Flush => "S",
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    kind: RequestKind,
    first_page: u32,
    pages: u32,
    times: Option<CompletedRequest>,
}

/// The rows of a run in the order of its requests, if they are kept.
#[derive(Clone, Debug, Default)]
pub struct LatencyRows {
    is_kept: bool,
    rows: Vec<LatencyRow>,
    /// Requests from the first one that is not complete on.
    pending: VecDeque<Pending>,
}

impl LatencyRows {
    pub(super) fn new(is_kept: bool) -> Self {
        LatencyRows { is_kept, ..LatencyRows::default() }
    }

    /// The rows.
    pub fn rows(&self) -> &[LatencyRow] {
        &self.rows
    }

    /// A request comes next.
    pub(super) fn ask(&mut self, index: u64, kind: RequestKind, first_page: u32, pages: u32) {
        if self.is_kept {
            debug_assert_eq!(index, (self.rows.len() + self.pending.len()) as u64);
            self.pending.push_back(Pending { kind, first_page, pages, times: None });
        }
    }

    /// A request is complete. Gives its number of pages, if rows are kept.
    pub(super) fn complete(&mut self, request: &CompletedRequest) -> Option<u32> {
        if !self.is_kept {
            return None;
        }
        let place = request.index as usize - self.rows.len();
        self.pending[place].times = Some(*request);
        let pages = self.pending[place].pages;
        while let Some(&Pending { kind, first_page, pages, times: Some(times) }) =
            self.pending.front()
        {
            self.rows.push(LatencyRow { kind, first_page, pages, times });
            self.pending.pop_front();
        }
        Some(pages)
    }
}
