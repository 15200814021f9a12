//! Sources of traces, read with progress and until the run is cancelled.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::TraceError;
use crate::event::Event;
use crate::info::{TraceInfo, TraceInfoBuilder};
use crate::memory_limit::default_memory_limit_bytes;
use crate::processor::view::Classes;
use crate::progress::{Phase, Progress};
use crate::reader::{OpenOptions, Reader, TraceReader};
use crate::report::ReadReport;
use crate::request::Request;
use crate::source::Progress as StoredProgress;
use crate::source::joined::{JoinOrder, JoinedReader};
use crate::source::read_ahead::{is_all_taken_by, overlapped};
use crate::source::request_columns::{ColumnReader, RequestColumns};
use crate::source::selection::{SelectedReader, Selection};
use crate::synthetic::{Recipe, SyntheticReader};

/// Where a trace comes from.
#[derive(Clone, Debug)]
pub enum TraceInput {
    /// A file, or standard input for `-`.
    File {
        /// The file.
        path: PathBuf,
        /// How it is opened.
        options: OpenOptions,
    },
    /// Requests in memory.
    Table {
        /// What the rows of a result call it.
        name: String,
        /// The requests.
        table: Arc<RequestTable>,
    },
    /// Requests that are made while they are read.
    Synthetic {
        /// Their properties.
        recipe: Arc<Recipe>,
        /// The memory that they and their views may take; the default is a share of the machine's.
        memory_limit_bytes: Option<u64>,
    },
    /// Several traces as one.
    Joined {
        /// What the rows of a result call it.
        name: String,
        /// The traces.
        parts: Vec<TraceInput>,
        /// In which order.
        order: JoinOrder,
    },
    /// A part of another trace.
    Part {
        /// The other trace.
        whole: Box<TraceInput>,
        /// Which of its requests.
        selection: Selection,
    },
    /// Another trace, whose page views are kept in files.
    OnScratch {
        /// The other trace.
        whole: Box<TraceInput>,
        /// The folder of the files.
        folder: PathBuf,
    },
}

/// The columns of a trace in memory; row `i` of each belongs to request `i`.
#[derive(Clone, Debug, Default)]
pub struct RequestTable {
    /// Whether each request writes.
    pub is_write: Vec<bool>,
    /// First byte of each request.
    pub addresses: Vec<u64>,
    /// Bytes of each request; 1 without the column.
    pub sizes_bytes: Option<Vec<u32>>,
    /// Stream of each request; 0 without the column.
    pub streams: Option<Vec<u32>>,
    /// Time of each request in nanoseconds.
    pub times_ns: Option<Vec<u64>>,
}

impl RequestTable {
    fn columns(&self) -> RequestColumns<'_> {
        RequestColumns {
            is_write: &self.is_write,
            addresses: &self.addresses,
            sizes_bytes: self.sizes_bytes.as_deref(),
            streams: self.streams.as_deref(),
            times_ns: self.times_ns.as_deref(),
        }
    }
}

/// Takes a batch of requests, and what was found so far.
type TakeReported<'a> = dyn FnMut(&[Request], &ReadReport) -> Result<(), TraceError> + 'a;

/// Takes a batch of what fits the trace, and what was found so far.
pub(crate) type TakeBatch<'a> = dyn FnMut(Batch<'_>, &ReadReport) -> Result<(), TraceError> + 'a;

/// A part of a trace.
#[derive(Clone, Copy, Debug)]
pub enum Batch<'a> {
    /// Of a trace that has no other events.
    Requests(&'a [Request]),
    /// Of any other trace.
    Events(&'a [Event]),
}

/// What is to be read of a trace.
#[derive(Clone, Copy)]
enum Wanted {
    Requests,
    Events,
    Fitting,
}

/// A reader, and how far it has read the stored bytes.
type Opened<'a> = (Box<dyn Reader + 'a>, StoredProgress);

