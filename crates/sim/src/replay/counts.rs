//! How a cell is replayed, and what is counted.

use crate::intervals::grows;

/// Where read and write bits come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Bits {
    /// Every hit sets its bit: the papers' rule.
    #[default]
    Exact,
    /// As real memory shows it: the faulting access is retried and sets its own bit; after a write, reads stay
    /// unseen until the bits are cleared.
    Mapped,
    /// As real memory shows it to a policy that looks: a translation that is back says that its page was referenced,
    /// whatever the access did; a period of the policy ends with a miss, since nothing looks between misses.
    Sensed,
}

impl Bits {
    /// What options and rows call them.
    pub const WORDS: [(&'static str, Bits); 3] =
        [("exact", Bits::Exact), ("mapped", Bits::Mapped), ("sensed", Bits::Sensed)];
}

/// What a write fault reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WriteMiss {
    /// The page is fetched before it is modified.
    #[default]
    Fetch,
    /// Nothing: the page is written as a whole.
    Blind,
}

impl WriteMiss {
    /// What options and rows call them.
    pub const WORDS: [(&'static str, WriteMiss); 2] =
        [("fetch", WriteMiss::Fetch), ("blind", WriteMiss::Blind)];
}

/// The word of a value.
pub(crate) fn word_of<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    let (word, _) = words.iter().find(|(_, other)| other == value).expect("each value has a word");
    word
}

/// Options of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ReplayOptions {
    /// The source of read and write bits; access-driven policies have none.
    pub bits: Bits,
    /// What a write fault reads.
    pub write_miss: WriteMiss,
    /// Writes dirty pages when the trace ends.
    pub flush_at_end: bool,
}

/// What one replay counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counts {
    /// Read references that faulted, except those that were bypassed.
    pub read_misses: u64,
    /// Write references that faulted, except those that were bypassed.
    pub write_misses: u64,
    /// Read references to pages that were not in memory and were refused by an admission.
    pub bypassed_reads: u64,
    /// Write references to pages that were not in memory and were refused by an admission.
    pub bypassed_writes: u64,
    /// Pages read from the device.
    pub read_ios: u64,
    /// Pages that left clean.
    pub clean_evictions: u64,
    /// Pages that were written because they left.
    pub dirty_evictions: u64,
    /// Pages that were written and stayed.
    pub write_backs: u64,
    /// Pages that were written when the trace ended.
    pub flush_writes: u64,
    /// Pages that left clean because their content ended.
    pub dropped_clean: u64,
    /// Pages that left unwritten because their content ended.
    pub dropped_dirty: u64,
    /// Accesses to pages in memory that memory had to fault for, so that its bits were seen.
    pub permission_faults: u64,
}

grows!(Counts {
    read_misses,
    write_misses,
    bypassed_reads,
    bypassed_writes,
    read_ios,
    clean_evictions,
    dirty_evictions,
    write_backs,
    flush_writes,
    dropped_clean,
    dropped_dirty,
    permission_faults,
});

impl Counts {
    pub(crate) fn misses(&self) -> u64 {
        self.read_misses + self.write_misses
    }

    /// Pages written to the device.
    pub fn write_ios(&self) -> u64 {
        self.dirty_evictions + self.write_backs + self.flush_writes
    }
}
