//! A trace as a simulator needs it: dense page ids in the order of references, with runs of one page
//! folded.
//!
//! Most policies cannot distinguish a second reference to the page that was just referenced from no
//! reference at all, except that it may be the first write. So a run of consecutive references to
//! one page becomes one [`Record`] that keeps the first operation and whether the rest reads and
//! writes; no policy's result changes. Policies that count references find the length of each run
//! beside it, and policies with a period have runs split at its borders ([`Folding::RunsWithin`]).

use std::num::NonZeroU64;

use crate::error::TraceError;
use crate::footprint::{Footprint, PageKey};
use crate::memory_limit::default_memory_limit_bytes;
use crate::request::{Op, Request};

/// One run of consecutive references to one page, packed into 32 bits: bit 0, the first reference
/// is a write; bit 1, a later reference of the run reads; bit 2, a later one writes; from bit 3 on,
/// the dense page id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Record(u32);

const FIRST_IS_WRITE: u32 = 1 << 0;
const REST_READS: u32 = 1 << 1;
const REST_WRITES: u32 = 1 << 2;
const FLAG_BITS: u32 = 3;
const FLAGS: u32 = (1 << FLAG_BITS) - 1;

impl Record {
    fn first(page: u32, op: Op) -> Self {
        Self(page << FLAG_BITS | if op == Op::Write { FIRST_IS_WRITE } else { 0 })
    }

    fn add(&mut self, op: Op) {
        self.0 |= if op == Op::Write { REST_WRITES } else { REST_READS };
    }

    /// The same run, of another page: for callers that number more pages than the view has.
    ///
    /// # Panics
    /// If the page is not below [`PageView::LIMIT_PAGES`].
    #[must_use]
    pub fn of_page(self, page: u32) -> Self {
        assert!(page < PageView::LIMIT_PAGES, "a record has no room for page {page}");
        Self(page << FLAG_BITS | self.0 & FLAGS)
    }

    /// The dense id of the page.
    #[inline]
    pub fn page(self) -> u32 {
        self.0 >> FLAG_BITS
    }

    /// Whether the first reference of the run writes.
    #[inline]
    pub fn first_is_write(self) -> bool {
        self.0 & FIRST_IS_WRITE != 0
    }

    /// Whether a later reference of the run reads.
    #[inline]
    pub fn rest_reads(self) -> bool {
        self.0 & REST_READS != 0
    }

    /// Whether a later reference of the run writes.
    #[inline]
    pub fn rest_writes(self) -> bool {
        self.0 & REST_WRITES != 0
    }

    /// The three flags as a number below 8, bit for bit as in the record.
    #[inline]
    pub fn flags(self) -> usize {
        (self.0 & FLAGS) as usize
    }

    /// The two flags of the rest as a number below 4: 1, it reads; 2, it writes; 3, both.
    #[inline]
    pub fn rest_flags(self) -> usize {
        self.flags() >> 1
    }
}

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

/// The references of a trace at one page size. Dense ids keep the order of (stream, page number).
#[derive(Clone, Debug)]
pub struct PageView {
    records: Vec<Record>,
    run_lengths: Option<Vec<u32>>,
    references: u64,
    write_references: u64,
    dirty_footprint_pages: u32,
    page_bytes: u64,
    page_keys: Vec<PageKey>,
    folding: Folding,
}

impl PageView {
    /// The most distinct pages of a view: page ids have the bits that a record's flags leave.
    pub const LIMIT_PAGES: u32 = 1 << (u32::BITS - FLAG_BITS);

    /// The runs, in the order of the trace.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// How many references each record stands for; `None` when each is one reference.
    pub fn run_lengths(&self) -> Option<&[u32]> {
        self.run_lengths.as_deref()
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

    /// Stream and page number (address / page size) of each page; the index is the dense id, the
    /// order ascends.
    pub fn page_keys(&self) -> &[(u32, u64)] {
        &self.page_keys
    }

    /// How runs were folded.
    pub fn folding(&self) -> Folding {
        self.folding
    }
}

/// Makes a [`PageView`] in one pass; several builders can share the pass.
pub struct PageViewBuilder {
    page_shift: u32,
    folding: Folding,
    footprint: Footprint,
    records: Vec<Record>,
    run_lengths: Vec<u32>,
    longest_run: u32,
    last_page: Option<PageKey>,
    references: u64,
    write_references: u64,
    /// References until the next border that no run may cross.
    until_border: u64,
    has_too_many_pages: bool,
    memory_limit_bytes: u64,
    is_too_large: bool,
    /// The memory is checked when there are this many records.
    records_until_check: usize,
}

/// Records between two checks of the memory they take.
const CHECK_RECORDS: usize = 64 * 1024;

impl PageViewBuilder {
    /// A builder for pages of `page_bytes`.
    ///
    /// # Errors
    /// [`TraceError::PageSize`] unless `page_bytes` is a power of two.
    pub fn new(page_bytes: u64, folding: Folding) -> Result<Self, TraceError> {
        Ok(Self {
            page_shift: page_shift(page_bytes)?,
            folding,
            footprint: Footprint::default(),
            records: Vec::new(),
            run_lengths: Vec::new(),
            longest_run: 0,
            last_page: None,
            references: 0,
            write_references: 0,
            until_border: period(folding),
            has_too_many_pages: false,
            memory_limit_bytes: default_memory_limit_bytes(),
            is_too_large: false,
            records_until_check: 0,
        })
    }

    /// The same builder for a view that may take this much memory.
    #[must_use]
    pub fn within(self, memory_limit_bytes: u64) -> Self {
        Self { memory_limit_bytes, ..self }
    }

