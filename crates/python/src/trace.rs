//! Traces: from a file or from NumPy arrays, parts of them, what they are like, and their conversion.

use clockhand_quantity::option;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use clockhand_sim::{ReadingOptions, SimError};
use clockhand_trace::{
    AnonymousPages, CapturedStream, ClassCounts, Classes, Convention, Conversion, CpuCacheConfig,
    Format, JoinOrder, ObjectKind, Op, OpenOptions, Overrides, ReadReport, Recipe, RecordClass,
    Request, RequestTable, Selection, StreamCounts, StreamEnd, TraceError, TraceInfo, TraceInput,
    View, bytes_with_unit, convert, find_format,
};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};
use serde::Serialize;

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
        Ok(TraceSource(TraceInput::File { path, options }))
    }

    /// This file under another name, in rows and messages.
    fn named(&self, name: String) -> Self {
        let mut input = self.0.clone();
        if let TraceInput::File { options, .. } = &mut input {
            options.name = Some(name);
        }
        TraceSource(input)
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

    /// Several traces as one, by "time" or one after the other ("files").
    #[staticmethod]
    fn joined(name: String, traces: Vec<PyRef<'_, TraceSource>>, order: &str) -> PyResult<Self> {
        let order = JoinOrder::of_name(order).ok_or_else(|| {
            exception(SimError::usage(
                option("order") + format!(" {order:?} is unknown"),
                "give time or files",
            ))
        })?;
        let parts = traces.iter().map(|trace| trace.0.clone()).collect();
        Ok(TraceSource(TraceInput::Joined { name, parts, order }))
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
        Ok(TraceSource(TraceInput::Table { name, table: Arc::new(table) }))
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
        let recipe = Arc::new(recipe);
        Ok(TraceSource(TraceInput::Synthetic { recipe, memory_limit_bytes }))
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
    bytes_with_unit(text).filter(|&bytes| bytes >= LEAST_MEMORY_LIMIT_BYTES).ok_or_else(|| {
        SimError::usage(
            option("memory-limit") + format!(" {text:?} is no size of at least 16MiB"),
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
    left_out_requests: u64,
    assumed_reads: u64,
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
            left_out_requests: report.left_out_requests,
            assumed_reads: report.assumed_reads,
            notes,
            labels: report.labels.clone(),
            view: report.view,
            classes: report.classes.map(ByLetter::from),
        }
    }
}

#[derive(Serialize)]
struct StreamFacts {
    stream: u32,
    name: Option<String>,
    read_requests: u64,
    write_requests: u64,
    /// `anonymous` or `file`, if the trace tells.
    kind: Option<&'static str>,
    /// Length of a file at the end of the trace, if it is known.
    file_bytes: Option<u64>,
}

impl From<&StreamCounts> for StreamFacts {
    fn from(counts: &StreamCounts) -> Self {
        StreamFacts {
            stream: counts.number,
            name: counts.name.clone(),
            read_requests: counts.read_requests,
            write_requests: counts.write_requests,
            kind: counts.kind.map(ObjectKind::name),
            file_bytes: counts.file_bytes,
        }
    }
}

/// One request as it is understood.
#[derive(Serialize)]
struct RequestFacts {
    op: &'static str,
    address: u64,
    bytes: u32,
    stream: u32,
    time_ns: Option<u64>,
}

impl From<&Request> for RequestFacts {
    fn from(request: &Request) -> Self {
        let Request { address, bytes, stream, time_ns, .. } = *request;
        let op = if request.op == Op::Read { "R" } else { "W" };
        RequestFacts { op, address, bytes, stream, time_ns }
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
    /// The first requests as they are understood.
    first_requests: Vec<RequestFacts>,
    streams: u32,
    /// The format's word for a stream: `volume`, for example.
    stream_noun: &'static str,
    stream_counts: Vec<StreamFacts>,
    /// Events that are not requests: what they are, in the plural, and how many.
    events: Vec<(&'static str, u64)>,
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
            first_requests: info.first_requests.iter().map(RequestFacts::from).collect(),
            streams: info.streams,
            stream_noun: find_format(info.report.format).map_or("stream", Format::stream_noun),
            stream_counts: info.stream_counts.iter().map(StreamFacts::from).collect(),
            events: info.report.events.clone(),
            span_ns: info.span_ns,
            sorted_by_time: info.sorted_by_time,
            anonymous_pages: info.report.anonymous_pages.as_ref().map(AnonymousPages::pages),
            segments: info.report.segments.clone(),
        }
    }
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
    Ok(pythonize(py, &ReadFacts::from(&report))?)
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

#[derive(Serialize)]
struct ConversionFacts {
    traces: Vec<ReadFacts>,
    format: &'static str,
    losses: Vec<String>,
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
    let facts = ConversionFacts {
        traces: converted.reports.iter().map(ReadFacts::from).collect(),
        format: converted.format,
        losses: converted.losses,
    };
    Ok(pythonize(py, &facts)?)
}

/// One process of a capture.
#[derive(Serialize)]
struct ProcessFacts {
    process: u32,
    command: Vec<String>,
    end: &'static str,
    exit_code: Option<i32>,
    classes: ByLetter,
}

impl From<&CapturedStream> for ProcessFacts {
    fn from(stream: &CapturedStream) -> Self {
        let (end, exit_code) = match stream.end {
            StreamEnd::Exit(code) => ("exit", Some(code)),
            StreamEnd::Exec => ("exec", None),
            StreamEnd::Signal => ("signal", None),
            StreamEnd::Cut => ("cut", None),
        };
        ProcessFacts {
            process: stream.process,
            command: stream.command.clone(),
            end,
            exit_code,
            classes: stream.classes.into(),
        }
    }
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
    let facts = TimelineFacts {
        calls: timeline.calls,
        references: timeline.references,
        notes: timeline.notes,
    };
    Ok(pythonize(py, &facts)?)
}

/// What is in a timeline.
#[derive(Serialize)]
struct TimelineFacts {
    calls: u64,
    references: u64,
    notes: Vec<String>,
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
    let facts: Vec<ProcessFacts> = streams.iter().map(ProcessFacts::from).collect();
    Ok(pythonize(py, &facts)?)
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
        let facts: Vec<ProcessFacts> = streams.iter().map(ProcessFacts::from).collect();
        Ok(pythonize(py, &facts)?)
    }
}

impl CaptureConversion {
    fn taken(&self) -> Option<clockhand_trace::CaptureConversion> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
