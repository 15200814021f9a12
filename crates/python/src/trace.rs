//! Traces: from a file or from NumPy arrays, parts of them, what they are like, and their conversion.

use clockhand_quantity::option;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use clockhand_sim::{ReadingOptions, SimError};
use clockhand_trace::{
    Classes, Convention, Conversion, CpuCacheConfig, JoinOrder, OpenOptions, Overrides, Recipe,
    RequestTable, Selection, TraceError, TraceInput, View, bytes_with_unit, convert,
};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};

use crate::errors::exception;
use crate::supervision::supervised;

/// The value of `--only` that takes the pages of a captured program that would go to swap.
const ANONYMOUS: &str = "anonymous";

/// Where a trace comes from.
#[pyclass(frozen, module = "clockhand._engine")]
pub(crate) struct TraceSource(pub(crate) TraceInput);

#[pymethods]
impl TraceSource {
    /// A file, or standard input for "-"; with `cpu_cache`, seen through a first-level cache; read as `reading` says.
    #[staticmethod]
    #[pyo3(signature = (path, reading, *, cpu_cache=false))]
    fn file(path: PathBuf, reading: &Bound<'_, PyAny>, cpu_cache: bool) -> PyResult<Self> {
        let reading: ReadingOptions = depythonize(reading)?;
        let memory_limit_bytes =
            reading.memory_limit.as_deref().map(memory_limit_bytes).transpose();
        let options = OpenOptions {
            format: reading.trace_format,
            cpu_cache: cpu_cache.then(CpuCacheConfig::default),
            assume_reads: reading.assume_reads,
            classes: classes(reading.view.as_deref(), reading.fetches).map_err(exception)?,
            only_anonymous: false,
            memory_limit_bytes: memory_limit_bytes.map_err(exception)?,
            object_block_bytes: None,
            name: None,
            without_digest: false,
        };
        Ok(TraceSource(TraceInput::opened(path, options)))
    }

    /// This file under another name, in rows and messages.
    fn named(&self, name: String) -> Self {
        TraceSource(self.0.clone().named(name))
    }

    /// The same trace, whose facts have no SHA-256, which takes less time.
    fn without_digest(&self) -> Self {
        TraceSource(self.0.digested(false))
    }

    /// A part of this trace: what `only` and `streams` of `reading` choose; then `skip` and `limit` count requests.
    fn part(&self, reading: &Bound<'_, PyAny>) -> PyResult<Self> {
        let ReadingOptions { only, streams, skip, limit, .. } = depythonize(reading)?;
        let input = match only.as_deref() {
            Some(ANONYMOUS) => self.0.clone().only_anonymous().map_err(exception)?,
            _ => self.0.clone(),
        };
        let selection = || -> Result<Selection, TraceError> {
            let only = only.as_deref().filter(|&only| only != ANONYMOUS);
            let only = only.map(Selection::parse_only).transpose()?;
            let streams = streams.as_deref().map(Selection::parse_streams).transpose()?;
            Ok(Selection { only, streams, skip, limit })
        };
        let selection = selection().map_err(exception)?;
        Ok(TraceSource(input.part(selection)))
    }

    /// Several traces as one, by "time", one after the other ("files"), or in turns ("turns:1000").
    #[staticmethod]
    fn joined(name: String, traces: Vec<PyRef<'_, TraceSource>>, order: &str) -> PyResult<Self> {
        let order = JoinOrder::of_name(order).ok_or_else(|| {
            exception(SimError::usage(
                option("order") + format!(" {order:?} is unknown"),
                "give time, files, or turns:1000, of 1 request or more",
            ))
        })?;
        let parts = traces.iter().map(|trace| trace.0.clone()).collect();
        Ok(TraceSource(TraceInput::joined(name, parts, order)))
    }

    /// This trace, whose page views are kept in files without names in a folder.
    fn on_scratch(&self, folder: PathBuf) -> Self {
        TraceSource(self.0.clone().on_scratch(folder))
    }

