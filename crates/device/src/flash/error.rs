//! Why a drive cannot be built, and when it can no longer be written.

use super::geometry::{Geometry, LogicalPage};

/// Why geometry and options do not make a drive. Each message is one sentence: the fault and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FlashError {
    /// A part of the geometry is 0.
    #[error("{part} is 0, give at least 1")]
    EmptyGeometry {
        /// The field of [`Geometry`].
        part: &'static str,
    },
    /// A block has more pages than can be counted.
    #[error(
        "a block of {pages_per_block} pages is larger than the {} that are supported, use smaller blocks",
        Geometry::PAGES_PER_BLOCK_MAX
    )]
    LargeBlock {
        /// Pages in a block.
        pages_per_block: u32,
    },
    /// The drive has more pages than can be numbered.
    #[error(
        "{raw_pages} physical pages are more than the {} that are supported, make the drive smaller or its pages larger",
        Geometry::RAW_PAGES_MAX
    )]
    LargeDrive {
        /// Pages of the drive.
        raw_pages: u64,
    },
    /// The drive offers no page to the host.
    #[error("the drive offers no logical page, make it larger or lower the over-provisioning")]
    NoLogicalPage,
    /// Collection could not find room.
    #[error(
        "no over-provisioning to collect garbage with: {blocks} blocks {per_pool}must hold {logical_pages} logical pages, \
         {minimum_free} free blocks and those being written, which takes {required}; raise the over-provisioning \
         or lower minimum_free"
    )]
    NoOverProvisioning {
        /// Blocks that there are, in the drive or in each die.
        blocks: u32,
        /// Logical pages that they must hold.
        logical_pages: u32,
        /// Blocks kept free.
        minimum_free: u32,
        /// Blocks that are needed.
        required: u64,
        /// `of each die ` if each die is a pool of its own, else empty.
        per_pool: &'static str,
    },
    /// The mapping needs more blocks.
    #[error(
        "mapping={mapping} {per_pool}has {blocks} blocks and needs {required} for {logical_pages} logical pages: {parts}; raise \
         the over-provisioning or lower them"
    )]
    FewBlocks {
        /// Its name.
        mapping: &'static str,
        /// Blocks that there are, in the drive or in each die.
        blocks: u32,
        /// Logical pages that they must hold.
        logical_pages: u32,
        /// Blocks that are needed.
        required: u64,
        /// The feature that needs them.
        parts: String,
        /// `of each die ` if each die is a pool of its own, else empty.
        per_pool: &'static str,
    },
    /// There are too few log blocks.
    #[error("log_blocks is {log_blocks}, give at least {least} to mapping={mapping}")]
    FewLogBlocks {
        /// Log blocks.
        log_blocks: u32,
        /// The least number.
        least: u32,
        /// The mapping's name.
        mapping: &'static str,
    },
    /// A translation page holds no entry.
    #[error(
        "entry_bytes is {entry_bytes}, and a page of {page_bytes} bytes holds no entry of the map; give at most that"
    )]
    LargeEntry {
        /// Bytes of an entry.
        entry_bytes: u32,
        /// Bytes of a page.
        page_bytes: u32,
    },
    /// An SLC block holds no page.
    #[error(
        "bits_per_cell is {bits_per_cell}, and a block of {pages_per_block} pages then holds none in the SLC region; give fewer"
    )]
    NoSlcPage {
        /// Bits of a cell of the main region.
        bits_per_cell: u32,
        /// Pages in a block.
        pages_per_block: u32,
    },
    /// Hot and cold pages may need two blocks at once.
    #[error(
        "separate=temperature needs minimum_free of at least 3 blocks and has {blocks}: collection relocates into two of them"
    )]
    FewFreeApart {
        /// Blocks kept free.
        blocks: u32,
    },
    /// A zone is larger than the drive.
    #[error(
        "zone_blocks is {zone_blocks}, and the drive has {blocks} blocks; give at most as many"
    )]
    LargeZone {
        /// Blocks of a zone.
        zone_blocks: u32,
        /// Blocks of the drive.
        blocks: u64,
    },
    /// A number that must not be 0.
    #[error("{option} is 0, give at least 1")]
    Zero {
        /// The option.
        option: &'static str,
    },
    /// Fewer than two free blocks leave nothing to relocate into.
    #[error(
        "minimum_free is {blocks} of a pool's blocks, give at least 2: collection relocates into one of them"
    )]
    FewFree {
        /// Blocks kept free.
        blocks: u32,
    },
    /// An option is meaningless with the victim rule.
    #[error(
        "wear_limit needs a victim rule that compares all blocks, use victim=greedy or victim=cost-benefit"
    )]
    WearLimit,
    /// d is 0.
    #[error("victim=d-choices:0 chooses among no block, give at least 1")]
    NoChoice,
    /// An endurance of 0.
    #[error(
        "an endurance of 0 erases per block leaves a drive that cannot be written, give at least 1"
    )]
    NoEndurance,
}

/// No block is left that could take the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WornOut;

/// Why a translation layer did not write a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// No block is left that could take it.
    WornOut,
    /// It does not fit its zone.
    Zone(ZoneFault),
}

impl From<WornOut> for Refused {
    fn from(_worn_out: WornOut) -> Refused {
        Refused::WornOut
    }
}

impl From<ZoneFault> for Refused {
    fn from(fault: ZoneFault) -> Refused {
        Refused::Zone(fault)
    }
}

/// Why a page does not fit its zone. Each message is the part of a sentence that begins with who wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ZoneFault {
    /// The zone goes on elsewhere.
    #[error(
        "writes page {} of zone {zone}, whose write pointer is at page {}; write zones in order, or give zone_writes=append", page.0, pointer.0
    )]
    NotAtPointer {
        /// The zone.
        zone: u32,
        /// The page that was written.
        page: LogicalPage,
        /// The page that was due.
        pointer: LogicalPage,
    },
    /// Every page of the zone is written.
    #[error("writes page {} of zone {zone}, which is full; reset it with a TRIM of the whole zone", page.0)]
    Full {
        /// The zone.
        zone: u32,
        /// The page that was written.
        page: LogicalPage,
    },
    /// As many zones are partly written as may be.
    #[error("writes page {} and so opens zone {zone}, while {open} zones are open; finish or reset one, or raise max_open_zones", page.0)]
    ManyOpen {
        /// The zone.
        zone: u32,
        /// The page that was written.
        page: LogicalPage,
        /// Zones that are partly written.
        open: u32,
    },
}

/// Why a drive did not write a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// It is worn out.
    #[error(transparent)]
    EndOfLife(EndOfLife),
    /// The page does not fit its zone.
    #[error("the host {0}")]
    Zone(ZoneFault),
}

/// The drive is worn out and takes no further write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the drive reached its end of life after {host_writes} host page writes: {retired_blocks} blocks were erased as often \
     as their endurance allows; give a higher endurance, a larger drive or a shorter trace"
)]
pub struct EndOfLife {
    /// Pages that the host had written, since the counters were last reset.
    pub host_writes: u64,
    /// Blocks that are retired.
    pub retired_blocks: u32,
}
