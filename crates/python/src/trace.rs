//! Traces: from a file or from NumPy arrays, what they are like, and their conversion to Parquet.

use std::path::PathBuf;
use std::sync::Arc;

use clockhand_sim::{RequestTable, SimError, TraceInput, convert_to_parquet};
use clockhand_trace::{
    AnonymousPages, CapturedStream, ClassCounts, Classes, Convention, CpuCacheConfig, ReadReport,
    RecordClass, StreamEnd, TraceInfo, View,
};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pythonize::pythonize;
use serde::Serialize;

use crate::errors::exception;
use crate::supervision::supervised;

/// Where a trace comes from.
#[pyclass(frozen, module = "clockhand._engine")]
pub(crate) struct TraceSource(pub(crate) TraceInput);

#[pymethods]
impl TraceSource {
    /// A file, or standard input for "-"; with `cpu_cache`, seen through a first-level cache. `view`
    /// and `fetches` make reads and writes of records with classes.
    #[staticmethod]
    #[pyo3(signature = (path, format=None, cpu_cache=false, view=None, fetches=None, only=None))]
    fn file(
        path: PathBuf,
        format: Option<String>,
        cpu_cache: bool,
        view: Option<&str>,
        fetches: Option<bool>,
        only: Option<&str>,
    ) -> PyResult<Self> {
        let cpu_cache = cpu_cache.then(CpuCacheConfig::default);
        let classes = classes(view, fetches).map_err(exception)?;
        let only_anonymous = is_anonymous(only).map_err(exception)?;
        Ok(TraceSource(TraceInput::File { path, format, cpu_cache, classes, only_anonymous }))
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
        Ok(TraceSource(TraceInput::Table { name, table: Arc::new(table) }))
    }

    /// What the rows of a result call the trace.
    #[getter]
    fn name(&self) -> String {
        self.0.name()
    }
}

/// The view that was asked for, if one was.
fn classes(view: Option<&str>, fetches: Option<bool>) -> Result<Classes, SimError> {
    if view.is_none() && fetches.is_none() {
        return Ok(Classes::DefaultView);
    }
    let convention = match view {
        None => Convention::default(),
        Some(name) => Convention::of_name(name).ok_or_else(|| {
            SimError::Usage(format!("--view {name:?} is unknown; give bus, paper or fault"))
        })?,
    };
    Ok(Classes::Viewed(View { convention, fetches: fetches.unwrap_or(true) }))
}

fn is_anonymous(only: Option<&str>) -> Result<bool, SimError> {
    match only {
        None => Ok(false),
        Some("anonymous") => Ok(true),
        Some(other) => Err(SimError::Usage(format!("--only {other:?} is unknown; give anonymous"))),
    }
}

/// What a reader met, for `trace info` and for the facts of a report.
#[derive(Serialize)]
pub(crate) struct ReadFacts {
    format: &'static str,
    compression: Option<&'static str>,
    sha256: Option<String>,
    stored_bytes: Option<u64>,
    records: u64,
    requests: u64,
    skipped_records: u64,
    first_skipped: Vec<String>,
    zero_size_requests: u64,
    notes: Vec<String>,
    labels: Vec<(String, String)>,
    view: Option<&'static str>,
    classes: Option<ByLetter>,
}

/// Records of each class, by its letter.
#[derive(Serialize)]
#[serde(rename_all = "UPPERCASE")]
struct ByLetter {
    i: u64,
    r: u64,
    a: u64,
    w: u64,
}

impl From<ClassCounts> for ByLetter {
    fn from(counts: ClassCounts) -> Self {
        let [i, r, a, w] = RecordClass::ALL.map(|class| counts.get(class));
        ByLetter { i, r, a, w }
    }
}

