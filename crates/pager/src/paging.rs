//! A paged memory, for callers that need not know its policy.

use std::io;
use std::time::Duration;

use clockhand_policy::page::Inspector;
use clockhand_policy::{Op, PageId};

use crate::program_memory::ProgramMemory;
use crate::statistics::{Counts, Times};
use crate::store::{Slot, Store};
use crate::translations::Translations;

/// What stops a pager.
#[derive(Debug, thiserror::Error)]
pub enum PagerError {
    /// The store failed; no page is lost, and what failed can be tried again.
    #[error("page {} cannot be {operation} the store: {source}", page.0)]
    Store {
        /// `read from` or `written to`.
        operation: &'static str,
        /// The page.
        page: PageId,
        /// What the store said.
        source: io::Error,
    },
    /// The program has ended, or the kernel refuses.
    #[error("the program's memory cannot be handled any more: {0}")]
    Memory(#[from] io::Error),
}

/// What happened, in the order in which it happened: for logs, and for comparisons with the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An access was seen.
    Reference {
        /// The page.
        page: PageId,
        /// What the access did.
        op: Op,
        /// Whether the page was not in memory.
        is_miss: bool,
    },
    /// A page left memory.
    Eviction {
        /// The page.
        page: PageId,
        /// Whether it left dirty.
        is_dirty: bool,
    },
    /// A page was written back and stayed.
    WriteBack {
        /// The page.
        page: PageId,
    },
}

/// Receives every event.
pub trait EventSink: Send {
    /// Receives one event.
    fn event(&mut self, event: Event);
}

impl<F: FnMut(Event) + Send> EventSink for F {
    fn event(&mut self, event: Event) {
        self(event);
    }
}

/// How a paged memory starts: empty, or as the copy that a fork made.
pub type InitialPages = Vec<(PageId, Slot)>;

/// A paged memory, for callers that need not know its policy.
pub trait Paging {
    /// Serves an access that waits, which can then go on. Returns whether the page was in no frame of the policy.
    ///
    /// # Errors
    ///
    /// [`PagerError::Store`]: no page is lost; ask again, and the same victim is written.
    fn serve(&mut self, page: PageId, op: Op) -> Result<bool, PagerError>;

    /// Forgets the content of pages, which read as zeros from now on.
    ///
    /// # Errors
    ///
    /// If the memory cannot be given back. A failing store causes no error: it is not asked to write these pages.
    fn discard(&mut self, first: PageId, pages: u32) -> Result<(), PagerError>;

    /// Puts a copy of all pages into slots, and forbids all writes until the next access is served.
    ///
    /// # Errors
    ///
    /// If a page cannot be written; the slots have then been released.
    fn copy_for_fork(&mut self) -> Result<InitialPages, PagerError>;

    /// Collects writes that have finished. Called when there is nothing else to do.
    ///
    /// # Errors
    ///
    /// As [`Paging::serve`]; a failed write is tried again when its page's frame is needed.
    fn collect_finished_writes(&mut self) -> Result<(), PagerError>;

    /// The program has ended, so pages still queued need not be written. Waits for the writes under way, so that
    /// the counts are final.
    ///
    /// # Errors
    ///
    /// If the memory is no longer accessible; a failing store causes no error.
    fn end(&mut self) -> Result<(), PagerError>;

    /// What was counted.
    fn counts(&self) -> Counts;

    /// Where time went.
    fn times(&self) -> &Times;

    /// A fault has been served, `time` after the pager learned of it.
    fn fault_served(&mut self, time: Duration);

    /// The values by which the policy adapts.
    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64));

    /// The policy's lists.
    fn inspect(&self, inspector: &mut dyn Inspector);

    /// Bytes that the store occupies.
    fn occupied_bytes(&self) -> u64;

    /// Recounts everything, for tests.
    ///
    /// # Panics
    ///
    /// If anything disagrees.
    fn check_invariants(&self);
}

/// What a paged memory consists of, beside its policy.
pub struct Parts {
    /// The program's memory.
    pub program: Box<dyn ProgramMemory>,
    /// How to look which pages of it have translations: then bits are sensed, and else mapped.
    pub translations: Option<Box<dyn Translations>>,
    /// Where pages are kept that are not in it.
    pub store: Box<dyn Store>,
    /// Receives the events.
    pub events: Box<dyn EventSink>,
    /// Pages that are in the store at the beginning.
    pub initial: InitialPages,
}
