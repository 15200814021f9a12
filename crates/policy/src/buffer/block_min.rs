//! # BLOCK-MIN: the block whose next write is farthest leaves
//!
//! **What it keeps.** Written pages in DRAM, grouped by block, and when each block is written next. Shown:
//! `farthest_first`, the blocks in the order in which they would leave.
//!
//! **Victim.** The block whose next write is farthest; of those that are not written again, the one whose last write
//! is longest ago. Its dirty pages are flushed as one batch.
//!
//! **On a write.** The block's next write is looked up. Reads add nothing and move nothing.
//!
//! **Parameters.**
//!
//! * `padding`: read the missing pages of the victim and write whole blocks (`on`), or write only the dirty pages
//!   (`off`, default).
//!
//! * `commands`: `paper` (default) ignores FLUSH and FUA. With `safe`, FLUSH writes the dirty pages
//!   of each block; they stay as clean ones. An FUA page is written through.
//!
//! **Cost per hit and per victim.** Logarithmic in the blocks of the buffer. 8 bytes per page that the trace writes.
//!
//! **Deviations from the paper.** No text that uses the name was at hand: this is MIN, with blocks in the place of
//! pages. It needs the future, so that no device can run it, and `all` leaves it out. A repetition of the trace is not
//! foreseen. It shows what knowing the next write is worth, and is no bound: blocks have different numbers of pages,
//! and MIN is best only for pages of one size. A driver that foresees nothing gets the least recently written block.
//!
//! **Reference.** L. A. Belady: A study of replacement algorithms for a virtual-storage computer. IBM Systems Journal
//! 5(2), 1966.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use super::bplru::PADDING;
use super::catalog::Cataloged;
use super::mechanism::grouped::{BlockOrder, GroupedBuffer, Groups, Options, Padding};
use super::mechanism::proposal::Commands;
use super::{BlockSlot, BufferInspector, BufferSize};
use crate::catalog::Description;
use crate::parameters::{Default, Parameter, Settings};
use crate::parts::{Listed, SlotHeap};
use crate::{LogicalPage, Op};

/// A write buffer that evicts the block whose next write is farthest.
pub(crate) type BlockMin = GroupedBuffer<ByNextWrite>;

impl Cataloged for BlockMin {
    const DESCRIPTION: Description = Description {
        name: "block-min",
        summary: "offline: the block whose next write is farthest is flushed",
        paper: "Belady 1966, for blocks",
        parameters: &[Parameter { default: Default::Value("off"), ..PADDING }, Commands::PARAMETER],
        source: include_str!("block_min.rs"),
    };
    const IS_OFFLINE: bool = true;

    fn build(settings: &Settings, size: BufferSize) -> Self {
        let padding =
            if settings.choice("padding") == "on" { Padding::WholeBlock } else { Padding::None };
        let options = Options { padding, caches_reads: false, commands: Commands::of(settings) };
        let order = ByNextWrite { next: Vec::new(), writes: 0, blocks: SlotHeap::new(size.pages) };
        GroupedBuffer::new(order, size, options)
    }
}

/// Never: the block is not written again.
const NEVER: u64 = u64::MAX;

/// Blocks by the time of their next write, a count of pages written.
pub(crate) struct ByNextWrite {
    /// For each write of the trace when its block is written next.
    next: Vec<u64>,
    writes: u64,
    /// By how near the next write is.
    blocks: SlotHeap<u64>,
}

impl ByNextWrite {
    /// A page of the block has been written.
    fn written(&mut self, slot: BlockSlot) {
        let next = self.next.get(self.writes as usize).copied().unwrap_or(NEVER);
        self.writes += 1;
        // Blocks that are not written again come before all others, in the order of their last writes.
        let nearness = if next == NEVER { self.writes } else { NEVER - next };
        self.blocks.set(slot.index() as u32, nearness);
    }
}

impl BlockOrder for ByNextWrite {
    fn foresee(&mut self, blocks: &mut dyn Iterator<Item = u64>) {
        let blocks: Vec<u64> = blocks.collect();
        let mut soonest = BTreeMap::new();
        self.next = vec![NEVER; blocks.len()];
        for (position, block) in blocks.into_iter().enumerate().rev() {
            let next = soonest.insert(block, position as u64);
            self.next[position] = next.unwrap_or(NEVER);
        }
    }

    fn added(&mut self, _: LogicalPage, slot: BlockSlot, _: &Groups) {
        self.written(slot);
    }

    fn hit(&mut self, op: Op, _: LogicalPage, slot: BlockSlot, _: &Groups) {
        if op == Op::Write {
            self.written(slot);
        }
    }

    fn shrunk(&mut self, _: LogicalPage, _: BlockSlot, _: &Groups) {}

    fn emptied(&mut self, slot: BlockSlot) {
        self.blocks.remove(slot.index() as u32);
    }

    fn choose_victim(&mut self, _: &Groups) -> BlockSlot {
        let victim = self.blocks.first().expect("the buffer is full");
        self.blocks.remove(victim);
        BlockSlot::from_index(victim)
    }

    fn inspect(&self, groups: &Groups, inspector: &mut dyn BufferInspector) {
        let mut slots: Vec<u32> = self.blocks.iter().collect();
        slots.sort_unstable_by_key(|&slot| self.blocks.key(slot));
        let blocks = slots.into_iter().map(|slot| (BlockSlot::from_index(slot), false));
        groups.show("farthest_first", blocks, inspector);
    }

    fn check_invariants(&self, _: &Groups) -> usize {
        self.blocks.check_invariants();
        self.blocks.iter().count()
    }
}
