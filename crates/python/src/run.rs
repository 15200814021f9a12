//! `plan` and `run`: the cells of any study, and the rows and facts of those that are run.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use clockhand_sim::{
    Cells, ColumnKind, Columns, Given, HeldTrace as Held, LocalityOptions, OneCell, PlannedCell,
    Progress, ReadTrace, STUDIES, Selection, SimError, StudyDeclaration, TraceInput,
};
use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::RUNNABLE;
use crate::errors::{ClockhandError, exception};
use crate::held::HeldTrace;
use crate::simulation::{DeviceFacts, PolicyFacts};
use crate::supervision::supervised_rows;
use crate::trace::TraceSource;

/// No more than rows.
#[derive(Default, Serialize)]
pub(crate) struct Nothing {}

/// What most studies answer.
#[derive(Serialize)]
pub(crate) struct Answer<R, D, B = Nothing> {
    pub(crate) rows: Vec<R>,
    /// The rows of the cells' intervals, if they are asked for.
    pub(crate) intervals: Vec<R>,
    pub(crate) traces: Vec<ReadTrace>,
    pub(crate) devices: Vec<D>,
    pub(crate) policies: Vec<PolicyFacts>,
    pub(crate) resolved: Resolved,
    /// What stands beside the rows.
    #[serde(flatten)]
    pub(crate) beside: B,
}

/// The result of a study for Python.
pub(crate) trait Answered: Serialize + Send + 'static {
    /// Forgets the rows and what stands beside them: who is told of cells as they are finished has them.
    fn forget_rows(&mut self);

    /// A failure beside an answer.
    fn failure(&self) -> Option<String> {
        None
    }
}

impl<R, D, B> Answered for Answer<R, D, B>
where
    R: Serialize + Send + 'static,
    D: Serialize + Send + 'static,
    B: Serialize + Default + Send + 'static,
{
    fn forget_rows(&mut self) {
        (self.rows, self.intervals, self.beside) = (Vec::new(), Vec::new(), B::default());
    }
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

/// The cells of a study, and what is known of its device and policies before a trace is read.
#[derive(Default, Serialize)]
pub(crate) struct Planned {
    pub(crate) cells: Vec<PlannedCell>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) device: Option<DeviceFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) policies: Option<Vec<PolicyFacts>>,
}

/// A study, as its options ask for it.
pub(crate) trait Question: DeserializeOwned + Send + 'static {
    const STUDY: &'static str;
    type Experiment: Cells + Send + 'static;
    /// A cell that was run.
    type Finished;
    type Row: Serialize + Send + 'static;
    type Outcome;
    type Answer: Answered;

    fn experiment(
        &self,
        traces: Vec<TraceInput>,
        jobs: Option<usize>,
    ) -> Result<Self::Experiment, SimError>;

    /// Checks what can be known before a trace is read.
    fn check(experiment: &Self::Experiment) -> Result<(), SimError>;

    /// The cells on a trace, as far as they depend on its number of pages.
    fn plan(
        experiment: &Self::Experiment,
        given: &Given,
        _footprint_pages: Option<u32>,
    ) -> Result<Planned, SimError> {
        let cells = declaration(Self::STUDY)?.plan(given, experiment)?;
        Ok(Planned { cells, ..Planned::default() })
    }

    /// The pages of the trace that is held, for studies whose cells depend on them.
    fn footprint_pages(_: &Self::Experiment, _: Option<&Held>) -> Result<Option<u32>, SimError> {
        Ok(None)
    }

    /// Runs the selected cells.
    fn run(
        experiment: &Self::Experiment,
        held: Option<&Held>,
        selection: &Selection<'_, Self::Finished>,
        progress: &Arc<Progress>,
    ) -> Result<Self::Outcome, SimError>;

    /// The row of a cell and those of its intervals, as a dataset keeps them.
    fn rows(cell: &Self::Finished) -> Vec<Self::Row>;

    /// The result for Python.
    fn answer(
        &self,
        experiment: &Self::Experiment,
        outcome: Self::Outcome,
    ) -> Result<Self::Answer, SimError>;
}

