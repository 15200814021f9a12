//! A grid of cells: every policy at every memory size on every trace.

use std::num::NonZeroU64;
use std::sync::OnceLock;

use clockhand_device::{Device, PageCost};
use clockhand_policy::catalog::{Kind, PolicySpec, ResolvedPolicy, Size, Visitor};
use clockhand_policy::page::{AccessDriven, BitDriven, Offline};
use clockhand_policy::{Ratio, RatioError};
use clockhand_trace::{Folding, PageView, PageViewBuilder, ReadReport};
use rayon::prelude::*;

use crate::bound::bound;
use crate::memory_size::check_reserve;
use crate::next_use::next_use;
use crate::replay::{Cell, GaugeSample};
use crate::stack_distance::LruCounts;
use crate::{
    Bits, Bound, Contestant, Counts, MemorySize, Phase, Progress, ReplayOptions, Row, SimError,
    TraceInput, WriteMiss,
};

/// What to simulate. Rows come in the order trace, memory size, policy, each as given, doubles kept.
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
    /// How references are replayed.
    pub options: ReplayOptions,
    /// Of the frames of each cell, those that are kept free for write-backs under way: the policy has the rest.
    pub reserve: u32,
    /// What is watched on the way; nothing if `None`, which is faster.
    pub observation: Option<Observation>,
    /// Threads; all cores if `None`.
    pub jobs: Option<usize>,
}

impl Experiment {
    /// The frames of each memory size on a trace of `footprint_pages` pages.
    pub(crate) fn frames(&self, footprint_pages: u32) -> impl Iterator<Item = u32> {
        self.sizes.iter().map(move |size| size.frames(footprint_pages, self.page_bytes))
    }
}

/// What is watched while references are replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Observation {
    /// After how many faults the policy's gauges are sampled, from the first on; never if `None`.
    pub gauge_every: Option<NonZeroU64>,
    /// What a movement of the hand adds to the I/O time, in nanoseconds.
    pub hand_ns: u64,
}

/// What a trace turned out to be while it was read.
#[derive(Clone, Debug)]
pub struct ReadTrace {
    /// What the rows of the result call it.
    pub name: String,
    /// Format, skipped lines, labels, hash.
    pub report: ReadReport,
    /// Page references.
    pub references: u64,
    /// Page references that read.
    pub read_references: u64,
    /// Page references that write.
    pub write_references: u64,
    /// Distinct pages.
    pub footprint_pages: u32,
    /// Distinct pages that were written.
    pub dirty_footprint_pages: u32,
}

/// The rows of an experiment and the facts that belong to them.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// One row per cell.
    pub rows: Vec<Row>,
    /// What was sampled, with the position of the row that it belongs to.
    pub gauges: Vec<(usize, GaugeSample)>,
    /// One entry per trace.
    pub traces: Vec<ReadTrace>,
    /// The device.
    pub device: Device,
    /// What a page operation costs on it.
    pub page_cost: PageCost,
}

/// Runs an experiment.
///
/// # Errors
///
/// Everything that can be known before a trace is read (policies, sizes, device) is checked before; then the
/// first trace that cannot be read, or [`SimError::Interrupted`].
pub fn simulate(experiment: &Experiment, progress: &Progress) -> Result<Outcome, SimError> {
    check(experiment)?;
    let Pricing { device, page_cost, device_ratio } =
        Pricing::new(&experiment.device, experiment.page_bytes)?;
    let foldings = foldings(&experiment.policies, device_ratio)?;
    let threads = threads(experiment.jobs, experiment.policies.len() * experiment.sizes.len())?;
    let (mut rows, mut traces, mut gauges) = (Vec::new(), Vec::new(), Vec::new());
    for input in &experiment.traces {
        let (trace, views) = read(input, experiment.page_bytes, &foldings, progress)?;
        let grid = Grid {
            experiment,
            trace: &trace,
            views: &views,
            device: &device,
            page_cost: &page_cost,
            device_ratio,
        };
        for FinishedCell { row, samples } in threads.install(|| grid.run(progress))? {
            let of_row = rows.len();
            gauges.extend(samples.into_iter().map(|sample| (of_row, sample)));
            rows.push(row);
        }
        traces.push(trace);
    }
    Ok(Outcome { rows, gauges, traces, device, page_cost })
}

fn check(experiment: &Experiment) -> Result<(), SimError> {
    let nothing =
        |what: &str, option: &str| SimError::Usage(format!("no {what} is given; add {option}"));
    if experiment.traces.is_empty() {
        return Err(nothing("trace", "a file"));
    }
    if experiment.policies.is_empty() {
        return Err(nothing("policy", "--policy NAME"));
    }
    if experiment.sizes.is_empty() {
        return Err(nothing("memory size", "--frames or --memory"));
    }
    // What is too small where the footprint is as large as can be is too small everywhere.
    check_reserve(experiment.reserve, experiment.frames(PageView::LIMIT_PAGES))
}

