//! # CBM, simplified: cooperative buffer management
//!
//! **What it keeps.** In DRAM an LRU *read cache* of clean pages only. In NVM, dirty pages only: a *page
//! region*, an LRU list of pages, and a *block region*, an LRU list of blocks.
//!
//! **Victim.** When NVM is full, the block of the block region with the most pages; among several, the least
//! recently used one. If the region is empty, all pages of the page region that belong to the block of the least
//! recently used page. The block's pages in the read cache are flushed with it (*clean padding*) and stay
//! cached. The read cache drops its least recently used page.
//!
//! **On a write.** A hit in NVM is served there and makes page or block the most recently used one; so does a
//! read hit. A write to a page that is only in the read cache is a miss, and the cached copy is dropped. A new
//! page joins its block if that is in the block region, else the page region; a block with at least
//! `threshold` pages in the page region moves to the block region as a whole.
//!
//! **Parameters.**
//!
//! * `dram_share`: the share of DRAM in the total, rounded down, at least a page (default 1/10).
//!
//! * `threshold`: the number of pages at which a block moves to the block region (default 4; a free
//!   parameter of the original: try 4, 8, 16 and 32).
//!
//! * `commands`: without effect, since a write is acknowledged only once it is in NVM.
//!
//! **Cost per hit and per victim.** Constant, but for a block that moves or leaves and for a page that is looked for in
//! the read cache or the page region: one step per page of the block there. A TRIM may walk the blocks of one size. At
//! most 64 bytes per block, 28 per page of the read cache and of the page region, and 4 per block of the drive next to
//! which (in its 64) one ever had a page in the buffer.
//!
//! **Deviations from the paper.** Simplified: the source was not available; this follows other authors' descriptions.
//! Our interpretation: a read hit in NVM counts as a use.
//!
//! **Reference.** Q. Wei, C. Chen, J. Yang: CBM: a cooperative buffer management for SSD. MSST 2014.

use super::catalog::{Cataloged, media_pages};
use super::clock_dnv::DRAM_SHARE;
use super::mechanism::block::{BlockSlot, BlockTable};
use super::mechanism::page_list::LogicalPageList;
use super::mechanism::proposal::{Commands, Proposal, as_proposed};
use super::{
    Action, BlockState, BufferInspector, BufferSize, Capacity, Medium, Occupancy, PageState,
    PagesPerBlock, Request, Served, Source, Step, StepPage, WriteBuffer,
};
use crate::catalog::Description;
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::parts::SizeBuckets;
use crate::{Frame, LogicalPage};

/// The pages of one block: in the read cache, and in one of the two regions of NVM.
#[derive(Clone, Copy, Debug)]
struct Block {
    block: u64,
    cached: u64,
    nvm: u64,
    is_in_block_region: bool,
    /// The frames of one of its pages in the read cache and in the page region.
    first_cached: Frame,
    first_in_region: Frame,
}

/// The purpose of the pending step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// To flush the pages that this block has in NVM.
    FlushBlock(BlockSlot),
    /// To drop this page from the read cache.
    DropCached(LogicalPage),
}

/// A read cache over a page region and a block region.
pub(crate) struct Cbm {
    pages_per_block: PagesPerBlock,
    dram_pages: u32,
    nvm_capacity: u32,
    threshold: u32,
    blocks: BlockTable<Block>,
    read_cache: LogicalPageList,
    page_region: LogicalPageList,
    block_region: SizeBuckets,
    nvm_pages: u32,
    purpose: Purpose,
    proposal: Proposal,
}

impl Cataloged for Cbm {
    const DESCRIPTION: Description = Description {
        name: "cbm",
        summary: "read cache in DRAM over page region and block region in NVM; simplified",
        paper: "Wei, Chen, Yang 2014",
        parameters: &[
            DRAM_SHARE,
            Parameter {
                name: "threshold",
                summary: "the number of pages at which a block moves to the block region",
                domain: Domain::Count { min: 1, max: 64 },
                default: Default::Value("4"),
                only_with: None,
            },
            Commands::PARAMETER,
        ],
        source: include_str!("cbm.rs"),
    };
    const IS_HYBRID: bool = true;

    fn build(settings: &Settings, size: BufferSize) -> Self {
        let (dram_pages, nvm_capacity) = media_pages(settings, size.pages);
        Cbm {
            pages_per_block: size.pages_per_block,
            dram_pages,
            nvm_capacity,
            threshold: settings.count("threshold").expect("threshold has a default") as u32,
            blocks: BlockTable::new(),
            read_cache: LogicalPageList::new(),
            page_region: LogicalPageList::new(),
            block_region: SizeBuckets::new(),
            nvm_pages: 0,
            purpose: Purpose::DropCached(LogicalPage(0)),
            proposal: Proposal::new(size.pages_per_block),
        }
    }
}

impl Cbm {
    #[inline]
    fn find(&self, page: LogicalPage) -> Option<BlockSlot> {
        self.blocks.find(self.pages_per_block.block_of(page))
    }

    fn slot_of(&self, page: LogicalPage) -> BlockSlot {
        self.find(page).expect("the block of a buffered page is known")
    }

