//! What write buffers and drives there are.

use clockhand_device::{Ssd, built_in_ssds};
use clockhand_policy::buffer::catalog::{BUFFERS, BufferEntry};
use clockhand_sim::parse_buffer;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use pythonize::pythonize;

use crate::catalogs::{NamedFacts, PolicyFacts, described};
use crate::errors::exception;

/// All write buffers, as dictionaries.
#[pyfunction]
pub(crate) fn write_buffers(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let kind = |entry: &BufferEntry| match (entry.is_hybrid, entry.is_offline) {
        (true, _) => "write buffer, DRAM and NVM",
        (_, true) => "write buffer, offline",
        _ => "write buffer",
    };
    let facts: Vec<PolicyFacts> =
        BUFFERS.iter().map(|entry| described(entry.description, kind(entry).to_owned())).collect();
    Ok(pythonize(py, &facts)?)
}

/// The documentation page of a write buffer, in Markdown.
#[pyfunction]
pub(crate) fn write_buffer_page(name: &str) -> PyResult<String> {
    Ok(parse_buffer(name).map_err(exception)?.entry().page())
}

/// All built-in drives, as dictionaries.
#[pyfunction]
pub(crate) fn ssds(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let named = |ssd: clockhand_device::BuiltIn| NamedFacts {
        name: ssd.name,
        summary: ssd.summary,
        source: Some(ssd.source),
    };
    let facts: Vec<_> = built_in_ssds().into_iter().map(named).collect();
    Ok(pythonize(py, &facts)?)
}

/// The page of a drive, built-in or from a file.
#[pyfunction]
pub(crate) fn ssd_page(ssd: &str) -> PyResult<String> {
    let ssd = Ssd::named_or_file(ssd).map_err(exception)?;
    Ok(ssd.description())
}

/// The facts of a drive's page, by name.
#[pyfunction]
pub(crate) fn ssd_facts<'py>(py: Python<'py>, ssd: &str) -> PyResult<Bound<'py, PyDict>> {
    let ssd = Ssd::named_or_file(ssd).map_err(exception)?;
    ssd.facts().into_py_dict(py)
}
