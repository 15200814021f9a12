//! A trace as a simulator needs it: dense page ids in the order of references, with runs of one page
//! folded.
//!
//! Most policies cannot distinguish a second reference to the page that was just referenced from no
//! reference at all, except that it may be the first write. So a run of consecutive references to
//! one page becomes one [`Record`] that keeps the first operation and whether the rest reads and
//! writes; no policy's result changes. Policies that count references find the length of each run
//! elsewhere, and policies with a period have runs split at its borders ([`Folding::RunsWithin`]).

mod builder;
mod drops;
mod record;
mod requests;

use std::num::NonZeroU64;
use std::path::Path;

pub use builder::PageViewBuilder;
pub use drops::Drop;
pub(crate) use drops::inner_pages;
use record::FLAG_BITS;
pub use record::Record;
pub use requests::SharedRequests;

use crate::error::TraceError;
use crate::pages::footprint::PageKey;
use crate::pages::run_lengths::{RunLengths, RunPlaces};
use crate::pages::scratch::ScratchColumn;
use crate::pages::view_chunks::Chunks;

/// Which consecutive references to one page become one record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Folding {
    /// All of them.
    Runs,
    /// Those between two multiples of this many references of the trace; a run that crosses one is
    /// split there.
    RunsWithin(NonZeroU64),
    /// None: each reference is a record. It gives the results of `Runs`, which tests rely on.
    None,
}

/// The numbering of a view's pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Numbering {
    /// In the order of (stream, page number).
    #[default]
    ByAddress,
    /// In the order of their first references. Entries of popular pages are then close together, in fewer lines of the
    /// processor's cache, and no second pass renumbers the records.
    ByFirstTouch,
}

/// The references of a trace at one page size.
#[derive(Debug)]
pub struct PageView {
    pub(crate) runs: Runs,
    pub(crate) run_places: RunPlaces,
    references: u64,
    write_references: u64,
    dirty_footprint_pages: u32,
    page_bytes: u64,
    page_keys: Vec<PageKey>,
    places_by_address: Option<Vec<u32>>,
    folding: Folding,
    shared_requests: Option<SharedRequests>,
    drops: Vec<Drop>,
}

/// The runs of a view: their records, and the lengths of those that are longer than 1.
#[derive(Debug)]
pub(crate) enum Runs {
    InMemory { records: Vec<Record>, of_runs: Vec<u32> },
    OnScratch { records: ScratchColumn, of_runs: ScratchColumn },
}

impl PageView {
    /// The most distinct pages of a view: page ids have the bits that a record's flags leave.
    pub const LIMIT_PAGES: u32 = 1 << (u32::BITS - FLAG_BITS);

    /// The runs, in the order of the trace.
    ///
    /// # Panics
    /// If the view was built [on scratch](PageViewBuilder::on_scratch): there are [chunks](Self::chunks) then.
    pub fn records(&self) -> &[Record] {
        let Runs::InMemory { records, .. } = &self.runs else {
            panic!("the records of this view are in a file");
        };
        records
    }

    /// The number of references of each record; `None` when each is one reference.
    ///
    /// # Panics
    /// As [`records`](Self::records).
    pub fn run_lengths(&self) -> Option<RunLengths<'_>> {
        let Runs::InMemory { records, of_runs } = &self.runs else {
            panic!("the run lengths of this view are in a file");
        };
        (!of_runs.is_empty()).then(|| RunLengths::new(records, of_runs))
    }

    /// The runs in the order of the trace, `records` at a time, wherever they are; with each chunk come the records that
    /// follow `ahead` places behind its own.
    pub fn chunks(&self, records: usize, ahead: usize) -> Chunks<'_> {
        Chunks::new(self, records, ahead)
    }

    /// As [`chunks`](Self::chunks), from a run on.
    pub fn chunks_from(&self, first: usize, records: usize) -> Chunks<'_> {
        self.chunks(records, 0).from(first)
    }

    /// The number of runs.
    pub fn record_count(&self) -> usize {
        match &self.runs {
            Runs::InMemory { records, .. } => records.len(),
            Runs::OnScratch { records, .. } => records.count() as usize,
        }
    }

    /// The memory that the view takes, without what is in a file.
    pub fn memory_bytes(&self) -> u64 {
        let numbers = match &self.runs {
            Runs::InMemory { records, of_runs } => records.len() + of_runs.len(),
            Runs::OnScratch { .. } => 0,
        };
        let numbers = numbers + self.places_by_address.as_ref().map_or(0, Vec::len);
        let keys = self.page_keys.len() * size_of::<PageKey>();
        let requests = self.shared_requests.as_ref().map_or(0, SharedRequests::memory_bytes);
        let drops = self.drops.len() * size_of::<Drop>();
        requests
            + (drops + numbers * size_of::<u32>() + self.run_places.memory_bytes() + keys) as u64
    }

    /// The folder of the file with the records, if they are in one.
    pub fn scratch_folder(&self) -> Option<&Path> {
        match &self.runs {
            Runs::InMemory { .. } => None,
            Runs::OnScratch { records, .. } => Some(records.folder()),
        }
    }

    /// References in all.
    pub fn references(&self) -> u64 {
        self.references
    }

    /// References that read.
    pub fn read_references(&self) -> u64 {
        self.references - self.write_references
    }

    /// References that write.
    pub fn write_references(&self) -> u64 {
        self.write_references
    }

    /// Different pages.
    pub fn footprint_pages(&self) -> u32 {
        self.page_keys.len() as u32
    }

    /// Different pages that are written at least once.
    pub fn dirty_footprint_pages(&self) -> u32 {
        self.dirty_footprint_pages
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// Stream and page number (address / page size) of each page; the index is the dense id, unless pages are numbered
    /// [by first touch](Self::places_by_address), the order ascends.
    pub fn page_keys(&self) -> &[(u32, u64)] {
        &self.page_keys
    }

    /// Of pages numbered [by first touch](Numbering::ByFirstTouch), the place of each among the [keys](Self::page_keys),
    /// which is its number by address. `None` if that is how they are numbered.
    pub fn places_by_address(&self) -> Option<&[u32]> {
        self.places_by_address.as_deref()
    }

    /// The requests of several pages, if the view was built [with them](PageViewBuilder::with_requests) and there are any.
    pub fn shared_requests(&self) -> Option<&SharedRequests> {
        self.shared_requests.as_ref().filter(|requests| requests.most_pages() > 1)
    }

    /// The pages whose content ends between two records, in order: none unless the builder
    /// [was told](PageViewBuilder::end_content).
    pub fn drops(&self) -> &[Drop] {
        &self.drops
    }

    /// The folding of runs.
    pub fn folding(&self) -> Folding {
        self.folding
    }
}

/// How far to shift an address for its page number.
pub(crate) fn page_shift(page_bytes: u64) -> Result<u32, TraceError> {
    if page_bytes.is_power_of_two() {
        Ok(page_bytes.trailing_zeros())
    } else {
        Err(TraceError::PageSize { page_bytes })
    }
}