    fn find_or_insert(&mut self, page: LogicalPage) -> BlockSlot {
        self.find(page).unwrap_or_else(|| {
            let block = self.pages_per_block.block_of(page);
            let (first_cached, first_in_region) = (Frame::NONE, Frame::NONE);
            let (cached, nvm, is_in_block_region) = (0, 0, false);
            let entry =
                Block { block, cached, nvm, is_in_block_region, first_cached, first_in_region };
            self.blocks.insert(block, entry)
        })
    }

    fn forget_if_empty(&mut self, slot: BlockSlot) {
        let Block { block, cached, nvm, .. } = self.blocks[slot];
        if cached | nvm == 0 {
            self.blocks.remove(block, slot);
        }
    }

    fn propose(&mut self, request: Request) {
        match request {
            Request::Read(page) => {
                if self.place_of(page).is_none() && self.read_cache.len() == self.dram_pages {
                    let oldest = self.read_cache.least_recently_used();
                    self.propose_drop(oldest.expect("a full cache has a page"));
                }
            }
            Request::Write(page) | Request::ForceUnitAccess(page) => match self.place_of(page) {
                Some(Medium::Nvm) => {}
                Some(Medium::Dram) => self.propose_drop(page),
                None if self.nvm_pages == self.nvm_capacity => self.propose_flush(true),
                None => {}
            },
            Request::Drain if self.nvm_pages > 0 => self.propose_flush(false),
            Request::Drain | Request::Flush | Request::Trim(_) => {}
        }
    }

    fn propose_drop(&mut self, page: LogicalPage) {
        self.purpose = Purpose::DropCached(page);
        let entry = StepPage { page, dirty: false, source: Source::Dram, stays: false };
        self.proposal.propose_page(Action::Drop, entry);
    }

    /// The block whose pages leave NVM next.
    fn victim(&self) -> BlockSlot {
        self.block_region.largest().unwrap_or_else(|| {
            let oldest = self.page_region.least_recently_used();
            self.slot_of(oldest.expect("NVM that is not empty has a page"))
        })
    }

    fn propose_flush(&mut self, pads: bool) {
        let slot = self.victim();
        self.purpose = Purpose::FlushBlock(slot);
        let Block { block, cached, nvm, .. } = self.blocks[slot];
        let padding = if pads { cached } else { 0 };
        let pages_per_block = self.pages_per_block;
        self.proposal.propose(Action::Flush, |pages| {
            pages.extend(pages_per_block.pages(block, nvm | padding).map(|page| {
                let dirty = nvm & pages_per_block.bit(page) != 0;
                let source = if dirty { Source::Nvm } else { Source::Dram };
                StepPage { page, dirty, source, stays: !dirty }
            }));
        });
    }

    fn commit_flush(&mut self, slot: BlockSlot) {
        let entry = &mut self.blocks[slot];
        match core::mem::take(&mut entry.is_in_block_region) {
            true => self.block_region.remove(slot),
            false => self.page_region.remove_block(&mut entry.first_in_region),
        }
        self.nvm_pages -= core::mem::take(&mut entry.nvm).count_ones();
        self.forget_if_empty(slot);
    }

    fn remove_cached(&mut self, page: LogicalPage) {
        let slot = self.slot_of(page);
        let entry = &mut self.blocks[slot];
        self.read_cache.remove(&mut entry.first_cached, page);
        entry.cached &= !self.pages_per_block.bit(page);
        self.forget_if_empty(slot);
    }

    /// A hit in NVM makes page or block the most recently used one.
    fn use_in_nvm(&mut self, page: LogicalPage) {
        let slot = self.slot_of(page);
        let Block { nvm, is_in_block_region, first_in_region, .. } = self.blocks[slot];
        match is_in_block_region {
            true => self.block_region.use_now(slot, nvm.count_ones()),
            false => self.page_region.use_now(first_in_region, page),
        }
    }

    fn add_to_nvm(&mut self, page: LogicalPage) {
        assert!(self.nvm_pages < self.nvm_capacity, "NVM is full");
        let slot = self.find_or_insert(page);
        let entry = &mut self.blocks[slot];
        entry.nvm |= self.pages_per_block.bit(page);
        self.nvm_pages += 1;
        let pages = entry.nvm.count_ones();
        if !entry.is_in_block_region {
            self.page_region.insert(&mut entry.first_in_region, page);
            if pages < self.threshold {
                return;
            }
            self.page_region.remove_block(&mut entry.first_in_region);
            entry.is_in_block_region = true;
        }
        self.block_region.use_now(slot, pages);
    }

    fn read(&mut self, page: LogicalPage) -> Served {
        let hit = self.place_of(page);
        match hit {
            Some(Medium::Dram) => {
                let first = self.blocks[self.slot_of(page)].first_cached;
                self.read_cache.use_now(first, page);
            }
            Some(Medium::Nvm) => self.use_in_nvm(page),
            None => {
                assert!(self.read_cache.len() < self.dram_pages, "the read cache is full");
                let slot = self.find_or_insert(page);
                let entry = &mut self.blocks[slot];
                entry.cached |= self.pages_per_block.bit(page);
                self.read_cache.insert(&mut entry.first_cached, page);
            }
        }
        Served { hit, nvm_writes: 0 }
    }

