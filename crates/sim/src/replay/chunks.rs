//! The records of a cell, a chunk at a time, from a view or while the trace is read.

use clockhand_trace::{Chunks, Folding, PageView, Record, RunLengths, RunStream};

use crate::chunk::CHUNK_RECORDS;
use crate::error::SimError;
use crate::next_use::NextUse;

/// Where the runs of a trace are.
pub(crate) enum Runs<'a> {
    View(&'a PageView),
    /// They come while the trace is read.
    Stream(RunStream),
}

impl<'a> From<&'a PageView> for Runs<'a> {
    fn from(view: &'a PageView) -> Self {
        Runs::View(view)
    }
}

impl Runs<'_> {
    /// Pages are numbered below this, as far as is known.
    pub(crate) fn pages(&self) -> u32 {
        match self {
            Runs::View(view) => view.footprint_pages(),
            Runs::Stream(stream) => stream.pages(),
        }
    }

    /// True if every run is a single reference.
    pub(crate) fn are_single_references(&self) -> bool {
        matches!(self, Runs::View(view) if view.folding() == Folding::None)
    }
}

/// Consecutive records of a cell, and what is known of them.
pub(super) struct CellChunk<'a> {
    pub(super) records: &'a [Record],
    pub(super) ahead: &'a [Record],
    pub(super) run_lengths: Option<RunLengths<'a>>,
    pub(super) next_use: Option<&'a [u32]>,
    /// Their pages are numbered below this.
    pub(super) pages: u32,
}

enum Source<'a> {
    View(Chunks<'a>),
    Stream(RunStream),
}

/// Goes through the records of a cell, wherever they are.
pub(super) struct CellChunks<'a> {
    source: Source<'a>,
    ahead: usize,
    future: Option<&'a NextUse>,
    bytes: Vec<u8>,
    next_use: Vec<u32>,
    /// The number by address of each page, if the policy wants them and the view has others.
    places: Option<&'a [u32]>,
    by_address: Vec<Record>,
}

impl<'a> CellChunks<'a> {
    /// With each chunk come the records that follow `ahead` places behind its own.
    pub(super) fn new(
        runs: Runs<'a>,
        future: Option<&'a NextUse>,
        ahead: usize,
        page_numbers_matter: bool,
    ) -> Self {
        let (source, places) = match runs {
            Runs::View(view) => {
                let places = view.places_by_address().filter(|_| page_numbers_matter);
                (Source::View(view.chunks(CHUNK_RECORDS, ahead)), places)
            }
            Runs::Stream(stream) => {
                assert!(!page_numbers_matter && future.is_none(), "neither is known yet");
                (Source::Stream(stream), None)
            }
        };
        let (bytes, next_use, by_address) = (Vec::new(), Vec::new(), Vec::new());
        CellChunks { source, ahead, future, bytes, next_use, places, by_address }
    }

    /// The next records, at most `most`.
    pub(super) fn next(&mut self, most: usize) -> Result<Option<CellChunk<'_>>, SimError> {
        let chunk = match &mut self.source {
            Source::View(chunks) => chunks.next_of(most)?,
            Source::Stream(stream) => stream.next(most, self.ahead),
        };
        let Some(chunk) = chunk else { return Ok(None) };
        if let Some(future) = self.future {
            future.get(chunk.first, chunk.records.len(), &mut self.bytes, &mut self.next_use)?;
        }
        let (mut records, mut ahead) = (chunk.records, chunk.ahead);
        if let Some(places) = self.places {
            let by_address = |record: &Record| record.of_page(places[record.page() as usize]);
            self.by_address.clear();
            self.by_address.extend(records.iter().map(by_address));
            (records, ahead) = (&self.by_address, &[]);
        }
        let next_use = self.future.map(|_| &*self.next_use);
        let (run_lengths, pages) = (chunk.run_lengths, chunk.pages);
        Ok(Some(CellChunk { records, ahead, run_lengths, next_use, pages }))
    }
}
