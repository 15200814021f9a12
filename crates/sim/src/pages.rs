//! Page policies: a grid of cells, every policy at every memory size on every trace.

mod bound;
mod bracket;
mod held;
mod optimum;
mod options;
mod plan;
mod row;
mod run;
mod sampled;
mod streamed;

use clockhand_quantity::{Text, option};
use std::num::NonZeroU64;

use clockhand_policy::catalog::{Kind, PolicySpec};
use clockhand_trace::{Folding, Numbering, PageView, TraceInput};

pub use bound::Bound;
pub use held::{HeldTrace, HeldTraces, Reading};
pub use options::PagesOptions;
pub use plan::{KEY_COLUMNS, Plan, key_options, plan_cells};
pub use row::Row;
pub use run::{FinishedCell, Outcome, simulate, simulate_cells};
pub use sampled::PagesSample;

use crate::contestant::{Contestant, Effort, kind_word};
use crate::declaration::StudyDeclaration;
use crate::error::SimError;
use crate::intervals::{Intervals, Part};
use crate::io_log::{IoLog, check_one_cell};
use crate::memory_size::{MemorySize, check_reserve};
use crate::pricing::Pricing;
use crate::replay::{Cell, Counts, PageLog, ReplayOptions};
use crate::stack_distance::{LRU, LruCounts, PASS_REPLAYS};
use crate::study::{Cells, Study, check_given};
use crate::views::{Views, Wanted, folding_for, foldings, numbering, read_at};
use clockhand_trace::progress::Progress;
use row::RowsOf;

/// How everything else knows the study.
pub(crate) const STUDY: StudyDeclaration = StudyDeclaration {
    name: "pages",
    command: "simulate",
    options: PagesOptions::OPTIONS,
    columns: Row::COLUMNS,
    dimensions: &["frames|memory", "policy"],
    newer: &[],
    value: "io_time_us",
    order: &["page_bytes", "device", "frames", "policy_place", "policy_resolved"],
};

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
    fn may_fold(&self) -> bool {
        self.intervals.is_off() && self.io_log.is_none()
    }

    /// The frames of each memory size on a trace of `footprint_pages` pages.
    pub(crate) fn frames(&self, footprint_pages: u32) -> impl Iterator<Item = u32> {
        self.sizes.iter().map(move |size| size.frames(footprint_pages, self.page_bytes))
    }
}

impl Cells for Experiment {
    fn lengths(&self) -> Vec<usize> {
        vec![self.sizes.len(), self.policies.len()]
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

/// Refuses what can be known to be unusable before a trace is read.
fn check(experiment: &Experiment) -> Result<(), SimError> {
    check_given(&experiment.policies, "policy", option("policy") + " NAME")?;
    check_given(&experiment.sizes, "memory size", option("frames") + " or " + option("memory"))?;
    check_intervals(experiment)?;
    if experiment.sample.is_some() {
        sampled::check(experiment)?;
    }
    check_log(experiment)?;
    // A memory too small for the largest possible footprint is too small for every one.
    check_reserve(experiment.reserve, experiment.frames(PageView::LIMIT_PAGES))
}

/// Refuses what is known of a whole trace only.
fn check_intervals(experiment: &Experiment) -> Result<(), SimError> {
    if experiment.sample.is_some() {
        experiment.intervals.refuse(option("sample"))?;
    }
    let is_end = |contestant: &&Contestant| !matches!(contestant, Contestant::Policy(_));
    match experiment.policies.iter().find(is_end) {
        Some(end) => experiment.intervals.refuse(option("policy") + format!(" {}", end.written())),
        None => Ok(()),
    }
}

/// Refuses a log of several runs, and of what is no run of all references.
fn check_log(experiment: &Experiment) -> Result<(), SimError> {
    let Experiment { traces, policies, sizes, io_log, .. } = experiment;
    let counts = [("traces", traces.len()), ("policies", policies.len()), ("sizes", sizes.len())];
    check_one_cell(io_log.is_some(), counts)?;
    let is_end = |contestant: &Contestant| !matches!(contestant, Contestant::Policy(_));
    if io_log.is_some() && (experiment.sample.is_some() || policies.iter().any(is_end)) {
        return Err(SimError::usage(
            option("io-log") + " is of a policy on all pages",
            Text::from("leave out ") + option("sample") + ", bound and opt-feasible",
        ));
    }
    Ok(())
}

/// Most bytes of a cell per page of the trace: page table, ghosts, the tree of a pass.
const CELL_PAGE_BYTES: u64 = 24;
/// And per frame: its state and its place in the policy's lists.
const CELL_FRAME_BYTES: u64 = 64;

/// A cell: a policy, and all frames of its memory, the reserve among them.
#[derive(Clone, Copy)]
pub(crate) struct PagesCell<'a> {
    pub(crate) frames: u32,
    pub(crate) contestant: &'a Contestant,
}

impl PagesCell<'_> {
    /// The effort, where the cell is an end of the bracket of the optimum.
    fn effort(&self, default: Effort) -> Option<Effort> {
        match self.contestant {
            Contestant::Policy(_) => None,
            Contestant::Bound(end) | Contestant::Feasible(end) => Some(end.effort(default)),
        }
    }

