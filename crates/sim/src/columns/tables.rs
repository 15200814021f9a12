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
        /// References that are ranked: `all`, `read` or `write`.
        op: String,
        /// References of the operation.
        references: u64,
        /// Distinct pages that they go to.
        pages: u64,
        /// References to pages that had one before.
        re_references: u64,
        /// Share of the references to pages of rank 1.
        top_1_share: Option<f64>,
        /// Share of the references to the first 10 ranks.
        top_10_share: Option<f64>,
        /// Share of the references to the first 100 ranks.
        top_100_share: Option<f64>,
        /// Share of the references to the first 1 % of the ranks.
        top_1_percent_share: Option<f64>,
        /// Share of the references to the first 10 % of the ranks.
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
        /// References that are ranked: `all`, `read` or `write`.
        op: String,
        /// The rank, from 1.
        rank: u64,
        /// References to pages while they had the rank.
        references: u64,
        /// These over all references that were made while a page had the rank.
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
        /// References that are ranked: `all`, `read` or `write`.
        op: String,
        /// The first rank of the range.
        first_rank: u64,
        /// The last rank of the range.
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
        /// Page references that read.
        read_references: u64,
        /// Page references that write.
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
        /// References that are counted: `all`, `read` or `write`.
        op: String,
        /// The window, in references.
        window_references: u64,
        /// Pages of the working set, on average over the trace.
        mean_pages: f64,
        skipped_requests: u64 = Row,
    }
}

table! {
    /// `locality --rows recency`: other pages between two references to a page, by what the later one does.
    LOCALITY_RECENCY {
        trace: String = Row,
        page_bytes: u64 = Row,
        /// Other pages that were referenced in between.
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
        /// The number of the interval, from 0; a span of time without a reference has no row.
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
        /// Distinct pages that they go to.
        pages: u64,
        /// Distinct pages that they write.
        written_pages: u64,
        /// Pages that no reference went to before.
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
        /// Place on the LRU list, 1 the most recent; in `benefit_us` the size of the window.
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
        /// Misses until then.
        fault: u64,
        /// Frames that the searches for victims had examined until then.
        hand_movements: u64,
        /// The name of the value.
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
        /// The policy that takes the least I/O time.
        best: String,
        /// Its I/O time in microseconds.
        best_io_time_us: f64,
        /// The I/O time of CLOCK in microseconds.
        clock_io_time_us: f64,
        /// The I/O time below which no policy comes, in microseconds.
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
        /// How often blocks were erased.
        erases: u64,
        /// Blocks that were erased so often.
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
        /// Their waits for collection.
        collection_us: f64,
        /// Their waits for other work of the die.
        flash_us: f64,
        /// The time of the operations themselves.
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
        /// When the stretch begins, in microseconds.
        begins_us: f64,
        /// Pages that the buffer wrote to flash in it.
        host_writes: u64,
        /// Pages that collection moved in it.
        relocations: u64,
        /// Blocks that were erased in it.
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
        /// Their waits for collection.
        collection_us: f64,
        /// Their waits for other work of the die.
        flash_us: f64,
        /// The time of the operations themselves.
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
        /// The share of the run in which it was busy.
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
        /// The best one that writes more, or else any other one.
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
        /// That percentile in microseconds.
        write_p99_us: Option<f64>,
        /// The buffer with which the drive lives longest.
        longest_life: Option<String>,
        /// That life in years.
        life_years: Option<f64>,
        /// Whether no smaller buffer writes as few pages.
        is_on_frontier: bool,
        /// Whether the curve of the frontier bends most here.
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
        /// The number of the process in the log of references.
        stream: u64,
        /// The kernel's number of the process.
        process: i64,
        /// The name of the program.
        name: String,
        policy: String = Row,
        frames: u64 = Row,
        page_bytes: u64 = Row,
        reserve: u64 = Row,
        /// Of the frames, those that may hold pages read ahead.
        read_ahead: u64,
        /// How the pager sees references: `mapped` or `sensed`.
        bits: String,
        /// From the first page to the end.
        seconds: f64,
        /// Accesses that the pager saw: faults and sensed accesses.
        references: u64,
        /// Of these, reads.
        read_references: u64,
        /// Of these, writes.
        write_references: u64,
        /// Accesses to pages that were not in memory.
        misses: u64,
        /// Misses of reads.
        read_misses: u64,
        /// Misses of writes.
        write_misses: u64,
        /// Accesses to pages in memory whose bit was clear.
        minor_faults: u64,
        /// Writes to pages in memory that were mapped for reading.
        write_protect_faults: u64,
        /// Misses, as the simulator counts reads: pages read, filled with zeros or rescued.
        read_ios: u64,
        /// Dirty evictions and write-backs, as the simulator counts writes.
        write_ios: u64,
        /// Pages that left clean.
        clean_evictions: u64,
        /// Pages that left dirty.
        dirty_evictions: u64,
        /// Pages that were written back and stayed.
        write_backs: u64,
        /// Misses for which a page was read from swap, at the miss or ahead of it.
        pages_read: u64,
        /// Misses of pages of zeros, for which nothing is read.
        pages_zero_filled: u64,
        /// Misses of pages that had left and were still in memory.
        pages_rescued: u64,
        /// Pages written to swap.
        pages_written: u64,
        /// Dirty pages that left, or were to be written back, without a write of their own.
        pages_not_written: u64,
        /// Pages written for the private copies of forked processes.
        pages_copied_for_forks: u64,
        /// Writes that were started; one may write several pages.
        write_operations: u64,
        /// Writes that failed and were tried again.
        write_errors: u64,
        /// Bytes read from swap.
        bytes_read: u64,
        /// Bytes written to swap.
        bytes_written: u64,
        /// Pages with content in memory at the end.
        resident_pages: u64,
        /// Distinct pages that were accessed.
        footprint_pages: u64,
        /// Pages that the program gave back.
        discarded_pages: u64,
        /// Pages read before they were needed.
        pages_read_ahead: u64,
        /// Of these, pages that were never used.
        pages_read_in_vain: u64,
        /// Dirty pages that were not written because they held only zeros.
        zero_pages_not_written: u64,
        /// Reads that were started; one may read several pages.
        read_operations: u64,
        /// Accesses to pages in memory that were found by looking.
        sensed_references: u64,
        /// Bytes of the swap file.
        swap_bytes: u64,
        /// Waiting for reads from swap, in microseconds.
        read_wait_us: f64,
        /// Waiting for writes to swap, in microseconds.
        write_wait_us: f64,
        /// Serving faults, waits included, in microseconds.
        service_us: f64,
        /// Median time of a fault in microseconds.
        fault_us_p50: Option<f64>,
        /// Its 90th percentile.
        fault_us_p90: Option<f64>,
        /// Its 99th percentile.
        fault_us_p99: Option<f64>,
        /// Misses that the simulator counts on the log of the run, with `mapped` bits.
        mapped_misses: Option<u64>,
        /// Clean evictions that it counts so.
        mapped_clean_evictions: Option<u64>,
        /// Dirty evictions that it counts so.
        mapped_dirty_evictions: Option<u64>,
        /// Reads that it counts so.
        mapped_read_ios: Option<u64>,
        /// Writes that it counts so.
        mapped_write_ios: Option<u64>,
        /// Misses that the simulator counts on the log of the run, with `sensed` bits.
        sensed_misses: Option<u64>,
        /// Clean evictions that it counts so.
        sensed_clean_evictions: Option<u64>,
        /// Dirty evictions that it counts so.
        sensed_dirty_evictions: Option<u64>,
        /// Reads that it counts so.
        sensed_read_ios: Option<u64>,
        /// Writes that it counts so.
        sensed_write_ios: Option<u64>,
        /// Misses that the simulator counts on the log of the run, with `exact` bits.
        exact_misses: Option<u64>,
        /// Clean evictions that it counts so.
        exact_clean_evictions: Option<u64>,
        /// Dirty evictions that it counts so.
        exact_dirty_evictions: Option<u64>,
        /// Reads that it counts so.
        exact_read_ios: Option<u64>,
        /// Writes that it counts so.
        exact_write_ios: Option<u64>,
        policy_resolved: String = Row,
        /// Whether the process is a fork of a paged one.
        forked: bool,
        /// What ended the paging of the process before its end.
        failure: Option<String>,
        /// How a device may have written to its memory unseen by the pager.
        device_reads: Option<String>,
        /// Its memory that was not paged, in bytes.
        unpaged_bytes: Option<u64>,
    }
}

