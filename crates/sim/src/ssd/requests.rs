//! The requests of a trace as page ranges of its own address spaces, kept for all cells, and the commands that a
//! drive is given between them.

use std::collections::BTreeMap;

use clockhand_quantity::{Text, option};
use clockhand_trace::{Action, Event, Op, ReadReport, Request, TraceError, TraceInput};

use crate::error::SimError;
use clockhand_trace::progress::Progress;

/// One request: the bytes it touches in its stream. 16 bytes, because long traces have many.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByteRange {
    address: u64,
    bytes: u32,
    /// The stream's number among those of the trace in its low 30 bits; the top bit says that it writes, the next one
    /// that it forces unit access.
    stream_and_op: u32,
}

const WRITES: u32 = 1 << 31;
const FORCES: u32 = 1 << 30;
const OP: u32 = WRITES | FORCES;
/// The most streams of a trace.
const LIMIT_STREAMS: usize = FORCES as usize;

impl ByteRange {
    /// One of no bytes, for tests that place pages by hand.
    #[cfg(test)]
    pub(super) fn of_op(writes: bool, forces: bool, stream: u32) -> Self {
        let op = if writes { WRITES } else { 0 } | if forces { FORCES } else { 0 };
        ByteRange { address: 0, bytes: 0, stream_and_op: op | stream }
    }

    /// Returns whether it writes.
    pub(super) fn is_write(self) -> bool {
        self.stream_and_op & WRITES != 0
    }

    /// Returns whether it must be persistent before it is answered.
    pub(super) fn is_forced(self) -> bool {
        self.stream_and_op & FORCES != 0
    }

    /// The position of its stream in [`RequestList::streams`].
    pub(super) fn stream(self) -> usize {
        (self.stream_and_op & !OP) as usize
    }

    /// Whether its first page begins before it, and its last one goes on behind it.
    pub(super) fn is_inside(self, page_bytes: u32) -> (bool, bool) {
        let page_bytes = u64::from(page_bytes);
        let end = self.address.saturating_add(self.bytes.max(1).into());
        (!self.address.is_multiple_of(page_bytes), !end.is_multiple_of(page_bytes))
    }

    /// The first and the last page it touches.
    pub(super) fn pages(self, page_bytes: u32) -> (u64, u64) {
        let page_bytes = u64::from(page_bytes);
        let last_byte = self.address.saturating_add(u64::from(self.bytes.max(1) - 1));
        (self.address / page_bytes, last_byte / page_bytes)
    }
}

/// The commands of a drive besides reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// All that was written before must be persistent.
    Flush,
    /// These bytes of a stream, by its number in the trace, are not needed any more.
    Trim {
        /// The stream.
        stream: u32,
        /// First byte.
        address: u64,
        /// Bytes.
        bytes: u64,
    },
}

/// A command, and before which request it comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    /// Index of the request.
    pub(super) before: usize,
    /// What it says.
    pub(super) told: Told,
}

/// When requests and commands come. Unit: nanoseconds.
#[derive(Default)]
pub(super) struct RequestTimes {
    /// Of each request; 0 where the trace says nothing.
    pub(super) of_requests: Vec<u64>,
    /// Of each command that has one.
    pub(super) of_commands: Vec<Option<u64>>,
}

/// A trace in memory, with what was found while it was read.
pub(super) struct RequestList {
    /// The requests in their order.
    pub(super) requests: Vec<ByteRange>,
    /// The commands in their order.
    pub(super) commands: Vec<Command>,
    /// The trace's stream numbers, ascending, and the last byte that each touches.
    pub(super) streams: Vec<(u32, u64)>,
    /// Nanoseconds from the first request to the last, if the trace has times.
    pub(super) span_ns: Option<u64>,
    /// When requests and commands come, if that is asked for.
    pub(super) times: Option<RequestTimes>,
    /// Format, skipped lines, labels, hash.
    pub(super) report: ReadReport,
}

impl RequestList {
    /// Bytes of its lists.
    pub(super) fn memory_bytes(&self) -> u64 {
        let times = self
            .times
            .as_ref()
            .map_or(0, |times| size_of_val(&*times.of_requests) + size_of_val(&*times.of_commands));
        (size_of_val(&*self.requests) + size_of_val(&*self.commands) + times) as u64
    }

    /// Reads a trace to its end, with the time of each request if `keeps_times`.
    ///
    /// # Errors
    ///
    /// Those of the reader; a trace without any request.
    pub(super) fn read(
        input: &TraceInput,
        keeps_times: bool,
        progress: &Progress,
    ) -> Result<Self, SimError> {
        let (mut requests, mut commands) = (Vec::new(), Vec::new());
        let mut kept = keeps_times.then(RequestTimes::default);
        let mut streams = Streams::default();
        let mut times = Times::default();
        let limit_bytes = input.memory_limit_bytes();
        let mut report = input.for_each_event_batch(progress, &mut |batch| {
            let taken_bytes = (requests.len() + batch.len()) * size_of::<ByteRange>()
                + commands.len() * size_of::<Command>()
                + kept.as_ref().map_or(0, |kept| kept.of_requests.len() * size_of::<u64>());
            if taken_bytes as u64 > limit_bytes || streams.met.len() > LIMIT_STREAMS {
                return Err(TraceError::too_much_memory(
                    &input.name(),
                    "its requests take",
                    Text::from("take a part with ") + option("limit"),
                    limit_bytes,
                ));
            }
            for event in batch {
                if let Some(request) = event.request() {
                    let is_forced = matches!(event.action, Action::ForcedWrite { .. });
                    requests.push(streams.take(&request, is_forced));
                    times.take(&request);
                    if let Some(kept) = &mut kept {
                        kept.of_requests.push(request.time_ns.unwrap_or(0));
                    }
                } else if let Some(told) = told(event) {
                    commands.push(Command { before: requests.len(), told });
                    if let Some(kept) = &mut kept {
                        kept.of_commands.push(event.time_ns);
                    }
                }
            }
            Ok(())
        })?;
        note_events(&mut report);
        if requests.is_empty() {
            return Err(SimError::usage(
                format!("{}: the trace has no request", input.name()),
                "give one that has",
            ));
        }
        let streams = streams.in_order(&mut requests);
        let mut span_ns = times.span_ns();
        if times.are_made_up() {
            span_ns = None;
            report.notes.push(
                "its times are 1 µs apart throughout, as a conversion makes them up for a trace without times; they tell \
                 no rate, so no years of life"
                    .to_owned(),
            );
        }
        Ok(RequestList { requests, commands, streams, span_ns, times: kept, report })
    }
}

