//! # CLOCK-DNV: CLOCK with a DRAM and NVM hybrid write buffer
//!
//! **What it keeps.** *CLOCK-D*, a clock of pages in DRAM, clean ones (read misses) and dirty ones (write
//! misses), each with a reference bit that is 0 at first; and *CLOCK-NV*, a clock of blocks in NVM, which
//! holds dirty pages only, each block with a reference bit and its number of pages. A page is in one of them.
//!
//! **Victim.** In DRAM, from the hand: a page with reference bit 1 gets bit 0, the first one with bit 0
//! leaves: a clean one is discarded, a dirty one *migrates* to NVM (*dirty first migration*). If NVM is full, a
//! block leaves first: among the blocks with the most pages, from the hand, one with reference bit 1 gets bit
//! 0 and is skipped, the first one with bit 0 is the victim; smaller blocks keep their bits; the hand goes
//! behind the victim. All its pages are flushed as one batch, and with them the dirty pages of that block in
//! DRAM (*dirty page padding*), which leave DRAM. The page that migrates is not among them, even if the
//! victim is its own block; it enters NVM afterwards.
//!
//! **On a write.** A hit in DRAM makes the page dirty and leaves its reference bit alone; a read hit sets it
//! if the page is clean. A hit in NVM, read or write, is served there and sets the block's bit; a write counts
//! one NVM write. A miss goes to DRAM. A page that enters NVM sets its block's bit; a new block goes to the
//! place that the hand reaches last.
//!
//! **Parameters.** `dram_share`: the share of DRAM in the total, rounded down, at least a page (default 1/10).
//! `nvm_write_hit`: a write to a page in NVM is served there (`in_place`, default), moves it to DRAM, dirty
//! (`promote`: it leaves NVM first), or makes a newer copy in DRAM (`dram_copy`: the figure read literally; the
//! copy is written over the older one when it migrates, and is what padding flushes). `padding`: padded pages
//! leave DRAM (`remove`, default), stay as clean ones (`keep_clean`), or there is no padding (`off`).
//! `pad_migrating`: a migrating page of the victim's own block joins the batch and never enters NVM (default
//! false), also where `padding=off` leaves the other pages in DRAM. `read_allocate`: a read miss enters DRAM (default true). `commands`: `paper` (default) ignores FLUSH
//! and FUA; under `safe` an FUA write goes straight to NVM and replaces a copy in DRAM, and FLUSH migrates
//! all dirty pages, the one that has been dirty for longest first.
//!
//! **Cost per hit and per victim.** A hit is one look-up and a bit. A page leaves DRAM in constant time on
//! average; so does a change in the number of a block's pages in NVM. The search for the victim looks at a byte per 32 to 64
//! blocks, many at once, and skips the blocks among these together. About 79 bytes per block that has a page in the buffer, 32
//! per page of DRAM, and 4 per block of the drive next to which (in its 64) one ever had one.
//!
//! **Deviations from the paper.** The paper's figure places a page in both memories; here it is in one
//! (`dram_copy` is the literal reading). It says that CLOCK-NV ignores FLUSH and FUA; since dirty pages in DRAM
//! are lost in a power failure, a real drive needs `commands=safe`. Our choices: under `promote` the block's bit
//! is left alone; the page of an FUA write is never padded in its older version; a drain flushes the blocks of
//! NVM from the hand, then the dirty rest of DRAM block by block; of a page in both memories it writes the
//! newer version, once, also with `padding=off`.
//!
//! **Reference.** D. H. Kang, S. J. Han, Y.-C. Kim, Y. I. Eom: CLOCK-DNV: a write buffer algorithm for flash
//! storage devices of consumer electronics. IEEE Transactions on Consumer Electronics 63(1), 2017.

use alloc::vec::Vec;

mod clock_d;
mod clock_nv;
mod modes;

use clock_d::ClockD;
use clock_nv::ClockNv;
pub(super) use modes::DRAM_SHARE;
use modes::{Modes, NvmWriteHit, PARAMETERS, Padding};

use super::catalog::{Cataloged, media_pages};
use super::mechanism::block::{BlockSlot, BlockTable};
use super::mechanism::proposal::{Commands, Proposal};
use super::{
    Action, BufferInspector, BufferSize, Capacity, Medium, Occupancy, PagesPerBlock, Request,
    Served, Source, Step, StepPage, WriteBuffer,
};
use crate::catalog::Description;
use crate::parameters::Settings;

use crate::{Frame, LogicalPage};

