//! The output of a format: requests, processor accesses, and its report.

use std::borrow::Cow;

use crate::decode::scan;
use crate::decode::time_check::TimeCheck;
use crate::error::TraceError;
use crate::event::{Action, Event};
use crate::processor::cpu_cache::CpuCache;
use crate::processor::view::RecordClass;
use crate::report::ReadReport;
use crate::request::{Access, AccessKind, Op, Request};
use crate::source::Source;
use clockhand_quantity::{Text, option};

/// How many requests a batch holds, give or take those of one line; small enough to stay in a
/// processor's second-level cache between the reader and its consumer.
pub(crate) const BATCH_REQUESTS: usize = 16 * 1024;

/// Names and labels may take this part of the limit on memory: results hold a copy, and pages have to fit beside.
const SHARE_OF_LIMIT: u64 = 2;
/// How many bytes a piece of a longer request has: whole blocks of any usual size.
pub(crate) const PIECE_BYTES: u32 = u32::MAX - (1 << 20) + 1;
/// No device takes a request as long; it is a number of something else.
pub(crate) const LONGEST_REQUEST_BYTES: u64 = 1 << 40;
const PAST_THE_END: &str = "runs past the end of the 64-bit address space";

/// What is wrong with a line or record, as the end of a sentence that begins with its place.
#[derive(Debug)]
pub(crate) enum Fault {
    /// This line or record is malformed; it is counted and the next one may be good.
    Record(Cow<'static, str>),
    /// The whole trace cannot be read; the text also says what to do.
    Trace(Text),
}

impl From<&'static str> for Fault {
    fn from(reason: &'static str) -> Self {
        Self::Record(Cow::Borrowed(reason))
    }
}

impl From<String> for Fault {
    fn from(reason: String) -> Self {
        Self::Record(Cow::Owned(reason))
    }
}

/// Collects one batch of requests, and the report over all batches.
#[derive(Default)]
pub(crate) struct Output {
    pub(crate) requests: Vec<Request>,
    /// All events in their order, if they are wanted; then event formats give no requests.
    pub(crate) events: Option<Vec<Event>>,
    /// True if the trace can hold events that are not requests.
    pub(crate) holds_events: bool,
    pub(crate) report: ReadReport,
    pub(crate) cpu_cache: Option<CpuCache>,
    /// True if the requests tell why a cache let them through.
    pub(crate) has_classes: bool,
    /// True if requests without a recorded operation are reads.
    pub(crate) assume_reads: bool,
    /// The largest block of a study that wants objects as they live: with sizes, deletes and lifetimes.
    pub(crate) object_block_bytes: Option<u64>,
    /// The memory that is taken for that.
    pub(crate) objects_bytes: u64,
    /// The last time of the batches before.
    pub(crate) last_time_ns: u64,
    /// Where the unit of the trace's times can be mistaken.
    pub(crate) time_check: Option<TimeCheck>,
    pub(crate) kept: Kept,
}

/// The bytes of the report's names and labels, as counted so far.
#[derive(Default)]
pub(crate) struct Kept {
    names: usize,
    labels: usize,
    bytes: u64,
}

/// The bytes of a name or label beside its letters, in the report and in the tables that find it.
const BYTES_PER_NAME: u64 = 128;

impl Output {
    /// An output without requests.
    pub(crate) fn new(report: ReadReport, cpu_cache: Option<CpuCache>) -> Self {
        Self { report, has_classes: cpu_cache.is_some(), cpu_cache, ..Self::default() }
    }

    /// Bytes of all names and labels so far: those that came since the last call are added.
    pub(crate) fn kept_bytes(&mut self) -> u64 {
        let report = &self.report;
        let names = report.stream_names.iter().skip(self.kept.names).map(String::len);
        let labels = report.labels.iter().skip(self.kept.labels);
        let labels = labels.map(|(key, value)| key.len() + value.len());
        // The letters of a name stand in the report, and once more where its number is looked up.
        let bytes = names.chain(labels).map(|letters| 2 * letters as u64 + BYTES_PER_NAME);
        self.kept = Kept {
            names: report.stream_names.len(),
            labels: report.labels.len(),
            bytes: self.kept.bytes + bytes.sum::<u64>(),
        };
        self.kept.bytes
    }

