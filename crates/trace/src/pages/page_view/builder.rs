//! Makes page views while requests pass: numbers their pages, folds runs, and moves records where there is no room for
//! them.

use std::path::{Path, PathBuf};

use super::drops::RawDrop;
use super::record::{FLAG_BITS, FLAGS, Record};
use super::{Folding, Numbering, PageView, Runs, SharedRequests, page_shift};
use crate::error::TraceError;
use crate::event::Event;
use crate::memory_limit::default_memory_limit_bytes;
use crate::pages::footprint::{Footprint, GROUP_PAGES, NONE, PageKey, Places};
use crate::pages::page_counter::PageCounts;
use crate::pages::run_lengths::{BLOCK_RECORDS, RunPlaces};
use crate::pages::run_stream::{RunSink, RunStream, run_stream};
use crate::pages::scratch::ScratchColumn;
use crate::progress::{Phase, Progress};
use crate::request::{Op, Request};
use clockhand_quantity::{Text, option};

/// Makes a [`PageView`] in one pass; several builders can share the pass.
pub struct PageViewBuilder {
    page_shift: u32,
    folding: Folding,
    numbering: Numbering,
    footprint: Footprint,
    /// The records, those that have not been moved.
    records: Vec<Record>,
    /// The lengths of those that are runs.
    of_runs: Vec<u32>,
    /// Runs whose lengths have been moved.
    moved_runs: u64,
    /// For each block of records, the runs before it.
    runs_before_blocks: Vec<u64>,
    /// The receiver of records, if they are not kept.
    sink: Option<Sink>,
    /// The page whose run may go on, or [`NONE`].
    last_page: u32,
    references: u64,
    write_references: u64,
    /// References until the next border that no run may cross.
    until_border: u64,
    has_too_many_pages: bool,
    memory_limit_bytes: u64,
    is_too_large: bool,
    shared_requests: Option<SharedRequests>,
    drops: Vec<RawDrop>,
}

/// Where a builder moves records.
enum Sink {
    Scratch(Scratch),
    Stream(RunSink),
}

impl Sink {
    /// Returns whether records are to be moved now.
    fn wants(&self, records: usize, pages: u32) -> bool {
        match self {
            Sink::Scratch(_) => records >= BUFFERED_RECORDS,
            Sink::Stream(sink) => sink.wants(records, pages),
        }
    }

    fn take(&mut self, records: &mut Vec<Record>, of_runs: &mut Vec<u32>, pages: u32) {
        match self {
            Sink::Scratch(scratch) => scratch.take(records, of_runs),
            Sink::Stream(sink) => sink.take(records, of_runs, pages),
        }
    }
}

/// A file for records that there is no room for.
struct Scratch {
    folder: PathBuf,
    columns: Option<(ScratchColumn, ScratchColumn)>,
    failure: Option<TraceError>,
}

impl Scratch {
    /// Moves records to the file; after a failure they are only forgotten.
    fn take(&mut self, records: &mut Vec<Record>, of_runs: &mut Vec<u32>) {
        if self.failure.is_none() {
            self.failure = self.append(records, of_runs).err();
        }
        records.clear();
        of_runs.clear();
    }

    fn append(&mut self, records: &[Record], of_runs: &[u32]) -> Result<(), TraceError> {
        if self.columns.is_none() {
            let column = || ScratchColumn::create(&self.folder);
            self.columns = Some((column()?, column()?));
        }
        let (column, lengths) = self.columns.as_mut().expect("they were created");
        column.append(records.iter().map(|record| record.0))?;
        lengths.append(of_runs.iter().copied())
    }
}

/// Records that a builder on scratch keeps in memory, and that are renumbered at a time; whole blocks.
const BUFFERED_RECORDS: usize = 256 * 1024;

