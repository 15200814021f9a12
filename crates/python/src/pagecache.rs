//! `run_pagecache`: one page cache for processes and files, as rows and facts.

use clockhand_sim::{PageCacheRow, PageCacheSettings, Selection, run_pagecache_cells};
use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};
use serde::Serialize;

use crate::errors::exception;
use crate::simulation::{DeviceFacts, PolicyFacts, TraceFacts, device_facts, policy_facts};
use crate::supervision::supervised_rows;
use crate::trace::TraceSource;

#[derive(Serialize)]
struct PageCacheResult {
    rows: Vec<PageCacheRow>,
    traces: Vec<TraceFacts>,
    devices: Vec<DeviceFacts>,
    policies: Vec<PolicyFacts>,
}

/// Runs policies under traces of events; a dictionary of rows and of facts about traces, devices and policies. With
/// `cells`, only these positions of each trace's cells; `on_rows` gets rows as they are finished.
#[pyfunction]
#[pyo3(signature = (traces, options, *, jobs, watch=None, cells=None, on_rows=None))]
pub(crate) fn run_pagecache<'py>(
    py: Python<'py>,
    traces: Vec<PyRef<'py, TraceSource>>,
    options: Bound<'py, PyAny>,
    jobs: Option<usize>,
    watch: Option<Py<PyAny>>,
    cells: Option<Vec<usize>>,
    on_rows: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let options: PageCacheSettings = depythonize(&options)?;
    let traces = traces.iter().map(|trace| trace.0.clone()).collect();
    let experiment = options.experiment(traces, jobs).map_err(exception)?;
    let specs = experiment.policies.clone();
    let (device, file_device) = (experiment.device.clone(), experiment.file_device.clone());
    let outcome = supervised_rows(py, watch, on_rows, move |progress, told| {
        let told = |position, row: &PageCacheRow| told(position, row.clone());
        let selection = Selection { cells: cells.as_deref(), told: &told };
        run_pagecache_cells(&experiment, &selection, progress)
    })?;
    let mut devices = vec![device_facts(&device, &outcome.device, &outcome.page_cost)];
    if let Some(file_device) = file_device.filter(|file_device| *file_device != device) {
        devices.push(device_facts(&file_device, &outcome.file_device, &outcome.file_page_cost));
    }
    let result = PageCacheResult {
        traces: outcome.traces.iter().map(TraceFacts::from).collect(),
        devices,
        policies: specs.iter().map(policy_facts).collect(),
        rows: outcome.rows,
    };
    Ok(pythonize(py, &result)?)
}
