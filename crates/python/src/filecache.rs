//! `filecache`: file caches before devices, as rows and facts; and after how many hits one pays.

use std::sync::Arc;

use clockhand_device::Device;
use clockhand_sim::{
    AdmissionRule, FileCacheExperiment, FileCacheOptions, FileCacheOutcome, FileCacheRow,
    HeldTrace, Insert, Progress, Rows, Selection, SimError, TraceInput, check_filecache,
    run_filecache_cells,
};
use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};

use crate::errors::exception;
use crate::run::{Answer, Nothing, Question, resolved};
use crate::simulation::{DeviceFacts, device_facts, policy_facts};

impl Question for FileCacheOptions {
    const STUDY: &'static str = "filecache";
    type Experiment = FileCacheExperiment;
    type Finished = Rows<FileCacheRow>;
    type Row = FileCacheRow;
    type Outcome = FileCacheOutcome;
    type Answer = Answer<FileCacheRow, DeviceFacts>;

    fn experiment(
        &self,
        traces: Vec<TraceInput>,
        jobs: Option<usize>,
    ) -> Result<FileCacheExperiment, SimError> {
        self.experiment(traces, jobs)
    }

    fn check(experiment: &FileCacheExperiment) -> Result<(), SimError> {
        check_filecache(experiment)
    }

    fn run(
        experiment: &FileCacheExperiment,
        _: Option<&HeldTrace>,
        selection: &Selection<'_, Rows<FileCacheRow>>,
        progress: &Arc<Progress>,
    ) -> Result<FileCacheOutcome, SimError> {
        run_filecache_cells(experiment, selection, progress)
    }

    fn rows(cell: &Rows<FileCacheRow>) -> Vec<FileCacheRow> {
        cell.clone().into_all()
    }

    fn answer(
        &self,
        experiment: &FileCacheExperiment,
        outcome: FileCacheOutcome,
    ) -> Result<Answer<FileCacheRow, DeviceFacts>, SimError> {
        let block_bytes = experiment.block_sizes_bytes.first().copied().unwrap_or_default();
        let facts = |(name, device): (&String, &Device)| -> Result<DeviceFacts, SimError> {
            Ok(device_facts(name, device, &device.page_cost(block_bytes)?))
        };
        Ok(Answer {
            traces: outcome.traces,
            devices: experiment
                .devices
                .iter()
                .zip(&outcome.devices)
                .map(facts)
                .collect::<Result<_, _>>()?,
            policies: experiment.policies.iter().map(policy_facts).collect(),
            resolved: resolved(outcome.rows.iter().map(|row| (&row.policy, &row.policy_resolved))),
            rows: outcome.rows,
            intervals: outcome.intervals,
            beside: Nothing {},
        })
    }
}

/// After how many hits caching a block pays, on every device at every block size of the options; rows.
#[pyfunction]
pub(crate) fn break_even<'py>(
    py: Python<'py>,
    options: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let options: FileCacheOptions = depythonize(&options)?;
    let costs = options.costs().map_err(exception)?;
    let sizes = options.block_sizes_bytes().map_err(exception)?;
    let rows = clockhand_sim::break_even(&costs, &options.device, &sizes).map_err(exception)?;
    Ok(pythonize(py, &rows)?)
}

/// The names of the rules of admission that need not know the future.
#[pyfunction]
pub(crate) fn admissions() -> Vec<&'static str> {
    AdmissionRule::online().map(AdmissionRule::name).collect()
}

/// The readings of what inserting a block into a file cache takes.
#[pyfunction]
pub(crate) fn readings() -> Vec<&'static str> {
    Insert::READINGS.to_vec()
}
