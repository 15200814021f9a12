//! Two tiers of memory: a grid of cells, traces × page sizes × fast sizes × policies × rules of promotion × profiles.
//!
//! ```text
//! requests → page references → tiers under a policy → counts → prices of every profile
//! ```
//!
//! One replay serves all profiles that resolve the policy alike: counts are priced, not replayed.

mod bound;
mod check;
mod counts;
mod course;
mod options;
mod page_policy;
mod prepared;
mod price;
mod promotion;
mod replay;
mod row;
mod rows;
mod study;
#[cfg(test)]
mod tests;

use clockhand_device::{Device, MemoryTiers};
use clockhand_policy::tier::Placement;
use clockhand_policy::tier::catalog::{self, TierSpec};
use num_rational::BigRational;

pub use course::TierCourse;
pub use options::TierOptions;
pub use page_policy::Sight;
pub use promotion::PromotionRule;
pub use row::TierRow;
use study::TierStudy;

use crate::contestant::{Contestant, explained};
use crate::declaration::StudyDeclaration;
use crate::error::SimError;
use crate::intervals::{Intervals, Rows};
use crate::memory_size::MemorySize;
use crate::read_trace::ReadTrace;
use crate::study::{Cells, Columns, Selection, run_study};
use clockhand_trace::TraceInput;
use clockhand_trace::progress::Progress;

/// How everything else knows the study.
pub(crate) const STUDY: StudyDeclaration = StudyDeclaration {
    name: "tier",
    command: "tier",
    options: TierOptions::OPTIONS,
    columns: TierRow::COLUMNS,
    dimensions: &["page_size", "fast|fast_frames", "policy", "promote", "tiers"],
    newer: &[],
    value: "mean_ns",
    order: &["page_bytes", "fast_frames", "policy", "promote", "tiers"],
};

/// How large a tier is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TierMemory {
    /// No frame.
    None,
    /// At least one frame.
    Size(MemorySize),
}

impl TierMemory {
    /// A number of frames, from 0.
    pub fn of_frames(frames: u32) -> Self {
        if frames == 0 { TierMemory::None } else { TierMemory::Size(MemorySize::Frames(frames)) }
    }

    /// The size as text that is read as this size.
    pub fn written(self) -> String {
        match self {
            TierMemory::None => "0".to_owned(),
            TierMemory::Size(size) => size.written(),
        }
    }

    /// The number of frames.
    pub fn frames(self, footprint_pages: u32, page_bytes: u64) -> u32 {
        match self {
            TierMemory::None => 0,
            TierMemory::Size(size) => size.frames(footprint_pages, page_bytes),
        }
    }
}

/// The most promotions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MigrationLimit {
    /// At most `most` in each `period` references.
    References {
        /// Promotions.
        most: u64,
        /// References, from 1.
        period: u64,
    },
    /// So many bytes in each second of trace time.
    BytesPerSecond(BigRational),
}

/// What decides who lives in the fast tier.
#[derive(Clone, Debug)]
pub enum Contender {
    /// A page policy, of the catalog or of one's own.
    Page(clockhand_policy::catalog::PolicySpec),
    /// A policy that is made for tiers.
    Tier(TierSpec),
    /// The least time of any schedule.
    Bound,
}

impl Contender {
    /// What the bound is, in one line.
    pub const BOUND_SUMMARY: &'static str =
        "the least time of accesses and migrations that any schedule can reach";

    /// What `all` and patterns call the bound: a row without a time where it cannot be computed, beside other policies.
    pub const BOUND_IF_POSSIBLE: &'static str = "bound?";

    /// Reads `NAME[:parameter=value,...]`.
    ///
    /// # Errors
    ///
    /// A sentence that names the nearest policy or the range of the parameter.
    pub fn parse(text: &str) -> Result<Self, SimError> {
        if text == "bound" || text == Self::BOUND_IF_POSSIBLE {
            return Ok(Contender::Bound);
        }
        if let Some(spec) = TierSpec::parse(text) {
            let parameters = |name: &str| catalog::find(name).map(|policy| policy.parameters);
            return spec.map(Contender::Tier).map_err(|error| explained(&error, parameters));
        }
        match Contestant::parse(text)? {
            Contestant::Policy(policy) => Ok(Contender::Page(policy)),
            Contestant::Bound(_) | Contestant::Feasible(_) => Err(SimError::usage(
                format!("policy {text} is of memory of one tier"),
                "give bound without parameters for the least time of any schedule",
            )),
        }
    }

    /// As the user wrote it.
    pub fn written(&self) -> &str {
        match self {
            Contender::Page(policy) => policy.written(),
            Contender::Tier(policy) => policy.written(),
            Contender::Bound => "bound",
        }
    }
}

