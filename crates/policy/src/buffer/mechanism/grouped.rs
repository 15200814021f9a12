//! The mechanism of the DRAM buffers that evict whole blocks: which pages are here, which are dirty, which are flushed.
//! The order blocks leave is that of a [`BlockOrder`].

use super::block::{BlockSlot, BlockTable};
use super::proposal::{Commands, Proposal, as_proposed};
use crate::buffer::{
    Action, BlockState, BufferInspector, BufferSize, Capacity, Medium, Occupancy, PagesPerBlock,
    Request, Served, Source, Step, StepPage, WriteBuffer,
};
use crate::parts::{Links, List, Listed};
use crate::{LogicalPage, Op};

/// The pages of one block that are in the buffer. 32 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) block: u64,
    pub(crate) present: u64,
    pub(crate) dirty: u64,
    /// The number of pages that were written in strictly ascending order since the block came, if nothing else was.
    in_order: u8,
}

/// A block that was not written in strictly ascending order.
const OUT_OF_ORDER: u8 = u8::MAX;

impl Group {
    pub(crate) fn pages(&self) -> u32 {
        self.present.count_ones()
    }

    fn state(&self, referenced: bool) -> BlockState {
        let Group { block, present, dirty, .. } = *self;
        BlockState { block, present, dirty, referenced }
    }
}

/// What an order may see of the blocks.
pub(crate) struct Groups {
    table: BlockTable<Group>,
    pages_per_block: PagesPerBlock,
}

impl Groups {
    /// The number of blocks that have a page in the buffer.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// The pages of `slot` in the buffer.
    #[inline]
    pub(crate) fn pages(&self, slot: BlockSlot) -> u32 {
        self.table[slot].pages()
    }

    /// The slot of the block that has `page`, which is in the buffer.
    pub(crate) fn slot_of(&self, page: LogicalPage) -> BlockSlot {
        let slot = self.table.find(self.pages_per_block.block_of(page));
        slot.expect("the block of a buffered page is known")
    }

    /// The bit that stands for `page` in a mask of its block.
    pub(crate) fn bit(&self, page: LogicalPage) -> u64 {
        self.pages_per_block.bit(page)
    }

    /// The pages of `slot` in the buffer, as a mask, and those of them that are dirty.
    pub(crate) fn masks(&self, slot: BlockSlot) -> (u64, u64) {
        (self.table[slot].present, self.table[slot].dirty)
    }

    /// Returns whether the block was written page by page from its first to its last, and is whole now.
    #[inline]
    pub(crate) fn was_written_in_order(&self, slot: BlockSlot) -> bool {
        u32::from(self.table[slot].in_order) == self.pages_per_block.get()
    }

    /// Blocks as an inspector takes them.
    pub(crate) fn show(
        &self,
        name: &'static str,
        blocks: impl Iterator<Item = (BlockSlot, bool)>,
        inspector: &mut dyn BufferInspector,
    ) {
        inspector.blocks(name, &mut self.states(blocks));
    }

    /// What an inspector learns of blocks and their reference bits.
    pub(crate) fn states(
        &self,
        blocks: impl Iterator<Item = (BlockSlot, bool)>,
    ) -> impl Iterator<Item = BlockState> {
        blocks.map(|(slot, referenced)| self.table[slot].state(referenced))
    }
}

/// In which order blocks leave.
pub(crate) trait BlockOrder {
    /// As [`WriteBuffer::foresee`], with the blocks of the pages.
    fn foresee(&mut self, blocks: &mut dyn Iterator<Item = u64>) {
        let _ = blocks;
    }

    /// `page` of the block in `slot` came; it is the block's first if the block has one page.
    fn added(&mut self, page: LogicalPage, slot: BlockSlot, groups: &Groups);

    /// `page` of the block was read or written where it is.
    fn hit(&mut self, op: Op, page: LogicalPage, slot: BlockSlot, groups: &Groups);

    /// `page` of the block was trimmed; others are left.
    fn shrunk(&mut self, page: LogicalPage, slot: BlockSlot, groups: &Groups);

    /// The block's last page is trimmed.
    fn emptied(&mut self, slot: BlockSlot);

    /// The block to leave. The order forgets it at once; its pages are still there.
    fn choose_victim(&mut self, groups: &Groups) -> BlockSlot;

