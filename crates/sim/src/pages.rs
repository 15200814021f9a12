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

use clockhand_policy::catalog::{Kind, PolicySpec};
use clockhand_trace::{Folding, Numbering, PageView, TraceInput};

pub use bound::Bound;
pub use held::{HeldTrace, HeldTraces, Reading};
pub use options::{Experiment, Observation, PagesOptions};
pub use plan::{KEY_COLUMNS, Plan, key_options, plan_cells};
pub use row::Row;
pub use run::{FinishedCell, Outcome, simulate, simulate_cells};
pub use sampled::PagesSample;

use crate::contestant::{Contestant, Effort, kind_word};
use crate::declaration::StudyDeclaration;
use crate::error::SimError;
use crate::intervals::Part;
use crate::io_log::{IoLog, check_one_cell};
use crate::pricing::Pricing;
use crate::replay::{Cell, Counts, PageLog};
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

impl Cells for Experiment {
    fn lengths(&self) -> Vec<usize> {
        vec![self.sizes.len(), self.policies.len()]
    }
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
    experiment.check_frames(PageView::LIMIT_PAGES)
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

/// A cell: a policy, and all frames of its memory.
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
    experiment.check_frames(footprint_pages)?;
    let cell = |point: Vec<usize>| {
        let &[size, policy] = &point[..] else { unreachable!("the grid has two dimensions") };
        let frames = experiment.sizes[size].frames(footprint_pages, experiment.page_bytes);
        PagesCell { frames, contestant: &experiment.policies[policy] }
    };
    Ok(experiment.points().into_iter().map(cell).collect())
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
        self.experiment.policy_frames(frames)
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
