//! # CLOCK-DNV: CLOCK with a DRAM and NVM hybrid write buffer
//!
//! **What it keeps.** *CLOCK-D* is a clock of pages in DRAM, clean ones (read misses) and dirty ones (write
//! misses), each with a reference bit that is 0 at first. *CLOCK-NV* is a clock of blocks in NVM, which holds
//! dirty pages only. Each block has a reference bit and its number of pages. A page is in one of the two
//! clocks.
//!
//! **Victim.** In DRAM, from the hand: a page with reference bit 1 gets bit 0, the first one with bit 0 leaves:
//! a clean one is discarded, a dirty one *migrates* to NVM (*dirty first migration*). If NVM is full, a block
//! leaves first. The hand looks at the blocks with the most pages only: one with reference bit 1 gets bit 0 and
//! is skipped, the first one with bit 0 is the victim. Smaller blocks keep their bits. The hand goes behind the
//! victim. All its pages are flushed as one batch, and with them the dirty pages of that block in DRAM (*dirty
//! page padding*), which leave DRAM. The page that migrates is not among them, even if the victim is its own
//! block; it enters NVM afterwards.
//!
//! **On a write.** A hit in DRAM makes the page dirty and leaves its reference bit alone; a read hit sets it
//! if the page is clean. A hit in NVM, read or write, is served there and sets the block's bit; a write counts
//! one NVM write. A miss goes to DRAM. A page that enters NVM sets its block's bit; a new block goes to the
//! place that the hand reaches last.
//!
//! **Parameters.**
//!
//! * `dram_share`: the share of DRAM in the total, rounded down, at least a page (default 1/10).
//!
//! * `nvm_write_hit`: where a write to a page in NVM is served. There (`in_place`, default); in
//!   DRAM, as a dirty page that leaves NVM first (`promote`); or in a newer copy in DRAM
//!   (`dram_copy`: the figure read literally). The copy is written over the older one when it
//!   migrates, and padding flushes the copy.
//!
//! * `padding`: padded pages leave DRAM (`remove`, default), stay as clean ones (`keep_clean`), or
//!   there is no padding (`off`).
//!
//! * `pad_migrating`: whether a migrating page of the victim's own block joins the batch and never
//!   enters NVM (default false), also where `padding=off` leaves the other pages in DRAM.
//!
//! * `read_allocate`: whether a read miss enters DRAM (default true).
//!
//! * `commands`: `paper` (default) ignores FLUSH and FUA. With `safe` an FUA write goes straight to
//!   NVM and replaces a copy in DRAM; FLUSH migrates all dirty pages, the one dirty for longest
//!   first.
//!
//! **Cost per hit and per victim.** A hit is one look-up and a bit. A page leaves DRAM in constant time on
//! average; so does a change in the number of a block's pages in NVM. The search for the victim looks at a byte per 32 to 64
//! blocks, many at once, and skips the blocks among these together. About 79 bytes per block that has a page in the buffer, 32
//! per page of DRAM, and 4 per block of the drive next to which (in its 64) one ever had one.
//!
//! **Deviations from the paper.** The paper's figure places a page in both memories; here it is in one
//! (`dram_copy` is the literal reading). It says that CLOCK-NV ignores FLUSH and FUA; since dirty pages in DRAM
//! are lost in a power failure, a real drive needs `commands=safe`. Our choices: under `promote` the block's bit
//! is left alone. The page of an FUA write is never padded in its older version. A drain flushes the blocks of
//! NVM from the hand, then the dirty rest of DRAM block by block. It writes a page that is in both memories
//! once, in its newer version, also with `padding=off`.
//!
//! **Reference.** D. H. Kang, S. J. Han, Y.-C. Kim, Y. I. Eom: CLOCK-DNV: a write buffer algorithm for flash
//! storage devices of consumer electronics. IEEE Transactions on Consumer Electronics 63(1), 2017.

mod clock_d;
mod clock_nv;
mod media;
mod modes;

use clock_d::Departing;
use media::{Block, Media};
pub(super) use modes::DRAM_SHARE;
use modes::{Modes, NvmWriteHit, PARAMETERS, Padding};