table! {
    /// What a pager counted while a program ran, a row per moment and process; counts are since the process began.
    RUN_SAMPLES {
        /// Since the start.
        seconds: f64,
        /// The number of the process in the log of references.
        stream: u64,
        /// The kernel's number of the process.
        process: i64,
        /// The name of the program.
        name: String,
        /// Accesses that the pager saw.
        references: u64,
        /// Accesses to pages that were not in memory.
        misses: u64,
        /// Accesses to pages in memory whose bit was clear.
        minor_faults: u64,
        /// Writes to pages in memory that were mapped for reading.
        write_protect_faults: u64,
        /// Pages read from swap.
        pages_read: u64,
        /// Pages written to swap.
        pages_written: u64,
        /// Pages with content in memory at the moment.
        resident_pages: u64,
    }
}

table! {
    /// The values by which a policy adapted while a program ran, a row per moment, process and value.
    RUN_GAUGES {
        /// Since the start.
        seconds: f64,
        /// The number of the process in the log of references.
        stream: u64,
        /// The name of the value.
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
        /// The number of the run, from 1.
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
        /// Requests that the drive of the swap file completed during the run, by any program; none if its file system has no drive.
        block_requests: Option<u64>,
        /// Bytes read from swap.
        bytes_read: Option<u64>,
        /// Bytes written to swap.
        bytes_written: Option<u64>,
        /// Pages that were evicted without a write, because they held only zeros.
        zero_pages_not_written: Option<u64>,
        /// The kernel's limit of its control group.
        limit_bytes: Option<u64>,
        /// Processes that ran.
        processes: Option<u64>,
        /// The program's exit code.
        exit_code: Option<u64>,
        /// The SHA-256 of what the program wrote to standard output.
        output_sha256: Option<String>,
        /// The policy with every default.
        policy_resolved: Option<String>,
        /// The reason if a run has no numbers.
        problem: Option<String>,
        /// The processes whose memory devices may have written to unseen by the pager.
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
        /// Pages in DRAM at the moment.
        dram_pages_used: u64,
        /// Pages in NVM at the moment.
        nvm_pages_used: Option<u64>,
        /// Pages of NVM in the buffer.
        nvm_pages: Option<u64>,
        /// Pages that are newer in the buffer than on the disk.
        dirty_pages: u64,
        /// Pages that the disk refused.
        held_pages: u64,
        /// Free slots of the NVM file.
        free_slots: Option<u64>,
        /// The 99th percentile of reads of the second before, in microseconds.
        read_us_p99: Option<f64>,
        /// The 99th percentile of writes of the second before, in microseconds.
        write_us_p99: Option<f64>,
        /// The 99th percentile of flushes of the second before, in microseconds.
        flush_us_p99: Option<f64>,
    }
}
