//! # PUD-LRU: blocks by their predicted update distance
//!
//! **What it keeps.** Written pages in DRAM, grouped by block. Time is the number of pages written to the buffer. An
//! *update* is a write of a page that is in the buffer; each block knows when it came and how often it was updated. Blocks
//! that are updated often are in the LRU list `frequent`, all others in lists by their size, shown together as
//! `infrequent`, in the order of their arrival there.
//!
//! **Victim.** First, from the LRU end of `frequent`, blocks whose predicted update distance has become too long go to
//! `infrequent`. Then the largest of the infrequent blocks leaves, of several the one that came there first; if there is
//! none, the LRU block of `frequent`. Its dirty pages are flushed as one batch.
//!
//! **On a write.** An update makes its block the most recent one of `frequent` if the mean distance between its
//! updates, from its coming on, is at most `distance` times the pages of the buffer. Otherwise, and with a page that is
//! new, the block becomes the most recent one of its list. A new block is infrequent. The predicted distance is the
//! mean of all distances including the one since the last update. Reads add nothing and move nothing.
//!
//! **Parameters.**
//!
//! * `distance`: the longest distance of a block that is updated often, as a multiple of the pages of the buffer
//!   (default 1).
//!
//! * `padding`: read the missing pages of the victim and write whole blocks (`on`), or write only the dirty pages
//!   (`off`, default).
//!
//! * `commands`: `paper` (default) ignores FLUSH and FUA. With `safe`, FLUSH writes the dirty pages
//!   of each block; they stay as clean ones. An FUA page is written through.
//!
//! **Cost per hit and per victim.** Constant on average: a list per size, and a block falls off the frequent ones once
//! for each time that it was updated. A TRIM may walk one such list. At most 88 bytes per block that has a page in the
//! buffer, and 4 per block of the drive next to which (in its 64) one ever had.
//!
//! **Deviations from the paper.** This is our reading: its text was not at hand. Its abstract says that blocks are
//! distinguished by a predicted average update distance, which reflects frequency and recency, and that a destaged
//! block has as many valid pages as can be. The formula, the limit between the two kinds and the order within them are
//! ours. The paper stands on a log-block FTL, where padding pays; here it is an option, as for `bplru`.
//!
//! **Reference.** J. Hu, H. Jiang, L. Tian, L. Xu: PUD-LRU: an erase-efficient write buffer management algorithm for flash
//! memory SSD. MASCOTS 2010.

use alloc::vec::Vec;

use super::bplru::PADDING;
use super::catalog::Cataloged;
use super::mechanism::grouped::{BlockOrder, GroupedBuffer, Groups, Options, Padding};
use super::mechanism::proposal::Commands;
use super::{BlockSlot, BufferInspector, BufferSize};
use crate::catalog::Description;
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::parts::{Links, List, Listed, SizeBuckets};
use crate::{LogicalPage, Op, Ratio};

/// A write buffer that evicts the largest of the blocks that are hardly updated.
pub(crate) type PudLru = GroupedBuffer<ByUpdateDistance>;

impl Cataloged for PudLru {
    const DESCRIPTION: Description = Description {
        name: "pud-lru",
        summary: "the largest of the blocks whose next update is predicted to be far is flushed",
        paper: "Hu, Jiang, Tian, Xu 2010",
        parameters: &[
            Parameter {
                name: "distance",
                summary: "the longest distance of frequent updates as a multiple of the buffer's pages",
                domain: Domain::Ratio { min: Ratio::whole(0), max: None },
                default: Default::Value("1"),
                only_with: None,
            },
            Parameter { default: Default::Value("off"), ..PADDING },
            Commands::PARAMETER,
        ],
        source: include_str!("pud_lru.rs"),
    };

    fn build(settings: &Settings, size: BufferSize) -> Self {
        let padding =
            if settings.choice("padding") == "on" { Padding::WholeBlock } else { Padding::None };
        let options = Options { padding, caches_reads: false, commands: Commands::of(settings) };
        let order = ByUpdateDistance {
            distance: settings.ratio("distance").expect("it has a default"),
            capacity_pages: size.pages,
            writes: 0,
            histories: Vec::new(),
            links: Links::new(0),
            frequent: List::EMPTY,
            infrequent: SizeBuckets::new(),
        };
        GroupedBuffer::new(order, size, options)
    }
}

