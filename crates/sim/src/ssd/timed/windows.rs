//! A run in windows of time: what completed in each, and what was decided.

use clockhand_device::flash::Counters;
use clockhand_device::flash::time::{CompletedRequest, Latencies, RequestKind};

/// What happened in a window.
#[derive(Clone, Debug, Default)]
pub(in crate::ssd) struct Window {
    /// Nanoseconds of all windows, and at which it begins.
    pub(in crate::ssd) span_ns: u64,
    pub(in crate::ssd) begins_ns: u64,
    pub(in crate::ssd) requests: u64,
    pub(in crate::ssd) reads: Latencies,
    pub(in crate::ssd) writes: Latencies,
    pub(in crate::ssd) flushes: Latencies,
    pub(in crate::ssd) read_pages: u64,
    pub(in crate::ssd) write_pages: u64,
    /// What the drive counted in it.
    pub(in crate::ssd) counters: Counters,
}

/// The windows of a run, if there are to be any.
pub(super) struct Windows {
    span_ns: Option<u64>,
    windows: Vec<Window>,
    /// What the drive had counted when the window of the last decision began, and which one that is.
    before: Counters,
    decided: usize,
}

impl Windows {
    pub(super) fn new(span_ns: Option<u64>) -> Self {
        Windows { span_ns, windows: Vec::new(), before: Counters::default(), decided: 0 }
    }

    fn window(&mut self, span_ns: u64, number: usize) -> &mut Window {
        while self.windows.len() <= number {
            let begins_ns = self.windows.len() as u64 * span_ns;
            self.windows.push(Window { span_ns, begins_ns, ..Window::default() });
        }
        &mut self.windows[number]
    }

    /// Decisions follow at this time; the drive has counted this so far.
    #[inline]
    pub(super) fn reach(&mut self, now_ns: u64, counters: &Counters) {
        let Some(span_ns) = self.span_ns else { return };
        let number = (now_ns / span_ns) as usize;
        if number > self.decided {
            self.take(span_ns, counters);
            self.decided = number;
        }
    }

    fn take(&mut self, span_ns: u64, counters: &Counters) {
        let since = counters.since(&self.before);
        let number = self.decided;
        self.window(span_ns, number).counters = since;
        self.before = *counters;
    }

    pub(super) fn complete(&mut self, request: &CompletedRequest, pages: u32) {
        let Some(span_ns) = self.span_ns else { return };
        let window = self.window(span_ns, (request.end_ns / span_ns) as usize);
        window.requests += 1;
        let latency_ns = request.latency_ns();
        match request.kind {
            RequestKind::Read => {
                window.reads.add(latency_ns);
                window.read_pages += u64::from(pages);
            }
            RequestKind::Write | RequestKind::ForcedWrite => {
                window.writes.add(latency_ns);
                window.write_pages += u64::from(pages);
            }
            RequestKind::Flush => window.flushes.add(latency_ns),
            RequestKind::Trim => {}
        }
    }

    /// All windows of a run that ended at `end_ns`.
    pub(super) fn finish(&mut self, end_ns: u64, counters: &Counters) -> Vec<Window> {
        let Some(span_ns) = self.span_ns else { return Vec::new() };
        self.take(span_ns, counters);
        self.window(span_ns, (end_ns / span_ns) as usize);
        std::mem::take(&mut self.windows)
    }
}
