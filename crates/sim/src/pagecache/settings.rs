//! The options of `pagecache`, as users write them, and the experiment that they make.

use super::{FirstTouch, Flusher, PageCacheExperiment, PageCacheOptions, ReadAhead, ZeroClean};
use crate::contestant::Contestant;
use crate::error::SimError;
use crate::memory_size::{MemorySize, parse_page_bytes};
use crate::options::{Domain, options};
use clockhand_trace::TraceInput;

options! {
    /// Options of `pagecache`, beside traces and threads.
    pub struct PageCacheSettings {
        grid of "policies";
        /// Device of the files; if not given, that of --device, which is for anonymous pages.
        ///
        /// Device of the files; ``device`` if not given.
        file_device: Option<String> = Domain::Device;
        /// zero: the first reference to anonymous memory reads nothing; read: every miss on it reads, as in simulate.
        ///
        /// ``"zero"``, or ``"read"`` if every miss on anonymous memory reads.
        first_touch: String = Domain::Text, "zero";
        /// drop: an anonymous page that was never written is zero again when it comes back; read: it is read.
        ///
        /// ``"drop"``: an anonymous page that was never written is zero again when it comes back; ``"read"``: it is
        /// read.
        zero_clean: String = Domain::Text, "drop";
        /// Run a flusher at multiples of this many seconds of trace time (5s) or references (1000r).
        ///
        /// Interval of the flusher: ``"5s"`` of trace time or ``"1000r"`` references; no flusher if not given.
        flush_every: Option<String> = Domain::Text;
        /// The flusher writes pages of files that became dirty at least this long ago; 0 if not
        /// given.
        ///
        /// Least time that a page of a file has been dirty when it is written, in the same unit; 0 if not
        /// given.
        flush_age: Option<String> = Domain::Text;
        /// The flusher leaves at most this share of the frames dirty, such as 1/4 or 20%.
        ///
        /// The share of the frames that dirty pages of files may have after a run of the flusher, such as ``"1/4"``;
        /// no limit if not given.
        dirty_limit: Option<String> = Domain::Number;
        /// none; file:MIN-MAX pages after those that a call reads; swap:N slots around one that is read; both with a
        /// comma. Linux 2.4: file:3-31,swap:8.
        ///
        /// ``"none"``, or ``"file:MIN-MAX"`` and ``"swap:N"`` with a comma between.
        read_ahead: String = Domain::Text, "none";
        /// Write dirty pages, of files and of memory, when the trace ends.
        flush_at_end: bool = Domain::Flag;
        /// Write every page that one run reads and writes to this file: a trace, or FILE.iolog for fio. Calls past the
        /// cache (O_DIRECT) are not in it.
        ///
        /// A file that gets every page that the run reads and writes, in order, as a trace in the format of its ending
        /// (``.iolog`` for fio), without calls past the cache; of one trace, policy and memory size.
        io_log: Option<String> = Domain::File;
        /// Seed of policies with random choices, from 0.
        seed: u64 = Domain::Whole { least: 0, most: u64::MAX }, "0";
    }
}

impl PageCacheSettings {
    /// The experiment.
    ///
    /// # Errors
    ///
    /// A sentence that names the option and what it takes.
    pub fn experiment(
        &self,
        traces: Vec<TraceInput>,
        jobs: Option<usize>,
    ) -> Result<PageCacheExperiment, SimError> {
        Ok(PageCacheExperiment {
            traces,
            policies: Contestant::parse_all(&self.policy)?,
            seed: self.seed,
            sizes: MemorySize::parse_either(self.frames.as_deref(), self.memory.as_deref())?,
            page_bytes: parse_page_bytes(&self.page_size)?,
            device: self.device.clone(),
            file_device: self.file_device.clone(),
            options: PageCacheOptions {
                first_touch: FirstTouch::parse(&self.first_touch)?,
                zero_clean: ZeroClean::parse(&self.zero_clean)?,
                flusher: Flusher::parse(
                    self.flush_every.as_deref(),
                    self.flush_age.as_deref(),
                    self.dirty_limit.as_deref(),
                )?,
                read_ahead: ReadAhead::parse(&self.read_ahead)?,
                flush_at_end: self.flush_at_end,
            },
            intervals: self.intervals()?,
            io_log: self.io_log.clone(),
            jobs,
        })
    }
}
