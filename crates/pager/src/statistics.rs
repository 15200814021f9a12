//! What a pager counts. Names mean the same as in the simulator's rows.

use std::time::Duration;

use hdrhistogram::Histogram;

/// Counts of one paged memory. All counts are pages unless they say otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Accesses that were seen, each of them a fault, or sensed: the records of the reference log.
    pub references: u64,
    /// Accesses that were seen and read.
    pub read_references: u64,
    /// Accesses that were seen and wrote.
    pub write_references: u64,
    /// Accesses to pages that were not in memory.
    pub misses: u64,
    /// Misses of reads.
    pub read_misses: u64,
    /// Misses of writes.
    pub write_misses: u64,
    /// Accesses to pages in memory that had no translation: a bit was set again.
    pub minor_faults: u64,
    /// Writes to pages in memory that were mapped for reading.
    pub write_protect_faults: u64,
    /// Pages that left clean.
    pub clean_evictions: u64,
    /// Pages that left dirty.
    pub dirty_evictions: u64,
    /// Pages that were written back and stayed.
    pub write_backs: u64,
    /// Misses for which a page was read from the store, at the miss or ahead of it.
    pub pages_read: u64,
    /// Misses of pages that were never written, that held zeros when they left, or that the program had given back:
    /// nothing is read for them.
    pub pages_zero_filled: u64,
    /// Misses of pages that had left and whose content was still in memory: its write was under way, or its frame was not needed yet.
    pub pages_rescued: u64,
    /// Pages that were written to the store.
    pub pages_written: u64,
    /// Dirty pages that left, or were to be written back, without a write of their own: the program had given them
    /// back, or changed them again before they were written, or they held zeros.
    pub pages_not_written: u64,
    /// Pages that were written for the private copies of forked processes.
    pub pages_copied_for_forks: u64,
    /// Pages that the program gave back.
    pub discarded_pages: u64,
    /// Writes that were started; one may write several pages.
    pub write_operations: u64,
    /// Writes that failed, or could not be started, and were tried again.
    pub write_errors: u64,
    /// Bytes read from the store.
    pub bytes_read: u64,
    /// Bytes written to the store.
    pub bytes_written: u64,
    /// Pages with content in memory.
    pub resident_pages: u64,
    /// The most pages that ever had content in memory at the same time.
    pub peak_resident_pages: u64,
    /// Different pages that were accessed.
    pub footprint_pages: u64,
    /// Pages that were read ahead from the store.
    pub pages_read_ahead: u64,
    /// Of these, pages that were dropped without having been accessed.
    pub pages_read_in_vain: u64,
    /// Dirty pages that held only zeros when they were to be written, and so were not written. They are among
    /// `pages_not_written`, and a later miss of one is among `pages_zero_filled`.
    pub zero_pages_not_written: u64,
    /// Read operations of the store; one may read several pages.
    pub read_operations: u64,
    /// Accesses to pages in memory that were found by looking, when the policy asked for their bits.
    pub sensed_references: u64,
}

/// Where time went.
#[derive(Clone, Debug)]
pub struct Times {
    /// Waiting for reads from the store.
    pub read_wait: Duration,
    /// Waiting for writes to the store.
    pub write_wait: Duration,
    /// Serving faults, waits included.
    pub service: Duration,
    /// From the moment at which the pager learned of a fault to its answer, in nanoseconds.
    pub fault_ns: Histogram<u64>,
}

impl Default for Times {
    fn default() -> Self {
        let fault_ns =
            Histogram::new_with_bounds(100, 60_000_000_000, 2).expect("the bounds are in order");
        Times {
            read_wait: Duration::ZERO,
            write_wait: Duration::ZERO,
            service: Duration::ZERO,
            fault_ns,
        }
    }
}

impl Times {
    pub(crate) fn fault_served(&mut self, time: Duration) {
        self.service += time;
        self.fault_ns.saturating_record(time.as_nanos().try_into().unwrap_or(u64::MAX));
    }
}
