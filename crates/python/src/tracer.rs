//! Following a program's calls on files.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::path::PathBuf;

use clockhand_tracer::Calls;
use pyo3::prelude::*;

/// In a process that was just forked: waits to be followed, and becomes the program. Returns why that
/// failed. `tells` says that it runs under Valgrind, whose tool tells of its calls.
#[pyfunction]
pub(crate) fn become_followed(command: Vec<OsString>, tells: bool) -> String {
    clockhand_tracer::become_followed(&command, calls(tells)).to_string()
}

fn calls(tells: bool) -> Calls {
    if tells { Calls::Reported } else { Calls::Stopped }
}

/// Follows a child that becomes the program, and what that starts, until none is left; the log and the
/// news about processes go to two files until the child ends.
#[pyfunction]
pub(crate) fn follow(
    py: Python<'_>,
    child: i32,
    tells: bool,
    log: PathBuf,
    news: PathBuf,
) -> PyResult<()> {
    let open = |path| OpenOptions::new().append(true).open(path);
    let (log, news) = (open(log)?, open(news)?);
    py.detach(|| clockhand_tracer::follow(child, calls(tells), log, news)).map_err(PyErr::from)
}
