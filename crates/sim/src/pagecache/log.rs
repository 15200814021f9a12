//! What a run reads and writes, as a log: pages of the swap and of files.

use clockhand_policy::Memory;
use clockhand_policy::page::PagePolicy;
use clockhand_trace::{EventView, Op};

use super::replay::{Fill, Happened, Watch};
use super::swap_slots::SwapSlots;
use crate::error::SimError;
use crate::io_log::IoLog;

/// The devices of a log.
const SWAP_AND_FILES: [&str; 2] = ["swap", "files"];

/// Writes a log while it watches.
pub(super) struct LoggedPages<'a> {
    log: IoLog,
    view: &'a EventView,
    time_ns: Option<u64>,
}

impl<'a> LoggedPages<'a> {
    pub(super) fn create(path: &str, view: &'a EventView) -> Result<Self, SimError> {
        let has_times = view.times_ns().is_some();
        let log = IoLog::create(path, view.page_bytes(), &SWAP_AND_FILES, has_times)?;
        // Before the first event there is nothing to write.
        Ok(LoggedPages { log, view, time_ns: has_times.then_some(0) })
    }

    pub(super) fn finish(self) -> Result<(), SimError> {
        self.log.finish()
    }
}

impl Watch for LoggedPages<'_> {
    fn at(&mut self, time_ns: Option<u64>) {
        self.time_ns = time_ns;
    }

    #[inline]
    fn happened(&mut self, what: Happened) {
        if !matches!(what, Happened::Hit(_)) {
            self.moved(what);
        }
    }

    fn served<P: PagePolicy>(&mut self, _: &Memory<P>, _: Option<&SwapSlots>) {}
}

impl LoggedPages<'_> {
    /// Writes what is read or written; not inlined, since there are many places that it is called from.
    #[inline(never)]
    fn moved(&mut self, what: Happened) {
        let (op, page) = match what {
            Happened::Filled(page, Fill::Read) | Happened::Ahead(page) => (Op::Read, page),
            Happened::Evicted(page, true) | Happened::Written(page) => (Op::Write, page),
            Happened::Hit(_)
            | Happened::Filled(_, Fill::Zero | Fill::Blind)
            | Happened::Evicted(_, false)
            | Happened::Dropped(..) => return,
        };
        let device = u32::from(self.view.file_pages()[page as usize]);
        self.log.page(op, device, page, self.time_ns);
    }
}
