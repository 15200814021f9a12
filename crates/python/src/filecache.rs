//! `filecache`: file caches before devices, as rows and facts; and after how many hits one pays.

use clockhand_sim::{
    AdmissionRule, Capacity, FileCacheOptions, FileCacheRow, Insert, Selection, SimError,
    run_filecache_cells,
};
use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};
use serde::Serialize;

use crate::errors::exception;
use crate::simulation::{DeviceFacts, PolicyFacts, TraceFacts, device_facts, policy_facts};
use crate::supervision::supervised_rows;
use crate::trace::TraceSource;

#[derive(Serialize)]
struct FileCacheFacts {
    rows: Vec<FileCacheRow>,
    traces: Vec<TraceFacts>,
    devices: Vec<DeviceFacts>,
    policies: Vec<PolicyFacts>,
}

/// Runs an experiment; a dictionary of rows and of facts about traces, devices and policies. With `cells`, only these
/// positions of each trace's cells; `on_rows` gets rows as they are finished.
#[pyfunction]
#[pyo3(signature = (traces, options, *, jobs, watch=None, cells=None, on_rows=None))]
pub(crate) fn filecache<'py>(
    py: Python<'py>,
    traces: Vec<PyRef<'py, TraceSource>>,
    options: Bound<'py, PyAny>,
    jobs: Option<usize>,
    watch: Option<Py<PyAny>>,
    cells: Option<Vec<usize>>,
    on_rows: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let options: FileCacheOptions = depythonize(&options)?;
    let traces = traces.iter().map(|trace| trace.0.clone()).collect();
    let experiment = options.experiment(traces, jobs).map_err(exception)?;
    let (specs, devices) = (experiment.policies.clone(), experiment.devices.clone());
    let block_bytes = experiment.block_sizes_bytes.first().copied();
    let outcome = supervised_rows(py, watch, on_rows, move |progress, told| {
        let told = |position, row: &FileCacheRow| told(position, row.clone());
        let selection = Selection { cells: cells.as_deref(), told: &told };
        run_filecache_cells(&experiment, &selection, progress)
    })?;
    let mut device_facts_of = Vec::new();
    for (written, device) in devices.iter().zip(&outcome.devices) {
        let cost = device.page_cost(block_bytes.unwrap_or_default());
        let cost = cost.map_err(|error| exception(SimError::from(error)))?;
        device_facts_of.push(device_facts(written, device, &cost));
    }
    let result = FileCacheFacts {
        rows: outcome.rows,
        traces: outcome.traces.iter().map(TraceFacts::from).collect(),
        devices: device_facts_of,
        policies: specs.iter().map(policy_facts).collect(),
    };
    Ok(pythonize(py, &result)?)
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
