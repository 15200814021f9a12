//! The options of `translate`, as users write them, and the experiment that they make.

use clockhand_policy::Ratio;
use clockhand_quantity::option;

use super::{
    HugePages, MOST_LEVELS, MOST_PREFETCHED, Storage, TlbGeometry, TlbLevels, TranslateExperiment,
    TranslationTimes,
};
use crate::contestant::Contestant;
use crate::error::SimError;
use crate::memory_size::{MemorySize, parse_page_bytes};
use crate::options::{Domain, options};
use clockhand_trace::TraceInput;

options! {
    /// Options of `translate`, beside traces and threads.
    pub struct TranslateOptions {
        /// Page sizes, powers of two, such as 512,4KiB.
        ///
        /// Bytes, powers of two, such as ``"512,4KiB"``.
        page_size in "page_sizes": Vec<String> = Domain::List, "512,1KiB,2KiB,4KiB,8KiB,16KiB,32KiB,64KiB";
        /// ENTRIES[/WAYS][:lru|fifo|random|plru], several with commas, such as 64,64/4:plru.
        ///
        /// Entries, ways and replacement: ``"64"`` (fully associative, LRU), ``"64/4:plru"``; also ``fifo`` and
        /// ``random``. Ways must divide the entries.
        tlb: Vec<String> = Domain::List, "64";
        /// A second level, ENTRIES[/WAYS], several with commas; none for 0.
        ///
        /// A second level, such as ``"1536/12"``, replaced as the first; none for 0.
        tlb2: Vec<String> = Domain::List;
        /// Page frames, such as 64,128.
        ///
        /// Memory sizes in page frames, at least 1.
        frames: Option<String> = Domain::Sizes;
        /// Shares of the footprint or sizes, such as 5%,20%,64MiB or 1%..100%.
        ///
        /// Memory sizes as shares of the footprint (``"5%"``) or in bytes (``"64MiB"``). Give either this or
        /// ``frames``.
        memory: Option<String> = Domain::Sizes;
        /// Storage's time over memory's; 1,10,100,1000 if neither this nor --device is given.
        ///
        /// Storage's time over memory's; ``"1,10,100,1000"`` if neither this nor ``device`` is given.
        ratio in "ratios": Vec<String> = Domain::List;
        /// Storage as a device, NAME[:option=value,...] or FILE.toml; several with commas, all, or a pattern. See: clockhand
        /// devices.
        ///
        /// Storage as devices, such as ``"slc-nand"``, instead of ``ratio``.
        device in "devices": Vec<String> = Domain::Names { of: "devices" };
        /// Policy of memory, NAME[:parameter=value,...]; several with commas, all, or a pattern such as 'clock*'. See: clockhand
        /// policies.
        ///
        /// Policies of memory, such as ``"clock,craw:c=8"``.
        policy as "policies": Vec<String> = Domain::Names { of: "policies" }, "clock";
        /// Levels of the page table, from 1 to 8; x86-64 has 4.
        walk_levels: u32 = Domain::Whole { least: 1, most: MOST_LEVELS as u64 }, "1";
        /// Size of the walk cache, in upper entries of page tables.
        ///
        /// Size of the walk cache, in upper entries of page tables; replacement is LRU.
        walk_cache: u32 = Domain::Whole { least: 0, most: TlbGeometry::LIMIT_ENTRIES as u64 }, "0";
        /// SIZE[:SHARE]: a region of this size becomes one huge page when this share of its pages is in memory; all of them if not
        /// given.
        ///
        /// Size of a huge page, and the share of its pages that must be in memory for it to become one: ``"2MiB"``,
        /// ``"2MiB:1/2"``.
        huge: Option<String> = Domain::Text;
        /// Load this many pages behind a faulting one with it, up to 128.
        ///
        /// Pages behind a faulting one that are loaded with it, from 0 to 128.
        prefetch: u32 = Domain::Whole { least: 0, most: MOST_PREFETCHED as u64 }, "0";
        /// Evict nothing: when memory is full, kill the least recently referenced stream.
        ///
        /// Evict nothing; kill the least recently referenced stream.
        no_swap: bool = Domain::Flag;
        /// A request references every page it touches, not only the first.
        split: bool = Domain::Flag;
        /// Empty TLBs and walk cache when the stream changes.
        ///
        /// Empty TLBs and walk cache at a reference of another stream.
        flush_on_switch: bool = Domain::Flag;
        /// Nanoseconds of a look-up in the TLB.
        ///
        /// Nanoseconds of a look-up in the first level; decimals are exact as text.
        t_tlb: String = Domain::Number, "1";
        /// Nanoseconds of a look-up in its second level.
        t_tlb2: String = Domain::Number, "7";
        /// Nanoseconds of a memory access of 64 bytes.
        t_mem: String = Domain::Number, "50";
        /// Nanoseconds that software adds to a page fault, whatever it reads.
        ///
        /// Nanoseconds of a page fault besides moving the page.
        fixed_ns: String = Domain::Number, "0";
        /// Charge time for pages that are written back, too.
        charge_write_back: bool = Domain::Flag;
        /// Seed of policies and TLBs with random choices, from 0.
        seed: u64 = Domain::Whole { least: 0, most: u64::MAX }, "0";
    }
}

