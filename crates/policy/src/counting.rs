//! How far a hand moves: frames that a policy examines while it looks for a victim.

use core::cell::Cell;
use core::ops::Range;

use crate::{Frame, Frames, PageId, Scans};

/// Frames as a policy sees them, with a count of those that it examines.
///
/// A frame is examined when one of its bits, or its dirty or pinned state, is read; reading the same
/// frame again at once is the same examination. For a clock this is a movement of its hand. Clearing and setting
/// bits is not counted, since no hand changes a frame that it does not read.
pub(crate) struct CountingFrames<'a, F> {
    frames: &'a mut F,
    last: Cell<Frame>,
    examined: Cell<u64>,
}

impl<'a, F: Frames> CountingFrames<'a, F> {
    pub(crate) fn new(frames: &'a mut F) -> Self {
        CountingFrames { frames, last: Cell::new(Frame::NONE), examined: Cell::new(0) }
    }

    pub(crate) fn examined(&self) -> u64 {
        self.examined.get()
    }

    fn examine(&self, frame: Frame) {
        if self.last.replace(frame) != frame {
            self.examined.set(self.examined.get() + 1);
        }
    }
}

impl<F: Frames> Frames for CountingFrames<'_, F> {
    fn page(&self, frame: Frame) -> PageId {
        self.frames.page(frame)
    }

    fn read_bit(&self, frame: Frame) -> bool {
        self.examine(frame);
        self.frames.read_bit(frame)
    }

    fn write_bit(&self, frame: Frame) -> bool {
        self.examine(frame);
        self.frames.write_bit(frame)
    }

    fn is_dirty(&self, frame: Frame) -> bool {
        self.examine(frame);
        self.frames.is_dirty(frame)
    }

    fn is_pinned(&self, frame: Frame) -> bool {
        self.examine(frame);
        self.frames.is_pinned(frame)
    }

    fn clear_read_bit(&mut self, frame: Frame) {
        self.frames.clear_read_bit(frame);
    }

    fn clear_write_bit(&mut self, frame: Frame) {
        self.frames.clear_write_bit(frame);
    }

    fn clear_bits(&mut self, frame: Frame) {
        self.frames.clear_bits(frame);
    }

    fn set_read_bit(&mut self, frame: Frame) {
        self.frames.set_read_bit(frame);
    }

    fn request_write_back(&mut self, frame: Frame) {
        self.frames.request_write_back(frame);
    }
}

impl<F: Frames> Scans for CountingFrames<'_, F> {
    fn first_clean_unreferenced(&self, frames: Range<u32>) -> Option<Frame> {
        let found = self.frames.first_clean_unreferenced(frames.clone());
        let last = found.or(frames.end.checked_sub(1).map(Frame)).unwrap_or(Frame::NONE);
        if !frames.is_empty() {
            // All of them up to the one that was found, which is the last that was looked at.
            self.examined.set(self.examined.get() + u64::from(last.0 - frames.start));
            self.examine(last);
        }
        found
    }

    fn clear_bits_of_unpinned(&mut self, frames: Range<u32>) {
        self.frames.clear_bits_of_unpinned(frames);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameTable;

    #[test]
    fn a_frame_counts_once_until_another_one_is_looked_at() {
        let mut table = FrameTable::new(4);
        let frames = CountingFrames::new(&mut table);
        for frame in [0, 0, 1, 1, 0] {
            frames.is_pinned(Frame(frame));
            frames.is_referenced(Frame(frame));
        }
        assert_eq!(frames.examined(), 3);
    }

    #[test]
    fn a_search_counts_the_frames_up_to_the_one_that_it_finds() {
        let mut table = FrameTable::new(8);
        for frame in 0..5 {
            table.set_read_bit(Frame(frame));
        }
        let frames = CountingFrames::new(&mut table);
        assert_eq!(frames.first_clean_unreferenced(1..8), Some(Frame(5)));
        frames.is_pinned(Frame(5));
        assert_eq!(frames.examined(), 5);
        assert_eq!(frames.first_clean_unreferenced(0..3), None);
        assert_eq!(frames.examined(), 8);
        assert_eq!(frames.first_clean_unreferenced(3..3), None);
        assert_eq!(frames.examined(), 8);
    }
}