/// A device, and what it means for pages of one size.
pub(crate) struct Pricing {
    pub(crate) device: Device,
    pub(crate) page_cost: PageCost,
    /// The default of the policies' `c`.
    pub(crate) device_ratio: Ratio,
}

impl Pricing {
    pub(crate) fn new(device: &str, page_bytes: u64) -> Result<Self, SimError> {
        let named = Device::named_or_file(device)?;
        let page_cost = named.page_cost(page_bytes)?;
        let device_ratio = policy_ratio(&page_cost).map_err(|error| {
            SimError::Usage(format!(
                "device {device}: the write/read cost ratio is unusable: {error}"
            ))
        })?;
        Ok(Pricing { device: named, page_cost, device_ratio })
    }
}

fn policy_ratio(page_cost: &PageCost) -> Result<Ratio, RatioError> {
    let ratio = page_cost.write_read_ratio();
    Ratio::new((*ratio.numer()).into(), (*ratio.denom()).into())
}

/// Threads for so many cells: more than there are cells would have nothing to do.
pub(crate) fn threads(jobs: Option<usize>, cells: usize) -> Result<rayon::ThreadPool, SimError> {
    let jobs = jobs.map_or(0, |jobs| jobs.min(cells));
    let threads = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
    threads.map_err(|error| SimError::Usage(format!("cannot start threads: {error}")))
}

/// The period of a policy, if it wants ticks.
struct PeriodOf;

impl Visitor for PeriodOf {
    type Output = Option<NonZeroU64>;

    fn bit_driven<P: BitDriven + 'static>(self, policy: P) -> Self::Output {
        policy.period()
    }

    fn access_driven<P: AccessDriven + 'static>(self, policy: P) -> Self::Output {
        policy.period()
    }

    fn offline<P: Offline + 'static>(self, policy: P) -> Self::Output {
        policy.period()
    }
}

fn folding_for(policy: &ResolvedPolicy) -> Folding {
    match policy.build(Size { frames: 1, pages: 1 }, PeriodOf) {
        Some(period) => Folding::RunsWithin(period),
        None => Folding::Runs,
    }
}

/// The different ways in which the policies need their runs folded; most share one.
pub(crate) fn foldings(
    policies: &[Contestant],
    device_ratio: Ratio,
) -> Result<Vec<Folding>, SimError> {
    let mut foldings = Vec::new();
    for contestant in policies {
        let folding = match contestant {
            Contestant::Policy(policy) => folding_for(&policy.resolve(1, device_ratio)?),
            Contestant::Bound => Folding::Runs,
        };
        if !foldings.contains(&folding) {
            foldings.push(folding);
        }
    }
    Ok(foldings)
}

/// A page view and the future of its records, computed when the first offline policy asks.
pub(crate) struct View {
    pages: PageView,
    next_use: OnceLock<Vec<u32>>,
}

impl View {
    pub(crate) fn folding(&self) -> Folding {
        self.pages.folding()
    }

    fn next_use(&self) -> &[u32] {
        let compute = || next_use(self.pages.records(), self.pages.footprint_pages());
        self.next_use.get_or_init(compute)
    }
}

fn read(
    input: &TraceInput,
    page_bytes: u64,
    foldings: &[Folding],
    progress: &Progress,
) -> Result<(ReadTrace, Vec<View>), SimError> {
    let mut views = read_at(input, &[page_bytes], foldings, progress)?;
    Ok(views.pop().expect("one page size gives one entry"))
}

/// Reads a trace once and makes its views at several page sizes, in their order.
pub(crate) fn read_at(
    input: &TraceInput,
    page_sizes_bytes: &[u64],
    foldings: &[Folding],
    progress: &Progress,
) -> Result<Vec<(ReadTrace, Vec<View>)>, SimError> {
    let views = (page_sizes_bytes.len() * foldings.len()).max(1) as u64;
    let limit_bytes = input.memory_limit_bytes() / views;
    let mut builders = Vec::new();
    for &page_bytes in page_sizes_bytes {
        for &folding in foldings {
            builders.push(PageViewBuilder::new(page_bytes, folding)?.within(limit_bytes));
        }
    }
    let report = input.for_each_batch(progress, &mut |batch| {
        builders.iter_mut().for_each(|builder| builder.extend(batch));
        Ok(())
    })?;
    let mut read = Vec::new();
    let mut builders = builders.into_iter();
    for _ in page_sizes_bytes {
        let mut views = Vec::new();
        for builder in builders.by_ref().take(foldings.len()) {
            views.push(View { pages: builder.finish()?, next_use: OnceLock::new() });
        }
        read.push((read_trace(input, &report, &views[0].pages), views));
    }
    Ok(read)
}

