//! `ssd`: write buffers on flash drives, as rows and facts.

use std::sync::Arc;

use clockhand_device::Ssd;
use clockhand_device::flash::{Capacity, Preconditioned};
use clockhand_policy::buffer::catalog::BufferSpec;
use clockhand_sim::{
    HeldTrace, Progress, ReadTrace, Selection, SimError, SsdCell, SsdExperiment, SsdOptions,
    SsdOutcome, SsdRow, TimeDetail, TraceInput, Waits, check_ssd, run_ssd_cells,
};
use serde::{Serialize, Serializer};

use crate::latencies::write_latencies;
use crate::run::{Answered, Question, Resolved, resolved};
use crate::simulation::PolicyFacts;

#[derive(Serialize)]
struct AgedFacts {
    host_writes: u64,
    erases: u64,
    write_amplification: Option<f64>,
    is_steady: bool,
}

#[derive(Serialize)]
pub(crate) struct SsdFacts {
    name: String,
    resolved: String,
    summary: String,
    source: String,
    geometry: String,
    blocks: u64,
    pages_per_block: u32,
    page_bytes: u32,
    raw_pages: u64,
    logical_pages: u64,
    reserve_pages: u64,
    reserve_of_raw: f64,
    reserve_of_logical: f64,
    minimum_free_pages: u64,
    alpha: f64,
    endurance_erases: Option<u32>,
    preconditioned: AgedFacts,
}

pub(crate) fn drive_facts(written: &str, ssd: &Ssd, done: &Preconditioned) -> SsdFacts {
    let Capacity { raw_pages, logical_pages, reserve_pages, minimum_free_pages, page_bytes } =
        ssd.capacity();
    let pages_per_block = ssd.geometry().pages_per_block;
    SsdFacts {
        name: written.to_owned(),
        resolved: ssd.resolved(),
        summary: ssd.summary().to_owned(),
        source: ssd.source().to_owned(),
        geometry: ssd.geometry().to_string(),
        blocks: raw_pages / u64::from(pages_per_block),
        pages_per_block,
        page_bytes,
        raw_pages,
        logical_pages,
        reserve_pages,
        reserve_of_raw: ssd.capacity().reserve_of_raw(),
        reserve_of_logical: ssd.capacity().reserve_of_logical(),
        minimum_free_pages,
        alpha: ssd.capacity().alpha(),
        endurance_erases: ssd.endurance_erases(),
        preconditioned: AgedFacts {
            host_writes: done.host_writes,
            erases: done.erases,
            write_amplification: done.write_amplification,
            is_steady: done.is_steady,
        },
    }
}

/// Blocks by their number of erases; `row` is the position of the row they belong to.
#[derive(Default, Serialize)]
struct WearColumns {
    row: Vec<usize>,
    erases: Vec<u32>,
    blocks: Vec<u32>,
}