/// How many times slower than memory the SCM paper's storage is: the default, if no device is given.
const RATIOS: [&str; 4] = ["1", "10", "100", "1000"];

impl TranslateOptions {
    /// The experiment.
    ///
    /// # Errors
    ///
    /// A sentence that names the option and what it takes.
    pub fn experiment(
        &self,
        traces: Vec<TraceInput>,
        jobs: Option<usize>,
    ) -> Result<TranslateExperiment, SimError> {
        let page_sizes: Result<_, SimError> =
            self.page_size.iter().map(|text| parse_page_bytes(text)).collect();
        Ok(TranslateExperiment {
            traces,
            page_sizes_bytes: page_sizes?,
            tlbs: TlbLevels::parse_all(&self.tlb, &self.tlb2)?,
            sizes: MemorySize::parse_either(self.frames.as_deref(), self.memory.as_deref())?,
            policies: Contestant::parse_all(&self.policy)?,
            storage: self.storage()?,
            times: TranslationTimes {
                tlb_ns: exact("t-tlb", &self.t_tlb)?,
                tlb2_ns: exact("t-tlb2", &self.t_tlb2)?,
                memory_ns: exact("t-mem", &self.t_mem)?,
                fixed_ns: exact("fixed-ns", &self.fixed_ns)?,
            },
            charge_write_back: self.charge_write_back,
            walk_levels: self.walk_levels,
            walk_cache: self.walk_cache,
            huge: self.huge.as_deref().map(HugePages::parse).transpose()?,
            prefetch: self.prefetch,
            no_swap: self.no_swap,
            split: self.split,
            flush_on_switch: self.flush_on_switch,
            seed: self.seed,
            intervals: self.intervals()?,
            jobs,
        })
    }

    /// Ratios, or devices.
    fn storage(&self) -> Result<Vec<Storage>, SimError> {
        if !self.ratio.is_empty() && !self.device.is_empty() {
            return Err(SimError::usage(
                option("ratio") + " and " + option("device") + " both say what storage is",
                "give one of them",
            ));
        }
        if !self.device.is_empty() {
            return Ok(self.device.iter().cloned().map(Storage::Device).collect());
        }
        let ratio = |text: &str| exact("ratio", text).map(Storage::Ratio);
        match self.ratio.is_empty() {
            true => RATIOS.into_iter().map(ratio).collect(),
            false => self.ratio.iter().map(|text| ratio(text)).collect(),
        }
    }
}

/// An exact number that was given to the option of this name.
fn exact(name: &'static str, text: &str) -> Result<Ratio, SimError> {
    text.parse().map_err(|error| {
        SimError::usage(
            option(name) + format!(" {text:?}: {error}"),
            "give a number such as 10 or 0.5",
        )
    })
}