    /// Refuses to read on if what is kept of a trace beside its requests takes too much: names and labels, and what else
    /// the format says.
    pub(crate) fn check_kept(
        &mut self,
        others_bytes: u64,
        source: &Source,
    ) -> Result<(), TraceError> {
        let limit_bytes = source.memory_limit_bytes();
        if self.kept_bytes().saturating_add(others_bytes) <= limit_bytes / SHARE_OF_LIMIT {
            return Ok(());
        }
        Err(TraceError::too_much_memory(
            source.file(),
            "its names of files or streams, and its labels, take, with what is made of them,",
            Text::from("take a part with ") + option("limit"),
            limit_bytes,
        ))
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.requests.len() + self.events.as_ref().map_or(0, Vec::len) >= BATCH_REQUESTS
    }

    /// Takes a request; one without bytes is counted instead. Behind a CPU cache reads are loads.
    ///
    /// Nearly all are ordinary, so that this much is inlined where they are read.
    #[inline(always)]
    pub(crate) fn request(&mut self, request: Request) -> Result<(), Fault> {
        let is_inside = request.address.checked_add(u64::from(request.bytes)).is_some();
        let has_time = request.time_ns != Some(scan::UNREADABLE_TIME_NS);
        let is_ordinary = request.bytes > 0 && is_inside && has_time;
        if is_ordinary && self.cpu_cache.is_none() && self.events.is_none() {
            self.requests.push(request);
            return Ok(());
        }
        // By its parts: what a call takes whole is put together in memory, and the push above would wait for that.
        let Request { op, address, bytes, stream, time_ns, class } = request;
        self.other_request(op, address, bytes, stream, time_ns, class)
    }

    /// Takes the events of a request of this many bytes, which `event` makes of the offset and bytes of each piece.
    pub(crate) fn event_of(
        &mut self,
        size_bytes: u64,
        event: impl Fn(u64, u32) -> Event,
    ) -> Result<(), Fault> {
        if let Ok(bytes) = u32::try_from(size_bytes) {
            return self.event(event(0, bytes));
        }
        if size_bytes > LONGEST_REQUEST_BYTES {
            return Err("has a size above 1 TiB".into());
        }
        self.report.long_requests += 1;
        let mut offset = 0;
        while offset < size_bytes {
            let bytes = (size_bytes - offset).min(PIECE_BYTES.into());
            self.event(event(offset, bytes as u32))?;
            offset += bytes;
        }
        Ok(())
    }

