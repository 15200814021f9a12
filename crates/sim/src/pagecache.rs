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
mod swap_slots;
#[cfg(test)]
mod tests;

use clockhand_quantity::{Text, option};
use std::sync::OnceLock;

use clockhand_device::{Device, Joined, PageCost};
use clockhand_policy::catalog::{Kind, PolicySpec};
use clockhand_trace::{EventView, EventViewBuilder, ObjectKind};

pub use counts::PageCacheCounts;
pub use options::{
    FileReadAhead, FirstTouch, FlushUnit, Flusher, PageCacheOptions, ReadAhead, ZeroClean,
};
pub use row::PageCacheRow;
pub use settings::PageCacheSettings;

use crate::contestant::kind_word;
use crate::intervals::{Arrivals, Cuts, Intervals, Part, Rows};
use crate::io_log::check_one_cell;
use crate::pricing::Pricing;
use crate::study::{Cells, Selection, Study, check_given, run_study};
use crate::{Contestant, MemorySize, Progress, ReadTrace, SimError, TraceInput};
use future::Future;
use log::LoggedPages;
use replay::Cell;

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

/// The device of each class of pages.
struct Devices<'a> {
    anonymous: Pricing,
    file: Pricing,
    anonymous_name: &'a str,
    file_name: &'a str,
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

/// An experiment that was checked.
struct PageCacheStudy<'a> {
    experiment: &'a PageCacheExperiment,
    policies: Vec<&'a PolicySpec>,
    devices: Devices<'a>,
}

/// What the cells of one trace share.
struct PreparedEvents {
    trace: ReadTrace,
    view: EventView,
    /// The places where counters are read.
    cuts: Cuts,
    /// Computed when the first offline policy asks.
    future: OnceLock<Future>,
}

impl<'a> PageCacheStudy<'a> {
    fn new(experiment: &'a PageCacheExperiment) -> Result<Self, SimError> {
        let policies = policies(experiment)?;
        let PageCacheExperiment { traces, sizes, .. } = experiment;
        let counts =
            [("traces", traces.len()), ("policies", policies.len()), ("sizes", sizes.len())];
        check_one_cell(experiment.io_log.is_some(), counts)?;
        let file_name = experiment.file_device.as_ref().unwrap_or(&experiment.device);
        let devices = Devices {
            anonymous: Pricing::new(&experiment.device, experiment.page_bytes)?,
            file: Pricing::new(file_name, experiment.page_bytes)?,
            anonymous_name: &experiment.device,
            file_name,
        };
        for policy in &policies {
            policy.resolve(1, devices.anonymous.device_ratio)?;
        }
        Ok(PageCacheStudy { experiment, policies, devices })
    }
}

