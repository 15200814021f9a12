//! `filecache`: file caches before devices, as rows and facts; and after how many hits one pays.

use std::sync::Arc;

use clockhand_device::Device;
use clockhand_sim::{
    AdmissionRule, Capacity, FileCacheExperiment, FileCacheOptions, FileCacheRow, Insert, Progress,
    Rows, Selection, SimError, run_filecache_cells,
};
use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};

use crate::errors::exception;
use crate::run::{Answer, resolved, trace_facts};
use crate::simulation::{DeviceFacts, device_facts, policy_facts};
use crate::supervision::OnRows;

pub(crate) fn run(
    _: &FileCacheOptions,
    experiment: &FileCacheExperiment,
    cells: Option<&[usize]>,
    on_rows: OnRows<'_, FileCacheRow>,
    progress: &Arc<Progress>,
) -> Result<Answer<FileCacheRow, DeviceFacts>, SimError> {
    let on_finished =
        |position, rows: &Rows<FileCacheRow>| on_rows(position, rows.clone().into_all());
    let outcome =
        run_filecache_cells(experiment, &Selection { cells, on_finished: &on_finished }, progress)?;
    let block_bytes = experiment.block_sizes_bytes.first().copied().unwrap_or_default();
    let facts = |(name, device): (&String, &Device)| -> Result<DeviceFacts, SimError> {
        Ok(device_facts(name, device, &device.page_cost(block_bytes)?))
    };
    Ok(Answer {
        traces: trace_facts(&outcome.traces),
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
    })
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

/// The sizes of `--capacity` one by one, ranges expanded, each as text that is read as this size.
#[pyfunction]
pub(crate) fn capacities(text: &str) -> PyResult<Vec<String>> {
    let capacities = Capacity::parse(text).map_err(exception)?;
    Ok(capacities.into_iter().map(Capacity::written).collect())
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