use super::catalog::{Cataloged, media_pages};
use super::mechanism::block::BlockSlot;
use super::mechanism::proposal::{Commands, Proposal, as_proposed};
use super::{
    Action, BufferInspector, BufferSize, Capacity, Medium, Occupancy, Request, Served, Source,
    Step, StepPage, WriteBuffer,
};
use crate::LogicalPage;
use crate::catalog::Description;
use crate::parameters::Settings;

/// The purpose of the pending step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// To flush this block, which has left the circle.
    FlushBlock(BlockSlot),
    /// To take the departing page out of DRAM.
    Depart,
}

/// The rules of CLOCK-DNV, which decide what moves between the two memories and to flash.
pub(crate) struct ClockDnv {
    modes: Modes,
    media: Media,
    /// A page that a write hit in NVM and that DRAM makes room for. One that is promoted has left NVM already.
    moving: Option<LogicalPage>,
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
            media: Media::new(dram_pages, nvm_pages, size.pages_per_block),
            moving: None,
            purpose: Purpose::Depart,
            proposal: Proposal::new(size.pages_per_block),
        }
    }
}

impl ClockDnv {
    #[inline(always)]
    fn propose(&mut self, request: Request) {
        let safe = self.modes.commands == Commands::Safe;
        match request {
            Request::Read(page) => {
                if self.modes.read_allocates && self.place_of(page).is_none() {
                    self.make_room_in_dram();
                }
            }
            Request::ForceUnitAccess(page) if safe => self.make_room_to_persist(page),
            Request::Write(page) | Request::ForceUnitAccess(page) => self.make_room_to_write(page),
            Request::Flush if safe => {
                let dram = &mut self.media.dram;
                if let Some(departing) = dram.departing().or_else(|| dram.choose_oldest_dirty()) {
                    self.propose_departure(departing);
                }
            }
            Request::Drain => self.propose_drain(),
            Request::Flush | Request::Trim(_) => {}
        }
    }

    #[cold]
    fn make_room_to_persist(&mut self, page: LogicalPage) {
        let media = &mut self.media;
        if !media.is_in_nvm(page) && media.nvm.is_full() {
            let slot = media.nvm.choose_victim();
            let padding = self.padding_of(slot) & !self.media.bit_in(slot, page);
            self.propose_batch(slot, self.media.blocks[slot].nvm, padding);
        }
    }

    #[inline(always)]
    fn make_room_to_write(&mut self, page: LogicalPage) {
        // It was chosen for this very request.
        if let Some(departing) = self.media.dram.departing() {
            return self.propose_departure(departing);
        }
        let is_in_place = self.modes.nvm_write_hit == NvmWriteHit::InPlace;
        if is_in_place && !self.media.dram.needs_room() {
            return;
        }
        match self.place_of(page) {
            Some(Medium::Dram) => return,
            Some(Medium::Nvm) if is_in_place => return,
            Some(Medium::Nvm) => self.begin_move(page),
            None => {}
        }
        self.make_room_in_dram();
    }

    /// A page that is promoted leaves NVM, once; one that is copied stays, unless its block is flushed.
    fn begin_move(&mut self, page: LogicalPage) {
        if self.moving.is_none() {
            self.moving = Some(page);
            if self.modes.nvm_write_hit == NvmWriteHit::Promote {
                self.media.remove_from_nvm(page);
            }
        }
    }

    /// Returns whether `page` has left NVM on its way to DRAM.
    fn is_being_promoted(&self, page: LogicalPage) -> bool {
        self.moving == Some(page) && self.modes.nvm_write_hit == NvmWriteHit::Promote
    }

    #[inline(always)]
    fn make_room_in_dram(&mut self) {
        let Media { blocks, dram, .. } = &mut self.media;
        if dram.needs_room() {
            let departing = dram.departing().unwrap_or_else(|| dram.choose_victim(blocks));
            self.propose_departure(departing);
        }
    }

