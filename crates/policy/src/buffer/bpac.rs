//! # BPAC: block-page adaptive cache
//!
//! **What it keeps.** Written pages in DRAM. Pages that were written again are in an LRU list of pages, `page_list`; all others
//! are in *clusters*, those of one block in one. Time is the number of pages written to the buffer. A cluster *grows* when a
//! page that is new to the buffer joins it. `growing` has the clusters that may still grow, the one that has not grown for
//! longest first, and `finished` the others, in the order in which they came to their size. `target` is how many pages the
//! page list may have: half of the buffer at first.
//!
//! **Victim.** First, growing clusters that have not grown for longer than `growth` times the mean time between two
//! growths of a cluster become finished ones. Then the largest finished cluster leaves, of several the one that came to its
//! size first. If there is none, clusters have too little room: `target` falls by 1, and the LRU page of the page list joins
//! its cluster if the list is too long then, or if there is no cluster; then the first growing cluster leaves. Its dirty pages
//! are flushed as one batch; pages of its block in the page list stay.
//!
//! **On a write.** A page that is new joins its cluster, which is the last of the growing ones from then on. A page of a
//! cluster, or of the page list, becomes the most recent one of the page list. If the page had been in the page list before,
//! that is too short: `target` grows by 1, up to the pages of the buffer. While the list is longer than `target`, its LRU page
//! joins its cluster, which is a growing one if it is new. Reads add nothing and move nothing.
//!
//! **Parameters.**
//!
//! * `growth`: how long a cluster may go without growing, as a multiple of the mean time between two growths (default 1).
//!
//! * `commands`: `paper` (default) ignores FLUSH and FUA. With `safe`, FLUSH writes the dirty pages
//!   of each block; they stay as clean ones. An FUA page is written through.
//!
//! **Cost per hit and per victim.** Constant on average, but for a page that is looked for in the page list: one step per page
//! of its block there. At most 104 bytes per block that has a page in the buffer, 28 per page of the page list, and 4 per block
//! of the drive next to which (in its 64) one ever had.
//!
//! **Deviations from the paper.** This is our reading: its text was not at hand. Its abstracts say that pages of high temporal
//! locality are in a page list and clusters of pages of low temporal and high spatial locality in a block list, that the
//! partition adapts, that hot pages are in blocks that are else cold, that most clusters have their spatial locality in a limited
//! time, and that clusters of low spatial locality are found dynamically. How they are found, what moves the partition and the
//! order of clusters are ours.
//!
//! **Reference.** G. Wu, B. Eckart, X. He: BPAC: an adaptive write buffer management scheme for flash-based solid state drives.
//! MSST 2010; and ACM Transactions on Storage 8(1), 2012.

use alloc::vec::Vec;

use super::catalog::Cataloged;
use super::mechanism::grouped::{BlockOrder, GroupedBuffer, Groups, Options, Padding};
use super::mechanism::page_list::LogicalPageList;
use super::mechanism::proposal::Commands;
use super::{BlockSlot, BlockState, BufferInspector, BufferSize, PageState};
use crate::catalog::Description;
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::parts::{Links, List, Listed, SizeBuckets};
use crate::{Frame, LogicalPage, Op, Ratio};

/// A write buffer of pages that are written again, and of clusters of the others.
pub(crate) type Bpac = GroupedBuffer<PagesAndClusters>;

impl Cataloged for Bpac {
    const DESCRIPTION: Description = Description {
        name: "bpac",
        summary: "pages written again in a list, others by block until their block stops growing",
        paper: "Wu, Eckart, He 2010",
        parameters: &[
            Parameter {
                name: "growth",
                summary: "how long a cluster may go without growing, over the mean time between two growths",
                domain: Domain::Ratio { min: Ratio::whole(0), max: None },
                default: Default::Value("1"),
                only_with: None,
            },
            Commands::PARAMETER,
        ],
        source: include_str!("bpac.rs"),
    };

    fn build(settings: &Settings, size: BufferSize) -> Self {
        let commands = Commands::of(settings);
        let options = Options { padding: Padding::None, caches_reads: false, commands };
        let order = PagesAndClusters {
            blocks: Vec::new(),
            page_list: LogicalPageList::new(),
            target: size.pages / 2,
            most_pages: size.pages,
            links: Links::new(0),
            growing: List::EMPTY,
            finished: SizeBuckets::new(),
            writes: 0,
            growths: 0,
            time_between_growths: 0,
            growth: settings.ratio("growth").expect("it has a default"),
        };
        GroupedBuffer::new(order, size, options)
    }
}

