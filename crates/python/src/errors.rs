//! Errors as exceptions: what was asked for is wrong, or it could not be done.

use crate::own::PolicyError;
use clockhand_device::DeviceError;
use clockhand_sim::SimError;
use clockhand_trace::TraceError;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::prelude::*;

pyo3::create_exception!(
    clockhand,
    ClockhandError,
    PyException,
    "Something could not be done; the message is one sentence that says where and what to do."
);
pyo3::create_exception!(
    clockhand,
    UsageError,
    ClockhandError,
    "What was asked for is wrong: an unknown name, a value out of range, a contradiction."
);

pub(crate) fn exception(error: impl Into<SimError>) -> PyErr {
    let error = error.into();
    let sentence = error.to_string();
    match error {
        SimError::Interrupted => PyKeyboardInterrupt::new_err(sentence),
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
        ) => UsageError::new_err(sentence),
        SimError::OwnPolicy(failure) => match failure.downcast::<PolicyError>() {
            Ok(error) => error.0,
            Err(_) => ClockhandError::new_err(sentence),
        },
        SimError::Trace(_) | SimError::Device(_) | SimError::Unserved { .. } => {
            ClockhandError::new_err(sentence)
        }
    }
}
