//! Collection page by page, while the pool rests.

use super::super::error::WornOut;
use super::super::geometry::{Block, LogicalPage, PhysicalPage};
use super::super::map::BlockState;
use super::super::operations::{Cause, FlashOperations};
use super::super::options::Frontiers;
use super::{Frontier, FrontierKind, Pool, Turn};

impl Pool {
    /// Returns whether a victim is begun and not yet erased.
    pub(in super::super) fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// Takes a step of collection: moves a page of the begun victim, or erases it if it has none left. Without one, the rule's
    /// victim is begun if fewer than `background_free` blocks are erased, unless all its pages are valid. A step that would
    /// have to open a block waits while fewer blocks are erased than the host needs. Says whether there was a step.
    pub(in super::super) fn background_step<O: FlashOperations>(
        &mut self,
        background_free: u32,
        turn: &mut Turn<'_, O>,
    ) -> Result<bool, WornOut> {
        let Some(block) = self.begun.or_else(|| self.background_victim(background_free, turn))
        else {
            return Ok(false);
        };
        if let Some(from) = turn.map.first_valid_page(block) {
            let is_open = !self.frontier_of(from, turn).is_none();
            if !is_open && self.erased.len() < self.minimum_free as usize {
                return Ok(false);
            }
        }
        if self.begun.is_none() {
            self.candidates.remove(block.0 - self.first.0);
            turn.map.record_mut(block).state = BlockState::Programmed;
            self.begun = Some(block);
        }
        self.collect_step(block, turn)?;
        Ok(true)
    }

    /// The victim that is worth a step.
    fn background_victim<O: FlashOperations>(
        &mut self,
        background_free: u32,
        turn: &Turn<'_, O>,
    ) -> Option<Block> {
        if self.erased.len() >= background_free as usize {
            return None;
        }
        let victim = self.choose(turn)?;
        let valid_pages = u32::from(turn.map.record(victim).valid_pages);
        (valid_pages < turn.map.pages_per_block).then_some(victim)
    }

    /// Collects the begun victim to its end.
    pub(super) fn finish_begun<O: FlashOperations>(
        &mut self,
        turn: &mut Turn<'_, O>,
    ) -> Result<(), WornOut> {
        while let Some(block) = self.begun {
            self.collect_step(block, turn)?;
        }
        Ok(())
    }

    fn collect_step<O: FlashOperations>(
        &mut self,
        block: Block,
        turn: &mut Turn<'_, O>,
    ) -> Result<(), WornOut> {
        let Some(from) = turn.map.first_valid_page(block) else {
            self.begun = None;
            self.erase(block, turn);
            return Ok(());
        };
        let kind = self.kind_of_moved();
        let mut frontier = self.frontier_of(from, turn);
        if frontier.is_none() {
            if self.erased.is_empty() {
                return Err(WornOut);
            }
            frontier = self.open(kind, turn.map);
        }
        let (to, holds) = (PhysicalPage(frontier.next), turn.map.logical[from.0 as usize]);
        turn.map.put(LogicalPage(holds), to);
        turn.map.clear_valid(from);
        turn.map.record_mut(block).valid_pages -= 1;
        turn.map.mark_valid(frontier.block, to, 1);
        turn.operations.relocate(Cause::Collect, from, to, LogicalPage(holds));
        frontier.next += 1;
        if frontier.is_none() {
            self.close(frontier.block, turn);
            frontier = Frontier::NONE;
        }
        *self.frontier(kind) = frontier;
        Ok(())
    }

    fn kind_of_moved(&self) -> FrontierKind {
        match self.frontiers {
            Frontiers::Shared => FrontierKind::Host,
            Frontiers::Separate => FrontierKind::Relocation,
        }
    }

    /// The frontier of a moved page; if shared with the host, its class is selected.
    fn frontier_of<O>(&mut self, from: PhysicalPage, turn: &Turn<'_, O>) -> Frontier {
        let kind = self.kind_of_moved();
        if let (FrontierKind::Host, Some(classes)) = (kind, turn.classes) {
            let page = LogicalPage(turn.map.logical[from.0 as usize]);
            self.select(classes.of_moved(page, turn.clock));
        }
        *self.frontier(kind)
    }
}
