//! The runs of a view, a chunk at a time, whether they are in memory or in a file.

use crate::error::TraceError;
use crate::page_view::{PageView, Record, Runs};

/// Consecutive runs of a view.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    /// The place of the first one among all.
    pub first: usize,
    /// The runs.
    pub records: &'a [Record],
    /// How many references each stands for; `None` if each is one.
    pub run_lengths: Option<&'a [u32]>,
    /// As many records of the view, but from a place that is so far behind, as was asked for; fewer at the end.
    pub ahead: &'a [Record],
}

/// Goes through the runs of a view.
#[derive(Debug)]
pub struct Chunks<'a> {
    view: &'a PageView,
    records: usize,
    ahead: usize,
    next: usize,
    bytes: Vec<u8>,
    /// Of a view in a file, the records of the chunk and those that come `ahead`, and the lengths.
    read: Vec<Record>,
    lengths: Vec<u32>,
}

impl<'a> Chunks<'a> {
    pub(crate) fn new(view: &'a PageView, records: usize, ahead: usize) -> Self {
        let (bytes, read, lengths) = (Vec::new(), Vec::new(), Vec::new());
        Chunks { view, records, ahead, next: 0, bytes, read, lengths }
    }

    pub(crate) fn from(self, first: usize) -> Self {
        Chunks { next: first, ..self }
    }

    /// The next chunk, until there is none.
    ///
    /// # Errors
    /// The file of the view cannot be read.
    #[expect(clippy::should_implement_trait, reason = "a chunk borrows from here")]
    pub fn next(&mut self) -> Result<Option<Chunk<'_>>, TraceError> {
        let first = self.next;
        let count = self.records.min(self.view.record_count() - first);
        if count == 0 {
            return Ok(None);
        }
        self.next += count;
        let (records, run_lengths) = match &self.view.runs {
            Runs::InMemory { records, run_lengths } => {
                let end = records.len().min(first + count + self.ahead);
                let lengths = run_lengths.as_ref().map(|all| &all[first..first + count]);
                (&records[first..end], lengths)
            }
            Runs::OnScratch { records, run_lengths } => {
                let (bytes, read) = (&mut self.bytes, &mut self.read);
                records.get(first as u64, count + self.ahead, Record::of_bits, bytes, read)?;
                if let Some(all) = run_lengths {
                    all.get(first as u64, count, |length| length, bytes, &mut self.lengths)?;
                }
                (&*self.read, run_lengths.as_ref().map(|_| &*self.lengths))
            }
        };
        let ahead = records.get(self.ahead..).unwrap_or_default();
        Ok(Some(Chunk { first, records: &records[..count], run_lengths, ahead }))
    }
}