    /// Takes a request of this many bytes, whatever it says itself: one of 4 GiB or more is read in pieces.
    #[inline(always)]
    pub(crate) fn request_of(&mut self, size_bytes: u64, request: Request) -> Result<(), Fault> {
        match u32::try_from(size_bytes) {
            Ok(bytes) => self.request(Request { bytes, ..request }),
            Err(_) => {
                let Request { op, address, stream, time_ns, class, .. } = request;
                self.long_request(size_bytes, op, address, stream, time_ns, class)
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn long_request(
        &mut self,
        size_bytes: u64,
        op: Op,
        address: u64,
        stream: u32,
        time_ns: Option<u64>,
        class: Option<RecordClass>,
    ) -> Result<(), Fault> {
        let request = Request { op, address, bytes: 0, stream, time_ns, class };
        if size_bytes > LONGEST_REQUEST_BYTES {
            return Err("has a size above 1 TiB".into());
        }
        if request.address.checked_add(size_bytes - 1).is_none() {
            return Err(PAST_THE_END.into());
        }
        self.report.long_requests += 1;
        let (mut address, mut rest) = (request.address, size_bytes);
        while rest > 0 {
            let bytes = rest.min(PIECE_BYTES.into());
            self.request(Request { address, bytes: bytes as u32, ..request })?;
            (address, rest) = (address.saturating_add(bytes), rest - bytes);
        }
        Ok(())
    }

    #[inline(never)]
    fn other_request(
        &mut self,
        op: Op,
        address: u64,
        bytes: u32,
        stream: u32,
        time_ns: Option<u64>,
        class: Option<RecordClass>,
    ) -> Result<(), Fault> {
        let request = Request { op, address, bytes, stream, time_ns, class };
        if request.time_ns == Some(scan::UNREADABLE_TIME_NS) {
            let time_ns = Some(self.time_before());
            return self.request(Request { time_ns, ..request });
        }
        if self.cpu_cache.is_some() {
            let kind = if request.op == Op::Read { AccessKind::Load } else { AccessKind::Store };
            return self.access(Access { kind, address: request.address, bytes: request.bytes });
        }
        if self.touches_bytes(request.address, request.bytes)? {
            match &mut self.events {
                // Between events that are no requests it keeps its place.
                Some(events) if self.holds_events => events.push(Event::from(request)),
                _ => self.requests.push(request),
            }
        }
        Ok(())
    }

    /// The time of the request or event before, for one whose own cannot be read; counted for the report.
    pub(crate) fn time_before(&mut self) -> u64 {
        self.report.unreadable_times += 1;
        let mut events = self.events.iter().flatten().filter_map(|event| event.time_ns);
        let of_event = events.next_back();
        let of_request = self.requests.last().and_then(|request| request.time_ns);
        of_request.or(of_event).unwrap_or(self.last_time_ns)
    }

    /// Takes an access of a processor, through the CPU cache if there is one.
    #[inline]
    pub(crate) fn access(&mut self, access: Access) -> Result<(), Fault> {
        if !self.touches_bytes(access.address, access.bytes)? {
            return Ok(());
        }
        match &mut self.cpu_cache {
            None => self.requests.push(access.into()),
            Some(cache) => cache.access(access, |request| self.requests.push(request)),
        }
        Ok(())
    }

    /// Takes an event. A consumer that wants only requests gets its read or write; everything else is counted for the
    /// report.
    pub(crate) fn event(&mut self, event: Event) -> Result<(), Fault> {
        if !self.does_something(&event.action)? {
            return Ok(());
        }
        if event.time_ns == Some(scan::UNREADABLE_TIME_NS) {
            let time_ns = Some(self.time_before());
            return self.event(Event { time_ns, ..event });
        }
        match (&mut self.events, event.request()) {
            (Some(events), request) => {
                if request.is_none() {
                    self.report.count_event(event.action.plural());
                }
                events.push(event);
            }
            (None, Some(request)) => self.requests.push(request),
            (None, None) => self.report.pass_over(event.action.plural()),
        }
        Ok(())
    }

    /// Counts an event without bytes, which does nothing.
    fn does_something(&mut self, action: &Action) -> Result<bool, Fault> {
        match *action {
            Action::Memory { address, bytes, .. }
            | Action::ForcedWrite { address, bytes }
            | Action::Call { offset: address, bytes, .. }
            | Action::Direct { offset: address, bytes, .. } => self.touches_bytes(address, bytes),
            Action::Release { bytes: 0, .. } | Action::Discard { bytes: 0, .. } => {
                self.report.zero_size_requests += 1;
                Ok(false)
            }
            _ => Ok(true),
        }
    }

    #[inline]
    fn touches_bytes(&mut self, address: u64, bytes: u32) -> Result<bool, Fault> {
        let Some(to_last_byte) = bytes.checked_sub(1) else {
            self.report.zero_size_requests += 1;
            return Ok(false);
        };
        if address.checked_add(u64::from(to_last_byte)).is_none() {
            return Err(PAST_THE_END.into());
        }
        Ok(true)
    }
}