impl<'a> Study for PageCacheStudy<'a> {
    type Prepared = PreparedEvents;
    /// Frames and policy.
    type Cell = (u32, &'a PolicySpec);
    type Finished = Rows<PageCacheRow>;

    fn prepare(&self, input: &TraceInput, progress: &Progress) -> Result<PreparedEvents, SimError> {
        let (trace, view) = read(input, self.experiment, progress)?;
        let intervals = &self.experiment.intervals;
        let cuts = intervals.cuts(&trace.name, trace.references, &arrivals(intervals, &view))?;
        Ok(PreparedEvents { trace, view, cuts, future: OnceLock::new() })
    }

    fn cells(&self, prepared: &PreparedEvents) -> Result<Vec<Self::Cell>, SimError> {
        let PageCacheExperiment { sizes, page_bytes, .. } = self.experiment;
        let cell = |point: Vec<usize>| {
            let &[size, policy] = &point[..] else { unreachable!("the grid has two dimensions") };
            let frames = sizes[size].frames(prepared.trace.footprint_pages, *page_bytes);
            (frames, self.policies[policy])
        };
        Ok(self.experiment.points().into_iter().map(cell).collect())
    }

    fn steps(&self, prepared: &PreparedEvents, task: &[&Self::Cell]) -> u64 {
        (prepared.view.references().len() * task.len()) as u64
    }

    fn run(
        &self,
        prepared: &PreparedEvents,
        task: &[&Self::Cell],
        progress: &Progress,
    ) -> Result<Vec<Rows<PageCacheRow>>, SimError> {
        task.iter()
            .map(|&&(frames, policy)| self.cell(prepared, frames, policy, progress))
            .collect()
    }
}

/// The policies, if the experiment has all that it needs.
fn policies(experiment: &PageCacheExperiment) -> Result<Vec<&PolicySpec>, SimError> {
    check_given(&experiment.policies, "policy", option("policy") + " NAME")?;
    check_given(&experiment.sizes, "memory size", option("frames") + " or " + option("memory"))?;
    experiment.policies.iter().map(policy_of).collect()
}

fn policy_of(contestant: &Contestant) -> Result<&PolicySpec, SimError> {
    match contestant {
        Contestant::Policy(policy) => Ok(policy),
        Contestant::Bound(_) | Contestant::Feasible(_) => Err(SimError::usage(
            "the bound is not known for page caches with calls",
            "leave it out, and take min",
        )),
    }
}

/// Reads a trace and makes its view.
fn read(
    input: &TraceInput,
    experiment: &PageCacheExperiment,
    progress: &Progress,
) -> Result<(ReadTrace, EventView), SimError> {
    let ahead_pages = experiment.options.read_ahead.file.map_or(0, |file| file.most_pages);
    let mut builder = EventViewBuilder::new(experiment.page_bytes, ahead_pages)?
        .within(input.memory_limit_bytes());
    if !experiment.intervals.is_off() || experiment.io_log.is_some() {
        builder = builder.with_times();
    }
    let mut report = input.for_each_event_batch(progress, &mut |batch| {
        builder.extend(batch);
        Ok(())
    })?;
    let kinds: Vec<ObjectKind> = report.object_kinds.clone();
    let view = builder.finish(&kinds)?;
    check(&input.name(), &view, &experiment.options)?;
    if let Some((steps, first)) = view.back_steps() {
        report.notes.push(format!(
            "{steps} times run back, the first at event {first}; each counts as the time before it"
        ));
    }
    let references = view.references().len() as u64;
    let trace = ReadTrace {
        name: input.name(),
        report,
        references,
        read_references: references - view.write_references(),
        write_references: view.write_references(),
        footprint_pages: view.footprint_pages(),
        dirty_footprint_pages: view.dirty_footprint_pages(),
    };
    Ok((trace, view))
}

/// When the references come, if a warm-up or intervals are asked for.
fn arrivals(intervals: &Intervals, view: &EventView) -> Arrivals {
    let mut arrivals = Arrivals::default();
    let (references, mut event) = (view.references(), 0);
    for reference in references.iter().take(if intervals.is_off() { 0 } else { references.len() }) {
        event += usize::from(reference.begins_event());
        arrivals.pass(view.times_ns().map(|times_ns| times_ns[event - 1]), 1);
    }
    arrivals
}

/// Refuses options that mean nothing on this trace.
fn check(name: &str, view: &EventView, options: &PageCacheOptions) -> Result<(), SimError> {
    if options.read_ahead.file.is_some() && !view.has_files() {
        return Err(SimError::usage(
            format!("{name}: the trace has no files to read ahead"),
            Text::from("leave file:MIN-MAX out of ")
                + option("read-ahead")
                + ", or give a trace of events",
        ));
    }
    let needs_times = options.flusher.is_some_and(|flusher| flusher.unit == FlushUnit::Time);
    if needs_times && view.has_files() && view.times_ns().is_none() {
        return Err(SimError::usage(
            format!("{name}: the trace has no times, so the flusher cannot count seconds"),
            Text::from("give ") + option("flush-every") + " in references, 1000r for example",
        ));
    }
    Ok(())
}

impl PageCacheStudy<'_> {
    fn cell(
        &self,
        prepared: &PreparedEvents,
        frames: u32,
        policy: &PolicySpec,
        progress: &Progress,
    ) -> Result<Rows<PageCacheRow>, SimError> {
        let policy = policy.clone().with_seed(self.experiment.seed);
        let resolved = policy.resolve(frames, self.devices.anonymous.device_ratio)?;
        let future = match policy.entry().kind {
            Kind::Offline => Some(self.future(prepared)?),
            _ => None,
        };
        let PreparedEvents { trace, view, cuts, .. } = prepared;
        let options = self.experiment.options;
        let cell = Cell { view, future, frames, options, cuts, progress };
        let noted = match &self.experiment.io_log {
            None => cell.replay(&resolved)?,
            Some(path) => {
                let (noted, logged) = cell.watched(&resolved, LoggedPages::create(path, view)?)?;
                logged.finish()?;
                noted
            }
        };
        let row = |part: &Part<'_>, counts: &PageCacheCounts| {
            self.row(view, frames, &policy, resolved.to_string(), (part, counts))
        };
        Ok(noted.rows(cuts, trace, row))
    }

    fn future<'p>(&self, prepared: &'p PreparedEvents) -> Result<&'p Future, SimError> {
        if prepared.view.references().len() > Future::LIMIT_REFERENCES {
            return Err(SimError::usage(
                format!(
                    "{}: offline policies take at most {} references",
                    prepared.trace.name,
                    Future::LIMIT_REFERENCES
                ),
                Text::from("take a part with ") + option("limit"),
            ));
        }
        let read_ahead = self.experiment.options.read_ahead;
        let reads_ahead = read_ahead.file.is_some() || read_ahead.swap_slots.is_some();
        Ok(prepared.future.get_or_init(|| Future::of(&prepared.view, reads_ahead)))
    }

    fn row(
        &self,
        view: &EventView,
        frames: u32,
        policy: &PolicySpec,
        policy_resolved: String,
        (part, counts): (&Part<'_>, &PageCacheCounts),
    ) -> PageCacheRow {
        let PageCacheStudy { experiment, devices, .. } = self;
        let trace = part.trace;
        let misses = counts.read_misses + counts.write_misses;
        let anonymous = (&devices.anonymous.page_cost, counts.anon_read_ios, counts.anon_write_ios);
        let file = (&devices.file.page_cost, counts.file_read_ios, counts.file_write_ios);
        let one_by_one = Joined::default();
        let requests = [
            (&anonymous.0.read, counts.anon_read_ios, &counts.anon_reads_joined),
            (&anonymous.0.write, counts.anon_write_ios, &one_by_one),
            (&file.0.read, counts.file_read_ios, &counts.file_reads_joined),
            (&file.0.write, counts.file_write_ios, &counts.file_writes_joined),
        ];
        let has_erases = devices.anonymous.device.has_erase() && devices.file.device.has_erase();
        PageCacheRow {
            trace: trace.name.clone(),
            policy: policy.written().to_owned(),
            kind: kind_word(policy.entry().kind),
            frames: frames.into(),
            page_bytes: experiment.page_bytes,
            device: devices.anonymous_name.to_owned(),
            references: part.references,
            read_references: part.read_references,
            write_references: part.write_references,
            hits: part.references - misses,
            misses,
            read_misses: counts.read_misses,
            write_misses: counts.write_misses,
            read_ios: counts.read_ios(),
            write_ios: counts.write_ios(),
            clean_evictions: counts.clean_evictions,
            dirty_evictions: counts.dirty_evictions,
            io_time_us: PageCost::total_time_us(&requests),
            energy_uj: PageCost::total_energy_uj(&[anonymous, file]),
            anon_read_ios: counts.anon_read_ios,
            anon_write_ios: counts.anon_write_ios,
            file_read_ios: counts.file_read_ios,
            file_write_ios: counts.file_write_ios,
            zero_fills: counts.zero_fills,
            blind_fills: counts.blind_fills,
            readahead_ios: counts.readahead_ios,
            readahead_unused: counts.readahead_unused,
            sync_writes: counts.sync_writes,
            flusher_writes: counts.flusher_writes,
            dropped_dirty: counts.dropped_dirty,
            dropped_clean: counts.dropped_clean,
            direct_read_ios: counts.direct_read_ios,
            direct_write_ios: counts.direct_write_ios,
            dirty_pages_peak: counts.dirty_pages_peak,
            dirty_pages_mean: part.share(counts.dirty_pages_sum),
            dirty_age_max: self.age(view, counts.dirty_age_max),
            file_device: devices.file_name.to_owned(),
            policy_resolved,
            device_resolved: devices.anonymous.device.resolved(),
            file_device_resolved: devices.file.device.resolved(),
            hit_ratio: part.share(part.references - misses),
            footprint_pages: view.footprint_pages().into(),
            memory_share: f64::from(frames) / f64::from(view.footprint_pages()),
            write_backs: counts.early_write_backs,
            potential_erases: has_erases.then(|| counts.write_ios()),
            first_touch: experiment.options.first_touch.name(),
            zero_clean: experiment.options.zero_clean.name(),
            flusher: experiment.options.flusher.map(|flusher| flusher.written()),
            read_ahead: experiment.options.read_ahead.written(),
            reclaims: counts.reclaims,
            scanned_pages: counts.scanned_pages,
            skipped_requests: trace.report.skipped_records,
            interval: None,
            from_reference: None,
            from_us: None,
        }
    }

    /// An age in the unit of the row: seconds where the trace has times and the flusher counts none.
    fn age(&self, view: &EventView, age: u64) -> f64 {
        let flusher = self.experiment.options.flusher;
        let in_references = flusher.is_some_and(|flusher| flusher.unit == FlushUnit::References);
        if view.times_ns().is_some() && !in_references { age as f64 / 1e9 } else { age as f64 }
    }
}