    /// Adds a reference to every page the request touches, ascending. A request without bytes
    /// touches none.
    #[inline]
    pub fn push(&mut self, request: &Request) {
        if self.records.len() >= self.records_until_check {
            self.check_memory();
        }
        if self.is_too_large {
            return;
        }
        for page in request.pages(self.page_shift) {
            self.reference((request.stream, page), request.op);
        }
    }

    /// Compares what the view takes so far with what it may take; renumbering at the end takes another 32 bytes per page.
    #[cold]
    fn check_memory(&mut self) {
        const FINISHING_PAGE_BYTES: u64 = 32;
        let records = (self.records.len() + self.run_lengths.len()) * size_of::<u32>();
        let pages = u64::from(self.footprint.pages()) * FINISHING_PAGE_BYTES;
        let taken_bytes = records as u64 + self.footprint.memory_bytes() + pages;
        self.is_too_large |= taken_bytes > self.memory_limit_bytes;
        self.records_until_check = self.records.len() + CHECK_RECORDS;
    }

    /// Adds the references of all these requests.
    pub fn extend(&mut self, requests: &[Request]) {
        for request in requests {
            self.push(request);
        }
    }

    #[inline]
    fn reference(&mut self, key: PageKey, op: Op) {
        self.references += 1;
        self.write_references += u64::from(op == Op::Write);
        if self.last_page == Some(key) && self.continue_run(op) {
            self.count_down();
            return;
        }
        let Some(id) = self.footprint.number(key, PageView::LIMIT_PAGES) else {
            self.has_too_many_pages = true;
            return;
        };
        if op == Op::Write {
            self.footprint.write(id);
        }
        self.records.push(Record::first(id, op));
        if self.folding != Folding::None {
            self.run_lengths.push(1);
        }
        self.last_page = Some(key);
        self.count_down();
    }

    /// Adds a reference to the last run; false when the run is as long as it can be.
    #[inline]
    fn continue_run(&mut self, op: Op) -> bool {
        let (Some(record), Some(length)) = (self.records.last_mut(), self.run_lengths.last_mut())
        else {
            return false;
        };
        let Some(longer) = length.checked_add(1) else { return false };
        *length = longer;
        self.longest_run = self.longest_run.max(longer);
        record.add(op);
        if op == Op::Write {
            self.footprint.write(record.page());
        }
        true
    }

    #[inline]
    fn count_down(&mut self) {
        self.until_border -= 1;
        if self.until_border == 0 {
            self.last_page = None;
            self.until_border = period(self.folding);
        }
    }

    /// The view of all references so far.
    ///
    /// # Errors
    /// [`TraceError::NoReference`] when there are none, [`TraceError::TooManyPages`] when they
    /// touch more than 2^29 pages, [`TraceError::TooMuchMemory`] when they take more than the limit.
    pub fn finish(mut self) -> Result<PageView, TraceError> {
        let page_bytes = 1 << self.page_shift;
        self.check_memory();
        if self.is_too_large {
            return Err(TraceError::too_much_memory(
                "the trace",
                &format!("its references to pages of {page_bytes} bytes take"),
                "take a part with --limit or larger pages",
                self.memory_limit_bytes,
            ));
        }
        if self.has_too_many_pages {
            return Err(TraceError::TooManyPages {
                limit_pages: u64::from(PageView::LIMIT_PAGES),
                page_bytes,
            });
        }
        if self.records.is_empty() {
            return Err(TraceError::NoReference);
        }
        let dirty_footprint_pages = self.footprint.dirty_pages();
        let mut records = self.records;
        let page_keys = renumber_by_address(self.footprint, &mut records);
        Ok(PageView {
            records,
            run_lengths: (self.longest_run > 1).then_some(self.run_lengths),
            references: self.references,
            write_references: self.write_references,
            dirty_footprint_pages,
            page_bytes,
            page_keys,
            folding: self.folding,
        })
    }
}

/// Turns ids by first touch into ids by address, so that a policy that breaks ties by the smallest
/// page can compare ids.
fn renumber_by_address(footprint: Footprint, records: &mut [Record]) -> Vec<PageKey> {
    let pages = footprint.into_pages_by_address();
    let mut ids_by_address = vec![0; pages.len()];
    for (by_address, &(_, by_first_touch)) in pages.iter().enumerate() {
        ids_by_address[by_first_touch as usize] = by_address as u32;
    }
    for record in records {
        *record = Record(ids_by_address[record.page() as usize] << FLAG_BITS | record.0 & FLAGS);
    }
    pages.into_iter().map(|(key, _)| key).collect()
}

fn period(folding: Folding) -> u64 {
    match folding {
        Folding::RunsWithin(references) => references.get(),
        Folding::Runs | Folding::None => u64::MAX,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_more_references_than_fit_is_split() {
        let mut builder = PageViewBuilder::new(4096, Folding::Runs).unwrap();
        builder.push(&Request::new(Op::Read, 0, 1));
        builder.run_lengths[0] = u32::MAX - 1;
        builder.extend(&[Request::new(Op::Write, 0, 1), Request::new(Op::Read, 0, 1)]);
        assert_eq!(builder.run_lengths, [u32::MAX, 1]);
        assert!(builder.records[0].rest_writes() && !builder.records[0].rest_reads());
        assert!(!builder.records[1].first_is_write() && builder.records[1].rest_flags() == 0);
    }

    #[test]
    fn too_many_pages_are_an_error_when_the_view_is_finished() {
        let mut builder = PageViewBuilder::new(4096, Folding::Runs).unwrap();
        builder.push(&Request::new(Op::Read, 0, 1));
        builder.has_too_many_pages = true;
        let message = builder.finish().unwrap_err().to_string();
        assert!(
            message.contains("536870912 pages of 4096 bytes; use a larger page size"),
            "{message}"
        );
    }
}
