//! Running an experiment: the frame in which whole traces, streams and samples give their rows.

use clockhand_device::{Device, PageCost};

use super::held::HeldTrace;
use super::sampled::Samples;
use super::streamed::StreamedCell;
use super::{Experiment, PagesStudy, Row, check};
use crate::error::SimError;
use crate::intervals::Rows;
use crate::pricing::Pricing;
use crate::read_trace::ReadTrace;
use crate::replay::GaugeSample;
use crate::study::{Means, Selection, Study, check_given, run_cells, run_study};
use crate::views::{Views, numbering};
use clockhand_trace::progress::Progress;

/// The rows of an experiment and the facts that belong to them.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// One row per cell.
    pub rows: Vec<Row>,
    /// The rows of the cells' intervals, if they are asked for.
    pub intervals: Vec<Row>,
    /// What was sampled, with the position of the row that it belongs to.
    pub gauges: Vec<(usize, GaugeSample)>,
    /// One entry per trace.
    pub traces: Vec<ReadTrace>,
    /// The device.
    pub device: Device,
    /// What a page operation costs on it.
    pub page_cost: PageCost,
}

/// A cell that was run: its row and those of its intervals, and what was sampled while it ran.
#[derive(Clone, Debug)]
pub struct FinishedCell {
    /// The rows.
    pub rows: Rows<Row>,
    /// The policy's values over time.
    pub samples: Vec<GaugeSample>,
}

impl From<Row> for FinishedCell {
    fn from(row: Row) -> Self {
        Rows::of(row).into()
    }
}

impl From<Rows<Row>> for FinishedCell {
    fn from(rows: Rows<Row>) -> Self {
        FinishedCell { rows, samples: Vec::new() }
    }
}

/// How the cells of an experiment are replayed.
enum Run<'a> {
    /// On views of whole traces, which all cells share.
    Whole,
    /// The only cell, while its trace is read.
    Stream(StreamedCell<'a>),
    /// On samples of the pages, in memories that are scaled like them.
    Sample(Box<Samples<'a>>),
}

/// Runs an experiment.
///
/// # Errors
///
/// Everything that can be known before a trace is read (policies, sizes, device) is checked before; then the
/// first trace that cannot be read, or [`SimError::Interrupted`].
pub fn simulate(experiment: &Experiment, progress: &Progress) -> Result<Outcome, SimError> {
    simulate_cells(experiment, None, &Selection::default(), progress)
}

/// Runs the selected cells of an experiment; on a trace that is held, if there is one, instead of the experiment's own.
///
/// # Errors
///
/// Those of [`simulate`]; a cell that there is not; or the held trace was not read for such an experiment. Cells that were
/// finished before stay true.
pub fn simulate_cells(
    experiment: &Experiment,
    held: Option<&HeldTrace>,
    selection: &Selection<'_, FinishedCell>,
    progress: &Progress,
) -> Result<Outcome, SimError> {
    if held.is_none() {
        check_given(&experiment.traces, "trace", "a file")?;
    }
    check(experiment)?;
    let study = PagesStudy::new(experiment)?;
    let (mut rows, mut intervals) = (Vec::new(), Vec::new());
    let (mut gauges, mut traces) = (Vec::new(), Vec::new());
    let mut take = |trace: ReadTrace, finished: Vec<FinishedCell>| {
        for FinishedCell { rows: of_cell, samples } in finished {
            let of_row = rows.len();
            gauges.extend(samples.into_iter().map(|sample| (of_row, sample)));
            rows.push(of_cell.row);
            intervals.extend(of_cell.intervals);
        }
        traces.push(trace);
    };
    match (Run::of(experiment, &study, held)?, held) {
        (Run::Sample(samples), Some(held)) => {
            let (trace, finished) = samples.run(held.input_of_samples(), selection, progress)?;
            take(trace, finished);
        }
        (Run::Sample(samples), None) => {
            for input in &experiment.traces {
                let (trace, finished) = samples.run(input, selection, progress)?;
                take(trace, finished);
            }
        }
        (Run::Stream(cell), _) => {
            let (trace, row) = cell.run(&study, progress)?;
            let finished = row.into();
            (selection.on_finished)(0, &finished);
            take(trace, vec![finished]);
        }
        (Run::Whole, Some(held)) => {
            let views = held.views(experiment.page_bytes)?;
            check_views(&study, views)?;
            let cells = study.cells(views)?;
            let memory_bytes = held.memory_bytes();
            let means = Means { jobs: experiment.jobs, memory_bytes, progress };
            let finished = run_cells(&study, views, &cells, means, selection)?;
            take(views.trace.clone(), finished);
        }
        (Run::Whole, None) => {
            let Experiment { traces: inputs, jobs, .. } = experiment;
            let take = |views: Views, finished| take(views.trace, finished);
            run_study(&study, inputs, *jobs, progress, selection, take)?;
        }
    }
    let Pricing { device, page_cost, .. } = study.pricing;
    Ok(Outcome { rows, intervals, gauges, traces, device, page_cost })
}

impl<'a> Run<'a> {
    fn of(
        experiment: &'a Experiment,
        study: &PagesStudy<'a>,
        held: Option<&HeldTrace>,
    ) -> Result<Self, SimError> {
        if let Some(sample) = experiment.sample {
            return Ok(Run::Sample(Box::new(Samples::new(experiment, sample)?)));
        }
        let streamed = match held {
            None => StreamedCell::of(experiment, &study.pricing)?,
            Some(_) => None,
        };
        Ok(streamed.map_or(Run::Whole, Run::Stream))
    }
}

/// Refuses views that were not read for a study.
fn check_views(study: &PagesStudy<'_>, views: &Views) -> Result<(), SimError> {
    study.check_scratch(views.are_on_scratch())?;
    if study.foldings.iter().any(|&folding| views.find(folding).is_none())
        || !views.are_numbered(numbering(&study.experiment.policies))
    {
        return Err(SimError::usage(
            "the trace was not read for these policies",
            "name them when it is read",
        ));
    }
    Ok(())
}
