//! Pages of several classes, each with a block of its own that is being written.

use super::{Frontier, FrontierKind, Pool, Turn};
use crate::flash::classes::Classes;
use crate::flash::error::WornOut;
use crate::flash::geometry::{Block, LogicalPage, PhysicalPage};
use crate::flash::map::Map;
use crate::flash::operations::FlashOperations;

impl Pool {
    /// From now on the host's pages are of this class.
    #[inline]
    pub(in super::super) fn select(&mut self, class: usize) {
        if class != self.class {
            self.parked[self.class] = self.host;
            self.host = std::mem::replace(&mut self.parked[class], Frontier::NONE);
            self.class = class;
        }
    }

    /// Relocates the valid pages of a full block, in page order, each to the block of its class, and erases it.
    pub(super) fn reclaim_apart<O: FlashOperations>(
        &mut self,
        block: Block,
        classes: &Classes,
        turn: &mut Turn<'_, O>,
    ) -> Result<(), WornOut> {
        let pages = turn.map.valid_pages(block);
        let clock = turn.clock;
        let class_of = |map: &Map, page: PhysicalPage| {
            classes.of_moved(LogicalPage(map.logical[page.0 as usize]), clock)
        };
        let mut of_class = vec![0_u32; self.parked.len()];
        pages.iter().for_each(|page| of_class[class_of(turn.map, *page)] += 1);
        let class = self.class;
        let lacks_room = |(class, moved): (usize, &u32)| {
            let open = if class == self.class { self.host } else { self.parked[class] };
            *moved > open.pages_left()
        };
        let opens = of_class.iter().enumerate().filter(|moved| lacks_room(*moved)).count();
        // Only a drive that lost blocks to wear has too few to relocate into.
        if self.erased.len() < opens {
            return Err(WornOut);
        }
        self.candidates.remove(block.0 - self.first.0);
        for page in pages {
            self.select(class_of(turn.map, page));
            if self.host.is_none() {
                self.host = self.open(FrontierKind::Host, turn.map);
            }
            turn.map.clear_valid(page);
            turn.move_pages(&mut 1, page, self.host);
            self.host.next += 1;
            if self.host.is_none() {
                self.close(self.host.block, turn);
                self.host = Frontier::NONE;
            }
        }
        self.select(class);
        self.erase(block, turn);
        Ok(())
    }
}
