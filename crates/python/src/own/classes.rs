//! The classes that users registered, as entries beside those of the catalog.

use std::fmt;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use clockhand_policy::Ratio;
use clockhand_policy::catalog::{Description, Entry, Kind, Size};
use clockhand_policy::own::{Make, OwnPolicy};
use clockhand_policy::parameters::{Default, Domain, Parameter, Settings, Value};
use clockhand_sim::SimError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use pythonize::{depythonize, pythonize};
use serde::Deserialize;

use super::instance::{Instance, PolicyError};
use super::interruption::AtWork;
use crate::catalogs::described;
use crate::errors::UsageError;

/// Classes, and later versions of them, that one process may register: each is kept to its end.
const MOST_CLASSES: usize = 10_000;

/// What marks the name of a class in a file.
const FILE_SUFFIX: &str = ".py";

/// The newest entry of each name.
static ENTRIES: Mutex<Registered> = Mutex::new(Registered { entries: Vec::new(), versions: 0 });

struct Registered {
    entries: Vec<&'static Entry>,
    versions: usize,
}

/// The Python value of a parameter for `__init__`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Given {
    /// A number of frames or pages, which is not a parameter.
    Frames,
    Pages,
    Count,
    Flag,
    Word,
    Float,
    Fraction,
    /// The device's ratio, as a fraction, if no other is given.
    DeviceRatio,
    /// The seed of the run, if no other is given.
    Seed,
    /// Nothing: the digest of the source, which only tells versions apart.
    Digest,
}

/// A parameter as Python describes it.
#[derive(Debug, Deserialize)]
struct ParameterOfClass {
    name: String,
    given: Given,
    default: String,
    words: Vec<String>,
}

/// What Python says of a class.
#[derive(Debug, Deserialize)]
struct ClassFacts {
    name: String,
    summary: String,
    origin: String,
    page: String,
    parameters: Vec<ParameterOfClass>,
    sees_hits: bool,
    period: Option<NonZeroU64>,
}

