//! Makes the view of a trace's events in one pass, and numbers its pages by address at the end.

use std::ops::Range;

use clockhand_quantity::{Text, option};
use rustc_hash::FxHashMap;

use super::{
    BEGINS_EVENT, CALL, COVERED, EventView, FRESH, Mark, MarkKind, Reference, UNWRITTEN, WRITE,
};
use crate::error::TraceError;
use crate::event::{Action, Event, FileLengths, ObjectKind};
use crate::memory_limit::default_memory_limit_bytes;
use crate::pages::footprint::{Footprint, PageKey};
use crate::pages::page_view::{PageView, inner_pages, page_shift};
use crate::request::Op;

/// A mark whose pages have no dense ids yet.
struct RawMark {
    before: usize,
    time_ns: u64,
    object: u32,
    /// Page numbers.
    pages: Range<u64>,
    kind: RawKind,
}

#[derive(Clone, Copy)]
enum RawKind {
    /// As it will stand.
    Plain(MarkKind),
    SyncAll,
    /// The file was cut in this page.
    Cut {
        page: u64,
    },
    /// Unmaps a file, drops anonymous memory.
    Release,
}

/// Follows the times of events.
#[derive(Default)]
struct Clock {
    first_ns: Option<u64>,
    /// From the first time on.
    now_ns: u64,
    events: u64,
    back_steps: Option<(u64, u64)>,
}

impl Clock {
    fn follow(&mut self, time_ns: Option<u64>) -> u64 {
        self.events += 1;
        if let Some(time_ns) = time_ns {
            let first_ns = *self.first_ns.get_or_insert(time_ns);
            if time_ns < first_ns + self.now_ns {
                let (steps, _) = self.back_steps.get_or_insert((0, self.events));
                *steps += 1;
            }
            self.now_ns = self.now_ns.max(time_ns.saturating_sub(first_ns));
        }
        self.now_ns
    }
}

/// Makes an [`EventView`] in one pass over the events.
pub struct EventViewBuilder {
    page_shift: u32,
    /// The number of pages that may be read ahead of a read; 0 if none.
    ahead_pages: u64,
    footprint: Footprint,
    references: Vec<Reference>,
    marks: Vec<RawMark>,
    times_ns: Vec<u64>,
    keeps_times: bool,
    callers: Vec<u32>,
    caller_numbers: FxHashMap<(u32, u32), u32>,
    /// Object and pages that can be read ahead.
    ahead: Vec<(u32, Range<u64>)>,
    lengths: FileLengths,
    clock: Clock,
    /// Objects that the events show to be files.
    files: Vec<bool>,
    write_references: u64,
    has_too_many_pages: bool,
    memory_limit_bytes: u64,
    until_check: usize,
    is_too_large: bool,
}

/// References and marks between two checks of the memory that the view takes.
const CHECK_EVERY: usize = 1 << 20;

impl EventViewBuilder {
    /// A builder for pages of `page_bytes`; a read reads at most `ahead_pages` ahead.
    ///
    /// # Errors
    /// [`TraceError::PageSize`] unless `page_bytes` is a power of two.
    pub fn new(page_bytes: u64, ahead_pages: u64) -> Result<Self, TraceError> {
        Ok(Self {
            page_shift: page_shift(page_bytes)?,
            ahead_pages,
            footprint: Footprint::default(),
            references: Vec::new(),
            marks: Vec::new(),
            times_ns: Vec::new(),
            keeps_times: false,
            callers: Vec::new(),
            caller_numbers: FxHashMap::default(),
            ahead: Vec::new(),
            lengths: FileLengths::default(),
            clock: Clock::default(),
            files: Vec::new(),
            write_references: 0,
            has_too_many_pages: false,
            memory_limit_bytes: default_memory_limit_bytes(),
            until_check: CHECK_EVERY,
            is_too_large: false,
        })
    }

    /// The same builder for a view that has the times of events even if the trace has no files.
    #[must_use]
    pub fn with_times(self) -> Self {
        Self { keeps_times: true, ..self }
    }

    /// The same builder for a view that may take this much memory while it is made.
    #[must_use]
    pub fn within(self, memory_limit_bytes: u64) -> Self {
        Self { memory_limit_bytes, ..self }
    }

