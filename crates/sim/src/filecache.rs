//! File caches: whether keeping blocks in memory pays on a device, for every policy, capacity and rule of admission.
//!
//! ```text
//! requests → page view → admission → memory and policy → counts → prices of every device
//! ```
//!
//! More devices cost no time: the counts of one replay are priced for all of them.

mod admission;
mod asked;
mod bound;
mod capacity;
mod cost;
mod future;
mod history;
mod insert;
mod options;
mod prices;
mod row;
mod study;

use clockhand_device::Device;
use clockhand_policy::catalog::PolicySpec;
use clockhand_quantity::{Text, option};
use clockhand_trace::{Folding, PageView, TraceInput};

pub use admission::{AdmissionRule, SecondTouch};
pub use capacity::Capacity;
use cost::rounded;
pub use cost::{BlockCosts, FileCacheCosts, Writes, parse_stack_share};
pub use insert::Insert;
pub use options::FileCacheOptions;
use prices::Prices;
pub use row::{BreakEvenRow, FileCacheRow};
use study::FileCacheStudy;

use crate::contestant::Contestant;
use crate::declaration::StudyDeclaration;
use crate::error::SimError;
use crate::intervals::{Intervals, Rows};
use crate::read_trace::ReadTrace;
use crate::sketch::block_key;
use crate::study::{Cells, Selection, check_given, run_study};
use crate::views::folding_for;
use clockhand_trace::progress::Progress;

/// How everything else knows the study.
pub(crate) const STUDY: StudyDeclaration = StudyDeclaration {
    name: "filecache",
    command: "filecache",
    options: FileCacheOptions::OPTIONS,
    columns: FileCacheRow::COLUMNS,
    dimensions: &["page_size", "capacity", "policy", "admission", "device*insert"],
    newer: &[],
    value: "time_us",
    order: &["block_bytes", "capacity", "policy", "admission", "device"],
};

/// What to run. Rows come in the order trace, block size, capacity, policy, admission, device, reading of what inserting a
/// block takes, each as given, duplicates kept. The bound has one for all admissions.
#[derive(Clone, Debug)]
pub struct FileCacheExperiment {
    /// The traces.
    pub traces: Vec<TraceInput>,
    /// The policies, and the bound.
    pub policies: Vec<Contestant>,
    /// Seed of policies that draw random numbers.
    pub seed: u64,
    /// The capacities.
    pub capacities: Vec<Capacity>,
    /// The rules of admission.
    pub admissions: Vec<AdmissionRule>,
    /// Reuses of a block that belady admits, at least; `None` for as many hits as caching it needs to pay.
    pub reuse: Option<u64>,
    /// Options of second-touch.
    pub second_touch: SecondTouch,
    /// Block sizes in bytes, powers of two.
    pub block_sizes_bytes: Vec<u64>,
    /// The devices as the user wrote them.
    pub devices: Vec<String>,
    /// What is charged beside the device.
    pub costs: FileCacheCosts,
    /// Writes dirty blocks when the trace ends.
    pub flush_at_end: bool,
    /// From where counts are taken, and whether for each interval too.
    pub intervals: Intervals,
    /// Threads; all cores if `None`.
    pub jobs: Option<usize>,
}

impl Cells for FileCacheExperiment {
    fn lengths(&self) -> Vec<usize> {
        let FileCacheExperiment { block_sizes_bytes, capacities, policies, admissions, .. } = self;
        let devices = self.devices.len() * self.costs.inserts.len();
        vec![block_sizes_bytes.len(), capacities.len(), policies.len(), admissions.len(), devices]
    }

    fn sizes(&self) -> Vec<String> {
        self.capacities.iter().map(|size| size.written()).collect()
    }

    /// The bound has one cell for all rules of admission.
    fn has(&self, point: &[usize]) -> bool {
        matches!(self.policies[point[2]], Contestant::Policy(_)) || point[3] == 0
    }
}

/// The rows of an experiment and the facts that belong to them.
#[derive(Clone, Debug)]
pub struct FileCacheOutcome {
    /// One entry per cell.
    pub rows: Vec<FileCacheRow>,
    /// The rows of the cells' intervals, if they are asked for.
    pub intervals: Vec<FileCacheRow>,
    /// One entry per trace; its pages are blocks of the first size.
    pub traces: Vec<ReadTrace>,
    /// The devices.
    pub devices: Vec<Device>,
    /// Where cached blocks are.
    pub cache_device: Device,
}

