//! `simulate`: a grid of cells, as rows and facts.

use std::sync::Arc;

use clockhand_device::{Device, PageCost};
use clockhand_sim::{
    Contestant, Experiment, FinishedCell, GaugeSample, Given, HeldTrace, Outcome, PagesOptions,
    Progress, Row, Selection, SimError, TraceInput, plan_cells, simulate_cells,
};
use pyo3::prelude::*;
use serde::Serialize;

use crate::errors::exception;
use crate::run::{Answer, Planned, Question, resolved};

#[derive(Serialize)]
pub(crate) struct DeviceFacts {
    name: String,
    resolved: String,
    summary: String,
    source: String,
    read_time_us: f64,
    write_time_us: f64,
    write_read_ratio: String,
}

pub(crate) fn device_facts(written: &str, device: &Device, page_cost: &PageCost) -> DeviceFacts {
    DeviceFacts {
        name: written.to_owned(),
        resolved: device.resolved(),
        summary: device.summary().to_owned(),
        source: device.source().to_owned(),
        read_time_us: page_cost.time_us(1, 0),
        write_time_us: page_cost.time_us(0, 1),
        write_read_ratio: page_cost.write_read_ratio().to_string(),
    }
}

#[derive(Serialize)]
pub(crate) struct PolicyFacts {
    pub(crate) name: String,
    pub(crate) summary: &'static str,
    pub(crate) paper: &'static str,
}

pub(crate) fn policy_facts(contestant: &Contestant) -> PolicyFacts {
    let (summary, paper) = match contestant {
        Contestant::Policy(policy) => {
            let description = policy.entry().description;
            (description.summary, description.paper)
        }
        Contestant::Bound(_) => (Contestant::BOUND_SUMMARY, Contestant::BOUND_PAPER),
        Contestant::Feasible(_) => (Contestant::FEASIBLE_SUMMARY, Contestant::FEASIBLE_PAPER),
    };
    PolicyFacts { name: contestant.written().to_owned(), summary, paper }
}

/// Samples as columns; `row` is the position of the row that a sample belongs to.
#[derive(Default, Serialize)]
pub(crate) struct GaugeColumns {
    row: Vec<usize>,
    fault: Vec<u64>,
    hand_movements: Vec<u64>,
    gauge: Vec<&'static str>,
    value: Vec<f64>,
}

impl GaugeColumns {
    fn of(samples: &[(usize, GaugeSample)]) -> Self {
        let mut columns = GaugeColumns::default();
        for &(row, GaugeSample { fault, hand_movements, gauge, value }) in samples {
            columns.row.push(row);
            columns.fault.push(fault);
            columns.hand_movements.push(hand_movements);
            columns.gauge.push(gauge);
            columns.value.push(value);
        }
        columns
    }
}

/// What stands beside the rows.
#[derive(Default, Serialize)]
pub(crate) struct Gauges {
    gauges: GaugeColumns,
}

/// Bytes of a page, from text such as `4KiB`.
#[pyfunction]
pub(crate) fn parse_page_bytes(text: &str) -> PyResult<u64> {
    clockhand_sim::parse_page_bytes(text).map_err(exception)
}

/// Bytes of a size such as `16KiB` or `32`; none if it is not a size.
#[pyfunction]
pub(crate) fn parse_bytes(text: &str) -> Option<u64> {
    clockhand_trace::size_bytes(text)
}

/// What pages read and written take on a device, in µs, for every pair of numbers; exact, and rounded once.
#[pyfunction]
pub(crate) fn io_times_us(
    device: &str,
    page_bytes: u64,
    ios: Vec<(u64, u64)>,
) -> PyResult<Vec<f64>> {
    let failed = |error| exception(SimError::from(error));
    let cost = Device::named_or_file(device).map_err(failed)?.page_cost(page_bytes);
    let cost = cost.map_err(failed)?;
    Ok(ios.into_iter().map(|(reads, writes)| cost.time_us(reads, writes)).collect())
}

impl Question for PagesOptions {
    const STUDY: &'static str = "pages";
    type Experiment = Experiment;
    type Finished = FinishedCell;
    type Row = Row;
    type Outcome = Outcome;
    type Answer = Answer<Row, DeviceFacts, Gauges>;

    fn experiment(
        &self,
        traces: Vec<TraceInput>,
        jobs: Option<usize>,
    ) -> Result<Experiment, SimError> {
        self.experiment(traces, jobs)
    }

    /// The plan checks it.
    fn check(_: &Experiment) -> Result<(), SimError> {
        Ok(())
    }

    fn plan(
        experiment: &Experiment,
        given: &Given,
        footprint_pages: Option<u32>,
    ) -> Result<Planned, SimError> {
        let plan = plan_cells(experiment, given, footprint_pages)?;
        Ok(Planned {
            device: Some(device_facts(&experiment.device, &plan.device, &plan.page_cost)),
            policies: Some(experiment.policies.iter().map(policy_facts).collect()),
            cells: plan.cells,
        })
    }

    fn footprint_pages(
        experiment: &Experiment,
        held: Option<&HeldTrace>,
    ) -> Result<Option<u32>, SimError> {
        let Experiment { page_bytes, sample, .. } = experiment;
        let is_sampled = sample.is_some();
        let trace = |held: &HeldTrace| held.trace(*page_bytes, is_sampled, &Progress::default());
        Ok(held.map(trace).transpose()?.map(|trace| trace.footprint_pages))
    }

    fn run(
        experiment: &Experiment,
        held: Option<&HeldTrace>,
        selection: &Selection<'_, FinishedCell>,
        progress: &Arc<Progress>,
    ) -> Result<Outcome, SimError> {
        simulate_cells(experiment, held, selection, progress)
    }

    fn rows(cell: &FinishedCell) -> Vec<Row> {
        cell.rows.clone().into_all()
    }

    fn answer(&self, experiment: &Experiment, outcome: Outcome) -> Result<Self::Answer, SimError> {
        Ok(Answer {
            traces: outcome.traces,
            devices: vec![device_facts(&experiment.device, &outcome.device, &outcome.page_cost)],
            policies: experiment.policies.iter().map(policy_facts).collect(),
            resolved: resolved(outcome.rows.iter().map(|row| (&row.policy, &row.policy_resolved))),
            rows: outcome.rows,
            intervals: outcome.intervals,
            beside: Gauges { gauges: GaugeColumns::of(&outcome.gauges) },
        })
    }
}