impl From<&ReadReport> for ReadFacts {
    fn from(report: &ReadReport) -> Self {
        let skipped = |skipped: &clockhand_trace::SkippedRecord| {
            format!("record {}: {}", skipped.record, skipped.reason)
        };
        let mut notes = report.notes.clone();
        if !report.ignored_columns.is_empty() {
            notes.push(format!("columns that are not used: {}", report.ignored_columns.join(", ")));
        }
        ReadFacts {
            format: report.format,
            compression: report.compression,
            sha256: report.sha256_hex(),
            stored_bytes: report.stored_bytes,
            records: report.records,
            requests: report.requests,
            skipped_records: report.skipped_records,
            first_skipped: report.first_skipped.iter().map(skipped).collect(),
            zero_size_requests: report.zero_size_requests,
            notes,
            labels: report.labels.clone(),
            view: report.view,
            classes: report.classes.map(ByLetter::from),
        }
    }
}

#[derive(Serialize)]
struct InfoFacts {
    #[serde(flatten)]
    read: ReadFacts,
    read_requests: u64,
    write_requests: u64,
    read_bytes: u64,
    written_bytes: u64,
    min_request_bytes: u32,
    mean_request_bytes: f64,
    max_request_bytes: u32,
    page_bytes: u64,
    references: u64,
    read_references: u64,
    write_references: u64,
    footprint_pages: u32,
    dirty_footprint_pages: u32,
    streams: u32,
    span_ns: Option<u64>,
    sorted_by_time: Option<bool>,
    anonymous_pages: Option<u64>,
    segments: Vec<String>,
}

impl From<&TraceInfo> for InfoFacts {
    fn from(info: &TraceInfo) -> Self {
        InfoFacts {
            read: ReadFacts::from(&info.report),
            read_requests: info.read_requests,
            write_requests: info.write_requests,
            read_bytes: info.read_bytes,
            written_bytes: info.written_bytes,
            min_request_bytes: info.min_request_bytes,
            mean_request_bytes: info.mean_request_bytes(),
            max_request_bytes: info.max_request_bytes,
            page_bytes: info.page_bytes,
            references: info.references(),
            read_references: info.read_references,
            write_references: info.write_references,
            footprint_pages: info.footprint_pages,
            dirty_footprint_pages: info.dirty_footprint_pages,
            streams: info.streams,
            span_ns: info.span_ns,
            sorted_by_time: info.sorted_by_time,
            anonymous_pages: info.report.anonymous_pages.as_ref().map(AnonymousPages::pages),
            segments: info.report.segments.clone(),
        }
    }
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
    Ok(pythonize(py, &InfoFacts::from(&info))?)
}

/// Writes traces to one Parquet file, one after the other; with several, each gets streams of its own. A list
/// with what was met in each, as dictionaries.
#[pyfunction]
#[pyo3(signature = (traces, out, labels, watch=None))]
pub(crate) fn convert_trace<'py>(
    py: Python<'py>,
    traces: Vec<PyRef<'py, TraceSource>>,
    out: PathBuf,
    labels: Vec<(String, String)>,
    watch: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let inputs: Vec<TraceInput> = traces.iter().map(|trace| trace.0.clone()).collect();
    let reports = supervised(py, watch, move |progress| {
        convert_to_parquet(&inputs, &out, &labels, progress)
    })?;
    let facts: Vec<ReadFacts> = reports.iter().map(ReadFacts::from).collect();
    Ok(pythonize(py, &facts)?)
}

/// One process of a capture.
#[derive(Serialize)]
struct StreamFacts {
    process: u32,
    command: Vec<String>,
    end: &'static str,
    exit_code: Option<i32>,
    classes: ByLetter,
}

impl From<&CapturedStream> for StreamFacts {
    fn from(stream: &CapturedStream) -> Self {
        let (end, exit_code) = match stream.end {
            StreamEnd::Exit(code) => ("exit", Some(code)),
            StreamEnd::Exec => ("exec", None),
            StreamEnd::Signal => ("signal", None),
            StreamEnd::Cut => ("cut", None),
        };
        StreamFacts {
            process: stream.process,
            command: stream.command.clone(),
            end,
            exit_code,
            classes: stream.classes.into(),
        }
    }
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
        clockhand_sim::convert_capture(paths, &out, &labels, progress)
    })?;
    let facts: Vec<StreamFacts> = streams.iter().map(StreamFacts::from).collect();
    Ok(pythonize(py, &facts)?)
}
