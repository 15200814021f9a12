//! # BPLRU: block padding LRU
//!
//! **What it keeps.** Written pages in DRAM, grouped by block; the blocks in one LRU list. Reads are served
//! from it but add nothing to it.
//!
//! **Victim.** The least recently written block. Under *page padding* its missing pages are read from flash,
//! and the whole block is written as one sequential batch.
//!
//! **On a write.** Moves its block to the MRU end; a read hit leaves the block where it is. *LRU compensation*:
//! a block that was written strictly from its first page to its last, and so is whole, goes to the LRU end
//! instead, since it will hardly be written again soon.
//!
//! **Parameters.**
//!
//! * `padding`: read the missing pages and write whole blocks (`on`, default), or write only the
//!   dirty pages (`off`).
//!
//! * `compensation`: whether blocks written in order go to the LRU end (default true).
//!
//! * `commands`: `paper` (default) ignores FLUSH and FUA. With `safe`, FLUSH writes the dirty pages
//!   of each block; they stay as clean ones. An FUA page is written through.
//!
//! **Cost per hit and per victim.** Constant. At most 48 bytes per block that has a page in the buffer, and 4 per
//! block of the drive next to which (in its 64) one ever had.
//!
//! **Deviations from the paper.** Pages that `commands=safe` has cleaned stay until their block is evicted; a block
//! with no dirty page left is dropped. The last block of the drive is padded up to the drive's end. Once one of its
//! pages is written again, or trimmed, a block no longer counts as written in order.
//!
//! **Reference.** H. Kim, S. Ahn: BPLRU: a buffer management scheme for improving random writes in flash
//! storage. FAST 2008.

use super::catalog::Cataloged;
use super::mechanism::grouped::{BlockOrder, GroupedBuffer, Groups, Options, Padding};
use super::mechanism::proposal::Commands;
use super::{BlockSlot, BufferInspector, BufferSize};
use crate::catalog::Description;
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::parts::{Links, List};
use crate::{LogicalPage, Op};

/// A write buffer that evicts the least recently written block.
pub(crate) type Bplru = GroupedBuffer<BlockLru>;

/// Whether blocks leave whole.
pub(super) const PADDING: Parameter = Parameter {
    name: "padding",
    summary: "whether a block's missing pages are read and written with it",
    domain: Domain::Choice(&["on", "off"]),
    default: Default::Value("on"),
    only_with: None,
};

impl Cataloged for Bplru {
    const DESCRIPTION: Description = Description {
        name: "bplru",
        summary: "the least recently written block leaves, padded to a whole one with pages read from flash",
        paper: "Kim, Ahn 2008",
        parameters: &[
            PADDING,
            Parameter {
                name: "compensation",
                summary: "whether a block written in order goes to the LRU end",
                domain: Domain::Flag,
                default: Default::Value("true"),
                only_with: None,
            },
            Commands::PARAMETER,
        ],
        source: include_str!("bplru.rs"),
    };

    fn build(settings: &Settings, size: BufferSize) -> Self {
        let padding =
            if settings.choice("padding") == "on" { Padding::WholeBlock } else { Padding::None };
        let options = Options { padding, caches_reads: false, commands: Commands::of(settings) };
        let order = BlockLru {
            links: Links::new(0),
            list: List::EMPTY,
            compensates: settings.flag("compensation"),
        };
        GroupedBuffer::new(order, size, options)
    }
}

/// Blocks from the least to the most recently written.
pub(crate) struct BlockLru {
    links: Links<BlockSlot>,
    list: List<BlockSlot>,
    compensates: bool,
}

impl BlockLru {
    /// Links `slot`, which is in no list, after a write.
    fn link(&mut self, slot: BlockSlot, groups: &Groups) {
        if self.compensates && groups.was_written_in_order(slot) {
            self.list.push_head(&mut self.links, slot);
        } else {
            self.list.push_tail(&mut self.links, slot);
        }
    }
}

impl BlockOrder for BlockLru {
    fn added(&mut self, _: LogicalPage, slot: BlockSlot, groups: &Groups) {
        if groups.pages(slot) == 1 {
            self.links.grow_to(slot);
        } else {
            self.list.remove(&mut self.links, slot);
        }
        self.link(slot, groups);
    }

    fn hit(&mut self, op: Op, _: LogicalPage, slot: BlockSlot, groups: &Groups) {
        if op == Op::Write {
            self.list.remove(&mut self.links, slot);
            self.link(slot, groups);
        }
    }

    fn shrunk(&mut self, _: LogicalPage, _: BlockSlot, _: &Groups) {}

    fn emptied(&mut self, slot: BlockSlot) {
        self.list.remove(&mut self.links, slot);
    }

    fn choose_victim(&mut self, _: &Groups) -> BlockSlot {
        let victim = self.list.head();
        self.list.remove(&mut self.links, victim);
        victim
    }

    fn inspect(&self, groups: &Groups, inspector: &mut dyn BufferInspector) {
        let blocks = self.list.iter(&self.links).map(|slot| (slot, false));
        groups.show("lru_to_mru", blocks, inspector);
    }

    fn check_invariants(&self, _: &Groups) -> usize {
        self.list.check_invariants(&self.links);
        self.list.len() as usize
    }
}
