//! Facts about a trace, as `clockhand trace info` shows them.

use clockhand_quantity::{Text, option};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::decode::output::PIECE_BYTES;
use crate::error::TraceError;
use crate::event::{Event, FileLengths, ObjectKind};
use crate::memory_limit::default_memory_limit_bytes;
use crate::pages::footprint::Footprint;
use crate::pages::page_view::page_shift;
use crate::reader::Reader;
use crate::report::ReadReport;
use crate::request::{Op, Request};

/// The requests of one stream.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StreamCounts {
    /// Its number, which a [`Selection`](crate::Selection) names it by.
    #[serde(rename = "stream")]
    pub number: u32,
    /// Its name, if the trace has names.
    pub name: Option<String>,
    /// Requests that read.
    pub read_requests: u64,
    /// Requests that write.
    pub write_requests: u64,
    /// What it is, if the trace tells.
    pub kind: Option<ObjectKind>,
    /// Bytes of the file at the end of the trace, if it is a file of known length.
    pub file_bytes: Option<u64>,
}

/// Counts over a whole trace.
#[derive(Clone, PartialEq, Debug)]
pub struct TraceInfo {
    /// What the reader met: format, digest, skipped lines, ignored columns, notes, labels.
    pub report: ReadReport,
    /// Requests that read.
    pub read_requests: u64,
    /// Requests that write.
    pub write_requests: u64,
    /// Bytes of all requests that read.
    pub read_bytes: u64,
    /// Bytes of all requests that write.
    pub written_bytes: u64,
    /// Bytes of the smallest request.
    pub min_request_bytes: u32,
    /// Bytes of the largest request.
    pub max_request_bytes: u32,
    /// Bytes of a page, for the counts below.
    pub page_bytes: u64,
    /// References to pages that read; a request refers to every page it touches.
    pub read_references: u64,
    /// References to pages that write.
    pub write_references: u64,
    /// Different pages.
    pub footprint_pages: u32,
    /// Different pages that are written at least once.
    pub dirty_footprint_pages: u32,
    /// Different streams.
    pub streams: u32,
    /// The requests of each stream, by number.
    pub stream_counts: Vec<StreamCounts>,
    /// The first requests as they are understood, at most [`TraceInfo::FIRST_SHOWN`].
    pub first_requests: Vec<Request>,
    /// From the earliest time to the latest, in nanoseconds; `None` without times.
    pub span_ns: Option<u64>,
    /// Tells whether times never run back; `None` without times.
    pub sorted_by_time: Option<bool>,
}

impl TraceInfo {
    /// The number of first requests that are shown.
    pub const FIRST_SHOWN: usize = 3;

    /// Reads a trace to its end.
    ///
    /// # Errors
    /// Those of the reader, and [`TraceError::PageSize`] unless `page_bytes` is a power of two.
    pub fn read(reader: &mut dyn Reader, page_bytes: u64) -> Result<Self, TraceError> {
        let mut builder = TraceInfoBuilder::new(page_bytes)?;
        if reader.holds_events() {
            let mut batch = Vec::new();
            while reader.next_events(&mut batch)? {
                builder.extend_events(&batch);
            }
        } else {
            let mut batch = Vec::new();
            while reader.next_batch(&mut batch)? {
                builder.extend(&batch);
            }
        }
        builder.finish(reader.report().clone())
    }

    /// Requests in all.
    pub fn requests(&self) -> u64 {
        self.read_requests + self.write_requests
    }

    /// Bytes of all requests.
    pub fn total_bytes(&self) -> u64 {
        self.read_bytes + self.written_bytes
    }

    /// Mean bytes of a request.
    pub fn mean_request_bytes(&self) -> f64 {
        self.total_bytes() as f64 / self.requests() as f64
    }

    /// References to pages in all.
    pub fn references(&self) -> u64 {
        self.read_references + self.write_references
    }
}

/// Times seen so far.
struct Times {
    earliest_ns: u64,
    latest_ns: u64,
    last_ns: u64,
    are_sorted: bool,
}

/// Counts a trace batch by batch, for those who need the requests for something else too.
pub struct TraceInfoBuilder {
    page_shift: u32,
    footprint: Footprint,
    /// Place in `stream_requests` of each stream.
    streams: FxHashMap<u32, usize>,
    /// Streams with their reads and writes, in the order of their appearance.
    stream_requests: Vec<(u32, [u64; 2])>,
    /// Place of the stream of the last request, which is often that of the next.
    last_stream: usize,
    /// Reads, then writes.
    requests: [u64; 2],
    bytes: [u64; 2],
    references: [u64; 2],
    min_request_bytes: u32,
    max_request_bytes: u32,
    first_requests: Vec<Request>,
    /// The next piece of a request that is longer than a request can be.
    next_piece: Option<Request>,
    times: Option<Times>,
    lengths: FileLengths,
    has_too_many_pages: bool,
    memory_limit_bytes: u64,
    is_too_large: bool,
}

impl TraceInfoBuilder {
    /// Counts with pages of `page_bytes`.
    ///
    /// # Errors
    /// [`TraceError::PageSize`] unless `page_bytes` is a power of two.
    pub fn new(page_bytes: u64) -> Result<Self, TraceError> {
        Ok(Self {
            page_shift: page_shift(page_bytes)?,
            footprint: Footprint::default(),
            streams: FxHashMap::default(),
            stream_requests: Vec::new(),
            last_stream: 0,
            requests: [0; 2],
            bytes: [0; 2],
            references: [0; 2],
            min_request_bytes: u32::MAX,
            max_request_bytes: 0,
            first_requests: Vec::new(),
            next_piece: None,
            times: None,
            lengths: FileLengths::default(),
            has_too_many_pages: false,
            memory_limit_bytes: default_memory_limit_bytes(),
            is_too_large: false,
        })
    }

