//! Long work on its own thread, watched from Python: progress is shown, and Ctrl-C ends it.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clockhand_sim::{Columns, SimError};
use clockhand_trace::progress::{Phase, Progress};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pythonize::pythonize;
use serde::Serialize;

use crate::errors::exception;
use crate::own::interrupt_policies;

/// Time between two looks at progress and signals.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// An interrupted run gets this many looks to clean up, enough on a busy machine; one that is blocked reading a pipe
/// would never end. A second Ctrl-C does not wait.
const LOOKS_AT_TIDYING_UP: u32 = 50;

/// Runs `work` without the interpreter and calls `watch(phase, done, total)` now and then.
pub(crate) fn supervised<T, E, W>(py: Python<'_>, watch: Option<Py<PyAny>>, work: W) -> PyResult<T>
where
    T: Send + 'static,
    E: Into<SimError> + Send + 'static,
    W: FnOnce(&Arc<Progress>) -> Result<T, E> + Send + 'static,
{
    supervised_with(py, |progress| show(py, watch.as_ref(), progress), work)
}

/// Runs `work` without the interpreter and calls `look` now and then; an error of `look` ends the work.
pub(crate) fn supervised_with<T, E, L, W>(py: Python<'_>, mut look: L, work: W) -> PyResult<T>
where
    T: Send + 'static,
    E: Into<SimError> + Send + 'static,
    L: FnMut(&Progress) -> PyResult<()>,
    W: FnOnce(&Arc<Progress>) -> Result<T, E> + Send + 'static,
{
    let progress = Arc::new(Progress::default());
    let (sender, receiver) = mpsc::channel();
    // Only this thread receives; the mutex lets the receiver be borrowed while the interpreter is released.
    let receiver = Mutex::new(receiver);
    let wait = |time| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(time);
    let worker_progress = Arc::clone(&progress);
    std::thread::spawn(move || _ = sender.send(work(&worker_progress)));
    loop {
        match py.detach(|| wait(LOOK_EVERY)) {
            Ok(result) => return result.map_err(exception),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err(
                    "the engine failed; please report this as a bug",
                ));
            }
            Err(RecvTimeoutError::Timeout) => {
                let looked = py.check_signals().and_then(|()| look(&progress));
                if let Err(stop) = looked {
                    progress.cancel();
                    // If that fails, no policy in Python is running.
                    _ = interrupt_policies(py);
                    for _ in 0..LOOKS_AT_TIDYING_UP {
                        let is_under_way = matches!(
                            py.detach(|| wait(LOOK_EVERY)),
                            Err(RecvTimeoutError::Timeout)
                        );
                        if !is_under_way || py.check_signals().is_err() {
                            break;
                        }
                    }
                    return Err(stop);
                }
            }
        }
    }
}

pub(crate) fn show(py: Python<'_>, watch: Option<&Py<PyAny>>, progress: &Progress) -> PyResult<()> {
    let Some(watch) = watch else { return Ok(()) };
    let (phase, done, total) = progress.now();
    let phase = match phase {
        Phase::Reading => "reading",
        Phase::Replaying => "replaying",
        Phase::Synthesizing => "synthesizing",
        Phase::Preconditioning => "preconditioning",
        Phase::Numbering => "numbering",
    };
    watch.call1(py, (phase, done, total)).map(drop)
}

/// Gets the position of a finished cell and all its rows.
pub(crate) type OnRows<'a, R> = &'a (dyn Fn(usize, Vec<R>) + Sync);

/// Who learns of rows, and the key of each cell.
pub(crate) type Listener = (Py<PyAny>, Vec<Columns>);

/// Runs `work` as [[`supervised`]] does, and calls the listener now and then with the rows that `work` has finished. They
/// are pairs of a cell's key and a row, all rows of a cell together, cells in any order. After an interruption the
/// finished rows are handed over too.
pub(crate) fn supervised_rows<T, E, R, W>(
    py: Python<'_>,
    watch: Option<Py<PyAny>>,
    listener: Option<Listener>,
    work: W,
) -> PyResult<T>
where
    T: Send + 'static,
    E: Into<SimError> + Send + 'static,
    R: Serialize + Send + 'static,
    W: FnOnce(&Arc<Progress>, OnRows<'_, R>) -> Result<T, E> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel();
    let receiver = Mutex::new(receiver);
    let hand_over = || hand_over(py, listener.as_ref(), &receiver);
    let look = |progress: &Progress| {
        hand_over()?;
        show(py, watch.as_ref(), progress)
    };
    let is_wanted = listener.is_some();
    let result = supervised_with(py, look, move |progress| {
        work(progress, &|position, rows| {
            if is_wanted {
                // The receiver is gone once the run is interrupted.
                _ = sender.send((position, rows));
            }
        })
    });
    hand_over()?;
    result
}

fn hand_over<R: Serialize>(
    py: Python<'_>,
    listener: Option<&Listener>,
    receiver: &Mutex<Receiver<(usize, Vec<R>)>>,
) -> PyResult<()> {
    let Some((on_rows, keys)) = listener else { return Ok(()) };
    let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
    let of_cell =
        |(position, rows): (usize, Vec<R>)| rows.into_iter().map(move |row| (&keys[position], row));
    let rows: Vec<(&Columns, R)> = receiver.try_iter().flat_map(of_cell).collect();
    drop(receiver);
    if rows.is_empty() {
        return Ok(());
    }
    on_rows.call1(py, (pythonize(py, &rows)?,)).map(drop)
}
