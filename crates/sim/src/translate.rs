//! Address translation and paging: a grid of cells, traces × page sizes × memory sizes × policies × TLBs × storage.
//!
//! ```text
//! requests → references → TLB (two levels) → page-table walk → memory under a policy
//!            (A-52)       counts             counts            faults, promotions, kills
//! ```
//!
//! One replay serves all TLBs, since memory does not depend on them, and all storage devices that resolve the policy
//! alike: counts are priced, not replayed.

mod geometry;
mod options;
mod page_table;
mod paging;
mod price;
mod reading;
mod replay;
mod row;
mod space;
mod study;
#[cfg(test)]
mod tests;
mod tlb;
mod translator;

use clockhand_device::Device;
use clockhand_policy::Ratio;
use clockhand_policy::catalog::PolicySpec;
use clockhand_quantity::{Text, option};
use clockhand_trace::{TraceInput, bytes_with_unit};

pub use geometry::{Replacement, TlbGeometry};
pub use options::TranslateOptions;
use price::PricedStorage;
pub use price::{Storage, TranslationTimes};
use reading::PreparedSize;
pub use row::TranslateRow;
use space::Promotion;
use study::TranslateStudy;
use translator::MOST_LEVELS;
pub use translator::TlbLevels;

use crate::contestant::Contestant;
use crate::declaration::StudyDeclaration;
use crate::error::SimError;
use crate::intervals::{Intervals, Rows};
use crate::memory_size::MemorySize;
use crate::read_trace::ReadTrace;
use crate::study::{Cells, Selection, check_given, run_study};
use clockhand_trace::progress::Progress;

/// How everything else knows the study.
pub(crate) const STUDY: StudyDeclaration = StudyDeclaration {
    name: "translate",
    command: "translate",
    options: TranslateOptions::OPTIONS,
    columns: TranslateRow::COLUMNS,
    dimensions: &["page_size", "frames|memory", "policy", "tlb*tlb2", "ratio|device"],
    newer: &[],
    value: "amat_ns",
    order: &[
        "page_bytes",
        "frames",
        "policy",
        "tlb_entries",
        "tlb",
        "tlb2",
        "storage_ratio",
        "device",
    ],
};

/// The most pages that a fault brings with its own.
const MOST_PREFETCHED: u32 = 128;

/// Huge pages: their size, and when a region becomes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HugePages {
    /// Bytes of a huge page.
    pub bytes: u64,
    /// The share of its base pages that must be in memory, above 0 and at most 1.
    pub share: Ratio,
}

impl HugePages {
    /// Reads `--huge`: `SIZE[:SHARE]`.
    ///
    /// # Errors
    ///
    /// A sentence that names the text and what is allowed.
    pub fn parse(text: &str) -> Result<Self, SimError> {
        let refused = |problem: &str, remedy: &str| {
            Err(SimError::usage(option("huge") + format!(" {text:?}: {problem}"), remedy))
        };
        let (size, share) = text.split_once(':').unwrap_or((text, "1"));
        let Some(bytes) = bytes_with_unit(size).or_else(|| size.parse().ok()) else {
            return refused(
                "there is no size before the colon",
                "give one such as 2MiB or 2MiB:1/2",
            );
        };
        match share.parse() {
            Ok(share) if Ratio::whole(0) < share && share <= Ratio::whole(1) => {
                Ok(HugePages { bytes, share })
            }
            _ => refused("the share is not above 0 and at most 1", "give one such as 1/2 or 0.9"),
        }
    }

    /// As base pages of `page_bytes`.
    fn promotion(self, page_bytes: u64) -> Result<Promotion, SimError> {
        let pages = self.bytes / page_bytes;
        let fits = self.bytes.is_multiple_of(page_bytes) && pages.is_power_of_two() && pages >= 2;
        match u32::try_from(pages).ok().filter(|_| fits) {
            Some(pages) => Ok(Promotion::new(pages, self.share)),
            None => Err(SimError::usage(
                option("huge")
                    + format!(
                        " {} bytes is not 2, 4, 8, … pages of {page_bytes} bytes",
                        self.bytes
                    ),
                Text::from("give another huge page or leave out ")
                    + option("page-size")
                    + format!(" {page_bytes}"),
            )),
        }
    }
}

/// What to run. Rows come in the order trace, page size, memory size, policy, TLB, storage, each as given, duplicates kept.
#[derive(Clone, Debug)]
pub struct TranslateExperiment {
    /// The traces.
    pub traces: Vec<TraceInput>,
    /// Page sizes in bytes, powers of two.
    pub page_sizes_bytes: Vec<u64>,
    /// The TLBs.
    pub tlbs: Vec<TlbLevels>,
    /// The memory sizes.
    pub sizes: Vec<MemorySize>,
    /// The policies of memory.
    pub policies: Vec<Contestant>,
    /// The storage that pages are loaded from.
    pub storage: Vec<Storage>,
    /// What accesses take.
    pub times: TranslationTimes,
    /// Whether a write-back costs time.
    pub charge_write_back: bool,
    /// Levels of the page table, from 1.
    pub walk_levels: u32,
    /// Entries of the cache of upper page-table entries.
    pub walk_cache: u32,
    /// Huge pages, if there are any.
    pub huge: Option<HugePages>,
    /// Pages that a fault brings besides its own.
    pub prefetch: u32,
    /// Kills streams instead of evicting pages.
    pub no_swap: bool,
    /// Makes a request one reference to each page that it touches, instead of one to its first byte.
    pub split: bool,
    /// Empties TLB and walk cache when the stream changes.
    pub flush_on_switch: bool,
    /// Seed of policies and TLBs that draw random numbers.
    pub seed: u64,
    /// From where counts are taken, and whether for each interval too.
    pub intervals: Intervals,
    /// Threads; all cores if `None`.
    pub jobs: Option<usize>,
}