/// Time of requests by cause, in microseconds; `row` is the position of the row they belong to.
#[derive(Default, Serialize)]
struct WaitColumns {
    row: Vec<usize>,
    op: Vec<&'static str>,
    requests: Vec<u64>,
    host_us: Vec<f64>,
    front_us: Vec<f64>,
    buffer_us: Vec<f64>,
    collection_us: Vec<f64>,
    flash_us: Vec<f64>,
    service_us: Vec<f64>,
    longest_us: Vec<f64>,
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

impl WaitColumns {
    fn push(&mut self, row: usize, op: &'static str, waits: &Waits) {
        self.row.push(row);
        self.op.push(op);
        self.requests.push(waits.requests);
        let columns = [
            (&mut self.host_us, waits.host_ns),
            (&mut self.front_us, waits.front_ns),
            (&mut self.buffer_us, waits.buffer_ns),
            (&mut self.collection_us, waits.collection_ns),
            (&mut self.flash_us, waits.flash_ns),
            (&mut self.service_us, waits.service_ns),
            (&mut self.longest_us, waits.longest_ns),
        ];
        for (column, ns) in columns {
            column.push(us(ns));
        }
    }
}

/// Requests of similar latency: none takes longer than `most_us`, and all of the next class do.
#[derive(Default, Serialize)]
struct ClassColumns {
    most_us: Vec<f64>,
    #[serde(flatten)]
    waits: WaitColumns,
}

/// Stretches of a run, each with its reads and with its writes; what was decided stands with both.
#[derive(Default, Serialize)]
struct MomentColumns {
    begins_us: Vec<f64>,
    host_writes: Vec<u64>,
    relocations: Vec<u64>,
    erases: Vec<u64>,
    #[serde(flatten)]
    waits: WaitColumns,
}

/// How busy each part was.
#[derive(Default, Serialize)]
struct PartColumns {
    row: Vec<usize>,
    part: Vec<String>,
    utilisation: Vec<f64>,
}

/// What timed runs tell beside their rows.
#[derive(Default, Serialize)]
struct DetailColumns {
    classes: ClassColumns,
    moments: MomentColumns,
    parts: PartColumns,
}

impl DetailColumns {
    fn push(&mut self, row: usize, detail: &TimeDetail) {
        for (op, classes) in [("read", &detail.reads), ("write", &detail.writes)] {
            for class in classes {
                self.classes.most_us.push(us(class.most_ns));
                self.classes.waits.push(row, op, &class.waits);
            }
        }
        for moment in &detail.moments {
            for (op, waits) in [("read", &moment.reads), ("write", &moment.writes)] {
                self.moments.begins_us.push(us(moment.begins_ns));
                self.moments.host_writes.push(moment.host_writes);
                self.moments.relocations.push(moment.relocations);
                self.moments.erases.push(moment.erases);
                self.moments.waits.push(row, op, waits);
            }
        }
        for (part, utilisation) in &detail.parts {
            self.parts.row.push(row);
            self.parts.part.push(part.clone());
            self.parts.utilisation.push(*utilisation);
        }
    }
}

/// A row of which only some columns tell something, if they are listed.
struct ShownRow {
    row: SsdRow,
    columns: Option<&'static [&'static str]>,
}

impl ShownRow {
    /// The row of a cell, and those of its intervals.
    fn of_cell(cell: &SsdCell) -> (Self, Vec<Self>) {
        let columns = cell.is_part.then_some(SsdRow::PART_COLUMNS);
        let row = ShownRow { row: cell.row.clone(), columns };
        let shown = |row: &SsdRow| ShownRow { row: row.clone(), columns: row.filled_columns() };
        (row, cell.intervals.iter().map(shown).collect())
    }
}

impl Serialize for ShownRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(filled) = self.columns else { return self.row.serialize(serializer) };
        let mut values = serde_json::to_value(&self.row).map_err(serde::ser::Error::custom)?;
        if let Some(columns) = values.as_object_mut() {
            for (name, value) in columns {
                if !filled.contains(&name.as_str()) {
                    *value = serde_json::Value::Null;
                }
            }
        }
        values.serialize(serializer)
    }
}

#[derive(Serialize)]
pub(crate) struct SsdResult {
    rows: Vec<ShownRow>,
    intervals: Vec<ShownRow>,
    wear: WearColumns,
    #[serde(flatten)]
    detail: DetailColumns,
    traces: Vec<ReadTrace>,
    ssds: Vec<SsdFacts>,
    buffers: Vec<PolicyFacts>,
    resolved: Resolved,
    /// The error if the latencies could not be written.
    #[serde(skip)]
    written: Result<(), String>,
}

impl Answered for SsdResult {
    fn forget_rows(&mut self) {
        (self.rows, self.intervals) = (Vec::new(), Vec::new());
        (self.wear, self.detail) = (WearColumns::default(), DetailColumns::default());
    }

    fn failure(&self) -> Option<String> {
        self.written.clone().err()
    }
}

fn buffer_facts(spec: &BufferSpec) -> PolicyFacts {
    let description = spec.entry().description;
    PolicyFacts {
        name: spec.written().to_owned(),
        summary: description.summary,
        paper: description.paper,
    }
}

