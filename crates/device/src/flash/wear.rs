//! Counts erases of blocks.

/// Erases per block, over all blocks of a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wear {
    /// Ascending pairs: a number of erases, and how many blocks were erased that often.
    pub blocks_by_erases: Vec<(u32, u32)>,
    /// Blocks that reached their endurance and are no longer used.
    pub retired_blocks: u32,
}

impl Wear {
    /// Collects the histogram of erase counts.
    pub(super) fn new(erases: impl Iterator<Item = u32>, retired_blocks: u32) -> Wear {
        let mut erases: Vec<u32> = erases.collect();
        erases.sort_unstable();
        let chunks = erases.chunk_by(|left, right| left == right);
        let blocks_by_erases = chunks.map(|chunk| (chunk[0], chunk.len() as u32)).collect();
        Wear { blocks_by_erases, retired_blocks }
    }

    /// Erases of the least worn block.
    pub fn erases_min(&self) -> u32 {
        self.blocks_by_erases.first().map_or(0, |(erases, _)| *erases)
    }

    /// Erases of the most worn block.
    pub fn erases_max(&self) -> u32 {
        self.blocks_by_erases.last().map_or(0, |(erases, _)| *erases)
    }

    /// Erases of the average block.
    pub fn erases_mean(&self) -> f64 {
        let (blocks, erases) =
            self.blocks_by_erases.iter().fold((0_u64, 0_u64), |(blocks, erases), (count, of)| {
                (blocks + u64::from(*of), erases + u64::from(*count) * u64::from(*of))
            });
        if blocks == 0 { 0.0 } else { erases as f64 / blocks as f64 }
    }
}

/// Erases of the average block of a pool, at any time.
#[derive(Debug, Clone)]
pub(super) struct MeanErases {
    erases: u64,
    blocks: u32,
}

impl MeanErases {
    pub(super) fn new(blocks: u32) -> MeanErases {
        MeanErases { erases: 0, blocks }
    }

    /// Erases of the average block in use, rounded down.
    pub(super) fn get(&self) -> u32 {
        (self.erases / u64::from(self.blocks.max(1))) as u32
    }

    /// A block is erased, for the `erases`-th time; a retired one is out of use from then on.
    pub(super) fn count(&mut self, erases: u32, retires: bool) {
        self.erases += 1;
        if retires {
            self.erases -= u64::from(erases);
            self.blocks -= 1;
        }
    }
}