/// The pages of one block, in both memories: 48 bytes, and 31 in the circle.
#[derive(Clone, Copy, Debug)]
struct Block {
    block: u64,
    /// Pages in DRAM, those of them that are dirty, and their reference bits.
    dram: u64,
    dirty: u64,
    referenced: u64,
    /// Pages in NVM.
    nvm: u64,
    first_frame: Frame,
}

/// What the pending step is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// To flush this block, which has left the circle.
    FlushBlock(BlockSlot),
    /// To take the departing page out of DRAM.
    Depart,
}

/// CLOCK-D and CLOCK-NV, and the blocks that they share.
pub(crate) struct ClockDnv {
    modes: Modes,
    pages_per_block: PagesPerBlock,
    blocks: BlockTable<Block>,
    dram: ClockD,
    nvm: ClockNv,
    /// A page that a write hit in NVM and that DRAM makes room for. One that is promoted has left NVM already.
    moving: Option<LogicalPage>,
    /// Pages in both memories, which only `dram_copy` has.
    copied_pages: u32,
    purpose: Purpose,
    proposal: Proposal,
}

impl Cataloged for ClockDnv {
    const DESCRIPTION: Description = Description {
        name: "clock-dnv",
        summary: "clock of pages in DRAM over clock of blocks in NVM, with dirty page padding",
        paper: "Kang, Han, Kim, Eom 2017",
        parameters: PARAMETERS,
        source: include_str!("clock_dnv.rs"),
    };
    const IS_HYBRID: bool = true;

    fn build(settings: &Settings, size: BufferSize) -> Self {
        let (dram_pages, nvm_pages) = media_pages(settings, size.pages);
        ClockDnv {
            modes: Modes::of(settings),
            pages_per_block: size.pages_per_block,
            blocks: BlockTable::new(),
            dram: ClockD::new(dram_pages, size.pages_per_block),
            nvm: ClockNv::new(nvm_pages),
            moving: None,
            copied_pages: 0,
            purpose: Purpose::Depart,
            proposal: Proposal::new(size.pages_per_block),
        }
    }
}

impl ClockDnv {
    #[inline]
    fn find(&self, page: LogicalPage) -> Option<BlockSlot> {
        self.blocks.find(self.pages_per_block.block_of(page))
    }

    /// The slot of the block of `page`, which has a page in the buffer.
    fn slot_of(&self, page: LogicalPage) -> BlockSlot {
        self.find(page).expect("the block of a buffered page is known")
    }

    fn find_or_insert(&mut self, page: LogicalPage) -> BlockSlot {
        self.find(page).unwrap_or_else(|| self.insert(page))
    }

    /// Enters the block of `page`, which is not known.
    fn insert(&mut self, page: LogicalPage) -> BlockSlot {
        let block = self.pages_per_block.block_of(page);
        let (dram, dirty, referenced, nvm) = (0, 0, 0, 0);
        let first_frame = Frame::NONE;
        self.blocks.insert(block, Block { block, dram, dirty, referenced, nvm, first_frame })
    }

    fn forget_if_empty(&mut self, slot: BlockSlot) {
        let Block { block, dram, nvm, .. } = self.blocks[slot];
        if dram | nvm == 0 {
            self.blocks.remove(block, slot);
        }
    }

    #[inline]
    fn medium_in(&self, slot: BlockSlot, page: LogicalPage) -> Option<Medium> {
        let (block, bit) = (&self.blocks[slot], self.pages_per_block.bit(page));
        if block.dram & bit != 0 {
            Some(Medium::Dram)
        } else {
            (block.nvm & bit != 0).then_some(Medium::Nvm)
        }
    }

    fn is_in_nvm(&self, page: LogicalPage) -> bool {
        let bit = self.pages_per_block.bit(page);
        self.find(page).is_some_and(|slot| self.blocks[slot].nvm & bit != 0)
    }

    fn propose(&mut self, request: Request) {
        let safe = self.modes.commands == Commands::Safe;
        match request {
            Request::Read(page) => {
                if self.modes.read_allocates && self.place_of(page).is_none() {
                    self.make_room_in_dram();
                }
            }
            Request::ForceUnitAccess(page) if safe => {
                if !self.is_in_nvm(page) && self.nvm.is_full() {
                    let slot = self.nvm.choose_victim();
                    let padding = self.padding_of(slot) & !self.bit_in(slot, page);
                    self.propose_batch(slot, self.blocks[slot].nvm, padding);
                }
            }
            Request::Write(page) | Request::ForceUnitAccess(page) => self.make_room_to_write(page),
            Request::Flush if safe => {
                if self.dram.departing().is_some() || self.dram.choose_oldest_dirty() {
                    self.propose_departure();
                }
            }
            Request::Drain => self.propose_drain(),
            Request::Flush | Request::Trim(_) => {}
        }
    }

