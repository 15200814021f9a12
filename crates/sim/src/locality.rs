//! How a program uses its pages: what recency and frequency say about the next read and the next write.
//!
//! [`analyze_locality`] reads one trace and gives, separately for reads and writes, the rankings of the CRAW paper
//! (section III), working sets, inter-reference recency, and what LRU misses and writes back at every memory size.
//! With a [`Sample`] it follows a random share of the pages and gives the curve alone, with its standard error.

mod intervals;
mod inversion;
mod miss_curve;
mod options;
mod ranking;
mod repeats;
mod sampling;
mod thinning;
mod window;
mod working_set;
mod write_frequency;

use clockhand_device::{Device, PageCost};
use clockhand_quantity::{Text, option};
use clockhand_trace::{Folding, Numbering, PageView, PageViewBuilder, TraceInput};

use crate::chunk::CHUNK_RECORDS;
use crate::declaration::StudyDeclaration;
use crate::error::SimError;
use crate::intervals::{ArrivalsAtSizes, Intervals};
use crate::read_trace::ReadTrace;
use crate::sample::Sample;
use crate::stack_distance::{LOOK_AHEAD_RECORDS, LruCounts};
use crate::study::threads;
use clockhand_trace::progress::{Phase, Progress};

pub use intervals::LocalityInterval;
pub use inversion::InvertedRange;
pub use miss_curve::{InterReference, MissCurve, StandardErrors};
pub use options::LocalityOptions;
pub use ranking::Ranking;
pub use repeats::Repeats;
pub use sampling::Sampling;
pub use thinning::Thinning;
pub use window::{WindowPrediction, WindowStudy, predict_window};
pub use working_set::{WorkingSet, WorkingSets};
pub use write_frequency::Ties;

use intervals::intervals_of;
use ranking::recency_ranking;
use repeats::collapsed;
use sampling::sample_curve;
use write_frequency::write_frequency_ranking;

/// How everything else knows the study.
pub(crate) const STUDY: StudyDeclaration = StudyDeclaration {
    name: "locality",
    command: "locality",
    options: LocalityOptions::OPTIONS,
    columns: &[],
    dimensions: &[],
    newer: &[],
    value: "inversion_share",
    order: &["page_bytes", "device"],
};

/// Which references an analysis looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads and writes.
    All,
    /// Reads only.
    Read,
    /// Writes only.
    Write,
}

impl Kind {
    /// In the order in which results list them.
    pub const EVERY: [Kind; 3] = [Kind::All, Kind::Read, Kind::Write];

    /// The word for it in results.
    pub fn name(self) -> &'static str {
        match self {
            Kind::All => "all",
            Kind::Read => "read",
            Kind::Write => "write",
        }
    }

    fn references(self, view: &PageView) -> u64 {
        match self {
            Kind::All => view.references(),
            Kind::Read => view.read_references(),
            Kind::Write => view.write_references(),
        }
    }

    fn includes(self, is_write: bool) -> bool {
        match self {
            Kind::All => true,
            Kind::Read => !is_write,
            Kind::Write => is_write,
        }
    }
}

/// Which analyses are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The miss curve, which a sample always gives.
    pub curve: bool,
    /// The inter-reference recency.
    pub inter_reference: bool,
    /// The rankings by recency and by write frequency.
    pub rankings: bool,
    /// The working sets.
    pub working_sets: bool,
    /// Blocks of equally many references in which the rankings are counted too; 0 for none.
    pub blocks: u64,
}

impl Default for Wanted {
    /// All of them.
    fn default() -> Self {
        Wanted { curve: true, inter_reference: true, rankings: true, working_sets: true, blocks: 0 }
    }
}

/// What to analyse, and how.
#[derive(Clone, Debug)]
pub struct LocalityStudy {
    /// The trace.
    pub trace: TraceInput,
    /// Page size in bytes, a power of two.
    pub page_bytes: u64,
    /// The device as the user wrote it; it prices the miss curve.
    pub device: String,
    /// The order of pages with equally many writes.
    pub ties: Ties,
    /// How consecutive references to one page count.
    pub repeats: Repeats,
    /// Follow only these pages, and give the miss curve alone.
    pub sample: Option<Sample>,
    /// Seed of the choice of pages.
    pub seed: u64,
    /// The intervals whose pages are counted.
    pub intervals: Intervals,
    /// The analyses to make; a sample always gives the miss curve alone.
    pub wanted: Wanted,
    /// Threads; all cores if `None`.
    pub jobs: Option<usize>,
}

