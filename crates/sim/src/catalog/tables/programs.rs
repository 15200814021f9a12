//! Columns of the tables of real programs.

use super::table;
use crate::pages::Row;

table! {
    /// `run`: a row per process, the first one first. Counts that `simulate` also has bear its names.
    Run {
        /// Number of the process in the log of references.
        stream: u64,
        /// The kernel's number of the process.
        process: i64,
        /// Name of the program.
        name: String,
        policy: String = Row,
        frames: u64 = Row,
        page_bytes: u64 = Row,
        reserve: u64 = Row,
        /// Of the frames, those that may hold prefetched pages.
        read_ahead: u64,
        /// How the pager sees references: `mapped` or `sensed`.
        bits: String,
        /// From the first page to the end.
        seconds: f64,
        /// References that the pager saw: faults and sensed accesses.
        references: u64,
        /// References that read.
        read_references: u64,
        /// References that write.
        write_references: u64,
        /// References to pages that were not in memory.
        misses: u64,
        /// Misses of read references.
        read_misses: u64,
        /// Misses of write references.
        write_misses: u64,
        /// References to pages in memory whose bit was clear.
        minor_faults: u64,
        /// Writes to pages in memory that were mapped read-only.
        write_protect_faults: u64,
        /// Misses, as the simulator counts reads: pages read, zero-filled or rescued.
        read_ios: u64,
        /// Dirty evictions and write-backs, as the simulator counts writes.
        write_ios: u64,
        /// Clean pages evicted.
        clean_evictions: u64,
        /// Dirty pages evicted.
        dirty_evictions: u64,
        /// Pages written without eviction.
        write_backs: u64,
        /// Misses that read a page from swap, at the miss or ahead of it.
        pages_read: u64,
        /// Misses on pages of zeros, which read nothing.
        pages_zero_filled: u64,
        /// Misses on evicted pages that were still in memory.
        pages_rescued: u64,
        /// Pages written to swap.
        pages_written: u64,
        /// Dirty pages evicted or written back without a write of their own.
        pages_not_written: u64,
        /// Pages written for the private copies of forked processes.
        pages_copied_for_forks: u64,
        /// Writes started; one may write several pages.
        write_operations: u64,
        /// Failed writes, which were repeated.
        write_errors: u64,
        /// Bytes read from swap.
        bytes_read: u64,
        /// Bytes written to swap.
        bytes_written: u64,
        /// Pages in memory at the end.
        resident_pages: u64,
        /// Distinct pages referenced.
        footprint_pages: u64,
        /// Pages that the program freed.
        discarded_pages: u64,
        /// Pages prefetched.
        pages_read_ahead: u64,
        /// Prefetched pages that were never used.
        pages_read_in_vain: u64,
        /// Dirty pages not written because they held only zeros.
        zero_pages_not_written: u64,
        /// Reads started; one may read several pages.
        read_operations: u64,
        /// References to pages in memory that sensing found.
        sensed_references: u64,
        /// Bytes of the swap file.
        swap_bytes: u64,
        /// Waits for reads from swap.
        read_wait_us: f64,
        /// Waits for writes to swap.
        write_wait_us: f64,
        /// Time of serving faults, with their waits.
        service_us: f64,
        /// Percentiles of the time of a fault.
        fault_us_p50: Option<f64>,
        /// Percentiles of the time of a fault.
        fault_us_p90: Option<f64>,
        /// Percentiles of the time of a fault.
        fault_us_p99: Option<f64>,
        /// Counts of the simulator on the log of the run, with these bits.
        mapped_misses: Option<u64>,
        /// Counts of the simulator on the log of the run, with these bits.
        mapped_clean_evictions: Option<u64>,
        /// Counts of the simulator on the log of the run, with these bits.
        mapped_dirty_evictions: Option<u64>,
        /// Counts of the simulator on the log of the run, with these bits.
        mapped_read_ios: Option<u64>,
        /// Counts of the simulator on the log of the run, with these bits.
        mapped_write_ios: Option<u64>,
        /// Counts of the simulator on the log of the run, with these bits.
        sensed_misses: Option<u64>,
        /// Counts of the simulator on the log of the run, with these bits.
        sensed_clean_evictions: Option<u64>,
        /// Counts of the simulator on the log of the run, with these bits.
        sensed_dirty_evictions: Option<u64>,
        /// Counts of the simulator on the log of the run, with these bits.
        sensed_read_ios: Option<u64>,
        /// Counts of the simulator on the log of the run, with these bits.
        sensed_write_ios: Option<u64>,
        /// Counts of the simulator on the log of the run, with these bits.
        exact_misses: Option<u64>,
        /// Counts of the simulator on the log of the run, with these bits.
        exact_clean_evictions: Option<u64>,
        /// Counts of the simulator on the log of the run, with these bits.
        exact_dirty_evictions: Option<u64>,
        /// Counts of the simulator on the log of the run, with these bits.
        exact_read_ios: Option<u64>,
        /// Counts of the simulator on the log of the run, with these bits.
        exact_write_ios: Option<u64>,
        policy_resolved: String = Row,
        /// True if the process is a fork of a paged one.
        forked: bool,
        /// What ended the paging of the process early.
        failure: Option<String>,
        /// How a device may have written to its memory unseen by the pager.
        device_reads: Option<String>,
        /// Bytes not paged, also of programs that it started outside the pager.
        unpaged_bytes: Option<u64>,
    }
}