    fn make_room_to_write(&mut self, page: LogicalPage) {
        if self.modes.nvm_write_hit == NvmWriteHit::InPlace && !self.dram.needs_room() {
            return;
        }
        // A page that departs already was chosen for this very request.
        if self.dram.departing().is_none() {
            match (self.place_of(page), self.modes.nvm_write_hit) {
                (Some(Medium::Dram), _) | (Some(Medium::Nvm), NvmWriteHit::InPlace) => return,
                (Some(Medium::Nvm), _) => self.begin_move(page),
                (None, _) => {}
            }
        }
        self.make_room_in_dram();
    }

    /// A page that is promoted leaves NVM, once; one that is copied stays, unless its block is flushed.
    fn begin_move(&mut self, page: LogicalPage) {
        if self.moving.is_none() {
            self.moving = Some(page);
            if self.modes.nvm_write_hit == NvmWriteHit::Promote {
                self.remove_from_nvm(page);
            }
        }
    }

    /// Whether `page` has left NVM on its way to DRAM.
    fn is_being_promoted(&self, page: LogicalPage) -> bool {
        self.moving == Some(page) && self.modes.nvm_write_hit == NvmWriteHit::Promote
    }

    fn make_room_in_dram(&mut self) {
        if self.dram.needs_room() {
            if self.dram.departing().is_none() {
                self.dram.choose_victim(&mut self.blocks);
            }
            self.propose_departure();
        }
    }

    /// The departing page is dropped or migrates, for which NVM may have to make room first.
    fn propose_departure(&mut self) {
        let (page, own) = self.dram.departing().expect("a page departs");
        let (bit, Block { dirty, nvm, .. }) = (self.pages_per_block.bit(page), self.blocks[own]);
        let (dirty, is_in_nvm) = ((dirty | nvm) & bit != 0, nvm & bit != 0);
        if dirty && self.nvm.is_full() && !is_in_nvm {
            let slot = self.nvm.choose_victim();
            let (padding, migrating) = (self.padding_of(slot), self.bit_in(slot, page));
            let padding =
                if self.modes.pads_migrating { padding | migrating } else { padding & !migrating };
            return self.propose_batch(slot, self.blocks[slot].nvm, padding);
        }
        self.purpose = Purpose::Depart;
        let action = if dirty { Action::Migrate } else { Action::Drop };
        let entry = StepPage { page, dirty, source: Source::Dram, stays: dirty };
        self.proposal.propose_page(action, entry);
    }

    /// The dirty pages in DRAM that are flushed with the block in `slot`.
    fn padding_of(&self, slot: BlockSlot) -> u64 {
        if self.modes.padding == Padding::Off { 0 } else { self.blocks[slot].dirty }
    }

    /// The bit of `page` in the block in `slot`, if it is a page of that block.
    fn bit_in(&self, slot: BlockSlot, page: LogicalPage) -> u64 {
        let is_own = self.pages_per_block.block_of(page) == self.blocks[slot].block;
        if is_own { self.pages_per_block.bit(page) } else { 0 }
    }

    /// The block in `slot`, which has left the circle, is flushed with these of its dirty pages in DRAM.
    fn propose_batch(&mut self, slot: BlockSlot, nvm: u64, padding: u64) {
        self.purpose = Purpose::FlushBlock(slot);
        let pages_per_block = self.pages_per_block;
        let departing = self.dram.departing().map(|(page, _)| page);
        let Block { block, dram, .. } = self.blocks[slot];
        let keeps = self.modes.padding == Padding::KeepClean;
        self.proposal.propose(Action::Flush, |pages| {
            pages.extend(pages_per_block.pages(block, nvm | padding).map(|page| {
                let bit = pages_per_block.bit(page);
                let (source, stays) = match padding & bit {
                    0 => (Source::Nvm, dram & bit != 0),
                    _ => (Source::Dram, keeps && departing != Some(page)),
                };
                StepPage { page, dirty: true, source, stays }
            }));
        });
    }

