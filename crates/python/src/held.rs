//! A trace that is held for the cells of many settings, and the next one.

use std::sync::Arc;

use clockhand_sim::{
    HeldTrace as Held, HeldTraces as AllHeld, PagesOptions, ReadTrace, Reading, parse_page_bytes,
};
use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};
use serde::Serialize;

use crate::errors::exception;
use crate::supervision::supervised;
use crate::trace::TraceSource;

#[derive(Serialize)]
struct HeldFacts {
    page_bytes: u64,
    #[serde(flatten)]
    trace: ReadTrace,
}

/// A trace that was read once for the cells of some settings.
#[pyclass(frozen, module = "clockhand._engine")]
pub(crate) struct HeldTrace(pub(crate) Arc<Held>);

#[pymethods]
impl HeldTrace {
    /// The trace's facts at a setting's page size, as a dictionary; for a sample it is counted first.
    #[pyo3(signature = (options, watch=None))]
    fn facts<'py>(
        &self,
        py: Python<'py>,
        options: Bound<'py, PyAny>,
        watch: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options: PagesOptions = depythonize(&options)?;
        let page_bytes = parse_page_bytes(&options.page_size).map_err(exception)?;
        let (held, is_sampled) = (Arc::clone(&self.0), options.sample.is_some());
        let trace =
            supervised(py, watch, move |progress| held.trace(page_bytes, is_sampled, progress))?;
        Ok(pythonize(py, &HeldFacts { page_bytes, trace })?)
    }
}

/// The trace that was read last, for further cells of it, and the one that is read ahead.
#[pyclass(frozen, module = "clockhand._engine")]
pub(crate) struct HeldTraces(Arc<AllHeld>);

#[pymethods]
impl HeldTraces {
    #[new]
    fn new() -> Self {
        HeldTraces(Arc::default())
    }

    /// Reads a trace for settings, unless it is held already; `name` distinguishes it from others.
    #[pyo3(signature = (name, trace, settings, watch=None))]
    fn read(
        &self,
        py: Python<'_>,
        name: String,
        trace: PyRef<'_, TraceSource>,
        settings: Bound<'_, PyAny>,
        watch: Option<Py<PyAny>>,
    ) -> PyResult<HeldTrace> {
        let (held, reading) = (Arc::clone(&self.0), reading(name, &trace, &settings)?);
        let read = supervised(py, watch, move |progress| held.read(&reading, progress))?;
        Ok(HeldTrace(read))
    }

    /// Begins to read the next trace beside the cells of the present one, if there is memory for both.
    fn read_ahead(
        &self,
        py: Python<'_>,
        name: String,
        trace: PyRef<'_, TraceSource>,
        settings: Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let reading = reading(name, &trace, &settings)?;
        py.detach(|| self.0.read_ahead(reading));
        Ok(())
    }

    /// Forgets both traces.
    fn forget(&self, py: Python<'_>) {
        py.detach(|| self.0.forget());
    }
}

fn reading(name: String, trace: &TraceSource, settings: &Bound<'_, PyAny>) -> PyResult<Reading> {
    let settings: Vec<PagesOptions> = depythonize(settings)?;
    Reading::new(name, trace.0.clone(), &settings).map_err(exception)
}