impl PageViewBuilder {
    /// A builder for pages of `page_bytes`.
    ///
    /// # Errors
    /// [`TraceError::PageSize`] unless `page_bytes` is a power of two.
    pub fn new(page_bytes: u64, folding: Folding) -> Result<Self, TraceError> {
        Ok(Self {
            page_shift: page_shift(page_bytes)?,
            folding,
            numbering: Numbering::default(),
            footprint: Footprint::default(),
            records: Vec::new(),
            of_runs: Vec::new(),
            moved_runs: 0,
            runs_before_blocks: Vec::new(),
            sink: None,
            last_page: NONE,
            references: 0,
            write_references: 0,
            until_border: period(folding),
            has_too_many_pages: false,
            memory_limit_bytes: default_memory_limit_bytes(),
            is_too_large: false,
            shared_requests: None,
            drops: Vec::new(),
        })
    }

    /// The same builder for a view that knows which records belong to one request of the trace; its records are in memory.
    #[must_use]
    pub fn with_requests(self) -> Self {
        Self { shared_requests: Some(SharedRequests::default()), ..self }
    }

    /// The same builder for a view whose pages are numbered like this.
    #[must_use]
    pub fn numbered(self, numbering: Numbering) -> Self {
        Self { numbering, ..self }
    }

    /// The same builder for a view that may take this much memory.
    #[must_use]
    pub fn within(self, memory_limit_bytes: u64) -> Self {
        Self { memory_limit_bytes, ..self }
    }

    /// The same builder for a view whose records are in a file without a name in this folder: 4 bytes a record, and 4
    /// more for a run. In memory are 4 bytes and more per page.
    #[must_use]
    pub fn on_scratch(self, folder: &Path) -> Self {
        let scratch = Scratch { folder: folder.to_owned(), columns: None, failure: None };
        Self { sink: Some(Sink::Scratch(scratch)), ..self }
    }

    /// The same builder, whose runs are replayed by another thread while this one makes the next; they come when there
    /// are `fewest_pages` pages, or all. Pages are numbered by first touch.
    #[must_use]
    pub fn on_stream(self, fewest_pages: u32) -> (Self, RunStream) {
        let (sink, stream) = run_stream(fewest_pages);
        (
            Self { sink: Some(Sink::Stream(sink)), numbering: Numbering::ByFirstTouch, ..self },
            stream,
        )
    }

    /// Adds a reference to every page the request touches, ascending. A request without bytes
    /// touches none.
    #[inline]
    pub fn push(&mut self, request: &Request) {
        self.push_found(request, NONE);
    }

    /// Adds the references of all these requests. The places of a group's pages are found one group ahead, so that the processor
    /// has their numbers at hand when it comes to them.
    pub fn extend(&mut self, requests: &[Request]) {
        let mut groups = requests.chunks(GROUP_PAGES);
        let Some(mut group) = groups.next() else { return };
        let mut places = self.places_of(group);
        loop {
            let next = groups.next().map(|next| (next, self.places_of(next)));
            for (&place, request) in places.iter().zip(group) {
                self.push_found(request, self.footprint.number_at(place));
            }
            let Some(next) = next else { return };
            (group, places) = next;
        }
    }

    #[inline]
    fn places_of(&mut self, group: &[Request]) -> Places {
        let page_shift = self.page_shift;
        self.footprint
            .places_of(group.iter().map(|request| (request.stream, request.address >> page_shift)))
    }

    /// An event that is no request: what it deletes, cuts off or discards leaves before the next record. All others are
    /// passed over. The view must be in memory, and its pages numbered by address.
    pub fn end_content(&mut self, event: &Event) {
        debug_assert!(self.sink.is_none() && self.numbering == Numbering::ByAddress);
        if let Some(drop) = RawDrop::of(event, self.records.len(), self.page_shift) {
            self.drops.push(drop);
            // No run crosses it.
            self.last_page = NONE;
            if self.drops.len().is_multiple_of(BLOCK_RECORDS) {
                self.check_memory();
            }
        }
    }

