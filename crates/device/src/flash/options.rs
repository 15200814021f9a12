//! How the translation layer decides.

use std::fmt;
use std::str::FromStr;

use num_traits::ToPrimitive;

use super::mapping_options::Mapping;
use crate::exact::{Exact, parse_decimal, readable};

/// What a page may go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allocation {
    /// All blocks are one pool.
    OnePool,
    /// Each die is a pool of its own, and logical page p belongs to die p mod dies: consecutive pages go round the dies,
    /// as in DiskSim's SSD extension.
    Striped,
}

/// Which block is collected. Only blocks that are full, so not a block still being written, can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VictimRule {
    /// The block with the fewest valid pages; ties to the smallest block number.
    Greedy,
    /// The block that became full first.
    Fifo,
    /// The block with the fewest valid pages among `d` drawn at random, with replacement; ties to the smallest number.
    DChoices(u32),
    /// A block drawn at random.
    Random,
    /// The block with the highest age × (1 − u) / 2u. Here u is the share of valid pages, and age the number of host
    /// writes since a page of the block was last programmed or became invalid. Ties go to the smallest number. A.
    /// Kawaguchi, S. Nishioka, H. Motoda: A flash-memory based file system. USENIX 1995. Each choice looks at all
    /// blocks.
    CostBenefit,
}

/// Whether relocated pages share a block with the host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frontiers {
    /// One block is being written, by host and collection.
    Shared,
    /// Relocated pages go to a block of their own, which tends to separate cold pages from hot ones.
    Separate,
}

/// When collection starts: fewer erased blocks than this are left in the pool, and a new block is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MinimumFree {
    /// A number of blocks of each pool.
    Blocks(u32),
    /// A share of each pool's blocks, rounded up, and at least 2 blocks.
    Share(Exact),
}

/// Collection relocates into one free block while the host waits for another.
pub(super) const MINIMUM_FREE_BLOCKS_MIN: u32 = 2;

impl MinimumFree {
    /// Blocks that a pool of `pool_blocks` keeps free.
    pub fn blocks(self, pool_blocks: u32) -> u32 {
        match self {
            MinimumFree::Blocks(blocks) => blocks,
            MinimumFree::Share(share) => {
                let blocks = share * Exact::from_integer(pool_blocks.into());
                blocks.ceil().to_u32().unwrap_or(u32::MAX).max(MINIMUM_FREE_BLOCKS_MIN)
            }
        }
    }
}

/// The options of a translation layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FtlOptions {
    /// Pages that the host may use, numbered from 0. Of zones, all their pages.
    pub logical_pages: u32,
    /// The mapping of pages. Victims, frontiers, free blocks and wear options below are of the mappings by page.
    pub mapping: Mapping,
    /// One pool, or one per die.
    pub allocation: Allocation,
    /// Which block is collected.
    pub victim: VictimRule,
    /// Whether relocated pages share a block with the host's.
    pub frontiers: Frontiers,
    /// When collection starts.
    pub minimum_free: MinimumFree,
    /// Wear-aware choice: a block that was erased more than this many times more than the average block of the pool, rounded
    /// down, is passed over while there is another with an invalid page. None: wear is not looked at.
    pub wear_limit: Option<u32>,
    /// Static wear levelling: when a block just erased has this many erases more than the least worn full block of the
    /// pool, that full block is collected too, whatever it holds. Its pages go to the block just erased. Looks at all
    /// blocks of the pool at each erase. None: off.
    pub wear_levelling: Option<u32>,
    /// Erases after which a block is retired. None: blocks last forever.
    pub endurance_erases: Option<u32>,
    /// Seed of what is drawn at random.
    pub seed: u64,
}

impl FtlOptions {
    /// Mapped by page, one pool, greedy, a shared frontier, two free blocks, no regard for wear.
    pub fn new(logical_pages: u32) -> FtlOptions {
        FtlOptions {
            logical_pages,
            mapping: Mapping::default(),
            allocation: Allocation::OnePool,
            victim: VictimRule::Greedy,
            frontiers: Frontiers::Shared,
            minimum_free: MinimumFree::Blocks(2),
            wear_limit: None,
            wear_levelling: None,
            endurance_erases: None,
            seed: 0,
        }
    }
}

impl fmt::Display for Allocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Allocation::OnePool => "one-pool",
            Allocation::Striped => "striped",
        })
    }
}

impl FromStr for Allocation {
    type Err = String;

    fn from_str(text: &str) -> Result<Allocation, String> {
        match text {
            "one-pool" => Ok(Allocation::OnePool),
            "striped" => Ok(Allocation::Striped),
            _ => Err(format!("allocation '{text}' is unknown; use one-pool or striped")),
        }
    }
}

impl fmt::Display for VictimRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VictimRule::Greedy => formatter.write_str("greedy"),
            VictimRule::Fifo => formatter.write_str("fifo"),
            VictimRule::DChoices(d) => write!(formatter, "d-choices:{d}"),
            VictimRule::Random => formatter.write_str("random"),
            VictimRule::CostBenefit => formatter.write_str("cost-benefit"),
        }
    }
}

impl FromStr for VictimRule {
    type Err = String;

    fn from_str(text: &str) -> Result<VictimRule, String> {
        let unknown = || {
            format!(
                "victim '{text}' is unknown; use greedy, fifo, d-choices:D with D from 1, random or cost-benefit"
            )
        };
        match text {
            "greedy" => Ok(VictimRule::Greedy),
            "fifo" => Ok(VictimRule::Fifo),
            "random" => Ok(VictimRule::Random),
            "cost-benefit" => Ok(VictimRule::CostBenefit),
            _ => {
                let d = text.strip_prefix("d-choices:").and_then(|d| d.parse().ok());
                d.filter(|d| *d > 0).map(VictimRule::DChoices).ok_or_else(unknown)
            }
        }
    }
}

impl fmt::Display for Frontiers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Frontiers::Shared => "shared",
            Frontiers::Separate => "separate",
        })
    }
}

impl FromStr for Frontiers {
    type Err = String;

    fn from_str(text: &str) -> Result<Frontiers, String> {
        match text {
            "shared" => Ok(Frontiers::Shared),
            "separate" => Ok(Frontiers::Separate),
            _ => Err(format!("frontiers '{text}' is unknown; use shared or separate")),
        }
    }
}

impl fmt::Display for MinimumFree {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MinimumFree::Blocks(blocks) => write!(formatter, "{blocks}"),
            MinimumFree::Share(share) => {
                write!(formatter, "{}%", readable(&(share * Exact::from_integer(100))))
            }
        }
    }
}

impl FromStr for MinimumFree {
    type Err = String;

    fn from_str(text: &str) -> Result<MinimumFree, String> {
        let refused = || {
            format!(
                "minimum_free '{text}' is neither a number of blocks nor a share of them below 100%; write 2 or 5%"
            )
        };
        match text.strip_suffix('%') {
            Some(percent) => {
                let share =
                    parse_decimal(percent).map_err(|_| refused())? / Exact::from_integer(100);
                if share < Exact::from_integer(1) {
                    Ok(MinimumFree::Share(share))
                } else {
                    Err(refused())
                }
            }
            None => text.parse().map(MinimumFree::Blocks).map_err(|_| refused()),
        }
    }
}
