//! What is still under way in each block.

use super::slab::{NONE, Slab};

/// No page of a block is being programmed.
const NO_PAGE: u16 = u16::MAX;

#[derive(Debug, Clone, Copy)]
struct BlockInTime {
    /// Erases that were issued, of which the last bits say which programs belong to today's content.
    generation: u16,
    /// Programs of this generation that are not complete, and the first page among them.
    programs: u16,
    first: u16,
    /// The gate of the next erase.
    gate: u32,
}

/// The operations that an erase waits for: reads of the host from its block, and programs of pages that were moved out
/// of it.
#[derive(Debug, Clone, Copy)]
struct Gate {
    waits_for: u32,
    /// The erase, as soon as it is issued.
    erase: u32,
}

/// All blocks: 12 bytes for each.
pub(super) struct Blocks {
    blocks: Vec<BlockInTime>,
    gates: Slab<Gate>,
}

impl Blocks {
    pub(super) fn new(blocks: usize) -> Self {
        let idle = BlockInTime { generation: 0, programs: 0, first: NO_PAGE, gate: NONE };
        Blocks { blocks: vec![idle; blocks], gates: Slab::new() }
    }

    /// A program of a page is issued. Says which generation it belongs to.
    #[inline]
    pub(super) fn issue_program(&mut self, block: u32, page: u16) -> u16 {
        let block = &mut self.blocks[block as usize];
        if block.programs == 0 {
            block.first = page;
        }
        block.programs += 1;
        block.generation
    }

    /// A program is complete. Those of a block are in ascending order.
    #[inline]
    pub(super) fn complete_program(&mut self, block: u32, page: u16, generation: u16) {
        let block = &mut self.blocks[block as usize];
        if block.generation != generation {
            return;
        }
        block.programs -= 1;
        block.first = if block.programs == 0 { NO_PAGE } else { page + 1 };
    }

    /// Returns whether the program of a page that was programmed is not complete.
    #[inline]
    pub(super) fn is_in_flight(&self, block: u32, page: u16) -> bool {
        page >= self.blocks[block as usize].first
    }

    /// Something holds up the next erase of a block. Says at which gate.
    #[inline]
    pub(super) fn hold(&mut self, block: u32) -> u32 {
        let gate = &mut self.blocks[block as usize].gate;
        if *gate == NONE {
            *gate = self.gates.insert(Gate { waits_for: 0, erase: NONE });
        }
        self.gates[*gate].waits_for += 1;
        *gate
    }

    /// An operation that held up an erase is over. Returns the erase that may begin, if one was issued and nothing else
    /// holds it up.
    #[inline]
    pub(super) fn release(&mut self, gate: u32) -> Option<u32> {
        let entry = &mut self.gates[gate];
        entry.waits_for -= 1;
        if entry.waits_for > 0 || entry.erase == NONE {
            return None;
        }
        let erase = entry.erase;
        self.gates.remove(gate);
        Some(erase)
    }

    /// An erase is issued. Says whether it has to wait at its gate.
    pub(super) fn issue_erase(&mut self, block: u32, erase: u32) -> bool {
        let block = &mut self.blocks[block as usize];
        block.generation = block.generation.wrapping_add(1);
        block.programs = 0;
        block.first = NO_PAGE;
        let gate = std::mem::replace(&mut block.gate, NONE);
        if gate == NONE {
            return false;
        }
        let entry = &mut self.gates[gate];
        if entry.waits_for == 0 {
            self.gates.remove(gate);
            return false;
        }
        entry.erase = erase;
        true
    }
}

#[cfg(test)]
mod tests {
    /// With the 10 bytes a page of the counting drive, a block of 64 pages takes 10.2 bytes a page.
    #[test]
    fn a_block_in_time_takes_12_bytes() {
        assert_eq!(size_of::<super::BlockInTime>(), 12);
    }
}
