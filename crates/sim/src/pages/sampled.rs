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

mod check;
mod estimate;
mod reading;

use clockhand_quantity::{Text, option};
use std::fmt;

use clockhand_policy::catalog::{Kind, PolicySpec};
use clockhand_trace::{Folding, TraceInput};

use super::row::RowsOf;
use super::{Experiment, FinishedCell, PagesCell, cells_of};
use crate::contestant::Contestant;
use crate::error::SimError;
use crate::intervals::{Cuts, Part};
use crate::pricing::Pricing;
use crate::read_trace::ReadTrace;
use crate::replay::Cell;
use crate::sample::Sample;
use crate::study::{Means, Selection, Study, run_cells};
use crate::views::{folding_for, foldings};
pub(super) use check::check;
use check::{check_can_be_read_again, check_unchanged};
use clockhand_trace::progress::Progress;
use estimate::{Replica, Replicas, estimated};
pub(super) use reading::count;
use reading::{Replicate, SampledTrace, read};

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

/// What a trace is, and its selected cells.
type Found = (ReadTrace, Vec<FinishedCell>);

/// What all samples of an experiment share.
pub(super) struct Samples<'a> {
    experiment: &'a Experiment,
    sample: PagesSample,
    pricing: Pricing,
    foldings: Vec<Folding>,
}

impl<'a> Samples<'a> {
    pub(super) fn new(experiment: &'a Experiment, sample: PagesSample) -> Result<Self, SimError> {
        let pricing = Pricing::new(&experiment.device, experiment.page_bytes)?;
        let foldings = foldings(&experiment.policies, pricing.device_ratio)?;
        // A period of a sample has fewer references, how many is known at the end: single references suit all periods.
        let folded = |folding: &Folding| match folding {
            Folding::Runs => Folding::Runs,
            Folding::RunsWithin(_) | Folding::None => Folding::None,
        };
        let mut foldings: Vec<Folding> = foldings.iter().map(folded).collect();
        foldings.dedup();
        Ok(Samples { experiment, sample, pricing, foldings })
    }

    fn at(&self, rate: f64) -> SampledStudy<'_> {
        let Samples { experiment, pricing, foldings, .. } = self;
        SampledStudy { experiment, pricing, foldings, rate }
    }

    /// Runs the selected cells on samples of a trace.
    pub(super) fn run(
        &self,
        input: &TraceInput,
        selection: &Selection<'_, FinishedCell>,
        progress: &Progress,
    ) -> Result<Found, SimError> {
        let sample = self.sample;
        // Only the digest tells that the trace has not changed between two readings.
        let input = &input.digested(true);
        match sample {
            PagesSample::Fixed(Sample::Rate(rate)) => {
                self.at(rate).run_trace(input, sample, selection, progress)
            }
            PagesSample::Fixed(Sample::Pages(pages)) => {
                check_can_be_read_again(input, sample)?;
                let whole = count(input, self.experiment.page_bytes, progress)?;
                let rate = f64::from(pages) / f64::from(whole.footprint_pages);
                self.at(rate.min(1.0)).run_trace(input, sample, selection, progress)
            }
            PagesSample::Below(error) => {
                check_can_be_read_again(input, sample)?;
                self.run_below(input, error, selection, progress)
            }
        }
    }

    /// The cells of a trace, each with the least rate that makes its error small enough.
    fn run_below(
        &self,
        input: &TraceInput,
        error: f64,
        selection: &Selection<'_, FinishedCell>,
        progress: &Progress,
    ) -> Result<Found, SimError> {
        let trace = count(input, self.experiment.page_bytes, progress)?;
        let cells = cells_of(self.experiment, trace.footprint_pages)?;
        let mut found: Vec<Option<FinishedCell>> = vec![None; cells.len()];
        for rate in RATES.into_iter().chain([1.0]) {
            let study = self.at(rate);
            let is_wanted = |position: &usize| {
                found[*position].is_none() && study.is_enough(&trace, &cells[*position])
            };
            let positions: Vec<usize> =
                selection.positions(cells.len())?.filter(is_wanted).collect();
            if positions.is_empty() {
                continue;
            }
            let sampled = study.prepare(input, progress)?;
            check_unchanged(&trace, &sampled.trace)?;
            let wanted = Selection { cells: Some(&positions), on_finished: &|_, _| () };
            let estimates = study.run_cells(&sampled, &cells, &wanted, progress)?;
            for (position, cell) in positions.into_iter().zip(estimates) {
                let row = &cell.rows.row;
                let standard_error = row.io_time_us_standard_error.unwrap_or(0.0);
                if rate >= 1.0 || standard_error <= error * row.io_time_us {
                    (selection.on_finished)(position, &cell);
                    found[position] = Some(cell);
                }
            }
        }
        Ok((trace, found.into_iter().flatten().collect()))
    }
}

/// Page policies on samples of one rate.
struct SampledStudy<'a> {
    experiment: &'a Experiment,
    pricing: &'a Pricing,
    foldings: &'a [Folding],
    rate: f64,
}

impl<'a> SampledStudy<'a> {
    /// Runs the selected cells of a trace; one that is too small is refused.
    fn run_trace(
        &self,
        input: &TraceInput,
        sample: PagesSample,
        selection: &Selection<'_, FinishedCell>,
        progress: &Progress,
    ) -> Result<Found, SimError> {
        let sampled = self.prepare(input, progress)?;
        let cells = self.cells(&sampled)?;
        let selected = selection.positions(cells.len())?.map(|position| &cells[position]);
        if let Some(smallest) = selected.min_by_key(|cell| cell.frames)
            && !self.is_enough(&sampled.trace, smallest)
        {
            return Err(self.too_small(&sampled.trace, smallest, sample));
        }
        let finished = self.run_cells(&sampled, &cells, selection, progress)?;
        Ok((sampled.trace, finished))
    }

    fn run_cells(
        &self,
        sampled: &SampledTrace,
        cells: &[PagesCell<'a>],
        selection: &Selection<'_, FinishedCell>,
        progress: &Progress,
    ) -> Result<Vec<FinishedCell>, SimError> {
        let means = Means { jobs: self.experiment.jobs, memory_bytes: u64::MAX, progress };
        run_cells(self, sampled, cells, means, selection)
    }

    /// Frames of a cell that a policy can use: more than there are pages change nothing.
    fn useful_frames(&self, trace: &ReadTrace, cell: &PagesCell<'_>) -> u32 {
        self.experiment.policy_frames(cell.frames).min(trace.footprint_pages)
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
        let (noted, _) = cell.replay_observed(&resolved, None, None, Cuts::NONE)?;
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
    type Finished = FinishedCell;

    fn prepare(&self, input: &TraceInput, progress: &Progress) -> Result<SampledTrace, SimError> {
        read(input, self.experiment, self.foldings, self.rate, progress)
    }

    fn cells(&self, sampled: &SampledTrace) -> Result<Vec<PagesCell<'a>>, SimError> {
        cells_of(self.experiment, sampled.trace.footprint_pages)
    }

    fn steps(&self, sampled: &SampledTrace, _task: &[&PagesCell<'a>]) -> u64 {
        sampled.records()
    }

    fn run(
        &self,
        sampled: &SampledTrace,
        task: &[&PagesCell<'a>],
        progress: &Progress,
    ) -> Result<Vec<FinishedCell>, SimError> {
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
            let frames = self.experiment.policy_frames(cell.frames);
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
            Ok(estimated(&rows, named, policy.entry().kind, &replicas, self.rate).into())
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
