//! What is reported of each physical operation.

use super::geometry::{Block, LogicalPage, PhysicalPage};

/// Receives each operation on the flash memory, in the order in which the drive performs them.
///
/// Every method does nothing by default: a listener that only counts costs nothing more than its counts, and one
/// with time sees where each operation happens.
pub trait FlashOperations {
    /// The host's page `holds` is programmed into `to`.
    fn program(&mut self, _to: PhysicalPage, _holds: LogicalPage) {}

    /// Collection reads `from` and programs it into `to`.
    fn relocate(&mut self, _from: PhysicalPage, _to: PhysicalPage, _holds: LogicalPage) {}

    /// A block is erased.
    fn erase(&mut self, _block: Block) {}

    /// The host reads `from`.
    fn read(&mut self, _from: PhysicalPage, _holds: LogicalPage) {}
}

/// Counts of what the host requested and what the flash memory did. Unit: pages, except for erases, which are blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Pages that the host wrote.
    pub host_writes: u64,
    /// Pages that the host read and that are on flash.
    pub host_reads: u64,
    /// Valid pages that collection and wear levelling moved.
    pub relocations: u64,
    /// Blocks that were erased.
    pub erases: u64,
}

impl Counters {
    /// Pages programmed: the host's and the relocated ones.
    pub fn flash_programs(&self) -> u64 {
        self.host_writes + self.relocations
    }

    /// Pages read from flash: the host's and the relocated ones.
    pub fn flash_reads(&self) -> u64 {
        self.host_reads + self.relocations
    }

    /// Pages programmed per page written by the host (WAF); none if the host wrote nothing.
    pub fn write_amplification(&self) -> Option<f64> {
        (self.host_writes > 0).then(|| self.flash_programs() as f64 / self.host_writes as f64)
    }

    /// Whether any block was collected. If not, the write amplification is 1 and says nothing of the drive's old age.
    pub fn collection_started(&self) -> bool {
        self.erases > 0
    }
}

impl FlashOperations for Counters {
    #[inline]
    fn program(&mut self, _to: PhysicalPage, _holds: LogicalPage) {
        self.host_writes += 1;
    }

    #[inline]
    fn relocate(&mut self, _from: PhysicalPage, _to: PhysicalPage, _holds: LogicalPage) {
        self.relocations += 1;
    }

    #[inline]
    fn erase(&mut self, _block: Block) {
        self.erases += 1;
    }

    #[inline]
    fn read(&mut self, _from: PhysicalPage, _holds: LogicalPage) {
        self.host_reads += 1;
    }
}
