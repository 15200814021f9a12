//! `filecache`: file caches before devices, as rows and facts; and after how many hits one pays.

use clockhand_sim::{
    AdmissionRule, Capacity, FileCacheCosts, FileCacheExperiment, FileCacheRow, SecondTouch,
    SimError, Writes, parse_stack_share,
};
use pyo3::prelude::*;
use pythonize::pythonize;
use serde::Serialize;

use crate::errors::exception;
use crate::simulation::{
    DeviceFacts, PolicyFacts, TraceFacts, choose, contestants, device_facts, policy_facts,
};
use crate::supervision::supervised;
use crate::trace::TraceSource;

#[derive(Serialize)]
struct FileCacheFacts {
    rows: Vec<FileCacheRow>,
    traces: Vec<TraceFacts>,
    devices: Vec<DeviceFacts>,
    policies: Vec<PolicyFacts>,
}

fn costs(
    cache_device: String,
    stack_share: &str,
    insert_ns: Option<u64>,
    writes: &str,
) -> Result<FileCacheCosts, SimError> {
    let kinds = [("free", Writes::Free), ("cost", Writes::Cost)];
    Ok(FileCacheCosts {
        cache_device,
        stack_share: parse_stack_share(stack_share)?,
        insert_ns,
        writes: choose("--writes", writes, kinds)?,
    })
}

/// Runs an experiment; a dictionary of rows and of facts about traces, devices and policies.
#[pyfunction]
#[pyo3(signature = (
    traces, policies, *, capacity, admissions, devices, page_sizes_bytes, admit_after, history, forget_on_admit,
    cache_device, stack_share, insert_ns, writes, flush_at_end, seed, jobs, watch=None
))]
#[expect(clippy::too_many_arguments, reason = "these are the options of one command")]
pub(crate) fn filecache<'py>(
    py: Python<'py>,
    traces: Vec<PyRef<'py, TraceSource>>,
    policies: Vec<String>,
    capacity: &str,
    admissions: Vec<String>,
    devices: Vec<String>,
    page_sizes_bytes: Vec<u64>,
    admit_after: u32,
    history: Option<u32>,
    forget_on_admit: bool,
    cache_device: String,
    stack_share: &str,
    insert_ns: Option<u64>,
    writes: &str,
    flush_at_end: bool,
    seed: u64,
    jobs: Option<usize>,
    watch: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let specs = contestants(&policies).map_err(exception)?;
    let rules: Result<_, SimError> =
        admissions.iter().map(|name| AdmissionRule::parse(name)).collect();
    let experiment = FileCacheExperiment {
        traces: traces.iter().map(|trace| trace.0.clone()).collect(),
        policies: specs.clone(),
        seed,
        capacities: Capacity::parse(capacity).map_err(exception)?,
        admissions: rules.map_err(exception)?,
        second_touch: SecondTouch { admit_after, history, forget_on_admit },
        block_sizes_bytes: page_sizes_bytes.clone(),
        devices: devices.clone(),
        costs: costs(cache_device, stack_share, insert_ns, writes).map_err(exception)?,
        flush_at_end,
        jobs,
    };
    let outcome =
        supervised(py, watch, move |progress| clockhand_sim::run_filecache(&experiment, progress))?;
    let mut device_facts_of = Vec::new();
    for (written, device) in devices.iter().zip(&outcome.devices) {
        let cost = device.page_cost(page_sizes_bytes[0]);
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

/// After how many hits caching a block pays, on every device at every block size; rows.
#[pyfunction]
#[pyo3(signature = (devices, page_sizes_bytes, *, cache_device, stack_share, insert_ns))]
pub(crate) fn break_even<'py>(
    py: Python<'py>,
    devices: Vec<String>,
    page_sizes_bytes: Vec<u64>,
    cache_device: String,
    stack_share: &str,
    insert_ns: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let costs = costs(cache_device, stack_share, insert_ns, "free").map_err(exception)?;
    let rows = clockhand_sim::break_even(&costs, &devices, &page_sizes_bytes).map_err(exception)?;
    Ok(pythonize(py, &rows)?)
}
