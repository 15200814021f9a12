//! The options of `filecache`, as users write them, and the experiment that they make.

use super::{
    AdmissionRule, Capacity, FileCacheCosts, FileCacheExperiment, Insert, SecondTouch, Writes,
    parse_stack_share,
};
use crate::contestant::Contestant;
use crate::error::SimError;
use crate::memory_size::parse_page_bytes;
use crate::options::{Domain, choose, options};
use clockhand_quantity::option;
use clockhand_trace::TraceInput;

options! {
    /// Options of `filecache`, beside traces and threads.
    pub struct FileCacheOptions {
        /// Blocks, shares of the footprint or sizes, such as 64, 5%,20%, 5%..100% or 64MiB; 0 admits nothing.
        ///
        /// Size of the cache: blocks (``64``, also ``0``), shares of the footprint (``"5%"``, ``"5%..100%"``) or
        /// sizes (``"64MiB"``).
        capacity, required: Option<String> = Domain::Sizes;
        /// List of always, second-touch, tinylfu, write-around, belady; all means those before belady, which knows the future
        /// and needs --policy min.
        ///
        /// Which misses enter the cache: ``"always"``, ``"second-touch"``, ``"tinylfu"``, ``"write-around"``;
        /// ``"all"`` means these. ``"belady"`` knows the future, and needs policy ``"min"``.
        admission as "admissions": Vec<String> = Domain::Names { of: "admissions" }, "always";
        /// List of NAME or NAME:parameter=value,...; all, and patterns such as c*; bound is the limit of all caches.
        /// See: clockhand policies.
        ///
        /// Names with parameters, such as ``"cflru:window_pages=8"``; ``"bound"`` is the limit of all caches.
        policy as "policies": Vec<String> = Domain::Names { of: "policies" }, "lru";
        /// List of NAME[:option=value,...] or FILE.toml; all, and patterns. See: clockhand devices.
        ///
        /// Names with options, such as ``"scm:ratio=100"``, or TOML files.
        device as "devices", required: Vec<String> = Domain::Names { of: "devices" };
        /// List of block sizes in bytes, powers of two.
        ///
        /// Bytes of a block, a power of two, or text such as ``"4KiB"``; several if wanted.
        page_size in "page_sizes": Vec<String> = Domain::List, "4KiB";
        /// second-touch: earlier references that a block needs.
        ///
        /// Earlier references that a block needs under second-touch.
        admit_after: u32 = Domain::Whole { least: 0, most: u32::MAX as u64 }, "1";
        /// second-touch: blocks that are remembered; all if not given.
        ///
        /// Blocks that second-touch remembers, dropping the oldest; all if not given.
        history: Option<u32> = Domain::Whole { least: 1, most: u32::MAX as u64 };
        /// second-touch: forget a block that enters.
        ///
        /// Forget a block that enters, under second-touch.
        forget_on_admit: bool = Domain::Flag;
        /// belady: least reuses of a block that enters; the hits that caching it needs to pay, if not given.
        ///
        /// Least number of reuses of a block that belady admits; if not given, the number of hits that caching needs
        /// to pay.
        reuse: Option<u64> = Domain::Whole { least: 1, most: u32::MAX as u64 };
        /// List of costs of inserting a block: copy (a hit, the default), half (half a hit), storage (a read of storage
        /// as fast as memory), or a device's read; all means half,copy,storage.
        ///
        /// Cost of inserting a block, one or several of ``"copy"`` (a hit, the default), ``"half"`` (half a hit),
        /// ``"storage"`` (a read of storage as fast as memory), or the read of a device. The word ``"all"`` means
        /// the three.
        insert: Vec<String> = Domain::Names { of: "readings" };
        /// Cost of inserting a block in ns, instead of --insert.
        ///
        /// Cost of inserting a block in nanoseconds, instead of ``insert``.
        insert_ns: Option<u64> = Domain::Whole { least: 0, most: 1_000_000_000_000 };
        /// Software's share of a reference to the device, in times of a hit.
        stack_share: String = Domain::Number, "0.3";
        /// Device of cached blocks; its read cost is the time of a hit.
        ///
        /// Device of cached blocks, whose read cost is the time of a hit.
        cache_device: String = Domain::Device, "scm:ratio=1";
        /// free: writes cost as much as reads, and evicting a dirty block costs nothing; cost: each block written to
        /// the device takes its write cost.
        ///
        /// ``"free"``: writes cost as much as reads, and evicting a dirty block costs nothing (the paper's rule).
        /// ``"cost"``: each block written to the device takes its write cost.
        writes: String = Domain::Word { words: &["free", "cost"] }, "free";
        /// Write dirty blocks when the trace ends.
        flush_at_end: bool = Domain::Flag;
        /// Seed of policies with random choices, from 0.
        seed: u64 = Domain::Whole { least: 0, most: u64::MAX }, "0";
    }
}

impl FileCacheOptions {
    /// The experiment.
    ///
    /// # Errors
    ///
    /// A sentence that names the option and what it takes.
    pub fn experiment(
        &self,
        traces: Vec<TraceInput>,
        jobs: Option<usize>,
    ) -> Result<FileCacheExperiment, SimError> {
        let rules: Result<_, SimError> =
            self.admission.iter().map(|name| AdmissionRule::parse(name)).collect();
        Ok(FileCacheExperiment {
            traces,
            policies: Contestant::parse_all(&self.policy)?,
            seed: self.seed,
            capacities: self.capacity.as_deref().map_or(Ok(Vec::new()), Capacity::parse)?,
            admissions: rules?,
            reuse: self.reuse,
            second_touch: SecondTouch {
                admit_after: self.admit_after,
                history: self.history,
                forget_on_admit: self.forget_on_admit,
            },
            block_sizes_bytes: self.block_sizes_bytes()?,
            devices: self.device.clone(),
            costs: self.costs()?,
            flush_at_end: self.flush_at_end,
            intervals: self.intervals()?,
            jobs,
        })
    }

    /// The block sizes in bytes.
    ///
    /// # Errors
    ///
    /// One is not a power of two.
    pub fn block_sizes_bytes(&self) -> Result<Vec<u64>, SimError> {
        self.page_size.iter().map(|text| parse_page_bytes(text)).collect()
    }

    /// What is charged beside the device.
    ///
    /// # Errors
    ///
    /// A sentence that names the option and what it takes.
    pub fn costs(&self) -> Result<FileCacheCosts, SimError> {
        let kinds = [("free", Writes::Free), ("cost", Writes::Cost)];
        Ok(FileCacheCosts {
            cache_device: self.cache_device.clone(),
            stack_share: parse_stack_share(&self.stack_share)?,
            inserts: self.inserts()?,
            writes: choose("writes", &self.writes, kinds)?,
        })
    }

    fn inserts(&self) -> Result<Vec<Insert>, SimError> {
        match (self.insert_ns, self.insert.is_empty()) {
            (Some(_), false) => Err(SimError::usage(
                option("insert")
                    + " and "
                    + option("insert-ns")
                    + " both say what inserting a block takes",
                "give one of them",
            )),
            (Some(insert_ns), true) => Ok(vec![Insert::Ns(insert_ns)]),
            (None, true) => Ok(vec![Insert::default()]),
            (None, false) => Ok(self.insert.iter().map(|text| Insert::parse(text)).collect()),
        }
    }
}