    /// First the blocks of NVM from the hand, then the dirty rest of DRAM block by block. Of a page in both memories
    /// the newer version is written, whatever the padding.
    fn propose_drain(&mut self) {
        if let Some(slot) = self.nvm.take_under_hand() {
            let Block { dirty, nvm, .. } = self.blocks[slot];
            self.propose_batch(slot, nvm, self.padding_of(slot) | dirty & nvm);
        } else if let Some(page) = self.dram.oldest_dirty() {
            let slot = self.slot_of(page);
            self.propose_batch(slot, 0, self.blocks[slot].dirty);
        }
    }

    fn commit_flush(&mut self, slot: BlockSlot) {
        let block = &mut self.blocks[slot];
        let copied = block.dram & block.nvm;
        self.copied_pages -= copied.count_ones();
        self.nvm.forget_pages(block);
        let (_, pages) = self.proposal.take();
        // Padding is dirty pages in DRAM, which few blocks have.
        let pages = if block.dirty == 0 { &[] } else { pages };
        for entry in pages.iter().filter(|entry| entry.source == Source::Dram) {
            match entry.stays {
                true => self.dram.set_clean(block, entry.page),
                false => self.dram.remove(block, entry.page),
            }
        }
        self.forget_if_empty(slot);
    }

    fn commit_departure(&mut self) {
        let (action, _) = self.proposal.take();
        let (page, slot) = self.dram.departing().expect("a page departs");
        self.remove_from_dram(slot, page);
        if action == Action::Migrate {
            self.write_to_nvm(slot, page);
        } else {
            self.forget_if_empty(slot);
        }
    }

    /// Writes `page` of the block in `slot` to NVM.
    fn write_to_nvm(&mut self, slot: BlockSlot, page: LogicalPage) {
        let bit = self.pages_per_block.bit(page);
        self.nvm.write(slot, &mut self.blocks[slot], bit);
    }

    /// Removes `page` from NVM, and its block if nothing is left of it.
    fn remove_from_nvm(&mut self, page: LogicalPage) {
        let (slot, bit) = (self.slot_of(page), self.pages_per_block.bit(page));
        self.copied_pages -= u32::from(self.blocks[slot].dram & bit != 0);
        self.nvm.remove(slot, &mut self.blocks[slot], bit);
        self.forget_if_empty(slot);
    }

    /// Removes `page` of the block in `slot` from DRAM; its block remains known.
    fn remove_from_dram(&mut self, slot: BlockSlot, page: LogicalPage) {
        let bit = self.pages_per_block.bit(page);
        self.copied_pages -= u32::from(self.blocks[slot].nvm & bit != 0);
        self.dram.remove(&mut self.blocks[slot], page);
    }

    /// Adds `page` of the block in `slot` to DRAM.
    fn add_to_dram(&mut self, slot: BlockSlot, page: LogicalPage, dirty: bool) {
        let block = &mut self.blocks[slot];
        let is_in_nvm = block.nvm & self.pages_per_block.bit(page) != 0;
        self.dram.add(slot, block, page, dirty);
        self.copied_pages += u32::from(is_in_nvm);
    }

    fn read(&mut self, page: LogicalPage) -> Served {
        let bit = self.pages_per_block.bit(page);
        let known = self.find(page);
        let found = known.and_then(|slot| Some((slot, self.medium_in(slot, page)?)));
        if let Some((slot, medium)) = found {
            let block = &mut self.blocks[slot];
            match medium {
                Medium::Dram => block.referenced |= bit & !block.dirty,
                Medium::Nvm => self.nvm.set_referenced(slot),
            }
        } else if self.modes.read_allocates {
            let slot = known.unwrap_or_else(|| self.insert(page));
            self.add_to_dram(slot, page, false);
        }
        Served { hit: found.map(|(_, medium)| medium), nvm_writes: 0 }
    }

    fn write(&mut self, page: LogicalPage) -> Served {
        if self.moving.is_some() {
            self.write_moved(page);
            return Served { hit: Some(Medium::Nvm), nvm_writes: 0 };
        }
        let known = self.find(page);
        let found = known.and_then(|slot| Some((slot, self.medium_in(slot, page)?)));
        let mut nvm_writes = 0;
        match (found, self.modes.nvm_write_hit) {
            (Some((slot, Medium::Dram)), _) => self.dram.set_dirty(&mut self.blocks[slot], page),
            (Some((slot, Medium::Nvm)), NvmWriteHit::InPlace) => {
                self.write_to_nvm(slot, page);
                nvm_writes = 1;
            }
            (Some((_, Medium::Nvm)), _) => {
                self.begin_move(page);
                self.write_moved(page);
            }
            (None, _) => {
                let slot = known.unwrap_or_else(|| self.insert(page));
                self.add_to_dram(slot, page, true);
            }
        }
        Served { hit: found.map(|(_, medium)| medium), nvm_writes }
    }