/// What `plan` and `run` do with the options of a study.
#[derive(Clone, Copy)]
pub(crate) struct Runnable {
    study: &'static str,
    plan: fn(&Bound<'_, PyAny>, &Given, Option<u32>) -> PyResult<Planned>,
    answer: for<'py> fn(Asking<'py>, Python<'py>) -> PyResult<Bound<'py, PyAny>>,
}

impl Runnable {
    pub(crate) const fn of<Q: Question>() -> Self {
        Runnable { study: Q::STUDY, plan: plan_of::<Q>, answer: answer_of::<Q> }
    }

    fn find(study: &str) -> Option<Self> {
        RUNNABLE.into_iter().find(|known| known.study == study)
    }
}

fn plan_of<Q: Question>(
    options: &Bound<'_, PyAny>,
    given: &Given,
    footprint_pages: Option<u32>,
) -> PyResult<Planned> {
    let options: Q = depythonize(options)?;
    let experiment = options.experiment(Vec::new(), None).map_err(exception)?;
    Q::check(&experiment).map_err(exception)?;
    Q::plan(&experiment, given, footprint_pages).map_err(exception)
}

fn answer_of<'py, Q: Question>(
    asking: Asking<'py>,
    py: Python<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    asking.answer::<Q>(py)
}

/// What a study declares.
fn declaration(study: &str) -> Result<StudyDeclaration, SimError> {
    let found = STUDIES.into_iter().find(|known| known.name == study);
    found.ok_or_else(|| SimError::usage(format!("there is no study {study:?}"), "name another one"))
}

/// The cells of a study on a trace, whose number of pages may not be known yet, in the order of its rows, each with its
/// key; for page policies also facts about device and policies. Refuses options that are unusable on every trace.
#[pyfunction]
#[pyo3(signature = (study, options, *, footprint_pages=None))]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    study: &str,
    options: Bound<'py, PyAny>,
    footprint_pages: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let given: Given = depythonize(&options)?;
    let planned = match Runnable::find(study) {
        Some(known) => (known.plan)(&options, &given, footprint_pages)?,
        None => {
            let known = declaration(study).map_err(exception)?;
            let options: LocalityOptions = depythonize(&options)?;
            let cells = options.check().and_then(|()| known.plan(&given, &OneCell));
            Planned { cells: cells.map_err(exception)?, ..Planned::default() }
        }
    };
    Ok(pythonize(py, &planned)?)
}

#[derive(Serialize)]
struct GridFacts {
    /// Options that hold lists; their combinations are the cells.
    listed: Vec<&'static str>,
    /// Options that older datasets lack.
    newer: &'static [&'static str],
    /// The columns of a cell's key.
    key: &'static [&'static str],
    /// Options that are columns of the key behind those.
    options: Vec<&'static str>,
    /// What a dataset keeps of a cell beside the columns of rows, with their kinds.
    kept: Vec<(&'static str, ColumnKind)>,
    /// The column that analyses look at if they name none.
    value: &'static str,
    /// The columns by which rows of a dataset are sorted.
    order: Vec<&'static str>,
}

/// The grid of each study, by its name: how cells are made and identified.
#[pyfunction]
pub(crate) fn grids(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let facts = |study: StudyDeclaration| GridFacts {
        listed: study.listed().collect(),
        newer: study.newer,
        key: study.key_columns(),
        options: study.key_options().map(|option| option.name).collect(),
        kept: study.kept_columns(),
        value: study.value,
        order: study.order(),
    };
    let grids: BTreeMap<_, _> = STUDIES.map(|study| (study.name, facts(study))).into();
    Ok(pythonize(py, &grids)?)
}