/// What to run. Rows come in the order trace, page size, fast size, policy, promotion, profile, each as given, duplicates
/// kept.
#[derive(Clone, Debug)]
pub struct TierExperiment {
    /// The traces.
    pub traces: Vec<TraceInput>,
    /// Sizes of the fast tier.
    pub fast: Vec<TierMemory>,
    /// The size of the slow tier; no limit if `None`.
    pub slow: Option<TierMemory>,
    /// The profiles as the user wrote them.
    pub tiers: Vec<String>,
    /// The policies.
    pub policies: Vec<Contender>,
    /// Whether a bound that cannot be computed is refused, not left without a time.
    pub needs_bound: bool,
    /// The rules of promotion, as written and read.
    pub promotions: Vec<(String, PromotionRule)>,
    /// Whether the user gave a rule of promotion or what page policies see.
    pub page_options_given: bool,
    /// What page policies see.
    pub sight: Sight,
    /// Where new pages go; `fast` if `None`.
    pub placement: Option<Placement>,
    /// Whether a promoted page keeps its slow frame.
    pub keeps_shadows: bool,
    /// Whether a first reference reads from storage.
    pub reads_first_touches: bool,
    /// The most promotions, if there is a limit.
    pub limit: Option<MigrationLimit>,
    /// References within which a promotion after a demotion is ping-pong.
    pub ping_pong: u64,
    /// The device below.
    pub storage: String,
    /// Seconds that the trace took, if the user says.
    pub trace_seconds: Option<BigRational>,
    /// Page sizes in bytes, powers of two.
    pub page_sizes_bytes: Vec<u64>,
    /// Seed of policies that draw random numbers.
    pub seed: u64,
    /// From where counts are taken, and whether for each interval too.
    pub intervals: Intervals,
    /// Threads; all cores if `None`.
    pub jobs: Option<usize>,
}

/// A cell: its row, and what happened over time, of which the bound has nothing.
#[derive(Clone, Debug)]
pub struct TierResult {
    /// The row.
    pub row: TierRow,
    /// The rows of its intervals, if they are asked for.
    pub intervals: Vec<TierRow>,
    /// What happened over time.
    pub course: TierCourse,
}

impl TierResult {
    fn new(Rows { row, intervals }: Rows<TierRow>, course: TierCourse) -> Self {
        TierResult { row, intervals, course }
    }
}

impl Cells for TierExperiment {
    fn lengths(&self) -> Vec<usize> {
        let TierExperiment { page_sizes_bytes, fast, policies, promotions, tiers, .. } = self;
        vec![page_sizes_bytes.len(), fast.len(), policies.len(), promotions.len(), tiers.len()]
    }

    fn sizes(&self) -> Vec<String> {
        self.fast.iter().map(|size| size.written()).collect()
    }

    /// Rules of promotion are of page policies alone; others have one cell for all of them.
    fn has(&self, point: &[usize]) -> bool {
        matches!(self.policies[point[2]], Contender::Page(_)) || point[3] == 0
    }

    fn settle(&self, point: &[usize], options: &mut Columns) {
        match self.policies[point[2]] {
            Contender::Page(_) => {
                let (rule, _) = &self.promotions[point[3]];
                options.insert("promote".to_owned(), rule.as_str().into());
            }
            Contender::Tier(_) | Contender::Bound => _ = options.remove("promote"),
        }
    }
}

/// The results of an experiment and the facts that belong to them.
#[derive(Clone, Debug)]
pub struct TierOutcome {
    /// One entry per cell.
    pub cells: Vec<TierResult>,
    /// One entry per trace; its pages are those of the first page size.
    pub traces: Vec<ReadTrace>,
    /// The profiles.
    pub tiers: Vec<(String, MemoryTiers)>,
    /// The device below.
    pub storage: Device,
}

/// Runs an experiment.
///
/// # Errors
///
/// Everything that can be known before a trace is read is checked before; then the first trace that cannot be read, or
/// [`SimError::Interrupted`].
pub fn run_tier(experiment: &TierExperiment, progress: &Progress) -> Result<TierOutcome, SimError> {
    run_tier_cells(experiment, &Selection::default(), progress)
}

/// Runs the selected cells of an experiment.
///
/// # Errors
///
/// Those of [`run_tier`], and a cell that there is not.
pub fn run_tier_cells(
    experiment: &TierExperiment,
    selection: &Selection<'_, TierResult>,
    progress: &Progress,
) -> Result<TierOutcome, SimError> {
    crate::study::check_given(&experiment.traces, "trace", "a file")?;
    let study = TierStudy::new(experiment)?;
    let (mut cells, mut traces) = (Vec::new(), Vec::new());
    let take = |sizes: Vec<prepared::AtSize>, finished: Vec<TierResult>| {
        cells.extend(finished);
        traces.extend(sizes.into_iter().take(1).map(|at| at.views.trace));
    };
    run_study(&study, &experiment.traces, experiment.jobs, progress, selection, take)?;
    let (tiers, storage) = study.into_profiles();
    Ok(TierOutcome { cells, traces, tiers, storage })
}

/// Checks what can be known of an experiment before a trace is read.
///
/// # Errors
///
/// The first thing that makes no sense.
pub fn check_tier(experiment: &TierExperiment) -> Result<(), SimError> {
    TierStudy::new(experiment).map(drop)
}