    /// As [`push`](Self::push); the number of the first page is `found`, or [`NONE`] if it had none.
    #[inline]
    fn push_found(&mut self, request: &Request, mut found: u32) {
        if self.is_too_large {
            return;
        }
        let pages = request.pages(self.page_shift);
        if found != NONE && pages.start() == pages.end() {
            return self.reference(found, request.op);
        }
        for (position, page) in (0..).zip(pages) {
            let mut number =
                || self.footprint.number((request.stream, page), PageView::LIMIT_PAGES);
            let id = if found == NONE { number() } else { Some(found) };
            found = NONE;
            match id {
                Some(id) => self.reference(id, request.op),
                None => self.has_too_many_pages = true,
            }
            if let (Some(requests), 1..) = (&mut self.shared_requests, position) {
                requests.note(&self.records, request.op, position);
            }
        }
    }

    /// Compares what the view takes so far with what it may take; renumbering at the end takes another 32 bytes per page.
    fn check_memory(&mut self) {
        const FINISHING_PAGE_BYTES: u64 = 32;
        let records = (self.records.len() + self.of_runs.len()) * size_of::<u32>();
        let pages = u64::from(self.footprint.pages()) * FINISHING_PAGE_BYTES;
        let requests = self.shared_requests.as_ref().map_or(0, SharedRequests::memory_bytes);
        let drops = (self.drops.len() * 2 * size_of::<RawDrop>()) as u64;
        let taken_bytes = records as u64 + self.footprint.memory_bytes() + pages + requests + drops;
        self.is_too_large |= taken_bytes > self.memory_limit_bytes;
    }

    #[inline(always)]
    fn reference(&mut self, id: u32, op: Op) {
        let is_write = op == Op::Write;
        self.references += 1;
        self.write_references += u64::from(is_write);
        self.footprint.note(id, is_write);
        if id != self.last_page || !self.continue_run(op) {
            if self.records.len().is_multiple_of(BLOCK_RECORDS) {
                self.begin_block();
            }
            self.records.push(Record::first(id, op));
            if self.folding != Folding::None {
                self.last_page = id;
            }
        }
        self.count_down();
    }

    /// Before the first record of a block.
    #[cold]
    fn begin_block(&mut self) {
        let pages = self.footprint.pages();
        if self.sink.as_ref().is_some_and(|sink| sink.wants(self.records.len(), pages)) {
            self.move_records();
        }
        self.check_memory();
        self.runs_before_blocks.push(self.moved_runs + self.of_runs.len() as u64);
    }

    /// Moves the records, if they are not kept.
    fn move_records(&mut self) {
        let Some(sink) = &mut self.sink else { return };
        self.moved_runs += self.of_runs.len() as u64;
        sink.take(&mut self.records, &mut self.of_runs, self.footprint.pages());
    }

    /// Adds a reference to the last run; false when the run is as long as it can be.
    #[inline]
    fn continue_run(&mut self, op: Op) -> bool {
        let record = self.records.last_mut().expect("the page of the last record goes on");
        if record.is_run() {
            let length = self.of_runs.last_mut().expect("each run has a length");
            let Some(longer) = length.checked_add(1) else { return false };
            *length = longer;
        } else {
            self.of_runs.push(2);
        }
        record.add(op);
        true
    }

    #[inline]
    fn count_down(&mut self) {
        self.until_border -= 1;
        if self.until_border == 0 {
            self.last_page = NONE;
            self.until_border = period(self.folding);
        }
    }

    /// Refuses a trace as soon as [`finish`](Self::finish) would have to: the rest need not be read.
    ///
    /// # Errors
    ///
    /// [`TraceError::TooMuchMemory`], or [`TraceError::Interrupted`] if the receiver of the
    /// [stream](Self::on_stream) is gone.
    pub fn check_room(&self) -> Result<(), TraceError> {
        if matches!(&self.sink, Some(Sink::Stream(sink)) if sink.is_closed()) {
            return Err(TraceError::Interrupted);
        }
        match self.is_too_large {
            false => Ok(()),
            true => Err(TraceError::too_much_memory(
                "the trace",
                format!("its references to pages of {} bytes take", 1_u64 << self.page_shift),
                Text::from("take a part with ") + option("limit") + " or larger pages",
                self.memory_limit_bytes,
            )),
        }
    }

