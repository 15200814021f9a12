//! What there is: policies, devices and formats.

use std::collections::BTreeMap;

use clockhand_device::{Device, built_in};
use clockhand_policy::catalog::{CATALOG, Description, Entry};
use clockhand_policy::parameters::name_and_settings;
use clockhand_sim::{Contestant, OTHER_TABLES, ReadingOptions, STUDIES};
use clockhand_trace::{Target, find_format, formats as trace_formats, named_recipes};
use pyo3::prelude::*;
use pythonize::pythonize;
use serde::Serialize;

use crate::errors::exception;

#[derive(Serialize)]
struct ParameterFacts {
    name: &'static str,
    summary: &'static str,
    domain: String,
    default: String,
    /// The parameter, and its value, without which this one has no effect.
    only_with: Option<(&'static str, &'static str)>,
}

#[derive(Serialize)]
pub(crate) struct PolicyFacts {
    name: &'static str,
    kind: String,
    summary: &'static str,
    paper: &'static str,
    parameters: Vec<ParameterFacts>,
}

fn policy_facts(entry: &Entry) -> PolicyFacts {
    described(entry.description, entry.kind.to_string())
}

/// What a policy's own file says of it.
pub(crate) fn described(description: Description, kind: String) -> PolicyFacts {
    let parameter_facts = |parameter: &clockhand_policy::parameters::Parameter| ParameterFacts {
        name: parameter.name,
        summary: parameter.summary,
        domain: parameter.domain.to_string(),
        default: parameter.default.to_string(),
        only_with: parameter.only_with,
    };
    PolicyFacts {
        name: description.name,
        kind,
        summary: description.summary,
        paper: description.paper,
        parameters: description.parameters.iter().map(parameter_facts).collect(),
    }
}

/// All policies and both ends of the bracket of the optimum, as dictionaries.
#[pyfunction]
pub(crate) fn policies(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let end = |name, summary, paper| PolicyFacts {
        name,
        kind: "bound".to_owned(),
        summary,
        paper,
        parameters: vec![ParameterFacts {
            name: "effort",
            summary: "seconds that a memory size may take about",
            domain: "a number such as 2 or 0.5, from 0 to 3600".to_owned(),
            default: "--bound-effort, or 2".to_owned(),
            only_with: None,
        }],
    };
    let ends = [
        end(Contestant::BOUND, Contestant::BOUND_SUMMARY, Contestant::BOUND_PAPER),
        end(Contestant::FEASIBLE, Contestant::FEASIBLE_SUMMARY, Contestant::FEASIBLE_PAPER),
    ];
    let facts: Vec<_> = CATALOG.iter().map(policy_facts).chain(ends).collect();
    Ok(pythonize(py, &facts)?)
}

/// The name in a policy's or write buffer's text, with its parameters or without, in any of its spellings.
#[pyfunction]
pub(crate) fn policy_name(text: &str) -> &str {
    name_and_settings(text.trim()).0.trim()
}

/// The text of a write buffer with a size.
#[pyfunction]
pub(crate) fn buffer_with_total(buffer: &str, total: &str) -> String {
    match name_and_settings(buffer) {
        (name, None) => format!("{name}:total={total}"),
        (name, Some(settings)) => format!("{name}:total={total},{settings}"),
    }
}

/// The options of every study, by its name, as dictionaries.
#[pyfunction]
pub(crate) fn options(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let mut options: BTreeMap<_, _> = STUDIES.map(|study| (study.name, study.options)).into();
    options.insert("reading", ReadingOptions::OPTIONS);
    Ok(pythonize(py, &options)?)
}

/// The documentation page of a policy, in Markdown.
#[pyfunction]
pub(crate) fn policy_page(name: &str) -> PyResult<String> {
    Ok(Contestant::parse(name).map_err(exception)?.page())
}

#[derive(Serialize)]
pub(crate) struct NamedFacts {
    pub(crate) name: String,
    pub(crate) summary: String,
    pub(crate) source: Option<String>,
}

/// All built-in devices, as dictionaries.
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let facts: Vec<_> = built_in()
        .into_iter()
        .map(|device| NamedFacts {
            name: device.name,
            summary: device.summary,
            source: Some(device.source),
        })
        .collect();
    Ok(pythonize(py, &facts)?)
}

/// The page of a device, built-in or from a file.
#[pyfunction]
pub(crate) fn device_page(device: &str) -> PyResult<String> {
    let device = Device::named_or_file(device).map_err(exception)?;
    Ok(device.description())
}

#[derive(Serialize)]
struct FormatFacts {
    name: &'static str,
    /// The names that a conversion can write it by; none when it can only be read.
    written_as: Vec<&'static str>,
    summary: &'static str,
}

/// All trace formats, as dictionaries.
#[pyfunction]
pub(crate) fn formats(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let facts: Vec<_> = trace_formats()
        .iter()
        .map(|format| FormatFacts {
            name: format.name(),
            written_as: format.targets().iter().map(Target::name).collect(),
            summary: format.summary(),
        })
        .collect();
    Ok(pythonize(py, &facts)?)
}

/// The documentation page of a trace format, in Markdown.
#[pyfunction]
pub(crate) fn format_page(name: &str) -> PyResult<String> {
    Ok(find_format(name).map_err(exception)?.page())
}

/// The columns of every table, as dictionaries, by the name of the table.
#[pyfunction]
pub(crate) fn columns(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let rows = STUDIES.iter().map(|study| (study.name, study.columns));
    let rows = rows.filter(|(_, columns)| !columns.is_empty());
    let tables: BTreeMap<_, _> = rows.chain(OTHER_TABLES.iter().copied()).collect();
    Ok(pythonize(py, &tables)?)
}

#[derive(Serialize)]
struct RecipeFacts {
    name: Option<String>,
    summary: Option<String>,
    stands_for: Option<String>,
    pattern: String,
    requests: u64,
    seed: u64,
}

/// The recipes of synthetic traces that come with the package, as dictionaries.
#[pyfunction]
pub(crate) fn recipes(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let facts: Vec<_> = named_recipes()
        .into_iter()
        .map(|recipe| RecipeFacts {
            pattern: recipe.pattern(),
            name: recipe.name,
            summary: recipe.summary,
            stands_for: recipe.stands_for,
            requests: recipe.requests,
            seed: recipe.seed,
        })
        .collect();
    Ok(pythonize(py, &facts)?)
}
