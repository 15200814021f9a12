//! A drive that is sent what was flushed many pages at a time.

use std::ops::Range;

use clockhand_device::flash::{Drive, LogicalPage, Mapping, Separation, WriteError};

/// Pages that go to the drive together.
const QUEUED_PAGES: usize = 256;

/// A drive and the pages that wait to be written to it. Nothing outside depends on what the drive does with them, and
/// it serves many pages together in less time. Where reads, streams or the host's requests matter to the drive, none
/// wait.
pub(super) struct QueuedDrive {
    drive: Drive,
    queue: Vec<LogicalPage>,
    /// Pages that may wait: 1 if the drive has to hear of each at once.
    queued_pages: usize,
    /// The first write that the drive refused.
    refused: Option<WriteError>,
}

impl QueuedDrive {
    pub(super) fn new(drive: Drive) -> Self {
        let mapping = &drive.ftl().options().mapping;
        let may_wait = match mapping {
            Mapping::Page(_) => !matches!(mapping.separation(), Separation::Stream(_)),
            Mapping::Bast(_) | Mapping::Fast(_) => true,
            Mapping::Dftl(_) | Mapping::Zoned(_) => false,
        };
        let queued_pages = if may_wait { QUEUED_PAGES } else { 1 };
        QueuedDrive { drive, queue: Vec::with_capacity(queued_pages), queued_pages, refused: None }
    }

    #[inline]
    pub(super) fn write(&mut self, page: LogicalPage) {
        self.queue.push(page);
        if self.queue.len() == self.queued_pages {
            self.send();
        }
    }

    fn send(&mut self) {
        if let Err(error) = self.drive.write_all(&self.queue) {
            self.refused.get_or_insert(error);
        }
        self.queue.clear();
    }

    /// The first write that the drive refused, if any.
    #[inline]
    pub(super) fn refused(&self) -> Option<WriteError> {
        self.refused
    }

    /// A stream wrote a page that will be flushed, at once or later.
    #[inline]
    pub(super) fn wrote(&mut self, page: LogicalPage, stream: u32) {
        if self.queued_pages == 1 {
            self.drive.wrote(page, stream);
        }
    }

    /// Counts a read if the page is on flash, as it may be only when the queue has been written.
    #[inline]
    pub(super) fn read(&mut self, page: LogicalPage) {
        if !self.drive.read(page) && !self.queue.is_empty() {
            self.up_to_date().read(page);
        }
    }

    /// Pages are trimmed.
    pub(super) fn trim(&mut self, pages: Range<u32>) {
        self.up_to_date().trim_all(pages);
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
