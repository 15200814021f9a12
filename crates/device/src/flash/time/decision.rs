//! What is decided for a request.

use super::engine::Engine;
use super::listener::{HostPage, Listener, Reading};
use super::memories::{Content, Medium};
use super::slab::NONE;
use crate::flash::drive::Drive;
use crate::flash::error::WriteError;
use crate::flash::geometry::LogicalPage;
use crate::flash::operations::Counters;

/// What a request means for memories and flash, at the time of its decision.
pub struct Decision<'a> {
    pub(super) engine: &'a mut Engine,
    pub(super) drive: &'a mut Drive,
    pub(super) request: u32,
    /// The page whose rest is read, and its content.
    pub(super) modified: Option<(LogicalPage, Content)>,
}

/// Where a flushed page comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushedFrom {
    /// A memory, which it leaves unless it stays.
    Memory(Medium, bool),
    /// Flash: it is read first.
    Flash,
    /// The request, which is complete when the page is programmed.
    Request,
}

impl Decision<'_> {
    /// When it is taken.
    pub fn now_ns(&self) -> u64 {
        self.engine.now
    }

    fn listener(&mut self, host: HostPage) -> (&mut crate::flash::ftl::Ftl, Listener<'_>) {
        let Drive { ftl, counters, .. } = &mut *self.drive;
        (ftl, Listener { engine: self.engine, counters, host, read: None })
    }

    /// A page of the request is done when something that is under way is over.
    fn expect_page(&mut self) -> u32 {
        if self.request != NONE {
            self.engine.requests.expect_page(self.request);
        }
        self.request
    }

    /// A page is read from flash, for the request alone.
    pub fn read(&mut self, page: LogicalPage) {
        self.read_for(page, NONE);
    }

    /// A page is read from flash and placed in a memory.
    pub fn read_into(&mut self, page: LogicalPage, medium: Medium) {
        let action = self.engine.fill(page.0, medium);
        self.read_for(page, action);
    }

    fn read_for(&mut self, page: LogicalPage, action: u32) {
        let request = self.expect_page();
        let host = HostPage { action, ..HostPage::of(request) };
        if self.read_page(page, host).is_none() {
            self.engine.totals.unmapped_reads += 1;
            self.engine.read_nowhere(page.0, request, action);
        }
    }

    fn read_page(&mut self, page: LogicalPage, host: HostPage) -> Option<Reading> {
        let (ftl, mut listener) = self.listener(host);
        ftl.read(page, &mut listener);
        listener.read
    }

    /// A page that is in a memory is read.
    pub fn read_hit(&mut self, page: LogicalPage, medium: Medium) {
        let request = self.expect_page();
        self.engine.read_in(page.0, medium, request);
    }

    /// The rest of a page is read that the request writes in part: what is written of it next has its content when the read is
    /// done.
    pub fn modify(&mut self, page: LogicalPage) {
        let (action, content) = self.engine.modify(page.0);
        if self.read_page(page, HostPage { action, ..HostPage::of(NONE) }).is_none() {
            self.engine.end_action(action);
        }
        self.modified = Some((page, content));
    }

    /// The content of a page that comes from the request.
    fn content(&self, page: LogicalPage) -> Content {
        let modified = self.modified.filter(|(modified, _)| *modified == page);
        modified.map_or(Content::There, |(_, content)| content)
    }

    /// A page of the request is written to flash, with no buffer between.
    ///
    /// # Errors
    ///
    /// The drive is worn out, or the page does not fit its zone.
    pub fn write(&mut self, page: LogicalPage) -> Result<(), WriteError> {
        let request = self.expect_page();
        let content = self.content(page);
        self.program(page, HostPage { content, ..HostPage::of(request) })
    }

    fn program(&mut self, page: LogicalPage, host: HostPage) -> Result<(), WriteError> {
        let (ftl, mut listener) = self.listener(host);
        let done = ftl.write(page, &mut listener);
        done.map_err(|refused| self.drive.write_error(refused))
    }

    /// A page of the request is written in a memory. `completes` says whether it is done then.
    pub fn write_in(&mut self, page: LogicalPage, medium: Medium, completes: bool) {
        let request = if completes { self.expect_page() } else { NONE };
        let content = self.content(page);
        self.engine.write_in(page.0, medium, request, content);
    }

    /// A page is flushed.
    ///
    /// # Errors
    ///
    /// The drive is worn out, or the page does not fit its zone.
    pub fn flush_page(&mut self, page: LogicalPage, from: FlushedFrom) -> Result<(), WriteError> {
        let mut host = HostPage::of(NONE);
        match from {
            FlushedFrom::Memory(medium, stays) => {
                (host.content, host.releases) = self.engine.flushed(page.0, medium, stays);
                host.is_volatile = medium == Medium::Dram;
            }
            FlushedFrom::Flash => {
                let read = HostPage { is_padding: true, ..HostPage::of(NONE) };
                if let Some(reading) = self.read_page(page, read) {
                    host.content = Content::Reading(reading);
                }
            }
            FlushedFrom::Request => {
                host.request = self.expect_page();
                host.content = self.content(page);
            }
        }
        self.program(page, host)
    }

    /// Pages are no longer needed.
    pub fn trim(&mut self, pages: std::ops::Range<u32>) {
        let (ftl, mut listener) = self.listener(HostPage::of(NONE));
        ftl.trim(pages, &mut listener);
    }

    /// A stream of the trace wrote a page that will go to flash, at once or later.
    pub fn wrote(&mut self, page: LogicalPage, stream: u32) {
        self.drive.wrote(page, stream);
    }

    /// Looks up pages that are decided soon, one after the other: so the processor waits for many look-ups together.
    pub fn look_ahead(&self, pages: &[LogicalPage]) {
        self.drive.ftl.look_ahead(pages);
    }

    /// What the drive counted so far.
    pub fn counters(&self) -> Counters {
        self.drive.counters
    }

    /// A page moves from DRAM to NVM.
    pub fn migrate(&mut self, page: LogicalPage) {
        self.engine.migrate(page.0);
    }

    /// A page leaves a memory unwritten.
    pub fn leave(&mut self, page: LogicalPage, medium: Medium) {
        self.engine.leave(page.0, medium);
    }

    /// Pages that decisions have placed in a memory.
    pub fn placed(&self, medium: Medium) -> u32 {
        self.engine.memories.placed(medium)
    }

    /// True if decisions have placed a page in a memory.
    pub fn has(&self, page: LogicalPage, medium: Medium) -> bool {
        self.engine.memories.has(page.0, medium)
    }

    /// The request is complete when all is persistent that was sent to flash or NVM so far.
    pub fn flush(&mut self) {
        let request = self.expect_page();
        self.engine.flushes.flush(request);
    }
}
