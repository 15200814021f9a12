//! # CLC: cold and largest cluster
//!
//! **What it keeps.** Written pages in DRAM, grouped by block (*clusters*). A share `alpha` of the clusters,
//! those used last, is in one size-independent LRU list; a cluster that falls off its end goes to a list of the clusters
//! of its size.
//!
//! **Victim.** The least recent cluster of the largest size that has one; if there is none, the end of the LRU
//! list. Its dirty pages are flushed as one batch.
//!
//! **On a write.** Any hit or insertion, read or write, moves the cluster to the MRU end of the LRU list. A
//! read miss adds nothing to the buffer.
//!
//! **Parameters.**
//!
//! * `alpha`: the share of the clusters in the LRU list, rounded down (default 1/10): 1 is block
//!   LRU, 0 the largest cluster first.
//!
//! * `commands`: `paper` (default) ignores FLUSH and FUA. With `safe`, FLUSH writes the dirty pages
//!   of each block; they stay as clean ones. An FUA page is written through.
//!
//! **Cost per hit and per victim.** Constant on average: a list per size. A TRIM may walk one such list. At
//! most 72 bytes per block that has a page in the buffer, and 4 per block of the drive next to
//! which (in its 64) one ever had.
//!
//! **Deviations from the paper.** Our interpretation: the full text was not available. The paper's buffer is NVRAM;
//! here it is DRAM, so that `commands=safe` has something to do. Our choice: a read hit counts as a use.
//!
//! **Reference.** S. Kang, S. Park, H. Jung, H. Shim, J. Cha: Performance trade-offs in using NVRAM write
//! buffer for flash memory-based storage devices. IEEE Transactions on Computers 58(6), 2009.

use super::catalog::Cataloged;
use super::mechanism::grouped::{BlockOrder, GroupedBuffer, Groups, Options, Padding};
use super::mechanism::proposal::Commands;
use super::{BlockSlot, BufferInspector, BufferSize};
use crate::catalog::Description;
use crate::parameters::{Parameter, Settings};
use crate::parts::{Links, List, SizeBuckets};
use crate::{LogicalPage, Op, Ratio};

/// A write buffer that evicts the largest of its cold clusters.
pub(crate) type Clc = GroupedBuffer<ColdLargest>;

impl Cataloged for Clc {
    const DESCRIPTION: Description = Description {
        name: "clc",
        summary: "the largest of the blocks that have fallen off an LRU list of blocks is flushed",
        paper: "Kang, Park, Jung, Shim, Cha 2009",
        parameters: &[
            Parameter::share("alpha", "the share of the blocks that are in the LRU list", "1/10"),
            Commands::PARAMETER,
        ],
        source: include_str!("clc.rs"),
    };

    fn build(settings: &Settings, size: BufferSize) -> Self {
        let commands = Commands::of(settings);
        let options = Options { padding: Padding::None, caches_reads: false, commands };
        let order = ColdLargest {
            alpha: settings.ratio("alpha").expect("alpha has a default"),
            links: Links::new(0),
            recent: List::EMPTY,
            cold: SizeBuckets::new(),
        };
        GroupedBuffer::new(order, size, options)
    }
}

/// The LRU list, and the clusters that fell off it by their sizes.
pub(crate) struct ColdLargest {
    alpha: Ratio,
    links: Links<BlockSlot>,
    recent: List<BlockSlot>,
    cold: SizeBuckets,
}

impl ColdLargest {
    /// What exceeds the LRU list's share falls off its end.
    fn fall_off(&mut self, groups: &Groups) {
        let limit = self.alpha.floor_of(groups.len() as u32);
        while u64::from(self.recent.len()) > limit {
            let slot = self.recent.head();
            self.recent.remove(&mut self.links, slot);
            self.cold.use_now(slot, groups.pages(slot));
        }
    }

    /// Unlinks `slot` from where it is.
    fn unlink(&mut self, slot: BlockSlot) {
        if self.cold.contains(slot) {
            self.cold.remove(slot);
        } else {
            self.recent.remove(&mut self.links, slot);
        }
    }

    /// `slot`, which is in no list, is the most recent cluster.
    fn link(&mut self, slot: BlockSlot, groups: &Groups) {
        self.recent.push_tail(&mut self.links, slot);
        self.fall_off(groups);
    }
}

impl BlockOrder for ColdLargest {
    fn added(&mut self, _: LogicalPage, slot: BlockSlot, groups: &Groups) {
        if groups.pages(slot) == 1 {
            self.links.grow_to(slot);
        } else {
            self.unlink(slot);
        }
        self.link(slot, groups);
    }

    fn hit(&mut self, _: Op, _: LogicalPage, slot: BlockSlot, groups: &Groups) {
        self.unlink(slot);
        self.link(slot, groups);
    }

    fn shrunk(&mut self, _: LogicalPage, slot: BlockSlot, groups: &Groups) {
        if self.cold.contains(slot) {
            self.cold.shrink(slot, groups.pages(slot));
        }
    }

    fn emptied(&mut self, slot: BlockSlot) {
        self.unlink(slot);
    }

    fn choose_victim(&mut self, groups: &Groups) -> BlockSlot {
        self.fall_off(groups);
        let victim = self.cold.largest().unwrap_or(self.recent.head());
        self.unlink(victim);
        victim
    }

    fn inspect(&self, groups: &Groups, inspector: &mut dyn BufferInspector) {
        let cold = self.cold.by_last_use();
        groups.show("cold", cold.into_iter().map(|slot| (slot, false)), inspector);
        let recent = self.recent.iter(&self.links).map(|slot| (slot, false));
        groups.show("lru_to_mru", recent, inspector);
    }

    fn check_invariants(&self, groups: &Groups) -> usize {
        self.recent.check_invariants(&self.links);
        self.cold.check_invariants(|slot| groups.pages(slot));
        self.recent.len() as usize + self.cold.by_last_use().len()
    }
}