impl Cells for TranslateExperiment {
    fn lengths(&self) -> Vec<usize> {
        let TranslateExperiment { page_sizes_bytes, sizes, policies, tlbs, storage, .. } = self;
        vec![page_sizes_bytes.len(), sizes.len(), policies.len(), tlbs.len(), storage.len()]
    }

    fn sizes(&self) -> Vec<String> {
        self.sizes.iter().map(|size| size.written()).collect()
    }
}

/// The rows of an experiment and the facts that belong to them.
#[derive(Clone, Debug)]
pub struct TranslateOutcome {
    /// One row per cell.
    pub rows: Vec<TranslateRow>,
    /// The rows of the cells' intervals, if they are asked for.
    pub intervals: Vec<TranslateRow>,
    /// One entry per trace; its pages are those of the first page size.
    pub traces: Vec<ReadTrace>,
    /// The devices, in the order given, and what a page of the first page size costs on each.
    pub devices: Vec<(String, Device, clockhand_device::PageCost)>,
}

/// Runs an experiment.
///
/// # Errors
///
/// Everything that can be known before a trace is read is checked before; then the first trace that cannot be read,
/// or [`SimError::Interrupted`].
pub fn run_translate(
    experiment: &TranslateExperiment,
    progress: &Progress,
) -> Result<TranslateOutcome, SimError> {
    run_translate_cells(experiment, &Selection::default(), progress)
}

/// Runs the selected cells of an experiment.
///
/// # Errors
///
/// Those of [`run_translate`], and a cell that there is not.
pub fn run_translate_cells(
    experiment: &TranslateExperiment,
    selection: &Selection<'_, Rows<TranslateRow>>,
    progress: &Progress,
) -> Result<TranslateOutcome, SimError> {
    check_given(&experiment.traces, "trace", "a file")?;
    let study = TranslateStudy::new(experiment)?;
    let (mut rows, mut intervals, mut traces) = (Vec::new(), Vec::new(), Vec::new());
    let take = |sizes: Vec<PreparedSize>, finished: Vec<Rows<TranslateRow>>| {
        for of_cell in finished {
            rows.push(of_cell.row);
            intervals.extend(of_cell.intervals);
        }
        traces.extend(sizes.into_iter().next().map(|size| size.trace));
    };
    run_study(&study, &experiment.traces, experiment.jobs, progress, selection, take)?;
    let first = study.priced.into_iter().next().unwrap_or_default();
    let device = |storage: PricedStorage| match (storage.storage, storage.device) {
        (Storage::Device(written), Some((device, cost))) => Some((written, device, cost)),
        _ => None,
    };
    let devices = first.into_iter().filter_map(device).collect();
    Ok(TranslateOutcome { rows, intervals, traces, devices })
}

/// Checks what can be known of an experiment before a trace is read.
///
/// # Errors
///
/// The first thing that makes no sense.
pub fn check_translate(experiment: &TranslateExperiment) -> Result<(), SimError> {
    TranslateStudy::new(experiment).map(drop)
}

/// Refuses what makes no sense; the policies.
fn check(experiment: &TranslateExperiment) -> Result<Vec<PolicySpec>, SimError> {
    check_given(&experiment.page_sizes_bytes, "page size", option("page-size") + " SIZE")?;
    check_given(&experiment.tlbs, "TLB", option("tlb") + " ENTRIES")?;
    check_given(&experiment.sizes, "memory size", option("frames") + " or " + option("memory"))?;
    check_given(&experiment.policies, "policy", option("policy") + " NAME")?;
    check_given(
        &experiment.storage,
        "storage",
        option("ratio") + " NUMBER" + " or " + option("device") + " NAME",
    )?;
    check_range("walk-levels", experiment.walk_levels, 1, MOST_LEVELS)?;
    check_range("walk-cache", experiment.walk_cache, 0, TlbGeometry::LIMIT_ENTRIES)?;
    check_range("prefetch", experiment.prefetch, 0, MOST_PREFETCHED)?;
    for &page_bytes in &experiment.page_sizes_bytes {
        if let Some(huge) = experiment.huge {
            huge.promotion(page_bytes)?;
        }
        for &size in &experiment.sizes {
            check_memory(size, page_bytes)?;
        }
    }
    let of_catalog = |contestant: &Contestant| match contestant {
        Contestant::Policy(policy) => Ok(policy.clone().with_seed(experiment.seed)),
        Contestant::Bound(_) | Contestant::Feasible(_) => Err(SimError::usage(
            option("policy") + " bound pages nothing",
            "give a policy, such as clock",
        )),
    };
    experiment.policies.iter().map(of_catalog).collect()
}

fn check_range(name: &'static str, value: u32, least: u32, most: u32) -> Result<(), SimError> {
    match (least..=most).contains(&value) {
        true => Ok(()),
        false => Err(SimError::usage(
            option(name) + format!(" {value} is out of range"),
            format!("give a whole number from {least} to {most}"),
        )),
    }
}

/// Refuses a memory that holds no page.
fn check_memory(size: MemorySize, page_bytes: u64) -> Result<(), SimError> {
    match size {
        MemorySize::Bytes(bytes) if bytes < page_bytes => Err(SimError::usage(
            option("memory") + format!(" {bytes} bytes holds no page of {page_bytes} bytes"),
            "give more memory or smaller pages",
        )),
        _ => Ok(()),
    }
}
