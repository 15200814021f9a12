//! Columns of the tables of write buffers, simulated and served.

use super::table;
use crate::ssd::{ServeRow, SsdRow};

table! {
    /// Wear of the drives of `ssd`, a row per number of erases.
    SsdWear {
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
    SsdClasses {
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
    SsdMoments {
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
        op: String = SsdClasses,
        requests: u64 = SsdClasses,
        host_us: f64 = SsdClasses,
        front_us: f64 = SsdClasses,
        buffer_us: f64 = SsdClasses,
        collection_us: f64 = SsdClasses,
        flash_us: f64 = SsdClasses,
        service_us: f64 = SsdClasses,
        longest_us: f64 = SsdClasses,
    }
}

table! {
    /// How busy the parts of a drive were in timed runs.
    SsdParts {
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
    BufferSizes {
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
    /// What a server did over time: counts since its start.
    ServeSamples {
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
