//! Cells from samples of the pages: any policy, replayed in a memory that is scaled like the sample.
//!
//! A page belongs to a sample if its hash is below a threshold (SHARDS: Waldspurger, Park, Garthwaite and Ahmad, FAST 2015), and all
//! its references are followed. A cell of S frames is replayed with n/N × S of them, n of the N pages being in the sample
//! (Waldspurger, Saemundsson, Ahmad and Park, USENIX ATC 2017), and each count stands for N/n. References and pages are counted on
//! the whole trace, so that what a sample has too many or too few of counts as hits (SHARDS-adj).
//!
//! That is done for [[`REPLICATES`]] samples with hash functions of their own. The row is the mean of their estimates,
//! and their spread gives its standard error. Half of each sample is replayed too: it shows the bias of a memory of few
//! frames, which all samples share. Frames are whole numbers; replicates round them up or down such that their mean is
//! exact.

mod estimate;
mod reading;

use clockhand_quantity::{Text, option};
use std::fmt;
use std::num::NonZeroU32;

use clockhand_policy::catalog::{Kind, PolicySpec};
use clockhand_trace::Folding;

use super::row::RowsOf;
use super::{Experiment, Outcome, PagesCell, Row, frames_of_policy};
use crate::intervals::{Cuts, Part};
use crate::memory_size::check_reserve;
use crate::pricing::Pricing;
use crate::replay::Cell;
use crate::sample::Sample;
use crate::study::{Means, OnFinished, Selection, Study, run_cells};
use crate::views::{folding_for, foldings};
use crate::{Contestant, Progress, ReadTrace, SimError, TraceInput};
use estimate::{Replica, Replicas, estimated};
use reading::{Replicate, SampledTrace, count, read};

/// Samples of a cell, each with a hash function of its own.
pub(super) const REPLICATES: u32 = 8;

/// Fewer frames than this behave unlike a memory of many.
const LEAST_FRAMES: u32 = 32;

/// The rates that `auto` tries before it takes the whole trace: with 8 replicates and their halves, a tenth costs more than that.
const RATES: [f64; 6] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05];

/// Policies that samples tell nothing of. LFU gives up the page that it loaded last at the next miss, and the next miss of a sample
/// comes much later.
const UNSCALABLE: [&str; 1] = ["lfu"];

/// Which pages are followed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PagesSample {
    /// These.
    Fixed(Sample),
    /// For each cell the least rate with a standard error of the I/O time below this share of it.
    Below(f64),
}

impl PagesSample {
    /// Reads `--sample`: a rate (`0.01`, `1%`), a number of pages (`8192`), or the error to stay below (`auto:1%`).
    ///
    /// # Errors
    ///
    /// A sentence that names the text and what is allowed.
    pub fn parse(text: &str) -> Result<Self, SimError> {
        let Some(error) = text.strip_prefix("auto") else {
            return Sample::parse(text).map(PagesSample::Fixed);
        };
        let share =
            error.strip_prefix(':').filter(|share| share.ends_with('%') || share.contains('.'));
        match share.map(Sample::parse) {
            Some(Ok(Sample::Rate(share))) if share < 1.0 => Ok(PagesSample::Below(share)),
            _ => Err(SimError::usage(
                option("sample") + format!(" {text:?} names no error to stay below"),
                "give one such as auto:1%, above 0% and below 100%",
            )),
        }
    }
}

impl fmt::Display for PagesSample {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PagesSample::Fixed(sample) => sample.fmt(formatter),
            PagesSample::Below(error) => write!(formatter, "auto:{}%", error * 100.0),
        }
    }
}

/// Runs an experiment on samples.
pub(super) fn simulate(
    experiment: &Experiment,
    sample: PagesSample,
    progress: &Progress,
) -> Result<Outcome, SimError> {
    let samples = Samples::new(experiment, None, &|_, _| ())?;
    let (mut rows, mut traces) = (Vec::new(), Vec::new());
    for input in &experiment.traces {
        let (trace, of_trace) = samples.rows(input, sample, progress)?;
        rows.extend(of_trace);
        traces.push(trace);
    }
    let Pricing { device, page_cost, .. } = samples.pricing;
    let (intervals, gauges) = (Vec::new(), Vec::new());
    Ok(Outcome { rows, intervals, gauges, traces, device, page_cost })
}