/// The commands that an event other than a request gives a drive.
fn told(event: &Event) -> Option<Told> {
    match event.action {
        Action::Sync | Action::SyncAll => Some(Told::Flush),
        Action::Discard { address, bytes } => {
            Some(Told::Trim { stream: event.object, address, bytes })
        }
        _ => None,
    }
}

/// Says which events the drive learned of, and which were left out.
fn note_events(report: &mut ReadReport) {
    let is_told = |&&(what, _): &&(&str, u64)| matches!(what, "syncs" | "discards");
    let listed = |events: Vec<&(&str, u64)>| {
        events
            .iter()
            .map(|(what, count)| format!("{what} ({count})"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let told = listed(report.events.iter().filter(is_told).collect());
    let left_out = listed(report.events.iter().filter(|event| !is_told(event)).collect());
    if !told.is_empty() {
        report
            .notes
            .push(format!("the drive hears of syncs as FLUSH and of discards as TRIM: {told}"));
    }
    if !left_out.is_empty() {
        report.notes.push(format!("left out because a drive does not hear of them: {left_out}"));
    }
}

/// Streams in the order they were met, until all are known.
#[derive(Default)]
struct Streams {
    numbers: BTreeMap<u32, u32>,
    met: Vec<(u32, u64)>,
}

impl Streams {
    fn take(&mut self, request: &Request, is_forced: bool) -> ByteRange {
        let next = self.met.len() as u32;
        let position = *self.numbers.entry(request.stream).or_insert(next);
        if position == next {
            self.met.push((request.stream, 0));
        }
        let last_byte = request.address.saturating_add(u64::from(request.bytes.max(1) - 1));
        let known = &mut self.met[position as usize].1;
        *known = last_byte.max(*known);
        let op = if request.op == Op::Write { WRITES } else { 0 };
        let op = op | if is_forced { FORCES } else { 0 };
        ByteRange { address: request.address, bytes: request.bytes, stream_and_op: position | op }
    }

    /// Renumbers the streams in the order of their own numbers.
    fn in_order(self, requests: &mut [ByteRange]) -> Vec<(u32, u64)> {
        let mut place_of = vec![0; self.met.len()];
        for (place, &position) in self.numbers.values().enumerate() {
            place_of[position as usize] = place as u32;
        }
        for request in requests {
            let op = request.stream_and_op & OP;
            request.stream_and_op = place_of[request.stream()] | op;
        }
        self.numbers.values().map(|&position| self.met[position as usize]).collect()
    }
}

/// The earliest and the latest time; none as soon as a request has none.
#[derive(Default)]
struct Times {
    range: Option<(u64, u64)>,
    missing: bool,
    last_ns: u64,
    /// The one distance that requests have unless they have the same time.
    step_ns: Option<u64>,
    is_uneven: bool,
    /// Requests of the last time.
    of_last: u64,
    /// Requests of the first time, once there is another.
    of_first: Option<u64>,
    /// Requests of each time between the first and the last, as long as they are as many for all.
    of_each: Option<u64>,
}

/// What `trace convert` puts between the requests of a trace without times.
const MADE_UP_STEP_NS: u64 = 1_000;

impl Times {
    fn take(&mut self, request: &Request) {
        let Some(time) = request.time_ns else {
            self.missing = true;
            return;
        };
        let (first, last) = self.range.unwrap_or((time, time));
        if self.range.is_some() && time != self.last_ns {
            let step_ns = time.wrapping_sub(self.last_ns);
            self.is_uneven |= *self.step_ns.get_or_insert(step_ns) != step_ns;
            match self.of_first {
                None => self.of_first = Some(self.of_last),
                Some(_) => {
                    self.is_uneven |= *self.of_each.get_or_insert(self.of_last) != self.of_last;
                }
            }
            self.of_last = 0;
        }
        self.of_last += 1;
        self.last_ns = time;
        self.range = Some((first.min(time), last.max(time)));
    }

    /// Returns whether the times rise in equal steps and with a request per microsecond, whole or cut to a coarser
    /// unit.
    fn are_made_up(&self) -> bool {
        let (Some(step_ns), Some(of_first)) = (self.step_ns, self.of_first) else { return false };
        let of_step = step_ns / MADE_UP_STEP_NS;
        let begins_at_0 = self.range.is_some_and(|(first, _)| first == 0) && of_first == of_step;
        let shows_it =
            self.of_each.map_or(of_step == 1 || begins_at_0, |of_each| of_each == of_step);
        !self.is_uneven
            && step_ns % MADE_UP_STEP_NS == 0
            && of_first.max(self.of_last) <= of_step
            && shows_it
    }

    fn span_ns(&self) -> Option<u64> {
        let (first, last) = self.range.filter(|_| !self.missing)?;
        Some(last - first)
    }
}
