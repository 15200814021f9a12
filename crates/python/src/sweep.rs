//! For sweeps: the list of cells, and a trace that is read once for many of them.

use std::num::NonZeroU32;
use std::sync::Arc;

use clockhand_sim::{
    Contestant, Experiment, PagesOptions, PlannedCell, PreparedTrace as Prepared, Progress, Row,
    SimError, TraceInput,
};
use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};
use serde::Serialize;

use crate::errors::exception;
use crate::simulation::{DeviceFacts, PolicyFacts, TraceFacts, device_facts, policy_facts};
use crate::supervision::{supervised, supervised_rows};
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
    /// The sample of pages in its canonical form; all pages if `None`.
    sample: Option<String>,
}

/// The cells of a grid on a trace, whose number of pages may not be known yet, in the order of its rows, and facts
/// about device and policies.
#[pyfunction]
#[pyo3(signature = (options, *, footprint_pages))]
pub(crate) fn plan_cells<'py>(
    py: Python<'py>,
    options: Bound<'py, PyAny>,
    footprint_pages: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let options: PagesOptions = depythonize(&options)?;
    let experiment = options.experiment(Vec::new(), None).map_err(exception)?;
    let plan = clockhand_sim::plan_cells(&experiment, footprint_pages).map_err(exception)?;
    let facts = PlanFacts {
        device: device_facts(&experiment.device, &plan.device, &plan.page_cost),
        policies: experiment.policies.iter().map(policy_facts).collect(),
        cells: plan.cells.into_iter().map(CellFacts::from).collect(),
        sample: experiment.sample.map(|sample| sample.to_string()),
    };
    Ok(pythonize(py, &facts)?)
}

#[derive(Serialize)]
struct PreparedFacts {
    page_bytes: u64,
    #[serde(flatten)]
    trace: TraceFacts,
}

/// For what a trace is read: policies, devices, page sizes in bytes, and whether there are intervals.
type Wanted = (Vec<String>, Vec<String>, Vec<u64>, bool);

/// A trace that is to be read, and for what.
struct Reading {
    input: TraceInput,
    policies: Vec<Contestant>,
    devices: Vec<String>,
    page_sizes_bytes: Vec<u64>,
    has_intervals: bool,
}

impl Reading {
    fn new(trace: &TraceSource, wanted: Wanted) -> PyResult<Self> {
        let (policies, devices, page_sizes_bytes, has_intervals) = wanted;
        let policies = Contestant::parse_all(&policies).map_err(exception)?;
        let input = trace.0.clone();
        Ok(Reading { input, policies, devices, page_sizes_bytes, has_intervals })
    }

    fn read(&self, progress: &Progress) -> Result<Prepared, SimError> {
        let Reading { input, policies, devices, page_sizes_bytes, has_intervals } = self;
        Prepared::read(input, policies, devices, page_sizes_bytes, *has_intervals, progress)
    }

    fn read_beside(
        &self,
        present: &Prepared,
        progress: &Progress,
    ) -> Result<Option<Prepared>, SimError> {
        let Reading { input, policies, devices, page_sizes_bytes, has_intervals } = self;
        let sizes = page_sizes_bytes;
        present.read_beside(input, policies, devices, sizes, *has_intervals, progress)
    }
}

/// A trace that was read once, with its views at some page sizes.
#[pyclass(frozen, module = "clockhand._engine")]
pub(crate) struct PreparedTrace(Arc<Prepared>);

#[pymethods]
impl PreparedTrace {
    /// Reads a trace for these policies on these devices at page sizes in bytes.
    #[staticmethod]
    #[pyo3(signature = (trace, wanted, watch=None))]
    fn read(
        py: Python<'_>,
        trace: PyRef<'_, TraceSource>,
        wanted: Wanted,
        watch: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let reading = Reading::new(&trace, wanted)?;
        let prepared = supervised(py, watch, move |progress| reading.read(progress))?;
        Ok(PreparedTrace(Arc::new(prepared)))
    }