/// Runs an experiment.
///
/// # Errors
///
/// Everything that can be known before a trace is read is checked before; then the first trace that cannot be read, or
/// [`SimError::Interrupted`].
pub fn run_filecache(
    experiment: &FileCacheExperiment,
    progress: &Progress,
) -> Result<FileCacheOutcome, SimError> {
    run_filecache_cells(experiment, &Selection::default(), progress)
}

/// Runs the selected cells of an experiment.
///
/// # Errors
///
/// Those of [`run_filecache`], and a cell that there is not.
pub fn run_filecache_cells(
    experiment: &FileCacheExperiment,
    selection: &Selection<'_, Rows<FileCacheRow>>,
    progress: &Progress,
) -> Result<FileCacheOutcome, SimError> {
    check_given(&experiment.traces, "trace", "a file")?;
    let (policies, prices, foldings) = checked(experiment)?;
    let study = FileCacheStudy {
        experiment,
        contestants: &policies,
        prices: &prices,
        foldings,
        asks: prices.have_set_up(),
    };
    let (mut rows, mut intervals, mut traces) = (Vec::new(), Vec::new(), Vec::new());
    let take = |sizes: Vec<study::AtSize>, finished: Vec<Rows<FileCacheRow>>| {
        for of_cell in finished {
            rows.push(of_cell.row);
            intervals.extend(of_cell.intervals);
        }
        traces.extend(sizes.into_iter().take(1).map(|at| at.views.trace));
    };
    run_study(&study, &experiment.traces, experiment.jobs, progress, selection, take)?;
    let Prices { devices, cache_device, .. } = prices;
    Ok(FileCacheOutcome { rows, intervals, traces, devices, cache_device })
}

/// After how many hits caching a block pays, on every device at every block size with every reading of what inserting it
/// takes, each as given.
///
/// # Errors
///
/// A device or a cost is unusable.
pub fn break_even(
    costs: &FileCacheCosts,
    devices: &[String],
    block_sizes_bytes: &[u64],
) -> Result<Vec<BreakEvenRow>, SimError> {
    check_given(devices, "device", option("device") + " NAME")?;
    let prices = Prices::new(costs, devices, block_sizes_bytes)?;
    let mut rows = Vec::new();
    for at in &prices.at {
        for priced in &at.devices {
            rows.push(BreakEvenRow {
                device: priced.written.clone(),
                block_bytes: at.block_bytes,
                required_hits: priced.costs.required_hits(),
                insert: priced.insert.clone(),
                hit_time_us: rounded(&priced.costs.hit_us),
                bypass_time_us: rounded(&priced.costs.bypass_us),
                admit_time_us: rounded(&priced.costs.admit_us),
                device_resolved: priced.resolved.clone(),
                cache_device: prices.cache_device.resolved(),
            });
        }
    }
    Ok(rows)
}

/// Checks what can be known of an experiment before a trace is read.
///
/// # Errors
///
/// The first thing that makes no sense.
pub fn check_filecache(experiment: &FileCacheExperiment) -> Result<(), SimError> {
    checked(experiment).map(drop)
}

/// The contender of a row.
enum Caching {
    Policy(PolicySpec),
    /// What no cache can do better.
    Bound,
}

/// The policies, what devices cost, and how views must be folded.
fn checked(
    experiment: &FileCacheExperiment,
) -> Result<(Vec<Caching>, Prices, Vec<Folding>), SimError> {
    check(experiment)?;
    let prices =
        Prices::new(&experiment.costs, &experiment.devices, &experiment.block_sizes_bytes)?;
    let policies = policies(experiment)?;
    check_choices(experiment, &policies)?;
    let foldings = foldings(experiment, &policies, &prices)?;
    Ok((policies, prices, foldings))
}

