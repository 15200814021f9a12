//! `translate`: TLBs, page tables and paging, as rows and facts.

use clockhand_policy::Ratio;
use clockhand_sim::{
    HugePages, SimError, Storage, TlbLevels, TranslateExperiment, TranslateRow, TranslationTimes,
    run_translate,
};
use pyo3::prelude::*;
use pythonize::pythonize;
use serde::Serialize;

use crate::errors::exception;
use crate::simulation::{
    DeviceFacts, PolicyFacts, TraceFacts, contestants, device_facts, memory_sizes, policy_facts,
};
use crate::supervision::supervised;
use crate::trace::TraceSource;

#[derive(Serialize)]
struct TranslationFacts {
    rows: Vec<TranslateRow>,
    traces: Vec<TraceFacts>,
    devices: Vec<DeviceFacts>,
    policies: Vec<PolicyFacts>,
}

/// An exact number that stood behind an option.
fn exact(option: &str, text: &str) -> Result<Ratio, SimError> {
    text.parse().map_err(|error| {
        SimError::Usage(format!("{option} {text:?}: {error}; give a number such as 10 or 0.5"))
    })
}

/// Storage of all ratios, then all devices.
fn storage(ratios: &[String], devices: Vec<String>) -> Result<Vec<Storage>, SimError> {
    let ratios = ratios.iter().map(|text| exact("--ratio", text).map(Storage::Ratio));
    ratios.chain(devices.into_iter().map(|device| Ok(Storage::Device(device)))).collect()
}

/// Runs an experiment; a dictionary of rows and of facts about traces, devices and policies.
#[pyfunction]
#[pyo3(signature = (
    traces, policies, *, page_sizes_bytes, tlb, tlb2, frames, memory, ratios, devices, walk_levels, walk_cache, huge,
    prefetch, no_swap, split, flush_on_switch, t_tlb, t_tlb2, t_mem, fixed_ns, charge_write_back, seed, jobs, watch=None
))]
#[expect(clippy::too_many_arguments, reason = "these are the options of one command")]
pub(crate) fn translate<'py>(
    py: Python<'py>,
    traces: Vec<PyRef<'py, TraceSource>>,
    policies: Vec<String>,
    page_sizes_bytes: Vec<u64>,
    tlb: Vec<String>,
    tlb2: Vec<String>,
    frames: Option<&str>,
    memory: Option<&str>,
    ratios: Vec<String>,
    devices: Vec<String>,
    walk_levels: u32,
    walk_cache: u32,
    huge: Option<&str>,
    prefetch: u32,
    no_swap: bool,
    split: bool,
    flush_on_switch: bool,
    t_tlb: &str,
    t_tlb2: &str,
    t_mem: &str,
    fixed_ns: &str,
    charge_write_back: bool,
    seed: u64,
    jobs: Option<usize>,
    watch: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let specs = contestants(&policies).map_err(exception)?;
    let times = || -> Result<TranslationTimes, SimError> {
        Ok(TranslationTimes {
            tlb_ns: exact("--t-tlb", t_tlb)?,
            tlb2_ns: exact("--t-tlb2", t_tlb2)?,
            memory_ns: exact("--t-mem", t_mem)?,
            fixed_ns: exact("--fixed-ns", fixed_ns)?,
        })
    };
    let experiment = TranslateExperiment {
        traces: traces.iter().map(|trace| trace.0.clone()).collect(),
        page_sizes_bytes,
        tlbs: TlbLevels::parse_all(&tlb, &tlb2).map_err(exception)?,
        sizes: memory_sizes(frames, memory).map_err(exception)?,
        policies: specs.clone(),
        storage: storage(&ratios, devices).map_err(exception)?,
        times: times().map_err(exception)?,
        charge_write_back,
        walk_levels,
        walk_cache,
        huge: huge.map(HugePages::parse).transpose().map_err(exception)?,
        prefetch,
        no_swap,
        split,
        flush_on_switch,
        seed,
        jobs,
    };
    let outcome = supervised(py, watch, move |progress| run_translate(&experiment, progress))?;
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