    /// Checks that the trace can be replayed.
    fn check_whole(&mut self) -> Result<(), TraceError> {
        self.check_memory();
        self.check_room()?;
        if self.has_too_many_pages {
            return Err(TraceError::TooManyPages {
                limit_pages: u64::from(PageView::LIMIT_PAGES),
                page_bytes: 1 << self.page_shift,
            });
        }
        if self.records.is_empty() { Err(TraceError::NoReference) } else { Ok(()) }
    }

    /// Hands the last runs to the [stream](Self::on_stream), which ends, and says what the trace is.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn finish_stream(mut self) -> Result<PageCounts, TraceError> {
        self.check_whole()?;
        self.move_records();
        Ok(PageCounts {
            references: self.references,
            write_references: self.write_references,
            footprint_pages: self.footprint.pages(),
            dirty_footprint_pages: self.footprint.dirty_pages(),
        })
    }

    /// The view of all references so far.
    ///
    /// # Errors
    /// [`TraceError::NoReference`] when there are none, [`TraceError::TooManyPages`] when they
    /// touch more than 2^29 pages, [`TraceError::TooMuchMemory`] when they take more than the limit.
    pub fn finish(self) -> Result<PageView, TraceError> {
        self.finish_watched(&Progress::default())
    }

    /// The same, which tells how far it is: at the end all records are gone through once more.
    ///
    /// # Errors
    /// As [`finish`](Self::finish), or [`TraceError::Interrupted`].
    ///
    /// # Panics
    /// If the runs went to a [stream](Self::on_stream).
    pub fn finish_watched(mut self, progress: &Progress) -> Result<PageView, TraceError> {
        self.check_whole()?;
        let dirty_footprint_pages = self.footprint.dirty_pages();
        let (page_keys, places) = places_by_address(self.footprint);
        let by_address = self.numbering == Numbering::ByAddress;
        let runs = match self.sink {
            None => {
                if by_address {
                    progress.enter(Phase::Numbering, self.records.len() as u64);
                    for chunk in self.records.chunks_mut(BUFFERED_RECORDS) {
                        renumber(chunk, &places, progress)?;
                    }
                }
                Runs::InMemory { records: self.records, of_runs: self.of_runs }
            }
            Some(Sink::Stream(_)) => panic!("the runs are not here any more"),
            Some(Sink::Scratch(mut scratch)) => {
                scratch.take(&mut self.records, &mut self.of_runs);
                runs_on_scratch(scratch, by_address.then_some(&places), progress)?
            }
        };
        let drops = self.drops.iter().filter_map(|drop| drop.dense(&page_keys)).collect();
        Ok(PageView {
            runs,
            drops,
            run_places: RunPlaces::new(self.runs_before_blocks),
            references: self.references,
            write_references: self.write_references,
            dirty_footprint_pages,
            page_bytes: 1 << self.page_shift,
            page_keys,
            places_by_address: (!by_address).then_some(places),
            folding: self.folding,
            shared_requests: self.shared_requests,
        })
    }
}

/// The pages by address, and the place of each there, by first touch: a policy that breaks ties by the smallest page can
/// compare these.
fn places_by_address(footprint: Footprint) -> (Vec<PageKey>, Vec<u32>) {
    let pages = footprint.into_pages_by_address();
    let mut places = vec![0; pages.len()];
    for (by_address, &(_, by_first_touch)) in pages.iter().enumerate() {
        places[by_first_touch as usize] = by_address as u32;
    }
    (pages.into_iter().map(|(key, _)| key).collect(), places)
}

fn renumber(records: &mut [Record], ids: &[u32], progress: &Progress) -> Result<(), TraceError> {
    if progress.is_cancelled() {
        return Err(TraceError::Interrupted);
    }
    for record in &mut *records {
        *record = Record(ids[record.page() as usize] << FLAG_BITS | record.0 & FLAGS);
    }
    progress.add_done(records.len() as u64);
    Ok(())
}