/// Runs cells of an experiment on samples of one trace; the experiment's own traces and sizes are not looked at. Each
/// cell is a policy, by its position among the experiment's, and a number of frames. `on_finished` gets each row at once,
/// with its cell's position, from any thread and in any order.
///
/// # Errors
///
/// The experiment has no sample, or one that tells nothing of such cells; the trace cannot be read, or
/// [`SimError::Interrupted`]; rows reported before stay true.
pub fn simulate_sampled(
    experiment: &Experiment,
    input: &TraceInput,
    cells: &[(usize, NonZeroU32)],
    progress: &Progress,
    on_finished: OnFinished<'_, Row>,
) -> Result<ReadTrace, SimError> {
    let sample = experiment.sample.ok_or_else(|| {
        SimError::usage(
            "no sample is given",
            Text::from("add one such as ") + option("sample") + " 1%",
        )
    })?;
    let chosen = |&(policy, frames): &(usize, NonZeroU32)| PagesCell {
        frames: frames.get(),
        contestant: &experiment.policies[policy],
    };
    let cells: Vec<PagesCell<'_>> = cells.iter().map(chosen).collect();
    check_reserve(experiment.reserve, cells.iter().map(|cell| cell.frames))?;
    let (trace, _) =
        Samples::new(experiment, Some(&cells), on_finished)?.rows(input, sample, progress)?;
    Ok(trace)
}

/// Says what a trace is at a page size, without keeping anything of it.
///
/// # Errors
///
/// The trace cannot be read, or [`SimError::Interrupted`].
pub fn count_trace(
    input: &TraceInput,
    page_bytes: u64,
    progress: &Progress,
) -> Result<ReadTrace, SimError> {
    count(input, page_bytes, progress)
}

/// What all samples of an experiment share.
struct Samples<'a> {
    experiment: &'a Experiment,
    pricing: Pricing,
    foldings: Vec<Folding>,
    /// The cells of each trace; those of the experiment if `None`.
    cells: Option<&'a [PagesCell<'a>]>,
    on_finished: OnFinished<'a, Row>,
}

impl<'a> Samples<'a> {
    fn new(
        experiment: &'a Experiment,
        cells: Option<&'a [PagesCell<'a>]>,
        on_finished: OnFinished<'a, Row>,
    ) -> Result<Self, SimError> {
        check(experiment)?;
        let pricing = Pricing::new(&experiment.device, experiment.page_bytes)?;
        let foldings = foldings(&experiment.policies, pricing.device_ratio)?;
        // A period of a sample has fewer references, how many is known at the end: single references suit all periods.
        let folded = |folding: &Folding| match folding {
            Folding::Runs => Folding::Runs,
            Folding::RunsWithin(_) | Folding::None => Folding::None,
        };
        let mut foldings: Vec<Folding> = foldings.iter().map(folded).collect();
        foldings.dedup();
        Ok(Samples { experiment, pricing, foldings, cells, on_finished })
    }

    fn at(&self, rate: f64) -> SampledStudy<'_> {
        let Samples { experiment, pricing, foldings, cells, .. } = self;
        SampledStudy { experiment, pricing, foldings, cells: *cells, rate }
    }

    /// The rows of a trace, which the caller's callback receives too.
    fn rows(
        &self,
        input: &TraceInput,
        sample: PagesSample,
        progress: &Progress,
    ) -> Result<(ReadTrace, Vec<Row>), SimError> {
        match sample {
            PagesSample::Fixed(Sample::Rate(rate)) => {
                self.at(rate).rows(input, sample, progress, self.on_finished)
            }
            PagesSample::Fixed(Sample::Pages(pages)) => {
                check_can_be_read_again(input, sample)?;
                let whole = count(input, self.experiment.page_bytes, progress)?;
                let rate = f64::from(pages) / f64::from(whole.footprint_pages);
                self.at(rate.min(1.0)).rows(input, sample, progress, self.on_finished)
            }
            PagesSample::Below(error) => {
                check_can_be_read_again(input, sample)?;
                self.rows_below(input, error, progress)
            }
        }
    }

    /// The rows of a trace, each cell with the least rate that makes its error small enough.
    fn rows_below(
        &self,
        input: &TraceInput,
        error: f64,
        progress: &Progress,
    ) -> Result<(ReadTrace, Vec<Row>), SimError> {
        let trace = count(input, self.experiment.page_bytes, progress)?;
        let whole = self.at(1.0);
        let cells = whole.cells_of(&trace)?;
        let mut rows: Vec<Option<Row>> = vec![None; cells.len()];
        for rate in RATES.into_iter().chain([1.0]) {
            let study = self.at(rate);
            let is_wanted = |position: &usize| {
                rows[*position].is_none() && study.is_enough(&trace, &cells[*position])
            };
            let positions: Vec<usize> = (0..cells.len()).filter(is_wanted).collect();
            if positions.is_empty() {
                continue;
            }
            let sampled = study.prepare(input, progress)?;
            check_unchanged(&trace, &sampled.trace)?;
            let wanted: Vec<PagesCell<'_>> =
                positions.iter().map(|&position| cells[position]).collect();
            let found = study.run_all(&sampled, &wanted, progress, &|_, _| ())?;
            for (position, row) in positions.into_iter().zip(found) {
                let standard_error = row.io_time_us_standard_error.unwrap_or(0.0);
                if rate >= 1.0 || standard_error <= error * row.io_time_us {
                    (self.on_finished)(position, &row);
                    rows[position] = Some(row);
                }
            }
        }
        Ok((trace, rows.into_iter().flatten().collect()))
    }
}

