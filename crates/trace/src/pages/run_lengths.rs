//! The references of a view's records: a number for each run, and none for single references, which most records are.

use std::iter;

use crate::pages::page_view::Record;

/// The number of references of each of some consecutive records.
#[derive(Clone, Copy, Debug)]
pub struct RunLengths<'a> {
    records: &'a [Record],
    of_runs: &'a [u32],
}

impl<'a> RunLengths<'a> {
    /// Of these records, whose runs have these lengths.
    pub(crate) fn new(records: &'a [Record], of_runs: &'a [u32]) -> Self {
        RunLengths { records, of_runs }
    }

    /// In the order of the records; 1 for one that is not a run.
    pub fn iter(self) -> impl Iterator<Item = u32> + 'a {
        let (mut records, mut of_runs) = (self.records.iter(), self.of_runs.iter());
        iter::from_fn(move || {
            let record = records.next()?;
            Some(if record.is_run() { *of_runs.next().expect("each run has a length") } else { 1 })
        })
    }
}

/// Records between two places whose number of earlier runs is stored.
pub(crate) const BLOCK_RECORDS: usize = 4096;

/// The place of the lengths of the runs that follow a record.
#[derive(Debug, Default)]
pub(crate) struct RunPlaces {
    /// For each block, the runs in all blocks before it.
    before_blocks: Vec<u64>,
}

impl RunPlaces {
    /// From the runs before each block.
    pub(crate) fn new(before_blocks: Vec<u64>) -> Self {
        RunPlaces { before_blocks }
    }

    /// The first record of the block of this one, and the runs before it.
    pub(crate) fn block_of(&self, record: usize) -> (usize, u64) {
        let block = record / BLOCK_RECORDS;
        (block * BLOCK_RECORDS, self.before_blocks[block])
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.before_blocks.len() * size_of::<u64>()
    }
}

/// The number of these records that are runs.
pub(crate) fn runs_among(records: &[Record]) -> u32 {
    records.iter().map(|record| u32::from(record.is_run())).sum()
}
