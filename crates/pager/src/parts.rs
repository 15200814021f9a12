//! The parts of a paged memory beside its policy, and its events.

use std::io;

use clockhand_policy::{Op, PageId};

use crate::program_memory::ProgramMemory;
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

/// What happened, in the order it happened: for logs, and for comparisons with the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An access was seen.
    Reference {
        /// The page.
        page: PageId,
        /// What the access did.
        op: Op,
        /// True if the page was not in memory.
        is_miss: bool,
    },
    /// A page left memory.
    Eviction {
        /// The page.
        page: PageId,
        /// True if it left dirty.
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

/// What a paged memory consists of, beside its policy.
pub struct Parts {
    /// The program's memory.
    pub program: Box<dyn ProgramMemory>,
    /// The way to look which of its pages have translations; without it, bits are mapped instead of sensed.
    pub translations: Option<Box<dyn Translations>>,
    /// The store of pages that are not in it.
    pub store: Box<dyn Store>,
    /// Receives the events.
    pub events: Box<dyn EventSink>,
    /// Pages that are in the store at the beginning.
    pub initial: InitialPages,
}
