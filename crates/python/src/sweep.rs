//! What a sweep needs: which cells there are, and a trace that is read once for many of them.

use std::num::NonZeroU32;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};

use clockhand_sim::{Experiment, PlannedCell, Row};
use pyo3::prelude::*;
use pythonize::pythonize;
use serde::Serialize;

use crate::errors::exception;
use crate::simulation::{
    DeviceFacts, PolicyFacts, TraceFacts, contestants, device_facts, effort, memory_sizes,
    observation, policy_facts, replay_options,
};
use crate::supervision::{show, supervised, supervised_with};
use crate::trace::TraceSource;

#[derive(Serialize)]
struct CellFacts {
    frames: u32,
    policy: String,
    policy_resolved: String,
}

impl From<PlannedCell> for CellFacts {
    fn from(PlannedCell { frames, policy, policy_resolved }: PlannedCell) -> Self {
        CellFacts { frames, policy, policy_resolved }
    }
}

#[derive(Serialize)]
struct PlanFacts {
    device: DeviceFacts,
    policies: Vec<PolicyFacts>,
    cells: Vec<CellFacts>,
}

/// The cells of a grid on a trace, whose number of pages may not be known yet, in the order of its rows, and facts
/// about device and policies.
#[pyfunction]
#[pyo3(signature = (policies, *, frames, memory, reserve, page_bytes, device, footprint_pages, seed,
    bound_effort="2"))]
#[expect(clippy::too_many_arguments, reason = "these are the options of one command")]
pub(crate) fn plan_cells<'py>(
    py: Python<'py>,
    policies: Vec<String>,
    frames: Option<&str>,
    memory: Option<&str>,
    reserve: u32,
    page_bytes: u64,
    device: String,
    footprint_pages: Option<u32>,
    seed: u64,
    bound_effort: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let experiment = Experiment {
        traces: Vec::new(),
        policies: contestants(&policies).map_err(exception)?,
        seed,
        sizes: memory_sizes(frames, memory).map_err(exception)?,
        page_bytes,
        device,
        options: clockhand_sim::ReplayOptions::default(),
        bound_effort: effort(bound_effort).map_err(exception)?,
        reserve,
        observation: None,
        jobs: None,
    };
    let plan = clockhand_sim::plan_cells(&experiment, footprint_pages).map_err(exception)?;
    let facts = PlanFacts {
        device: device_facts(&experiment.device, &plan.device, &plan.page_cost),
        policies: experiment.policies.iter().map(policy_facts).collect(),
        cells: plan.cells.into_iter().map(CellFacts::from).collect(),
    };
    Ok(pythonize(py, &facts)?)
}

#[derive(Serialize)]
struct PreparedFacts {
    page_bytes: u64,
    #[serde(flatten)]
    trace: TraceFacts,
}

/// A trace that was read once, with its views at some page sizes.
#[pyclass(frozen, module = "clockhand._engine")]
pub(crate) struct PreparedTrace(Arc<clockhand_sim::PreparedTrace>);

#[pymethods]
impl PreparedTrace {
    /// Reads a trace for these policies on these devices at page sizes in bytes.
    #[staticmethod]
    #[pyo3(signature = (trace, policies, devices, page_sizes_bytes, watch=None))]
    fn read(
        py: Python<'_>,
        trace: PyRef<'_, TraceSource>,
        policies: Vec<String>,
        devices: Vec<String>,
        page_sizes_bytes: Vec<u64>,
        watch: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let policies = contestants(&policies).map_err(exception)?;
        let input = trace.0.clone();
        let prepared = supervised(py, watch, move |progress| {
            clockhand_sim::PreparedTrace::read(
                &input,
                &policies,
                &devices,
                &page_sizes_bytes,
                progress,
            )
        })?;
        Ok(PreparedTrace(Arc::new(prepared)))
    }

    /// What the trace is at each page size, as dictionaries.
    #[getter]
    fn traces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let facts =
            |(page_bytes, trace)| PreparedFacts { page_bytes, trace: TraceFacts::from(trace) };
        let facts: Vec<PreparedFacts> = self.0.traces().map(facts).collect();
        Ok(pythonize(py, &facts)?)
    }

    /// Runs cells, each a policy and a number of frames, and calls `on_rows(rows)` now and then with those that
    /// are finished, in any order; each is a pair of the cell's position and its row. Rows that were finished
    /// before an interruption are handed over too.
    #[pyo3(signature = (
        cells, *, reserve, page_bytes, device, bits, write_miss, flush_at_end, hand_ns, seed, jobs, on_rows,
        watch=None, bound_effort="2"
    ))]
    #[expect(clippy::too_many_arguments, reason = "these are the options of one command")]
    fn simulate(
        &self,
        py: Python<'_>,
        cells: Vec<(String, NonZeroU32)>,
        reserve: u32,
        page_bytes: u64,
        device: String,
        bits: &str,
        write_miss: &str,
        flush_at_end: bool,
        hand_ns: Option<u64>,
        seed: u64,
        jobs: Option<usize>,
        on_rows: Py<PyAny>,
        watch: Option<Py<PyAny>>,
        bound_effort: &str,
    ) -> PyResult<()> {
        let (texts, cells) = by_policy(cells);
        let experiment = Experiment {
            traces: Vec::new(),
            policies: contestants(&texts).map_err(exception)?,
            seed,
            sizes: Vec::new(),
            page_bytes,
            device,
            options: replay_options(bits, write_miss, flush_at_end).map_err(exception)?,
            bound_effort: effort(bound_effort).map_err(exception)?,
            reserve,
            observation: observation(hand_ns, None),
            jobs,
        };
        let (sender, receiver) = mpsc::channel();
        let receiver = Mutex::new(receiver);
        let prepared = Arc::clone(&self.0);
        let look = |progress: &clockhand_sim::Progress| {
            hand_over(py, &on_rows, &receiver)?;
            show(py, watch.as_ref(), progress)
        };
        let result = supervised_with(py, look, move |progress| {
            prepared.simulate(&experiment, &cells, progress, &|position, row| {
                // The receiver is gone once the run is interrupted.
                _ = sender.send((position, row.clone()));
            })
        });
        hand_over(py, &on_rows, &receiver)?;
        result
    }
}

/// The different policies of some cells, and each cell with its policy's position among them.
fn by_policy(cells: Vec<(String, NonZeroU32)>) -> (Vec<String>, Vec<(usize, NonZeroU32)>) {
    let mut texts: Vec<String> = Vec::new();
    let mut positions = Vec::new();
    for (text, frames) in cells {
        let known = texts.iter().position(|other| *other == text);
        positions.push((known.unwrap_or(texts.len()), frames));
        if known.is_none() {
            texts.push(text);
        }
    }
    (texts, positions)
}

fn hand_over(
    py: Python<'_>,
    on_rows: &Py<PyAny>,
    receiver: &Mutex<Receiver<(usize, Row)>>,
) -> PyResult<()> {
    let rows: Vec<(usize, Row)> =
        receiver.lock().unwrap_or_else(PoisonError::into_inner).try_iter().collect();
    if rows.is_empty() {
        return Ok(());
    }
    on_rows.call1(py, (pythonize(py, &rows)?,)).map(drop)
}