/// The tables beside the rows: erases of blocks, and details of timed runs.
fn beside(cells: &[SsdCell]) -> (WearColumns, DetailColumns) {
    let (mut wear, mut details) = (WearColumns::default(), DetailColumns::default());
    for (position, cell) in cells.iter().enumerate() {
        if let Some(detail) = &cell.detail {
            details.push(position, detail);
        }
        for &(erases, blocks) in &cell.wear.blocks_by_erases {
            wear.row.push(position);
            wear.erases.push(erases);
            wear.blocks.push(blocks);
        }
    }
    (wear, details)
}

/// A row with the erases of its drive's blocks, how many blocks were erased how often, and what it tells of time.
#[derive(Serialize)]
pub(crate) struct WornRow {
    #[serde(flatten)]
    row: ShownRow,
    wear_erases: Vec<u32>,
    wear_blocks: Vec<u32>,
    #[serde(flatten)]
    detail: DetailColumns,
}

impl WornRow {
    /// The row of a cell, and those of its intervals, which tell no wear.
    fn of_cell(cell: &SsdCell) -> Vec<Self> {
        let (wear_erases, wear_blocks) = cell.wear.blocks_by_erases.iter().copied().unzip();
        let (row, intervals) = ShownRow::of_cell(cell);
        let mut detail = DetailColumns::default();
        cell.detail.iter().for_each(|of_cell| detail.push(0, of_cell));
        let unworn = |row| {
            let detail = DetailColumns::default();
            WornRow { row, wear_erases: Vec::new(), wear_blocks: Vec::new(), detail }
        };
        let row = WornRow { row, wear_erases, wear_blocks, detail };
        std::iter::once(row).chain(intervals.into_iter().map(unworn)).collect()
    }
}

impl Question for SsdOptions {
    const STUDY: &'static str = "ssd";
    type Experiment = SsdExperiment;
    type Finished = SsdCell;
    type Row = WornRow;
    type Outcome = SsdOutcome;
    type Answer = SsdResult;

    fn experiment(
        &self,
        traces: Vec<TraceInput>,
        jobs: Option<usize>,
    ) -> Result<SsdExperiment, SimError> {
        self.experiment(traces, jobs)
    }

    fn check(experiment: &SsdExperiment) -> Result<(), SimError> {
        check_ssd(experiment)
    }

    fn run(
        experiment: &SsdExperiment,
        _: Option<&HeldTrace>,
        selection: &Selection<'_, SsdCell>,
        progress: &Arc<Progress>,
    ) -> Result<SsdOutcome, SimError> {
        run_ssd_cells(experiment, selection, progress)
    }

    fn rows(cell: &SsdCell) -> Vec<WornRow> {
        WornRow::of_cell(cell)
    }

    fn answer(
        &self,
        experiment: &SsdExperiment,
        outcome: SsdOutcome,
    ) -> Result<SsdResult, SimError> {
        let written = self.latencies.as_ref().map_or(Ok(()), |path| {
            write_latencies(path, &outcome.cells).map_err(|error| {
                format!("{path}: the latencies cannot be written ({error}); give another name")
            })
        });
        let rows = outcome.cells.iter().map(|cell| (&cell.row.buffer, &cell.row.buffer_resolved));
        let resolved = resolved(rows);
        let (wear, detail) = beside(&outcome.cells);
        let (rows, intervals): (Vec<_>, Vec<_>) =
            outcome.cells.iter().map(ShownRow::of_cell).unzip();
        let drives = experiment.ssds.iter().zip(&outcome.ssds);
        Ok(SsdResult {
            rows,
            intervals: intervals.into_iter().flatten().collect(),
            wear,
            detail,
            traces: outcome.traces,
            ssds: drives.map(|(written, (ssd, done))| drive_facts(written, ssd, done)).collect(),
            buffers: experiment.buffers.iter().map(buffer_facts).collect(),
            resolved,
            written,
        })
    }
}
