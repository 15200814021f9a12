//! How often blocks were erased.

/// Erases per block, over all blocks of a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wear {
    /// Ascending pairs: a number of erases, and how many blocks were erased so often.
    pub blocks_by_erases: Vec<(u32, u32)>,
    /// Blocks that reached their endurance and are used no more.
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

/// How many blocks of a pool were erased how often: knows the least at any time.
#[derive(Debug, Clone)]
pub(super) struct LeastErases {
    blocks: Vec<u32>,
    least: usize,
}

impl LeastErases {
    pub(super) fn new(blocks: u32) -> LeastErases {
        LeastErases { blocks: vec![blocks], least: 0 }
    }

    /// Erases of the least worn block that is in use.
    pub(super) fn get(&self) -> u32 {
        self.least as u32
    }

    /// A block that was erased `erases` times before is erased once more; a retired one is then out of use.
    pub(super) fn count(&mut self, erases: u32, retires: bool) {
        let erases = erases as usize;
        if self.blocks.len() == erases + 1 {
            self.blocks.push(0);
        }
        self.blocks[erases] -= 1;
        if !retires {
            self.blocks[erases + 1] += 1;
        }
        while self.blocks[self.least] == 0 && self.least + 1 < self.blocks.len() {
            self.least += 1;
        }
    }
}