/// Refuses what samples tell nothing of.
pub(super) fn check(experiment: &Experiment) -> Result<(), SimError> {
    let end = experiment.policies.iter().find(|it| !matches!(it, Contestant::Policy(_)));
    if let Some(end) = end {
        return Err(SimError::usage(
            format!("an estimate of {} is no bound", end.written()),
            Text::from("leave it out or compute it without ") + option("sample"),
        ));
    }
    let unscalable = |contestant: &&Contestant| {
        let Contestant::Policy(policy) = contestant else { return false };
        UNSCALABLE.contains(&policy.entry().description.name)
    };
    if let Some(policy) = experiment.policies.iter().find(unscalable) {
        return Err(SimError::usage(
            format!(
                "{} behaves otherwise in a scaled memory, since it gives up new pages at the next miss",
                policy.written()
            ),
            Text::from("leave it out or compute it without ") + option("sample"),
        ));
    }
    if experiment.observation.is_some_and(|observation| observation.gauge_every.is_some()) {
        return Err(SimError::usage(
            "gauges of a scaled memory are not those of the whole",
            Text::from("leave out ") + option("gauges") + " or " + option("sample"),
        ));
    }
    Ok(())
}

/// Refuses what can be read only once where it must be read several times.
fn check_can_be_read_again(input: &TraceInput, sample: PagesSample) -> Result<(), SimError> {
    if input.can_be_read_again() {
        return Ok(());
    }
    Err(SimError::usage(
        option("sample")
            + format!(
                " {sample} reads the trace several times, and {} can be read once",
                input.name()
            ),
        "store it in a file, or give a rate such as 1%",
    ))
}

fn check_unchanged(first: &ReadTrace, again: &ReadTrace) -> Result<(), SimError> {
    if first.report.sha256 == again.report.sha256 && first.references == again.references {
        return Ok(());
    }
    Err(SimError::usage(
        format!("{} changed while it was read", first.name),
        "run the command again",
    ))
}

/// Page policies on samples of one rate.
struct SampledStudy<'a> {
    experiment: &'a Experiment,
    pricing: &'a Pricing,
    foldings: &'a [Folding],
    cells: Option<&'a [PagesCell<'a>]>,
    rate: f64,
}