impl TraceInput {
    /// A file whose format is found by content.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        TraceInput::File { path: path.into(), options: OpenOptions::default() }
    }

    /// The part of this trace that a selection wants.
    pub fn part(self, selection: Selection) -> Self {
        if selection.is_all() {
            return self;
        }
        if let TraceInput::OnScratch { whole, folder } = self {
            return whole.part(selection).on_scratch(folder);
        }
        TraceInput::Part { whole: Box::new(self), selection }
    }

    /// The same trace, whose page views are to be kept in files without names in a folder. Call
    /// [`scratch`](Self::scratch) before reading; studies that cannot spill to disk return an error.
    pub fn on_scratch(self, folder: impl Into<PathBuf>) -> Self {
        TraceInput::OnScratch { whole: Box::new(self), folder: folder.into() }
    }

    /// The trace itself, and the folder of its page views, if they are not in memory.
    pub fn scratch(&self) -> (&Self, Option<&Path>) {
        match self {
            TraceInput::OnScratch { whole, folder } => (whole, Some(folder)),
            _ => (self, None),
        }
    }

    /// Only the pages of a captured program that would go to swap.
    ///
    /// # Errors
    ///
    /// The trace is not a file, so it has no address space.
    pub fn only_anonymous(mut self) -> Result<Self, TraceError> {
        let Some(options) = self.file_options() else {
            return Err(TraceError::NoAddressSpace { file: self.name() });
        };
        options.only_anonymous = true;
        Ok(self)
    }

    /// The same trace for a file that is to hold its classes, unless it is seen in a view that was
    /// asked for.
    pub(crate) fn keeping_classes(&self) -> Self {
        let mut input = self.clone();
        if let Some(options) = input.file_options()
            && options.classes == Classes::DefaultView
        {
            options.classes = Classes::Kept;
        }
        input
    }

    /// The same trace, whose objects take the blocks that they have and live as long as they are said to, if it is one
    /// of a key-value store; `block_bytes` is the largest block that is looked at.
    #[must_use]
    pub fn with_living_objects(&self, block_bytes: u64) -> Self {
        let mut input = self.clone();
        if let Some(options) = input.file_options() {
            options.object_block_bytes = Some(block_bytes);
        }
        input
    }

    /// The same trace, whose report has the SHA-256 of each of its files, or of none, which takes less time.
    #[must_use]
    pub fn digested(&self, is_digested: bool) -> Self {
        let mut input = self.clone();
        if let TraceInput::Joined { parts, .. } = &mut input {
            parts.iter_mut().for_each(|part| *part = part.digested(is_digested));
        } else if let Some(options) = input.file_options() {
            options.without_digest = !is_digested;
        }
        input
    }

    /// The options of the file that this trace is, or is a part of.
    fn file_options(&mut self) -> Option<&mut OpenOptions> {
        match self {
            TraceInput::File { options, .. } => Some(options),
            TraceInput::Part { whole, .. } | TraceInput::OnScratch { whole, .. } => {
                whole.file_options()
            }
            TraceInput::Table { .. } | TraceInput::Synthetic { .. } | TraceInput::Joined { .. } => {
                None
            }
        }
    }

    /// The memory that the trace and its views may take.
    pub fn memory_limit_bytes(&self) -> u64 {
        match self {
            TraceInput::File { options, .. } => options.memory_limit_bytes(),
            TraceInput::Part { whole, .. } | TraceInput::OnScratch { whole, .. } => {
                whole.memory_limit_bytes()
            }
            TraceInput::Synthetic { memory_limit_bytes, .. } => {
                memory_limit_bytes.unwrap_or_else(default_memory_limit_bytes)
            }
            TraceInput::Joined { parts, .. } => parts
                .iter()
                .map(TraceInput::memory_limit_bytes)
                .min()
                .unwrap_or_else(default_memory_limit_bytes),
            TraceInput::Table { .. } => default_memory_limit_bytes(),
        }
    }

    /// The same trace, of which no more than this may be made; `None` for one in memory, which takes its own already.
    pub fn within(&self, limit_bytes: u64) -> Option<Self> {
        let mut input = self.clone();
        match &mut input {
            TraceInput::File { options, .. } => options.memory_limit_bytes = Some(limit_bytes),
            TraceInput::Part { whole, .. } | TraceInput::OnScratch { whole, .. } => {
                **whole = whole.within(limit_bytes)?;
            }
            TraceInput::Synthetic { memory_limit_bytes, .. } => {
                *memory_limit_bytes = Some(limit_bytes)
            }
            TraceInput::Joined { parts, .. } => {
                for part in parts {
                    *part = part.within(limit_bytes)?;
                }
            }
            TraceInput::Table { .. } => return None,
        }
        Some(input)
    }

    /// Returns whether it gives the same requests when it is read a second time: standard input and pipes do not.
    pub fn can_be_read_again(&self) -> bool {
        match self {
            // A file that does not exist is refused when it is read, with the reason.
            TraceInput::File { path, .. } => {
                path.as_os_str() != "-"
                    && path.metadata().map_or(true, |found| found.is_file() || found.is_dir())
            }
            TraceInput::Table { .. } | TraceInput::Synthetic { .. } => true,
            TraceInput::Joined { parts, .. } => parts.iter().all(TraceInput::can_be_read_again),
            TraceInput::Part { whole, .. } | TraceInput::OnScratch { whole, .. } => {
                whole.can_be_read_again()
            }
        }
    }

    /// What the rows of a result call it.
    pub fn name(&self) -> String {
        match self {
            TraceInput::File { path, options } => {
                options.name.clone().unwrap_or_else(|| path.display().to_string())
            }
            TraceInput::Table { name, .. } | TraceInput::Joined { name, .. } => name.clone(),
            TraceInput::Synthetic { recipe, .. } => {
                recipe.name.clone().unwrap_or_else(|| recipe.pattern())
            }
            TraceInput::Part { whole, .. } | TraceInput::OnScratch { whole, .. } => whole.name(),
        }
    }

    /// Hands all requests to `take`, batch by batch, and says what was found on the way. While `take` works on a batch,
    /// the next ones are read by another thread.
    ///
    /// # Errors
    ///
    /// Those of the reader and of `take`, or [`TraceError::Interrupted`].
    pub fn for_each_batch(
        &self,
        progress: &Progress,
        take: &mut dyn FnMut(&[Request]) -> Result<(), TraceError>,
    ) -> Result<ReadReport, TraceError> {
        self.hand_out(self.open()?, false, progress, take)
    }

    /// As [`for_each_batch`](Self::for_each_batch), for a caller whose `take` hands its work on to another thread: if no
    /// processor is left, a trace that is decoded quickly is read by this thread, and batches stay in its caches.
    ///
    /// # Errors
    ///
    /// Those of the reader and of `take`, or [`TraceError::Interrupted`].
    pub fn for_each_batch_beside(
        &self,
        progress: &Progress,
        take: &mut dyn FnMut(&[Request]) -> Result<(), TraceError>,
    ) -> Result<ReadReport, TraceError> {
        self.hand_out(self.open()?, true, progress, take)
    }

    /// As [`for_each_batch`](Self::for_each_batch), of a reader of this trace; with `keeps_quick`, as
    /// [`for_each_batch_beside`](Self::for_each_batch_beside).
    fn hand_out(
        &self,
        (mut reader, stored): Opened<'_>,
        keeps_quick: bool,
        progress: &Progress,
        take: &mut dyn FnMut(&[Request]) -> Result<(), TraceError>,
    ) -> Result<ReadReport, TraceError> {
        self.begin(progress, &stored);
        let mut take = |batch: &[Request]| {
            self.advance(progress, &stored, batch.len());
            take(batch)?;
            if progress.is_cancelled() { Err(TraceError::Interrupted) } else { Ok(()) }
        };
        let is_kept = keeps_quick && reader.is_quick() && is_all_taken_by(2);
        if !is_kept && let Some(read) = overlapped(&mut *reader, &mut take) {
            return read;
        }
        let mut batch = Vec::new();
        while reader.next_batch(&mut batch)? {
            take(&batch)?;
        }
        Ok(reader.report().clone())
    }

    /// The same, with what was found so far beside each batch: labels, and the names of its streams.
    ///
    /// # Errors
    ///
    /// Those of the reader and of `take`, or [`TraceError::Interrupted`].
    pub fn for_each_reported_batch(
        &self,
        progress: &Progress,
        take: &mut TakeReported<'_>,
    ) -> Result<ReadReport, TraceError> {
        self.pull(
            progress,
            &mut |batch, report| match batch {
                Batch::Requests(requests) => take(requests, report),
                Batch::Events(_) => unreachable!("requests are asked for"),
            },
            Wanted::Requests,
        )
    }

    /// Hands events to `take` if the trace can hold any that are not requests, else requests as
    /// [`for_each_batch`](Self::for_each_batch) does.
    ///
    /// # Errors
    ///
    /// Those of the reader and of `take`, or [`TraceError::Interrupted`].
    pub fn for_each_batch_as_it_is(
        &self,
        progress: &Progress,
        take: &mut dyn FnMut(Batch<'_>) -> Result<(), TraceError>,
    ) -> Result<ReadReport, TraceError> {
        let opened = self.open()?;
        if !opened.0.holds_events() {
            let mut take = |batch: &[Request]| take(Batch::Requests(batch));
            return self.hand_out(opened, false, progress, &mut take);
        }
        self.pull_from(opened, progress, &mut |batch, _| take(batch), Wanted::Events)
    }

    /// Hands all events to `take`, batch by batch: also those that are not requests, where the trace has any.
    ///
    /// # Errors
    ///
    /// Those of the reader and of `take`, or [`TraceError::Interrupted`].
    pub fn for_each_event_batch(
        &self,
        progress: &Progress,
        take: &mut dyn FnMut(&[Event]) -> Result<(), TraceError>,
    ) -> Result<ReadReport, TraceError> {
        self.pull(
            progress,
            &mut |batch, _| match batch {
                Batch::Events(events) => take(events),
                Batch::Requests(_) => unreachable!("events are asked for"),
            },
            Wanted::Events,
        )
    }

    /// Hands events to `take` if the trace can hold any that are not requests, else requests.
    ///
    /// # Errors
    ///
    /// Those of the reader and of `take`, or [`TraceError::Interrupted`].
    pub(crate) fn for_each_fitting_batch(
        &self,
        progress: &Progress,
        take: &mut TakeBatch<'_>,
    ) -> Result<ReadReport, TraceError> {
        self.pull(progress, take, Wanted::Fitting)
    }

    fn pull(
        &self,
        progress: &Progress,
        take: &mut TakeBatch<'_>,
        wanted: Wanted,
    ) -> Result<ReadReport, TraceError> {
        self.pull_from(self.open()?, progress, take, wanted)
    }

    fn pull_from(
        &self,
        (mut reader, stored): Opened<'_>,
        progress: &Progress,
        take: &mut TakeBatch<'_>,
        wanted: Wanted,
    ) -> Result<ReadReport, TraceError> {
        self.begin(progress, &stored);
        let takes_events = match wanted {
            Wanted::Requests => false,
            Wanted::Events => true,
            Wanted::Fitting => reader.holds_events(),
        };
        let (mut requests, mut events) = (Vec::new(), Vec::new());
        loop {
            let is_more = if takes_events {
                reader.next_events(&mut events)?
            } else {
                reader.next_batch(&mut requests)?
            };
            if !is_more {
                return Ok(reader.report().clone());
            }
            self.advance(progress, &stored, requests.len() + events.len());
            let batch =
                if takes_events { Batch::Events(&events) } else { Batch::Requests(&requests) };
            take(batch, reader.report())?;
            if progress.is_cancelled() {
                return Err(TraceError::Interrupted);
            }
        }
    }

    /// Begins the phase of reading.
    fn begin(&self, progress: &Progress, stored: &StoredProgress) {
        match self.requests_to_make() {
            Some(requests) => progress.enter(Phase::Synthesizing, requests),
            None => progress.enter(Phase::Reading, stored.total_bytes().unwrap_or(0)),
        }
    }

    /// Tells of a batch with this number of requests or events.
    fn advance(&self, progress: &Progress, stored: &StoredProgress, taken: usize) {
        match self.requests_to_make() {
            Some(_) => progress.add_done(taken as u64),
            None => progress.set_done(stored.read_bytes()),
        }
    }

    /// The number of requests that are made while the trace is read; none if they are stored.
    fn requests_to_make(&self) -> Option<u64> {
        match self {
            TraceInput::Synthetic { recipe, .. } => Some(recipe.requests),
            TraceInput::Part { whole, .. } | TraceInput::OnScratch { whole, .. } => {
                whole.requests_to_make()
            }
            TraceInput::File { .. } | TraceInput::Table { .. } | TraceInput::Joined { .. } => None,
        }
    }

    /// A reader, and how far it has read the stored bytes, if there are any.
    fn open(&self) -> Result<Opened<'_>, TraceError> {
        Ok(match self {
            TraceInput::File { path, options } => {
                let reader = TraceReader::open(path, options)?;
                let stored = reader.progress();
                (Box::new(reader), stored)
            }
            TraceInput::Table { table, .. } => {
                (Box::new(ColumnReader::new(table.columns())?), StoredProgress::default())
            }
            TraceInput::Synthetic { recipe, .. } => {
                (Box::new(SyntheticReader::new(recipe)), StoredProgress::default())
            }
            TraceInput::Joined { parts, order, .. } => {
                let opened: Vec<_> =
                    parts.iter().map(TraceInput::open).collect::<Result<_, _>>()?;
                let readers = opened.into_iter().map(|(reader, _)| reader).collect();
                (Box::new(JoinedReader::new(readers, *order)), StoredProgress::default())
            }
            TraceInput::OnScratch { .. } => return Err(TraceError::NoScratch),
            TraceInput::Part { whole, selection } => {
                let (reader, stored) = whole.open()?;
                let part = SelectedReader::new(reader, &whole.name(), selection.clone());
                (Box::new(part), stored)
            }
        })
    }

    /// Reads the trace to its end and returns what it is like.
    ///
    /// # Errors
    ///
    /// Those of the reader, or [`TraceError::Interrupted`].
    pub fn info(&self, page_bytes: u64, progress: &Progress) -> Result<TraceInfo, TraceError> {
        let mut builder = TraceInfoBuilder::new(page_bytes)?.within(self.memory_limit_bytes());
        let report = self.for_each_fitting_batch(progress, &mut |batch, _| {
            match batch {
                Batch::Requests(requests) => builder.extend(requests),
                Batch::Events(events) => builder.extend_events(events),
            }
            Ok(())
        })?;
        builder.finish(report)
    }
}
