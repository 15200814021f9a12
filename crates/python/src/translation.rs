//! `translate`: TLBs, page tables and paging, as rows and facts.

use clockhand_sim::{Selection, TranslateOptions, TranslateRow, run_translate_cells};
use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};
use serde::Serialize;

use crate::errors::exception;
use crate::simulation::{DeviceFacts, PolicyFacts, TraceFacts, device_facts, policy_facts};
use crate::supervision::supervised_rows;
use crate::trace::TraceSource;

#[derive(Serialize)]
struct TranslationFacts {
    rows: Vec<TranslateRow>,
    traces: Vec<TraceFacts>,
    devices: Vec<DeviceFacts>,
    policies: Vec<PolicyFacts>,
}

/// Runs an experiment; a dictionary of rows and of facts about traces, devices and policies. With `cells`, only these
/// positions of each trace's cells; `on_rows` gets rows as they are finished.
#[pyfunction]
#[pyo3(signature = (traces, options, *, jobs, watch=None, cells=None, on_rows=None))]
pub(crate) fn translate<'py>(
    py: Python<'py>,
    traces: Vec<PyRef<'py, TraceSource>>,
    options: Bound<'py, PyAny>,
    jobs: Option<usize>,
    watch: Option<Py<PyAny>>,
    cells: Option<Vec<usize>>,
    on_rows: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let options: TranslateOptions = depythonize(&options)?;
    let traces = traces.iter().map(|trace| trace.0.clone()).collect();
    let experiment = options.experiment(traces, jobs).map_err(exception)?;
    let specs = experiment.policies.clone();
    let outcome = supervised_rows(py, watch, on_rows, move |progress, told| {
        let told = |position, row: &TranslateRow| told(position, row.clone());
        let selection = Selection { cells: cells.as_deref(), told: &told };
        run_translate_cells(&experiment, &selection, progress)
    })?;
    let devices = outcome.devices.iter();
    let result = TranslationFacts {
        traces: outcome.traces.iter().map(TraceFacts::from).collect(),
        devices: devices
            .map(|(written, device, cost)| device_facts(written, device, cost))
            .collect(),
        policies: specs.iter().map(policy_facts).collect(),
        rows: outcome.rows,
    };
    Ok(pythonize(py, &result)?)
}
