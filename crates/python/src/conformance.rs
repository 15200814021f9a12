//! `check-policy`: the rules that a policy kept, and how it broke one.

use clockhand_sim::{BrokenRule, Conformance, Contestant, KeptRule, SimError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::exception;
use crate::own::PolicyError;
use crate::supervision::supervised;

fn kept_facts<'py>(py: Python<'py>, kept: &KeptRule) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("rule", kept.rule)?;
    facts.set_item("memories", kept.memories)?;
    facts.set_item("references", kept.references)?;
    Ok(facts)
}

fn broken_facts(py: Python<'_>, broken: BrokenRule) -> PyResult<Bound<'_, PyDict>> {
    let raised = broken.failure.and_then(|failure| failure.downcast::<PolicyError>().ok());
    let facts = PyDict::new(py);
    facts.set_item("rule", broken.rule)?;
    facts.set_item("trial", broken.trial)?;
    facts.set_item("reference", broken.reference)?;
    // Python says more of an exception than its kind and its words.
    let wrong = raised.as_ref().map(|error| error.0.value(py).to_string());
    facts.set_item("wrong", wrong.unwrap_or(broken.wrong))?;
    facts.set_item("events", broken.events)?;
    facts.set_item("raised", raised.map(|error| error.0.into_value(py)))?;
    Ok(facts)
}

/// Tries the rules that every policy keeps; a dictionary of those that it kept and of the first that it broke.
#[pyfunction]
pub(crate) fn check_policy<'py>(py: Python<'py>, policy: &str) -> PyResult<Bound<'py, PyDict>> {
    let Contestant::Policy(spec) = Contestant::parse(policy).map_err(exception)? else {
        return Err(exception(SimError::usage(
            format!("{policy} is no policy but a bound, which keeps no rules"),
            "give one of clockhand policies",
        )));
    };
    let Conformance { kept, broken } =
        supervised(py, None, move |progress| clockhand_sim::check_policy(&spec, progress))?;
    let facts = PyDict::new(py);
    let kept: Vec<_> = kept.iter().map(|kept| kept_facts(py, kept)).collect::<PyResult<_>>()?;
    facts.set_item("kept", kept)?;
    facts.set_item("broken", broken.map(|broken| broken_facts(py, broken)).transpose()?)?;
    Ok(facts)
}