    /// Compares what the view takes so far with what it may take; numbering pages by address takes
    /// another 64 bytes per page.
    #[cold]
    fn check_memory(&mut self) {
        const FINISHING_PAGE_BYTES: u64 = 64;
        let taken = self.references.len() * size_of::<Reference>()
            + self.marks.len() * (size_of::<RawMark>() + size_of::<Mark>())
            + (self.times_ns.len() + self.callers.len()) * size_of::<u64>()
            + self.ahead.len() * size_of::<(u32, Range<u64>)>();
        let pages = u64::from(self.footprint.pages()) * FINISHING_PAGE_BYTES;
        let taken_bytes = taken as u64 + self.footprint.memory_bytes() + pages;
        self.is_too_large |= taken_bytes > self.memory_limit_bytes;
        self.until_check = CHECK_EVERY;
    }

    fn grow(&mut self) {
        self.until_check -= 1;
        if self.until_check == 0 {
            self.check_memory();
        }
    }

    /// Adds these events.
    pub fn extend(&mut self, events: &[Event]) {
        for event in events {
            self.push(event);
        }
    }

    /// Adds an event.
    pub fn push(&mut self, event: &Event) {
        let time_ns = self.clock.follow(event.time_ns);
        let object = event.object;
        self.know(object, event.action.is_of_files());
        let length = self.lengths.follow(event);
        match event.action {
            Action::Memory { op, address, bytes } => {
                self.refer(event, time_ns, 0, op, address, bytes, length);
            }
            Action::ForcedWrite { address, bytes } => {
                self.refer(event, time_ns, 0, Op::Write, address, bytes, length);
            }
            Action::Call { op, offset, bytes, .. } => {
                self.refer(event, time_ns, CALL, op, offset, bytes, length);
            }
            Action::Direct { op, offset, bytes } => {
                let last = offset.saturating_add(u64::from(bytes) - 1) >> self.page_shift;
                let pages = offset >> self.page_shift..last + 1;
                let count = pages.end - pages.start;
                let kind = MarkKind::Direct { op, pages: count };
                self.mark(time_ns, object, pages, RawKind::Plain(kind));
            }
            Action::Length { .. } => self.look(time_ns),
            Action::Sync => {
                self.mark(time_ns, object, ALL_PAGES, RawKind::Plain(MarkKind::Sync));
            }
            Action::SyncAll => self.mark(time_ns, 0, 0..0, RawKind::SyncAll),
            Action::Truncate { bytes } => self.truncate(time_ns, object, bytes, length),
            Action::Delete => self.mark(time_ns, object, ALL_PAGES, DROP),
            Action::ReleaseAll => self.mark(time_ns, object, ALL_PAGES, RawKind::Release),
            Action::Release { address, bytes } => {
                let pages = inner_pages(address, bytes, self.page_shift);
                self.mark(time_ns, object, pages, RawKind::Release);
            }
            Action::Discard { address, bytes } => {
                let pages = inner_pages(address, bytes, self.page_shift);
                self.mark(time_ns, object, pages, DROP);
            }
        }
        let length_now = self.lengths.of(object);
        if self.ahead_pages > 0
            && length_now != length
            && let Some(bytes) = length_now
        {
            let kind = MarkKind::Length { object, bytes };
            self.mark(time_ns, object, 0..0, RawKind::Plain(kind));
        }
    }