    fn write(&mut self, page: LogicalPage) -> Served {
        let hit = self.place_of(page);
        match hit {
            Some(_) => self.use_in_nvm(page),
            None => self.add_to_nvm(page),
        }
        Served { hit, nvm_writes: 1 }
    }

    fn trim_in_nvm(&mut self, page: LogicalPage) {
        let slot = self.slot_of(page);
        let entry = &mut self.blocks[slot];
        entry.nvm &= !self.pages_per_block.bit(page);
        self.nvm_pages -= 1;
        let pages = entry.nvm.count_ones();
        match (entry.is_in_block_region, pages) {
            (false, _) => self.page_region.remove(&mut entry.first_in_region, page),
            (true, 0) => {
                entry.is_in_block_region = false;
                self.block_region.remove(slot);
            }
            (true, _) => self.block_region.shrink(slot, pages),
        }
        self.forget_if_empty(slot);
    }

    fn trim(&mut self, page: LogicalPage) -> Served {
        let hit = self.place_of(page);
        match hit {
            Some(Medium::Dram) => self.remove_cached(page),
            Some(Medium::Nvm) => self.trim_in_nvm(page),
            None => {}
        }
        Served { hit, nvm_writes: 0 }
    }

    fn page_state(&self, page: LogicalPage) -> PageState {
        PageState { page, dirty: self.is_dirty(page), referenced: false }
    }
}

impl WriteBuffer for Cbm {
    fn capacity(&self) -> Capacity {
        Capacity { dram_pages: self.dram_pages, nvm_pages: self.nvm_capacity }
    }

    fn occupancy(&self) -> Occupancy {
        Occupancy {
            dram_pages: self.read_cache.len(),
            nvm_pages: self.nvm_pages,
            dirty_pages: self.nvm_pages,
        }
    }

    #[inline]
    fn place_of(&self, page: LogicalPage) -> Option<Medium> {
        let (entry, bit) = (&self.blocks[self.find(page)?], self.pages_per_block.bit(page));
        if entry.nvm & bit != 0 {
            Some(Medium::Nvm)
        } else {
            (entry.cached & bit != 0).then_some(Medium::Dram)
        }
    }

    fn is_dirty(&self, page: LogicalPage) -> bool {
        self.place_of(page) == Some(Medium::Nvm)
    }

    #[inline]
    fn look_ahead(&self, page: LogicalPage) {
        let entry = self.blocks.entry_ahead(self.pages_per_block.block_of(page));
        core::hint::black_box(entry.map(|block| block.nvm));
    }

    as_proposed!(next_step);

    fn commit(&mut self) {
        self.proposal.take();
        match self.purpose {
            Purpose::FlushBlock(slot) => self.commit_flush(slot),
            Purpose::DropCached(page) => self.remove_cached(page),
        }
    }

    #[inline]
    fn serve(&mut self, request: Request) -> Served {
        assert!(!self.proposal.is_pending(), "the pending step is committed first");
        match request {
            Request::Read(page) => self.read(page),
            Request::Write(page) | Request::ForceUnitAccess(page) => self.write(page),
            Request::Trim(page) => self.trim(page),
            Request::Flush | Request::Drain => Served::default(),
        }
    }

    fn inspect(&self, inspector: &mut dyn BufferInspector) {
        let state = |page| self.page_state(page);
        inspector.pages("read_cache", &mut self.read_cache.iter().map(state));
        inspector.memory(Medium::Nvm);
        inspector.pages("page_region", &mut self.page_region.iter().map(state));
        let mut blocks = self.block_region.by_last_use().into_iter().map(|slot| {
            let Block { block, nvm, .. } = self.blocks[slot];
            BlockState { block, present: nvm, dirty: nvm, referenced: false }
        });
        inspector.blocks("block_region", &mut blocks);
    }

    fn check_invariants(&self) {
        let block = |page| &self.blocks[self.slot_of(page)];
        self.read_cache.check_invariants(|page| block(page).first_cached);
        self.page_region.check_invariants(|page| block(page).first_in_region);
        self.block_region.check_invariants(|slot| self.blocks[slot].nvm.count_ones());
        let in_blocks: u32 = self
            .block_region
            .by_last_use()
            .into_iter()
            .map(|slot| self.blocks[slot].nvm.count_ones())
            .sum();
        assert_eq!(in_blocks + self.page_region.len(), self.nvm_pages, "NVM is recounted");
        assert!(self.nvm_pages <= self.nvm_capacity, "more pages than NVM has place for");
        assert!(
            self.read_cache.len() <= self.dram_pages,
            "more pages than the cache has place for"
        );
        let is_dirty = |page| self.is_dirty(page);
        assert!(!self.read_cache.iter().any(is_dirty), "DRAM and NVM are disjoint");
        assert!(self.page_region.iter().all(is_dirty), "the page region is in NVM");
    }
}
