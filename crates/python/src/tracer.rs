//! Following a program's calls on files.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::path::PathBuf;

use pyo3::prelude::*;

/// In a process that was just forked: waits to be followed, and becomes the program. Returns why that
/// failed.
#[pyfunction]
pub(crate) fn become_followed(command: Vec<OsString>) -> String {
    clockhand_tracer::become_followed(&command).to_string()
}

/// Follows a child that becomes the program, and what that starts, until none is left; the log and the
/// news about processes go to two files until the child ends.
#[pyfunction]
pub(crate) fn follow(py: Python<'_>, child: i32, log: PathBuf, news: PathBuf) -> PyResult<()> {
    let open = |path| OpenOptions::new().append(true).open(path);
    let (log, news) = (open(log)?, open(news)?);
    py.detach(|| clockhand_tracer::follow(child, log, news)).map_err(PyErr::from)
}
