//! One row of a result about drives. Names and order are the contract that scripts rely on.

use crate::columns::columns;

columns! {
    /// What a write buffer and a flash drive make of a trace. Everything is counted in pages of the drive, but for
    /// batches and erased blocks.
    pub struct SsdRow {
        /// The trace as the user named it.
        pub trace: String,
        /// The buffer as the user wrote it.
        pub buffer: String,
        /// Pages of the buffer, DRAM and NVM together.
        pub buffer_pages: u32,
        /// The drive as the user wrote it.
        pub ssd: String,
        /// Page references.
        pub references: u64,
        /// Reads of buffered pages.
        pub read_hits: u64,
        /// Writes to buffered pages.
        pub write_hits: u64,
        /// Pages that the buffer sent to flash because they were newer than there.
        pub dirty_pages_flushed: u64,
        /// Pages that the buffer sent to flash beside dirty ones.
        pub clean_pages_flushed: u64,
        /// How often the buffer sent pages to flash.
        pub batches: u64,
        /// Pages written to NVM.
        pub nvm_writes: u64,
        /// Pages that are newer in the buffer than on flash when the run ends.
        pub residual_dirty: u64,
        /// Pages that the buffer wrote to flash.
        pub host_writes: u64,
        /// Pages programmed on flash: those, the relocated ones and translation pages.
        pub flash_programs: u64,
        /// Blocks erased.
        pub erases: u64,
        /// Write amplification: flash_programs over host_writes; none if nothing was written.
        pub waf: Option<f64>,
        /// Page references that read.
        pub read_references: u64,
        /// Page references that write.
        pub write_references: u64,
        /// Hits over references, reads and writes.
        pub hit_ratio: f64,
        /// Write hits over write references; none if the trace writes nothing.
        pub write_hit_ratio: Option<f64>,
        /// Hits, reads and writes, of pages in NVM.
        pub nvm_hits: u64,
        /// Pages read from flash only to be written beside dirty ones.
        pub padding_reads: u64,
        /// Pages that moved from DRAM to NVM.
        pub migrations: u64,
        /// Pages that collection moved.
        pub relocations: u64,
        /// Pages read from flash, by the buffer and by collection.
        pub flash_reads: u64,
        /// Whether any block was collected; if not, waf and erases say nothing of an aged drive.
        pub collection_started: bool,
        /// Erases of the average block.
        pub erases_mean: f64,
        /// Erases of the most worn block.
        pub erases_max: u32,
        /// How often the trace can be repeated, as fast as in the run or in its steady part, before the average block reaches its endurance; none if the endurance
        /// is not known or no block was erased.
        pub life_repetitions: Option<f64>,
        /// How often it can be repeated before the most worn block reaches its endurance, if it goes on to be the most
        /// worn one.
        pub life_repetitions_first_block: Option<f64>,
        /// Years of life at the trace's rate; none if also the trace has no times, or times that a conversion made up, or
        /// the run did not become steady.
        pub life_years: Option<f64>,
        /// Drive writes per day, as the host writes them, for which the drive lasts five years.
        pub drive_writes_per_day_5_years: Option<f64>,
        /// How often the trace can be repeated before every cell of the NVM reaches its endurance, if all wear alike.
        pub nvm_life_repetitions: Option<f64>,
        /// Years of that at the trace's rate; none if also the trace has no times, or times that a conversion made up.
        pub nvm_life_years: Option<f64>,
        /// Pages of DRAM in the buffer.
        pub dram_pages: u32,
        /// Pages of NVM in the buffer.
        pub nvm_pages: u32,
        /// Bytes of a page of the drive.
        pub page_bytes: u32,
        /// Distinct pages of the trace.
        pub footprint_pages: u32,
        /// The buffer with every default.
        pub buffer_resolved: String,
        /// The drive with every option.
        pub ssd_resolved: String,
        /// How the drive was aged before.
        pub precondition: String,
        /// Where addresses beyond the drive's end go: `original`, `wrap` or `compact`.
        pub map: &'static str,
        /// Whether dirty pages were written when the trace ended.
        pub drain: bool,
        /// How often the trace was run; all counts are of all repetitions together.
        pub repetitions: u32,
        /// What was written to flash, in capacities of the drive; below 1, waf and life describe how the drive was aged.
        pub drive_writes: f64,
        /// Whether the write amplification of the last drive write differs by less than 1 % from that of the one before.
        pub is_steady: bool,
        /// Write amplification of the last drive write of a steady run, or of as many repetitions as write that much; none
        /// if the run did not become steady.
        pub steady_waf: Option<f64>,
        /// How long all reads, programs and erases of flash take one after the other, in microseconds; none if the profile lacks
        /// a time, or if the drive has an SLC region.
        pub device_busy_us: Option<f64>,
        /// Log blocks that became data blocks as they were; this and the next two are of the mappings `bast` and `fast`.
        pub switch_merges: Option<u64>,
        /// Log blocks that became data blocks once the rest of the pages was copied behind theirs.
        pub partial_merges: Option<u64>,
        /// Data blocks whose pages were copied into a new one.
        pub full_merges: Option<u64>,
        /// Look-ups of an entry of the map that was cached; this and the next four are of the mapping `dftl`.
        pub cmt_hits: Option<u64>,
        /// Look-ups of an entry that was not cached.
        pub cmt_misses: Option<u64>,
        /// Translation pages read, to look up an entry or to be programmed anew.
        pub translation_reads: Option<u64>,
        /// Translation pages programmed with new entries.
        pub translation_programs: Option<u64>,
        /// Translation pages that collection moved.
        pub translation_relocations: Option<u64>,
        /// Pages moved from the SLC region into the main region; they count as relocations too.
        pub folded_pages: Option<u64>,
        /// Blocks of the SLC region erased; they count as erases too.
        pub slc_erases: Option<u64>,
        /// Zones of which a TRIM named only a part, so that it had no effect; this and the next are of the mapping `zoned`.
        pub ignored_trims: Option<u64>,
        /// Pages that a zone took elsewhere than the host said.
        pub misplaced_writes: Option<u64>,
    }
}
