//! A pool of blocks: which one is written, which one is collected.

mod apart;
mod background;

use std::collections::VecDeque;

use super::candidates::{Candidates, View};
use super::classes::Classes;
use super::error::WornOut;
use super::geometry::{Block, LogicalPage, PhysicalPage};
use super::map::{BlockState, Map};
use super::operations::{Cause, FlashOperations};
use super::options::{Frontiers, FtlOptions};
use super::wear::MeanErases;

/// The block that is being written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frontier {
    pub(super) block: Block,
    next: u32,
    end: u32,
}

impl Frontier {
    /// No block is being written.
    const NONE: Frontier = Frontier { block: Block(u32::MAX), next: 0, end: 0 };

    #[inline]
    pub(super) fn is_none(self) -> bool {
        self.next == self.end
    }

    fn pages_left(self) -> u32 {
        self.end - self.next
    }
}

/// Whose pages a block is written with.
#[derive(Debug, Clone, Copy)]
enum FrontierKind {
    Host,
    Relocation,
    Levelling,
}

/// Pages of a block whose bits are set together.
const MARKED_AT_ONCE: u32 = 64;

/// Pages of one block that hold the last version of nothing any more, and that are not counted yet.
#[derive(Debug, Clone, Copy)]
struct Losing {
    block: Block,
    pages: u16,
    /// The host write that invalidated the last of them.
    clock: u64,
}

/// How large a pool is.
#[derive(Debug, Clone, Copy)]
pub(super) struct PoolSize {
    pub(super) blocks: u32,
    /// Erased blocks below which it is collected.
    pub(super) minimum_free: u32,
    /// Blocks without which collection could come to a stand.
    pub(super) blocks_required: u32,
    /// Classes of pages that are kept apart.
    pub(super) classes: u32,
}

/// Blocks that are written and collected together, with neighbouring numbers.
#[derive(Debug, Clone)]
pub(super) struct Pool {
    pub(super) first: Block,
    pub(super) blocks: u32,
    /// In the order they will be written.
    pub(super) erased: VecDeque<u32>,
    /// The frontier of the host's pages, of one class if they are kept apart.
    pub(super) host: Frontier,
    /// That class.
    class: usize,
    /// Where the pages of each class go; not kept for the class of `host`.
    parked: Vec<Frontier>,
    /// Where relocated pages go; never used if they share the host's.
    pub(super) relocation: Frontier,
    /// The frontier of pages that wear levelling takes out of little worn blocks.
    pub(super) levelling: Frontier,
    frontiers: Frontiers,
    pub(super) candidates: Candidates,
    minimum_free: u32,
    /// Blocks without which collection could come to a stand.
    blocks_required: u32,
    pub(super) blocks_retired: u32,
    mean_erases: MeanErases,
    wear_limit: Option<u32>,
    wear_levelling: Option<u32>,
    /// The victim that is collected page by page while the pool rests.
    begun: Option<Block>,
}

impl Pool {
    /// A pool of erased blocks from `first` on, written in the order of their numbers.
    pub(super) fn new(first: Block, size: PoolSize, options: &FtlOptions) -> Pool {
        let PoolSize { blocks, minimum_free, blocks_required, classes } = size;
        // Each pool draws a sequence of its own.
        let seed = options.seed.wrapping_add(u64::from(first.0) << 32);
        Pool {
            first,
            blocks,
            erased: (first.0..first.0 + blocks).collect(),
            host: Frontier::NONE,
            class: 0,
            parked: vec![Frontier::NONE; classes as usize],
            relocation: Frontier::NONE,
            levelling: Frontier::NONE,
            frontiers: options.frontiers,
            candidates: Candidates::new(options.victim, blocks, seed),
            minimum_free,
            blocks_required,
            blocks_retired: 0,
            mean_erases: MeanErases::new(blocks),
            wear_limit: options.wear_limit,
            wear_levelling: options.wear_levelling,
            begun: None,
        }
    }

    /// Programs pages of the host, collecting before each that needs a new block, and invalidates their last versions.
    #[inline]
    pub(super) fn write<O: FlashOperations>(
        &mut self,
        pages: &[LogicalPage],
        turn: &mut Turn<'_, O>,
    ) -> Result<(), WornOut> {
        let mut rest = pages;
        while !rest.is_empty() {
            // The lookup of the next page, which `program` does not count again.
            turn.clock += 1;
            if self.host.is_none() {
                self.make_room(turn)?;
            }
            let fit = self.host.pages_left().min(MARKED_AT_ONCE) as usize;
            let (now, later) = rest.split_at(rest.len().min(fit));
            self.program(now, turn);
            rest = later;
            if self.host.is_none() {
                self.close(self.host.block, turn);
                self.host = Frontier::NONE;
            }
        }
        Ok(())
    }

