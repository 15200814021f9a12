//! A flash drive: geometry, mapping, garbage collection and wear.
//!
//! The [`Ftl`] (flash translation layer) decides where a page goes, which block is collected and when; it has one of several
//! [`Mapping`]s. It reports each physical operation to a [`FlashOperations`] and has no notion of time. [`Counters`] only count; a model with time
//! can be driven by the very same decisions. A [`Drive`] is an FTL with its counters.
//!
//! ```
//! use clockhand_device::flash::{Drive, FtlOptions, Geometry, LogicalPage};
//!
//! let geometry = Geometry::one_pool(5, 4, 4096);
//! let mut drive = Drive::new(geometry, FtlOptions::new(8))?;
//! for page in [0, 1, 2, 3, 4, 5, 6, 7, 0, 4, 1, 5, 0, 4, 0, 4, 2] {
//!     drive.write(LogicalPage(page))?;
//! }
//! let counters = drive.counters();
//! assert_eq!((counters.host_writes, counters.flash_programs(), counters.erases), (17, 21, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod amplification;
mod bast;
mod block_mapped;
mod cached_entries;
mod candidates;
mod classes;
mod counts;
mod data_blocks;
mod dftl;
mod drive;
mod error;
mod fast;
mod fewest_valid;
mod ftl;
mod geometry;
mod index_lists;
mod invariants;
mod lifetime;
mod map;
mod mapping_options;
mod operations;
mod options;
mod page_mapped;
mod pool;
mod precondition;
mod random;
mod requirements;
mod slc;
pub mod time;
mod translation_region;
mod wear;
mod zoned;

pub use amplification::{hot_cold_fifo_write_amplification, uniform_random_write_amplification};
pub use counts::MappingCounts;
pub use drive::{Capacity, Drive};
pub use error::{EndOfLife, FlashError, Refused, WriteError, ZoneFault};
pub use ftl::Ftl;
pub use geometry::{Block, Geometry, LogicalPage, PhysicalPage, TranslationPage};
pub use lifetime::Lifetime;
pub use mapping_options::{
    CachePolicy, DftlOptions, LogBlocks, Mapping, PageOptions, Separation, SlcFull, SlcOptions,
    ZoneOptions, ZoneWrites,
};
pub use operations::{Cause, Counters, FlashOperations};
pub use options::{Allocation, Frontiers, FtlOptions, MinimumFree, VictimRule};
pub use precondition::{Precondition, Preconditioned};
pub use wear::Wear;