    /// Reads the next trace, in a thread of its own, beside the cells of this one; none if there is no memory for both.
    #[pyo3(signature = (trace, wanted, watch=None))]
    fn read_beside(
        &self,
        py: Python<'_>,
        trace: PyRef<'_, TraceSource>,
        wanted: Wanted,
        watch: Option<Py<PyAny>>,
    ) -> PyResult<Option<Self>> {
        let reading = Reading::new(&trace, wanted)?;
        let present = Arc::clone(&self.0);
        let read = supervised(py, watch, move |progress| reading.read_beside(&present, progress))?;
        Ok(read.map(|prepared| PreparedTrace(Arc::new(prepared))))
    }

    /// The trace's facts at each page size, as dictionaries.
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
    #[pyo3(signature = (cells, options, *, jobs, on_rows, watch=None))]
    fn simulate<'py>(
        &self,
        py: Python<'py>,
        cells: Vec<(String, NonZeroU32)>,
        options: Bound<'py, PyAny>,
        jobs: Option<usize>,
        on_rows: Py<PyAny>,
        watch: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let (experiment, cells) = experiment_of(cells, &options, jobs)?;
        let prepared = Arc::clone(&self.0);
        supervised_rows(py, watch, Some(on_rows), move |progress, on_rows| {
            prepared.simulate(&experiment, &cells, progress, &|position, rows| {
                on_rows(position, rows.clone().into_all());
            })
        })
    }
}

/// Says what a trace is at a page size, as a dictionary, and keeps nothing of it.
#[pyfunction]
#[pyo3(signature = (trace, page_bytes, watch=None))]
pub(crate) fn count_trace<'py>(
    py: Python<'py>,
    trace: PyRef<'py, TraceSource>,
    page_bytes: u64,
    watch: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let input = trace.0.clone();
    let counted = supervised(py, watch, move |progress| {
        clockhand_sim::count_trace(&input, page_bytes, progress)
    })?;
    Ok(pythonize(py, &PreparedFacts { page_bytes, trace: TraceFacts::from(&counted) })?)
}

/// Estimates cells from samples of a trace, as `options` say; cells and `on_rows` are those of
/// [`PreparedTrace::simulate`]. Gives what the trace is, as a dictionary.
#[pyfunction]
#[pyo3(signature = (trace, cells, options, *, jobs, on_rows, watch=None))]
pub(crate) fn simulate_sampled<'py>(
    py: Python<'py>,
    trace: PyRef<'py, TraceSource>,
    cells: Vec<(String, NonZeroU32)>,
    options: Bound<'py, PyAny>,
    jobs: Option<usize>,
    on_rows: Py<PyAny>,
    watch: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (experiment, cells) = experiment_of(cells, &options, jobs)?;
    let (input, page_bytes) = (trace.0.clone(), experiment.page_bytes);
    let read = supervised_rows(py, watch, Some(on_rows), move |progress, on_rows| {
        let on_finished = |position: usize, row: &Row| on_rows(position, vec![row.clone()]);
        clockhand_sim::simulate_sampled(&experiment, &input, &cells, progress, &on_finished)
    })?;
    Ok(pythonize(py, &PreparedFacts { page_bytes, trace: TraceFacts::from(&read) })?)
}

/// The experiment that runs some cells, and the cells by the positions of its policies.
fn experiment_of(
    cells: Vec<(String, NonZeroU32)>,
    options: &Bound<'_, PyAny>,
    jobs: Option<usize>,
) -> PyResult<(Experiment, Vec<(usize, NonZeroU32)>)> {
    let (policy, cells) = by_policy(cells);
    // The sizes are those of the cells; what the options must have of them is not looked at.
    let memory = Some("100%".to_owned());
    let given: PagesOptions = depythonize(options)?;
    let options = PagesOptions { policy, frames: None, memory, ..given };
    Ok((options.experiment(Vec::new(), jobs).map_err(exception)?, cells))
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
