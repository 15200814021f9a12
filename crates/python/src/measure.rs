//! `measure`: this machine's storage and memory, step by step; Python shows progress between steps.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use clockhand_measure::{
    Machine, MeasureError, MemoryMeasurement, StorageMeasurement, StorageOptions,
};
use pyo3::prelude::*;
use pythonize::pythonize;

use crate::errors::{ClockhandError, usage_error};

fn exception(error: MeasureError) -> PyErr {
    match error {
        MeasureError::Usage(sentence) => usage_error(sentence),
        MeasureError::Failed(sentence) => ClockhandError::new_err(sentence),
    }
}

enum Kind {
    Storage(Box<StorageMeasurement>),
    Memory(MemoryMeasurement),
}

/// A measurement whose steps are run one after the other.
#[pyclass(frozen)]
pub(crate) struct Measurement(Mutex<Kind>);

#[pymethods]
impl Measurement {
    /// Requests to a file of `file_bytes` bytes, at most `operations` of each kind.
    #[staticmethod]
    #[pyo3(signature = (path, *, file_bytes, operations, write_to_existing, seed))]
    fn storage(
        path: PathBuf,
        file_bytes: u64,
        operations: usize,
        write_to_existing: bool,
        seed: u64,
    ) -> PyResult<Self> {
        let options = StorageOptions { path, write_to_existing, file_bytes, operations, seed };
        let measurement = StorageMeasurement::new(&options).map_err(exception)?;
        Ok(Measurement(Mutex::new(Kind::Storage(Box::new(measurement)))))
    }

    /// Copies, first touches and walks.
    #[staticmethod]
    fn memory(seed: u64) -> Self {
        Measurement(Mutex::new(Kind::Memory(MemoryMeasurement::new(seed))))
    }

    /// What each step does.
    fn steps(&self) -> Vec<String> {
        match &*self.kind() {
            Kind::Storage(measurement) => measurement.steps(),
            Kind::Memory(measurement) => measurement.steps(),
        }
    }

    /// Bytes that requests go to; 0 for memory.
    #[getter]
    fn file_bytes(&self) -> u64 {
        match &*self.kind() {
            Kind::Storage(measurement) => measurement.file_bytes(),
            Kind::Memory(_) => 0,
        }
    }

    /// Bytes that all steps write to the file at most.
    #[getter]
    fn written_bytes(&self) -> u64 {
        match &*self.kind() {
            Kind::Storage(measurement) => measurement.written_bytes(),
            Kind::Memory(_) => 0,
        }
    }

    /// Runs a step; the points that it gives, as dictionaries.
    fn run<'py>(&self, py: Python<'py>, step: usize) -> PyResult<Bound<'py, PyAny>> {
        let points = py.detach(|| match &mut *self.kind() {
            Kind::Storage(measurement) => measurement.run(step),
            Kind::Memory(measurement) => measurement.run(step),
        });
        Ok(pythonize(py, &points.map_err(exception)?)?)
    }
}

impl Measurement {
    fn kind(&self) -> std::sync::MutexGuard<'_, Kind> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What this machine is: kernel and processor.
#[pyfunction]
pub(crate) fn machine(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    Ok(pythonize(py, &Machine::here())?)
}
