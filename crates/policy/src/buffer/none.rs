//! No write buffer: every written page goes to flash at once, as a batch of its own.

use alloc::vec::Vec;

use super::catalog::BufferEntry;
use super::{
    Action, BufferInspector, Capacity, Medium, Occupancy, Request, Served, Source, Step, StepPage,
    WriteBuffer,
};
use crate::LogicalPage;
use crate::catalog::Description;

/// The entry that stands for no buffer. It is not among the write buffers, and it has no size.
pub(crate) static NONE: BufferEntry = BufferEntry {
    description: Description {
        name: "none",
        summary: "no buffer: every written page goes to flash at once",
        paper: "",
        parameters: &[],
        source: include_str!("none.rs"),
    },
    is_hybrid: false,
    is_offline: false,
};

/// What stands where a buffer would.
pub(crate) struct Unbuffered {
    pages: Vec<StepPage>,
    is_pending: bool,
    is_written: bool,
}

impl Unbuffered {
    pub(crate) fn new() -> Self {
        Unbuffered { pages: Vec::with_capacity(1), is_pending: false, is_written: false }
    }
}

impl WriteBuffer for Unbuffered {
    fn capacity(&self) -> Capacity {
        Capacity { dram_pages: 0, nvm_pages: 0 }
    }

    fn occupancy(&self) -> Occupancy {
        Occupancy::default()
    }

    fn place_of(&self, _page: LogicalPage) -> Option<Medium> {
        None
    }

    fn is_dirty(&self, _page: LogicalPage) -> bool {
        false
    }

    fn next_step(&mut self, request: Request) -> Option<Step<'_>> {
        if let (Request::Write(page) | Request::ForceUnitAccess(page), false) =
            (request, self.is_written)
        {
            let page = StepPage { page, dirty: true, source: Source::Request, stays: false };
            self.pages.clear();
            self.pages.push(page);
            self.is_pending = true;
        }
        self.is_pending.then_some(Step { action: Action::Flush, pages: &self.pages })
    }

    fn commit(&mut self) {
        assert!(self.is_pending, "a step is pending");
        self.is_pending = false;
        self.is_written = true;
    }

    fn serve(&mut self, _request: Request) -> Served {
        assert!(!self.is_pending, "the pending step is committed first");
        self.is_written = false;
        Served::default()
    }

    fn inspect(&self, _inspector: &mut dyn BufferInspector) {}

    fn check_invariants(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_written_page_is_a_batch_and_a_read_finds_nothing() {
        let mut buffer = Unbuffered::new();
        for request in [Request::Write(LogicalPage(3)), Request::ForceUnitAccess(LogicalPage(3))] {
            let step = buffer.next_step(request).expect("the page is written");
            assert_eq!((step.action, step.pages.len()), (Action::Flush, 1));
            assert_eq!(step.pages[0].source, Source::Request);
            buffer.commit();
            assert_eq!(buffer.next_step(request), None);
            assert_eq!(buffer.serve(request), Served::default());
        }
        assert_eq!(buffer.next_step(Request::Read(LogicalPage(3))), None);
        assert_eq!(buffer.serve(Request::Read(LogicalPage(3))).hit, None);
    }
}