impl<'a> SampledStudy<'a> {
    /// The rows of a trace; a cell that is too small is refused.
    fn rows(
        &self,
        input: &TraceInput,
        sample: PagesSample,
        progress: &Progress,
        on_finished: OnFinished<'_, Row>,
    ) -> Result<(ReadTrace, Vec<Row>), SimError> {
        let sampled = self.prepare(input, progress)?;
        let cells = self.cells(&sampled)?;
        let smallest = cells.iter().min_by_key(|cell| cell.frames).expect("there are cells");
        if !self.is_enough(&sampled.trace, smallest) {
            return Err(self.too_small(&sampled.trace, smallest, sample));
        }
        let rows = self.run_all(&sampled, &cells, progress, on_finished)?;
        Ok((sampled.trace, rows))
    }

    fn run_all(
        &self,
        sampled: &SampledTrace,
        cells: &[PagesCell<'a>],
        progress: &Progress,
        on_finished: OnFinished<'_, Row>,
    ) -> Result<Vec<Row>, SimError> {
        let selection = Selection { cells: None, on_finished };
        let means = Means { jobs: self.experiment.jobs, memory_bytes: u64::MAX, progress };
        run_cells(self, sampled, cells, means, &selection)
    }

    fn cells_of(&self, trace: &ReadTrace) -> Result<Vec<PagesCell<'a>>, SimError> {
        match self.cells {
            Some(chosen) => Ok(chosen.to_vec()),
            None => super::cells_of(self.experiment, trace.footprint_pages),
        }
    }

    /// Frames of a cell that a policy can use: more than there are pages change nothing.
    fn useful_frames(&self, trace: &ReadTrace, cell: &PagesCell<'_>) -> u32 {
        frames_of_policy(self.experiment, cell.frames).min(trace.footprint_pages)
    }

    /// Whether samples at this rate leave a cell enough frames.
    fn is_enough(&self, trace: &ReadTrace, cell: &PagesCell<'_>) -> bool {
        let frames = f64::from(self.useful_frames(trace, cell));
        self.rate >= 1.0 || frames * self.rate >= f64::from(LEAST_FRAMES)
    }

    fn too_small(&self, trace: &ReadTrace, cell: &PagesCell<'_>, sample: PagesSample) -> SimError {
        let frames = self.useful_frames(trace, cell);
        let share = self.rate * 100.0;
        // Rounded up, so that it is enough.
        let least = (f64::from(LEAST_FRAMES) / f64::from(frames) * 1000.0).ceil() / 10.0;
        let advice = match least {
            ..=10.0 => format!("give a sample of at least {least}% or more memory").into(),
            _ => Text::from("leave out ") + option("sample") + " for so little memory",
        };
        SimError::usage(
            option("sample")
                + format!(
                    " {sample} leaves {:.1} of {frames} frames on {} ({share:.3}% of its pages), where \
                     {LEAST_FRAMES} are the least",
                    f64::from(frames) * self.rate,
                    trace.name
                ),
            advice,
        )
    }

    fn replica(
        &self,
        replicate: &Replicate,
        number: usize,
        cell: (u32, &PolicySpec),
        pages: u32,
        progress: &Progress,
    ) -> Result<Replica, SimError> {
        let (frames, policy) = cell;
        let (of_sample, of_trace) = (u64::from(replicate.pages), u64::from(pages));
        let resolved =
            policy.resolve(frames, self.pricing.device_ratio)?.scaled(of_sample, of_trace);
        let folding = match folding_for(&resolved) {
            Folding::Runs => Folding::Runs,
            Folding::RunsWithin(_) | Folding::None => Folding::None,
        };
        let view = replicate.view(folding);
        let next_use =
            (policy.entry().kind == Kind::Offline).then(|| view.next_use(progress)).transpose()?;
        let cell = Cell {
            runs: view.pages().into(),
            next_use,
            frames: scaled_frames(frames, of_sample, of_trace, number as u64),
            options: self.experiment.options,
            progress,
        };
        let scale = of_trace as f64 / of_sample as f64;
        if self.experiment.observation.is_none() {
            return Ok(Replica { scale, counts: cell.replay(&resolved)?, hand_movements: None });
        }
        let (noted, _) = cell.replay_observed(&resolved, None, Cuts::NONE)?;
        let (counts, hand_movements) = noted.into_whole();
        Ok(Replica { scale, counts, hand_movements: Some(hand_movements) })
    }
}

