//! What one replay of a page cache counts.

use clockhand_device::Joined;

use crate::intervals::grows;

/// Counts in pages, except for the times.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PageCacheCounts {
    /// Read references that missed.
    pub read_misses: u64,
    /// Write references that missed.
    pub write_misses: u64,
    /// Anonymous pages read.
    pub anon_read_ios: u64,
    /// Anonymous pages written.
    pub anon_write_ios: u64,
    /// Pages of files read.
    pub file_read_ios: u64,
    /// Pages of files written.
    pub file_write_ios: u64,
    /// Of the anonymous pages read, those that came with another one. Each is written by itself.
    pub anon_reads_joined: Joined,
    /// Of the pages of files read, those that came with another one.
    pub file_reads_joined: Joined,
    /// Of the pages of files written, those that went with another one.
    pub file_writes_joined: Joined,
    /// Pages that left clean for others.
    pub clean_evictions: u64,
    /// Pages that were written because they left for others.
    pub dirty_evictions: u64,
    /// Misses on anonymous pages that read nothing.
    pub zero_fills: u64,
    /// Misses of writing calls that read nothing.
    pub blind_fills: u64,
    /// Pages read ahead.
    pub readahead_ios: u64,
    /// Of those, pages that left without having been referenced.
    pub readahead_unused: u64,
    /// Pages written by syncs.
    pub sync_writes: u64,
    /// Pages written by the flusher.
    pub flusher_writes: u64,
    /// Pages written that stayed, for other reasons: as the policy asked, or before O_DIRECT.
    pub early_write_backs: u64,
    /// Dirty pages that left without being written: their file was cut or deleted, or their memory freed.
    pub dropped_dirty: u64,
    /// Clean pages that left in this way.
    pub dropped_clean: u64,
    /// Pages read past the cache.
    pub direct_read_ios: u64,
    /// Pages written past the cache.
    pub direct_write_ios: u64,
    /// The most dirty pages of files at any moment.
    pub dirty_pages_peak: u64,
    /// Dirty pages of files after each reference, summed.
    pub dirty_pages_sum: u64,
    /// The largest age of a dirty page of a file, in nanoseconds or references.
    pub dirty_age_max: u64,
    /// How often a kernel reclaimed; none of other policies.
    pub reclaims: Option<u64>,
    /// Pages that a kernel's scans examined.
    pub scanned_pages: Option<u64>,
}

grows!(PageCacheCounts {
    read_misses,
    write_misses,
    anon_read_ios,
    anon_write_ios,
    file_read_ios,
    file_write_ios,
    anon_reads_joined,
    file_reads_joined,
    file_writes_joined,
    clean_evictions,
    dirty_evictions,
    zero_fills,
    blind_fills,
    readahead_ios,
    readahead_unused,
    sync_writes,
    flusher_writes,
    early_write_backs,
    dropped_dirty,
    dropped_clean,
    direct_read_ios,
    direct_write_ios,
    dirty_pages_sum,
    reclaims,
    scanned_pages,
} largest { dirty_pages_peak, dirty_age_max });

impl PageCacheCounts {
    /// Pages read into the cache.
    pub fn read_ios(&self) -> u64 {
        self.anon_read_ios + self.file_read_ios
    }

    /// Pages written from the cache.
    pub fn write_ios(&self) -> u64 {
        self.anon_write_ios + self.file_write_ios
    }
}
