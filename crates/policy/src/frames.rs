//! What is known of each frame: read bit, write bit, dirty and pinned state, and the page in it.
//!
//! One byte holds the state of a frame. A hit under a bit-driven policy is one OR on that byte, which is
//! where the simulator's speed comes from; real memory has the same two bits in its page table.

mod scans;
mod table;

use crate::{Frame, Op, PageId};

pub use scans::Scans;
pub use table::FrameTable;

/// What a policy may see and change of the frames while it decides.
///
/// The simulator's [`FrameTable`] implements it with an array; a pager implements it with the bits of real
/// memory, where clearing a bit means that the next access is seen again. Policies never see more: the
/// dirty and pinned state can be read, not set. [`Scans`] looks at many frames at once.
pub trait Frames: Scans {
    /// The page in `frame`.
    fn page(&self, frame: Frame) -> PageId;
    /// Returns whether the page was read since its read bit was last cleared.
    fn read_bit(&self, frame: Frame) -> bool;
    /// Returns whether the page was written since its write bit was last cleared. This is *not* the dirty state.
    fn write_bit(&self, frame: Frame) -> bool;
    /// Returns whether the page differs from its copy in the backing store.
    fn is_dirty(&self, frame: Frame) -> bool;
    /// Returns whether the page must stay: a hand passes over it and leaves its bits untouched.
    fn is_pinned(&self, frame: Frame) -> bool;
    /// Clears the read bit.
    fn clear_read_bit(&mut self, frame: Frame);
    /// Clears the write bit.
    fn clear_write_bit(&mut self, frame: Frame);
    /// Clears both bits.
    fn clear_bits(&mut self, frame: Frame);
    /// Sets the read bit, for a policy that inserts pages as referenced.
    fn set_read_bit(&mut self, frame: Frame);
    /// Asks the driver to write the page back although it stays in memory.
    fn request_write_back(&mut self, frame: Frame);

    /// The reference bit of the single-bit policies: read or written since the bits were last cleared.
    #[inline]
    fn is_referenced(&self, frame: Frame) -> bool {
        self.read_bit(frame) || self.write_bit(frame)
    }
}

/// Which bits a hit sets, for a read and for a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HitBits {
    /// There is one bit for both, and the policy asks only whether a page [is referenced](Frames::is_referenced). Real
    /// memory need not show it the writes to a page that is dirty anyway.
    Reference,
    /// A read sets the read bit, a write the write bit.
    Separate,
    /// A read sets the read bit, a write sets both: the read bit is the reference bit and the write bit the
    /// modified bit of an ordinary memory-management unit.
    ReferenceAndModified,
}

/// Operations of the mechanism that policies do not have: it is the source of the bits.
///
/// The simulator's is a [`FrameTable`]. A pager's also drops the translations of real memory where bits are cleared.
pub trait PageTable: Frames {
    /// The number of frames.
    fn frames(&self) -> u32;
    /// `page` has been loaded into `frame`; it is clean, not pinned, and has no bit set.
    fn install(&mut self, frame: Frame, page: PageId);
    /// As [`install`](PageTable::install), where another page has been, which is returned with whether it was dirty.
    #[inline]
    fn exchange(&mut self, frame: Frame, page: PageId) -> (PageId, bool) {
        let left = (self.page(frame), self.is_dirty(frame));
        self.install(frame, page);
        left
    }
    /// The page in `frame` differs from its copy in the backing store from now on.
    fn set_dirty(&mut self, frame: Frame);
    /// As [`set_dirty`](PageTable::set_dirty), if it `becomes_dirty`. Nobody can tell in advance which references write, so
    /// a table in the processor's cache better sets a bit or none than branch.
    #[inline]
    fn set_dirty_if(&mut self, frame: Frame, becomes_dirty: bool) {
        if becomes_dirty {
            self.set_dirty(frame);
        }
    }
    /// The page in `frame` has been written to the backing store.
    fn clear_dirty(&mut self, frame: Frame);
    /// Whether the page in `frame` must stay.
    fn set_pinned(&mut self, frame: Frame, pinned: bool);
    /// An access to a page whose bits come from its mapping: the first access after the bits were cleared
    /// maps the page and is seen; a later read is not; a later write is. Says whether memory has to fault for it: whether
    /// it finds the page unmapped, or writes what could only be read.
    fn touch_mapped(&mut self, frame: Frame, op: Op, bits: HitBits) -> bool;
    /// A frame whose page a policy asked to write back.
    fn take_write_back_request(&mut self) -> Option<Frame>;
    /// Returns whether every request has been taken.
    fn has_no_write_back_request(&self) -> bool;
}
