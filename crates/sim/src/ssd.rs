//! Write buffers on flash drives: a grid of cells, traces × drives × buffers.
//!
//! ```text
//! requests → placement → write buffer → flash translation layer
//!            (page numbers    (batches,        (programs, relocations,
//!             of the drive)    NVM writes)      erases)
//! ```

mod aged_ssd;
mod below;
mod cell;
mod course;
mod experiment;
mod life;
mod log;
mod on_drive;
mod options;
mod parts;
mod placement;
mod queued_drive;
mod requests;
mod row;
mod served_row;
mod timed;
mod watch;

use clockhand_policy::buffer::catalog::{BufferSpec, ResolvedBuffer};
use clockhand_trace::{TraceError, TraceInput};

use aged_ssd::{AgedSsd, check_timing};
pub use course::Repeat;
use experiment::check;
pub use experiment::{SsdCell, SsdExperiment, SsdOutcome, SsdTiming};
use on_drive::OnDrive;
pub use options::SsdOptions;
use parts::{RunCuts, SsdCounts};
pub use placement::AddressMap;
use placement::{Placed, place};
use requests::RequestList;
pub use row::SsdRow;
pub use served_row::ServeRow;
use timed::{ArrivalTimes, arrival_times};
pub use timed::{LatencyClass, LatencyRow, LatencyRows, Moment, TimeDetail, TimedArrivals, Waits};
pub use watch::{
    AskedOfDrive, AskedPage, BufferCourse, BufferList, BufferStep, BufferedBlock, MovedPage,
    StepEvent, WatchedBuffers, WorkOfDrive, watch_buffers,
};

use crate::declaration::StudyDeclaration;
use crate::error::SimError;
use crate::intervals::{Part, Rows};
use crate::read_trace::ReadTrace;
use crate::study::{Cells, Selection, Study, check_given, run_study};
use clockhand_trace::progress::Progress;

/// How everything else knows the study.
pub(crate) const STUDY: StudyDeclaration = StudyDeclaration {
    name: "ssd",
    command: "ssd",
    options: SsdOptions::OPTIONS,
    columns: SsdRow::COLUMNS,
    dimensions: &["ssd", "buffer", "arrivals"],
    newer: &[],
    value: "waf",
    order: &["ssd", "buffer_pages", "buffer"],
};

/// Runs an experiment.
///
/// # Errors
///
/// An unknown drive or buffer, sizes that do not fit together, a trace that cannot be read or reaches beyond a
/// drive's end, or [`SimError::Interrupted`].
pub fn run_ssd(experiment: &SsdExperiment, progress: &Progress) -> Result<SsdOutcome, SimError> {
    run_ssd_cells(experiment, &Selection::default(), progress)
}

/// Runs the selected cells of an experiment.
///
/// # Errors
///
/// Those of [`run_ssd`], and a cell that there is not.
pub fn run_ssd_cells(
    experiment: &SsdExperiment,
    selection: &Selection<'_, SsdCell>,
    progress: &Progress,
) -> Result<SsdOutcome, SimError> {
    check_given(&experiment.traces, "trace", "a file")?;
    let study = SsdStudy::new(experiment)?;
    let (mut cells, mut traces) = (Vec::new(), Vec::new());
    let take = |prepared: OnDrives, finished| {
        traces.push(prepared.facts());
        cells.extend::<Vec<SsdCell>>(finished);
    };
    run_study(&study, &experiment.traces, experiment.jobs, progress, selection, take)?;
    let ssds = study.ssds.into_iter().filter_map(AgedSsd::into_aged).collect();
    Ok(SsdOutcome { cells, traces, ssds })
}

/// Checks what can be known of an experiment before a trace is read.
///
/// # Errors
///
/// The first thing that makes no sense.
pub fn check_ssd(experiment: &SsdExperiment) -> Result<(), SimError> {
    SsdStudy::new(experiment).map(drop)
}

/// A trace, and its requests on each drive.
struct OnDrives {
    name: String,
    list: RequestList,
    /// In the order of the drives.
    placed: Vec<Placed>,
    /// When its requests arrive, for each kind of arrivals if it is timed.
    arrivals: Vec<ArrivalTimes>,
}

impl OnDrives {
    /// The trace; its pages are those of the first drive.
    fn facts(&self) -> ReadTrace {
        let trace = &self.placed[0];
        ReadTrace {
            name: self.name.clone(),
            report: self.list.report.clone(),
            references: trace.references,
            read_references: trace.references - trace.write_references,
            write_references: trace.write_references,
            footprint_pages: trace.footprint_pages,
            dirty_footprint_pages: trace.dirty_footprint_pages,
        }
    }
}

/// A drive and arrivals, by their positions, and a buffer with its size on it.
struct BufferOnDrive<'a> {
    drive: usize,
    arrivals: usize,
    spec: &'a BufferSpec,
    resolved: ResolvedBuffer,
}

/// Write buffers on flash drives.
struct SsdStudy<'a> {
    experiment: &'a SsdExperiment,
    ssds: Vec<AgedSsd>,
}

impl<'a> Study for SsdStudy<'a> {
    type Prepared = OnDrives;
    type Cell = BufferOnDrive<'a>;
    type Finished = SsdCell;

