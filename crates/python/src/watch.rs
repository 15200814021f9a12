//! `watch`: every step of one policy or two, or of write buffers, as JSON for the page that plays them.

use clockhand_policy::catalog::PolicySpec;
use clockhand_quantity::option;
use clockhand_sim::{
    AskedPage, BufferCourse, Contestant, Course, PagesOptions, ReadTrace, SimError, SsdOptions,
    SsdRow, Watching, parse_page_bytes,
};
use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};
use serde::Serialize;

use crate::errors::exception;
use crate::simulation::{DeviceFacts, device_facts};
use crate::ssd::{SsdFacts, drive_facts};
use crate::supervision::supervised;
use crate::trace::TraceSource;

/// What was watched: its course, and what it is.
#[derive(Serialize)]
struct Followed<C> {
    course: C,
    name: String,
    resolved: String,
    summary: &'static str,
    paper: &'static str,
}

#[derive(Serialize)]
struct PolicyCourse {
    policy: String,
    policy_resolved: String,
    hits: u64,
    misses: u64,
    read_ios: u64,
    write_ios: u64,
    /// The steps as JSON: a list of [`WatchedStep`].
    steps_json: String,
}

fn followed_policy(course: Course) -> Result<Followed<PolicyCourse>, SimError> {
    let misses = course.counts.read_misses + course.counts.write_misses;
    Ok(Followed {
        name: course.policy.clone(),
        resolved: course.policy_resolved.clone(),
        summary: course.summary,
        paper: course.paper,
        course: PolicyCourse {
            hits: course.steps.len() as u64 - misses,
            misses,
            read_ios: course.counts.read_ios,
            write_ios: course.counts.write_ios(),
            steps_json: as_json(&course.steps)?,
            policy: course.policy,
            policy_resolved: course.policy_resolved,
        },
    })
}

fn as_json<S: Serialize>(steps: &[S]) -> Result<String, SimError> {
    serde_json::to_string(steps)
        .map_err(|error| SimError::usage(format!("a step is no JSON: {error}"), ""))
}

#[derive(Serialize)]
struct WatchedFacts {
    trace: ReadTrace,
    pages: Vec<(u32, u64)>,
    references: Vec<(u32, bool)>,
    device: DeviceFacts,
    courses: Vec<Followed<PolicyCourse>>,
}

fn policy(text: &str) -> Result<PolicySpec, SimError> {
    match Contestant::parse(text)? {
        Contestant::Policy(policy) => Ok(policy),
        Contestant::Bound(_) | Contestant::Feasible(_) => Err(SimError::usage(
            option("policy") + format!(" {text} has no steps to watch"),
            "give a policy of clockhand policies, such as min",
        )),
    }
}

/// Watches policies on a trace; a dictionary of references, pages and courses.
#[pyfunction]
#[pyo3(signature = (trace, options, *, frames, watch=None))]
pub(crate) fn watch_policies<'py>(
    py: Python<'py>,
    trace: PyRef<'py, TraceSource>,
    options: &Bound<'py, PyAny>,
    frames: u32,
    watch: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let options: PagesOptions = depythonize(options)?;
    let watching = || {
        Ok(Watching {
            trace: trace.0.clone(),
            policies: options.policy.iter().map(|text| policy(text)).collect::<Result<_, _>>()?,
            frames,
            page_bytes: parse_page_bytes(&options.page_size)?,
            device: options.device.clone(),
            replay: options.replay_options()?,
            seed: options.seed,
        })
    };
    let watching = watching().map_err(|error: SimError| exception(error))?;
    let watched = supervised(py, watch, move |progress| clockhand_sim::watch(&watching, progress))?;
    let courses = watched.courses.into_iter().map(followed_policy);
    let facts = WatchedFacts {
        trace: watched.trace,
        pages: watched.pages,
        references: watched.references,
        device: device_facts(&options.device, &watched.device, &watched.page_cost),
        courses: courses.collect::<Result<_, _>>().map_err(exception)?,
    };
    Ok(pythonize(py, &facts)?)
}

#[derive(Serialize)]
struct CourseOfBuffer {
    buffer: String,
    /// The row of `ssd` for the whole course.
    row: SsdRow,
    dram_capacity: u32,
    nvm_capacity: u32,
    /// The steps as JSON: a list of [`clockhand_sim::BufferStep`].
    steps_json: String,
}

fn followed_buffer(course: BufferCourse) -> Result<Followed<CourseOfBuffer>, SimError> {
    Ok(Followed {
        name: course.row.buffer.clone(),
        resolved: course.row.buffer_resolved.clone(),
        summary: course.summary,
        paper: course.paper,
        course: CourseOfBuffer {
            buffer: course.row.buffer.clone(),
            row: course.row,
            dram_capacity: course.capacity.dram_pages,
            nvm_capacity: course.capacity.nvm_pages,
            steps_json: as_json(&course.steps)?,
        },
    })
}

#[derive(Serialize)]
struct WatchedBuffersFacts {
    trace: ReadTrace,
    requests: Vec<AskedPage>,
    pages_per_block: u32,
    ssd: SsdFacts,
    courses: Vec<Followed<CourseOfBuffer>>,
}

/// Watches write buffers on a trace, with the options of `ssd`; a dictionary of requests and courses.
#[pyfunction]
#[pyo3(signature = (trace, options, *, watch=None))]
pub(crate) fn watch_buffers<'py>(
    py: Python<'py>,
    trace: PyRef<'py, TraceSource>,
    options: Bound<'py, PyAny>,
    watch: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let options: SsdOptions = depythonize(&options)?;
    let experiment = options.experiment(vec![trace.0.clone()], None).map_err(exception)?;
    let written = options.ssd.first().cloned().unwrap_or_default();
    let watched =
        supervised(py, watch, move |progress| clockhand_sim::watch_buffers(&experiment, progress))?;
    let courses = watched.courses.into_iter().map(followed_buffer);
    let (ssd, done) = &watched.ssd;
    let facts = WatchedBuffersFacts {
        trace: watched.trace,
        requests: watched.requests,
        pages_per_block: watched.pages_per_block,
        ssd: drive_facts(&written, ssd, done),
        courses: courses.collect::<Result<_, _>>().map_err(exception)?,
    };
    Ok(pythonize(py, &facts)?)
}
