//! Reading beside the work on what was read: two threads, and a few batches between them.

use std::panic::resume_unwind;
use std::sync::mpsc;
use std::thread::{self, Builder};

use crate::error::TraceError;
use crate::reader::Reader;
use crate::report::ReadReport;
use crate::request::Request;

/// The number of batches that may wait for the work: so few that they stay in the processor's caches.
const BATCHES_AHEAD: usize = 4;

/// Takes a batch.
pub(crate) type Take<'a> = dyn FnMut(&[Request]) -> Result<(), TraceError> + 'a;

/// Returns whether this number of threads leaves no processor to others.
pub(crate) fn is_all_taken_by(threads: usize) -> bool {
    thread::available_parallelism().is_ok_and(|processors| processors.get() <= threads)
}

/// Hands the batches of a reader to `take` while another thread reads on; `None`, and nothing is read, if there is no
/// second processor or thread.
pub(crate) fn overlapped(
    reader: &mut dyn Reader,
    take: &mut Take<'_>,
) -> Option<Result<ReadReport, TraceError>> {
    if is_all_taken_by(1) {
        return None;
    }
    thread::scope(|scope| {
        let (full, filled) = mpsc::sync_channel(BATCHES_AHEAD);
        let (emptied, empty) = mpsc::channel();
        let reading = move || {
            loop {
                let mut batch: Vec<Request> = empty.try_recv().unwrap_or_default();
                // What is not taken any more because of an error need not be read.
                if !reader.next_batch(&mut batch)? || full.send(batch).is_err() {
                    return Ok(reader.report().clone());
                }
            }
        };
        let thread = Builder::new().name("reading".to_owned()).spawn_scoped(scope, reading).ok()?;
        let mut taken = Ok(());
        for batch in filled {
            taken = take(&batch);
            if taken.is_err() {
                break;
            }
            // The thread may have ended.
            _ = emptied.send(batch);
        }
        let read = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        Some(taken.and(read))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Op;

    /// Gives requests one by one, then ends or fails.
    struct Counting {
        given: u64,
        most: u64,
        report: ReadReport,
    }

    impl Reader for Counting {
        fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<bool, TraceError> {
            batch.clear();
            if self.given == self.most {
                return if self.most == 100 { Ok(false) } else { Err(TraceError::NoReference) };
            }
            batch.push(Request::new(Op::Read, self.given, 1));
            self.given += 1;
            self.report.requests = self.given;
            Ok(true)
        }

        fn report(&self) -> &ReadReport {
            &self.report
        }
    }

    /// What was taken before the reader or, at this address, the taker failed.
    fn taken(most: u64, fails_at: u64) -> Option<(Vec<u64>, Result<u64, TraceError>)> {
        let mut reader = Counting { given: 0, most, report: ReadReport::default() };
        let mut taken = Vec::new();
        let read = overlapped(&mut reader, &mut |batch| {
            taken.extend(batch.iter().map(|request| request.address));
            if taken.last() == Some(&fails_at) { Err(TraceError::Interrupted) } else { Ok(()) }
        })?;
        Some((taken, read.map(|report| report.requests)))
    }

    #[test]
    fn batches_come_in_order_and_an_error_after_those_before_it() {
        let Some((all, read)) = taken(100, u64::MAX) else { return };
        assert!(all.into_iter().eq(0..100) && read.is_ok_and(|requests| requests == 100));
        let (all, read) = taken(20, u64::MAX).unwrap();
        assert!(all.into_iter().eq(0..20) && matches!(read, Err(TraceError::NoReference)));
    }

    #[test]
    fn reading_ends_when_nothing_is_taken_any_more() {
        let Some((some, read)) = taken(100, 30) else { return };
        assert!(some.into_iter().eq(0..31) && matches!(read, Err(TraceError::Interrupted)));
    }
}