    /// The moving page, which is `page`, arrives in DRAM.
    fn write_moved(&mut self, page: LogicalPage) {
        self.moving = None;
        let slot = self.find_or_insert(page);
        self.add_to_dram(slot, page, true);
    }

    fn write_persistently(&mut self, page: LogicalPage) -> Served {
        let hit = self.place_of(page);
        let slot = self.find_or_insert(page);
        if hit == Some(Medium::Dram) {
            self.remove_from_dram(slot, page);
        }
        self.write_to_nvm(slot, page);
        Served { hit, nvm_writes: 1 }
    }

    fn trim(&mut self, page: LogicalPage) -> Served {
        let hit = self.place_of(page);
        if hit == Some(Medium::Dram) {
            self.remove_from_dram(self.slot_of(page), page);
        }
        if self.is_in_nvm(page) {
            self.remove_from_nvm(page);
        } else if hit.is_some() {
            self.forget_if_empty(self.slot_of(page));
        }
        Served { hit, nvm_writes: 0 }
    }
}

impl WriteBuffer for ClockDnv {
    fn capacity(&self) -> Capacity {
        Capacity { dram_pages: self.dram.capacity, nvm_pages: self.nvm.capacity }
    }

    fn occupancy(&self) -> Occupancy {
        Occupancy {
            dram_pages: self.dram.len(),
            nvm_pages: self.nvm.len(),
            dirty_pages: self.dram.dirty_len() + self.nvm.len() - self.copied_pages,
        }
    }

    fn place_of(&self, page: LogicalPage) -> Option<Medium> {
        if self.is_being_promoted(page) {
            return Some(Medium::Nvm);
        }
        self.find(page).and_then(|slot| self.medium_in(slot, page))
    }

    fn is_dirty(&self, page: LogicalPage) -> bool {
        let bit = self.pages_per_block.bit(page);
        self.is_being_promoted(page)
            || self.find(page).is_some_and(|slot| {
                let block = &self.blocks[slot];
                (block.dirty | block.nvm) & bit != 0
            })
    }

    #[inline]
    fn look_ahead(&self, page: LogicalPage) {
        let entry = self.blocks.entry_or_other(self.pages_per_block.block_of(page));
        core::hint::black_box(entry.map(|block| block.dram | block.nvm));
    }

    #[inline]
    fn next_step(&mut self, request: Request) -> Option<Step<'_>> {
        if !self.proposal.is_pending() {
            self.propose(request);
        }
        self.proposal.step()
    }

    fn commit(&mut self) {
        match self.purpose {
            Purpose::FlushBlock(slot) => self.commit_flush(slot),
            Purpose::Depart => self.commit_departure(),
        }
    }

    #[inline]
    fn serve(&mut self, request: Request) -> Served {
        assert!(!self.proposal.is_pending(), "the pending step is committed first");
        let safe = self.modes.commands == Commands::Safe;
        match request {
            Request::Read(page) => self.read(page),
            Request::ForceUnitAccess(page) if safe => self.write_persistently(page),
            Request::Write(page) | Request::ForceUnitAccess(page) => self.write(page),
            Request::Trim(page) => self.trim(page),
            Request::Flush | Request::Drain => Served::default(),
        }
    }

    fn inspect(&self, inspector: &mut dyn BufferInspector) {
        inspector.ring_of_pages("dram_from_hand", &mut self.dram.pages_from_hand(&self.blocks));
        inspector.memory(Medium::Nvm);
        inspector.ring_of_blocks("nvm_from_hand", &mut self.nvm.blocks_from_hand(&self.blocks));
    }

    fn check_invariants(&self) {
        if self.proposal.is_pending() || self.dram.departing().is_some() {
            return;
        }
        self.dram.check_invariants(&self.blocks);
        self.nvm.check_invariants(&self.blocks);
        let in_both = |page: &super::PageState| self.is_in_nvm(page.page);
        let copied: Vec<_> = self.dram.pages_from_hand(&self.blocks).filter(in_both).collect();
        assert_eq!(copied.len(), self.copied_pages as usize, "the pages in both are recounted");
        let only_copies = self.modes.nvm_write_hit == NvmWriteHit::DramCopy;
        assert!(copied.is_empty() || only_copies, "DRAM and NVM are disjoint");
        assert!(copied.iter().all(|page| page.dirty), "a copy of a page in NVM is newer");
    }
}