    /// Which pages of the victim, of those that are present, leave with it; others stay, and so the order knows them.
    fn leaving(&self, victim: BlockSlot, present: u64) -> u64 {
        let _ = victim;
        present
    }

    /// As [`WriteBuffer::inspect`].
    fn inspect(&self, groups: &Groups, inspector: &mut dyn BufferInspector);

    /// As [`WriteBuffer::check_invariants`]; the number of blocks that are listed.
    fn check_invariants(&self, groups: &Groups) -> usize;
}

/// What is written together with the dirty pages of a block that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Padding {
    /// Nothing.
    None,
    /// Its clean pages in the buffer.
    Buffered,
    /// All its other pages; those that are not in the buffer are read from flash first.
    WholeBlock,
}

/// The modes of a grouped buffer that its order does not decide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) padding: Padding,
    pub(crate) caches_reads: bool,
    pub(crate) commands: Commands,
}

/// The purpose of the pending step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// To evict the block that is leaving.
    Evict,
    /// To clean the pages of this block, which stay.
    Clean(BlockSlot),
    /// To write the page of a request through.
    WriteThrough,
}

/// A DRAM buffer that evicts whole blocks in the order of `O`.
pub(crate) struct GroupedBuffer<O> {
    order: O,
    options: Options,
    capacity_pages: u32,
    drive_pages: u64,
    groups: Groups,
    pages: u32,
    dirty_pages: u32,
    /// The blocks with dirty pages, the one that has had some for longest first.
    dirty_links: Links<BlockSlot>,
    dirty_groups: List<BlockSlot>,
    /// The block that is leaving, and which of its pages still have to.
    leaving: Option<(BlockSlot, u64)>,
    purpose: Purpose,
    proposal: Proposal,
    is_written_through: bool,
}

impl<O: BlockOrder> GroupedBuffer<O> {
    pub(crate) fn new(order: O, size: BufferSize, options: Options) -> Self {
        let pages_per_block = size.pages_per_block;
        GroupedBuffer {
            order,
            options,
            capacity_pages: size.pages,
            drive_pages: size.drive_pages,
            groups: Groups { table: BlockTable::new(), pages_per_block },
            pages: 0,
            dirty_pages: 0,
            dirty_links: Links::new(0),
            dirty_groups: List::EMPTY,
            leaving: None,
            purpose: Purpose::Evict,
            proposal: Proposal::new(pages_per_block),
            is_written_through: false,
        }
    }

    #[inline]
    fn find(&self, page: LogicalPage) -> Option<BlockSlot> {
        let pages_per_block = self.groups.pages_per_block;
        let slot = self.groups.table.find(pages_per_block.block_of(page))?;
        let present = self.groups.table[slot].present & pages_per_block.bit(page) != 0;
        present.then_some(slot)
    }

    /// Returns whether serving `request` puts a page into the buffer that is not there.
    fn needs_room(&self, request: Request) -> bool {
        match request {
            Request::Read(page) => self.options.caches_reads && self.find(page).is_none(),
            Request::Write(page) | Request::ForceUnitAccess(page) => self.find(page).is_none(),
            Request::Flush | Request::Trim(_) | Request::Drain => false,
        }
    }

    fn propose(&mut self, request: Request) {
        if self.leaving.is_none() && self.pages == self.capacity_pages && self.needs_room(request) {
            let slot = self.order.choose_victim(&self.groups);
            let present = self.groups.table[slot].present;
            self.leaving = Some((slot, self.order.leaving(slot, present)));
        }
        if let Some((slot, pages)) = self.leaving {
            return self.propose_eviction(slot, pages);
        }
        let safe = self.options.commands == Commands::Safe;
        match request {
            Request::ForceUnitAccess(page) if safe && !self.is_written_through => {
                self.purpose = Purpose::WriteThrough;
                self.proposal.propose_write_through(page);
            }
            Request::Flush if safe => self.propose_cleaning(),
            Request::Drain => self.propose_cleaning(),
            _ => {}
        }
    }