    fn is_lru(&self) -> bool {
        matches!(self.contestant, Contestant::Policy(policy) if policy.entry().description.name == LRU)
    }
}

/// The cells of an experiment on a trace, in the order of its rows.
fn cells_of(experiment: &Experiment, footprint_pages: u32) -> Result<Vec<PagesCell<'_>>, SimError> {
    check_reserve(experiment.reserve, experiment.frames(footprint_pages))?;
    let cell = |point: Vec<usize>| {
        let &[size, policy] = &point[..] else { unreachable!("the grid has two dimensions") };
        let frames = experiment.sizes[size].frames(footprint_pages, experiment.page_bytes);
        PagesCell { frames, contestant: &experiment.policies[policy] }
    };
    Ok(experiment.points().into_iter().map(cell).collect())
}

/// The frames of a cell that its policy manages.
fn frames_of_policy(experiment: &Experiment, frames: u32) -> u32 {
    frames - experiment.reserve
}

/// Page policies on traces, priced with one device at one page size.
pub(crate) struct PagesStudy<'a> {
    experiment: &'a Experiment,
    pub(crate) pricing: Pricing,
    /// The foldings that the policies need.
    pub(crate) foldings: Vec<Folding>,
}

impl<'a> Study for PagesStudy<'a> {
    type Prepared = Views;
    type Cell = PagesCell<'a>;
    type Finished = FinishedCell;

    fn prepare(&self, input: &TraceInput, progress: &Progress) -> Result<Views, SimError> {
        let (input, scratch) = input.apart_from_scratch();
        self.check_scratch(scratch.is_some())?;
        let Experiment { page_bytes, intervals, policies, io_log, .. } = self.experiment;
        let wanted = Wanted {
            page_sizes_bytes: &[*page_bytes],
            foldings: &self.foldings,
            keeps_times: !intervals.is_off() || io_log.is_some(),
            drops: false,
        };
        // In a log a page's place is its number.
        let numbering = if io_log.is_some() { Numbering::ByAddress } else { numbering(policies) };
        let views = read_at(&input, scratch.as_deref(), wanted, numbering, progress)?;
        Ok(views.into_iter().next().expect("one page size gives one entry"))
    }