/// The runs in a file, after a second pass over them if their pages get other numbers.
fn runs_on_scratch(
    scratch: Scratch,
    ids: Option<&Vec<u32>>,
    progress: &Progress,
) -> Result<Runs, TraceError> {
    if let Some(failure) = scratch.failure {
        return Err(failure);
    }
    let (mut records, of_runs) = scratch.columns.expect("the last records were moved there");
    if let Some(ids) = ids {
        progress.enter(Phase::Numbering, records.count());
        let (mut bytes, mut chunk) = (Vec::new(), Vec::new());
        for first in (0..records.count()).step_by(BUFFERED_RECORDS) {
            records.get(first, BUFFERED_RECORDS, Record, &mut bytes, &mut chunk)?;
            renumber(&mut chunk, ids, progress)?;
            records.put(first, chunk.iter().map(|record| record.0))?;
        }
    }
    Ok(Runs::OnScratch { records, of_runs })
}

fn period(folding: Folding) -> u64 {
    match folding {
        Folding::RunsWithin(references) => references.get(),
        Folding::Runs | Folding::None => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_more_references_than_fit_is_split() {
        let mut builder = PageViewBuilder::new(4096, Folding::Runs).unwrap();
        builder.extend(&[Request::new(Op::Read, 0, 1), Request::new(Op::Write, 0, 1)]);
        builder.of_runs[0] = u32::MAX - 1;
        builder.extend(&[Request::new(Op::Write, 0, 1), Request::new(Op::Read, 0, 1)]);
        assert_eq!(builder.of_runs, [u32::MAX]);
        assert!(builder.records[0].rest_writes() && !builder.records[0].rest_reads());
        assert!(!builder.records[1].first_is_write() && builder.records[1].rest_flags() == 0);
    }

    #[test]
    fn a_view_knows_which_records_are_of_one_request() {
        let requests = [
            Request::new(Op::Read, 0, 3 * 4096),
            Request::new(Op::Write, 2 * 4096, 2 * 4096),
            Request::new(Op::Read, 3 * 4096, 1),
            Request::new(Op::Read, 3 * 4096, 4096 + 1),
        ];
        let view = |folding| {
            let mut builder = PageViewBuilder::new(4096, folding).unwrap().with_requests();
            builder.extend(&requests);
            builder.finish().unwrap()
        };
        let bits = |view: &PageView| -> Vec<bool> {
            let shared = view.shared_requests().unwrap();
            assert_eq!((shared.reads_joined(), shared.writes_joined()), (3, 1));
            assert_eq!(shared.most_pages(), 3);
            (0..view.record_count()).map(|record| shared.goes_on(record)).collect()
        };
        // 0 1 2 | 2 3 | 3 | 3 4
        let single = view(Folding::None);
        assert_eq!(bits(&single), [false, true, true, false, true, false, false, true]);
        assert!(single.shared_requests().unwrap().are_together(0, 2));
        assert!(!single.shared_requests().unwrap().are_together(2, 4));
        // 0 1 2 2 | 3 3 3 | 4: behind a run nothing goes on.
        assert_eq!(bits(&view(Folding::Runs)), [false, true, true, false, false]);
        let mut alone = PageViewBuilder::new(4096, Folding::None).unwrap().with_requests();
        alone.push(&requests[2]);
        assert!(alone.finish().unwrap().shared_requests().is_none());
    }

    #[test]
    fn the_pass_that_numbers_pages_tells_how_far_it_is_and_can_be_interrupted() {
        let folder = tempfile::tempdir().unwrap();
        for is_on_scratch in [false, true] {
            let view = |progress: &Progress| {
                let mut builder = PageViewBuilder::new(4096, Folding::None).unwrap();
                if is_on_scratch {
                    builder = builder.on_scratch(folder.path());
                }
                for reference in 0..BUFFERED_RECORDS as u64 + 10 {
                    builder.push(&Request::new(Op::Read, reference % 7 * 4096, 1));
                }
                builder.finish_watched(progress)
            };
            let progress = Progress::default();
            view(&progress).unwrap();
            let records = BUFFERED_RECORDS as u64 + 10;
            assert_eq!(progress.now(), (Phase::Numbering, records, records));
            progress.cancel();
            assert!(matches!(view(&progress), Err(TraceError::Interrupted)));
        }
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
