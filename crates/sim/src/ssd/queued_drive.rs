//! A drive that is sent what was flushed many pages at a time.

use clockhand_device::flash::{Drive, LogicalPage};

/// Pages that go to the drive together.
const QUEUED_PAGES: usize = 256;

/// A drive and the pages that wait to be written to it. What the drive does with them decides nothing outside, and
/// it finds many pages in less time than one after the other.
pub(super) struct QueuedDrive {
    drive: Drive,
    queue: Vec<LogicalPage>,
}

impl QueuedDrive {
    pub(super) fn new(drive: Drive) -> Self {
        QueuedDrive { drive, queue: Vec::with_capacity(QUEUED_PAGES) }
    }

    #[inline]
    pub(super) fn write(&mut self, page: LogicalPage) {
        self.queue.push(page);
        if self.queue.len() == QUEUED_PAGES {
            self.send();
        }
    }

    fn send(&mut self) {
        self.drive.write_all(&self.queue).expect("the blocks of this drive last for ever");
        self.queue.clear();
    }

    /// Counts a read if the page is on flash, as it may be only when the queue has been written.
    #[inline]
    pub(super) fn read(&mut self, page: LogicalPage) {
        if !self.drive.read(page) && !self.queue.is_empty() {
            self.up_to_date().read(page);
        }
    }

    /// The drive after all writes.
    pub(super) fn up_to_date(&mut self) -> &mut Drive {
        self.send();
        &mut self.drive
    }

    /// The drive after all writes, and nothing else.
    pub(super) fn finish(mut self) -> Drive {
        self.send();
        self.drive
    }
}
