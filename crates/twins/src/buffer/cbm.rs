//! CBM, simplified.

use super::{
    BufferEvent, BufferPages, BufferRequest, BufferStep, BufferTwin, Flushed, Place, is_safe, media,
};
use crate::{State, parameters::Parameters};

pub(super) struct Cbm {
    dram: usize,
    nvm: usize,
    per_block: u64,
    threshold: usize,
    /// All lists from the LRU end.
    read_cache: Vec<u64>,
    page_region: Vec<u64>,
    block_region: Vec<(u64, Vec<u64>)>,
}

impl Cbm {
    pub(super) fn new(pages: BufferPages, parameters: &mut Parameters) -> Cbm {
        let (dram, nvm) = media(pages, parameters);
        // dirty pages are in NVM only, so FLUSH and FUA need nothing more.
        is_safe(parameters);
        Cbm {
            dram,
            nvm,
            per_block: pages.per_block,
            threshold: parameters.integer("threshold").unwrap_or(4),
            read_cache: Vec::new(),
            page_region: Vec::new(),
            block_region: Vec::new(),
        }
    }

    fn place(&self, page: u64) -> Option<Place> {
        let in_blocks = self.block_region.iter().any(|(_, pages)| pages.contains(&page));
        if in_blocks || self.page_region.contains(&page) {
            return Some(Place::Nvm);
        }
        self.read_cache.contains(&page).then_some(Place::Dram)
    }

    fn nvm_pages(&self) -> usize {
        let in_blocks: usize = self.block_region.iter().map(|(_, pages)| pages.len()).sum();
        in_blocks + self.page_region.len()
    }

    fn evict(&mut self, pads: bool) -> BufferStep {
        let most = self.block_region.iter().map(|(_, pages)| pages.len()).max();
        let victim = self.block_region.iter().position(|(_, pages)| Some(pages.len()) == most);
        let (block, dirty) = match victim {
            Some(victim) => self.block_region.remove(victim),
            None => {
                let block = self.page_region[0] / self.per_block;
                let of_block = |page: &u64| page / self.per_block == block;
                let pages = self.page_region.iter().copied().filter(of_block).collect();
                self.page_region.retain(|page| !of_block(page));
                (block, pages)
            }
        };
        let clean = self.read_cache.iter().filter(|page| pads && *page / self.per_block == block);
        let clean = clean.map(|&page| (page, false, Place::Dram));
        let mut batch: Vec<Flushed> = dirty
            .into_iter()
            .map(|page| (page, true, Place::Nvm))
            .chain(clean)
            .map(|(page, dirty, from)| Flushed { page, dirty, from, stays: !dirty })
            .collect();
        batch.sort_by_key(|flushed| flushed.page);
        BufferStep::Flush(batch)
    }

    fn use_in_nvm(&mut self, page: u64) {
        let holding = self.block_region.iter().position(|(_, pages)| pages.contains(&page));
        if let Some(position) = holding {
            let block = self.block_region.remove(position);
            self.block_region.push(block);
        } else {
            self.page_region.retain(|other| *other != page);
            self.page_region.push(page);
        }
    }

    fn add_to_nvm(&mut self, page: u64) {
        let number = page / self.per_block;
        if let Some(position) = self.block_region.iter().position(|(block, _)| *block == number) {
            let mut block = self.block_region.remove(position);
            block.1.push(page);
            block.1.sort_unstable();
            self.block_region.push(block);
            return;
        }
        self.page_region.push(page);
        let of_block = |page: &u64| page / self.per_block == number;
        let mut pages: Vec<u64> = self.page_region.iter().copied().filter(of_block).collect();
        if pages.len() >= self.threshold {
            pages.sort_unstable();
            self.page_region.retain(|page| !of_block(page));
            self.block_region.push((number, pages));
        }
    }

    fn read(&mut self, page: u64, steps: &mut Vec<BufferStep>) {
        if self.place(page) == Some(Place::Nvm) {
            return self.use_in_nvm(page);
        }
        let known = self.read_cache.iter().position(|other| *other == page);
        if let Some(known) = known {
            self.read_cache.remove(known);
        } else if self.read_cache.len() == self.dram {
            steps.push(BufferStep::Drop(vec![self.read_cache.remove(0)]));
        }
        self.read_cache.push(page);
    }

    fn write(&mut self, page: u64, event: &mut BufferEvent) {
        event.nvm_writes = 1;
        match self.place(page) {
            Some(Place::Nvm) => {
                event.hit = Some(Place::Nvm);
                self.use_in_nvm(page);
                return;
            }
            Some(_) => {
                self.read_cache.retain(|other| *other != page);
                event.steps.push(BufferStep::Drop(vec![page]));
            }
            None => {}
        }
        if self.nvm_pages() == self.nvm {
            let step = self.evict(true);
            event.steps.push(step);
        }
        self.add_to_nvm(page);
    }

    fn trim(&mut self, page: u64) {
        self.read_cache.retain(|other| *other != page);
        self.page_region.retain(|other| *other != page);
        for (_, pages) in &mut self.block_region {
            pages.retain(|other| *other != page);
        }
        self.block_region.retain(|(_, pages)| !pages.is_empty());
    }
}

impl BufferTwin for Cbm {
    fn request(&mut self, request: BufferRequest) -> BufferEvent {
        let mut event = BufferEvent::default();
        match request {
            BufferRequest::Read(page) => {
                event.hit = self.place(page);
                self.read(page, &mut event.steps);
            }
            BufferRequest::Write(page) | BufferRequest::ForceUnitAccess(page) => {
                self.write(page, &mut event);
            }
            BufferRequest::Trim(page) => {
                event.hit = self.place(page);
                self.trim(page);
            }
            BufferRequest::Drain => {
                while self.nvm_pages() > 0 {
                    let step = self.evict(false);
                    event.steps.push(step);
                }
            }
            BufferRequest::Flush => {}
        }
        event
    }

    fn state(&self) -> State {
        let blocks = self.block_region.iter();
        let blocks = blocks
            .map(|(block, pages)| State::List(vec![State::Integer(*block), State::pages(pages)]));
        State::Object(vec![
            ("read_cache", State::pages(&self.read_cache)),
            ("page_region", State::pages(&self.page_region)),
            ("block_region", State::List(blocks.collect())),
        ])
    }

    fn dirty(&self) -> Vec<u64> {
        let in_blocks = self.block_region.iter().flat_map(|(_, pages)| pages);
        let mut dirty: Vec<u64> = in_blocks.chain(&self.page_region).copied().collect();
        dirty.sort_unstable();
        dirty
    }
}