    /// Arrays of one length: bool, uint64, and if given uint32, uint32, uint64.
    #[staticmethod]
    #[pyo3(signature = (name, is_write, addresses, sizes_bytes=None, streams=None, times_ns=None))]
    fn table(
        name: String,
        is_write: PyReadonlyArray1<'_, bool>,
        addresses: PyReadonlyArray1<'_, u64>,
        sizes_bytes: Option<PyReadonlyArray1<'_, u32>>,
        streams: Option<PyReadonlyArray1<'_, u32>>,
        times_ns: Option<PyReadonlyArray1<'_, u64>>,
    ) -> PyResult<Self> {
        let table = RequestTable {
            is_write: is_write.as_slice()?.to_vec(),
            addresses: addresses.as_slice()?.to_vec(),
            sizes_bytes: sizes_bytes
                .map(|array| array.as_slice().map(<[u32]>::to_vec))
                .transpose()?,
            streams: streams.map(|array| array.as_slice().map(<[u32]>::to_vec)).transpose()?,
            times_ns: times_ns.map(|array| array.as_slice().map(<[u64]>::to_vec)).transpose()?,
        };
        Ok(TraceSource(TraceInput::table(name, Arc::new(table))))
    }

    /// Requests that a recipe describes and that are made while they are read.
    #[staticmethod]
    #[pyo3(signature = (recipe, requests=None, seed=None, arrivals=None, memory_limit=None))]
    fn synthetic(
        recipe: &str,
        requests: Option<&str>,
        seed: Option<&str>,
        arrivals: Option<&str>,
        memory_limit: Option<&str>,
    ) -> PyResult<Self> {
        let recipe = Recipe::open(recipe, &Overrides { requests, seed, arrivals });
        let recipe = recipe.map_err(exception)?;
        let memory_limit_bytes =
            memory_limit.map(memory_limit_bytes).transpose().map_err(exception)?;
        Ok(TraceSource(TraceInput::synthetic(recipe).limited(memory_limit_bytes)))
    }

    /// What the rows of a result call the trace.
    #[getter]
    fn name(&self) -> String {
        self.0.name()
    }
}

/// The least that reading may be limited to: buffers and tables of any reader fit.
const LEAST_MEMORY_LIMIT_BYTES: u64 = 16 << 20;

fn memory_limit_bytes(text: &str) -> Result<u64, SimError> {
    limit_bytes(text, "memory-limit")
}

/// Refuses a text that is no budget of memory for a sweep.
#[pyfunction]
pub(crate) fn check_memory_budget(text: &str) -> PyResult<()> {
    limit_bytes(text, "memory-budget").map(|_| ()).map_err(exception)
}

fn limit_bytes(text: &str, named: &'static str) -> Result<u64, SimError> {
    bytes_with_unit(text).filter(|&bytes| bytes >= LEAST_MEMORY_LIMIT_BYTES).ok_or_else(|| {
        SimError::usage(
            option(named) + format!(" {text:?} is no size of at least 16MiB"),
            "give one such as 4GiB",
        )
    })
}

/// The view that was asked for, if one was.
fn classes(view: Option<&str>, fetches: Option<bool>) -> Result<Classes, SimError> {
    if view.is_none() && fetches.is_none() {
        return Ok(Classes::DefaultView);
    }
    let convention = match view {
        None => Convention::default(),
        Some(name) => Convention::of_name(name).ok_or_else(|| {
            SimError::usage(
                option("view") + format!(" {name:?} is unknown"),
                "give bus, paper or fault",
            )
        })?,
    };
    Ok(Classes::Viewed(View { convention, fetches: fetches.unwrap_or(true) }))
}

/// Reads a trace to its end and tells what the reader met, as a dictionary.
#[pyfunction]
#[pyo3(signature = (trace, watch=None))]
pub(crate) fn read_trace<'py>(
    py: Python<'py>,
    trace: &TraceSource,
    watch: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let input = trace.0.clone();
    let report =
        supervised(py, watch, move |progress| input.for_each_batch(progress, &mut |_| Ok(())))?;
    Ok(pythonize(py, &report)?)
}

