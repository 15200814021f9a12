//! `simulate`: a grid of cells, as rows and facts.

use std::num::NonZeroU64;

use clockhand_device::{Device, PageCost};
use clockhand_sim::{
    Bits, Contestant, Effort, Experiment, GaugeSample, MemorySize, Observation, ReadTrace,
    ReplayOptions, Row, SimError, WriteMiss,
};
use pyo3::prelude::*;
use pythonize::pythonize;
use serde::Serialize;

use crate::errors::exception;
use crate::supervision::supervised;
use crate::trace::{ReadFacts, TraceSource};

#[derive(Serialize)]
pub(crate) struct TraceFacts {
    name: String,
    #[serde(flatten)]
    read: ReadFacts,
    references: u64,
    read_references: u64,
    write_references: u64,
    footprint_pages: u32,
    dirty_footprint_pages: u32,
}

impl From<&ReadTrace> for TraceFacts {
    fn from(trace: &ReadTrace) -> Self {
        TraceFacts {
            name: trace.name.clone(),
            read: ReadFacts::from(&trace.report),
            references: trace.references,
            read_references: trace.read_references,
            write_references: trace.write_references,
            footprint_pages: trace.footprint_pages,
            dirty_footprint_pages: trace.dirty_footprint_pages,
        }
    }
}

#[derive(Serialize)]
pub(crate) struct DeviceFacts {
    name: String,
    resolved: String,
    summary: String,
    source: String,
    read_time_us: f64,
    write_time_us: f64,
    write_read_ratio: String,
}

pub(crate) fn device_facts(written: &str, device: &Device, page_cost: &PageCost) -> DeviceFacts {
    DeviceFacts {
        name: written.to_owned(),
        resolved: device.resolved(),
        summary: device.summary().to_owned(),
        source: device.source().to_owned(),
        read_time_us: page_cost.time_us(1, 0),
        write_time_us: page_cost.time_us(0, 1),
        write_read_ratio: page_cost.write_read_ratio().to_string(),
    }
}

#[derive(Serialize)]
pub(crate) struct PolicyFacts {
    pub(crate) name: String,
    pub(crate) summary: &'static str,
    pub(crate) paper: &'static str,
}

pub(crate) fn policy_facts(contestant: &Contestant) -> PolicyFacts {
    let (summary, paper) = match contestant {
        Contestant::Policy(policy) => {
            let description = policy.entry().description;
            (description.summary, description.paper)
        }
        Contestant::Bound(_) => (Contestant::BOUND_SUMMARY, Contestant::BOUND_PAPER),
        Contestant::Feasible(_) => (Contestant::FEASIBLE_SUMMARY, Contestant::FEASIBLE_PAPER),
    };
    PolicyFacts { name: contestant.written().to_owned(), summary, paper }
}

/// Samples as columns; `row` is the position of the row that a sample belongs to.
#[derive(Default, Serialize)]
struct GaugeColumns {
    row: Vec<usize>,
    fault: Vec<u64>,
    hand_movements: Vec<u64>,
    gauge: Vec<&'static str>,
    value: Vec<f64>,
}

impl From<&[(usize, GaugeSample)]> for GaugeColumns {
    fn from(samples: &[(usize, GaugeSample)]) -> Self {
        let mut columns = GaugeColumns::default();
        for &(row, GaugeSample { fault, hand_movements, gauge, value }) in samples {
            columns.row.push(row);
            columns.fault.push(fault);
            columns.hand_movements.push(hand_movements);
            columns.gauge.push(gauge);
            columns.value.push(value);
        }
        columns
    }
}

#[derive(Serialize)]
struct SimulationFacts {
    rows: Vec<Row>,
    gauges: GaugeColumns,
    traces: Vec<TraceFacts>,
    device: DeviceFacts,
    policies: Vec<PolicyFacts>,
}

pub(crate) fn memory_sizes(
    frames: Option<&str>,
    memory: Option<&str>,
) -> Result<Vec<MemorySize>, SimError> {
    match (frames, memory) {
        (Some(frames), None) => MemorySize::parse_frames(frames),
        (None, Some(memory)) => MemorySize::parse_memory(memory),
        _ => Err(SimError::Usage(
            "the memory size is given by --frames or by --memory; give one of them".to_owned(),
        )),
    }
}

