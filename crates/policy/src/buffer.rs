//! Write buffers of flash drives: which pages are held back in DRAM and NVM, and which go to flash together.
//!
//! A write buffer decides; its driver, a simulator or a block device, carries the decisions out. The driver handles
//! each [`Request`] in two parts. First it calls [`WriteBuffer::next_step`] until there are no more steps, carries
//! each [`Step`] out and confirms it with [`WriteBuffer::commit`]. Then the request can be served at once:
//!
//! ```
//! use clockhand_policy::buffer::{BufferSize, PagesPerBlock, Request, WriteBuffer, catalog};
//! use clockhand_policy::{LogicalPage, Ratio};
//!
//! struct CountBatches;
//!
//! impl catalog::Visitor for CountBatches {
//!     type Output = usize;
//!     fn visit<B: WriteBuffer + 'static>(self, mut buffer: B) -> usize {
//!         let mut batches = 0;
//!         for page in [0, 1, 2, 64, 65] {
//!             let request = Request::Write(LogicalPage(page));
//!             while let Some(step) = buffer.next_step(request) {
//!                 batches += usize::from(step.pages.len() == 3);
//!                 buffer.commit();
//!             }
//!             buffer.serve(request);
//!         }
//!         batches
//!     }
//! }
//!
//! let pages_per_block = PagesPerBlock::new(64).unwrap();
//! let size = BufferSize { pages: 4, pages_per_block, distinct_pages: 5, drive_pages: 128 };
//! let fab = catalog::BufferSpec::parse("fab").unwrap();
//! let fab = fab.resolve(size, Ratio::whole(8)).unwrap();
//! assert_eq!(fab.build(CountBatches), 1, "block 0 leaves when page 65 comes");
//! ```
//!
//! **A step is a proposal.** The pages that it names stay in the buffer, readable, until it is committed. A
//! driver whose write to flash fails asks again and gets the same step: clocks and lists have moved and
//! are not asked twice. A request that has begun must be finished before the next one.
//!
//! Pages have their original addresses ([`LogicalPage`]): block = page / pages per block.

use core::fmt;

use crate::LogicalPage;

pub(crate) mod block_min;
pub(crate) mod bpac;
pub(crate) mod bplru;
pub mod catalog;
pub(crate) mod cbm;
pub(crate) mod cflru;
pub(crate) mod clc;
pub(crate) mod clock;
pub(crate) mod clock_dnv;
pub(crate) mod craw;
pub(crate) mod credit_clock;
pub(crate) mod fab;
pub(crate) mod lb_clock;
pub(crate) mod lru;
pub(crate) mod lru_wsr;
pub(crate) mod mechanism;
pub(crate) mod none;
pub(crate) mod pud_lru;

pub(crate) use mechanism::block::BlockSlot;

/// What the host asks of the drive, page by page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// A page is read.
    Read(LogicalPage),
    /// A page is written.
    Write(LogicalPage),
    /// A page is written with *force unit access*: it must be persistent before the host is answered. With
    /// `commands=paper` it is a write like any other.
    ForceUnitAccess(LogicalPage),
    /// Everything written before must be persistent before the host is answered. With `commands=paper`
    /// nothing happens.
    Flush,
    /// A page's content is no longer needed. It leaves the buffer, or stays as a clean page if its place cannot be given
    /// back out of turn; then the driver clears its content.
    Trim(LogicalPage),
    /// Every dirty page goes to flash, whatever the commands mode: the end of a run, or a power-down.
    Drain,
}

/// The memory that a buffered page is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Medium {
    /// Volatile memory.
    Dram,
    /// Non-volatile memory.
    Nvm,
}

/// Where the content of a page of a [`Step`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// In the buffer's DRAM.
    Dram,
    /// In the buffer's NVM.
    Nvm,
    /// On flash only: the driver reads it first, to write it again beside its neighbours.
    Flash,
    /// In the request that is being served.
    Request,
}