/// What a trace turned out to be like.
#[derive(Clone, Debug)]
pub struct Locality {
    /// The trace; where only a sample of pages was followed, its numbers of pages are estimates.
    pub trace: ReadTrace,
    /// The device.
    pub device: Device,
    /// What a page operation costs on it.
    pub page_cost: PageCost,
    /// What LRU misses and writes back at every memory size, or, sampled, at a grid of them.
    pub curve: MissCurve,
    /// Results that need the whole trace; `None` for a sample.
    pub whole: Option<WholeTrace>,
    /// The sample; `None` for the whole trace.
    pub sampling: Option<Sampling>,
    /// The references of each interval, if intervals are asked for.
    pub intervals: Vec<LocalityInterval>,
}

/// The analyses that need every reference; empty where they were not wanted.
#[derive(Clone, Debug)]
pub struct WholeTrace {
    /// References by position on the LRU list of their kind, in the order of [`Kind::EVERY`].
    pub recency: [Ranking; 3],
    /// Writes by the page's place among all pages, ordered by writes so far.
    pub write_frequency: Ranking,
    /// Average working sets.
    pub working_sets: WorkingSets,
    /// Reads and writes by inter-reference recency.
    pub inter_reference: InterReference,
}

/// Analyses one trace.
///
/// # Errors
///
/// A device, page size or sample that makes no sense, found before the trace is read; a trace that cannot be read;
/// [`SimError::Interrupted`].
pub fn analyze_locality(study: &LocalityStudy, progress: &Progress) -> Result<Locality, SimError> {
    let device = Device::named_or_file(&study.device)?;
    let page_cost = device.page_cost(study.page_bytes)?;
    check_intervals(study)?;
    if let Some(sample) = study.sample {
        let (trace, curve, sampling) = sample_curve(study, sample, progress)?;
        return Ok(Locality {
            trace,
            device,
            page_cost,
            curve,
            whole: None,
            sampling: Some(sampling),
            intervals: Vec::new(),
        });
    }
    let mut arrivals = arrivals_for(study);
    let (trace, view) =
        read(&study.trace, study.page_bytes, study.repeats, &mut arrivals, progress)?;
    let arrivals = arrivals.finish().pop().unwrap_or_default();
    let cuts = study.intervals.cuts(&trace.name, trace.references, &arrivals)?;
    let intervals = intervals_of(&view, &cuts);
    let threads = threads(study.jobs, ANALYSES)?;
    let (counts, whole) = threads.install(|| analyze(&view, study.ties, study.wanted, progress))?;
    let pages = view.footprint_pages();
    drop(view);
    let curve = match study.wanted.curve {
        true => MissCurve::exact(&counts, pages),
        false => MissCurve::default(),
    };
    let (whole, sampling) = (Some(whole), None);
    Ok(Locality { trace, device, page_cost, curve, whole, sampling, intervals })
}

/// Refuses intervals of what is known of a whole trace only.
fn check_intervals(study: &LocalityStudy) -> Result<(), SimError> {
    let Wanted { curve, inter_reference, rankings, working_sets, .. } = study.wanted;
    if study.sample.is_some() {
        study.intervals.refuse(option("sample"))?;
    }
    if study.repeats == Repeats::Collapsed {
        study.intervals.refuse(option("repeats") + " collapsed")?;
    }
    if study.intervals.has_warm_up() && (curve || inter_reference || rankings || working_sets) {
        return Err(SimError::usage(
            option("warm-up") + " is for " + option("rows") + " intervals",
            Text::from("the other tables are of a whole trace, from ")
                + option("skip")
                + " on if that is given",
        ));
    }
    Ok(())
}

fn arrivals_for(study: &LocalityStudy) -> ArrivalsAtSizes<'_> {
    let page_sizes_bytes = std::slice::from_ref(&study.page_bytes);
    let limit_bytes = study.trace.memory_limit_bytes();
    ArrivalsAtSizes::new(!study.intervals.is_off(), page_sizes_bytes, limit_bytes)
}