    fn prepare(&self, input: &TraceInput, progress: &Progress) -> Result<OnDrives, SimError> {
        self.check_memory(input)?;
        let timing = self.experiment.timing.as_ref();
        let ways = timing.map_or(&[][..], |timing| &timing.arrivals);
        let keeps_times = ways.iter().any(|(_, way)| matches!(way, TimedArrivals::Trace(_)));
        let SsdExperiment { intervals, io_log, .. } = self.experiment;
        let keeps_times = keeps_times || !intervals.is_off() || io_log.is_some();
        let list = RequestList::read(input, keeps_times, progress)?;
        let place = |ssd: &AgedSsd| place(&input.name(), &list, ssd.space(), self.experiment.map);
        let placed = self.ssds.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        let clamps = timing.is_some_and(|timing| timing.clamps_times);
        let times = |(_, way): &_| arrival_times(&input.name(), &list, &placed[0], way, clamps);
        let arrivals = ways.iter().map(times).collect::<Result<Vec<_>, _>>()?;
        for ssd in &self.ssds {
            ssd.drive(self.experiment, progress)?;
        }
        Ok(OnDrives { name: input.name(), list, placed, arrivals })
    }

    fn cells(&self, trace: &OnDrives) -> Result<Vec<BufferOnDrive<'a>>, SimError> {
        let cell = |point: &Vec<usize>| {
            let &[drive, buffer, arrivals] = &point[..] else {
                unreachable!("the grid has three dimensions")
            };
            let spec = &self.experiment.buffers[buffer];
            let resolved = self.on(trace, drive).resolve(spec)?;
            Ok(BufferOnDrive { drive, arrivals, spec, resolved })
        };
        self.experiment.points().iter().map(cell).collect()
    }

    fn prepared_bytes(&self, trace: &OnDrives) -> Option<u64> {
        let placed = trace.placed.iter().map(Placed::memory_bytes).sum::<u64>();
        Some(trace.list.memory_bytes() + placed + self.aged_bytes())
    }

    /// A cell has a copy of its drive.
    fn memory_bytes(&self, _: &OnDrives, task: &[&BufferOnDrive<'a>]) -> u64 {
        let bytes = |cell: &&BufferOnDrive<'a>| self.ssds[cell.drive].ssd.memory_bytes();
        task.iter().map(bytes).max().unwrap_or(0)
    }

    fn steps(&self, trace: &OnDrives, task: &[&BufferOnDrive<'a>]) -> u64 {
        // The repetitions of a trace until it is steady are not known before.
        let times = match self.experiment.repeat {
            Repeat::Times(times) => u64::from(times),
            Repeat::UntilSteady => 0,
        };
        task.iter().map(|cell| times * trace.placed[cell.drive].ranges.len() as u64).sum()
    }

    fn run(
        &self,
        trace: &OnDrives,
        task: &[&BufferOnDrive<'a>],
        progress: &Progress,
    ) -> Result<Vec<SsdCell>, SimError> {
        let run = |cell: &&BufferOnDrive<'a>| {
            let on = self.on(trace, cell.drive);
            if let Some(timing) = &self.experiment.timing {
                return on.timed(cell, timing, &trace.arrivals[cell.arrivals], progress);
            }
            let cuts = RunCuts::new(&self.experiment.intervals, on.name, on.list, on.trace)?;
            let repeat = self.experiment.repeat;
            let finished = on.counted(cell, repeat, &cuts.of_ranges, progress)?;
            let is_part = !cuts.of_ranges.is_empty();
            let row = |_: &Part<'_>, counts: &SsdCounts| {
                let row = on.row(cell.spec, &cell.resolved, &finished, counts);
                if is_part { parts::without_wear(row) } else { row }
            };
            let facts = trace.facts();
            let Rows { row, intervals } = finished.noted.rows(&cuts.of_references, &facts, row);
            let latencies = LatencyRows::default();
            let (wear, detail) = (finished.drive.wear(), None);
            Ok(SsdCell { row, is_part, wear, intervals, latencies, detail })
        };
        task.iter().map(run).collect()
    }
}

impl<'a> SsdStudy<'a> {
    fn new(experiment: &'a SsdExperiment) -> Result<Self, SimError> {
        check(experiment)?;
        let ssds = experiment.ssds.iter().map(|text| AgedSsd::new(text));
        let ssds = ssds.collect::<Result<Vec<_>, _>>()?;
        ssds.iter().try_for_each(|ssd| ssd.check_zones(experiment))?;
        check_timing(experiment, &ssds)?;
        Ok(SsdStudy { experiment, ssds })
    }

    /// Refuses drives that do not fit: each is kept as it was aged, and a cell has a copy.
    fn check_memory(&self, input: &TraceInput) -> Result<(), SimError> {
        let bytes = |ssd: &AgedSsd| ssd.ssd.memory_bytes();
        let largest_bytes = self.ssds.iter().map(bytes).max().unwrap_or(0);
        let limit_bytes = input.memory_limit_bytes();
        if self.aged_bytes() + largest_bytes <= limit_bytes {
            return Ok(());
        }
        let largest = self.ssds.iter().max_by_key(|ssd| bytes(ssd));
        let names = largest.map_or(String::new(), |ssd| ssd.written.clone());
        Err(TraceError::too_much_memory(
            &format!("drive {names}"),
            "its tables and those of a copy take",
            "take a smaller drive",
            limit_bytes,
        )
        .into())
    }

    /// Memory of all drives as they were aged.
    fn aged_bytes(&self) -> u64 {
        self.ssds.iter().map(|ssd| ssd.ssd.memory_bytes()).sum()
    }

    fn on(&'a self, trace: &'a OnDrives, drive: usize) -> OnDrive<'a> {
        OnDrive {
            experiment: self.experiment,
            name: &trace.name,
            list: &trace.list,
            trace: &trace.placed[drive],
            ssd: &self.ssds[drive],
        }
    }
}
