//! Read and write bits of real memory.

use std::ops::Range;

use clockhand_policy::{Frame, FrameTable, Frames, HitBits, Op, PageId, PageTable};

/// The frames of a paged memory, whose bits are set by faults.
///
/// The hardware's own accessed and dirty bits cannot be read from user space. But a page without a translation
/// faults at the next access, and a page with a read-only translation at the next write: the fault sets the bit.
/// To clear a bit is to drop the translation, which the pager does for all pages of
/// [`UnmappingFrames::unmapped`] at once. A kernel that reports accesses in another way
/// (`UFFDIO_REGISTER_MODE_RWP`) would be another [`PageTable`].
#[derive(Clone, Debug)]
pub(crate) struct UnmappingFrames {
    table: FrameTable,
    unmapped: Vec<PageId>,
}

impl UnmappingFrames {
    pub(crate) fn new(frames: u32) -> Self {
        UnmappingFrames { table: FrameTable::new(frames), unmapped: Vec::new() }
    }

    /// Pages whose translations are to be dropped because bits of them were cleared. The caller that drops them empties
    /// the list.
    pub(crate) fn unmapped(&mut self) -> &mut Vec<PageId> {
        &mut self.unmapped
    }

    fn unmap(&mut self, frame: Frame) {
        if self.table.is_mapped(frame) {
            self.unmapped.push(self.table.page(frame));
        }
    }
}

impl Frames for UnmappingFrames {
    fn page(&self, frame: Frame) -> PageId {
        self.table.page(frame)
    }

    fn read_bit(&self, frame: Frame) -> bool {
        self.table.read_bit(frame)
    }

    fn write_bit(&self, frame: Frame) -> bool {
        self.table.write_bit(frame)
    }

    fn is_dirty(&self, frame: Frame) -> bool {
        self.table.is_dirty(frame)
    }

    fn is_pinned(&self, frame: Frame) -> bool {
        self.table.is_pinned(frame)
    }

    fn clear_read_bit(&mut self, frame: Frame) {
        self.unmap(frame);
        self.table.clear_read_bit(frame);
    }

    fn clear_write_bit(&mut self, frame: Frame) {
        self.unmap(frame);
        self.table.clear_write_bit(frame);
    }

    fn clear_bits(&mut self, frame: Frame) {
        self.unmap(frame);
        self.table.clear_bits(frame);
    }

    fn set_read_bit(&mut self, frame: Frame) {
        self.table.set_read_bit(frame);
    }

    fn request_write_back(&mut self, frame: Frame) {
        self.table.request_write_back(frame);
    }

    fn is_referenced(&self, frame: Frame) -> bool {
        self.table.is_referenced(frame)
    }

    fn first_clean_unreferenced(&self, frames: Range<u32>) -> Option<Frame> {
        self.table.first_clean_unreferenced(frames)
    }
}

impl PageTable for UnmappingFrames {
    fn frames(&self) -> u32 {
        self.table.frames()
    }

    fn install(&mut self, frame: Frame, page: PageId) {
        self.table.install(frame, page);
    }

    fn set_dirty(&mut self, frame: Frame) {
        self.table.set_dirty(frame);
    }

    fn clear_dirty(&mut self, frame: Frame) {
        self.table.clear_dirty(frame);
    }

    fn set_pinned(&mut self, frame: Frame, pinned: bool) {
        self.table.set_pinned(frame, pinned);
    }

    fn touch_mapped(&mut self, frame: Frame, op: Op, bits: HitBits) {
        self.table.touch_mapped(frame, op, bits);
    }

    fn take_write_back_request(&mut self) -> Option<Frame> {
        self.table.take_write_back_request()
    }

    fn has_no_write_back_request(&self) -> bool {
        self.table.has_no_write_back_request()
    }
}