fn read_trace(input: &TraceInput, report: &ReadReport, view: &PageView) -> ReadTrace {
    ReadTrace {
        name: input.name(),
        report: report.clone(),
        references: view.references(),
        read_references: view.read_references(),
        write_references: view.write_references(),
        footprint_pages: view.footprint_pages(),
        dirty_footprint_pages: view.dirty_footprint_pages(),
    }
}

/// The policy whose counts at all memory sizes come from one pass.
const LRU: &str = "lru";
/// As many replays take about as long as the pass (measured: benches/README.md).
const PASS_REPLAYS: usize = 5;

fn is_lru(contestant: &Contestant) -> bool {
    matches!(contestant, Contestant::Policy(policy) if policy.entry().description.name == LRU)
}

/// A cell that was run: its row, and what was sampled while it ran.
#[derive(Clone, Debug)]
pub(crate) struct FinishedCell {
    pub(crate) row: Row,
    pub(crate) samples: Vec<GaugeSample>,
}

impl From<Row> for FinishedCell {
    fn from(row: Row) -> Self {
        FinishedCell { row, samples: Vec::new() }
    }
}

/// Told of each cell that is finished, with its position; from any thread and in any order.
pub(crate) type Finished<'a> = &'a (dyn Fn(usize, &FinishedCell) + Sync);

/// Cells of one trace.
pub(crate) struct Grid<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) trace: &'a ReadTrace,
    pub(crate) views: &'a [View],
    pub(crate) device: &'a Device,
    pub(crate) page_cost: &'a PageCost,
    pub(crate) device_ratio: Ratio,
}