/// One record for each reference: a folded run does not tell how many of its references write.
fn read(
    input: &TraceInput,
    page_bytes: u64,
    repeats: Repeats,
    arrivals: &mut ArrivalsAtSizes<'_>,
    progress: &Progress,
) -> Result<(ReadTrace, PageView), SimError> {
    let builder = |folding| -> Result<PageViewBuilder, SimError> {
        let builder = PageViewBuilder::new(page_bytes, folding)?;
        let limit_bytes = input.memory_limit_bytes();
        Ok(builder.within(limit_bytes).numbered(Numbering::ByFirstTouch))
    };
    let mut builder_of_all = builder(match repeats {
        Repeats::Each => Folding::None,
        Repeats::Collapsed => Folding::Runs,
    })?;
    let report = input.for_each_batch(progress, &mut |batch| {
        builder_of_all.extend(batch);
        arrivals.extend(batch)
    })?;
    let view = builder_of_all.finish()?;
    let trace = ReadTrace {
        name: input.name(),
        report,
        references: view.references(),
        read_references: view.read_references(),
        write_references: view.write_references(),
        footprint_pages: view.footprint_pages(),
        dirty_footprint_pages: view.dirty_footprint_pages(),
    };
    let view = match repeats {
        Repeats::Each => view,
        Repeats::Collapsed => collapsed(&view, page_bytes, builder(Folding::None)?)?,
    };
    Ok((trace, view))
}

/// Each passes over the records: the curve, with which the ranking of all references comes, rankings of reads and of
/// writes, the write frequency, the working sets.
const ANALYSES: usize = 5;

fn analyze(
    view: &PageView,
    ties: Ties,
    wanted: Wanted,
    progress: &Progress,
) -> Result<(LruCounts, WholeTrace), SimError> {
    let Wanted { inter_reference, rankings, working_sets, blocks, .. } = wanted;
    let passes = 1 + 3 * u64::from(rankings) + u64::from(working_sets);
    progress.enter(Phase::Replaying, passes * view.records().len() as u64);
    let recency =
        |kind| move || if_wanted(rankings, || recency_ranking(view, kind, blocks, progress));
    let ((counts, (read, write)), (write_frequency, working_sets)) = rayon::join(
        || {
            rayon::join(
                || LruCounts::of(view, progress, 1),
                || rayon::join(recency(Kind::Read), recency(Kind::Write)),
            )
        },
        || {
            rayon::join(
                || if_wanted(rankings, || write_frequency_ranking(view, ties, blocks, progress)),
                || if_wanted(working_sets, || WorkingSets::of(view, progress)),
            )
        },
    );
    let counts = counts?;
    let all = if_wanted(rankings, || match blocks {
        0 => Ok(Ranking::of_distances(&counts, view.references())),
        _ => recency_ranking(view, Kind::All, blocks, progress),
    });
    let whole = WholeTrace {
        recency: [all?, read?, write?],
        write_frequency: write_frequency?,
        working_sets: working_sets?,
        inter_reference: if_wanted(inter_reference, || {
            Ok(InterReference::of(&counts, view.footprint_pages()))
        })?,
    };
    Ok((counts, whole))
}

/// The result of an analysis, empty if it is not wanted.
fn if_wanted<T: Default>(
    is_wanted: bool,
    analyze: impl FnOnce() -> Result<T, SimError>,
) -> Result<T, SimError> {
    if is_wanted { analyze() } else { Ok(T::default()) }
}

/// Hands every reference, as page and whether it writes, to `take`; stops when the run is cancelled.
///
/// A little before, `look_ahead` has the processor fetch what is kept of the page.
fn for_each_reference<S>(
    view: &PageView,
    progress: &Progress,
    state: &mut S,
    look_ahead: impl Fn(&S, u32),
    take: impl Fn(&mut S, u32, bool),
) -> Result<(), SimError> {
    debug_assert_eq!(view.folding(), Folding::None, "each reference is a record");
    for chunk in view.records().chunks(CHUNK_RECORDS) {
        for records in chunk.chunks(LOOK_AHEAD_RECORDS) {
            records.iter().for_each(|record| look_ahead(state, record.page()));
            for record in records {
                take(state, record.page(), record.first_is_write());
            }
        }
        progress.add_done(chunk.len() as u64);
        if progress.is_cancelled() {
            return Err(SimError::Interrupted);
        }
    }
    Ok(())
}
