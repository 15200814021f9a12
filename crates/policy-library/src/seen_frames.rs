//! The frames as Clockhand shows them to a library.

use clockhand_policy::{Frame, Frames, PageId, Scans};

use crate::abi;

/// The frames during one call; the functions in it are Clockhand's.
pub(crate) struct SeenFrames<'a>(&'a abi::Frames);

impl<'a> SeenFrames<'a> {
    /// # Safety
    ///
    /// `frames` must be what Clockhand gave with the call that runs.
    pub(crate) unsafe fn of(frames: *const abi::Frames) -> Self {
        // SAFETY: it is valid during the call, as the caller says.
        SeenFrames(unsafe { &*frames })
    }

    #[inline]
    fn has(&self, frame: Frame, bits: u32) -> bool {
        // SAFETY: the function belongs to the context beside it, and takes any number as a frame.
        unsafe { (self.0.state)(self.0.context, frame.0) & bits != 0 }
    }

    #[inline]
    fn clear(&mut self, frame: Frame, bits: u32) {
        // SAFETY: as above.
        unsafe { (self.0.clear)(self.0.context, frame.0, bits) }
    }
}

impl Scans for SeenFrames<'_> {}

impl Frames for SeenFrames<'_> {
    fn page(&self, frame: Frame) -> PageId {
        // SAFETY: as above.
        PageId(unsafe { (self.0.page)(self.0.context, frame.0) })
    }

    fn read_bit(&self, frame: Frame) -> bool {
        self.has(frame, abi::READ)
    }

    fn write_bit(&self, frame: Frame) -> bool {
        self.has(frame, abi::WRITE)
    }

    fn is_referenced(&self, frame: Frame) -> bool {
        self.has(frame, abi::READ | abi::WRITE)
    }

    fn is_dirty(&self, frame: Frame) -> bool {
        self.has(frame, abi::DIRTY)
    }

    fn is_pinned(&self, frame: Frame) -> bool {
        self.has(frame, abi::PINNED)
    }

    fn clear_read_bit(&mut self, frame: Frame) {
        self.clear(frame, abi::READ);
    }

    fn clear_write_bit(&mut self, frame: Frame) {
        self.clear(frame, abi::WRITE);
    }

    fn clear_bits(&mut self, frame: Frame) {
        self.clear(frame, abi::READ | abi::WRITE);
    }

    fn set_read_bit(&mut self, frame: Frame) {
        // SAFETY: as above.
        unsafe { (self.0.set_read)(self.0.context, frame.0) }
    }

    fn request_write_back(&mut self, frame: Frame) {
        // SAFETY: as above.
        unsafe { (self.0.request_write_back)(self.0.context, frame.0) }
    }
}
