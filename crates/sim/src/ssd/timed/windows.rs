//! A run in windows of time: what completed in each, and what was decided.

use clockhand_device::flash::Counters;
use clockhand_device::flash::time::{CompletedRequest, Latencies, RequestKind};

use super::waits::{Moment, Waits};

/// Windows of a run whose length no one asked for; they become twice as long where there would be more.
const MOST_WINDOWS: u64 = 256;
const FIRST_SPAN_NS: u64 = 1 << 14;

/// What happened in a window.
#[derive(Clone, Debug, Default)]
pub(in crate::ssd) struct Window {
    /// Nanoseconds of all windows, and the begin of this one.
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
    read_waits: Waits,
    write_waits: Waits,
    /// The drive's counts at its end, if anything was decided in it.
    counted: Option<Counters>,
}

impl Window {
    /// What is shown of it over time.
    pub(super) fn moment(&self) -> Moment {
        Moment {
            begins_ns: self.begins_ns,
            reads: self.read_waits,
            writes: self.write_waits,
            host_writes: self.counters.host_writes,
            relocations: self.counters.relocations,
            erases: self.counters.erases,
        }
    }

    /// Its successor becomes a part of it; only what [`Self::moment`] tells is known of both.
    fn absorb(&mut self, next: &Window) {
        self.read_waits.merge(&next.read_waits);
        self.write_waits.merge(&next.write_waits);
        self.counted = next.counted.or(self.counted);
    }
}

/// The windows of a run.
pub(super) struct Windows {
    span_ns: u64,
    /// True if rows of windows of this very span are wanted.
    is_asked: bool,
    windows: Vec<Window>,
    /// The window of the last decision, and when it ends.
    decided: usize,
    decided_until_ns: u64,
}

impl Windows {
    /// Windows of this span if rows of them are wanted.
    pub(super) fn new(asked_ns: Option<u64>) -> Self {
        let span_ns = asked_ns.unwrap_or(FIRST_SPAN_NS);
        Windows {
            span_ns,
            is_asked: asked_ns.is_some(),
            windows: Vec::new(),
            decided: 0,
            decided_until_ns: span_ns,
        }
    }

    /// The number of the window of a time.
    fn number(&mut self, now_ns: u64) -> usize {
        while !self.is_asked && now_ns / self.span_ns >= MOST_WINDOWS {
            self.double();
        }
        (now_ns / self.span_ns) as usize
    }

    fn double(&mut self) {
        let pairs = self.windows.chunks(2).map(|pair| {
            let mut window = pair[0].clone();
            pair[1..].iter().for_each(|next| window.absorb(next));
            window
        });
        self.windows = pairs.collect();
        self.span_ns *= 2;
        self.decided /= 2;
        self.decided_until_ns = (self.decided as u64 + 1).saturating_mul(self.span_ns);
    }

    fn window(&mut self, number: usize) -> &mut Window {
        if number >= self.windows.len() {
            self.windows.resize_with(number + 1, Window::default);
        }
        &mut self.windows[number]
    }

    /// Decisions follow at this time; the drive has counted this so far.
    #[inline]
    pub(super) fn reach(&mut self, now_ns: u64, counters: &Counters) {
        if now_ns >= self.decided_until_ns {
            let before = self.decided;
            self.window(before).counted = Some(*counters);
            self.decided = self.number(now_ns);
            self.decided_until_ns = (self.decided as u64 + 1).saturating_mul(self.span_ns);
        }
    }

    /// A request is complete; its number of pages is known if rows of windows are wanted.
    pub(super) fn complete(&mut self, request: &CompletedRequest, pages: Option<u32>) {
        let number = self.number(request.end_ns);
        let is_asked = self.is_asked;
        let window = self.window(number);
        match request.kind {
            RequestKind::Read => window.read_waits.add(request),
            RequestKind::Write | RequestKind::ForcedWrite => window.write_waits.add(request),
            RequestKind::Trim | RequestKind::Flush => {}
        }
        if !is_asked {
            return;
        }
        window.requests += 1;
        let (latency_ns, pages) = (request.latency_ns(), u64::from(pages.unwrap_or(0)));
        match request.kind {
            RequestKind::Read => {
                window.reads.add(latency_ns);
                window.read_pages += pages;
            }
            RequestKind::Write | RequestKind::ForcedWrite => {
                window.writes.add(latency_ns);
                window.write_pages += pages;
            }
            RequestKind::Flush => window.flushes.add(latency_ns),
            RequestKind::Trim => {}
        }
    }

    /// All windows of a run that ended at `end_ns`.
    pub(super) fn finish(&mut self, end_ns: u64, counters: &Counters) -> Vec<Window> {
        let last = self.number(end_ns);
        self.window(last);
        let decided = self.decided;
        self.window(decided).counted = Some(*counters);
        let mut before = Counters::default();
        for (number, window) in self.windows.iter_mut().enumerate() {
            let counted = window.counted.unwrap_or(before);
            window.counters = counted.since(&before);
            window.span_ns = self.span_ns;
            window.begins_ns = number as u64 * self.span_ns;
            before = counted;
        }
        std::mem::take(&mut self.windows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(host_writes: u64) -> Counters {
        Counters { host_writes, ..Counters::default() }
    }

    fn write(end_ns: u64) -> CompletedRequest {
        CompletedRequest {
            index: 0,
            kind: RequestKind::Write,
            arrival_ns: 0,
            accepted_ns: 0,
            decided_ns: 0,
            end_ns,
            buffer_wait_ns: 0,
            collection_wait_ns: 0,
            flash_wait_ns: 0,
        }
    }

    #[test]
    fn windows_that_no_one_asked_for_double_and_lose_nothing() {
        let mut windows = Windows::new(None);
        for number in 0..10_000_u64 {
            let now_ns = number * number * 100;
            windows.reach(now_ns, &counted(number));
            windows.complete(&write(now_ns), None);
        }
        let end_ns = 9_999 * 9_999 * 100;
        let moments: Vec<Moment> =
            windows.finish(end_ns, &counted(10_000)).iter().map(Window::moment).collect();
        assert!((128..=256).contains(&moments.len()), "{}", moments.len());
        assert_eq!(moments.iter().map(|moment| moment.writes.requests).sum::<u64>(), 10_000);
        assert_eq!(moments.iter().map(|moment| moment.host_writes).sum::<u64>(), 10_000);
        let span_ns = moments[1].begins_ns;
        for (number, moment) in moments.iter().enumerate() {
            let begins_ns = number as u64 * span_ns;
            let inside = |time_ns: u64| (begins_ns..begins_ns + span_ns).contains(&time_ns);
            let expected = (0..10_000_u64).filter(|number| inside(number * number * 100)).count();
            assert_eq!(moment.writes.requests, expected as u64);
            assert_eq!(moment.host_writes, expected as u64);
        }
    }
}
