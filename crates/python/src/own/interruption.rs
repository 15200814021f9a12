//! Ends the methods of policies that run when a user interrupts: one that never returns would keep its thread, and the
//! interpreter from ending.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// The threads that run policies, as Python numbers them; a thread may be there twice.
static AT_WORK: Mutex<Vec<u64>> = Mutex::new(Vec::new());

fn at_work<R>(look: impl FnOnce(&mut Vec<u64>) -> R) -> R {
    look(&mut AT_WORK.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Notes, while it lives, that a policy is at work in this thread.
pub(super) struct AtWork(Option<u64>);

impl AtWork {
    pub(super) fn here(py: Python<'_>) -> Self {
        let number = || py.import("threading")?.call_method0("get_ident")?.extract::<u64>();
        let thread = number().ok();
        at_work(|threads| threads.extend(thread));
        AtWork(thread)
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        at_work(|threads| {
            let place = threads.iter().position(|thread| Some(*thread) == self.0);
            place.map(|place| threads.swap_remove(place))
        });
    }
}

/// Has the methods that run raise an exception, each at its next step in Python.
pub(crate) fn interrupt_policies(py: Python<'_>) -> PyResult<()> {
    let threads = at_work(|threads| threads.clone());
    if threads.is_empty() {
        return Ok(());
    }
    let ctypes = py.import("ctypes")?;
    let raise = ctypes.getattr("pythonapi")?.getattr("PyThreadState_SetAsyncExc")?;
    let exception = ctypes.getattr("py_object")?.call1((py.get_type::<PyKeyboardInterrupt>(),))?;
    for thread in threads {
        raise.call1((ctypes.getattr("c_ulong")?.call1((thread,))?, &exception))?;
    }
    Ok(())
}
