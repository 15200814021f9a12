//! What a mapping decided, beside the operations that it reported.

/// Decisions of a mapping since the drive was built or preconditioned. Those of other mappings are 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MappingCounts {
    /// Log blocks that became data blocks as they were.
    pub switch_merges: u64,
    /// Log blocks that became data blocks once the rest of the pages was copied behind theirs.
    pub partial_merges: u64,
    /// Data blocks whose pages were copied into a new one.
    pub full_merges: u64,
    /// Look-ups of an entry that was cached.
    pub cmt_hits: u64,
    /// Look-ups of an entry that was not.
    pub cmt_misses: u64,
    /// Pages that moved out of the SLC region; they count as relocations too.
    pub folded_pages: u64,
    /// Blocks of the SLC region that were erased; they count as erases too.
    pub slc_erases: u64,
    /// Zones of which a TRIM named only a part, so that it had no effect.
    pub ignored_trims: u64,
    /// Pages that a zone took elsewhere than the host said.
    pub misplaced_writes: u64,
}
