//! Which page is where, which pages are valid, and the state of each block.

use super::geometry::{Block, Divisor, Geometry, LogicalPage, NO_PAGE, PhysicalPage};

/// What a block may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum BlockState {
    /// Nothing is programmed in it.
    Erased,
    /// Its pages are being programmed in order.
    Open,
    /// Every page is programmed.
    Full,
    /// It holds data and is no candidate for collection, as blocks of an SLC region, data and log blocks, and zones.
    Programmed,
    /// It reached its endurance and is no longer used.
    Retired,
}

/// What is known of a block, together in one place because one write looks at all of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockRecord {
    pub(super) erases: u32,
    pub(super) valid_pages: u16,
    pub(super) state: BlockState,
}

/// Page tables in both directions, a bit per physical page that holds the last version of a logical one, and a record per
/// block: 8 bytes and a bit for each page, 8 bytes for each block.
#[derive(Debug, Clone)]
pub(super) struct Map {
    /// By logical page: its physical page.
    pub(super) physical: Vec<u32>,
    /// By physical page: the logical page last programmed there. Meaningless where the valid bit is 0.
    pub(super) logical: Vec<u32>,
    /// By physical page, each block starting a new word.
    pub(super) valid: Vec<u64>,
    pub(super) blocks: Vec<BlockRecord>,
    pub(super) pages_per_block: u32,
    words_per_block: usize,
    block_divisor: Divisor,
}

impl Map {
    /// A map of an erased drive whose geometry was checked.
    pub(super) fn new(geometry: &Geometry, logical_pages: u32) -> Map {
        let words_per_block = geometry.pages_per_block.div_ceil(64) as usize;
        let blocks = geometry.blocks() as usize;
        let erased = BlockRecord { erases: 0, valid_pages: 0, state: BlockState::Erased };
        Map {
            physical: vec![NO_PAGE; logical_pages as usize],
            logical: vec![NO_PAGE; geometry.raw_pages() as usize],
            valid: vec![0; blocks * words_per_block],
            blocks: vec![erased; blocks],
            pages_per_block: geometry.pages_per_block,
            words_per_block,
            block_divisor: Divisor::new(geometry.pages_per_block),
        }
    }

    /// The block of a physical page, and the page's number within it.
    #[inline]
    pub(super) fn place(&self, page: PhysicalPage) -> (Block, u32) {
        let (block, page_in_block) = self.block_divisor.divide(page.0);
        (Block(block), page_in_block)
    }

    /// The first page of a block.
    #[inline]
    pub(super) fn first_page(&self, block: Block) -> PhysicalPage {
        PhysicalPage(block.0 * self.pages_per_block)
    }

    #[inline]
    pub(super) fn record(&self, block: Block) -> BlockRecord {
        self.blocks[block.0 as usize]
    }

    #[inline]
    pub(super) fn record_mut(&mut self, block: Block) -> &mut BlockRecord {
        &mut self.blocks[block.0 as usize]
    }

    /// The words of a block's valid bits.
    #[inline]
    pub(super) fn words(&self, block: Block) -> std::ops::Range<usize> {
        let first = block.0 as usize * self.words_per_block;
        first..first + self.words_per_block
    }

    /// Where a logical page is, if it is.
    #[inline]
    pub(super) fn find(&self, page: LogicalPage) -> Option<PhysicalPage> {
        let physical = self.physical[page.0 as usize];
        (physical != NO_PAGE).then_some(PhysicalPage(physical))
    }

    /// A logical page is nowhere from now on; where it was stays marked valid.
    pub(super) fn forget(&mut self, page: LogicalPage) {
        self.physical[page.0 as usize] = NO_PAGE;
    }

    /// Reads where logical pages are that are put soon, one after the other: so the processor waits for many of these reads
    /// together.
    #[inline]
    pub(super) fn look_ahead(&self, pages: &[LogicalPage]) {
        let found = pages.iter().filter_map(|page| self.physical.get(page.0 as usize));
        std::hint::black_box(found.fold(0, |all, physical| all ^ physical));
    }

    /// Puts a logical page at `to`, which is marked valid. Says where it was, which stays marked valid.
    #[inline]
    pub(super) fn put(&mut self, page: LogicalPage, to: PhysicalPage) -> Option<PhysicalPage> {
        self.logical[to.0 as usize] = page.0;
        let was = std::mem::replace(&mut self.physical[page.0 as usize], to.0);
        (was != NO_PAGE).then_some(PhysicalPage(was))
    }

