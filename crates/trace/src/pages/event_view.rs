//! The events of a trace as a page cache replays them: dense page ids, and what happens between
//! references.
//!
//! The reads of a miss do not depend on the policy. They follow from the trace alone: from the length of a file, from
//! whether a write covers the page's content, and from whether anonymous memory was touched before. So a [`Reference`]
//! carries them, and all cells of a grid share one view. Unlike a [`PageView`](crate::PageView) it does not fold runs:
//! a flusher looks between references.

mod builder;

use std::ops::Range;

pub use builder::EventViewBuilder;

use crate::pages::footprint::PageKey;
use crate::request::Op;

/// One reference to one page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reference {
    page: u32,
    flags: u32,
}

const WRITE: u32 = 1 << 0;
const CALL: u32 = 1 << 1;
const BEGINS_EVENT: u32 = 1 << 2;
const COVERED: u32 = 1 << 3;
const FRESH: u32 = 1 << 4;
const UNWRITTEN: u32 = 1 << 5;

impl Reference {
    /// The dense id of the page.
    #[inline]
    pub fn page(self) -> u32 {
        self.page
    }

    /// Returns whether it writes.
    #[inline]
    pub fn is_write(self) -> bool {
        self.flags & WRITE != 0
    }

    /// Returns whether a call makes it.
    #[inline]
    pub fn is_call(self) -> bool {
        self.flags & CALL != 0
    }

    /// Returns whether no reference of the same event came before.
    #[inline]
    pub fn begins_event(self) -> bool {
        self.flags & BEGINS_EVENT != 0
    }

    /// Returns whether it writes all that the page of the file held, so that a miss reads nothing.
    #[inline]
    pub fn is_covered(self) -> bool {
        self.flags & COVERED != 0
    }

    /// Returns whether the anonymous page was not referenced since it exists, or since it was released.
    #[inline]
    pub fn is_fresh(self) -> bool {
        self.flags & FRESH != 0
    }

    /// Returns whether the anonymous page was not written since it exists, or since it was released.
    #[inline]
    pub fn is_unwritten(self) -> bool {
        self.flags & UNWRITTEN != 0
    }
}

/// What happens between two references, to the pages of [`Mark::pages`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkKind {
    /// Nothing happens to any page.
    Look,
    /// Dirty pages of files are written.
    Sync,
    /// The pages leave; then, when a file was shortened, this page, which holds its new end, becomes
    /// dirty.
    Drop {
        /// The page, if there is one and it is ever referenced.
        partial: Option<u32>,
    },
    /// A file's pages are unmapped.
    Unmap,
    /// The pages are read or written past the cache.
    Direct {
        /// Which of the two.
        op: Op,
        /// How many pages; some may be missing from the view.
        pages: u64,
    },
    /// The file has a new length. This is not an event but the effect of one.
    Length {
        /// The file.
        object: u32,
        /// Its length.
        bytes: u64,
    },
}

/// What happens before a reference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark {
    /// Index of the reference; as many as there are references at the end of the trace.
    pub before: usize,
    /// When; 0 at the first time, never less than before, 0 without times.
    pub time_ns: u64,
    /// The pages that it is about, by dense id.
    pub pages: Range<u32>,
    /// What happens.
    pub kind: MarkKind,
}

/// The events of a trace at one page size. Dense ids ascend by (object, page number).
#[derive(Clone, Debug)]
pub struct EventView {
    references: Vec<Reference>,
    marks: Vec<Mark>,
    /// Of each event that refers to pages; `None` without times.
    times_ns: Option<Vec<u64>>,
    /// The caller of each event that refers to pages; empty unless pages are read ahead.
    callers: Vec<u32>,
    write_references: u64,
    footprint_pages: u32,
    dirty_footprint_pages: u32,
    page_bytes: u64,
    page_keys: Vec<PageKey>,
    is_file: Vec<bool>,
    objects: u32,
    back_steps: Option<(u64, u64)>,
}

impl EventView {
    /// No caller: the event is not a call.
    pub const NO_CALLER: u32 = u32::MAX;

    /// The references, in the order of the trace.
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// What happens between references, in order.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// When each event happens that refers to pages, from the first time on, never going back.
    pub fn times_ns(&self) -> Option<&[u64]> {
        self.times_ns.as_deref()
    }

    /// The (process, file) of each event that refers to pages, numbered, or
    /// [`NO_CALLER`](Self::NO_CALLER); empty unless the view was made to read ahead.
    pub fn callers(&self) -> &[u32] {
        &self.callers
    }

    /// References that write.
    pub fn write_references(&self) -> u64 {
        self.write_references
    }

    /// Different pages that are referenced.
    pub fn footprint_pages(&self) -> u32 {
        self.footprint_pages
    }

    /// Different pages that are written at least once.
    pub fn dirty_footprint_pages(&self) -> u32 {
        self.dirty_footprint_pages
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// Object and page number of each page; the index is the dense id, the order ascends. Pages that
    /// can be read ahead are among them.
    pub fn page_keys(&self) -> &[(u32, u64)] {
        &self.page_keys
    }

    /// Tells for each page, by dense id, whether it belongs to a file.
    pub fn file_pages(&self) -> &[bool] {
        &self.is_file
    }

    /// Returns whether the trace has files.
    pub fn has_files(&self) -> bool {
        self.is_file.contains(&true)
    }

    /// One more than the highest object.
    pub fn objects(&self) -> u32 {
        self.objects
    }

    /// The number of events that are earlier than one before them, and the number of the first of them, from 1.
    pub fn back_steps(&self) -> Option<(u64, u64)> {
        self.back_steps
    }
}
