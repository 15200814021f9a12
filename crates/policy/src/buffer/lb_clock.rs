//! # LB-CLOCK: large block CLOCK
//!
//! **What it keeps.** Written pages in DRAM, grouped by block; the blocks in a circle with a hand and a
//! reference bit each. Reads are served from it but add nothing to it.
//!
//! **Victim.** Among the blocks with reference bit 0 the one with the most pages, the first from the hand if
//! several have; if there is none, the block under the hand gets bit 0 and is the victim. Its dirty pages are
//! flushed as one batch. Then the hand advances, clearing bits, to the first block with bit 0.
//!
//! **On a write.** A new block comes just behind the hand with bit 0. Any later write or hit of one of its
//! pages sets the bit.
//!
//! **Parameters.**
//!
//! * `clear_sequential`: whether a block that was written strictly from its first page to its last
//!   has its bit cleared at once (default false).
//!
//! * `commands`: `paper` (default) ignores FLUSH and FUA. With `safe`, FLUSH writes the dirty pages
//!   of each block; they stay as clean ones. An FUA page is written through.
//!
//! **Cost per hit and per victim.** A hit is constant. The search for the victim looks at a byte per 32 to 64 blocks, many
//! at once. About 72 bytes per block that has a page in the buffer, and 4 per block of the drive next to
//! which (in its 64) one ever had.
//!
//! **Deviations from the paper.** None known. Pages that `commands=safe` has cleaned stay until their block
//! is evicted.
//!
//! **Reference.** B. Debnath, S. Subramanya, D. Du, D. J. Lilja: Large block CLOCK (LB-CLOCK): a write caching
//! algorithm for solid state disks. MASCOTS 2009.

use alloc::vec::Vec;

use super::catalog::Cataloged;
use super::mechanism::grouped::{BlockOrder, GroupedBuffer, Groups, Options, Padding};
use super::mechanism::proposal::Commands;
use super::{BlockSlot, BufferInspector, BufferSize};
use crate::catalog::Description;
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::parts::{Circle, Listed};
use crate::{LogicalPage, Op};

/// A write buffer that evicts the largest block without a reference bit.
pub(crate) type LbClock = GroupedBuffer<LargeBlockClock>;

impl Cataloged for LbClock {
    const DESCRIPTION: Description = Description {
        name: "lb-clock",
        summary: "clock of blocks: the largest of those not used since the hand passed is flushed",
        paper: "Debnath, Subramanya, Du, Lilja 2009",
        parameters: &[
            Parameter {
                name: "clear_sequential",
                summary: "whether the bit of a block written in order is cleared at once",
                domain: Domain::Flag,
                default: Default::Value("false"),
                only_with: None,
            },
            Commands::PARAMETER,
        ],
        source: include_str!("lb_clock.rs"),
    };

    fn build(settings: &Settings, size: BufferSize) -> Self {
        let commands = Commands::of(settings);
        let options = Options { padding: Padding::None, caches_reads: false, commands };
        let order = LargeBlockClock {
            circle: Circle::EMPTY,
            referenced: Vec::new(),
            clears_sequential: settings.flag("clear_sequential"),
        };
        GroupedBuffer::new(order, size, options)
    }
}

/// A circle in which a block weighs its number of pages, or nothing while its reference bit is 1.
pub(crate) struct LargeBlockClock {
    circle: Circle<BlockSlot>,
    referenced: Vec<bool>,
    clears_sequential: bool,
}

impl LargeBlockClock {
    fn weight(&self, slot: BlockSlot, groups: &Groups) -> u8 {
        if self.referenced[slot.index()] { 0 } else { groups.pages(slot) as u8 }
    }

    fn set_referenced(&mut self, slot: BlockSlot, groups: &Groups) {
        let is_complete = self.clears_sequential && groups.was_written_in_order(slot);
        let was_referenced = core::mem::replace(&mut self.referenced[slot.index()], !is_complete);
        if is_complete || !was_referenced {
            self.circle.set_weight(slot, self.weight(slot, groups));
        }
    }

    /// The hand advances, clearing bits, to the first block with bit 0.
    fn advance(&mut self, groups: &Groups) {
        while let Some(slot) = self.circle.under_hand()
            && self.referenced[slot.index()]
        {
            self.referenced[slot.index()] = false;
            self.circle.pass();
            self.circle.set_weight(slot, groups.pages(slot) as u8);
        }
    }
}

impl BlockOrder for LargeBlockClock {
    fn added(&mut self, _: LogicalPage, slot: BlockSlot, groups: &Groups) {
        if groups.pages(slot) > 1 {
            return self.set_referenced(slot, groups);
        }
        if slot.index() >= self.referenced.len() {
            self.referenced.resize(slot.index() + 1, false);
        }
        self.referenced[slot.index()] = false;
        self.circle.push_tail(slot, 1);
    }

    fn hit(&mut self, _: Op, _: LogicalPage, slot: BlockSlot, groups: &Groups) {
        self.set_referenced(slot, groups);
    }

    fn shrunk(&mut self, _: LogicalPage, slot: BlockSlot, groups: &Groups) {
        self.circle.set_weight(slot, self.weight(slot, groups));
    }

    fn emptied(&mut self, slot: BlockSlot) {
        self.circle.remove(slot);
    }

    fn choose_victim(&mut self, groups: &Groups) -> BlockSlot {
        let victim = match self.circle.largest_weight() {
            0 => self.circle.under_hand(),
            _ => self.circle.first_heaviest(),
        };
        let victim = victim.expect("a full buffer has a block");
        self.circle.remove(victim);
        self.advance(groups);
        victim
    }

    fn inspect(&self, groups: &Groups, inspector: &mut dyn BufferInspector) {
        let blocks = self.circle.iter().map(|slot| (slot, self.referenced[slot.index()]));
        inspector.ring_of_blocks("blocks_from_hand", &mut groups.states(blocks));
    }

    fn check_invariants(&self, groups: &Groups) -> usize {
        self.circle.check_invariants(|slot| self.weight(slot, groups));
        let most = self.circle.iter().map(|slot| self.weight(slot, groups)).max();
        let naive = self.circle.iter().find(|&slot| Some(self.weight(slot, groups)) == most);
        assert_eq!(self.circle.first_heaviest(), naive, "the victim is that of a naive scan");
        self.circle.iter().count()
    }
}