/// Reads a trace to its end and tells what it is like, as a dictionary.
#[pyfunction]
#[pyo3(signature = (trace, page_bytes, watch=None))]
pub(crate) fn trace_info<'py>(
    py: Python<'py>,
    trace: &TraceSource,
    page_bytes: u64,
    watch: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let input = trace.0.clone();
    let info = supervised(py, watch, move |progress| input.info(page_bytes, progress))?;
    Ok(pythonize(py, &info)?)
}

/// Writes traces to one file, one after the other; with several, each gets streams of its own. A
/// dictionary with what was met in each, the format, and what it could not hold.
#[pyfunction]
#[pyo3(signature = (traces, out, labels, *, to=None, widen=false, watch=None))]
pub(crate) fn convert_trace<'py>(
    py: Python<'py>,
    traces: Vec<PyRef<'py, TraceSource>>,
    out: PathBuf,
    labels: Vec<(String, String)>,
    to: Option<String>,
    widen: bool,
    watch: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let inputs: Vec<TraceInput> = traces.iter().map(|trace| trace.0.clone()).collect();
    let conversion = Conversion { out, to, widen, labels };
    let converted = supervised(py, watch, move |progress| convert(&inputs, &conversion, progress))?;
    Ok(pythonize(py, &converted)?)
}

/// Writes the files of a capture's front end and the log of the same program's calls to one Parquet file of
/// events; gives how many calls and references there are, and notes.
#[pyfunction]
#[pyo3(signature = (paths, log, out, labels, watch=None))]
pub(crate) fn convert_timeline<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    log: PathBuf,
    out: PathBuf,
    labels: Vec<(String, String)>,
    watch: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let timeline = supervised(py, watch, move |progress| {
        clockhand_trace::convert_timeline(paths, &log, &out, &labels, progress)
    })?;
    Ok(pythonize(py, &timeline)?)
}

/// Writes the files of a capture's front end to one Parquet file; a list with a dictionary for each process.
#[pyfunction]
#[pyo3(signature = (paths, out, labels, watch=None))]
pub(crate) fn convert_capture<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    out: PathBuf,
    labels: Vec<(String, String)>,
    watch: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let streams = supervised(py, watch, move |progress| {
        clockhand_trace::convert_capture(paths, &out, &labels, progress)
    })?;
    Ok(pythonize(py, &streams)?)
}

/// The conversion of a capture beside the captured program.
#[pyclass(frozen, module = "clockhand._engine")]
pub(crate) struct CaptureConversion(Mutex<Option<clockhand_trace::CaptureConversion>>);

#[pymethods]
impl CaptureConversion {
    /// Begins to convert files in a folder whose names begin with `prefix` and a dot, which need not be there yet.
    #[staticmethod]
    fn begin(folder: PathBuf, prefix: &str, out: PathBuf) -> PyResult<Self> {
        let conversion = clockhand_trace::CaptureConversion::begin(&folder, prefix, &out);
        let conversion = conversion.map_err(exception)?;
        Ok(CaptureConversion(Mutex::new(Some(conversion))))
    }

    /// Gives it up: nothing is left of the trace, and the files are not looked at any more.
    fn give_up(&self, py: Python<'_>) {
        let conversion = self.taken();
        py.detach(|| drop(conversion));
    }

    /// Completes the trace when the program has ended; a list with a dictionary for each process.
    #[pyo3(signature = (labels, watch=None))]
    fn finish<'py>(
        &self,
        py: Python<'py>,
        labels: Vec<(String, String)>,
        watch: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let conversion = self.taken().expect("a capture is finished once");
        let streams = supervised(py, watch, move |progress| conversion.finish(&labels, progress))?;
        Ok(pythonize(py, &streams)?)
    }
}

impl CaptureConversion {
    fn taken(&self) -> Option<clockhand_trace::CaptureConversion> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
