//! The runs of a view, a chunk at a time, whether they are in memory or in a file.

use crate::error::TraceError;
use crate::pages::page_view::{PageView, Record, Runs};
use crate::pages::run_lengths::{RunLengths, runs_among};

/// Consecutive runs of a view.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    /// The place of the first one among all.
    pub first: usize,
    /// The runs.
    pub records: &'a [Record],
    /// The number of references of each record; `None` if each is one.
    pub run_lengths: Option<RunLengths<'a>>,
    /// As many records of the view, but from a place that is so far behind, as was asked for; fewer at the end.
    pub ahead: &'a [Record],
    /// Its pages are numbered below this.
    pub pages: u32,
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
        self.next_of(self.records)
    }

    /// The same, of at most `records` runs.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn next_of(&mut self, records: usize) -> Result<Option<Chunk<'_>>, TraceError> {
        let first = self.next;
        let count = records.min(self.view.record_count() - first);
        if count == 0 {
            return Ok(None);
        }
        self.next += count;
        // The block of the first record, from its beginning on, tells how many runs came before.
        let (block, runs_before_block) = self.view.run_places.block_of(first);
        let (all, of_runs, has_runs) = match &self.view.runs {
            Runs::InMemory { records, of_runs } => {
                let runs = runs_before_block as usize + runs_among(&records[block..first]) as usize;
                let end = records.len().min(first + count + self.ahead);
                (&records[block..end], &of_runs[runs..], !of_runs.is_empty())
            }
            Runs::OnScratch { records, of_runs } => {
                let (bytes, read) = (&mut self.bytes, &mut self.read);
                let wanted = first - block + count + self.ahead;
                records.get(block as u64, wanted, Record::of_bits, bytes, read)?;
                let (before, chunk) = read.split_at(first - block);
                let runs = runs_before_block + u64::from(runs_among(before));
                let most = runs_among(&chunk[..count]) as usize;
                of_runs.get(runs, most, |length| length, bytes, &mut self.lengths)?;
                (&**read, &*self.lengths, of_runs.count() > 0)
            }
        };
        let chunk = &all[first - block..];
        let records = &chunk[..count];
        let run_lengths = has_runs.then(|| RunLengths::new(records, of_runs));
        Ok(Some(Chunk {
            first,
            records,
            run_lengths,
            ahead: chunk.get(self.ahead..).unwrap_or_default(),
            pages: self.view.footprint_pages(),
        }))
    }
}