    /// The departing page is dropped or migrates, for which NVM may have to make room first.
    #[inline(always)]
    fn propose_departure(&mut self, Departing { page, slot, .. }: Departing) {
        let Media { pages_per_block, blocks, nvm, .. } = &mut self.media;
        let (bit, block) = (pages_per_block.bit(page), &blocks[slot]);
        let (dirty, is_in_nvm) = ((block.dirty | block.nvm) & bit != 0, block.nvm & bit != 0);
        if dirty && nvm.is_full() && !is_in_nvm {
            let slot = nvm.choose_victim();
            let (padding, migrating) = (self.padding_of(slot), self.media.bit_in(slot, page));
            let padding =
                if self.modes.pads_migrating { padding | migrating } else { padding & !migrating };
            return self.propose_batch(slot, self.media.blocks[slot].nvm, padding);
        }
        self.purpose = Purpose::Depart;
        let action = if dirty { Action::Migrate } else { Action::Drop };
        let entry = StepPage { page, dirty, source: Source::Dram, stays: dirty };
        self.proposal.propose_page(action, entry);
    }

    /// The dirty pages in DRAM that are flushed with the block in `slot`.
    fn padding_of(&self, slot: BlockSlot) -> u64 {
        if self.modes.padding == Padding::Off { 0 } else { self.media.blocks[slot].dirty }
    }

    /// The block in `slot`, which has left the circle, is flushed with these of its dirty pages in DRAM.
    fn propose_batch(&mut self, slot: BlockSlot, nvm: u64, padding: u64) {
        self.purpose = Purpose::FlushBlock(slot);
        let Media { pages_per_block, blocks, dram, .. } = &self.media;
        let departing = dram.departing().map(|departing| departing.page);
        let Block { block, dram, .. } = blocks[slot];
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
    #[cold]
    fn propose_drain(&mut self) {
        if let Some(slot) = self.media.nvm.take_under_hand() {
            let Block { dirty, nvm, .. } = self.media.blocks[slot];
            self.propose_batch(slot, nvm, self.padding_of(slot) | dirty & nvm);
        } else if let Some(page) = self.media.dram.oldest_dirty() {
            let slot = self.media.slot_of(page);
            self.propose_batch(slot, 0, self.media.blocks[slot].dirty);
        }
    }

    #[inline(always)]
    fn commit_flush(&mut self, slot: BlockSlot) {
        self.media.forget_nvm_pages(slot);
        let (_, pages) = self.proposal.take();
        let Media { blocks, dram, .. } = &mut self.media;
        let block = &mut blocks[slot];
        // Padding is dirty pages in DRAM, which few blocks have.
        let pages = if block.dirty == 0 { &[] } else { pages };
        for entry in pages.iter().filter(|entry| entry.source == Source::Dram) {
            match entry.stays {
                true => dram.set_clean(block, entry.page),
                false => dram.remove(block, entry.page),
            }
        }
        self.media.forget_if_empty(slot);
    }

    #[inline(always)]
    fn commit_departure(&mut self) {
        let (action, _) = self.proposal.take();
        let departing = self.media.dram.departing().expect("a page departs");
        let Departing { page, slot, .. } = departing;
        self.media.remove_from_dram(slot, page);
        if action == Action::Migrate {
            self.media.write_to_nvm(slot, page);
        } else {
            self.media.forget_if_empty(slot);
        }
    }

    fn read(&mut self, page: LogicalPage) -> Served {
        let bit = self.media.pages_per_block.bit(page);
        let known = self.media.find(page);
        let found = known.and_then(|slot| Some((slot, self.media.medium_in(slot, page)?)));
        if let Some((slot, medium)) = found {
            let block = &mut self.media.blocks[slot];
            match medium {
                Medium::Dram => block.referenced |= bit & !block.dirty,
                Medium::Nvm => self.media.nvm.set_referenced(slot),
            }
        } else if self.modes.read_allocates {
            let slot = known.unwrap_or_else(|| self.media.insert(page));
            self.media.add_to_dram(slot, page, false);
        }
        Served { hit: found.map(|(_, medium)| medium), nvm_writes: 0 }
    }

    #[inline(always)]
    fn write(&mut self, page: LogicalPage) -> Served {
        if self.moving.is_some() {
            self.write_moved(page);
            return Served { hit: Some(Medium::Nvm), nvm_writes: 0 };
        }
        let media = &mut self.media;
        let known = media.find(page);
        let found = known.and_then(|slot| Some((slot, media.medium_in(slot, page)?)));
        let mut nvm_writes = 0;
        match (found, self.modes.nvm_write_hit) {
            (Some((slot, Medium::Dram)), _) => media.dram.set_dirty(&mut media.blocks[slot], page),
            (Some((slot, Medium::Nvm)), NvmWriteHit::InPlace) => {
                media.write_to_nvm(slot, page);
                nvm_writes = 1;
            }
            (Some((_, Medium::Nvm)), _) => {
                self.begin_move(page);
                self.write_moved(page);
            }
            (None, _) => {
                let slot = known.unwrap_or_else(|| media.insert(page));
                media.add_to_dram(slot, page, true);
            }
        }
        Served { hit: found.map(|(_, medium)| medium), nvm_writes }
    }

    /// The moving page, which is `page`, arrives in DRAM.
    fn write_moved(&mut self, page: LogicalPage) {
        self.moving = None;
        let slot = self.media.find_or_insert(page);
        self.media.add_to_dram(slot, page, true);
    }

    fn write_persistently(&mut self, page: LogicalPage) -> Served {
        let hit = self.place_of(page);
        let slot = self.media.find_or_insert(page);
        if hit == Some(Medium::Dram) {
            self.media.remove_from_dram(slot, page);
        }
        self.media.write_to_nvm(slot, page);
        Served { hit, nvm_writes: 1 }
    }

    fn trim(&mut self, page: LogicalPage) -> Served {
        let (hit, media) = (self.place_of(page), &mut self.media);
        if hit == Some(Medium::Dram) {
            media.remove_from_dram(media.slot_of(page), page);
        }
        if media.is_in_nvm(page) {
            media.remove_from_nvm(page);
        } else if hit.is_some() {
            media.forget_if_empty(media.slot_of(page));
        }
        Served { hit, nvm_writes: 0 }
    }
}

impl WriteBuffer for ClockDnv {
    fn capacity(&self) -> Capacity {
        let Media { dram, nvm, .. } = &self.media;
        Capacity { dram_pages: dram.capacity, nvm_pages: nvm.capacity }
    }

