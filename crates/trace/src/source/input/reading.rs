//! Reading a source batch by batch.

use super::{Batch, Opened, Origin, TakeBatch, TraceInput, Wanted};
use crate::TraceError;
use crate::event::Event;
use crate::info::{TraceInfo, TraceInfoBuilder};
use crate::progress::{Phase, Progress};
use crate::reader::{OpenOptions, Reader, TraceReader};
use crate::report::ReadReport;
use crate::request::Request;
use crate::source::Progress as StoredProgress;
use crate::source::joined::JoinedReader;
use crate::source::read_ahead::{is_all_taken_by, overlapped};
use crate::source::request_columns::ColumnReader;
use crate::source::selection::SelectedReader;
use crate::synthetic::SyntheticReader;

impl TraceInput {
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
        self.pull_from(opened, Wanted::Events, progress, &mut |batch, _| take(batch))
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
        let mut take = |batch: Batch<'_>, _: &ReadReport| match batch {
            Batch::Events(events) => take(events),
            Batch::Requests(_) => unreachable!("events are asked for"),
        };
        self.pull(Wanted::Events, progress, &mut take)
    }

    /// Hands what is wanted to `take`, with what was found so far beside each batch: labels, and the names of its streams.
    ///
    /// # Errors
    ///
    /// Those of the reader and of `take`, or [`TraceError::Interrupted`].
    pub(crate) fn pull(
        &self,
        wanted: Wanted,
        progress: &Progress,
        take: &mut TakeBatch<'_>,
    ) -> Result<ReadReport, TraceError> {
        self.pull_from(self.open()?, wanted, progress, take)
    }

    fn pull_from(
        &self,
        (mut reader, stored): Opened<'_>,
        wanted: Wanted,
        progress: &Progress,
        take: &mut TakeBatch<'_>,
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
        match &self.origin {
            Origin::Synthetic(recipe) => Some(recipe.requests),
            _ => None,
        }
    }

    /// A reader, and how far it has read the stored bytes, if there are any.
    fn open(&self) -> Result<Opened<'_>, TraceError> {
        if self.scratch().is_some() {
            return Err(TraceError::NoScratch);
        }
        let (mut reader, stored) = self.open_whole()?;
        for selection in &self.selections {
            reader = Box::new(SelectedReader::new(reader, &self.name(), selection.clone()));
        }
        Ok((reader, stored))
    }

    /// The same of the trace that its selections take their part of.
    fn open_whole(&self) -> Result<Opened<'_>, TraceError> {
        let reader: Box<dyn Reader + '_> = match &self.origin {
            Origin::File { path, options } => {
                let memory_limit_bytes = self.budget.memory_limit_bytes;
                let options = OpenOptions { memory_limit_bytes, ..options.clone() };
                let reader = TraceReader::open(path, &options)?;
                let stored = reader.progress();
                return Ok((Box::new(reader), stored));
            }
            Origin::Table { table, .. } => Box::new(ColumnReader::new(table.columns())?),
            Origin::Synthetic(recipe) => Box::new(SyntheticReader::new(recipe)),
            Origin::Joined { parts, order, .. } => {
                let opened: Vec<_> = parts.iter().map(Self::open).collect::<Result<_, _>>()?;
                let readers = opened.into_iter().map(|(reader, _)| reader).collect();
                Box::new(JoinedReader::new(readers, *order))
            }
        };
        Ok((reader, StoredProgress::default()))
    }

    /// Reads the trace to its end and returns what it is like.
    ///
    /// # Errors
    ///
    /// Those of the reader, or [`TraceError::Interrupted`].
    pub fn info(&self, page_bytes: u64, progress: &Progress) -> Result<TraceInfo, TraceError> {
        let mut builder = TraceInfoBuilder::new(page_bytes)?.within(self.memory_limit_bytes());
        let report = self.pull(Wanted::Fitting, progress, &mut |batch, _| {
            match batch {
                Batch::Requests(requests) => builder.extend(requests),
                Batch::Events(events) => builder.extend_events(events),
            }
            Ok(())
        })?;
        builder.finish(report)
    }
}
