//! What a write buffer asks of its drive, as a log: pages read and written, before any collection.

use clockhand_device::flash::LogicalPage;
use clockhand_trace::Op;

use super::cell::Observer;
use super::placement::PageRange;
use super::requests::RequestList;
use crate::error::SimError;
use crate::io_log::IoLog;

/// Writes a log while a run goes on.
pub(super) struct LoggedDrive<'a> {
    log: IoLog,
    /// Of each request, if the trace has times.
    times_ns: Option<&'a [u64]>,
    requests: usize,
}

impl<'a> LoggedDrive<'a> {
    pub(super) fn create(
        path: &str,
        page_bytes: u32,
        list: &'a RequestList,
    ) -> Result<Self, SimError> {
        let times = list.times.as_ref().filter(|_| list.span_ns.is_some());
        let times_ns = times.map(|times| times.of_requests.as_slice());
        let log = IoLog::create(path, page_bytes.into(), &["drive"], times_ns.is_some())?;
        Ok(LoggedDrive { log, times_ns, requests: 0 })
    }

    pub(super) fn finish(self) -> Result<(), SimError> {
        self.log.finish()
    }
}

impl Observer for LoggedDrive<'_> {
    const FOLLOWS_REQUESTS: bool = false;

    fn begins(&mut self, range: &PageRange) {
        self.requests += usize::from(!range.continues());
    }

    fn asks(&mut self, op: Op, page: LogicalPage) {
        // A command before the first request comes with it.
        let request = self.requests.saturating_sub(1);
        let LogicalPage(place) = page;
        self.log.page(op, 0, place, self.times_ns.map(|times_ns| times_ns[request]));
    }
}