    fn occupancy(&self) -> Occupancy {
        self.media.occupancy()
    }

    #[inline]
    fn place_of(&self, page: LogicalPage) -> Option<Medium> {
        if self.is_being_promoted(page) {
            return Some(Medium::Nvm);
        }
        self.media.place_of(page)
    }

    fn is_dirty(&self, page: LogicalPage) -> bool {
        let Media { pages_per_block, blocks, .. } = &self.media;
        let bit = pages_per_block.bit(page);
        self.is_being_promoted(page)
            || self.media.find(page).is_some_and(|slot| {
                let block = &blocks[slot];
                (block.dirty | block.nvm) & bit != 0
            })
    }

    #[inline]
    fn look_ahead(&self, page: LogicalPage) {
        let Media { pages_per_block, blocks, .. } = &self.media;
        let entry = blocks.entry_ahead(pages_per_block.block_of(page));
        core::hint::black_box(entry.map(|block| block.dram | block.nvm));
    }

    as_proposed!(next_step);

    #[inline]
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
        let Media { blocks, dram, nvm, .. } = &self.media;
        inspector.ring_of_pages("dram_from_hand", &mut dram.pages_from_hand(blocks));
        inspector.memory(Medium::Nvm);
        inspector.ring_of_blocks("nvm_from_hand", &mut nvm.blocks_from_hand(blocks));
    }

    fn check_invariants(&self) {
        if !self.proposal.is_pending() && self.media.dram.departing().is_none() {
            self.media.check_invariants(self.modes.nvm_write_hit == NvmWriteHit::DramCopy);
        }
    }
}
