//! The basic terms: a page, the frame that holds it, what a reference does to it, and the page's
//! address on a drive.

/// A page frame: an index from 0 to the number of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame(pub u32);

impl Frame {
    /// No frame: the end of a list, or the entry of a page that is not in memory.
    pub const NONE: Frame = Frame(u32::MAX);

    /// The frame as an index into an array with one entry per frame.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A page, as a dense number from 0 to the number of distinct pages. Where a policy breaks a tie by page
/// number, it compares these: number pages in the order of their addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId(pub u32);

impl PageId {
    /// The page as an index into an array with one entry per page.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A page of a drive, by its original address: the address in bytes over the page size. Write buffers need
/// neighbours to be neighbours, which dense numbers do not keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogicalPage(pub u64);

/// The operation of a reference: a read or a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// The page is read.
    Read,
    /// The page is written, and is dirty from then on.
    Write,
}
