//! # FAB: flash-aware buffer
//!
//! **What it keeps.** Pages in DRAM, grouped by block; the groups in the order of their last use. Reads are
//! cached too.
//!
//! **Victim.** The group with the most pages; among several, the least recently used one, even if it is the
//! group of the incoming page. A group with a dirty page is flushed whole, its clean pages included (*clean
//! page padding*), in ascending order as one batch. An all-clean group is dropped.
//!
//! **On a write.** Any hit or insertion, read or write, makes the group the most recently used one. A write
//! miss reads nothing from flash.
//!
//! **Parameters.**
//!
//! * `clean_padding`: whether the clean pages of the victim are flushed too (default true);
//!   otherwise they are dropped.
//!
//! * `cache_reads`: whether a read miss brings its page into the buffer (default true).
//!
//! * `commands`: `paper` (default) ignores FLUSH and FUA. With `safe`, FLUSH writes the dirty pages
//!   of each block; they stay as clean ones. An FUA page is written through.
//!
//! **Cost per hit and per victim.** Constant: a list for each number of pages, in the order of use. A TRIM
//! may walk one such list. At most 64 bytes per block that has a page in the buffer, and 4 per block of the drive next to
//! which (in its 64) one ever had.
//!
//! **Deviations from the paper.** None known; which pages are padded and whether reads are cached matters more
//! than anything else, so both are named options.
//!
//! **Reference.** H. Jo, J.-U. Kang, S.-Y. Park, J.-S. Kim, J. Lee: FAB: flash-aware buffer management policy
//! for portable media players. IEEE Transactions on Consumer Electronics 52(2), 2006.

use super::catalog::Cataloged;
use super::mechanism::grouped::{BlockOrder, GroupedBuffer, Groups, Options, Padding};
use super::mechanism::proposal::Commands;
use super::{BlockSlot, BufferInspector, BufferSize};
use crate::catalog::Description;
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::parts::SizeBuckets;
use crate::{LogicalPage, Op};

/// A buffer that evicts the largest group.
pub(crate) type Fab = GroupedBuffer<LargestFirst>;

/// Whether a read miss brings its page into the buffer.
pub(super) const CACHE_READS: Parameter = Parameter {
    name: "cache_reads",
    summary: "whether a read miss brings its page into the buffer",
    domain: Domain::Flag,
    default: Default::Value("true"),
    only_with: None,
};

impl Cataloged for Fab {
    const DESCRIPTION: Description = Description {
        name: "fab",
        summary: "the block with the most buffered pages is flushed as one batch",
        paper: "Jo, Kang, Park, Kim, Lee 2006",
        parameters: &[
            Parameter {
                name: "clean_padding",
                summary: "whether the clean pages of the victim are flushed with it",
                domain: Domain::Flag,
                default: Default::Value("true"),
                only_with: None,
            },
            CACHE_READS,
            Commands::PARAMETER,
        ],
        source: include_str!("fab.rs"),
    };

    fn build(settings: &Settings, size: BufferSize) -> Self {
        let padding =
            if settings.flag("clean_padding") { Padding::Buffered } else { Padding::None };
        let caches_reads = settings.flag("cache_reads");
        let commands = Commands::of(settings);
        let options = Options { padding, caches_reads, commands };
        GroupedBuffer::new(LargestFirst(SizeBuckets::new()), size, options)
    }
}

/// Groups by their number of pages, each in the order of use.
pub(crate) struct LargestFirst(SizeBuckets);

impl BlockOrder for LargestFirst {
    fn added(&mut self, _: LogicalPage, slot: BlockSlot, groups: &Groups) {
        self.0.use_now(slot, groups.pages(slot));
    }

    fn hit(&mut self, _: Op, _: LogicalPage, slot: BlockSlot, groups: &Groups) {
        self.0.use_now(slot, groups.pages(slot));
    }

    fn shrunk(&mut self, _: LogicalPage, slot: BlockSlot, groups: &Groups) {
        self.0.shrink(slot, groups.pages(slot));
    }

    fn emptied(&mut self, slot: BlockSlot) {
        self.0.remove(slot);
    }

    fn choose_victim(&mut self, _: &Groups) -> BlockSlot {
        let victim = self.0.largest().expect("a full buffer has a group");
        self.0.remove(victim);
        victim
    }

    fn inspect(&self, groups: &Groups, inspector: &mut dyn BufferInspector) {
        let by_last_use = self.0.by_last_use();
        groups.show("groups", by_last_use.into_iter().map(|slot| (slot, false)), inspector);
    }

    fn check_invariants(&self, groups: &Groups) -> usize {
        self.0.check_invariants(|slot| groups.pages(slot));
        self.0.by_last_use().len()
    }
}