/// When a block came, and its updates since.
#[derive(Clone, Copy, Debug, Default)]
struct History {
    since: u64,
    updates: u64,
}

/// Blocks that are updated often in an LRU list, the others by their size.
pub(crate) struct ByUpdateDistance {
    distance: Ratio,
    capacity_pages: u32,
    writes: u64,
    histories: Vec<History>,
    links: Links<BlockSlot>,
    frequent: List<BlockSlot>,
    infrequent: SizeBuckets,
}

impl ByUpdateDistance {
    /// Returns whether the time since the block came exceeds this number of distances between updates.
    fn is_far(&self, slot: BlockSlot, distances: u64) -> bool {
        let span = u128::from(self.writes - self.histories[slot.index()].since);
        let longest = u128::from(self.distance.numerator()) * u128::from(self.capacity_pages);
        span * u128::from(self.distance.denominator()) > longest * u128::from(distances)
    }

    fn is_frequent(&self, slot: BlockSlot) -> bool {
        !self.infrequent.contains(slot)
    }

    fn unlink(&mut self, slot: BlockSlot) {
        if self.is_frequent(slot) {
            self.frequent.remove(&mut self.links, slot);
        } else {
            self.infrequent.remove(slot);
        }
    }

    /// `slot`, wherever it is, becomes the most recent one of the frequent or of the infrequent blocks.
    fn move_to(&mut self, is_frequent: bool, slot: BlockSlot, groups: &Groups) {
        self.unlink(slot);
        if is_frequent {
            self.frequent.push_tail(&mut self.links, slot);
        } else {
            self.infrequent.use_now(slot, groups.pages(slot));
        }
    }
}

impl BlockOrder for ByUpdateDistance {
    fn added(&mut self, _: LogicalPage, slot: BlockSlot, groups: &Groups) {
        self.writes += 1;
        if groups.pages(slot) > 1 {
            return self.move_to(self.is_frequent(slot), slot, groups);
        }
        if slot.index() >= self.histories.len() {
            self.histories.resize(slot.index() + 1, History::default());
            self.links.grow_to(slot);
        }
        self.histories[slot.index()] = History { since: self.writes, updates: 0 };
        self.infrequent.use_now(slot, 1);
    }

    fn hit(&mut self, op: Op, _: LogicalPage, slot: BlockSlot, groups: &Groups) {
        if op == Op::Write {
            self.writes += 1;
            self.histories[slot.index()].updates += 1;
            let is_far = self.is_far(slot, self.histories[slot.index()].updates);
            self.move_to(!is_far, slot, groups);
        }
    }

    fn shrunk(&mut self, _: LogicalPage, slot: BlockSlot, groups: &Groups) {
        if !self.is_frequent(slot) {
            self.infrequent.shrink(slot, groups.pages(slot));
        }
    }

    fn emptied(&mut self, slot: BlockSlot) {
        self.unlink(slot);
    }

    fn choose_victim(&mut self, groups: &Groups) -> BlockSlot {
        while self.frequent.len() > 0 {
            let slot = self.frequent.head();
            if !self.is_far(slot, self.histories[slot.index()].updates + 1) {
                break;
            }
            self.move_to(false, slot, groups);
        }
        let victim = self.infrequent.largest().unwrap_or(self.frequent.head());
        self.unlink(victim);
        victim
    }

    fn inspect(&self, groups: &Groups, inspector: &mut dyn BufferInspector) {
        let infrequent = self.infrequent.by_last_use();
        groups.show("infrequent", infrequent.into_iter().map(|slot| (slot, false)), inspector);
        let frequent = self.frequent.iter(&self.links).map(|slot| (slot, false));
        groups.show("frequent", frequent, inspector);
    }

    fn check_invariants(&self, groups: &Groups) -> usize {
        self.frequent.check_invariants(&self.links);
        self.infrequent.check_invariants(|slot| groups.pages(slot));
        self.frequent.len() as usize + self.infrequent.by_last_use().len()
    }
}
