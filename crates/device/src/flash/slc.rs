//! The SLC region of a pool: fast blocks that the host's pages go to first.

use std::collections::VecDeque;

use super::error::WornOut;
use super::geometry::{Block, LogicalPage, PhysicalPage};
use super::map::BlockState;
use super::mapping_options::{SlcFull, SlcOptions};
use super::operations::{Cause, FlashOperations};
use super::pool::{Pool, Turn};

/// Blocks of one bit per cell, behind those of the pool's main region. A block that is folded is emptied page by page into the
/// main region, as if the host wrote there, and erased.
#[derive(Debug, Clone)]
pub(super) struct SlcRegion {
    first: Block,
    blocks: u32,
    /// Pages that a block holds with one bit per cell.
    pages_per_block: u32,
    full_mode: SlcFull,
    /// In the order they will be written.
    erased: VecDeque<u32>,
    /// The block that is being written, and how many pages it has.
    open: Option<(Block, u32)>,
    /// In the order they became full.
    full: VecDeque<u32>,
    /// The block that is being folded, if it is not yet empty and erased.
    folding: Option<Block>,
    pub(super) blocks_retired: u32,
    pub(super) folded_pages: u64,
    pub(super) erases: u64,
}

impl SlcRegion {
    pub(super) fn new(first: Block, options: SlcOptions, pages_per_block: u32) -> SlcRegion {
        SlcRegion {
            first,
            blocks: options.blocks,
            pages_per_block: pages_per_block / options.bits_per_cell,
            full_mode: options.full,
            erased: (first.0..first.0 + options.blocks).collect(),
            open: None,
            full: VecDeque::new(),
            folding: None,
            blocks_retired: 0,
            folded_pages: 0,
            erases: 0,
        }
    }

    /// Programs a page of the host, here or in the main region, whose block of the page's class is selected.
    pub(super) fn write<O: FlashOperations>(
        &mut self,
        page: LogicalPage,
        class: usize,
        main: &mut Pool,
        turn: &mut Turn<'_, O>,
    ) -> Result<(), WornOut> {
        if self.open.is_none() {
            if self.erased.is_empty() && self.full_mode == SlcFull::Fold {
                self.fold_one(main, turn)?;
            }
            self.open = self.erased.pop_front().map(|block| (Block(block), 0));
        }
        let Some((block, pages)) = self.open else {
            main.select(class);
            turn.clock -= 1;
            return main.write(&[page], turn);
        };
        turn.map.record_mut(block).state = BlockState::Programmed;
        let to = PhysicalPage(turn.map.first_page(block).0 + pages);
        turn.map.mark_valid(block, to, 1);
        if let Some(was) = turn.map.put(page, to) {
            main.invalidate(was, turn.map, turn.clock);
        }
        turn.operations.program(to, page);
        self.open = Some((block, pages + 1));
        if pages + 1 == self.pages_per_block {
            self.full.push_back(block.0);
            self.open = None;
        }
        Ok(())
    }

    /// Folds the block that is being folded, or else the one that became full first, to its end.
    fn fold_one<O: FlashOperations>(
        &mut self,
        main: &mut Pool,
        turn: &mut Turn<'_, O>,
    ) -> Result<(), WornOut> {
        while self.fold_step(main, turn)? && self.folding.is_some() {}
        Ok(())
    }

    /// Moves one page of the block that is being folded, or erases it if it has none left. Begins the one that became full first
    /// if none is being folded; says whether there was any.
    pub(super) fn fold_step<O: FlashOperations>(
        &mut self,
        main: &mut Pool,
        turn: &mut Turn<'_, O>,
    ) -> Result<bool, WornOut> {
        let next = self.folding.or_else(|| self.full.pop_front().map(Block));
        let Some(block) = next else { return Ok(false) };
        self.folding = Some(block);
        match turn.map.first_valid_page(block) {
            Some(from) => {
                fold_page(from, main, turn)?;
                self.folded_pages += 1;
            }
            None => self.erase(block, turn),
        }
        Ok(true)
    }

    fn erase<O: FlashOperations>(&mut self, block: Block, turn: &mut Turn<'_, O>) {
        self.folding = None;
        self.erases += 1;
        if turn.map.erase(block, turn.endurance_erases) {
            self.blocks_retired += 1;
        } else {
            self.erased.push_back(block.0);
        }
        turn.operations.erase(Cause::Fold, block);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        (self.erased.capacity() + self.full.capacity()) * size_of::<u32>()
    }

    /// Returns whether this block belongs to the region.
    pub(super) fn has(&self, block: Block) -> bool {
        (self.first.0..self.first.0 + self.blocks).contains(&block.0)
    }

    /// Checks that each block is in one place, and that the erased ones are queued.
    pub(super) fn check(&self, state_of: impl Fn(Block) -> BlockState) -> Result<(), String> {
        let mut queued: Vec<u32> = self.erased.iter().copied().collect();
        queued.sort_unstable();
        let blocks = self.first.0..self.first.0 + self.blocks;
        let state_of = &state_of;
        let in_state = |state| blocks.clone().filter(move |block| state == state_of(Block(*block)));
        if queued != in_state(BlockState::Erased).collect::<Vec<_>>() {
            return Err("the queue of erased SLC blocks is not the erased ones".to_owned());
        }
        let open = self.open.map(|(block, _)| block.0);
        let folding = self.folding.map(|block| block.0);
        let mut used: Vec<u32> = self.full.iter().copied().chain(open).chain(folding).collect();
        used.sort_unstable();
        if used != in_state(BlockState::Programmed).collect::<Vec<_>>() {
            return Err(
                "an SLC block is programmed and neither open, full nor being folded".to_owned()
            );
        }
        Ok(())
    }
}

/// Moves a page into the main region, as a write of the host there, which is not counted as one.
fn fold_page<O: FlashOperations>(
    from: PhysicalPage,
    main: &mut Pool,
    turn: &mut Turn<'_, O>,
) -> Result<(), WornOut> {
    let page = LogicalPage(turn.map.logical[from.0 as usize]);
    main.select(turn.classes.map_or(0, |classes| classes.of_moved(page, turn.clock)));
    let mut folding = Folding { operations: &mut *turn.operations, from };
    let mut as_write = Turn {
        map: &mut *turn.map,
        operations: &mut folding,
        // The write that needs the room was counted; the pool counts one more.
        clock: turn.clock - 1,
        endurance_erases: turn.endurance_erases,
        classes: turn.classes,
    };
    main.write(&[page], &mut as_write)
}

/// Tells the program of a folded page as its relocation, and collection as it is.
struct Folding<'a, O> {
    operations: &'a mut O,
    from: PhysicalPage,
}

impl<O: FlashOperations> FlashOperations for Folding<'_, O> {
    fn program(&mut self, to: PhysicalPage, holds: LogicalPage) {
        self.operations.relocate(Cause::Fold, self.from, to, holds);
    }

    fn relocate(&mut self, cause: Cause, from: PhysicalPage, to: PhysicalPage, holds: LogicalPage) {
        self.operations.relocate(cause, from, to, holds);
    }

    fn erase(&mut self, cause: Cause, block: Block) {
        self.operations.erase(cause, block);
    }
}
