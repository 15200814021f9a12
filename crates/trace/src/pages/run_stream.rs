//! The runs of a trace while it is read: one thread makes them, and another replays those that are made.
//!
//! A few parts wait between the two, so that they stay in the processor's caches, and their memory is used again: such a
//! trace takes memory for its pages, and none for its references.

use std::sync::mpsc::{self, Receiver, Sender, SyncSender};

use crate::pages::page_view::Record;
use crate::pages::run_lengths::{RunLengths, runs_among};
use crate::pages::view_chunks::Chunk;

/// Records of a part.
pub(crate) const PART_RECORDS: usize = 32 * 1024;
/// The number of parts that may wait for the replay.
const PARTS_AHEAD: usize = 4;

/// Consecutive runs of a trace.
#[derive(Debug, Default)]
struct Part {
    records: Vec<Record>,
    /// The lengths of those that are longer than 1.
    of_runs: Vec<u32>,
    /// Pages are numbered below this so far.
    pages: u32,
}

/// The receiver of a builder's runs.
pub(crate) struct RunSink {
    /// Nothing is handed on before the trace has this number of pages.
    fewest_pages: u32,
    filled: SyncSender<Part>,
    emptied: Receiver<Part>,
    is_closed: bool,
}

/// The runs of a trace that is being read, for the thread that replays them.
///
/// The other thread waits for this one when it is too far ahead, so a stream is read to its end or dropped.
#[derive(Debug)]
pub struct RunStream {
    filled: Receiver<Part>,
    emptied: Sender<Part>,
    part: Part,
    /// Of the part, the next record, and the runs before it.
    next: usize,
    runs: usize,
    /// The records of all parts before.
    before: usize,
}

/// A sink that hands runs on as soon as the trace has this number of pages, or is at its end, and the stream they come
/// from.
pub(crate) fn run_stream(fewest_pages: u32) -> (RunSink, RunStream) {
    let (filled, to_replay) = mpsc::sync_channel(PARTS_AHEAD);
    let (emptied, to_fill) = mpsc::channel();
    let sink = RunSink { fewest_pages, filled, emptied: to_fill, is_closed: false };
    let part = Part::default();
    (sink, RunStream { filled: to_replay, emptied, part, next: 0, runs: 0, before: 0 })
}

impl RunSink {
    /// Returns whether a part is to be [taken](Self::take) now.
    #[inline]
    pub(crate) fn wants(&self, records: usize, pages: u32) -> bool {
        records >= PART_RECORDS && pages >= self.fewest_pages
    }

    /// Hands runs on, and gives empty columns in their place.
    pub(crate) fn take(&mut self, records: &mut Vec<Record>, of_runs: &mut Vec<u32>, pages: u32) {
        let mut empty = self.emptied.try_recv().unwrap_or_default();
        std::mem::swap(records, &mut empty.records);
        std::mem::swap(of_runs, &mut empty.of_runs);
        empty.pages = pages;
        self.is_closed |= self.filled.send(empty).is_err();
    }

    /// Returns whether the replay has stopped taking them.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }
}

impl RunStream {
    /// Waits until there are runs; false if there are none at all.
    pub fn begin(&mut self) -> bool {
        self.next < self.part.records.len() || self.next_part()
    }

    /// Pages are numbered below this so far: at the [beginning](Self::begin) as many as were waited for, or all.
    pub fn pages(&self) -> u32 {
        self.part.pages
    }

    /// Takes the next part in place of the present one, which is read.
    fn next_part(&mut self) -> bool {
        let Ok(filled) = self.filled.recv() else { return false };
        let mut emptied = std::mem::replace(&mut self.part, filled);
        self.before += emptied.records.len();
        (self.next, self.runs) = (0, 0);
        emptied.records.clear();
        emptied.of_runs.clear();
        // Whoever filled them may be at the end.
        _ = self.emptied.send(emptied);
        true
    }

    /// The next runs, at most `most`; `ahead` as of a [view](crate::PageView::chunks), from this part.
    pub fn next(&mut self, most: usize, ahead: usize) -> Option<Chunk<'_>> {
        if !self.begin() {
            return None;
        }
        let (at, runs) = (self.next, self.runs);
        let end = self.part.records.len().min(at + most);
        let records = &self.part.records[at..end];
        self.next = end;
        self.runs += runs_among(records) as usize;
        let of_runs = &self.part.of_runs[runs..self.runs];
        Some(Chunk {
            first: self.before + at,
            records,
            run_lengths: (!of_runs.is_empty()).then(|| RunLengths::new(records, of_runs)),
            ahead: self.part.records.get(at + ahead..).unwrap_or_default(),
            pages: self.part.pages,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::pages::page_view::{Folding, PageViewBuilder};
    use crate::{Op, Request, TraceError};

    const PAGE_BYTES: u64 = 4096;

    /// Requests to pages that are new now and then, with runs.
    fn requests() -> Vec<Request> {
        let page = |reference: u64| reference / 3 % (1 + reference / 50);
        let op = |reference| if reference % 5 == 0 { Op::Write } else { Op::Read };
        (0..300_000).map(|place| Request::new(op(place), page(place) * PAGE_BYTES, 1)).collect()
    }

    fn builder(folding: Folding) -> PageViewBuilder {
        PageViewBuilder::new(PAGE_BYTES, folding).unwrap()
    }

    #[test]
    fn the_runs_of_a_stream_are_those_of_a_view() {
        for folding in [Folding::Runs, Folding::None] {
            let (mut streamed, mut stream) = builder(folding).on_stream(2000);
            let mut viewed = builder(folding).numbered(crate::Numbering::ByFirstTouch);
            viewed.extend(&requests());
            let view = viewed.finish().unwrap();
            let replaying = std::thread::spawn(move || {
                assert!(stream.begin() && stream.pages() >= 2000, "{} pages", stream.pages());
                let (mut records, mut lengths) = (Vec::new(), Vec::new());
                while let Some(chunk) = stream.next(1000, 10) {
                    assert!(chunk.records.len() <= 1000 && chunk.first == records.len());
                    assert!(chunk.records.iter().all(|record| record.page() < chunk.pages));
                    records.extend_from_slice(chunk.records);
                    let ones = chunk.records.iter().map(|_| 1);
                    match chunk.run_lengths {
                        Some(of_runs) => lengths.extend(of_runs.iter()),
                        None => lengths.extend(ones),
                    }
                }
                (records, lengths)
            });
            requests().chunks(1000).for_each(|batch| streamed.extend(batch));
            let counts = streamed.finish_stream().unwrap();
            let (records, lengths) = replaying.join().unwrap();
            assert_eq!(records, view.records());
            assert_eq!(lengths.iter().map(|&length| u64::from(length)).sum::<u64>(), 300_000);
            if let Some(expected) = view.run_lengths() {
                assert!(expected.iter().eq(lengths));
            }
            assert_eq!(counts.footprint_pages, view.footprint_pages());
            assert_eq!(counts.dirty_footprint_pages, view.dirty_footprint_pages());
        }
    }

    #[test]
    fn a_builder_is_told_when_nobody_takes_its_runs() {
        let (mut builder, stream) = builder(Folding::None).on_stream(1);
        drop(stream);
        builder.extend(&requests());
        assert!(matches!(builder.check_room(), Err(TraceError::Interrupted)));
    }

    #[test]
    fn a_trace_without_references_has_no_stream() {
        let (builder, mut stream) = builder(Folding::Runs).on_stream(1);
        assert!(matches!(builder.finish_stream(), Err(TraceError::NoReference)));
        assert!(!stream.begin() && stream.next(10, 0).is_none());
    }
}
