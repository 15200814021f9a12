//! Puts requests back into the order of their times, within bounded memory.
//!
//! A log that is written when requests complete is almost in the order of their times: some are a
//! little late. Requests are collected, sorted stably, and passed on except for a window of the
//! latest, which are sorted again together with those that follow. So every request that is at
//! most [`WINDOW_REQUESTS`] late is put in its place. One that is even later is passed on as soon as it is read,
//! and a note counts such requests.

use crate::decode::output::{BATCH_REQUESTS, Output};
use crate::error::TraceError;
use crate::format::Decoder;
use crate::request::Request;
use crate::source::Source;

/// How many requests after its place in time a request may be: what 64 threads write while one
/// of them waits a few seconds for its answer.
const WINDOW_REQUESTS: usize = 256 * 1024;

/// Gives the requests of another decoder in the order of their times; equal times keep the order of
/// the trace.
pub(crate) struct Reordered {
    decoder: Box<dyn Decoder>,
    window_requests: usize,
    /// Requests among which a later one may still belong.
    waiting: Vec<Request>,
    /// Requests in their final order; the first `given` were passed on.
    ready: Vec<Request>,
    given: usize,
    late_requests: u64,
    has_ended: bool,
}

impl Reordered {
    pub(crate) fn new(decoder: Box<dyn Decoder>) -> Self {
        Self::with_window(decoder, WINDOW_REQUESTS)
    }

    fn with_window(decoder: Box<dyn Decoder>, window_requests: usize) -> Self {
        Self {
            decoder,
            window_requests,
            waiting: Vec::new(),
            ready: Vec::new(),
            given: 0,
            late_requests: 0,
            has_ended: false,
        }
    }

    /// Reads on until more than the window waits, and makes the rest ready.
    fn advance(&mut self, source: &mut Source, output: &mut Output) -> Result<(), TraceError> {
        let already_given = output.requests.len();
        while !self.has_ended && self.waiting.len() < 2 * self.window_requests {
            self.has_ended = !self.decoder.decode(source, output)?;
            self.waiting.extend(output.requests.drain(already_given..));
        }
        self.waiting.sort_by_key(|request| request.time_ns);
        if let Some(last) = self.ready.last() {
            let late = self.waiting.partition_point(|request| request.time_ns < last.time_ns);
            self.late_requests += late as u64;
        }
        let kept = if self.has_ended { 0 } else { self.window_requests };
        self.ready.clear();
        self.ready.extend(self.waiting.drain(..self.waiting.len() - kept));
        self.given = 0;
        if self.has_ended && self.late_requests > 0 {
            output.report.notes.push(format!(
                "{} requests stand more than {} requests after their place in time and were left late",
                self.late_requests, self.window_requests
            ));
        }
        Ok(())
    }
}

impl Decoder for Reordered {
    fn decode(&mut self, source: &mut Source, output: &mut Output) -> Result<bool, TraceError> {
        if self.given == self.ready.len() && !self.has_ended {
            self.advance(source, output)?;
        }
        let end = self.ready.len().min(self.given + BATCH_REQUESTS);
        output.requests.extend_from_slice(&self.ready[self.given..end]);
        self.given = end;
        Ok(!self.has_ended || end < self.ready.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Op;

    /// Gives requests at these times, a few at once; the address is the position in the trace.
    struct Given {
        times_ns: Vec<u64>,
        next: usize,
    }

    impl Decoder for Given {
        fn decode(&mut self, _: &mut Source, output: &mut Output) -> Result<bool, TraceError> {
            let end = self.times_ns.len().min(self.next + 3);
            for position in self.next..end {
                let time_ns = Some(self.times_ns[position]);
                let request = Request::new(Op::Read, position as u64, 1);
                output.requests.push(Request { time_ns, ..request });
            }
            self.next = end;
            Ok(end < self.times_ns.len())
        }
    }

    /// Time and position of each request behind a window, and the notes.
    fn reordered(times_ns: &[u64], window: usize) -> (Vec<(u64, u64)>, Vec<String>) {
        let decoder = Given { times_ns: times_ns.to_vec(), next: 0 };
        let mut reordered = Reordered::with_window(Box::new(decoder), window);
        let mut source = Source::from_bytes("the.trace", b"x".to_vec(), 1 << 30).unwrap();
        let mut output = Output::default();
        while reordered.decode(&mut source, &mut output).unwrap() {}
        let places =
            output.requests.iter().map(|request| (request.time_ns.unwrap(), request.address));
        (places.collect(), output.report.notes)
    }

    #[test]
    fn requests_within_the_window_find_their_places_and_equal_times_keep_their_order() {
        // Each stands at most 4 late.
        let times_ns: Vec<u64> =
            (0..200_u64).map(|position| (position / 5) * 5 + 4 - position % 5).collect();
        for window in [4, 5, 64, 1000] {
            let (places, notes) = reordered(&times_ns, window);
            assert!(places.is_sorted_by_key(|&(time_ns, _)| time_ns), "{window}");
            assert_eq!((places.len(), notes.len()), (200, 0));
        }
        let (places, _) = reordered(&[1, 0, 1, 0, 1, 0], 8);
        assert_eq!(places, [(0, 1), (0, 3), (0, 5), (1, 0), (1, 2), (1, 4)]);
    }

    #[test]
    fn requests_behind_the_window_are_given_late_and_counted() {
        let mut times_ns: Vec<u64> = (1..=40).collect();
        times_ns.push(0);
        let (places, notes) = reordered(&times_ns, 4);
        assert_eq!(places.len(), 41);
        assert_eq!(notes.len(), 1);
        assert!(notes[0].starts_with("1 requests stand more than 4 requests after"), "{notes:?}");
        let (places, notes) = reordered(&times_ns, 40);
        assert_eq!((places[0], notes.len()), ((0, 40), 0));
    }

    #[test]
    fn nothing_stays_nothing() {
        assert_eq!(reordered(&[], 4).0, []);
    }
}