impl Grid<'_> {
    fn run(&self, progress: &Progress) -> Result<Vec<FinishedCell>, SimError> {
        let mut cells: Vec<(u32, &Contestant)> = Vec::new();
        for frames in self.experiment.frames(self.trace.footprint_pages) {
            cells.extend(self.experiment.policies.iter().map(|contestant| (frames, contestant)));
        }
        self.run_cells(&cells, progress, &|_, _| ())
    }

    /// Runs cells over all threads of the pool; each is a policy and all frames of its memory, the reserve among
    /// them.
    pub(crate) fn run_cells(
        &self,
        cells: &[(u32, &Contestant)],
        progress: &Progress,
        finished: Finished,
    ) -> Result<Vec<FinishedCell>, SimError> {
        check_reserve(self.experiment.reserve, cells.iter().map(|&(frames, _)| frames))?;
        let records: usize = self.views[0].pages.records().len();
        let lru_cells = cells.iter().filter(|(_, contestant)| is_lru(contestant)).count();
        let passes = lru_cells >= PASS_REPLAYS && self.experiment.observation.is_none();
        // The pass, where it is worth it, is as much work as so many replays.
        let saved = if passes { lru_cells - PASS_REPLAYS } else { 0 };
        progress.enter(Phase::Replaying, (records * (cells.len() - saved)) as u64);
        let (by_pass, by_replay): (Vec<_>, Vec<_>) =
            cells.iter().copied().enumerate().partition(|(_, cell)| passes && is_lru(cell.1));
        let (by_pass, by_replay) = rayon::join(
            || self.pass(&by_pass, progress, finished),
            || self.replay(&by_replay, progress, finished),
        );
        let mut all = [by_pass?, by_replay?].concat();
        all.sort_unstable_by_key(|(position, _)| *position);
        Ok(all.into_iter().map(|(_, cell)| cell).collect())
    }

    /// Cells of LRU, whose counts at all memory sizes come from one pass.
    fn pass(
        &self,
        cells: &[(usize, (u32, &Contestant))],
        progress: &Progress,
        finished: Finished,
    ) -> Result<Vec<(usize, FinishedCell)>, SimError> {
        if cells.is_empty() {
            return Ok(Vec::new());
        }
        let view = &self.view(Folding::Runs).pages;
        let lru = LruCounts::of(view, progress, PASS_REPLAYS as u64)?;
        let row_of = |&(position, (frames, contestant)): &(usize, (u32, &Contestant))| {
            let counts = lru.at(self.policy_frames(frames), self.experiment.options);
            let row = self.row(frames, contestant.written(), LRU.to_owned(), counts);
            let cell = FinishedCell::from(row);
            finished(position, &cell);
            (position, cell)
        };
        Ok(cells.iter().map(row_of).collect())
    }

    fn replay(
        &self,
        cells: &[(usize, (u32, &Contestant))],
        progress: &Progress,
        finished: Finished,
    ) -> Result<Vec<(usize, FinishedCell)>, SimError> {
        let run = |&(position, (frames, contestant)): &(usize, (u32, &Contestant))| {
            if progress.is_cancelled() {
                return Err(SimError::Interrupted);
            }
            let cell = match contestant {
                Contestant::Bound => self.bound(frames, progress).map(FinishedCell::from),
                Contestant::Policy(policy) => self.cell(frames, policy, progress),
            }?;
            finished(position, &cell);
            Ok((position, cell))
        };
        cells.par_iter().map(run).collect()
    }

    /// What a policy has of the frames of its cell.
    fn policy_frames(&self, frames: u32) -> u32 {
        frames - self.experiment.reserve
    }

    fn view(&self, folding: Folding) -> &View {
        let view = self.views.iter().find(|view| view.pages.folding() == folding);
        view.expect("a view was built for every folding")
    }

    fn bound(&self, frames: u32, progress: &Progress) -> Result<Row, SimError> {
        let view = self.view(Folding::Runs);
        let options = self.experiment.options;
        let Bound { read_ios, write_ios } =
            bound(&view.pages, view.next_use(), self.policy_frames(frames), options, progress)?;
        progress.add_done(view.pages.records().len() as u64);
        let resolved = Contestant::BOUND.to_owned();
        Ok(self.row_of_ios(frames, Contestant::BOUND, resolved, read_ios, write_ios))
    }

    fn cell(
        &self,
        frames: u32,
        policy: &PolicySpec,
        progress: &Progress,
    ) -> Result<FinishedCell, SimError> {
        let policy = policy.clone().with_seed(self.experiment.seed);
        let policy_frames = self.policy_frames(frames);
        let resolved = policy.resolve(policy_frames, self.device_ratio)?;
        let view = self.view(folding_for(&resolved));
        let next_use = (policy.entry().kind == Kind::Offline).then(|| view.next_use());
        let options = self.experiment.options;
        let cell = Cell { view: &view.pages, next_use, frames: policy_frames, options, progress };
        let Some(observation) = self.experiment.observation else {
            let counts = cell.replay(&resolved)?;
            return Ok(self.row(frames, policy.written(), resolved.to_string(), counts).into());
        };
        let (counts, observed) = cell.replay_observed(&resolved, observation.gauge_every)?;
        let row = self.row(frames, policy.written(), resolved.to_string(), counts);
        let hand_time_us = observed.hand_movements as f64 * observation.hand_ns as f64 / 1e3;
        let row = Row {
            io_time_us: row.io_time_us + hand_time_us,
            hand_movements: Some(observed.hand_movements),
            ..row
        };
        Ok(FinishedCell { row, samples: observed.samples })
    }

    fn row(&self, frames: u32, policy: &str, policy_resolved: String, counts: Counts) -> Row {
        let trace = self.trace;
        let misses = counts.read_misses + counts.write_misses;
        let hits = trace.references - misses;
        let (read_ios, write_ios) = (counts.read_ios, counts.write_ios());
        Row {
            read_references: Some(trace.read_references),
            write_references: Some(trace.write_references),
            hits: Some(hits),
            misses: Some(misses),
            read_misses: Some(counts.read_misses),
            write_misses: Some(counts.write_misses),
            clean_evictions: Some(counts.clean_evictions),
            dirty_evictions: Some(counts.dirty_evictions),
            energy_uj: self.page_cost.energy_uj(read_ios, write_ios),
            hit_ratio: Some(hits as f64 / trace.references as f64),
            write_backs: Some(counts.write_backs),
            flush_writes: Some(counts.flush_writes),
            ..self.row_of_ios(frames, policy, policy_resolved, read_ios, write_ios)
        }
    }

    /// A row that knows nothing but how many pages are read and written.
    fn row_of_ios(
        &self,
        frames: u32,
        policy: &str,
        policy_resolved: String,
        read_ios: u64,
        write_ios: u64,
    ) -> Row {
        let Grid { experiment, trace, page_cost, .. } = self;
        Row {
            trace: trace.name.clone(),
            policy: policy.to_owned(),
            frames: frames.into(),
            page_bytes: experiment.page_bytes,
            device: experiment.device.clone(),
            references: trace.references,
            read_references: None,
            write_references: None,
            hits: None,
            misses: None,
            read_misses: None,
            write_misses: None,
            read_ios,
            write_ios,
            clean_evictions: None,
            dirty_evictions: None,
            io_time_us: page_cost.time_us(read_ios, write_ios),
            energy_uj: None,
            policy_resolved,
            device_resolved: self.device.resolved(),
            hit_ratio: None,
            footprint_pages: trace.footprint_pages.into(),
            memory_share: f64::from(frames) / f64::from(trace.footprint_pages),
            write_backs: None,
            flush_writes: None,
            bits: match experiment.options.bits {
                Bits::Exact => "exact",
                Bits::Mapped => "mapped",
            },
            write_miss: match experiment.options.write_miss {
                WriteMiss::Fetch => "fetch",
                WriteMiss::Blind => "blind",
            },
            hand_movements: None,
            reserve: experiment.reserve.into(),
        }
    }
}