fn check(experiment: &FileCacheExperiment) -> Result<(), SimError> {
    check_given(&experiment.policies, "policy", option("policy") + " NAME")?;
    let sizes = option("capacity") + ", such as " + option("capacity") + " 5%,20%";
    check_given(&experiment.capacities, "capacity", sizes)?;
    check_given(&experiment.admissions, "admission", option("admission") + " NAME")?;
    check_given(&experiment.devices, "device", option("device") + " NAME")?;
    check_given(&experiment.block_sizes_bytes, "block size", option("page-size"))?;
    if experiment.second_touch.history == Some(0) {
        return Err(SimError::usage(
            option("history") + " 0 remembers no block",
            "give blocks, from 1, or leave it out to remember all",
        ));
    }
    Ok(())
}

/// The policies and the bound; other ends of the bracket are refused.
fn policies(experiment: &FileCacheExperiment) -> Result<Vec<Caching>, SimError> {
    let policy = |contestant: &Contestant| match contestant {
        Contestant::Policy(policy) => {
            Ok(Caching::Policy(policy.clone().with_seed(experiment.seed)))
        }
        Contestant::Bound(end) if end.written() == Contestant::BOUND => Ok(Caching::Bound),
        Contestant::Bound(_) => Err(SimError::usage(
            option("policy") + " bound takes no effort in file caches",
            "give bound alone",
        )),
        Contestant::Feasible(_) => Err(SimError::usage(
            option("policy") + " opt-feasible is no policy that a file cache can have",
            Text::from("give min with ")
                + option("admission")
                + " belady, which knows the future, or bound",
        )),
    };
    experiment.policies.iter().map(policy).collect()
}

/// Refuses rules before policies that they cannot stand before.
fn check_choices(experiment: &FileCacheExperiment, policies: &[Caching]) -> Result<(), SimError> {
    let rules = &experiment.admissions;
    if rules.contains(&AdmissionRule::Belady) {
        experiment.intervals.refuse(option("admission") + " belady")?;
    }
    for policy in policies {
        let Caching::Policy(policy) = policy else {
            experiment.intervals.refuse(option("policy") + " bound")?;
            continue;
        };
        let (entry, name) = (policy.entry(), policy.entry().description.name);
        if rules.contains(&AdmissionRule::TinyLfu) && !entry.can_peek {
            return Err(SimError::cannot_peek(option("admission"), "block", name));
        }
        if rules.contains(&AdmissionRule::Belady) && name != "min" {
            return Err(SimError::usage(
                option("admission")
                    + format!(
                        " belady decides itself which block leaves and when, so that {name} has no say"
                    ),
                Text::from("use ") + option("policy") + " min with belady",
            ));
        }
    }
    Ok(())
}

/// How the views of a trace must be folded for all cells.
fn foldings(
    experiment: &FileCacheExperiment,
    policies: &[Caching],
    prices: &Prices,
) -> Result<Vec<Folding>, SimError> {
    let mut foldings = Vec::new();
    if !experiment.intervals.is_off() {
        return Ok(vec![Folding::None]);
    }
    let mut add = |folding| {
        if !foldings.contains(&folding) {
            foldings.push(folding);
        }
    };
    for policy in policies {
        let Caching::Policy(policy) = policy else {
            add(Folding::None);
            continue;
        };
        for &rule in &experiment.admissions {
            if rule != AdmissionRule::Always {
                add(Folding::None);
                continue;
            }
            for device in prices.at.iter().flat_map(|at| &at.devices) {
                add(folding_for(&policy.resolve(1, device.ratio)?));
            }
        }
    }
    Ok(foldings)
}

/// The number by which tinylfu knows each block: its number with its stream's, streams numbered as they appear.
fn block_keys(view: &PageView) -> Vec<u64> {
    let keys = view.page_keys();
    let mut streams: Vec<u32> = keys.iter().map(|&(stream, _)| stream).collect();
    streams.dedup();
    let mut appeared: Vec<u32> = Vec::new();
    for record in view.records() {
        let (stream, _) = keys[record.page() as usize];
        if !appeared.contains(&stream) {
            appeared.push(stream);
        }
        if appeared.len() == streams.len() {
            break;
        }
    }
    let position = |stream: u32| appeared.iter().position(|&other| other == stream);
    let positions: Vec<usize> = streams.iter().filter_map(|&stream| position(stream)).collect();
    let of_stream = |stream: u32| {
        let index = streams.binary_search(&stream).expect("every stream has blocks");
        positions[index] as u32
    };
    keys.iter().map(|&(stream, block)| block_key(of_stream(stream), block)).collect()
}
