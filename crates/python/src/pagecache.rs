//! `run_pagecache`: one page cache for processes and files, as rows and facts.

use clockhand_sim::{
    FirstTouch, Flusher, PageCacheExperiment, PageCacheOptions, PageCacheRow, ReadAhead, SimError,
    ZeroClean,
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
struct PageCacheResult {
    rows: Vec<PageCacheRow>,
    traces: Vec<TraceFacts>,
    devices: Vec<DeviceFacts>,
    policies: Vec<PolicyFacts>,
}

/// The options of a page cache as text, as users write them.
struct OptionTexts<'a> {
    first_touch: &'a str,
    zero_clean: &'a str,
    flush_every: Option<&'a str>,
    flush_age: Option<&'a str>,
    dirty_limit: Option<&'a str>,
    read_ahead: &'a str,
}

impl OptionTexts<'_> {
    fn parse(&self) -> Result<PageCacheOptions, SimError> {
        Ok(PageCacheOptions {
            first_touch: FirstTouch::parse(self.first_touch)?,
            zero_clean: ZeroClean::parse(self.zero_clean)?,
            flusher: Flusher::parse(self.flush_every, self.flush_age, self.dirty_limit)?,
            read_ahead: ReadAhead::parse(self.read_ahead)?,
        })
    }
}

/// Runs policies under traces of events; a dictionary of rows and of facts about traces, devices and policies.
#[pyfunction]
#[pyo3(signature = (
    traces, policies, *, frames, memory, page_bytes, device, file_device, first_touch, zero_clean, flush_every, flush_age,
    dirty_limit, read_ahead, seed, jobs, watch=None
))]
#[expect(clippy::too_many_arguments, reason = "these are the options of one command")]
pub(crate) fn run_pagecache<'py>(
    py: Python<'py>,
    traces: Vec<PyRef<'py, TraceSource>>,
    policies: Vec<String>,
    frames: Option<&str>,
    memory: Option<&str>,
    page_bytes: u64,
    device: String,
    file_device: Option<String>,
    first_touch: &str,
    zero_clean: &str,
    flush_every: Option<&str>,
    flush_age: Option<&str>,
    dirty_limit: Option<&str>,
    read_ahead: &str,
    seed: u64,
    jobs: Option<usize>,
    watch: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let specs = contestants(&policies).map_err(exception)?;
    let texts =
        OptionTexts { first_touch, zero_clean, flush_every, flush_age, dirty_limit, read_ahead };
    let experiment = PageCacheExperiment {
        traces: traces.iter().map(|trace| trace.0.clone()).collect(),
        policies: specs.clone(),
        seed,
        sizes: memory_sizes(frames, memory).map_err(exception)?,
        page_bytes,
        device: device.clone(),
        file_device: file_device.clone(),
        options: texts.parse().map_err(exception)?,
        jobs,
    };
    let outcome =
        supervised(py, watch, move |progress| clockhand_sim::run_pagecache(&experiment, progress))?;
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