/// A page of a [`Step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StepPage {
    /// The page.
    pub page: LogicalPage,
    /// True if it is newer than its copy on flash; otherwise it is written only as padding.
    pub dirty: bool,
    /// Where its content is.
    pub source: Source,
    /// True if it is in the buffer after the step.
    pub stays: bool,
}

/// What a [`Step`] asks the driver to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Write the pages to flash, in this order, as one batch.
    Flush,
    /// Copy the page from DRAM to NVM: one NVM write.
    Migrate,
    /// Forget the pages, which are clean.
    Drop,
}

/// Something that must happen before a request can be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// What to do.
    pub action: Action,
    /// With which pages, in ascending order and of one block.
    pub pages: &'a [StepPage],
}

/// The effect of serving a request on the buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// The place of the page when the request began, if it was buffered. A read that misses reads flash.
    pub hit: Option<Medium>,
    /// Pages written to NVM, not counting those that migrated.
    pub nvm_writes: u32,
}

/// How full a buffer is, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Pages in DRAM.
    pub dram_pages: u32,
    /// Pages in NVM.
    pub nvm_pages: u32,
    /// Distinct pages that are newer than on flash.
    pub dirty_pages: u32,
}

/// How large a buffer is, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Pages of DRAM.
    pub dram_pages: u32,
    /// Pages of NVM; 0 if the buffer has none.
    pub nvm_pages: u32,
}

/// A write buffer.
pub trait WriteBuffer {
    /// The number of pages it has room for.
    fn capacity(&self) -> Capacity;

    /// The number of pages it holds.
    fn occupancy(&self) -> Occupancy;

    /// The place of the newest version of `page`, if it is buffered; also between two steps.
    fn place_of(&self, page: LogicalPage) -> Option<Medium>;

    /// Returns whether `page` is buffered in a version newer than on flash.
    fn is_dirty(&self, page: LogicalPage) -> bool;

    /// Shows the pages that the requests to come write, in their order, to a buffer that is
    /// [offline](catalog::BufferEntry::is_offline); others do not look. Called once, before the first request.
    fn foresee(&mut self, writes: &mut dyn Iterator<Item = LogicalPage>) {
        let _ = writes;
    }

    /// Reads what is known of a page that is requested soon, so that the processor has it at hand by then; changes
    /// nothing.
    fn look_ahead(&self, page: LogicalPage) {
        let _ = page;
    }

    /// The step that must come next before `request` can be served, or `None` if it can be served now. The
    /// pending step, if there is one.
    fn next_step(&mut self, request: Request) -> Option<Step<'_>>;

    /// The pending step has been carried out.
    ///
    /// # Panics
    ///
    /// If none is pending.
    fn commit(&mut self);

    /// Serves `request`, for which [`next_step`](WriteBuffer::next_step) has no further step.
    ///
    /// # Panics
    ///
    /// If a step is pending or the buffer is full.
    fn serve(&mut self, request: Request) -> Served;

    /// Shows lists by the names that the papers use.
    fn inspect(&self, inspector: &mut dyn BufferInspector);

    /// Recounts everything that is counted along the way, for tests.
    ///
    /// # Panics
    ///
    /// If a count, a link or a membership is wrong, or the next victim is not that of a naive scan.
    fn check_invariants(&self);
}

/// A buffered page as [`WriteBuffer::inspect`] shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageState {
    /// The page.
    pub page: LogicalPage,
    /// True if it is newer than on flash.
    pub dirty: bool,
    /// Its reference bit, if it has one.
    pub referenced: bool,
}

/// A block of buffered pages as [`WriteBuffer::inspect`] shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockState {
    /// The block's number.
    pub block: u64,
    /// Bit n says that the block's page n is here.
    pub present: u64,
    /// Bit n says that the block's page n is newer than on flash.
    pub dirty: u64,
    /// The block's reference bit, if it has one.
    pub referenced: bool,
}

