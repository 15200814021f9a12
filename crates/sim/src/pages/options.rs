//! The options of `simulate`, as users write them, and the experiment that they make. An option is added here, and read
//! where it acts.

use clockhand_quantity::option;
use std::num::NonZeroU64;

use super::PagesSample;
use crate::contestant::{Contestant, Effort};
use crate::error::SimError;
use crate::intervals::Intervals;
use crate::memory_size::{MemorySize, parse_page_bytes};
use crate::options::{Domain, choose, options};
use crate::replay::{Bits, ReplayOptions, WriteMiss};
use clockhand_trace::TraceInput;

options! {
    /// Options of `simulate`, beside traces and threads.
    pub struct PagesOptions {
        grid of "policies_and_bounds";
        /// exact: every hit sets its bit; mapped: hits show by faults, as in real memory; sensed: the policy finds them
        /// only when it looks.
        ///
        /// ``"exact"``, or ``"mapped"`` or ``"sensed"`` for what real memory shows of references.
        bits: String = Domain::Word { words: &["exact", "mapped", "sensed"] }, "exact";
        /// fetch: a write fault reads the page; blind: it reads nothing.
        ///
        /// ``"fetch"``, or ``"blind"`` if a write fault reads nothing.
        write_miss: String = Domain::Word { words: &["fetch", "blind"] }, "fetch";
        /// Keep this many frames free for write-backs under way; the policy has the rest.
        ///
        /// Frames of each memory size that are kept free for write-backs under way, as a pager does. Policies and
        /// ``bound`` have the rest, at least one. The rows' ``frames`` include them.
        reserve: u32 = Domain::Whole { least: 0, most: u32::MAX as u64 }, "0";
        /// Write dirty pages when the trace ends.
        flush_at_end: bool = Domain::Flag;
        /// About how many seconds bound and opt-feasible may take per memory size; 2 if not given, 0 for the bound that
        /// needs no prices.
        ///
        /// About how many seconds ``bound`` and ``opt-feasible`` may take per memory size, from 0 to 3600; 2 if
        /// not given. Seconds stand for a number of steps, so that the result does not depend on the machine.
        bound_effort: Option<String> = Domain::Number;
        /// Count hand movements; each adds this many ns to the I/O time.
        ///
        /// Software overhead: nanoseconds that each hand movement adds to the I/O time. If given, also 0, hand
        /// movements are counted, which takes longer: the frames that a policy examines while it looks for a victim.
        hand_ns: Option<u64> = Domain::Whole { least: 0, most: u64::MAX };
        /// With --bits mapped: ns that each permission fault, by which a hit is seen, adds to the I/O time.
        ///
        /// With ``bits="mapped"``: nanoseconds that each permission fault, by which a hit is seen, adds to the I/O
        /// time.
        fault_ns: Option<u64> = Domain::Whole { least: 0, most: u64::MAX };
        /// Sample the gauges after this many faults; 1 if not given.
        ///
        /// Faults between two samples of the values that policies adapt, from the first fault on.
        gauge_every: Option<u64> = Domain::Whole { least: 1, most: u64::MAX };
        /// Write every page that one run reads and writes to this file: a trace, or FILE.iolog for fio.
        ///
        /// A file that gets every page that the run reads from and writes to the device, in order, as a trace in the
        /// format of its ending (``.iolog`` for fio); of one trace, policy and memory size.
        io_log: Option<String> = Domain::File;
        /// Estimate from this share of the pages, such as 1%, with standard errors; auto:1% takes the least that keeps
        /// the error of the I/O time below 1%.
        ///
        /// Estimate from samples of the pages, with standard errors in the columns that end in ``_standard_error``. A
        /// float above 0 and up to 1, or text (``"1%"``), is a rate; a whole number from 32 is the number of pages to
        /// follow. With ``"auto:1%"`` each cell takes the least sample with a standard error of its I/O time below 1
        /// %.
        sample: Option<String> = Domain::Number;
        /// Seed of policies with random choices, and of samples, from 0.
        seed: u64 = Domain::Whole { least: 0, most: u64::MAX }, "0";
    }
}

/// What to simulate. Rows come in the order trace, memory size, policy, each as given, duplicates kept.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The traces.
    pub traces: Vec<TraceInput>,
    /// The policies, the bound among them.
    pub policies: Vec<Contestant>,
    /// Seed of policies that draw random numbers.
    pub seed: u64,
    /// The memory sizes.
    pub sizes: Vec<MemorySize>,
    /// Page size in bytes, a power of two.
    pub page_bytes: u64,
    /// The device as the user wrote it.
    pub device: String,
    /// Options of the replay.
    pub options: ReplayOptions,
    /// The effort that narrows the bracket of the optimum, unless a policy sets its own.
    pub bound_effort: Effort,
    /// Of the frames of each cell, those that are kept free for write-backs under way: the policy has the rest.
    pub reserve: u32,
    /// Observations during the replay; `None` is faster.
    pub observation: Option<Observation>,
    /// Cost of a permission fault, in nanoseconds of I/O time; only mapped bits cause such faults.
    pub fault_ns: u64,
    /// Which pages are followed; all of them if `None`.
    pub sample: Option<PagesSample>,
    /// From where counts are taken, and whether for each interval too.
    pub intervals: Intervals,
    /// Where every page is logged that is read or written; of one cell.
    pub io_log: Option<String>,
    /// Threads; all cores if `None`.
    pub jobs: Option<usize>,
}