    /// If one of `leaving`, pages of the block, is dirty, these are flushed with their padding; what is left of them then is
    /// dropped.
    fn propose_eviction(&mut self, slot: BlockSlot, leaving: u64) {
        self.purpose = Purpose::Evict;
        let Group { block, present, dirty, .. } = self.groups.table[slot];
        let (present, dirty) = (present & leaving, dirty & leaving);
        let pages_per_block = self.groups.pages_per_block;
        let (action, mask) = match (dirty, self.options.padding) {
            (0, _) => (Action::Drop, present),
            (_, Padding::None) => (Action::Flush, dirty),
            (_, Padding::Buffered) => (Action::Flush, present),
            (_, Padding::WholeBlock) => (Action::Flush, present | self.whole(block)),
        };
        self.proposal.propose(action, |pages| {
            pages.extend(pages_per_block.pages(block, mask).map(|page| {
                let is_in = |mask: u64| mask & pages_per_block.bit(page) != 0;
                let source = if is_in(present) { Source::Dram } else { Source::Flash };
                StepPage { page, dirty: is_in(dirty), source, stays: false }
            }));
        });
    }

    /// All pages of a block, as far as the drive has them.
    fn whole(&self, block: u64) -> u64 {
        let pages_per_block = self.groups.pages_per_block;
        let first = block * u64::from(pages_per_block.get());
        let pages = self.drive_pages.saturating_sub(first).clamp(1, pages_per_block.get().into());
        u64::MAX >> (64 - pages)
    }

    /// The dirty pages of one block are flushed and stay, clean.
    fn propose_cleaning(&mut self) {
        let slot = self.dirty_groups.head();
        if slot == BlockSlot::NONE {
            return;
        }
        self.purpose = Purpose::Clean(slot);
        let Group { block, dirty, .. } = self.groups.table[slot];
        let pages_per_block = self.groups.pages_per_block;
        self.proposal.propose(Action::Flush, |pages| {
            let dirty_pages = pages_per_block.pages(block, dirty);
            pages.extend(dirty_pages.map(|page| StepPage {
                page,
                dirty: true,
                source: Source::Dram,
                stays: true,
            }));
        });
    }

    /// Sets which pages of a block are dirty.
    fn set_dirty(&mut self, slot: BlockSlot, dirty: u64) {
        let group = &mut self.groups.table[slot];
        let before = core::mem::replace(&mut group.dirty, dirty);
        self.dirty_pages = self.dirty_pages + dirty.count_ones() - before.count_ones();
        if before == 0 && dirty != 0 {
            self.dirty_links.grow_to(slot);
            self.dirty_groups.push_tail(&mut self.dirty_links, slot);
        } else if before != 0 && dirty == 0 {
            self.dirty_groups.remove(&mut self.dirty_links, slot);
        }
    }

    /// The pages in `mask` leave the buffer; returns whether the block still has others.
    fn remove_pages(&mut self, slot: BlockSlot, mask: u64) -> bool {
        self.set_dirty(slot, self.groups.table[slot].dirty & !mask);
        let group = &mut self.groups.table[slot];
        self.pages -= (group.present & mask).count_ones();
        group.present &= !mask;
        group.in_order = OUT_OF_ORDER;
        group.present != 0
    }

    fn commit_eviction(&mut self) {
        let (slot, leaving) = self.leaving.expect("a block is leaving");
        let (action, pages) = self.proposal.take();
        let pages_per_block = self.groups.pages_per_block;
        let mask = pages.iter().fold(0, |mask, entry| mask | pages_per_block.bit(entry.page));
        debug_assert!(action == Action::Flush || self.groups.table[slot].dirty & mask == 0);
        let has_others = self.remove_pages(slot, mask);
        self.leaving = Some((slot, leaving & !mask)).filter(|&(_, leaving)| leaving != 0);
        if !has_others {
            self.groups.table.remove(self.groups.table[slot].block, slot);
        }
    }

    /// Counts a write towards a block that is written strictly in order.
    fn note_write(&mut self, slot: BlockSlot, bit: u64) {
        let group = &mut self.groups.table[slot];
        let is_next = bit.trailing_zeros() == u32::from(group.in_order);
        group.in_order = if is_next { group.in_order + 1 } else { OUT_OF_ORDER };
    }

    /// Puts `page` into the buffer.
    fn add(&mut self, op: Op, page: LogicalPage) {
        assert!(self.pages < self.capacity_pages, "the buffer is full");
        let pages_per_block = self.groups.pages_per_block;
        let (block, bit) = (pages_per_block.block_of(page), pages_per_block.bit(page));
        let slot = self.groups.table.find(block).unwrap_or_else(|| {
            let group = Group { block, present: 0, dirty: 0, in_order: 0 };
            self.groups.table.insert(block, group)
        });
        self.groups.table[slot].present |= bit;
        self.pages += 1;
        if op == Op::Write {
            self.note_write(slot, bit);
            self.set_dirty(slot, self.groups.table[slot].dirty | bit);
        }
        self.order.added(page, slot, &self.groups);
    }

