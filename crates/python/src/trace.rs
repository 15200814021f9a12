//! Traces: from a file or from NumPy arrays, what they are like, and their conversion to Parquet.

use std::path::PathBuf;
use std::sync::Arc;

use clockhand_sim::{RequestTable, SimError, TraceInput, convert_to_parquet};
use clockhand_trace::{CpuCacheConfig, Overrides, ReadReport, Recipe, TraceInfo};
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
    /// A file, or standard input for "-"; with `cpu_cache`, seen through a first-level cache.
    #[staticmethod]
    #[pyo3(signature = (path, format=None, cpu_cache=false))]
    fn file(path: PathBuf, format: Option<String>, cpu_cache: bool) -> Self {
        let cpu_cache = cpu_cache.then(CpuCacheConfig::default);
        TraceSource(TraceInput::File { path, format, cpu_cache })
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
    #[pyo3(signature = (recipe, requests=None, seed=None, arrivals=None))]
    fn synthetic(
        recipe: &str,
        requests: Option<&str>,
        seed: Option<&str>,
        arrivals: Option<&str>,
    ) -> PyResult<Self> {
        let recipe = Recipe::open(recipe, &Overrides { requests, seed, arrivals });
        let recipe = recipe.map_err(|error| exception(SimError::from(error)))?;
        Ok(TraceSource(TraceInput::Synthetic(Arc::new(recipe))))
    }

    /// What the rows of a result call the trace.
    #[getter]
    fn name(&self) -> String {
        self.0.name()
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
