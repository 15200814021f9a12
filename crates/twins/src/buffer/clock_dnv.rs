//! CLOCK-DNV (A-71 … A-75).

use std::collections::{BTreeSet, VecDeque};

use super::{
    BufferEvent, BufferPages, BufferRequest, BufferStep, BufferTwin, Flushed, Place, is_safe, media,
};
use crate::{State, parameters::Parameters};

/// A page in DRAM.
#[derive(Clone, Copy)]
struct Page {
    page: u64,
    dirty: bool,
    reference: bool,
}

/// A block in NVM.
struct Block {
    block: u64,
    pages: BTreeSet<u64>,
    reference: bool,
}

pub(super) struct ClockDnv {
    dram: usize,
    nvm: usize,
    per_block: u64,
    promote: bool,
    dram_copy: bool,
    padding: bool,
    keep_clean: bool,
    pad_migrating: bool,
    read_allocate: bool,
    safe: bool,
    /// Queues whose head is under the hand.
    pages: VecDeque<Page>,
    blocks: VecDeque<Block>,
    /// Dirty pages of DRAM in the order they became dirty.
    became_dirty: Vec<u64>,
}

impl ClockDnv {
    pub(super) fn new(pages: BufferPages, parameters: &mut Parameters) -> ClockDnv {
        let (dram, nvm) = media(pages, parameters);
        let write_hit = parameters.choice("nvm_write_hit", &["in_place", "promote", "dram_copy"]);
        let padding = parameters.choice("padding", &["remove", "keep_clean", "off"]);
        ClockDnv {
            dram,
            nvm,
            per_block: pages.per_block,
            promote: write_hit == 1,
            dram_copy: write_hit == 2,
            padding: padding != 2,
            keep_clean: padding == 1,
            pad_migrating: parameters.flag("pad_migrating").unwrap_or(false),
            read_allocate: parameters.flag("read_allocate").unwrap_or(true),
            safe: is_safe(parameters),
            pages: VecDeque::new(),
            blocks: VecDeque::new(),
            became_dirty: Vec::new(),
        }
    }

    fn position(&self, page: u64) -> Option<usize> {
        self.pages.iter().position(|held| held.page == page)
    }

    fn is_in_nvm(&self, page: u64) -> bool {
        self.blocks.iter().any(|block| block.pages.contains(&page))
    }

    fn place(&self, page: u64) -> Option<Place> {
        match self.position(page) {
            Some(_) => Some(Place::Dram),
            None => self.is_in_nvm(page).then_some(Place::Nvm),
        }
    }

    fn set_dirty(&mut self, page: u64, dirty: bool) {
        let position = self.position(page).expect("the page is in DRAM");
        if self.pages[position].dirty != dirty {
            self.pages[position].dirty = dirty;
            self.became_dirty.retain(|&other| other != page);
            if dirty {
                self.became_dirty.push(page);
            }
        }
    }

    fn take_page(&mut self, page: u64) -> Page {
        self.became_dirty.retain(|&other| other != page);
        let position = self.position(page).expect("the page is in DRAM");
        self.pages.remove(position).expect("a position")
    }

    /// adding a page sets the block's bit; a new block goes to the tail.
    fn add_to_nvm(&mut self, page: u64) {
        let number = page / self.per_block;
        if !self.blocks.iter().any(|block| block.block == number) {
            let block = Block { block: number, pages: BTreeSet::new(), reference: true };
            self.blocks.push_back(block);
        }
        let block = self.blocks.iter_mut().find(|block| block.block == number);
        let block = block.expect("the block is there");
        block.pages.insert(page);
        block.reference = true;
    }

    fn take_from_nvm(&mut self, page: u64) {
        for block in &mut self.blocks {
            block.pages.remove(&page);
        }
        self.blocks.retain(|block| !block.pages.is_empty());
    }

    fn nvm_pages(&self) -> usize {
        self.blocks.iter().map(|block| block.pages.len()).sum()
    }

    /// from the hand, a maximum-count block with bit 1 gets bit 0 and is skipped; smaller ones are skipped.
    fn victim_block(&mut self) -> Block {
        let most = self.blocks.iter().map(|block| block.pages.len()).max().expect("NVM is full");
        loop {
            let mut block = self.blocks.pop_front().expect("NVM is full");
            if block.pages.len() == most {
                if !block.reference {
                    return block;
                }
                block.reference = false;
            }
            self.blocks.push_back(block);
        }
    }

    /// the dirty pages of the block in DRAM join the batch.
    fn flush(&mut self, block: Block, unpadded: Option<u64>) -> BufferStep {
        let mut batch: Vec<Flushed> = Vec::new();
        let in_dram: Vec<Page> = self.pages.iter().copied().collect();
        let auxiliary = in_dram.iter().filter(|held| {
            held.dirty && held.page / self.per_block == block.block && Some(held.page) != unpadded
        });
        let auxiliary: Vec<u64> = auxiliary.map(|held| held.page).collect();
        for page in block.pages {
            if !self.padding || !auxiliary.contains(&page) {
                // Without padding, a newer copy in DRAM is left there.
                let stays = self.position(page).is_some();
                batch.push(Flushed { page, dirty: true, from: Place::Nvm, stays });
            }
        }
        if self.padding {
            for page in auxiliary {
                batch.push(self.pad(page, self.keep_clean));
            }
        }
        batch.sort_by_key(|flushed| flushed.page);
        BufferStep::Flush(batch)
    }

    fn pad(&mut self, page: u64, stays: bool) -> Flushed {
        if stays {
            self.set_dirty(page, false);
        } else {
            self.take_page(page);
        }
        Flushed { page, dirty: true, from: Place::Dram, stays }
    }

