//! A buffer on a drive in time: the decisions are those of the counting run, taken when each request has come so far.

mod arrivals;
mod below;
pub(super) mod columns;
mod latency;
mod requests;
#[cfg(test)]
mod tests;
mod waits;
mod windows;

use clockhand_device::flash::time::{
    Arrivals, Asked, CompletedRequest, Decision, Latencies, RequestKind, TimeOptions, TimedDrive,
    TimedError, Timing, Workload,
};
use clockhand_device::flash::{Counters, Drive, LogicalPage as FlashPage, WriteError};
use clockhand_policy::LogicalPage;
use clockhand_policy::buffer::{Request, WriteBuffer, catalog};

pub use arrivals::TimedArrivals;
pub(super) use arrivals::{ArrivalTimes, arrival_times};
use below::TimedBelow;
pub use latency::{LatencyRow, LatencyRows};
pub(super) use requests::count;
use requests::{Cursor, Item};
use waits::LatencyClasses;
pub use waits::{LatencyClass, Moment, TimeDetail, Waits};
pub(super) use windows::Window;
use windows::Windows;

use super::below::Buffered;
use super::cell::{Finished, finish, refused};
use super::course::{Course, Repeat};
use super::placement::{Placed, PlacedCommand};
use crate::error::SimError;
use crate::intervals::{Cuts, Notes};
use clockhand_trace::progress::Progress;

/// Requests whose pages are looked up together, before they are decided.
const AHEAD: usize = 64;
/// Requests between two checks whether the run is to end.
const LOOK_EVERY: u64 = 1 << 14;

/// What a timed run gave beside its counts.
#[derive(Clone, Debug)]
pub(super) struct Timed {
    pub(super) timing: Timing,
    pub(super) reads: Latencies,
    pub(super) writes: Latencies,
    pub(super) flushes: Latencies,
    pub(super) read_pages: u64,
    pub(super) write_pages: u64,
    /// True if requests arrived faster than they were taken; none if they waited for others.
    pub(super) is_saturated: bool,
    /// Requests of all repetitions.
    pub(super) requests: u64,
    pub(super) drain_ns: Option<u64>,
    /// The rows of its windows, if they are wanted.
    pub(super) windows: Vec<Window>,
    pub(super) latencies: LatencyRows,
    pub(super) detail: TimeDetail,
}

/// Options of a timed run.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// The drive as the user wrote it.
    pub(super) ssd: String,
    pub(super) options: TimeOptions,
    /// Nanoseconds of a window, if there are to be any.
    pub(super) window_ns: Option<u64>,
    /// Keeps the latency of each request.
    pub(super) keeps_latencies: bool,
    /// Whether FLUSH and FUA mean nothing.
    pub(super) is_paper: bool,
    /// Repetitions of the trace, at most if they end with a saturated one.
    pub(super) repetitions: u32,
    pub(super) ends_saturated: bool,
}

/// A timed run of one buffer, before the buffer is known in its type.
pub(super) struct TimedCell<'a> {
    pub(super) trace: &'a Placed,
    pub(super) arrivals: &'a ArrivalTimes,
    pub(super) drive: Drive,
    pub(super) drain: bool,
    pub(super) repeat: Repeat,
    pub(super) wanted: Wanted,
    pub(super) progress: &'a Progress,
    /// Records operations, for tests.
    pub(super) records: bool,
}

/// A timed cell that was run.
pub(super) struct TimedFinished {
    pub(super) finished: Finished,
    pub(super) timed: Timed,
    #[cfg_attr(not(test), allow(dead_code, reason = "only tests look at each operation"))]
    pub(super) operations: Vec<clockhand_device::flash::time::OperationRecord>,
}

impl catalog::Visitor for TimedCell<'_> {
    type Output = Result<TimedFinished, SimError>;

    fn visit<B: WriteBuffer + 'static>(self, mut buffer: B) -> Self::Output {
        let TimedCell { trace, arrivals, drive, drain, repeat, wanted, progress, records } = self;
        buffer.foresee(&mut trace.writes());
        let capacity = buffer.capacity();
        let course = Course::new(repeat, drive.capacity().logical_pages);
        let (dram_pages, nvm_pages) = (capacity.dram_pages, capacity.nvm_pages);
        let mut timed = TimedDrive::new(drive, wanted.options.clone(), dram_pages, nvm_pages);
        if records {
            timed.record_operations();
        }
        let mut run =
            TimedRun::new(Buffered::new(buffer), trace, arrivals, course, &wanted, progress);
        let timing = timed.run(arrivals.arrivals(), &mut run).map_err(|error| match error {
            TimedError::Workload(error) => error,
            TimedError::Stuck { complete } => SimError::Unserved { complete },
        })?;
        let mut drain_ns = None;
        if drain {
            let buffered = &mut run.buffered;
            let drained = timed.drain(|decision| {
                buffered.serve(Request::Drain, &mut TimedBelow::new(decision));
                Ok::<(), SimError>(())
            });
            drain_ns = Some(drained?);
        }
        let operations = timed.operations().to_vec();
        let drive = timed.into_drive();
        Ok(run.finish(timing, drain_ns, drive, operations))
    }
}

