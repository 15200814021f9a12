//! `locality`: the analyses of one trace, as facts and columns.

use clockhand_sim::{
    Kind, LocalityInterval, LocalityOptions, LocalityStudy, MemorySize, MissCurve, Ranking,
    SimError, Wanted, WholeTrace, WindowStudy,
};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pythonize::{depythonize, pythonize};
use serde::Serialize;

use crate::errors::exception;
use crate::simulation::device_facts;
use crate::supervision::supervised;
use crate::trace::TraceSource;

#[derive(Serialize)]
struct SamplingFacts {
    rate: f64,
    pages: u64,
    references: u64,
    footprint_standard_error: f64,
}

#[derive(Serialize)]
struct ThinningFacts {
    whole_points: u64,
    points: u64,
    most_moved_references: f64,
}

/// Columns of one table; numbers as NumPy arrays.
struct Columns<'py>(Bound<'py, PyDict>);

impl<'py> Columns<'py> {
    fn new(py: Python<'py>) -> Self {
        Columns(PyDict::new(py))
    }

    fn whole(self, name: &str, values: Vec<u64>) -> PyResult<Self> {
        let column = values.into_pyarray(self.0.py());
        self.0.set_item(name, column)?;
        Ok(self)
    }

    fn decimal(self, name: &str, values: Vec<f64>) -> PyResult<Self> {
        let column = values.into_pyarray(self.0.py());
        self.0.set_item(name, column)?;
        Ok(self)
    }

    fn other(self, name: &str, value: impl IntoPyObject<'py>) -> PyResult<Self> {
        self.0.set_item(name, value)?;
        Ok(self)
    }
}

fn ranking_columns<'py>(
    py: Python<'py>,
    order: &str,
    kind: Kind,
    ranking: &Ranking,
) -> PyResult<Bound<'py, PyDict>> {
    let ranges = ranking.inverted_ranges();
    let displaced = ranges.iter().map(|range| range.displaced_references).collect();
    let inverted = Columns::new(py)
        .whole("first_rank", ranges.iter().map(|range| range.first_rank).collect())?
        .whole("last_rank", ranges.iter().map(|range| range.last_rank).collect())?
        .whole("references", ranges.iter().map(|range| range.references).collect())?
        .decimal("displaced_references", displaced)?;
    // Python turns what is not a number into null.
    let probabilities = ranking.probabilities().map(|share| share.unwrap_or(f64::NAN)).collect();
    let blocks = ranking.blocks().iter().map(|counts| counts.clone().into_pyarray(py));
    let columns = Columns::new(py)
        .other("ranking", order)?
        .other("op", kind.name())?
        .other("references", ranking.references())?
        .other("pages", ranking.pages())?
        .other("inverted_ranges", inverted.0)?
        .whole("counts", ranking.counts().to_vec())?
        .other("blocks", PyList::new(py, blocks)?)?
        .decimal("probabilities", probabilities)?;
    Ok(columns.0)
}

fn whole_trace<'py>(
    py: Python<'py>,
    whole: WholeTrace,
    wanted: Wanted,
) -> PyResult<Bound<'py, PyDict>> {
    let (rankings, working_sets) = (PyList::empty(py), PyList::empty(py));
    let recency = Kind::EVERY.into_iter().zip(&whole.recency);
    let frequency = ("frequency", (Kind::Write, &whole.write_frequency));
    for (order, (kind, ranking)) in recency.map(|found| ("recency", found)).chain([frequency]) {
        if wanted.rankings {
            rankings.append(ranking_columns(py, order, kind, ranking)?)?;
        }
    }
    for (kind, working_set) in Kind::EVERY.into_iter().zip(whole.working_sets.0) {
        if !wanted.working_sets {
            break;
        }
        let columns = Columns::new(py)
            .other("op", kind.name())?
            .whole("windows", working_set.windows)?
            .decimal("pages", working_set.pages)?;
        working_sets.append(columns.0)?;
    }
    let inter_reference = Columns::new(py)
        .whole("reads", whole.inter_reference.reads)?
        .whole("writes", whole.inter_reference.writes)?;
    let columns = Columns::new(py)
        .other("rankings", rankings)?
        .other("working_sets", working_sets)?
        .other("inter_reference", inter_reference.0)?;
    Ok(columns.0)
}

fn interval_columns<'py>(
    py: Python<'py>,
    intervals: &[LocalityInterval],
) -> PyResult<Bound<'py, PyDict>> {
    let whole = |value: fn(&LocalityInterval) -> u64| intervals.iter().map(value).collect();
    // Python turns what is not a number into null.
    let from_us = intervals.iter().map(|it| it.from_us.unwrap_or(f64::NAN)).collect();
    let columns = Columns::new(py)
        .whole("interval", whole(|it| it.interval))?
        .whole("from_reference", whole(|it| it.from_reference))?
        .decimal("from_us", from_us)?
        .whole("references", whole(|it| it.read_references + it.write_references))?
        .whole("read_references", whole(|it| it.read_references))?
        .whole("write_references", whole(|it| it.write_references))?
        .whole("pages", whole(|it| it.pages))?
        .whole("written_pages", whole(|it| it.written_pages))?
        .whole("new_pages", whole(|it| it.new_pages))?;
    Ok(columns.0)
}