    /// The same builder for counts that may take this much memory.
    #[must_use]
    pub fn within(self, memory_limit_bytes: u64) -> Self {
        Self { memory_limit_bytes, ..self }
    }

    /// Counts these requests.
    pub fn extend(&mut self, requests: &[Request]) {
        for request in requests {
            self.push(request);
        }
    }

    /// Counts the requests among these events, and follows the lengths of files.
    pub fn extend_events(&mut self, events: &[Event]) {
        for event in events {
            self.lengths.follow(event);
            match event.request() {
                Some(request) => self.push(&request),
                None => event.time_ns.into_iter().for_each(|time_ns| self.push_time(time_ns)),
            }
        }
    }

    fn push(&mut self, request: &Request) {
        let kind = usize::from(request.op == Op::Write);
        let is_same = self
            .next_piece
            .take()
            .is_some_and(|next| Request { bytes: request.bytes, ..next } == *request);
        if request.bytes == PIECE_BYTES {
            let address = request.address.saturating_add(u64::from(PIECE_BYTES));
            self.next_piece = Some(Request { address, ..*request });
        }
        if self.first_requests.len() < TraceInfo::FIRST_SHOWN && !is_same {
            self.first_requests.push(*request);
        }
        self.requests[kind] += u64::from(!is_same);
        self.bytes[kind] += u64::from(request.bytes);
        self.min_request_bytes = self.min_request_bytes.min(request.bytes);
        self.max_request_bytes = self.max_request_bytes.max(request.bytes);
        self.push_stream(request.stream, kind, !is_same);
        if let Some(time_ns) = request.time_ns {
            self.push_time(time_ns);
        }
        // The largest request adds 2^32 bytes of pages to what is compared here.
        self.is_too_large |= self.footprint.memory_bytes() > self.memory_limit_bytes;
        if self.is_too_large {
            return;
        }
        for page in request.pages(self.page_shift) {
            self.references[kind] += 1;
            match self.footprint.number((request.stream, page), u32::MAX) {
                Some(id) => self.footprint.note(id, request.op == Op::Write),
                None => self.has_too_many_pages = true,
            }
        }
    }

    fn push_stream(&mut self, stream: u32, kind: usize, is_new: bool) {
        if self.stream_requests.get(self.last_stream).is_none_or(|&(last, _)| last != stream) {
            let next = self.stream_requests.len();
            self.last_stream = *self.streams.entry(stream).or_insert(next);
            if self.last_stream == next {
                self.stream_requests.push((stream, [0; 2]));
            }
        }
        self.stream_requests[self.last_stream].1[kind] += u64::from(is_new);
    }

    /// The streams by number, with what the reader knows of them.
    fn stream_counts(&self, report: &ReadReport) -> Vec<StreamCounts> {
        let mut counts: Vec<_> = self
            .stream_requests
            .iter()
            .map(|&(number, [read_requests, write_requests])| StreamCounts {
                number,
                name: report.stream_names.get(number as usize).cloned(),
                read_requests,
                write_requests,
                kind: report.object_kinds.get(number as usize).copied(),
                file_bytes: self.lengths.of(number),
            })
            .collect();
        counts.sort_by_key(|stream| stream.number);
        counts
    }

    fn push_time(&mut self, time_ns: u64) {
        let times = self.times.get_or_insert(Times {
            earliest_ns: time_ns,
            latest_ns: time_ns,
            last_ns: time_ns,
            are_sorted: true,
        });
        times.earliest_ns = times.earliest_ns.min(time_ns);
        times.latest_ns = times.latest_ns.max(time_ns);
        times.are_sorted &= times.last_ns <= time_ns;
        times.last_ns = time_ns;
    }

    /// The counts, with what the reader of the requests has to report.
    ///
    /// # Errors
    /// [`TraceError::TooManyPages`] when 32 bits cannot number the pages,
    /// [`TraceError::TooMuchMemory`] when they take more than the limit.
    pub fn finish(self, report: ReadReport) -> Result<TraceInfo, TraceError> {
        let page_bytes = 1 << self.page_shift;
        if self.is_too_large {
            return Err(TraceError::too_much_memory(
                "the trace",
                format!("to count its pages of {page_bytes} bytes takes"),
                Text::from("take a part with ") + option("limit") + " or larger pages",
                self.memory_limit_bytes,
            ));
        }
        if self.has_too_many_pages {
            return Err(TraceError::TooManyPages { limit_pages: u64::from(u32::MAX), page_bytes });
        }
        Ok(TraceInfo {
            streams: self.stream_requests.len() as u32,
            stream_counts: self.stream_counts(&report),
            report: ReadReport { requests: self.requests[0] + self.requests[1], ..report },
            read_requests: self.requests[0],
            write_requests: self.requests[1],
            read_bytes: self.bytes[0],
            written_bytes: self.bytes[1],
            min_request_bytes: self.min_request_bytes,
            max_request_bytes: self.max_request_bytes,
            page_bytes,
            read_references: self.references[0],
            write_references: self.references[1],
            footprint_pages: self.footprint.pages(),
            dirty_footprint_pages: self.footprint.dirty_pages(),
            first_requests: self.first_requests,
            span_ns: self.times.as_ref().map(|times| times.latest_ns - times.earliest_ns),
            sorted_by_time: self.times.as_ref().map(|times| times.are_sorted),
        })
    }
}