    fn know(&mut self, object: u32, is_file: bool) {
        let index = object as usize;
        if index >= self.files.len() {
            self.files.resize(index + 1, false);
        }
        self.files[index] |= is_file;
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of an access, taken apart once")]
    fn refer(
        &mut self,
        event: &Event,
        time_ns: u64,
        flags: u32,
        op: Op,
        address: u64,
        bytes: u32,
        length: Option<u64>,
    ) {
        let object = event.object;
        let end = address.saturating_add(bytes.into());
        let (first, last) = (address >> self.page_shift, (end - 1) >> self.page_shift);
        let flags = flags | if op == Op::Write { WRITE } else { 0 };
        for page in first..=last {
            self.grow();
            if self.is_too_large {
                return;
            }
            let Some(id) = self.footprint.number((object, page), PageView::LIMIT_PAGES) else {
                self.has_too_many_pages = true;
                return;
            };
            let mut flags = flags | if page == first { BEGINS_EVENT } else { 0 };
            if op == Op::Write {
                self.write_references += 1;
                self.footprint.note(id, true);
                let is_covered = flags & CALL != 0 && self.covers(page, address..end, length);
                flags |= if is_covered { COVERED } else { 0 };
            }
            self.references.push(Reference { page: id, flags });
        }
        self.times_ns.push(time_ns);
        if self.ahead_pages > 0 {
            self.remember_caller(event, first..last + 1, length);
        }
    }

    /// Returns whether writing `bytes` of a file of this length leaves nothing of the page as it was.
    fn covers(&self, page: u64, bytes: Range<u64>, length: Option<u64>) -> bool {
        let start = page << self.page_shift;
        let end = start.saturating_add(1 << self.page_shift).min(length.unwrap_or(u64::MAX));
        start >= end || (bytes.start <= start && bytes.end >= end)
    }

    /// Who calls, and which pages may be read ahead of it.
    fn remember_caller(&mut self, event: &Event, pages: Range<u64>, length: Option<u64>) {
        let Action::Call { op, process, .. } = event.action else {
            self.callers.push(EventView::NO_CALLER);
            return;
        };
        let next = self.caller_numbers.len() as u32;
        let caller = *self.caller_numbers.entry((process, event.object)).or_insert(next);
        self.callers.push(caller);
        if op == Op::Read {
            let end = length.map_or(u64::MAX, |bytes| bytes.div_ceil(1 << self.page_shift));
            let ahead = pages.start + 1..pages.end.saturating_add(self.ahead_pages).min(end);
            if !ahead.is_empty() {
                self.ahead.push((event.object, ahead));
            }
        }
    }

    fn truncate(&mut self, time_ns: u64, object: u32, bytes: u64, length: Option<u64>) {
        if length.is_some_and(|length| length <= bytes) {
            return self.look(time_ns);
        }
        let beyond = bytes.div_ceil(1 << self.page_shift);
        let is_at_start = bytes.is_multiple_of(1 << self.page_shift);
        let kind = if is_at_start { DROP } else { RawKind::Cut { page: beyond - 1 } };
        self.mark(time_ns, object, beyond..u64::MAX, kind);
    }

    /// An event that changes no page, before which a flusher looks nevertheless.
    fn look(&mut self, time_ns: u64) {
        self.mark(time_ns, 0, 0..0, RawKind::Plain(MarkKind::Look));
    }

    fn mark(&mut self, time_ns: u64, object: u32, pages: Range<u64>, kind: RawKind) {
        self.grow();
        let before = self.references.len();
        self.marks.push(RawMark { before, time_ns, object, pages, kind });
    }

    /// The view of all events so far. `kinds` says what the objects are, as far as the trace does;
    /// others are files if they have an event that only files have.
    ///
    /// # Errors
    /// [`TraceError::NoReference`] without a reference, [`TraceError::TooManyPages`] when
    /// there are more than 2^29 pages, [`TraceError::TooMuchMemory`] when they take more than the limit.
    pub fn finish(mut self, kinds: &[ObjectKind]) -> Result<EventView, TraceError> {
        let page_bytes = 1_u64 << self.page_shift;
        let (footprint_pages, dirty_footprint_pages) =
            (self.footprint.pages(), self.footprint.dirty_pages());
        self.check_memory();
        if self.is_too_large {
            return Err(TraceError::too_much_memory(
                "the trace",
                format!("its references to pages of {page_bytes} bytes take"),
                Text::from("take a part with ") + option("limit") + " or larger pages",
                self.memory_limit_bytes,
            ));
        }
        if self.has_too_many_pages || !self.number_ahead() {
            let limit_pages = u64::from(PageView::LIMIT_PAGES);
            return Err(TraceError::TooManyPages { limit_pages, page_bytes });
        }
        if self.references.is_empty() {
            return Err(TraceError::NoReference);
        }
        for (object, kind) in kinds.iter().enumerate().take(self.files.len()) {
            self.files[object] = *kind == ObjectKind::File;
        }
        let page_keys = self.renumber_by_address();
        let is_file: Vec<bool> =
            page_keys.iter().map(|&(object, _)| self.files[object as usize]).collect();
        let marks = self.dense_marks(&page_keys, &is_file);
        let are_asked_for = self.keeps_times || is_file.contains(&true);
        let needs_times = self.clock.first_ns.is_some() && are_asked_for;
        Ok(EventView {
            references: self.references,
            marks,
            times_ns: needs_times.then_some(self.times_ns),
            callers: self.callers,
            write_references: self.write_references,
            footprint_pages,
            dirty_footprint_pages,
            page_bytes,
            page_keys,
            is_file,
            objects: self.files.len() as u32,
            back_steps: self.clock.back_steps,
        })
    }

    /// Numbers the pages that can be read ahead; false if there are too many.
    fn number_ahead(&mut self) -> bool {
        self.ahead.sort_unstable_by_key(|(object, pages)| (*object, pages.start));
        let mut last = (u32::MAX, 0);
        for (object, pages) in &self.ahead {
            let from = if last.0 == *object { pages.start.max(last.1) } else { pages.start };
            for page in from..pages.end {
                self.until_check -= 1;
                if self.until_check == 0 {
                    self.until_check = CHECK_EVERY;
                    let taken_bytes = self.footprint.memory_bytes();
                    self.is_too_large |= taken_bytes > self.memory_limit_bytes;
                }
                if self.is_too_large
                    || self.footprint.number((*object, page), PageView::LIMIT_PAGES).is_none()
                {
                    return false;
                }
            }
            last = (*object, pages.end.max(from));
        }
        true
    }

    /// Turns ids by first touch into ids by address.
    fn renumber_by_address(&mut self) -> Vec<PageKey> {
        let pages = std::mem::take(&mut self.footprint).into_pages_by_address();
        let mut ids_by_address = vec![0; pages.len()];
        for (by_address, &(_, by_first_touch)) in pages.iter().enumerate() {
            ids_by_address[by_first_touch as usize] = by_address as u32;
        }
        for reference in &mut self.references {
            reference.page = ids_by_address[reference.page as usize];
        }
        pages.into_iter().map(|(key, _)| key).collect()
    }

    /// Marks with dense ids; on the way references learn what their anonymous pages were before.
    fn dense_marks(&mut self, page_keys: &[PageKey], is_file: &[bool]) -> Vec<Mark> {
        let mut before = vec![FRESH | UNWRITTEN; page_keys.len()];
        let mut marks = Vec::with_capacity(self.marks.len());
        let mut references = self.references.iter_mut().enumerate().peekable();
        for raw in &self.marks {
            while let Some((_, reference)) = references.next_if(|(index, _)| *index < raw.before) {
                learn(reference, is_file, &mut before);
            }
            let is_of_file = self.files[raw.object as usize];
            let pages = match raw.kind {
                RawKind::SyncAll => 0..page_keys.len() as u32,
                _ => dense(page_keys, raw.object, &raw.pages),
            };
            let kind = match raw.kind {
                RawKind::Plain(kind) => kind,
                RawKind::SyncAll => MarkKind::Sync,
                RawKind::Cut { page } => {
                    let partial = page_keys.binary_search(&(raw.object, page)).ok();
                    MarkKind::Drop { partial: partial.map(|id| id as u32) }
                }
                RawKind::Release if is_of_file => MarkKind::Unmap,
                RawKind::Release => MarkKind::Drop { partial: None },
            };
            if matches!(kind, MarkKind::Drop { .. }) && !is_of_file {
                before[pages.start as usize..pages.end as usize].fill(FRESH | UNWRITTEN);
            }
            marks.push(Mark { before: raw.before, time_ns: raw.time_ns, pages, kind });
        }
        references.for_each(|(_, reference)| learn(reference, is_file, &mut before));
        marks
    }
}

const ALL_PAGES: Range<u64> = 0..u64::MAX;
const DROP: RawKind = RawKind::Plain(MarkKind::Drop { partial: None });

/// A reference to anonymous memory learns what its page was, and the page what it is now.
fn learn(reference: &mut Reference, is_file: &[bool], before: &mut [u32]) {
    let page = reference.page as usize;
    if !is_file[page] {
        reference.flags |= before[page];
        before[page] &= if reference.is_write() { 0 } else { UNWRITTEN };
    }
}

/// The dense ids of an object's pages.
fn dense(page_keys: &[PageKey], object: u32, pages: &Range<u64>) -> Range<u32> {
    let position = |page: u64| page_keys.partition_point(|&key| key < (object, page)) as u32;
    let start = position(pages.start);
    start..position(pages.end).max(start)
}