fn curve_columns<'py>(
    py: Python<'py>,
    curve: MissCurve,
    time_us: impl Fn(u64, u64) -> f64,
) -> PyResult<Bound<'py, PyDict>> {
    let misses = curve.read_misses.iter().zip(&curve.write_misses);
    let ios = misses.map(|(reads, writes)| reads + writes).zip(&curve.write_backs);
    let times_us = ios.map(|(read_ios, &write_ios)| time_us(read_ios, write_ios)).collect();
    let mut columns = Columns::new(py)
        .whole("frames", curve.frames)?
        .whole("read_misses", curve.read_misses)?
        .whole("write_misses", curve.write_misses)?
        .whole("write_ios", curve.write_backs)?
        .decimal("io_time_us", times_us)?;
    if let Some(errors) = curve.errors {
        columns = columns
            .decimal("misses_standard_error", errors.misses)?
            .decimal("write_ios_standard_error", errors.write_backs)?;
    }
    Ok(columns.0)
}

/// Analyses one trace; a dictionary of facts and of columns, without `whole` for a sample. Analyses that none of the
/// tables needs have no columns or empty ones.
#[pyfunction]
#[pyo3(signature = (trace, options, *, tables, blocks=0, jobs=None, watch=None))]
pub(crate) fn locality<'py>(
    py: Python<'py>,
    trace: PyRef<'py, TraceSource>,
    options: Bound<'py, PyAny>,
    tables: Vec<String>,
    blocks: u64,
    jobs: Option<usize>,
    watch: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let options: LocalityOptions = depythonize(&options)?;
    let has = |names: &[&str]| tables.iter().any(|table| names.contains(&table.as_str()));
    let wanted = Wanted {
        curve: has(&["miss-curve"]),
        inter_reference: has(&["recency"]),
        rankings: has(&["summary", "ranks", "inversions"]),
        working_sets: has(&["working-set"]),
        blocks,
    };
    let study = options.study(trace.0.clone(), jobs).map_err(exception)?;
    let study = LocalityStudy { wanted, ..study };
    let device = options.device;
    let analysed =
        supervised(py, watch, move |progress| clockhand_sim::analyze_locality(&study, progress))?;
    // A signal while the columns load it would be a panic.
    py.import("numpy")?;
    let cost = &analysed.page_cost;
    let sampling = analysed.sampling.map(|sampling| SamplingFacts {
        rate: sampling.rate,
        pages: sampling.pages,
        references: sampling.references,
        footprint_standard_error: sampling.footprint_standard_error,
    });
    let (curve, thinning) = match options.points {
        Some(points) if wanted.curve => {
            let (curve, thinning) = analysed.curve.thinned(points);
            (curve, Some(thinning))
        }
        _ => (analysed.curve, None),
    };
    let thinning = thinning.map(|it| ThinningFacts {
        whole_points: it.whole_points,
        points: it.points,
        most_moved_references: it.most_moved_references,
    });
    let whole = analysed.whole.map(|whole| whole_trace(py, whole, wanted)).transpose()?;
    let columns = Columns::new(py)
        .other("trace", pythonize(py, &analysed.trace)?)?
        .other("device", pythonize(py, &device_facts(&device, &analysed.device, cost))?)?
        .other("sampling", pythonize(py, &sampling)?)?
        .other("thinning", pythonize(py, &thinning)?)?
        .other("curve", curve_columns(py, curve, |reads, writes| cost.time_us(reads, writes))?)?
        .other("whole", whole)?
        .other("intervals", interval_columns(py, &analysed.intervals)?)?;
    Ok(columns.0)
}

/// What a window of CFLRU would save on one trace; a dictionary of facts and of columns.
#[pyfunction]
#[pyo3(signature = (trace, *, frames, memory, page_bytes, device, watch=None))]
pub(crate) fn predict_window<'py>(
    py: Python<'py>,
    trace: PyRef<'py, TraceSource>,
    frames: Option<&str>,
    memory: Option<&str>,
    page_bytes: u64,
    device: String,
    watch: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let sizes = MemorySize::parse_either(frames, memory).map_err(exception)?;
    let [size] = sizes[..] else {
        return Err(exception(SimError::usage(
            "several memory sizes are given",
            "the window study takes one",
        )));
    };
    let (input, device_name) = (trace.0.clone(), device.clone());
    let study = WindowStudy { trace: input, page_bytes, device: device_name, frames: size };
    let found =
        supervised(py, watch, move |progress| clockhand_sim::predict_window(&study, progress))?;
    // Python turns what is not a number into null.
    let probabilities = found.future_reference_probability.iter();
    let probabilities = probabilities.map(|share| share.unwrap_or(f64::NAN)).collect();
    let columns = Columns::new(py)
        .other("trace", pythonize(py, &found.trace)?)?
        .other("device", pythonize(py, &device_facts(&device, &found.device, &found.page_cost))?)?
        .other("frames", found.frames)?
        .other("predicted_window", found.predicted_window)?
        .decimal("future_reference_probability", probabilities)?
        .decimal("benefit_us", found.benefit_us)?;
    Ok(columns.0)
}