impl Experiment {
    /// Whether references to one page may be taken together: what begins or ends between them has to see each.
    pub(super) fn may_fold(&self) -> bool {
        self.intervals.is_off() && self.io_log.is_none()
    }

    /// The frames of each memory size on a trace of `footprint_pages` pages.
    pub(crate) fn frames(&self, footprint_pages: u32) -> impl Iterator<Item = u32> {
        self.sizes.iter().map(move |size| size.frames(footprint_pages, self.page_bytes))
    }

    /// The frames of a cell that its policy manages.
    pub(crate) fn policy_frames(&self, frames: u32) -> u32 {
        frames - self.reserve
    }

    /// Refuses a reserve that leaves the policies of some cell no frame, on a trace of at most these pages.
    pub(crate) fn check_frames(&self, footprint_pages: u32) -> Result<(), SimError> {
        let reserve = self.reserve;
        match self.frames(footprint_pages).min() {
            Some(smallest) if reserve >= smallest => Err(SimError::usage(
                option("reserve")
                    + format!(
                        " {reserve} leaves no frame to the policies in the smallest cell, whose memory is \
                         {smallest} {}",
                        if smallest == 1 { "frame" } else { "frames" }
                    ),
                format!("give a reserve below {smallest} or more memory"),
            )),
            _ => Ok(()),
        }
    }
}

/// Observations during a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Observation {
    /// Faults between two samples of the policy's gauges, from the first fault on; `None` for
    /// never.
    pub gauge_every: Option<NonZeroU64>,
    /// What a movement of the hand adds to the I/O time, in nanoseconds.
    pub hand_ns: u64,
}

impl PagesOptions {
    /// The experiment.
    ///
    /// # Errors
    ///
    /// A sentence that names the option and what it takes.
    pub fn experiment(
        &self,
        traces: Vec<TraceInput>,
        jobs: Option<usize>,
    ) -> Result<Experiment, SimError> {
        let gauge_every = self.gauge_every.and_then(NonZeroU64::new);
        let is_watched = self.hand_ns.is_some() || gauge_every.is_some();
        let observation = || Observation { gauge_every, hand_ns: self.hand_ns.unwrap_or(0) };
        let effort = self.bound_effort.as_deref();
        let options = self.replay_options()?;
        if self.fault_ns.is_some() && options.bits != Bits::Mapped {
            return Err(SimError::usage(
                option("fault-ns") + " prices the faults of " + option("bits") + " mapped",
                "give both",
            ));
        }
        Ok(Experiment {
            traces,
            policies: Contestant::parse_all(&self.policy)?,
            seed: self.seed,
            sizes: MemorySize::parse_either(self.frames.as_deref(), self.memory.as_deref())?,
            page_bytes: parse_page_bytes(&self.page_size)?,
            device: self.device.clone(),
            options,
            bound_effort: effort.map_or(Ok(Effort::default()), |effort| {
                Effort::parse(option("bound-effort") + " ", effort)
            })?,
            reserve: self.reserve,
            observation: is_watched.then(observation),
            fault_ns: self.fault_ns.unwrap_or(0),
            sample: self.sample.as_deref().map(PagesSample::parse).transpose()?,
            intervals: self.intervals()?,
            io_log: self.io_log.clone(),
            jobs,
        })
    }

    /// How references are replayed.
    ///
    /// # Errors
    ///
    /// A word is unknown.
    pub fn replay_options(&self) -> Result<ReplayOptions, SimError> {
        Ok(ReplayOptions {
            bits: choose("bits", &self.bits, Bits::WORDS)?,
            write_miss: choose("write-miss", &self.write_miss, WriteMiss::WORDS)?,
            flush_at_end: self.flush_at_end,
        })
    }
}

impl ReplayOptions {
    /// True if a miss reads the page, by what its first reference does.
    #[inline]
    pub(crate) fn fetches(self, first_is_write: bool) -> bool {
        self.write_miss == WriteMiss::Fetch || !first_is_write
    }

    /// Pages that misses read.
    pub(crate) fn fetched(self, read_misses: u64, write_misses: u64) -> u64 {
        read_misses + if self.fetches(true) { write_misses } else { 0 }
    }
}
