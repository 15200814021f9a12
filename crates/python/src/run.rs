//! `run`: any study on traces, as rows and facts.

use std::collections::BTreeMap;
use std::sync::Arc;

use clockhand_sim::{
    FileCacheOptions, PageCacheSettings, PagesOptions, Progress, ReadTrace, SimError, SsdOptions,
    TierOptions, TraceInput, TranslateOptions,
};
use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::errors::{ClockhandError, exception};
use crate::simulation::{PolicyFacts, TraceFacts};
use crate::supervision::{OnRows, supervised_rows};
use crate::trace::TraceSource;
use crate::{filecache, pagecache, simulation, ssd, tier, translation};

/// What most studies answer.
#[derive(Serialize)]
pub(crate) struct Answer<R, D> {
    pub(crate) rows: Vec<R>,
    /// The rows of the cells' intervals, if they are asked for.
    pub(crate) intervals: Vec<R>,
    pub(crate) traces: Vec<TraceFacts>,
    pub(crate) devices: Vec<D>,
    pub(crate) policies: Vec<PolicyFacts>,
    pub(crate) resolved: Resolved,
}

/// From each contender's name as written to its full name with every default, from the first of its
/// rows.
pub(crate) type Resolved = BTreeMap<String, String>;

pub(crate) fn resolved<'a>(rows: impl Iterator<Item = (&'a String, &'a String)>) -> Resolved {
    let mut found = Resolved::new();
    for (name, resolved) in rows {
        if !found.contains_key(name) {
            found.insert(name.clone(), resolved.clone());
        }
    }
    found
}

pub(crate) fn trace_facts(traces: &[ReadTrace]) -> Vec<TraceFacts> {
    traces.iter().map(TraceFacts::from).collect()
}

/// Runs a study; a dictionary of rows and of facts about traces, devices and what is compared. With `cells`, runs only
/// these positions of each trace's cells. Calls `on_rows` now and then with pairs of a finished cell's position and one
/// of its rows.
#[pyfunction]
#[pyo3(signature = (study, traces, options, *, jobs, watch=None, cells=None, on_rows=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn run<'py>(
    py: Python<'py>,
    study: &str,
    traces: Vec<PyRef<'py, TraceSource>>,
    options: Bound<'py, PyAny>,
    jobs: Option<usize>,
    watch: Option<Py<PyAny>>,
    cells: Option<Vec<usize>>,
    on_rows: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let traces = traces.iter().map(|trace| trace.0.clone()).collect();
    let asking = Asking { options, traces, jobs, watch, cells, on_rows };
    match study {
        "pages" => asking.answered(py, PagesOptions::experiment, simulation::run),
        "ssd" => {
            let answer = asking.answer(py, SsdOptions::experiment, ssd::run)?;
            answer.written.clone().map_err(ClockhandError::new_err)?;
            Ok(pythonize(py, &answer)?)
        }
        "translate" => asking.answered(py, TranslateOptions::experiment, translation::run),
        "filecache" => asking.answered(py, FileCacheOptions::experiment, filecache::run),
        "pagecache" => asking.answered(py, PageCacheSettings::experiment, pagecache::run),
        "tier" => asking.answered(py, TierOptions::experiment, tier::run),
        _ => Err(exception(SimError::usage(format!("there is no study {study:?}"), ""))),
    }
}

/// Makes the experiment of a study's options.
type Plan<O, E> = fn(&O, Vec<TraceInput>, Option<usize>) -> Result<E, SimError>;

/// Runs an experiment, or only the cells at the given positions of each trace. The callback gets the rows of each
/// finished cell.
type Run<O, E, R, A> =
    fn(&O, &E, Option<&[usize]>, OnRows<'_, R>, &Arc<Progress>) -> Result<A, SimError>;

/// A call from Python.
struct Asking<'py> {
    options: Bound<'py, PyAny>,
    traces: Vec<TraceInput>,
    jobs: Option<usize>,
    watch: Option<Py<PyAny>>,
    cells: Option<Vec<usize>>,
    on_rows: Option<Py<PyAny>>,
}

impl<'py> Asking<'py> {
    fn answered<O, E, R, A>(
        self,
        py: Python<'py>,
        plan: Plan<O, E>,
        run: Run<O, E, R, A>,
    ) -> PyResult<Bound<'py, PyAny>>
    where
        O: DeserializeOwned + Send + 'static,
        E: Send + 'static,
        R: Serialize + Send + 'static,
        A: Serialize + Send + 'static,
    {
        Ok(pythonize(py, &self.answer(py, plan, run)?)?)
    }

    fn answer<O, E, R, A>(
        self,
        py: Python<'py>,
        plan: Plan<O, E>,
        run: Run<O, E, R, A>,
    ) -> PyResult<A>
    where
        O: DeserializeOwned + Send + 'static,
        E: Send + 'static,
        R: Serialize + Send + 'static,
        A: Send + 'static,
    {
        let Asking { options, traces, jobs, watch, cells, on_rows } = self;
        let options: O = depythonize(&options)?;
        let experiment = plan(&options, traces, jobs).map_err(exception)?;
        supervised_rows(py, watch, on_rows, move |progress, on_rows| {
            run(&options, &experiment, cells.as_deref(), on_rows, progress)
        })
    }
}