/// Runs a study; a dictionary of rows and of facts about traces, devices and what is compared. With `cells`, runs only
/// those with these keys, and with `held`, on a trace that is held. Calls `on_rows` now and then with pairs of a finished
/// cell's key and one of its rows; the dictionary has no rows then.
#[pyfunction]
#[pyo3(signature = (study, traces, options, *, jobs, watch=None, cells=None, on_rows=None, held=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn run<'py>(
    py: Python<'py>,
    study: &str,
    traces: Vec<PyRef<'py, TraceSource>>,
    options: Bound<'py, PyAny>,
    jobs: Option<usize>,
    watch: Option<Py<PyAny>>,
    cells: Option<Bound<'py, PyAny>>,
    on_rows: Option<Py<PyAny>>,
    held: Option<PyRef<'py, HeldTrace>>,
) -> PyResult<Bound<'py, PyAny>> {
    let traces = traces.iter().map(|trace| trace.0.clone()).collect();
    let cells = cells.map(|cells| depythonize(&cells)).transpose()?;
    let held = held.map(|held| Arc::clone(&held.0));
    let asking = Asking { options, traces, jobs, watch, cells, on_rows, held };
    match Runnable::find(study) {
        Some(known) => (known.answer)(asking, py),
        None => Err(exception(SimError::usage(
            format!("there is no study {study:?} to run"),
            "name another one",
        ))),
    }
}

/// A call from Python.
pub(crate) struct Asking<'py> {
    options: Bound<'py, PyAny>,
    traces: Vec<TraceInput>,
    jobs: Option<usize>,
    watch: Option<Py<PyAny>>,
    /// The keys of the cells that are run.
    cells: Option<Vec<Columns>>,
    on_rows: Option<Py<PyAny>>,
    held: Option<Arc<Held>>,
}

impl<'py> Asking<'py> {
    fn answer<Q: Question>(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let options: Q = depythonize(&self.options)?;
        let experiment = options.experiment(self.traces, self.jobs).map_err(exception)?;
        let held = self.held;
        let is_told = self.on_rows.is_some();
        let keys = match is_told || self.cells.is_some() {
            true => keys_of::<Q>(&experiment, &depythonize(&self.options)?, held.as_deref()),
            false => Ok(Vec::new()),
        };
        let keys = keys.map_err(exception)?;
        let chosen = self.cells.map(|cells| positions(&keys, &cells)).transpose();
        let chosen = chosen.map_err(exception)?;
        let told = self.on_rows.map(|on_rows| (on_rows, keys));
        let answer = supervised_rows(py, self.watch, told, move |progress, on_rows| {
            let on_finished = |position, cell: &Q::Finished| on_rows(position, Q::rows(cell));
            let selection = Selection { cells: chosen.as_deref(), on_finished: &on_finished };
            let outcome = Q::run(&experiment, held.as_deref(), &selection, progress)?;
            let mut answer = options.answer(&experiment, outcome)?;
            if is_told {
                answer.forget_rows();
            }
            Ok::<_, SimError>(answer)
        })?;
        match answer.failure() {
            Some(failure) => Err(ClockhandError::new_err(failure)),
            None => Ok(pythonize(py, &answer)?),
        }
    }
}

/// The key of each cell.
fn keys_of<Q: Question>(
    experiment: &Q::Experiment,
    given: &Given,
    held: Option<&Held>,
) -> Result<Vec<Columns>, SimError> {
    let footprint_pages = Q::footprint_pages(experiment, held)?;
    let planned = Q::plan(experiment, given, footprint_pages)?;
    Ok(planned.cells.into_iter().map(|cell| cell.key).collect())
}

/// The error of a planned cell that is gone: a policy's own file can change in between.
fn no_cell(key: &Columns) -> SimError {
    match key.get("policy_resolved").and_then(|policy| policy.as_str()) {
        Some(policy) => SimError::usage(
            format!("{policy}: its source changed while it ran"),
            "run the command again",
        ),
        None => SimError::usage(format!("the study has no cell {key:?}"), "plan its cells again"),
    }
}

/// The positions of the cells with these keys; of several with one key that of the first.
fn positions(keys: &[Columns], wanted: &[Columns]) -> Result<Vec<usize>, SimError> {
    let mut position_of = HashMap::new();
    for (position, key) in keys.iter().enumerate() {
        position_of.entry(key).or_insert(position);
    }
    let position = |key: &Columns| {
        let found = position_of.get(key).copied();
        found.ok_or_else(|| no_cell(key))
    };
    wanted.iter().map(position).collect()
}