    fn serve_hit(&mut self, op: Op, slot: BlockSlot, page: LogicalPage) {
        if op == Op::Write {
            let bit = self.groups.pages_per_block.bit(page);
            self.note_write(slot, bit);
            self.set_dirty(slot, self.groups.table[slot].dirty | bit);
        }
        self.order.hit(op, page, slot, &self.groups);
    }

    fn access(&mut self, op: Op, page: LogicalPage) -> Served {
        let found = self.find(page);
        match found {
            Some(slot) => self.serve_hit(op, slot, page),
            None if op == Op::Write || self.options.caches_reads => self.add(op, page),
            None => {}
        }
        Served { hit: found.map(|_| Medium::Dram), nvm_writes: 0 }
    }

    fn write_through(&mut self, page: LogicalPage) -> Served {
        let served = self.access(Op::Write, page);
        if core::mem::take(&mut self.is_written_through) {
            let slot = self.find(page).expect("the page was just written");
            let bit = self.groups.pages_per_block.bit(page);
            self.set_dirty(slot, self.groups.table[slot].dirty & !bit);
        }
        served
    }

    fn trim(&mut self, page: LogicalPage) -> Served {
        let Some(slot) = self.find(page) else { return Served::default() };
        let group = self.groups.table[slot];
        if group.pages() == 1 {
            self.order.emptied(slot);
            self.remove_pages(slot, group.present);
            self.groups.table.remove(group.block, slot);
        } else {
            self.remove_pages(slot, self.groups.pages_per_block.bit(page));
            self.order.shrunk(page, slot, &self.groups);
        }
        Served { hit: Some(Medium::Dram), nvm_writes: 0 }
    }
}

impl<O: BlockOrder> WriteBuffer for GroupedBuffer<O> {
    fn foresee(&mut self, writes: &mut dyn Iterator<Item = LogicalPage>) {
        let pages_per_block = self.groups.pages_per_block;
        self.order.foresee(&mut writes.map(|page| pages_per_block.block_of(page)));
    }

    fn capacity(&self) -> Capacity {
        Capacity { dram_pages: self.capacity_pages, nvm_pages: 0 }
    }

    fn occupancy(&self) -> Occupancy {
        Occupancy { dram_pages: self.pages, nvm_pages: 0, dirty_pages: self.dirty_pages }
    }

    fn place_of(&self, page: LogicalPage) -> Option<Medium> {
        self.find(page).map(|_| Medium::Dram)
    }

    fn is_dirty(&self, page: LogicalPage) -> bool {
        let bit = self.groups.pages_per_block.bit(page);
        self.find(page).is_some_and(|slot| self.groups.table[slot].dirty & bit != 0)
    }

    #[inline]
    fn look_ahead(&self, page: LogicalPage) {
        let Groups { table, pages_per_block } = &self.groups;
        let entry = table.entry_ahead(pages_per_block.block_of(page));
        core::hint::black_box(entry.map(|group| group.present));
    }

    as_proposed!(next_step);

    fn commit(&mut self) {
        match self.purpose {
            Purpose::Evict => self.commit_eviction(),
            Purpose::Clean(slot) => {
                self.proposal.take();
                self.set_dirty(slot, 0);
            }
            Purpose::WriteThrough => {
                self.proposal.take();
                self.is_written_through = true;
            }
        }
    }

    as_proposed!(serve);

    fn inspect(&self, inspector: &mut dyn BufferInspector) {
        self.order.inspect(&self.groups, inspector);
    }

    fn check_invariants(&self) {
        if self.leaving.is_some() {
            return;
        }
        let blocks = self.order.check_invariants(&self.groups);
        assert_eq!(blocks, self.groups.len(), "every block is in the order");
        assert!(self.pages <= self.capacity_pages, "more pages than the buffer has place for");
        self.dirty_groups.check_invariants(&self.dirty_links);
        let dirty = self.dirty_groups.iter(&self.dirty_links);
        let dirty: u32 = dirty.map(|slot| self.groups.table[slot].dirty.count_ones()).sum();
        assert_eq!(dirty, self.dirty_pages, "the dirty pages are recounted");
    }
}