/// Receives the inner state of a write buffer, list by list.
pub trait BufferInspector {
    /// The lists that follow are in this memory; in DRAM until it is called.
    fn memory(&mut self, medium: Medium) {
        let _ = medium;
    }
    /// A list of pages in its natural order, from the page under the hand or the least recently used one.
    fn pages(&mut self, name: &'static str, pages: &mut dyn Iterator<Item = PageState>);
    /// A list of pages that a hand goes around, from the page under the hand.
    fn ring_of_pages(&mut self, name: &'static str, pages: &mut dyn Iterator<Item = PageState>) {
        self.pages(name, pages);
    }
    /// Pages that are only remembered, from the oldest to the newest.
    fn ghosts(&mut self, name: &'static str, pages: &mut dyn Iterator<Item = LogicalPage>) {
        let remembered = |page| PageState { page, dirty: false, referenced: false };
        self.pages(name, &mut pages.map(remembered));
    }
    /// A list of blocks in its natural order.
    fn blocks(&mut self, name: &'static str, blocks: &mut dyn Iterator<Item = BlockState>);
    /// A list of blocks that a hand goes around, from the block under the hand.
    fn ring_of_blocks(&mut self, name: &'static str, blocks: &mut dyn Iterator<Item = BlockState>) {
        self.blocks(name, blocks);
    }
    /// A size, a counter or a position.
    fn value(&mut self, name: &'static str, value: f64);
    /// A number for each page of the list shown before, in its order.
    fn values(&mut self, name: &'static str, values: &mut dyn Iterator<Item = f64>) {
        let _ = (name, values);
    }
}

/// The number of pages of a flash block, a power of two up to 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PagesPerBlock {
    shift: u32,
    /// The bits of a page's number that say which page of its block it is.
    in_block: u32,
}

impl PagesPerBlock {
    /// Blocks of `pages` pages.
    ///
    /// # Errors
    ///
    /// [`BadPagesPerBlock`] if `pages` is not a power of two from 1 to 64.
    pub fn new(pages: u32) -> Result<Self, BadPagesPerBlock> {
        match pages.is_power_of_two() && pages <= 64 {
            true => Ok(PagesPerBlock { shift: pages.trailing_zeros(), in_block: pages - 1 }),
            false => Err(BadPagesPerBlock(pages)),
        }
    }

    /// The number of pages.
    pub fn get(self) -> u32 {
        self.in_block + 1
    }

    /// The number of the block that `page` is in.
    #[inline]
    pub fn block_of(self, page: LogicalPage) -> u64 {
        page.0 >> self.shift
    }

    /// The bit that stands for `page` in a mask of its block.
    #[inline]
    pub(crate) fn bit(self, page: LogicalPage) -> u64 {
        1 << (page.0 as u32 & self.in_block)
    }

    /// The mask of a whole block.
    pub(crate) fn whole(self) -> u64 {
        u64::MAX >> (64 - self.get())
    }

    /// The pages of `block` that stand in `mask`, in ascending order.
    pub fn pages(self, block: u64, mask: u64) -> impl Iterator<Item = LogicalPage> {
        let mut rest = mask;
        core::iter::from_fn(move || {
            (rest != 0).then(|| {
                let offset = rest.trailing_zeros();
                rest &= rest - 1;
                LogicalPage((block << self.shift) + u64::from(offset))
            })
        })
    }
}

/// A number of pages that no block of a write buffer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadPagesPerBlock(
    /// What was asked for.
    pub u32,
);

impl fmt::Display for BadPagesPerBlock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "a write buffer groups by blocks of 1, 2, 4, 8, 16, 32 or 64 pages, not of {}",
            self.0
        )
    }
}

impl core::error::Error for BadPagesPerBlock {}

/// The size and geometry that a buffer is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferSize {
    /// Its total memory, DRAM and NVM together, in pages; at least 1.
    pub pages: u32,
    /// The grouping of pages.
    pub pages_per_block: PagesPerBlock,
    /// No more distinct pages than these are ever requested: the drive's logical pages or, where it is known,
    /// a trace's footprint. The page-level buffers have tables of this length and panic beyond it.
    pub distinct_pages: u32,
    /// The logical pages of the drive. It may end within a block, whose other pages there are none of to pad it with.
    pub drive_pages: u64,
}
