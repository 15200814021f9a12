//! A trace that is read once and simulated many times: what a sweep works with.

use std::num::NonZeroU32;

use clockhand_device::{Device, PageCost};
use clockhand_trace::{Folding, PageView};

use crate::memory_size::check_reserve;
use crate::simulate::{Finished, Grid, Pricing, View, foldings, read_at, threads};
use crate::{Contestant, Experiment, Progress, ReadTrace, Row, SimError, TraceInput};

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
    let pricing = Pricing::new(&experiment.device, experiment.page_bytes)?;
    let footprint_pages = footprint_pages.unwrap_or(PageView::LIMIT_PAGES);
    check_reserve(experiment.reserve, experiment.frames(footprint_pages))?;
    let mut cells = Vec::new();
    for frames in experiment.frames(footprint_pages) {
        for contestant in &experiment.policies {
            let policy_resolved = match contestant {
                Contestant::Bound => Contestant::BOUND.to_owned(),
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
    /// Page size in bytes, what the trace is at it, and its views.
    at: Vec<(u64, ReadTrace, Vec<View>)>,
}

impl PreparedTrace {
    /// Reads a trace once, for `policies` on `devices` at page sizes in bytes.
    ///
    /// # Errors
    ///
    /// A policy or device is unusable, or the trace cannot be read.
    pub fn read(
        input: &TraceInput,
        policies: &[Contestant],
        devices: &[String],
        page_sizes_bytes: &[u64],
        progress: &Progress,
    ) -> Result<Self, SimError> {
        let mut needed: Vec<Folding> = Vec::new();
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
        let read = read_at(input, page_sizes_bytes, &needed, progress)?;
        let at = page_sizes_bytes.iter().zip(read);
        Ok(PreparedTrace {
            at: at.map(|(&page_bytes, (trace, views))| (page_bytes, trace, views)).collect(),
        })
    }

    /// What the trace is at each page size, in bytes.
    pub fn traces(&self) -> impl Iterator<Item = (u64, &ReadTrace)> {
        self.at.iter().map(|(page_bytes, trace, _)| (*page_bytes, trace))
    }

    /// Runs cells of an experiment, whose own traces and sizes are not looked at: each is a policy, by its
    /// position among the experiment's, and a number of frames. `finished` is told of each row at once, with
    /// its cell's position, from any thread and in any order.
    ///
    /// # Errors
    ///
    /// The page size or the policies are not those that the trace was read for, the device or the reserve is unusable, or
    /// [`SimError::Interrupted`]; rows told before stay true.
    pub fn simulate(
        &self,
        experiment: &Experiment,
        cells: &[(usize, NonZeroU32)],
        progress: &Progress,
        finished: &(dyn Fn(usize, &Row) + Sync),
    ) -> Result<(), SimError> {
        let read = self.at.iter().find(|(page_bytes, ..)| *page_bytes == experiment.page_bytes);
        let (_, trace, views) = read.ok_or_else(|| {
            SimError::Usage(format!(
                "the trace was not read for pages of {} bytes; add that size when it is read",
                experiment.page_bytes
            ))
        })?;
        let pricing = Pricing::new(&experiment.device, experiment.page_bytes)?;
        let needed = foldings(&experiment.policies, pricing.device_ratio)?;
        if needed.iter().any(|folding| views.iter().all(|view| view.folding() != *folding)) {
            return Err(SimError::Usage(
                "the trace was not read for these policies; name them when it is read".to_owned(),
            ));
        }
        let chosen: Vec<(u32, &Contestant)> = cells
            .iter()
            .map(|&(policy, frames)| (frames.get(), &experiment.policies[policy]))
            .collect();
        let grid = Grid {
            experiment,
            trace,
            views,
            device: &pricing.device,
            page_cost: &pricing.page_cost,
            device_ratio: pricing.device_ratio,
        };
        let threads = threads(experiment.jobs, chosen.len())?;
        let told: Finished = &|position, cell| finished(position, &cell.row);
        threads.install(|| grid.run_cells(&chosen, progress, told)).map(drop)
    }
}