    /// `page` was unlinked from DRAM's ring; a dirty one goes to NVM, for which a block may have to leave.
    fn depart(&mut self, departing: Page, steps: &mut Vec<BufferStep>) {
        let page = departing.page;
        if !departing.dirty {
            steps.push(BufferStep::Drop(vec![page]));
            return;
        }
        if self.nvm_pages() >= self.nvm && !self.is_in_nvm(page) {
            let victim = self.victim_block();
            let own = victim.block == page / self.per_block;
            let mut step = self.flush(victim, Some(page));
            if own && self.pad_migrating {
                let BufferStep::Flush(batch) = &mut step else { unreachable!("a flush") };
                let from = Place::Dram;
                batch.push(Flushed { page, dirty: true, from, stays: false });
                batch.sort_by_key(|flushed| flushed.page);
                steps.push(step);
                return;
            }
            steps.push(step);
        }
        self.add_to_nvm(page);
        steps.push(BufferStep::Migrate(page));
    }

    /// CLOCK scan for the victim, then the page enters with bit 0.
    fn add_to_dram(&mut self, page: u64, dirty: bool, steps: &mut Vec<BufferStep>) {
        if self.pages.len() == self.dram {
            while self.pages[0].reference {
                self.pages[0].reference = false;
                self.pages.rotate_left(1);
            }
            let departing = self.take_page(self.pages[0].page);
            self.depart(departing, steps);
        }
        self.pages.push_back(Page { page, dirty: false, reference: false });
        self.set_dirty(page, dirty);
    }

    fn read(&mut self, page: u64, event: &mut BufferEvent) {
        match event.hit {
            Some(Place::Dram) => {
                let position = self.position(page).expect("a hit");
                if !self.pages[position].dirty {
                    self.pages[position].reference = true;
                }
            }
            Some(_) => self.add_to_nvm(page),
            None if self.read_allocate => self.add_to_dram(page, false, &mut event.steps),
            None => {}
        }
    }

    fn write(&mut self, page: u64, event: &mut BufferEvent) {
        match event.hit {
            Some(Place::Dram) => self.set_dirty(page, true),
            Some(_) if self.promote => {
                self.take_from_nvm(page);
                self.add_to_dram(page, true, &mut event.steps);
            }
            Some(_) if !self.dram_copy => {
                self.add_to_nvm(page);
                event.nvm_writes = 1;
            }
            _ => self.add_to_dram(page, true, &mut event.steps),
        }
    }

    fn force_unit_access(&mut self, page: u64, event: &mut BufferEvent) {
        if self.nvm_pages() >= self.nvm && !self.is_in_nvm(page) {
            let victim = self.victim_block();
            let step = self.flush(victim, Some(page));
            event.steps.push(step);
        }
        if event.hit == Some(Place::Dram) {
            self.take_page(page);
        }
        self.add_to_nvm(page);
        event.nvm_writes = 1;
    }

    fn drain(&mut self, steps: &mut Vec<BufferStep>) {
        while let Some(block) = self.blocks.pop_front() {
            let BufferStep::Flush(mut batch) = self.flush(block, None) else {
                unreachable!("a flush")
            };
            // Of a page in both memories, the newer version is the one to write.
            for flushed in &mut batch {
                if flushed.from == Place::Nvm && self.became_dirty.contains(&flushed.page) {
                    *flushed = self.pad(flushed.page, self.keep_clean);
                }
            }
            steps.push(BufferStep::Flush(batch));
        }
        while let Some(&oldest) = self.became_dirty.first() {
            let block = oldest / self.per_block;
            let mut pages = self.became_dirty.clone();
            pages.retain(|page| page / self.per_block == block);
            pages.sort_unstable();
            let pad = |page| self.pad(page, self.keep_clean);
            steps.push(BufferStep::Flush(pages.into_iter().map(pad).collect()));
        }
    }

    fn trim(&mut self, page: u64) {
        if self.position(page).is_some() {
            self.take_page(page);
        }
        self.take_from_nvm(page);
    }
}

impl BufferTwin for ClockDnv {
    fn request(&mut self, request: BufferRequest) -> BufferEvent {
        let mut event = BufferEvent::default();
        match request {
            BufferRequest::Read(page) => {
                event.hit = self.place(page);
                self.read(page, &mut event);
            }
            BufferRequest::ForceUnitAccess(page) if self.safe => {
                event.hit = self.place(page);
                self.force_unit_access(page, &mut event);
            }
            BufferRequest::Write(page) | BufferRequest::ForceUnitAccess(page) => {
                event.hit = self.place(page);
                self.write(page, &mut event);
            }
            BufferRequest::Trim(page) => {
                event.hit = self.place(page);
                self.trim(page);
            }
            BufferRequest::Flush => {
                while self.safe && !self.became_dirty.is_empty() {
                    let departing = self.take_page(self.became_dirty[0]);
                    self.depart(departing, &mut event.steps);
                }
            }
            BufferRequest::Drain => self.drain(&mut event.steps),
        }
        event
    }

    fn state(&self) -> State {
        let pages = self.pages.iter();
        let pages = pages.map(|held| State::entry(held.page, &[held.dirty, held.reference]));
        let blocks = self.blocks.iter().map(|block| {
            let reference = State::Integer(u64::from(block.reference));
            State::List(vec![State::Integer(block.block), State::pages(&block.pages), reference])
        });
        State::Object(vec![
            ("dram_from_hand", State::List(pages.collect())),
            ("nvm_from_hand", State::List(blocks.collect())),
        ])
    }

    fn dirty(&self) -> Vec<u64> {
        let in_nvm = self.blocks.iter().flat_map(|block| block.pages.iter().copied());
        let dirty: BTreeSet<u64> = self.became_dirty.iter().copied().chain(in_nvm).collect();
        dirty.into_iter().collect()
    }
}
