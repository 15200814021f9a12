//! Errors as exceptions: what was asked for is wrong, or it could not be done.

use crate::own::PolicyError;
use clockhand_device::DeviceError;
use clockhand_quantity::{Piece, Sentence, Text};
use clockhand_sim::SimError;
use clockhand_trace::TraceError;
use pyo3::PyErrArguments;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

pyo3::import_exception!(clockhand.study.errors, ClockhandError);
pyo3::import_exception!(clockhand.study.errors, UsageError);

/// The problem and the remedy of a sentence, as the exceptions take them.
struct Arguments(Sentence);

impl PyErrArguments for Arguments {
    fn arguments(self, py: Python<'_>) -> Py<PyAny> {
        let arguments = || -> PyResult<_> {
            let class = py.import("clockhand.study.errors")?.getattr("Text")?;
            let text = |text: &Text| class.call1((pieces(py, text)?,));
            (text(&self.0.problem)?, text(&self.0.remedy)?).into_pyobject(py)
        };
        arguments().expect("the package has its texts").into_any().unbind()
    }
}

fn pieces<'py>(py: Python<'py>, text: &Text) -> PyResult<Bound<'py, PyTuple>> {
    let pieces = text.pieces().iter().map(|piece| match piece {
        Piece::Words(words) => ("words", words.as_str()),
        Piece::Option(name) => ("option", *name),
        Piece::Command(line) => ("command", *line),
    });
    PyTuple::new(py, pieces.collect::<Vec<_>>())
}

/// The error of a wrong request.
pub(crate) fn usage_error(sentence: Sentence) -> PyErr {
    UsageError::new_err(Arguments(sentence))
}

/// Something could not be done.
pub(crate) fn failure(sentence: Sentence) -> PyErr {
    ClockhandError::new_err(Arguments(sentence))
}

pub(crate) fn exception(error: impl Into<SimError>) -> PyErr {
    let error = error.into();
    let sentence = error.sentence();
    match error {
        SimError::Interrupted => PyKeyboardInterrupt::new_err(sentence.to_string()),
        SimError::Usage(_)
        | SimError::Device(
            DeviceError::UnknownName { .. }
            | DeviceError::Option { .. }
            | DeviceError::UnknownSsd { .. }
            | DeviceError::Ssd { .. },
        )
        | SimError::Trace(
            TraceError::UnknownFormat { .. }
            | TraceError::PageSize { .. }
            | TraceError::Recipe { .. }
            | TraceError::NothingToConvert
            | TraceError::ColumnsOfText { .. }
            | TraceError::NotWritable { .. }
            | TraceError::Selection { .. },
        ) => usage_error(sentence),
        SimError::OwnPolicy(own) => match own.downcast::<PolicyError>() {
            Ok(error) => error.0,
            Err(_) => failure(sentence),
        },
        SimError::Trace(_) | SimError::Device(_) | SimError::Unserved { .. } => failure(sentence),
    }
}