/// A block with a page in the buffer. Masks have a bit for each of its pages.
#[derive(Clone, Copy)]
struct Block {
    /// Pages in the page list; the others are its cluster.
    listed: u64,
    /// Pages of the cluster that were in the page list before.
    demoted: u64,
    first_in_list: Frame,
    last_growth: u64,
}

impl Block {
    const NEW: Self = Block { listed: 0, demoted: 0, first_in_list: Frame::NONE, last_growth: 0 };
}

/// A page list over clusters, of which the growing ones are in the order of their last growth and the others by size.
pub(crate) struct PagesAndClusters {
    blocks: Vec<Block>,
    page_list: LogicalPageList,
    target: u32,
    most_pages: u32,
    links: Links<BlockSlot>,
    growing: List<BlockSlot>,
    finished: SizeBuckets,
    writes: u64,
    /// Of all clusters together, and the sum of the times between two of one cluster.
    growths: u64,
    time_between_growths: u64,
    growth: Ratio,
}

impl PagesAndClusters {
    /// The number of pages of a cluster.
    fn pages(&self, slot: BlockSlot, groups: &Groups) -> u32 {
        (groups.masks(slot).0 & !self.blocks[slot.index()].listed).count_ones()
    }

    fn is_listed(&self, page: LogicalPage, slot: BlockSlot, groups: &Groups) -> bool {
        self.blocks[slot.index()].listed & groups.bit(page) != 0
    }

    fn unlink(&mut self, slot: BlockSlot) {
        if self.finished.contains(slot) {
            self.finished.remove(slot);
        } else {
            self.growing.remove(&mut self.links, slot);
        }
    }

    /// A cluster that was there before has lost a page, or gained one without growing.
    fn resized(&mut self, slot: BlockSlot, groups: &Groups) {
        match self.pages(slot, groups) {
            0 => self.unlink(slot),
            pages if self.finished.contains(slot) => self.finished.use_now(slot, pages),
            _ => {}
        }
    }

    fn begin(&mut self, slot: BlockSlot) {
        self.blocks[slot.index()].last_growth = self.writes;
        self.growing.push_tail(&mut self.links, slot);
    }

    fn grow(&mut self, slot: BlockSlot) {
        self.growths += 1;
        self.time_between_growths += self.writes - self.blocks[slot.index()].last_growth;
        self.unlink(slot);
        self.begin(slot);
    }

    fn has_finished(&self, slot: BlockSlot) -> bool {
        let idle = u128::from(self.writes - self.blocks[slot.index()].last_growth);
        let longest = u128::from(self.growth.numerator()) * u128::from(self.time_between_growths);
        let idle = idle * u128::from(self.growth.denominator()) * u128::from(self.growths);
        self.growths > 0 && idle > longest
    }

    /// The LRU page of the page list, which is not empty, joins its cluster.
    fn demote(&mut self, groups: &Groups) {
        let page = self.page_list.least_recently_used().expect("the page list has a page");
        let (slot, bit) = (groups.slot_of(page), groups.bit(page));
        let block = &mut self.blocks[slot.index()];
        self.page_list.remove(&mut block.first_in_list, page);
        block.listed &= !bit;
        block.demoted |= bit;
        match self.pages(slot, groups) {
            1 => self.begin(slot),
            _ => self.resized(slot, groups),
        }
    }

    /// A page of a cluster is written again.
    fn promote(&mut self, page: LogicalPage, slot: BlockSlot, groups: &Groups) {
        let block = &mut self.blocks[slot.index()];
        let bit = groups.bit(page);
        if block.demoted & bit != 0 {
            self.target = self.most_pages.min(self.target + 1);
        }
        block.demoted &= !bit;
        block.listed |= bit;
        self.page_list.insert(&mut block.first_in_list, page);
        self.resized(slot, groups);
        while self.page_list.len() > self.target {
            self.demote(groups);
        }
    }

    fn clusters(
        &self,
        slots: impl Iterator<Item = BlockSlot>,
        groups: &Groups,
    ) -> impl Iterator<Item = BlockState> {
        let slots: Vec<BlockSlot> = slots.collect();
        let states: Vec<BlockState> =
            groups.states(slots.iter().map(|&slot| (slot, false))).collect();
        let listed: Vec<u64> = slots.iter().map(|slot| self.blocks[slot.index()].listed).collect();
        states.into_iter().zip(listed).map(|(state, listed)| BlockState {
            present: state.present & !listed,
            dirty: state.dirty & !listed,
            ..state
        })
    }
}