    /// The blocks that are being written.
    pub(super) fn open_frontiers(&self) -> impl Iterator<Item = Frontier> + '_ {
        let parked = self.parked.iter().enumerate();
        let parked =
            parked.filter(|(class, _)| *class != self.class).map(|(_, frontier)| *frontier);
        let named = [self.host, self.relocation, self.levelling];
        named.into_iter().chain(parked).filter(|frontier| !frontier.is_none())
    }

    /// Programs pages, at least one, into the host's block, which has room for them.
    #[inline]
    fn program<O: FlashOperations>(&mut self, pages: &[LogicalPage], turn: &mut Turn<'_, O>) {
        // All at once, and first: a page that comes twice is invalidated in this block.
        let first = PhysicalPage(self.host.next);
        turn.map.mark_valid(self.host.block, first, pages.len() as u32);
        self.host.next += pages.len() as u32;
        let mut losing = Losing { block: self.host.block, pages: 0, clock: turn.clock };
        for (index, (&page, to)) in pages.iter().zip(first.0..).enumerate() {
            let (to, clock) = (PhysicalPage(to), turn.clock + index as u64);
            if let Some(was) = turn.map.put(page, to) {
                let block = turn.map.clear_valid(was);
                if block != losing.block {
                    self.lose(losing, turn.map);
                    losing = Losing { block, pages: 0, clock };
                }
                losing.pages += 1;
                losing.clock = clock;
            }
            turn.operations.program(to, page);
        }
        self.lose(losing, turn.map);
        turn.clock += pages.len() as u64 - 1;
    }

    /// A page that holds the last version of nothing any more.
    pub(super) fn invalidate(&mut self, page: PhysicalPage, map: &mut Map, clock: u64) {
        let block = map.clear_valid(page);
        self.lose(Losing { block, pages: 1, clock }, map);
    }

    /// Counts pages of a block that are no longer valid.
    // Every page that is written passes here. There are several listeners, so that the compiler would not inline it.
    #[inline(always)]
    fn lose(&mut self, losing: Losing, map: &mut Map) {
        let record = map.record_mut(losing.block);
        record.valid_pages -= losing.pages;
        if record.state == BlockState::Full && losing.pages > 0 {
            let block = losing.block.0 - self.first.0;
            self.candidates.lose_pages(block, record.valid_pages, losing.clock);
        }
    }

    /// Collects until enough blocks are free, and opens one for the host unless relocated pages opened it already.
    #[cold]
    fn make_room<O: FlashOperations>(&mut self, turn: &mut Turn<'_, O>) -> Result<(), WornOut> {
        let class = self.class;
        if self.begun.is_some() && self.erased.len() < self.minimum_free as usize {
            self.finish_begun(turn)?;
        }
        while self.erased.len() < self.minimum_free as usize {
            self.collect(turn)?;
        }
        self.select(class);
        if self.host.is_none() {
            self.host = self.open(FrontierKind::Host, turn.map);
        }
        Ok(())
    }

    fn collect<O: FlashOperations>(&mut self, turn: &mut Turn<'_, O>) -> Result<(), WornOut> {
        if self.blocks - self.blocks_retired < self.blocks_required {
            return Err(WornOut);
        }
        let victim = self.choose(turn).expect("more blocks than may be free are full");
        let kind = match self.frontiers {
            Frontiers::Shared => FrontierKind::Host,
            Frontiers::Separate => FrontierKind::Relocation,
        };
        match (kind, turn.classes) {
            (FrontierKind::Host, Some(classes)) => self.reclaim_apart(victim, classes, turn)?,
            _ => self.reclaim(victim, kind, turn)?,
        }
        match self.wear_levelling.and_then(|spread| self.least_worn(victim, spread, turn.map)) {
            Some(unworn) => self.reclaim(unworn, FrontierKind::Levelling, turn),
            None => Ok(()),
        }
    }

    /// The rule's victim; none if no block is full.
    fn choose<O>(&mut self, turn: &Turn<'_, O>) -> Option<Block> {
        let view = View {
            records: &turn.map.blocks[self.first.0 as usize..][..self.blocks as usize],
            pages_per_block: turn.map.pages_per_block,
            clock: turn.clock,
            erases_max: self.wear_limit.map(|limit| self.mean_erases.get().saturating_add(limit)),
        };
        let victim = self.candidates.choose(&view)?;
        Some(Block(self.first.0 + victim))
    }

    /// The least worn full block, ties to the smallest number, if `erased` was erased `spread` times more and can take its pages.
    fn least_worn(&self, erased: Block, spread: u32, map: &Map) -> Option<Block> {
        let record = map.record(erased);
        let erases_max = record.erases.checked_sub(spread)?;
        if record.state == BlockState::Retired {
            return None;
        }
        let blocks = self.first.0..self.first.0 + self.blocks;
        blocks
            .map(|block| (map.record(Block(block)), block))
            .filter(|(record, _)| record.state == BlockState::Full && record.erases <= erases_max)
            .min_by_key(|(record, block)| (record.erases, *block))
            .map(|(_, block)| Block(block))
    }

    /// Relocates the valid pages of a full block, in page order, and erases it.
    fn reclaim<O: FlashOperations>(
        &mut self,
        block: Block,
        kind: FrontierKind,
        turn: &mut Turn<'_, O>,
    ) -> Result<(), WornOut> {
        let valid_pages = turn.map.record(block).valid_pages;
        let mut frontier = *self.frontier(kind);
        // Only a drive that lost blocks to wear has none to relocate into.
        if self.erased.is_empty() && u32::from(valid_pages) > frontier.pages_left() {
            return Err(WornOut);
        }
        self.candidates.remove(block.0 - self.first.0);
        let mut from_first = turn.map.first_page(block).0;
        for word in turn.map.words(block) {
            let mut valid = std::mem::take(&mut turn.map.valid[word]);
            while valid != 0 {
                if frontier.is_none() {
                    frontier = self.open(kind, turn.map);
                }
                let moved = turn.move_pages(&mut valid, PhysicalPage(from_first), frontier);
                frontier.next += moved;
                if frontier.is_none() {
                    self.close(frontier.block, turn);
                    frontier = Frontier::NONE;
                }
            }
            from_first += u64::BITS;
        }
        *self.frontier(kind) = frontier;
        self.erase(block, turn);
        Ok(())
    }

    fn frontier(&mut self, kind: FrontierKind) -> &mut Frontier {
        match kind {
            FrontierKind::Host => &mut self.host,
            FrontierKind::Relocation => &mut self.relocation,
            FrontierKind::Levelling => &mut self.levelling,
        }
    }

    fn erase<O: FlashOperations>(&mut self, block: Block, turn: &mut Turn<'_, O>) {
        let record = turn.map.record_mut(block);
        record.valid_pages = 0;
        record.erases += 1;
        let retires = turn.endurance_erases.is_some_and(|endurance| record.erases >= endurance);
        self.mean_erases.count(record.erases, retires);
        if retires {
            record.state = BlockState::Retired;
            self.blocks_retired += 1;
        } else {
            record.state = BlockState::Erased;
            self.erased.push_back(block.0);
        }
        turn.operations.erase(Cause::Collect, block);
    }

    #[inline]
    fn open(&mut self, kind: FrontierKind, map: &mut Map) -> Frontier {
        let block = match kind {
            FrontierKind::Host | FrontierKind::Relocation => self.erased.pop_front(),
            // The block just erased: cold pages let it rest, while the block that they leave goes round.
            FrontierKind::Levelling => self.erased.pop_back(),
        };
        let block = Block(block.expect("a free block was kept"));
        map.record_mut(block).state = BlockState::Open;
        let next = map.first_page(block).0;
        Frontier { block, next, end: next + map.pages_per_block }
    }

    /// A block that was written is full: it can be collected from now on.
    #[cold]
    fn close<O: FlashOperations>(&mut self, block: Block, turn: &mut Turn<'_, O>) {
        let record = turn.map.record_mut(block);
        record.state = BlockState::Full;
        let valid_pages = record.valid_pages;
        self.candidates.insert(block.0 - self.first.0, valid_pages, turn.clock);
    }

    /// Forgets the wear of the past: from now on all blocks count as never erased.
    pub(super) fn forget_wear(&mut self) {
        self.mean_erases = MeanErases::new(self.blocks);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.erased.capacity() * size_of::<u32>() + self.candidates.memory_bytes()
    }
}

