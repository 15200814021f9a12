//! A trace that is read once and simulated many times: what a sweep works with.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};

use clockhand_device::{Device, PageCost};
use clockhand_trace::{Folding, PageView};

use crate::ahead::{ahead, unless_too_large};
use crate::memory_size::check_reserve;
use crate::pages::{FinishedCell, PagesCell, PagesStudy, check_intervals, sampled};
use crate::pricing::Pricing;
use crate::study::{Means, ReadTrace, Selection, run_cells};
use crate::views::{Views, Wanted, foldings, numbering, read_at};
use crate::{Contestant, Experiment, Progress, Row, Rows, SimError, TraceInput};

/// A cell of a grid before it is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedCell {
    /// Page frames.
    pub frames: u32,
    /// The policy as the user wrote it.
    pub policy: String,
    /// The policy with every default, as its row will name it.
    pub policy_resolved: String,
}

/// The cells of a grid, in the order of its rows, and what their device is.
#[derive(Clone, Debug)]
pub struct Plan {
    /// One entry per cell.
    pub cells: Vec<PlannedCell>,
    /// The device.
    pub device: Device,
    /// What a page operation costs on it.
    pub page_cost: PageCost,
}

/// Says which cells an experiment has on a trace of `footprint_pages` pages; its traces are not looked at. Before
/// the footprint is known, it is taken to be as large as can be: then nothing is refused that some trace allows.
///
/// # Errors
///
/// A policy, a size, the reserve or the device is unusable.
pub fn plan_cells(experiment: &Experiment, footprint_pages: Option<u32>) -> Result<Plan, SimError> {
    if experiment.sample.is_some() {
        sampled::check(experiment)?;
    }
    check_intervals(experiment)?;
    let pricing = Pricing::new(&experiment.device, experiment.page_bytes)?;
    let footprint_pages = footprint_pages.unwrap_or(PageView::LIMIT_PAGES);
    check_reserve(experiment.reserve, experiment.frames(footprint_pages))?;
    let mut cells = Vec::new();
    for frames in experiment.frames(footprint_pages) {
        for contestant in &experiment.policies {
            let policy_resolved = match contestant {
                Contestant::Bound(end) | Contestant::Feasible(end) => {
                    end.resolved(experiment.bound_effort)
                }
                Contestant::Policy(policy) => {
                    let policy = policy.clone().with_seed(experiment.seed);
                    let frames = frames - experiment.reserve;
                    policy.resolve(frames, pricing.device_ratio)?.to_string()
                }
            };
            let policy = contestant.written().to_owned();
            cells.push(PlannedCell { frames, policy, policy_resolved });
        }
    }
    Ok(Plan { cells, device: pricing.device, page_cost: pricing.page_cost })
}

/// The views of one trace at some page sizes.
pub struct PreparedTrace {
    /// By page size in bytes.
    at: Vec<(u64, Views)>,
    /// Limit of the memory for the views of the trace and for cells at work.
    memory_limit_bytes: u64,
    /// Limit of the memory for a trace that is read beside the cells.
    beside_bytes: AtomicU64,
}

impl PreparedTrace {
    /// Reads a trace once, for `policies` on `devices` at page sizes in bytes; `has_intervals` if any cell begins to count after a
    /// warm-up or has intervals.
    ///
    /// # Errors
    ///
    /// A policy or device is unusable, or the trace cannot be read.
    pub fn read(
        input: &TraceInput,
        policies: &[Contestant],
        devices: &[String],
        page_sizes_bytes: &[u64],
        has_intervals: bool,
        progress: &Progress,
    ) -> Result<Self, SimError> {
        let mut needed: Vec<Folding> = if has_intervals { vec![Folding::None] } else { Vec::new() };
        for &page_bytes in page_sizes_bytes {
            for device in devices {
                let device_ratio = Pricing::new(device, page_bytes)?.device_ratio;
                for folding in foldings(policies, device_ratio)? {
                    if !needed.contains(&folding) {
                        needed.push(folding);
                    }
                }
            }
        }
        let memory_limit_bytes = input.memory_limit_bytes();
        let (input, scratch) = input.scratch();
        let numbering = numbering(policies);
        let wanted = Wanted {
            page_sizes_bytes,
            foldings: &needed,
            keeps_times: has_intervals,
            drops: false,
        };
        let read = read_at(input, scratch, wanted, numbering, progress)?;
        let at = page_sizes_bytes.iter().copied().zip(read).collect();
        Ok(PreparedTrace { at, memory_limit_bytes, beside_bytes: AtomicU64::new(0) })
    }