/// Bytes of a page, from text such as `4KiB`.
#[pyfunction]
pub(crate) fn parse_page_bytes(text: &str) -> PyResult<u64> {
    clockhand_sim::parse_page_bytes(text).map_err(exception)
}

/// Bytes of a size such as `16KiB` or `32`; none if it is not a size.
#[pyfunction]
pub(crate) fn parse_bytes(text: &str) -> Option<u64> {
    clockhand_trace::size_bytes(text)
}

/// One of two words.
pub(crate) fn choose<T>(option: &str, word: &str, choices: [(&str, T); 2]) -> Result<T, SimError> {
    let [(first_word, first), (second_word, second)] = choices;
    if word == first_word {
        Ok(first)
    } else if word == second_word {
        Ok(second)
    } else {
        Err(SimError::Usage(format!(
            "{option} {word:?} is unknown; give {first_word} or {second_word}"
        )))
    }
}

/// The effort of the bracket of the optimum, as the command takes it.
pub(crate) fn effort(seconds: &str) -> Result<Effort, SimError> {
    Effort::parse("--bound-effort ", seconds)
}

pub(crate) fn contestants(policies: &[String]) -> Result<Vec<Contestant>, SimError> {
    policies.iter().map(|text| Contestant::parse(text)).collect()
}

pub(crate) fn replay_options(
    bits: &str,
    write_miss: &str,
    flush_at_end: bool,
) -> Result<ReplayOptions, SimError> {
    let write_misses = [("fetch", WriteMiss::Fetch), ("blind", WriteMiss::Blind)];
    Ok(ReplayOptions {
        bits: choose("--bits", bits, [("exact", Bits::Exact), ("mapped", Bits::Mapped)])?,
        write_miss: choose("--write-miss", write_miss, write_misses)?,
        flush_at_end,
    })
}

/// What is to be watched: the hand if a movement has a price or gauges are sampled, else nothing.
pub(crate) fn observation(
    hand_ns: Option<u64>,
    gauge_every: Option<NonZeroU64>,
) -> Option<Observation> {
    let is_wanted = hand_ns.is_some() || gauge_every.is_some();
    is_wanted.then(|| Observation { gauge_every, hand_ns: hand_ns.unwrap_or(0) })
}

/// Runs an experiment; a dictionary of rows and of facts about traces, device and policies.
#[pyfunction]
#[pyo3(signature = (
    traces, policies, *, frames, memory, reserve, page_bytes, device, bits, write_miss, flush_at_end, hand_ns,
    gauge_every, seed, jobs, watch=None, bound_effort="2"
))]
#[expect(clippy::too_many_arguments, reason = "these are the options of one command")]
pub(crate) fn simulate<'py>(
    py: Python<'py>,
    traces: Vec<PyRef<'py, TraceSource>>,
    policies: Vec<String>,
    frames: Option<&str>,
    memory: Option<&str>,
    reserve: u32,
    page_bytes: u64,
    device: String,
    bits: &str,
    write_miss: &str,
    flush_at_end: bool,
    hand_ns: Option<u64>,
    gauge_every: Option<NonZeroU64>,
    seed: u64,
    jobs: Option<usize>,
    watch: Option<Py<PyAny>>,
    bound_effort: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let specs = contestants(&policies).map_err(exception)?;
    let options = replay_options(bits, write_miss, flush_at_end).map_err(exception)?;
    let experiment = Experiment {
        traces: traces.iter().map(|trace| trace.0.clone()).collect(),
        policies: specs.clone(),
        sizes: memory_sizes(frames, memory).map_err(exception)?,
        page_bytes,
        device: device.clone(),
        options,
        bound_effort: effort(bound_effort).map_err(exception)?,
        reserve,
        observation: observation(hand_ns, gauge_every),
        seed,
        jobs,
    };
    let outcome =
        supervised(py, watch, move |progress| clockhand_sim::simulate(&experiment, progress))?;
    let result = SimulationFacts {
        traces: outcome.traces.iter().map(TraceFacts::from).collect(),
        device: device_facts(&device, &outcome.device, &outcome.page_cost),
        policies: specs.iter().map(policy_facts).collect(),
        gauges: GaugeColumns::from(outcome.gauges.as_slice()),
        rows: outcome.rows,
    };
    Ok(pythonize(py, &result)?)
}