/// A class that can be used as a policy.
pub(super) struct Class {
    pub(super) name: &'static str,
    pub(super) sees_hits: bool,
    pub(super) period: Option<NonZeroU64>,
    class: Py<PyAny>,
    given: Vec<(&'static str, Given)>,
}

impl fmt::Debug for Class {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Class").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What makes the policies of a class.
#[derive(Debug)]
struct Maker(&'static Class);

impl Make for Maker {
    fn make(&self, settings: &Settings, size: Size) -> Box<dyn OwnPolicy> {
        Box::new(Instance::new(self.0, settings.clone(), size))
    }

    /// The interpreter is held throughout, and others get it in turn: taking it for each call would take longer than
    /// most calls.
    fn around(&self, run: &mut dyn FnMut()) {
        let mut has_run = false;
        _ = Python::try_attach(|py| {
            let _at_work = AtWork::here(py);
            has_run = true;
            run();
        });
        if !has_run {
            run();
        }
    }
}

impl Class {
    /// A new object, with the parameters that its `__init__` takes.
    pub(super) fn object<'py>(
        &self,
        py: Python<'py>,
        settings: &Settings,
        size: Size,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = PyDict::new(py);
        let fraction = |ratio: Ratio| {
            py.import("fractions")?
                .getattr("Fraction")?
                .call1((ratio.numerator(), ratio.denominator()))
        };
        for &(name, given) in &self.given {
            match (given, settings.get(name)) {
                (Given::Frames, _) => arguments.set_item(name, size.frames)?,
                (Given::Pages, _) => arguments.set_item(name, size.pages)?,
                (Given::Float, Some(Value::Ratio(ratio))) => {
                    let float = ratio.numerator() as f64 / ratio.denominator() as f64;
                    arguments.set_item(name, float)?;
                }
                (_, Some(Value::Ratio(ratio))) => arguments.set_item(name, fraction(ratio)?)?,
                (_, Some(Value::Count(count))) => arguments.set_item(name, count)?,
                (_, Some(Value::Flag(flag))) => arguments.set_item(name, flag)?,
                (_, Some(Value::Choice(word))) if given == Given::Word => {
                    arguments.set_item(name, word)?;
                }
                _ => {}
            }
        }
        self.class.bind(py).call((), Some(&arguments))
    }
}

fn kept(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn parameter(of_class: ParameterOfClass) -> (Parameter, Given) {
    let ParameterOfClass { name, given, default, words } = of_class;
    let count = Domain::Count { min: 0, max: u64::MAX };
    let ratio = Domain::Ratio { min: Ratio::whole(0), max: None };
    let words: Vec<&'static str> = words.into_iter().map(kept).collect();
    let (domain, default, summary) = match given {
        Given::DeviceRatio => {
            (ratio, Default::DeviceRatio, "cost of a page write over a page read")
        }
        Given::Seed => (count, Default::Seed, "seed of the random choices"),
        Given::Float | Given::Fraction => (ratio, Default::Value(kept(default)), ""),
        Given::Flag => (Domain::Flag, Default::Value(kept(default)), ""),
        Given::Word => (Domain::Choice(words.leak()), Default::Value(kept(default)), ""),
        Given::Digest => {
            let only = "which version of the source it is; checks it if given";
            (Domain::Choice(words.leak()), Default::Value(kept(default)), only)
        }
        Given::Count | Given::Frames | Given::Pages => (count, Default::Value(kept(default)), ""),
    };
    let name = kept(name);
    (Parameter { name, summary, domain, default, only_with: None }, given)
}

/// Registers a class under the name that `facts` give; a later one of this name takes its place.
#[pyfunction]
pub(crate) fn add_policy(own: Bound<'_, PyAny>, facts: Bound<'_, PyAny>) -> PyResult<()> {
    let facts: ClassFacts = depythonize(&facts)?;
    let mut registered = ENTRIES.lock().unwrap_or_else(PoisonError::into_inner);
    if registered.versions == MOST_CLASSES {
        return Err(UsageError::new_err((
            format!(
                "policy {}: {MOST_CLASSES} versions of policies are registered already",
                facts.name
            ),
            "start Python again",
        )));
    }
    let (parameters, given): (Vec<Parameter>, Vec<Given>) =
        facts.parameters.into_iter().map(parameter).unzip();
    let names = parameters.iter().map(|parameter| parameter.name);
    let given: Vec<(&'static str, Given)> = names.zip(given).collect();
    let is_parameter = |name: &str| {
        !given
            .iter()
            .any(|(own, given)| *own == name && matches!(given, Given::Frames | Given::Pages))
    };
    let parameters: Vec<Parameter> =
        parameters.into_iter().filter(|parameter| is_parameter(parameter.name)).collect();
    let class = &*Box::leak(Box::new(Class {
        name: kept(facts.name),
        sees_hits: facts.sees_hits,
        period: facts.period,
        class: own.unbind(),
        given,
    }));
    let entry = &*Box::leak(Box::new(Entry {
        description: Description {
            name: class.name,
            summary: kept(facts.summary),
            paper: kept(facts.origin),
            parameters: parameters.leak(),
            source: kept(facts.page),
        },
        kind: if class.sees_hits { Kind::AccessDriven } else { Kind::BitDriven },
        can_peek: false,
        own: Some(Box::leak(Box::new(Maker(class)))),
    }));
    registered.versions += 1;
    registered.entries.retain(|other| other.description.name != class.name);
    registered.entries.push(entry);
    Ok(())
}

fn registered(name: &str) -> Option<&'static Entry> {
    let registered = ENTRIES.lock().unwrap_or_else(PoisonError::into_inner);
    registered.entries.iter().copied().find(|entry| entry.description.name == name)
}

/// The classes that are registered and the policies of libraries that were named, as dictionaries.
#[pyfunction]
pub(crate) fn own_policies(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let mut registered = ENTRIES.lock().unwrap_or_else(PoisonError::into_inner).entries.clone();
    registered.extend(clockhand_policy_loader::found());
    let facts = |entry: &&Entry| described(entry.description, entry.kind.to_string());
    Ok(pythonize(py, &registered.iter().map(facts).collect::<Vec<_>>())?)
}

/// Loads a library, so that its policies are known by their own names; these names.
#[pyfunction]
pub(crate) fn use_policy_library(file: &str) -> PyResult<Vec<&'static str>> {
    let names = clockhand_policy_loader::use_library(file);
    names.map_err(|error| UsageError::new_err(error.to_string()))
}

/// The content of a file of Python code that only the user and root can write.
#[pyfunction]
pub(crate) fn own_code(
    py: Python<'_>,
    file: PathBuf,
    most_bytes: u64,
    named: &str,
) -> PyResult<Py<PyBytes>> {
    let content = clockhand_policy_loader::own_code(&file, most_bytes, named);
    let content = content.map_err(UsageError::new_err)?;
    Ok(PyBytes::new(py, &content).unbind())
}

/// Finds a registered class by name, or loads that of `FILE.py:CLASS`, or the library of `FILE.so:NAME`.
pub(crate) fn find(name: &str) -> Result<Option<&'static Entry>, SimError> {
    if name.contains(".py:") || name.ends_with(FILE_SUFFIX) {
        let loaded = Python::attach(|py| {
            let own_policies = py.import("clockhand.study.own_policies")?;
            own_policies.call_method1("load", (name,)).map(drop)
        });
        loaded.map_err(|error| SimError::OwnPolicy(Box::new(PolicyError(error))))?;
    } else if clockhand_policy_loader::is_named(name) {
        let found = clockhand_policy_loader::find(name);
        return found.map(Some).map_err(|error| SimError::Usage(error.to_string().into()));
    }
    Ok(registered(name).or_else(|| clockhand_policy_loader::in_use(name)))
}
