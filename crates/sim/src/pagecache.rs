//! One page cache for processes and files: policies under calls, syncs, truncations, a flusher and reading ahead.
//!
//! A trace of [events](clockhand_trace::Event) is read once into an [`EventView`]; every cell of the grid (policy ×
//! memory size) replays it. A trace that knows of nothing but reads and writes is the special case in which
//! [`simulate`](crate::simulate) counts the same, with [`FirstTouch::Read`].

mod counts;
mod dirty_files;
mod future;
mod log;
mod options;
mod read_ahead;
mod replay;
mod row;
mod settings;
mod study;
mod swap_slots;
#[cfg(test)]
mod tests;

use clockhand_device::{Device, PageCost};

pub use counts::PageCacheCounts;
pub use options::{
    FileReadAhead, FirstTouch, FlushUnit, Flusher, PageCacheOptions, ReadAhead, ZeroClean,
};
pub use row::PageCacheRow;
pub use settings::PageCacheSettings;

use crate::contestant::Contestant;
use crate::declaration::StudyDeclaration;
use crate::error::SimError;
use crate::intervals::{Intervals, Rows};
use crate::memory_size::MemorySize;
use crate::read_trace::ReadTrace;
use crate::study::{Cells, Selection, check_given, run_study};
use clockhand_trace::TraceInput;
use clockhand_trace::progress::Progress;
use study::{Devices, PageCacheStudy, PreparedEvents};

/// How everything else knows the study.
pub(crate) const STUDY: StudyDeclaration = StudyDeclaration {
    name: "pagecache",
    command: "pagecache",
    options: PageCacheSettings::OPTIONS,
    columns: PageCacheRow::COLUMNS,
    dimensions: &["frames|memory", "policy"],
    newer: &["flush_at_end"],
    value: "io_time_us",
    order: &["frames", "policy"],
};

/// What to simulate. Rows come in the order trace, memory size, policy, each as given, duplicates kept.
#[derive(Clone, Debug)]
pub struct PageCacheExperiment {
    /// The traces.
    pub traces: Vec<TraceInput>,
    /// The policies; the bound is not one of them.
    pub policies: Vec<Contestant>,
    /// Seed of policies that draw random numbers.
    pub seed: u64,
    /// The memory sizes.
    pub sizes: Vec<MemorySize>,
    /// Page size in bytes, a power of two.
    pub page_bytes: u64,
    /// The device of anonymous pages as the user wrote it.
    pub device: String,
    /// The device of files; that of anonymous pages if `None`.
    pub file_device: Option<String>,
    /// How the cache behaves beside its policy.
    pub options: PageCacheOptions,
    /// From where counts are taken, and whether for each interval too.
    pub intervals: Intervals,
    /// Where every page is logged that is read or written; of one cell.
    pub io_log: Option<String>,
    /// Threads; all cores if `None`.
    pub jobs: Option<usize>,
}

impl Cells for PageCacheExperiment {
    fn lengths(&self) -> Vec<usize> {
        vec![self.sizes.len(), self.policies.len()]
    }

    fn sizes(&self) -> Vec<String> {
        self.sizes.iter().map(|size| size.written()).collect()
    }
}

/// The rows of an experiment and the facts that belong to them.
#[derive(Clone, Debug)]
pub struct PageCacheOutcome {
    /// One row per cell.
    pub rows: Vec<PageCacheRow>,
    /// The rows of the cells' intervals, if they are asked for.
    pub intervals: Vec<PageCacheRow>,
    /// One entry per trace.
    pub traces: Vec<ReadTrace>,
    /// The device of anonymous pages.
    pub device: Device,
    /// What a page operation costs on it.
    pub page_cost: PageCost,
    /// The device of pages of files.
    pub file_device: Device,
    /// What a page operation costs on it.
    pub file_page_cost: PageCost,
}

/// Runs an experiment.
///
/// # Errors
///
/// Everything that can be known before a trace is read (policies, sizes, devices) is checked before; then the first trace
/// that cannot be read or does not fit the options, or [`SimError::Interrupted`].
pub fn run_pagecache(
    experiment: &PageCacheExperiment,
    progress: &Progress,
) -> Result<PageCacheOutcome, SimError> {
    run_pagecache_cells(experiment, &Selection::default(), progress)
}

/// Runs the selected cells of an experiment.
///
/// # Errors
///
/// Those of [`run_pagecache`], and a cell that there is not.
pub fn run_pagecache_cells(
    experiment: &PageCacheExperiment,
    selection: &Selection<'_, Rows<PageCacheRow>>,
    progress: &Progress,
) -> Result<PageCacheOutcome, SimError> {
    check_given(&experiment.traces, "trace", "a file")?;
    let study = PageCacheStudy::new(experiment)?;
    let (mut rows, mut intervals, mut traces) = (Vec::new(), Vec::new(), Vec::new());
    let take = |prepared: PreparedEvents, finished: Vec<Rows<PageCacheRow>>| {
        for of_cell in finished {
            rows.push(of_cell.row);
            intervals.extend(of_cell.intervals);
        }
        traces.push(prepared.trace);
    };
    run_study(&study, &experiment.traces, experiment.jobs, progress, selection, take)?;
    let Devices { anonymous, file, .. } = study.devices;
    Ok(PageCacheOutcome {
        rows,
        intervals,
        traces,
        device: anonymous.device,
        page_cost: anonymous.page_cost,
        file_device: file.device,
        file_page_cost: file.page_cost,
    })
}

/// Checks what can be known of an experiment before a trace is read.
///
/// # Errors
///
/// The first thing that makes no sense.
pub fn check_pagecache(experiment: &PageCacheExperiment) -> Result<(), SimError> {
    PageCacheStudy::new(experiment).map(drop)
}