/// The frames of a replicate: `frames × sample / trace`, rounded down in as many replicates as makes their mean exact.
fn scaled_frames(frames: u32, of_sample: u64, of_trace: u64, number: u64) -> u32 {
    let replicates = u64::from(REPLICATES);
    let exact = u128::from(frames) * u128::from(of_sample) * 2 * u128::from(replicates);
    let shift = u128::from(2 * number + 1) * u128::from(of_trace);
    let scaled = (exact + shift) / (2 * u128::from(replicates) * u128::from(of_trace));
    u32::try_from(scaled).unwrap_or(u32::MAX).max(1)
}

impl<'a> Study for SampledStudy<'a> {
    type Prepared = SampledTrace;
    type Cell = PagesCell<'a>;
    type Finished = Row;

    fn prepare(&self, input: &TraceInput, progress: &Progress) -> Result<SampledTrace, SimError> {
        read(input, self.experiment, self.foldings, self.rate, progress)
    }

    fn cells(&self, sampled: &SampledTrace) -> Result<Vec<PagesCell<'a>>, SimError> {
        self.cells_of(&sampled.trace)
    }

    fn steps(&self, sampled: &SampledTrace, _task: &[&PagesCell<'a>]) -> u64 {
        sampled.records()
    }

    fn run(
        &self,
        sampled: &SampledTrace,
        task: &[&PagesCell<'a>],
        progress: &Progress,
    ) -> Result<Vec<Row>, SimError> {
        let rows = RowsOf {
            experiment: self.experiment,
            pricing: self.pricing,
            part: Part::whole(&sampled.trace),
        };
        let row_of = |cell: &&PagesCell<'_>| {
            let Contestant::Policy(policy) = cell.contestant else {
                unreachable!("bounds are refused")
            };
            let policy = policy.clone().with_seed(self.experiment.seed);
            let frames = frames_of_policy(self.experiment, cell.frames);
            let pages = sampled.trace.footprint_pages;
            let replicas_of = |samples: &[Replicate]| {
                let numbered = samples.iter().enumerate();
                let replica =
                    |(number, it)| self.replica(it, number, (frames, &policy), pages, progress);
                numbered.map(replica).collect::<Result<Vec<Replica>, SimError>>()
            };
            let whole = replicas_of(&sampled.replicates)?;
            let replicas = Replicas { whole, halves: replicas_of(&sampled.halves)? };
            let resolved = policy.resolve(frames, self.pricing.device_ratio)?.to_string();
            let named = (cell.frames, policy.written(), resolved);
            Ok(estimated(&rows, named, policy.entry().kind, &replicas, self.rate))
        };
        task.iter().map(row_of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicates_round_frames_such_that_their_mean_is_exact() {
        let mean = |frames, of_sample, of_trace| {
            let scaled = |number| u64::from(scaled_frames(frames, of_sample, of_trace, number));
            (0..u64::from(REPLICATES)).map(scaled).sum::<u64>() as f64 / f64::from(REPLICATES)
        };
        assert_eq!(mean(1000, 1, 100), 10.0);
        assert_eq!(mean(1025, 1, 100), 10.25);
        assert_eq!(mean(1050, 1, 100), 10.5);
        assert_eq!(mean(7, 500, 500), 7.0);
        assert_eq!(mean(1, 1, 100), 1.0, "there is at least one frame");
    }

    #[test]
    fn a_sample_is_a_rate_a_number_of_pages_or_an_error() {
        assert_eq!(PagesSample::parse("1%").unwrap(), PagesSample::Fixed(Sample::Rate(0.01)));
        assert_eq!(PagesSample::parse("8192").unwrap(), PagesSample::Fixed(Sample::Pages(8192)));
        for text in ["auto:1%", "auto:0.01"] {
            assert_eq!(PagesSample::parse(text).unwrap(), PagesSample::Below(0.01), "{text}");
        }
        for text in
            ["auto", "auto:", "auto:0%", "auto:100%", "auto:64", "auto:x%", "autos", "0%", ""]
        {
            let error = PagesSample::parse(text).unwrap_err().to_string();
            assert!(error.starts_with("--sample"), "{text}: {error}");
        }
    }
}
