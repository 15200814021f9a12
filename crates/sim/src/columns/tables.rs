//! Columns of the tables that Python makes: of what the engine counts, of what programs and servers did while they ran.

use super::{Column, columns};
use crate::{Row, ServeRow, SsdRow};

/// Declares the columns of a table, as `columns!` does those of a row.
macro_rules! table {
    (
        $(#[doc = $about:literal])+
        $table:ident {
            $( $(#[doc = $doc:literal])* $name:ident: $value:ty $(= $from:ident)?, )+
        }
    ) => {
        $(#[doc = $about])+
        pub(super) const $table: &[Column] = &[$(
            columns!(@column [$name] [$value] [$($doc),*] [$($from)?]),
        )+];
    };
}

table! {
    /// `locality`: how the references of a trace lie on its pages, a row per ranking and operation.
    LOCALITY_SUMMARY {
        trace: String = Row,
        page_bytes: u64 = Row,
        /// What pages are ranked by: `recency` or `frequency`.
        ranking: String,
        /// References that count: `all`, `read` or `write`.
        op: String,
        /// References of the operation.
        references: u64,
        /// Distinct pages referenced.
        pages: u64,
        /// References to pages referenced before.
        re_references: u64,
        /// Share of the references to the first 1, 10 or 100 ranks.
        top_1_share: Option<f64>,
        /// Share of the references to the first 1, 10 or 100 ranks.
        top_10_share: Option<f64>,
        /// Share of the references to the first 1, 10 or 100 ranks.
        top_100_share: Option<f64>,
        /// Share of the references to the first 1 or 10 % of the ranks.
        top_1_percent_share: Option<f64>,
        /// Share of the references to the first 1 or 10 % of the ranks.
        top_10_percent_share: Option<f64>,
        /// Share of the re-references that inversions displace.
        inversion_share: Option<f64>,
        /// Ranks within inverted ranges.
        inverted_ranks: u64,
        skipped_requests: u64 = Row,
    }
}

table! {
    /// `locality --rows ranks`: a row per rank.
    LOCALITY_RANKS {
        trace: String = Row,
        page_bytes: u64 = Row,
        /// What pages are ranked by: `recency` or `frequency`.
        ranking: String,
        /// References that count: `all`, `read` or `write`.
        op: String,
        /// The rank, from 1.
        rank: u64,
        /// References to pages while they had the rank.
        references: u64,
        /// These over all references made while a page had the rank.
        re_reference_probability: Option<f64>,
        skipped_requests: u64 = Row,
    }
}

table! {
    /// `locality --rows inversions`: a row per range of ranks with more references than better ones.
    LOCALITY_INVERSIONS {
        trace: String = Row,
        page_bytes: u64 = Row,
        /// What pages are ranked by: `recency` or `frequency`.
        ranking: String,
        /// References that count: `all`, `read` or `write`.
        op: String,
        /// First and last rank of the range.
        first_rank: u64,
        /// First and last rank of the range.
        last_rank: u64,
        /// References to its ranks.
        references: u64,
        /// How far its ranks lie above their mean, summed.
        displaced_references: f64,
        /// These over all re-references.
        displaced_share: Option<f64>,
        skipped_requests: u64 = Row,
    }
}

table! {
    /// `locality --rows miss-curve`: LRU at each memory size.
    LOCALITY_MISS_CURVE {
        trace: String = Row,
        frames: u64 = Row,
        page_bytes: u64 = Row,
        device: String = Row,
        references: u64 = Row,
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
        read_ios: u64 = Row,
        /// Pages written to the device: dirty evictions and the final flush.
        write_ios: u64,
        io_time_us: f64 = Row,
        footprint_pages: u64 = Row,
        memory_share: f64 = Row,
        misses_standard_error: Option<f64> = Row,
        write_ios_standard_error: Option<f64> = Row,
        skipped_requests: u64 = Row,
    }
}

table! {
    /// `locality --rows working-set`: Denning's working set, a row per operation and window.
    LOCALITY_WORKING_SET {
        trace: String = Row,
        page_bytes: u64 = Row,
        /// References that count: `all`, `read` or `write`.
        op: String,
        /// Window, in references.
        window_references: u64,
        /// Pages of the working set, the mean over the trace.
        mean_pages: f64,
        skipped_requests: u64 = Row,
    }
}

table! {
    /// `locality --rows recency`: other pages between two references to a page, by what the later one does.
    LOCALITY_RECENCY {
        trace: String = Row,
        page_bytes: u64 = Row,
        /// Other pages referenced in between.
        recency_pages: u64,
        /// Later references that read.
        read_references: u64,
        /// Later references that write.
        write_references: u64,
        skipped_requests: u64 = Row,
    }
}

table! {
    /// `locality --rows intervals`: a row per interval of a trace.
    LOCALITY_INTERVALS {
        trace: String = Row,
        page_bytes: u64 = Row,
        /// Number of the interval, from 0, with `--every`; an interval without references has no row.
        interval: u64,
        /// References before the interval.
        from_reference: u64,
        from_us: Option<f64> = Row,
        /// References of the interval.
        references: u64,
        /// References of the interval that read.
        read_references: u64,
        /// References of the interval that write.
        write_references: u64,
        /// Distinct pages referenced.
        pages: u64,
        /// Distinct pages written.
        written_pages: u64,
        /// Pages referenced for the first time.
        new_pages: u64,
        skipped_requests: u64 = Row,
    }
}

table! {
    /// `locality --rows window`: what windows of CFLRU would save, a row per position of an LRU list.
    LOCALITY_WINDOW {
        trace: String = Row,
        page_bytes: u64 = Row,
        device: String = Row,
        frames: u64 = Row,
        /// Place on the LRU list, 1 the most recent; in `benefit_us` the window size.
        position: u64,
        /// Share of the pages that came to this position and were referenced again.
        future_reference_probability: Option<f64>,
        /// What a window of this size would save, in microseconds.
        benefit_us: Option<f64>,
        /// The smallest window that saves most, 0 if none does.
        predicted_window: u64,
    }
}

table! {
    /// `simulate --gauges`: the values by which policies adapt, a row per sample of one value.
    GAUGES {
        trace: String = Row,
        policy: String = Row,
        policy_resolved: String = Row,
        frames: u64 = Row,
        page_bytes: u64 = Row,
        /// Misses so far.
        fault: u64,
        /// Frames examined so far in searches for victims.
        hand_movements: u64,
        /// Name of the value.
        gauge: String,
        /// The value.
        value: f64,
    }
}

table! {
    /// `recommend`: the question as asked and its variations, a row each.
    SITUATIONS {
        trace: String = Row,
        device: String = Row,
        page_bytes: u64 = Row,
        /// What differs from the question; `as asked` in the first row.
        situation: String,
        frames: u64 = Row,
        memory_share: f64 = Row,
        /// A write's time over a read's.
        write_read_ratio: f64,
        /// The recommended policy.
        recommended: String,
        /// Its I/O time in microseconds.
        recommended_io_time_us: f64,
        /// The policy with the least I/O time.
        best: String,
        /// Its I/O time in microseconds.
        best_io_time_us: f64,
        /// CLOCK's I/O time in microseconds.
        clock_io_time_us: f64,
        /// Lower bound of any I/O time, in microseconds.
        bound_io_time_us: Option<f64>,
        /// The answer in sentences, in the first row.
        answer: Option<String>,
    }
}

table! {
    /// Wear of the drives of `ssd`, a row per number of erases.
    SSD_WEAR {
        trace: String = SsdRow,
        buffer: String = SsdRow,
        buffer_pages: u64 = SsdRow,
        ssd: String = SsdRow,
        /// A number of erases.
        erases: u64,
        /// Blocks erased that often.
        blocks: u64,
    }
}

table! {
    /// Latencies of timed runs by their length, a row per class of an operation.
    SSD_CLASSES {
        trace: String = SsdRow,
        buffer: String = SsdRow,
        buffer_pages: u64 = SsdRow,
        ssd: String = SsdRow,
        arrivals: String = SsdRow,
        /// The longest latency of the class, in microseconds.
        most_us: f64,
        /// What requests do: `read` or `write`.
        op: String,
        /// Requests.
        requests: u64,
        /// Their waits in the queue of the host, summed, in microseconds.
        host_us: f64,
        /// Their time in the front end.
        front_us: f64,
        /// Their waits for a place in the buffer.
        buffer_us: f64,
        /// Their waits for garbage collection.
        collection_us: f64,
        /// Their waits for other work of the die.
        flash_us: f64,
        /// Time of the operations themselves.
        service_us: f64,
        /// The longest latency, in microseconds.
        longest_us: f64,
    }
}

table! {
    /// Timed runs over time, a row per stretch of equal length and operation.
    SSD_MOMENTS {
        trace: String = SsdRow,
        buffer: String = SsdRow,
        buffer_pages: u64 = SsdRow,
        ssd: String = SsdRow,
        arrivals: String = SsdRow,
        /// Start of the stretch, in microseconds.
        begins_us: f64,
        /// Pages that the buffer wrote to flash.
        host_writes: u64,
        /// Pages moved by garbage collection.
        relocations: u64,
        /// Blocks erased.
        erases: u64,
        /// What requests do: `read` or `write`.
        op: String,
        /// Requests.
        requests: u64,
        /// Their waits in the queue of the host, summed, in microseconds.
        host_us: f64,
        /// Their time in the front end.
        front_us: f64,
        /// Their waits for a place in the buffer.
        buffer_us: f64,
        /// Their waits for garbage collection.
        collection_us: f64,
        /// Their waits for other work of the die.
        flash_us: f64,
        /// Time of the operations themselves.
        service_us: f64,
        /// The longest latency, in microseconds.
        longest_us: f64,
    }
}

table! {
    /// How busy the parts of a drive were in timed runs.
    SSD_PARTS {
        trace: String = SsdRow,
        buffer: String = SsdRow,
        buffer_pages: u64 = SsdRow,
        ssd: String = SsdRow,
        arrivals: String = SsdRow,
        /// The part: a channel or a die.
        part: String,
        /// Its busy share of the run.
        utilisation: f64,
    }
}

table! {
    /// `recommend --ssd`: what is best at each size of a write buffer.
    BUFFER_SIZES {
        trace: String = SsdRow,
        ssd: String = SsdRow,
        buffer_pages: u64 = SsdRow,
        /// Bytes of the buffer.
        buffer_bytes: u64,
        /// The buffer that writes the fewest pages to flash.
        best: String,
        /// Pages that it writes.
        host_writes: u64,
        /// The next best buffer that writes more, or else any other one.
        next_best: Option<String>,
        /// Pages that it writes.
        next_best_host_writes: Option<u64>,
        /// Pages that LRU writes.
        lru_host_writes: Option<u64>,
        /// The buffer with the fewest erases.
        fewest_erases: Option<String>,
        /// Its erases.
        erases: Option<u64>,
        /// The buffer whose writes have the lowest 99th percentile of latency, in timed runs.
        shortest_write_p99: Option<String>,
        /// That percentile.
        write_p99_us: Option<f64>,
        /// The buffer with which the drive lives longest.
        longest_life: Option<String>,
        /// That life in years.
        life_years: Option<f64>,
        /// True if no smaller buffer writes as few pages.
        is_on_frontier: bool,
        /// True where the curve of the frontier bends most.
        is_knee: bool,
        /// The recommended buffer, at its size.
        recommended: Option<String>,
        /// The answer in sentences, in the first row.
        answer: Option<String>,
    }
}

table! {
    /// `run`: a row per process, the first one first. Counts that `simulate` also has bear its names.
    RUN {
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
        /// Median, 90th and 99th percentile of the time of a fault.
        fault_us_p50: Option<f64>,
        /// Median, 90th and 99th percentile of the time of a fault.
        fault_us_p90: Option<f64>,
        /// Median, 90th and 99th percentile of the time of a fault.
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
        /// Bytes of its memory that were not paged.
        unpaged_bytes: Option<u64>,
    }
}

table! {
    /// What a pager counted while a program ran, a row per moment and process; counts are since the process began.
    RUN_SAMPLES {
        /// Since the start.
        seconds: f64,
        /// Number of the process in the log of references.
        stream: u64,
        /// The kernel's number of the process.
        process: i64,
        /// Name of the program.
        name: String,
        /// References that the pager saw.
        references: u64,
        /// References to pages that were not in memory.
        misses: u64,
        /// References to pages in memory whose bit was clear.
        minor_faults: u64,
        /// Writes to pages in memory that were mapped read-only.
        write_protect_faults: u64,
        /// Pages read from swap.
        pages_read: u64,
        /// Pages written to swap.
        pages_written: u64,
        /// Pages in memory at the moment.
        resident_pages: u64,
    }
}

table! {
    /// The values by which a policy adapted while a program ran, a row per moment, process and value.
    RUN_GAUGES {
        /// Since the start.
        seconds: f64,
        /// Number of the process in the log of references.
        stream: u64,
        /// Name of the value.
        gauge: String,
        /// The value.
        value: f64,
    }
}

table! {
    /// `run --compare`: a row per contender and run.
    COMPARISON {
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
        /// Requests that the drive of the swap file completed during the run, of any program; none if its file system
        /// has no drive.
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
    COMPARISON_SAMPLES {
        /// The policy as the user wrote it; `kernel` is the kernel's own swap.
        policy: String,
        /// Since the start.
        seconds: f64,
        /// The pager's misses and the kernel's major faults.
        faults: u64,
        /// Pages read from swap.
        pages_read: u64,
        /// Pages written to swap.
        pages_written: u64,
    }
}

table! {
    /// What a server did over time: counts since its start.
    SERVE_SAMPLES {
        /// Since the start.
        seconds: f64,
        read_requests: u64 = ServeRow,
        write_requests: u64 = ServeRow,
        flushes: u64 = ServeRow,
        read_bytes: u64 = ServeRow,
        written_bytes: u64 = ServeRow,
        references: u64 = ServeRow,
        read_hits: u64 = ServeRow,
        write_hits: u64 = ServeRow,
        host_writes: u64 = ServeRow,
        batches: u64 = ServeRow,
        nvm_writes: u64 = ServeRow,
        /// Pages in DRAM and in NVM at the moment.
        dram_pages_used: u64,
        /// Pages in DRAM and in NVM at the moment.
        nvm_pages_used: Option<u64>,
        /// Pages of NVM in the buffer.
        nvm_pages: Option<u64>,
        /// Dirty pages in the buffer.
        dirty_pages: u64,
        /// Pages that the disk refused.
        held_pages: u64,
        /// Free slots of the NVM file.
        free_slots: Option<u64>,
        /// 99th percentile of the latency of reads, writes and flushes in the second before.
        read_us_p99: Option<f64>,
        /// 99th percentile of the latency of reads, writes and flushes in the second before.
        write_us_p99: Option<f64>,
        /// 99th percentile of the latency of reads, writes and flushes in the second before.
        flush_us_p99: Option<f64>,
    }
}