struct TimedRun<'a, B> {
    buffered: Buffered<B>,
    trace: &'a Placed,
    arrivals: &'a ArrivalTimes,
    course: Course,
    wanted: &'a Wanted,
    progress: &'a Progress,
    /// Positions of the requests that are asked for, and of those that are decided.
    asked: Cursor,
    decided: Cursor,
    /// Requests of a repetition.
    per_repetition: u64,
    /// When the last request of the present repetition arrives, and how many were accepted until then.
    last_arrival_ns: u64,
    accepted_by_then: u64,
    is_saturated: bool,
    reads: Latencies,
    writes: Latencies,
    flushes: Latencies,
    read_pages: u64,
    write_pages: u64,
    requests: u64,
    read_classes: LatencyClasses,
    write_classes: LatencyClasses,
    windows: Windows,
    latencies: LatencyRows,
}

impl<'a, B: WriteBuffer> TimedRun<'a, B> {
    fn new(
        buffered: Buffered<B>,
        trace: &'a Placed,
        arrivals: &'a ArrivalTimes,
        course: Course,
        wanted: &'a Wanted,
        progress: &'a Progress,
    ) -> Self {
        let per_repetition = requests::count(trace);
        TimedRun {
            buffered,
            trace,
            arrivals,
            course,
            wanted,
            progress,
            asked: Cursor::default(),
            decided: Cursor::default(),
            per_repetition,
            last_arrival_ns: arrivals.of(0, per_repetition - 1),
            accepted_by_then: 0,
            is_saturated: false,
            reads: Latencies::new(),
            writes: Latencies::new(),
            flushes: Latencies::new(),
            read_pages: 0,
            write_pages: 0,
            requests: 0,
            read_classes: LatencyClasses::default(),
            write_classes: LatencyClasses::default(),
            windows: Windows::new(wanted.window_ns),
            latencies: LatencyRows::new(wanted.keeps_latencies || wanted.window_ns.is_some()),
        }
    }

    fn finish(
        mut self,
        timing: Timing,
        drain_ns: Option<u64>,
        drive: Drive,
        operations: Vec<clockhand_device::flash::time::OperationRecord>,
    ) -> TimedFinished {
        let counters = drive.counters();
        let mut windows = self.windows.finish(timing.end_ns, &counters);
        let detail = TimeDetail {
            reads: self.read_classes.into_used(),
            writes: self.write_classes.into_used(),
            moments: windows.iter().map(Window::moment).collect(),
            parts: waits::parts(&timing),
        };
        if self.wanted.window_ns.is_none() {
            windows.clear();
        }
        assert_eq!(timing.requests, self.requests, "a request was not served");
        if !self.wanted.keeps_latencies {
            self.latencies = LatencyRows::new(false);
        }
        let timed = Timed {
            timing,
            reads: self.reads,
            writes: self.writes,
            flushes: self.flushes,
            read_pages: self.read_pages,
            write_pages: self.write_pages,
            is_saturated: self.is_saturated,
            requests: self.requests,
            drain_ns,
            windows,
            latencies: self.latencies,
            detail,
        };
        let whole = Cuts::default();
        let finished = finish(self.buffered, drive, self.course, self.trace, Notes::at(&whole));
        TimedFinished { finished, timed, operations }
    }

    /// Looks up the first pages of the ranges that are decided next.
    fn look_ahead(&self, decision: &Decision<'_>) {
        let mut pages = [FlashPage(0); AHEAD];
        let next = self.decided.ranges(self.trace).iter().take(AHEAD);
        let count = next.len();
        for (page, range) in pages.iter_mut().zip(next) {
            *page = FlashPage(range.first);
            self.buffered.buffer.look_ahead(LogicalPage(range.first.into()));
        }
        decision.look_ahead(&pages[..count]);
    }