impl BlockOrder for PagesAndClusters {
    fn added(&mut self, page: LogicalPage, slot: BlockSlot, groups: &Groups) {
        self.writes += 1;
        if groups.pages(slot) == 1 {
            if slot.index() >= self.blocks.len() {
                self.blocks.resize(slot.index() + 1, Block::NEW);
                self.links.grow_to(slot);
            }
            self.blocks[slot.index()] = Block::NEW;
        }
        debug_assert!(!self.is_listed(page, slot, groups), "a new page is in its cluster");
        match self.pages(slot, groups) {
            1 => self.begin(slot),
            _ => self.grow(slot),
        }
    }

    fn hit(&mut self, op: Op, page: LogicalPage, slot: BlockSlot, groups: &Groups) {
        if op == Op::Read {
            return;
        }
        self.writes += 1;
        if self.is_listed(page, slot, groups) {
            self.page_list.use_now(self.blocks[slot.index()].first_in_list, page);
        } else {
            self.promote(page, slot, groups);
        }
    }

    fn shrunk(&mut self, page: LogicalPage, slot: BlockSlot, groups: &Groups) {
        let bit = groups.bit(page);
        let block = &mut self.blocks[slot.index()];
        block.demoted &= !bit;
        if block.listed & bit == 0 {
            return self.resized(slot, groups);
        }
        block.listed &= !bit;
        self.page_list.remove(&mut block.first_in_list, page);
    }

    fn emptied(&mut self, slot: BlockSlot) {
        let block = &mut self.blocks[slot.index()];
        match core::mem::take(&mut block.listed) {
            0 => self.unlink(slot),
            _ => self.page_list.remove_block(&mut block.first_in_list),
        }
    }

    fn choose_victim(&mut self, groups: &Groups) -> BlockSlot {
        while self.growing.len() > 0 && self.has_finished(self.growing.head()) {
            let slot = self.growing.head();
            self.growing.remove(&mut self.links, slot);
            self.finished.use_now(slot, self.pages(slot, groups));
        }
        let victim = self.finished.largest().unwrap_or_else(|| {
            self.target = self.target.saturating_sub(1);
            if self.page_list.len() > self.target || self.growing.len() == 0 {
                self.demote(groups);
            }
            self.growing.head()
        });
        self.unlink(victim);
        self.blocks[victim.index()].demoted = 0;
        victim
    }

    fn leaving(&self, victim: BlockSlot, present: u64) -> u64 {
        present & !self.blocks[victim.index()].listed
    }

    fn inspect(&self, groups: &Groups, inspector: &mut dyn BufferInspector) {
        let mut pages = self.page_list.iter().map(|page| {
            let dirty = groups.masks(groups.slot_of(page)).1 & groups.bit(page) != 0;
            PageState { page, dirty, referenced: false }
        });
        inspector.pages("page_list", &mut pages);
        let finished = self.finished.by_last_use().into_iter();
        inspector.blocks("finished", &mut self.clusters(finished, groups));
        let growing = self.growing.iter(&self.links);
        inspector.blocks("growing", &mut self.clusters(growing, groups));
        inspector.value("target", self.target.into());
    }

    fn check_invariants(&self, groups: &Groups) -> usize {
        self.page_list.check_invariants(|page| {
            let slot = groups.slot_of(page);
            assert!(self.is_listed(page, slot, groups), "a page in the list is not marked so");
            self.blocks[slot.index()].first_in_list
        });
        assert!(self.page_list.len() <= self.target, "the page list is too long");
        self.growing.check_invariants(&self.links);
        self.finished.check_invariants(|slot| self.pages(slot, groups));
        let finished = self.finished.by_last_use().into_iter();
        let mut slots: Vec<u32> = finished
            .chain(self.growing.iter(&self.links))
            .inspect(|&slot| assert!(self.pages(slot, groups) > 0, "a cluster has no page"))
            .map(|slot| slot.0)
            .collect();
        slots.extend(self.page_list.iter().map(|page| groups.slot_of(page).0));
        slots.sort_unstable();
        slots.dedup();
        slots.len()
    }
}