    /// Marks up to 64 pages of a block, from `first` on, as valid.
    #[inline]
    pub(super) fn mark_valid(&mut self, block: Block, first: PhysicalPage, pages: u32) {
        if pages == 0 {
            return;
        }
        let in_block = (first.0 - self.first_page(block).0) as usize;
        let word = block.0 as usize * self.words_per_block + in_block / 64;
        // 128 bits, because the pages may lie across the end of a word.
        let bits = u128::from(u64::MAX >> (64 - pages)) << (in_block % 64);
        self.valid[word] |= bits as u64;
        if bits >> 64 != 0 {
            self.valid[word + 1] |= (bits >> 64) as u64;
        }
        self.record_mut(block).valid_pages += pages as u16;
    }

    /// Clears the valid bit of a physical page, and says which block it is in, whose record still counts it.
    #[inline]
    pub(super) fn clear_valid(&mut self, page: PhysicalPage) -> Block {
        let (block, page_in_block) = self.place(page);
        let word = block.0 as usize * self.words_per_block + page_in_block as usize / 64;
        self.valid[word] &= !(1 << (page_in_block % 64));
        block
    }

    /// Bytes of all tables of a drive that is yet to be made.
    pub(super) fn bytes_of(geometry: &Geometry, logical_pages: u32) -> u64 {
        let words_per_block = u64::from(geometry.pages_per_block.div_ceil(64));
        let of_block = size_of::<BlockRecord>() as u64 + words_per_block * size_of::<u64>() as u64;
        (u64::from(logical_pages) + geometry.raw_pages()) * size_of::<u32>() as u64
            + geometry.blocks() * of_block
    }

    /// Physical pages of a block that hold the last versions of logical ones, ascending.
    pub(super) fn valid_pages(&self, block: Block) -> Vec<PhysicalPage> {
        let mut pages = Vec::with_capacity(self.record(block).valid_pages.into());
        let mut first = self.first_page(block).0;
        for word in self.words(block) {
            let mut valid = self.valid[word];
            while valid != 0 {
                pages.push(PhysicalPage(first + valid.trailing_zeros()));
                valid &= valid - 1;
            }
            first += u64::BITS;
        }
        pages
    }

    /// The first of these pages.
    pub(super) fn first_valid_page(&self, block: Block) -> Option<PhysicalPage> {
        let words = self.valid[self.words(block)].iter().enumerate();
        let (word, valid) = words.into_iter().find(|(_, valid)| **valid != 0)?;
        let in_block = word as u32 * u64::BITS + valid.trailing_zeros();
        Some(PhysicalPage(self.first_page(block).0 + in_block))
    }

    /// Puts a logical page at `to`, from where its last version is no longer valid: for mappings that move page by page and
    /// choose no block by its valid pages.
    pub(super) fn move_to(&mut self, page: LogicalPage, to: PhysicalPage) {
        let (block, _) = self.place(to);
        self.mark_valid(block, to, 1);
        if let Some(was) = self.put(page, to) {
            self.drop_valid(was);
        }
    }

    /// A logical page is nowhere from now on.
    pub(super) fn remove(&mut self, page: LogicalPage) -> bool {
        let Some(was) = self.find(page) else { return false };
        self.forget(page);
        self.drop_valid(was);
        true
    }

    fn drop_valid(&mut self, was: PhysicalPage) {
        let block = self.clear_valid(was);
        self.record_mut(block).valid_pages -= 1;
    }

    /// Sets all erase counts to 0.
    pub(super) fn forget_wear(&mut self) {
        for record in &mut self.blocks {
            record.erases = 0;
        }
    }

    /// A block is erased; says whether it is retired.
    pub(super) fn erase(&mut self, block: Block, endurance_erases: Option<u32>) -> bool {
        let words = self.words(block);
        self.valid[words].fill(0);
        let record = self.record_mut(block);
        record.valid_pages = 0;
        record.erases += 1;
        let retires = endurance_erases.is_some_and(|endurance| record.erases >= endurance);
        record.state = if retires { BlockState::Retired } else { BlockState::Erased };
        retires
    }

    /// Bytes of all tables.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.physical)
            + size_of_val(&*self.logical)
            + size_of_val(&*self.valid)
            + size_of_val(&*self.blocks)
    }
}