    /// Takes the decisions of a request that is a run of ranges.
    fn decide_ranges(
        &mut self,
        ranges: std::ops::Range<usize>,
        decision: &mut Decision<'_>,
    ) -> Result<(), WriteError> {
        for range in &self.trace.ranges[ranges] {
            let op = (range.is_write(), range.is_forced());
            for page in range.pages() {
                let buffered = &self.buffered.buffer;
                if range.is_partial(page) && buffered.place_of(LogicalPage(page.into())).is_none() {
                    decision.modify(FlashPage(page));
                }
                if range.is_write() {
                    decision.wrote(FlashPage(page), range.stream());
                }
                let below = &mut TimedBelow::new(decision);
                self.buffered.reference(LogicalPage(page.into()), op, below);
                if let Some(error) = below.refused() {
                    return Err(error);
                }
            }
            if self.course.is_window_over(self.buffered.counts.flushed()) {
                self.course.end_window_inside(&decision.counters());
            }
        }
        Ok(())
    }

    fn decide_commands(&mut self, commands: std::ops::Range<usize>, decision: &mut Decision<'_>) {
        for (_, command) in &self.trace.commands[commands] {
            let below = &mut TimedBelow::new(decision);
            match command {
                PlacedCommand::Flush => {
                    self.buffered.serve(Request::Flush, below);
                    if !self.wanted.is_paper {
                        decision.flush();
                    }
                }
                PlacedCommand::Trim(pages) => {
                    for page in pages.clone().map(|page| LogicalPage(page.into())) {
                        self.buffered.serve(Request::Trim(page), below);
                    }
                    decision.trim(pages.clone());
                }
            }
        }
    }
}

impl<B: WriteBuffer> Workload for TimedRun<'_, B> {
    type Error = SimError;

    fn request(&mut self, index: u64) -> Option<Asked> {
        let (repetition, within) = (index / self.per_repetition, index % self.per_repetition);
        if within == 0 && index > 0 {
            let ends = self.wanted.ends_saturated && self.is_saturated;
            if ends || repetition >= u64::from(self.wanted.repetitions) {
                return None;
            }
            self.last_arrival_ns = self.arrivals.of(repetition, self.per_repetition - 1);
        }
        let item = self.asked.next(self.trace);
        let (kind, first_page, pages) = item.shape(self.trace);
        self.latencies.ask(index, kind, first_page, pages);
        match kind {
            RequestKind::Read => self.read_pages += u64::from(pages),
            RequestKind::Write | RequestKind::ForcedWrite => self.write_pages += u64::from(pages),
            RequestKind::Trim | RequestKind::Flush => {}
        }
        Some(Asked { arrival_ns: self.arrivals.of(repetition, within), kind, pages })
    }

    fn accepted(&mut self, index: u64, _arrival_ns: u64, now_ns: u64) {
        if now_ns <= self.last_arrival_ns {
            self.accepted_by_then = index + 1;
        }
        if (index + 1).is_multiple_of(self.per_repetition) {
            let late = index.saturating_sub(self.accepted_by_then);
            let is_open = self.arrivals.arrivals() == Arrivals::Open;
            self.is_saturated = is_open && late >= u64::from(self.wanted.options.queue_depth);
        }
    }

    fn decide(&mut self, index: u64, decision: &mut Decision<'_>) -> Result<(), SimError> {
        if index.is_multiple_of(LOOK_EVERY) {
            if self.progress.is_cancelled() {
                return Err(SimError::Interrupted);
            }
            self.progress.add_done(LOOK_EVERY.min(self.per_repetition));
        }
        if index.is_multiple_of(AHEAD as u64) {
            self.look_ahead(decision);
        }
        match self.decided.next(self.trace) {
            Item::Ranges(ranges) => {
                let refused = |error| refused(&self.wanted.ssd, index, error);
                self.decide_ranges(ranges, decision).map_err(refused)?;
            }
            Item::Commands(commands) => self.decide_commands(commands, decision),
        }
        if (index + 1).is_multiple_of(self.per_repetition) {
            self.course.continues(&decision.counters());
        }
        Ok(())
    }

    fn complete(&mut self, request: &CompletedRequest) {
        let latency_ns = request.latency_ns();
        match request.kind {
            RequestKind::Read => {
                self.reads.add(latency_ns);
                self.read_classes.add(request);
            }
            RequestKind::Write | RequestKind::ForcedWrite => {
                self.writes.add(latency_ns);
                self.write_classes.add(request);
            }
            RequestKind::Flush => self.flushes.add(latency_ns),
            RequestKind::Trim => {}
        }
        self.requests += 1;
        let pages = self.latencies.complete(request);
        self.windows.complete(request, pages);
    }

    fn reached(&mut self, now_ns: u64, counters: &Counters) {
        self.windows.reach(now_ns, counters);
    }
}
