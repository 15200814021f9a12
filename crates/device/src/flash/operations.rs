//! What is reported of each physical operation.

use super::geometry::{Block, LogicalPage, PhysicalPage, TranslationPage};

/// Why a page is relocated or a block erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Garbage is collected, or wear levelled.
    Collect,
    /// A log block is merged with the data block that it belongs to.
    Merge,
    /// A block of the SLC region moves into the main region.
    Fold,
    /// The host resets a zone, which only erases.
    Reset,
}

/// Receives each operation on the flash memory, in the order in which the drive decides them.
///
/// Every method does nothing by default: a listener that only counts costs nothing more than its counts, and one
/// with time sees where each operation happens and what it is for.
pub trait FlashOperations {
    /// The host's page `holds` is programmed into `to`. If a zone takes a page elsewhere than the host said, `holds` is
    /// the page that `to` is.
    fn program(&mut self, _to: PhysicalPage, _holds: LogicalPage) {}

    /// The host reads `from`.
    fn read(&mut self, _from: PhysicalPage, _holds: LogicalPage) {}

    /// The page `from` is read and programmed into `to`.
    fn relocate(
        &mut self,
        _cause: Cause,
        _from: PhysicalPage,
        _to: PhysicalPage,
        _holds: LogicalPage,
    ) {
    }

    /// A block is erased.
    fn erase(&mut self, _cause: Cause, _block: Block) {}

    /// A translation page is read because the entry of `wanted`, which the host reads, writes or trims next, is not cached.
    fn load_translation(
        &mut self,
        _from: PhysicalPage,
        _holds: TranslationPage,
        _wanted: LogicalPage,
    ) {
    }

    /// A translation page is read so that it can be programmed with new entries: its next program needs this read.
    fn read_translation(&mut self, _from: PhysicalPage, _holds: TranslationPage) {}

    /// A translation page is programmed with new entries; one that was on flash was read before. The region of the translation
    /// pages may be collected between the two.
    fn program_translation(&mut self, _to: PhysicalPage, _holds: TranslationPage) {}

    /// Collection reads a translation page and programs it elsewhere.
    fn relocate_translation(
        &mut self,
        _from: PhysicalPage,
        _to: PhysicalPage,
        _holds: TranslationPage,
    ) {
    }
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
    /// Translation pages that were read, to look up an entry or to be programmed again.
    pub translation_reads: u64,
    /// Translation pages that were programmed with new entries.
    pub translation_programs: u64,
    /// Valid translation pages that collection moved.
    pub translation_relocations: u64,
}

impl Counters {
    /// Pages programmed: the host's, the relocated ones and translation pages.
    pub fn flash_programs(&self) -> u64 {
        self.host_writes
            + self.relocations
            + self.translation_programs
            + self.translation_relocations
    }

    /// Pages read from flash: the host's, the relocated ones and translation pages.
    pub fn flash_reads(&self) -> u64 {
        self.host_reads + self.relocations + self.translation_reads + self.translation_relocations
    }

    /// Pages programmed per page written by the host (WAF); none if the host wrote nothing.
    pub fn write_amplification(&self) -> Option<f64> {
        (self.host_writes > 0).then(|| self.flash_programs() as f64 / self.host_writes as f64)
    }

    /// Returns whether any block was collected. If not, the write amplification is 1 and says nothing of the drive's
    /// old age.
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
    fn read(&mut self, _from: PhysicalPage, _holds: LogicalPage) {
        self.host_reads += 1;
    }

    #[inline]
    fn relocate(
        &mut self,
        _cause: Cause,
        _from: PhysicalPage,
        _to: PhysicalPage,
        _holds: LogicalPage,
    ) {
        self.relocations += 1;
    }

    #[inline]
    fn erase(&mut self, _cause: Cause, _block: Block) {
        self.erases += 1;
    }

    #[inline]
    fn load_translation(
        &mut self,
        _from: PhysicalPage,
        _holds: TranslationPage,
        _wanted: LogicalPage,
    ) {
        self.translation_reads += 1;
    }

    #[inline]
    fn read_translation(&mut self, _from: PhysicalPage, _holds: TranslationPage) {
        self.translation_reads += 1;
    }

    #[inline]
    fn program_translation(&mut self, _to: PhysicalPage, _holds: TranslationPage) {
        self.translation_programs += 1;
    }

    #[inline]
    fn relocate_translation(
        &mut self,
        _from: PhysicalPage,
        _to: PhysicalPage,
        _holds: TranslationPage,
    ) {
        self.translation_relocations += 1;
    }
}