/// What one request of the host may change and tell, beside the pool.
pub(super) struct Turn<'a, O> {
    pub(super) map: &'a mut Map,
    pub(super) operations: &'a mut O,
    /// Host writes so far, the present one included.
    pub(super) clock: u64,
    pub(super) endurance_erases: Option<u32>,
    /// The classes of pages that are kept apart, if any are.
    pub(super) classes: Option<&'a Classes>,
}

impl<O: FlashOperations> Turn<'_, O> {
    /// Moves pages to the frontier, in order, until it is full or none is left in `valid`, a word of valid bits that starts
    /// with page `first`. Says how many. Most pages that a drive programs pass through here.
    fn move_pages(&mut self, valid: &mut u64, first: PhysicalPage, frontier: Frontier) -> u32 {
        let mut to = frontier.next;
        while *valid != 0 && to < frontier.end {
            let from = PhysicalPage(first.0 + valid.trailing_zeros());
            *valid &= *valid - 1;
            let holds = self.map.logical[from.0 as usize];
            self.map.logical[to as usize] = holds;
            self.map.physical[holds as usize] = to;
            let (to_page, holds) = (PhysicalPage(to), LogicalPage(holds));
            self.operations.relocate(Cause::Collect, from, to_page, holds);
            to += 1;
        }
        let moved = to - frontier.next;
        self.map.mark_valid(frontier.block, PhysicalPage(frontier.next), moved);
        moved
    }
}