table! {
    /// What a pager counted while a program ran, a row per moment and process; counts are since the process began.
    RunSamples {
        /// Since the start.
        seconds: f64,
        stream: u64 = Run,
        process: i64 = Run,
        name: String = Run,
        /// References that the pager saw.
        references: u64,
        misses: u64 = Run,
        minor_faults: u64 = Run,
        write_protect_faults: u64 = Run,
        /// Pages read from swap.
        pages_read: u64,
        pages_written: u64 = Run,
        /// Pages in memory at the moment.
        resident_pages: u64,
    }
}

table! {
    /// The values by which a policy adapted while a program ran, a row per moment, process and value.
    RunGauges {
        seconds: f64 = RunSamples,
        stream: u64 = Run,
        /// Name of the value.
        gauge: String,
        /// The value.
        value: f64,
    }
}

table! {
    /// `run --compare`: a row per contender and run.
    Comparison {
        /// The policy as the user wrote it; `kernel` is the kernel's own swap.
        policy: String,
        /// Number of the run, from 1.
        run: u64,
        frames: u64 = Row,
        page_bytes: u64 = Row,
        reserve: u64 = Row,
        /// From the start of the program to its end.
        seconds: Option<f64>,
        /// Processor time of program and pager together.
        cpu_seconds: Option<f64>,
        /// The pager's misses and the kernel's major faults.
        faults: Option<u64>,
        /// Pages read from swap.
        pages_read: Option<u64>,
        /// Pages written to swap.
        pages_written: Option<u64>,
        /// Requests that the swap file's drive completed, of any program; none without a drive.
        block_requests: Option<u64>,
        /// Bytes read from swap.
        bytes_read: Option<u64>,
        /// Bytes written to swap.
        bytes_written: Option<u64>,
        /// Dirty pages not written because they held only zeros.
        zero_pages_not_written: Option<u64>,
        /// The kernel's limit of its control group.
        limit_bytes: Option<u64>,
        /// Processes that ran.
        processes: Option<u64>,
        /// The program's exit code.
        exit_code: Option<u64>,
        /// SHA-256 of the program's standard output.
        output_sha256: Option<String>,
        /// The policy with every default.
        policy_resolved: Option<String>,
        /// Why a run has no numbers.
        problem: Option<String>,
        /// Processes whose memory devices may have written to unseen by the pager.
        device_reads: Option<String>,
        /// Unpaged memory of the process that has most of it.
        unpaged_bytes: Option<u64>,
    }
}

table! {
    /// Samples of each contender's first run; counts are since its start.
    ComparisonSamples {
        policy: String = Comparison,
        seconds: f64 = RunSamples,
        /// The pager's misses and the kernel's major faults.
        faults: u64,
        pages_read: u64 = RunSamples,
        pages_written: u64 = Run,
    }
}