    fn cells(&self, views: &Views) -> Result<Vec<PagesCell<'a>>, SimError> {
        views.cuts(&self.experiment.intervals)?;
        cells_of(self.experiment, views.trace.footprint_pages)
    }

    /// Cells of LRU are one task where its pass is worth it; it comes first, since it is the longest. Both ends of a
    /// bracket come from one search, and are one task.
    fn tasks(&self, _views: &Views, cells: &[PagesCell<'a>]) -> Vec<Vec<usize>> {
        let lru = cells.iter().filter(|cell| cell.is_lru()).count();
        let Experiment { observation, intervals, .. } = self.experiment;
        let passes = lru >= PASS_REPLAYS && observation.is_none() && intervals.is_off();
        let mut pass = Vec::new();
        let mut tasks: Vec<Vec<usize>> = Vec::new();
        let mut search_at: Vec<((u32, Effort), usize)> = Vec::new();
        for (position, cell) in cells.iter().enumerate() {
            if passes && cell.is_lru() {
                pass.push(position);
                continue;
            }
            let search = cell.effort(self.experiment.bound_effort).map(|it| (cell.frames, it));
            let known = search_at.iter().find(|(other, _)| Some(*other) == search);
            if let Some(&(_, task)) = known {
                tasks[task].push(position);
                continue;
            }
            search_at.extend(search.map(|search| (search, tasks.len())));
            tasks.push(vec![position]);
        }
        (!pass.is_empty()).then_some(pass).into_iter().chain(tasks).collect()
    }

    fn steps(&self, views: &Views, task: &[&PagesCell<'a>]) -> u64 {
        let replays = if task.len() > 1 && task[0].is_lru() { PASS_REPLAYS } else { 1 };
        (views.records() * replays) as u64
    }

    fn prepared_bytes(&self, views: &Views) -> Option<u64> {
        Some(views.memory_bytes())
    }

    fn memory_bytes(&self, views: &Views, task: &[&PagesCell<'a>]) -> u64 {
        let pages = u64::from(views.trace.footprint_pages);
        let frames = task.iter().map(|cell| u64::from(cell.frames).min(pages)).max().unwrap_or(0);
        pages * CELL_PAGE_BYTES + frames * CELL_FRAME_BYTES
    }

    fn run(
        &self,
        views: &Views,
        task: &[&PagesCell<'a>],
        progress: &Progress,
    ) -> Result<Vec<FinishedCell>, SimError> {
        let on_views = CellsOf { experiment: self.experiment, pricing: &self.pricing, views };
        match (task, task[0].contestant) {
            (ends, Contestant::Bound(_) | Contestant::Feasible(_)) => on_views.ends(ends, progress),
            ([cell], Contestant::Policy(policy)) => {
                Ok(vec![on_views.cell(cell.frames, policy, progress)?])
            }
            (of_lru, _) => on_views.pass(of_lru, progress),
        }
    }
}

impl<'a> PagesStudy<'a> {
    pub(crate) fn new(experiment: &'a Experiment) -> Result<Self, SimError> {
        let pricing = Pricing::new(&experiment.device, experiment.page_bytes)?;
        let foldings = match experiment.may_fold() {
            true => foldings(&experiment.policies, pricing.device_ratio)?,
            false => vec![Folding::None],
        };
        Ok(PagesStudy { experiment, pricing, foldings })
    }

    /// Refuses what needs the whole view in memory, where it is in files.
    pub(crate) fn check_scratch(&self, is_on_scratch: bool) -> Result<(), SimError> {
        let is_end = |contestant: &&Contestant| !matches!(contestant, Contestant::Policy(_));
        match self.experiment.policies.iter().find(is_end) {
            Some(end) if is_on_scratch => Err(SimError::usage(
                format!("{} needs all references in memory", end.written()),
                Text::from("leave it or ") + option("scratch") + " out",
            )),
            _ => Ok(()),
        }
    }
}

/// Cells of one trace.
struct CellsOf<'a> {
    experiment: &'a Experiment,
    pricing: &'a Pricing,
    views: &'a Views,
}

impl CellsOf<'_> {
    /// Cells of LRU, whose counts at all memory sizes come from one pass.
    fn pass(
        &self,
        cells: &[&PagesCell<'_>],
        progress: &Progress,
    ) -> Result<Vec<FinishedCell>, SimError> {
        let view = self.views.folded(Folding::Runs).pages();
        let lru = LruCounts::of(view, progress, PASS_REPLAYS as u64)?;
        let row_of = |cell: &&PagesCell<'_>| {
            let counts = lru.at(self.policy_frames(cell.frames), self.experiment.options);
            let (written, kind) = (cell.contestant.written(), kind_word(Kind::AccessDriven));
            self.rows_of(self.whole())
                .row(cell.frames, written, LRU.to_owned(), kind, counts)
                .into()
        };
        Ok(cells.iter().map(row_of).collect())
    }

    /// The frames of a cell that its policy manages.
    fn policy_frames(&self, frames: u32) -> u32 {
        frames_of_policy(self.experiment, frames)
    }

    /// The log of the cell, if one is wanted.
    fn log(&self) -> Result<Option<PageLog<'_>>, SimError> {
        let Experiment { io_log, page_bytes, .. } = self.experiment;
        let arrivals = self.views.arrivals();
        let begun = io_log.as_ref().map(|path| {
            let log = IoLog::create(path, *page_bytes, &["swap"], arrivals.has_times())?;
            Ok(PageLog { log, arrivals, references: 0 })
        });
        begun.transpose()
    }

    fn whole(&self) -> Part<'_> {
        Part::whole(&self.views.trace)
    }

    fn rows_of<'p>(&'p self, part: Part<'p>) -> RowsOf<'p> {
        let CellsOf { experiment, pricing, .. } = self;
        RowsOf { experiment, pricing, part }
    }

    fn cell(
        &self,
        frames: u32,
        policy: &PolicySpec,
        progress: &Progress,
    ) -> Result<FinishedCell, SimError> {
        let policy = policy.clone().with_seed(self.experiment.seed);
        let policy_frames = self.policy_frames(frames);
        let resolved = policy.resolve(policy_frames, self.pricing.device_ratio)?;
        let folding = match self.experiment.may_fold() {
            true => folding_for(&resolved),
            false => Folding::None,
        };
        let view = self.views.folded(folding);
        let next_use =
            (policy.entry().kind == Kind::Offline).then(|| view.next_use(progress)).transpose()?;
        let options = self.experiment.options;
        let runs = view.pages().into();
        let cell = Cell { runs, next_use, frames: policy_frames, options, progress };
        let cuts = self.views.cuts(&self.experiment.intervals)?;
        let row_of = |part: &Part<'_>, counts: &Counts| {
            self.rows_of(*part).row_of_policy(frames, &policy, &resolved, *counts)
        };
        let trace = &self.views.trace;
        let (observation, log) = (self.experiment.observation, self.log()?);
        if observation.is_none() && log.is_none() {
            return Ok(cell.replay_noting(&resolved, &cuts)?.rows(&cuts, trace, row_of).into());
        }
        let gauge_every = observation.and_then(|observation| observation.gauge_every);
        let (noted, observed) = cell.replay_observed(&resolved, gauge_every, log, &cuts)?;
        if let Some(log) = observed.log {
            log.log.finish()?;
        }
        let row_of = |part: &Part<'_>, (counts, hand_movements): &(Counts, u64)| {
            let row = row_of(part, counts);
            let Some(observation) = observation else { return row };
            let hand_time_us = *hand_movements as f64 * observation.hand_ns as f64 / 1e3;
            let io_time_us = row.io_time_us + hand_time_us;
            Row { io_time_us, hand_movements: Some(*hand_movements), ..row }
        };
        Ok(FinishedCell { rows: noted.rows(&cuts, trace, row_of), samples: observed.samples })
    }
}