    /// Reads the next trace beside the cells of this one, which are given less memory then; the rest is as in
    /// [`read`](Self::read). `None` if there is no memory for both: it has to wait until this one is dropped.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn read_beside(
        &self,
        input: &TraceInput,
        policies: &[Contestant],
        devices: &[String],
        page_sizes_bytes: &[u64],
        has_intervals: bool,
        progress: &Progress,
    ) -> Result<Option<Self>, SimError> {
        let taken_bytes = self.at.iter().map(|(_, views)| views.memory_bytes()).sum();
        let next = ahead(self.memory_limit_bytes, taken_bytes, input);
        let Some((next, share_bytes)) = next else { return Ok(None) };
        self.beside_bytes.store(share_bytes, Ordering::Relaxed);
        let read = Self::read(&next, policies, devices, page_sizes_bytes, has_intervals, progress);
        let memory_limit_bytes = input.memory_limit_bytes();
        let whole = |read| PreparedTrace { memory_limit_bytes, ..read };
        unless_too_large(read).transpose().map(|read| read.map(whole))
    }

    /// The trace at each page size, in bytes.
    pub fn traces(&self) -> impl Iterator<Item = (u64, &ReadTrace)> {
        self.at.iter().map(|(page_bytes, views)| (*page_bytes, &views.trace))
    }

    /// Runs the given cells of an experiment; its own traces and sizes are ignored. A cell is the position
    /// of one of the experiment's policies and a number of frames. Calls `finished` with each finished
    /// cell's position and rows, from any thread and in any order.
    ///
    /// # Errors
    ///
    /// The page size or the policies are not those that the trace was read for, the device or the reserve is unusable, or
    /// [`SimError::Interrupted`]; rows reported before stay true.
    pub fn simulate(
        &self,
        experiment: &Experiment,
        cells: &[(usize, NonZeroU32)],
        progress: &Progress,
        finished: &(dyn Fn(usize, &Rows<Row>) + Sync),
    ) -> Result<(), SimError> {
        let read = self.at.iter().find(|(page_bytes, _)| *page_bytes == experiment.page_bytes);
        let (_, views) = read.ok_or_else(|| {
            SimError::usage(
                format!("the trace was not read for pages of {} bytes", experiment.page_bytes),
                "add that size when it is read",
            )
        })?;
        check_intervals(experiment)?;
        views.cuts(&experiment.intervals)?;
        let study = PagesStudy::new(experiment)?;
        study.check_scratch(views.are_on_scratch())?;
        if study.foldings.iter().any(|&folding| views.find(folding).is_none())
            || !views.are_numbered(numbering(&experiment.policies))
        {
            return Err(SimError::usage(
                "the trace was not read for these policies",
                "name them when it is read",
            ));
        }
        let chosen = |&(policy, frames): &(usize, NonZeroU32)| PagesCell {
            frames: frames.get(),
            contestant: &experiment.policies[policy],
        };
        let cells: Vec<PagesCell<'_>> = cells.iter().map(chosen).collect();
        check_reserve(experiment.reserve, cells.iter().map(|cell| cell.frames))?;
        let on_finished = |position, cell: &FinishedCell| finished(position, &cell.rows);
        let selection = Selection { cells: None, on_finished: &on_finished };
        let beside_bytes = self.beside_bytes.load(Ordering::Relaxed);
        let memory_bytes = self.memory_limit_bytes.saturating_sub(beside_bytes);
        let means = Means { jobs: experiment.jobs, memory_bytes, progress };
        run_cells(&study, views, &cells, means, &selection).map(drop)
    }
}
