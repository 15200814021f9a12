//! Looks at frames that are faster than one look after the other.

use core::ops::Range;

use super::Frames;
use crate::{Frame, Op};

/// What a policy could do with the functions of [`Frames`] alone, as one call that frames in an array answer faster: by a
/// scan of many states at once, or without a branch.
///
/// All have defaults: frames that know no faster way say `impl Scans for Mine {}`.
pub trait Scans {
    /// The read bit or the write bit: the one of references of this kind.
    #[inline]
    fn bit(&self, op: Op, frame: Frame) -> bool
    where
        Self: Frames + Sized,
    {
        match op {
            Op::Read => self.read_bit(frame),
            Op::Write => self.write_bit(frame),
        }
    }

    /// Clears the read bit or the write bit.
    #[inline]
    fn clear_bit(&mut self, op: Op, frame: Frame)
    where
        Self: Frames + Sized,
    {
        match op {
            Op::Read => self.clear_read_bit(frame),
            Op::Write => self.clear_write_bit(frame),
        }
    }

    /// The first of these frames that is neither referenced nor dirty.
    fn first_clean_unreferenced(&self, frames: Range<u32>) -> Option<Frame>
    where
        Self: Frames + Sized,
    {
        let mut frames = frames.map(Frame);
        frames.find(|&frame| !self.is_referenced(frame) && !self.is_dirty(frame))
    }

    /// The first of these frames that is neither referenced nor dirty, if a look at the first eight finds it and no pinned
    /// page before it; the pages before it lose both bits. `None` changes no bit and rules no frame out.
    #[inline]
    fn near_clean_clearing(&mut self, frames: Range<u32>) -> Option<Frame>
    where
        Self: Frames + Sized,
    {
        let _ = frames;
        None
    }

    /// A step of a hand that gives second chances. Takes the page in `frame` if it is neither referenced nor pinned.
    /// Otherwise the page loses both bits, unless it is pinned.
    #[inline(always)]
    fn is_unreferenced_clearing(&mut self, frame: Frame) -> bool
    where
        Self: Frames + Sized,
    {
        if self.is_pinned(frame) {
            return false;
        }
        if !self.is_referenced(frame) {
            return true;
        }
        self.clear_bits(frame);
        false
    }

    /// The first of these frames whose page such a hand [takes](Scans::is_unreferenced_clearing).
    fn first_unreferenced_clearing(&mut self, frames: Range<u32>) -> Option<Frame>
    where
        Self: Frames + Sized,
    {
        frames.map(Frame).find(|&frame| self.is_unreferenced_clearing(frame))
    }

    /// Clears both bits of those of these frames that are not pinned.
    fn clear_bits_of_unpinned(&mut self, frames: Range<u32>)
    where
        Self: Frames + Sized,
    {
        for frame in frames.map(Frame) {
            if !self.is_pinned(frame) {
                self.clear_bits(frame);
            }
        }
    }
}
