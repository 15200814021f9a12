//! Which mapping a translation layer has, and the options of each.

use std::fmt;
use std::str::FromStr;

/// The mapping of logical to physical pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mapping {
    /// Each page is mapped by itself, and the whole map is in the drive's memory.
    Page(PageOptions),
    /// Blocks are mapped, with log blocks for overwrites that each belong to one data block. J. Kim, J. M. Kim, S. H. Noh,
    /// S. L. Min, Y. Cho: A space-efficient flash translation layer for CompactFlash systems. IEEE TCE, 2002.
    Bast(LogBlocks),
    /// Blocks are mapped, and all data blocks share the log blocks. S.-W. Lee et al.: A log buffer-based flash translation layer
    /// using fully-associative sector translation. ACM TECS, 2007.
    Fast(LogBlocks),
    /// Each page is mapped by itself, the map is on flash, and some of its entries are cached. A. Gupta, Y. Kim, B. Urgaonkar:
    /// DFTL: a flash translation layer employing demand-based selective caching of page-level address mappings. ASPLOS 2009.
    Dftl(DftlOptions),
    /// The host writes zones in order and resets them; the drive maps nothing (NVMe ZNS).
    Zoned(ZoneOptions),
}

/// Options of the page mapping.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageOptions {
    /// The region of fast blocks that the host's pages go to first, if the drive has one.
    pub slc: Option<SlcOptions>,
    /// Which pages are kept apart from which.
    pub separation: Separation,
}

/// A region of blocks that hold one bit per cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlcOptions {
    /// The last blocks of each pool, at least 1.
    pub blocks: u32,
    /// Bits of a cell in the main region: a block of the region holds this many times fewer pages, rounded down.
    pub bits_per_cell: u32,
    /// The effect of a host write on a full region.
    pub full: SlcFull,
}

/// The effect of a host write on a full SLC region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlcFull {
    /// The block that became full first is moved into the main region.
    Fold,
    /// The page goes to the main region; only folding in the background empties the SLC region.
    Direct,
}

/// Which of the host's pages are kept apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Separation {
    /// None.
    #[default]
    Off,
    /// By the stream that wrote them last, modulo this number, from 1 to 255.
    Stream(u8),
    /// Hot ones, written again within `hot_within` host writes, from the others; the logical pages if not given.
    Temperature {
        /// Host writes.
        hot_within: Option<u32>,
    },
}

/// Options of [`Mapping::Bast`] and [`Mapping::Fast`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogBlocks {
    /// Log blocks of each pool; all but those of the data and one more if not given.
    pub log_blocks: Option<u32>,
}

/// Options of [`Mapping::Dftl`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DftlOptions {
    /// Entries of the map that are cached, at least 1.
    pub cmt_entries: u32,
    /// Which entry leaves the cache.
    pub cmt_policy: CachePolicy,
    /// Bytes of an entry in a translation page.
    pub entry_bytes: u32,
    /// True if an evicted dirty entry takes the other dirty ones of its translation page along.
    pub batch_eviction: bool,
}

/// Which cached entry of the map leaves first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CachePolicy {
    /// The least recently used of those used once, else of the others, which are at most half.
    SegmentedLru,
    /// The least recently used.
    Lru,
}

/// Options of [`Mapping::Zoned`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneOptions {
    /// Blocks of a zone, at least 1.
    pub zone_blocks: u32,
    /// The treatment of a page that is not written at its zone's write pointer.
    pub writes: ZoneWrites,
    /// Zones that may be partly written at a time; no limit if not given.
    pub max_open_zones: Option<u32>,
}

/// The treatment of a page that is not written at its zone's write pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneWrites {
    /// It is refused.
    Strict,
    /// It goes to the write pointer.
    Append,
}

impl Default for Mapping {
    fn default() -> Mapping {
        Mapping::Page(PageOptions::default())
    }
}

impl Mapping {
    /// Its name, as users write it.
    pub fn name(&self) -> &'static str {
        match self {
            Mapping::Page(_) => "page",
            Mapping::Bast(_) => "bast",
            Mapping::Fast(_) => "fast",
            Mapping::Dftl(_) => "dftl",
            Mapping::Zoned(_) => "zoned",
        }
    }

    /// The SLC region, if there is one.
    pub fn slc(&self) -> Option<SlcOptions> {
        match self {
            Mapping::Page(options) => options.slc,
            _ => None,
        }
    }

    /// The pages that are kept apart, if any.
    pub fn separation(&self) -> Separation {
        match self {
            Mapping::Page(options) => options.separation,
            _ => Separation::Off,
        }
    }
}

impl Separation {
    /// Classes of pages, each with a block of its own that is being written.
    pub fn classes(self) -> u32 {
        match self {
            Separation::Off => 1,
            Separation::Stream(classes) => classes.into(),
            Separation::Temperature { .. } => 2,
        }
    }

    /// Classes of which the pages of one block may be.
    pub(super) fn classes_of_a_block(self) -> u32 {
        match self {
            // A page's class changes only when it is written, and then it leaves its block.
            Separation::Off | Separation::Stream(_) => 1,
            Separation::Temperature { .. } => 2,
        }
    }
}

impl fmt::Display for SlcFull {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            SlcFull::Fold => "fold",
            SlcFull::Direct => "direct",
        })
    }
}

impl FromStr for SlcFull {
    type Err = String;

    fn from_str(text: &str) -> Result<SlcFull, String> {
        match text {
            "fold" => Ok(SlcFull::Fold),
            "direct" => Ok(SlcFull::Direct),
            _ => Err(format!("slc_full '{text}' is unknown; use fold or direct")),
        }
    }
}

impl fmt::Display for CachePolicy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            CachePolicy::SegmentedLru => "slru",
            CachePolicy::Lru => "lru",
        })
    }
}

impl FromStr for CachePolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<CachePolicy, String> {
        match text {
            "slru" => Ok(CachePolicy::SegmentedLru),
            "lru" => Ok(CachePolicy::Lru),
            _ => Err(format!("cmt_policy '{text}' is unknown; use slru or lru")),
        }
    }
}

impl fmt::Display for ZoneWrites {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            ZoneWrites::Strict => "strict",
            ZoneWrites::Append => "append",
        })
    }
}

impl FromStr for ZoneWrites {
    type Err = String;

    fn from_str(text: &str) -> Result<ZoneWrites, String> {
        match text {
            "strict" => Ok(ZoneWrites::Strict),
            "append" => Ok(ZoneWrites::Append),
            _ => Err(format!("zone_writes '{text}' is unknown; use strict or append")),
        }
    }
}
