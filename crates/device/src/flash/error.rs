//! Why a drive cannot be built, and when it can no longer be written.

use super::geometry::Geometry;

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
