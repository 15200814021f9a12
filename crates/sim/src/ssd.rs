//! Write buffers on flash drives: a grid of cells, traces × drives × buffers.
//!
//! ```text
//! requests → placement → write buffer → flash translation layer
//!            (page numbers    (batches,        (programs, relocations,
//!             of the drive)    NVM writes)      erases)
//! ```

mod below;
mod cell;
mod course;
mod life;
mod options;
mod parts;
mod placement;
mod queued_drive;
mod requests;
mod row;
mod served_row;
mod timed;
mod watch;

use std::ops::ControlFlow;
use std::sync::OnceLock;

use clockhand_device::flash::{
    Counters, Drive, Mapping, Precondition, Preconditioned, Separation, Wear,
};
use clockhand_device::{Exact, FlashTimes, Ssd};
use clockhand_policy::Ratio;
use clockhand_policy::buffer::catalog::{BufferSpec, ResolvedBuffer};
use clockhand_policy::buffer::{BufferSize, PagesPerBlock};
use clockhand_trace::{TraceError, bytes_with_unit};
use num_traits::ToPrimitive;

use cell::{Cell, Finished, Unobserved};
pub use course::Repeat;
use life::Life;
pub use options::SsdOptions;
use parts::{RunCuts, SsdCounts};
pub use placement::AddressMap;
use placement::{Placed, Space, place};
use requests::RequestList;
pub use row::SsdRow;
pub use served_row::ServeRow;
use timed::{ArrivalTimes, TimedCell, TimedFinished, Wanted, arrival_times, columns};
pub use timed::{LatencyClass, LatencyRow, LatencyRows, Moment, TimeDetail, TimedArrivals, Waits};
pub use watch::{
    AskedOfDrive, AskedPage, BufferCourse, BufferList, BufferStep, BufferedBlock, MovedPage,
    StepEvent, WatchedBuffers, WorkOfDrive, watch_buffers,
};

use crate::intervals::{Cuts, Intervals, Part, Rows};
use crate::pricing::policy_ratio;
use crate::study::{ReadTrace, Selection, Study, check_given, run_study};
use crate::{MemorySize, Phase, Progress, SimError, TraceInput};

/// Pages of a block as the papers' write buffers see it.
const BUFFER_BLOCK_PAGES: u32 = 64;

/// Stands for no write buffer.
const NO_BUFFER: &str = "none";

/// A policy's cost of a write over a read if the drive's profile states no times: the ratio of the SLC NAND
/// flash that the papers price.
const DEFAULT_COST_RATIO: u32 = 8;

/// What to run. Rows come in the order trace, drive, buffer, arrivals, each as given, duplicates kept.
#[derive(Clone, Debug)]
pub struct SsdExperiment {
    /// The traces.
    pub traces: Vec<TraceInput>,
    /// The write buffers, each with its total.
    pub buffers: Vec<BufferSpec>,
    /// The drives as the user wrote them.
    pub ssds: Vec<String>,
    /// Ageing of the drives.
    pub precondition: Precondition,
    /// Where addresses beyond a drive's end go.
    pub map: AddressMap,
    /// Writes dirty pages when the trace ends, the last time if it is repeated.
    pub drain: bool,
    /// Runs of each trace, one after the other.
    pub repeat: Repeat,
    /// Erases that a block endures; what the drive's profile says if `None`.
    pub endurance_erases: Option<u32>,
    /// Seed of what is drawn at random.
    pub seed: u64,
    /// How it is timed, if it is.
    pub timing: Option<SsdTiming>,
    /// From where counts are taken, and whether for each interval too; of runs that are not timed.
    pub intervals: Intervals,
    /// Threads; all cores if `None`.
    pub jobs: Option<usize>,
}

/// Options of a timed run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SsdTiming {
    /// How requests arrive, each way of it as the user wrote it and what that means.
    pub arrivals: Vec<(String, TimedArrivals)>,
    /// Raises a time that runs back to the one before it.
    pub clamps_times: bool,
    /// Nanoseconds of the windows whose rows are wanted too.
    pub window_ns: Option<u64>,
    /// Keeps a row per request.
    pub keeps_latencies: bool,
}

/// A row and what does not fit into one.
#[derive(Clone, Debug)]
pub struct SsdCell {
    /// The row; after a warm-up only what [`SsdRow::PART_COLUMNS`] names has a meaning.
    pub row: SsdRow,
    /// Whether counts began after a warm-up.
    pub is_part: bool,
    /// Blocks by their number of erases.
    pub wear: Wear,
    /// The rows of its intervals, if they are asked for; only what [`SsdRow::filled_columns`] names has a meaning.
    pub intervals: Vec<SsdRow>,
    /// A row for each request, if that is wanted.
    pub latencies: LatencyRows,
    /// Waits of requests by cause, if it is timed.
    pub detail: Option<TimeDetail>,
}

/// The rows of an experiment and the facts that belong to them.
#[derive(Clone, Debug)]
pub struct SsdOutcome {
    /// One entry per cell.
    pub cells: Vec<SsdCell>,
    /// One entry per trace; its pages are those of the first drive.
    pub traces: Vec<ReadTrace>,
    /// The drives, and what preconditioning did with each.
    pub ssds: Vec<(Ssd, Preconditioned)>,
}

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
    let aged = |ssd: AgedSsd| ssd.aged.into_inner().map(|(_, done)| (ssd.ssd, done));
    Ok(SsdOutcome { cells, traces, ssds: study.ssds.into_iter().filter_map(aged).collect() })
}

/// Checks what can be known of an experiment before a trace is read.
///
/// # Errors
///
/// The first thing that makes no sense.
pub fn check_ssd(experiment: &SsdExperiment) -> Result<(), SimError> {
    SsdStudy::new(experiment).map(drop)
}

fn check(experiment: &SsdExperiment) -> Result<(), SimError> {
    check_given(&experiment.ssds, "drive", "--ssd NAME")?;
    check_given(&experiment.buffers, "write buffer", "--buffer NAME:total=SIZE")?;
    if experiment.repeat != Repeat::Times(1) && !experiment.intervals.is_off() {
        return Err(SimError::Usage(
            "--warm-up and --every are of a trace that runs once; leave out --repeat".to_owned(),
        ));
    }
    if experiment.endurance_erases == Some(0) {
        return Err(SimError::Usage("--endurance is 0; give erases per block, from 1".to_owned()));
    }
    experiment.buffers.iter().try_for_each(|buffer| buffer_total(buffer).map(drop))
}

/// Checks that each drive can be timed with each buffer.
fn check_timing(experiment: &SsdExperiment, ssds: &[AgedSsd]) -> Result<(), SimError> {
    let Some(timing) = &experiment.timing else { return Ok(()) };
    check_given(&timing.arrivals, "kind of arrivals", "--arrivals trace")?;
    let needs_nvm = experiment.buffers.iter().any(|buffer| buffer.entry().is_hybrid);
    ssds.iter().try_for_each(|ssd| Ok(ssd.ssd.time_options(needs_nvm).map(drop)?))
}

/// The size that a buffer was given: pages, bytes or a share of the trace's footprint.
fn buffer_total(buffer: &BufferSpec) -> Result<MemorySize, SimError> {
    let remedy =
        "give pages (4096), bytes with a unit (16MiB) or a share of the trace's footprint (10%)";
    if buffer.is_none() {
        return Ok(MemorySize::Frames(0));
    }
    let Some(total) = buffer.total() else {
        return Err(SimError::Usage(format!(
            "write buffer {} has no size; add total=SIZE, such as {}:total=16MiB",
            buffer.written(),
            buffer.entry().description.name
        )));
    };
    let wrong = || {
        SimError::Usage(format!(
            "write buffer {}: total={total} is not a size; {remedy}",
            buffer.written()
        ))
    };
    if total.ends_with('%') {
        return match MemorySize::parse_memory(total).as_deref() {
            Ok(&[share]) => Ok(share),
            _ => Err(wrong()),
        };
    }
    let pages = total.parse().ok().filter(|&pages| pages > 0).map(MemorySize::Frames);
    let bytes = || bytes_with_unit(total).filter(|&bytes| bytes > 0).map(MemorySize::Bytes);
    pages.or_else(bytes).ok_or_else(wrong)
}

/// A drive, aged when it is first needed; every cell begins with a copy.
struct AgedSsd {
    /// As the user wrote it.
    written: String,
    ssd: Ssd,
    aged: OnceLock<(Drive, Preconditioned)>,
}

impl AgedSsd {
    fn new(text: &str) -> Result<Self, SimError> {
        Ok(AgedSsd {
            written: text.to_owned(),
            ssd: Ssd::named_or_file(text)?,
            aged: OnceLock::new(),
        })
    }

    fn space(&self) -> Space {
        let capacity = self.ssd.capacity();
        Space {
            logical_pages: capacity.logical_pages,
            page_bytes: capacity.page_bytes,
            pages_per_block: self.pages_per_block(),
            streams: match self.ssd.options().mapping.separation() {
                Separation::Stream(streams) => streams.into(),
                Separation::Off | Separation::Temperature { .. } => 1,
            },
            reads_rest: self.ssd.reads_rest(),
        }
    }

    /// Zones are written as the host says and begin empty.
    fn check_zones(&self, experiment: &SsdExperiment) -> Result<(), SimError> {
        if !matches!(self.ssd.options().mapping, Mapping::Zoned(_)) {
            return Ok(());
        }
        if let Some(buffer) = experiment.buffers.iter().find(|buffer| buffer.written() != NO_BUFFER)
        {
            return Err(SimError::Usage(format!(
                "drive {} has zones, which a write buffer such as {} would write out of order; give --buffer {NO_BUFFER}",
                self.written,
                buffer.written()
            )));
        }
        if experiment.precondition != Precondition::None {
            return Err(SimError::Usage(format!(
                "drive {} has zones, which the host itself fills; give --precondition none",
                self.written
            )));
        }
        Ok(())
    }

    /// The papers' 64, or less where the drive's own blocks are smaller.
    fn pages_per_block(&self) -> u32 {
        let drive_block_pages = self.ssd.geometry().pages_per_block;
        match drive_block_pages.is_power_of_two() {
            true => drive_block_pages.min(BUFFER_BLOCK_PAGES),
            false => BUFFER_BLOCK_PAGES,
        }
    }

    fn drive(
        &self,
        experiment: &SsdExperiment,
        progress: &Progress,
    ) -> Result<&(Drive, Preconditioned), SimError> {
        if let Some(aged) = self.aged.get() {
            return Ok(aged);
        }
        progress.enter(Phase::Preconditioning, 0);
        let mut drive = self.ssd.drive(experiment.seed);
        let done = drive.precondition(experiment.precondition, experiment.seed, |pages| {
            progress.set_done(pages);
            match progress.is_cancelled() {
                true => ControlFlow::Break(SimError::Interrupted),
                false => ControlFlow::Continue(()),
            }
        })?;
        Ok(self.aged.get_or_init(|| (drive, done)))
    }

    /// How long all operations of a drive take one after the other, if its profile states the times.
    fn device_busy_us(&self, counters: &Counters) -> Option<f64> {
        let FlashTimes { read_us, program_us, erase_us } = self.ssd.times();
        // The times of an SLC region are others, and counts do not say which operations were there.
        if self.ssd.options().mapping.slc().is_some() {
            return None;
        }
        let operations = [
            (counters.flash_reads(), read_us?),
            (counters.flash_programs(), program_us?),
            (counters.erases, erase_us?),
        ];
        let exact = |count: u64| Exact::from_integer(count.into());
        let busy_us: Exact = operations.into_iter().map(|(count, us)| exact(count) * us).sum();
        busy_us.to_f64()
    }

    /// What a page write costs over a page read.
    fn cost_ratio(&self) -> Result<Ratio, SimError> {
        let times = self.ssd.times();
        let (Some(read), Some(program)) = (times.read_us, times.program_us) else {
            return Ok(Ratio::whole(DEFAULT_COST_RATIO));
        };
        policy_ratio(&(program / read)).map_err(|_| {
            SimError::Usage(format!(
                "drive {}: its program time over its read time is unusable as a cost ratio; change the times of \
                 the profile",
                self.written
            ))
        })
    }
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
        let keeps_times = keeps_times || !self.experiment.intervals.is_off();
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
        let mut cells = Vec::new();
        for drive in 0..self.ssds.len() {
            for spec in &self.experiment.buffers {
                let resolved = self.on(trace, drive).resolve(spec)?;
                for arrivals in 0..trace.arrivals.len().max(1) {
                    let resolved = resolved.clone();
                    cells.push(BufferOnDrive { drive, arrivals, spec, resolved });
                }
            }
        }
        Ok(cells)
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

/// One trace on one drive.
struct OnDrive<'a> {
    experiment: &'a SsdExperiment,
    name: &'a str,
    list: &'a RequestList,
    trace: &'a Placed,
    ssd: &'a AgedSsd,
}

impl OnDrive<'_> {
    /// A cell as the counting mode runs it.
    fn counted(
        &self,
        cell: &BufferOnDrive<'_>,
        repeat: Repeat,
        cuts: &Cuts,
        progress: &Progress,
    ) -> Result<Finished, SimError> {
        let (drive, _) = self.ssd.drive(self.experiment, progress)?;
        let (trace, drive, drain) = (self.trace, drive.clone(), self.experiment.drain);
        let (ssd, observer) = (&self.ssd.written, &mut Unobserved);
        cell.resolved.build(Cell { trace, ssd, drive, drain, repeat, cuts, progress, observer })
    }

    /// A cell in time.
    fn timed(
        &self,
        cell: &BufferOnDrive<'_>,
        timing: &SsdTiming,
        arrivals: &ArrivalTimes,
        progress: &Progress,
    ) -> Result<SsdCell, SimError> {
        let repeat = self.experiment.repeat;
        // The decisions, and so when they become steady, do not depend on time.
        let repetitions = match repeat {
            Repeat::Times(times) => times,
            Repeat::UntilSteady => {
                let cuts = Cuts::default();
                self.counted(cell, repeat, &cuts, progress)?.course.repetitions()
            }
        };
        arrivals.check_last(self.name, repetitions, timed::count(self.trace))?;
        let settings = cell.resolved.settings();
        // With NVM or without the parameter, what is acknowledged is persistent.
        let is_paper =
            settings.iter().any(|(name, value)| name == "commands" && value.to_string() != "safe");
        let wanted = Wanted {
            ssd: self.ssd.written.clone(),
            options: self.ssd.ssd.time_options(cell.spec.entry().is_hybrid)?,
            window_ns: timing.window_ns,
            keeps_latencies: timing.keeps_latencies,
            is_paper,
            repetitions,
            ends_saturated: repeat == Repeat::UntilSteady,
        };
        let (drive, _) = self.ssd.drive(self.experiment, progress)?;
        let (trace, drive, drain) = (self.trace, drive.clone(), self.experiment.drain);
        let records = false;
        let replay = TimedCell { trace, arrivals, drive, drain, repeat, wanted, progress, records };
        let TimedFinished { finished, timed, .. } = cell.resolved.build(replay)?;
        let counts = finished.noted.as_whole();
        let mut row = self.row(cell.spec, &cell.resolved, &finished, counts);
        let (written, _) = &timing.arrivals[cell.arrivals];
        columns::fill(&mut row, written, arrivals.arrivals(), &timed);
        let intervals = timed.windows.iter().map(|window| columns::window_row(&row, window));
        Ok(SsdCell {
            intervals: intervals.collect(),
            row,
            is_part: false,
            wear: finished.drive.wear(),
            latencies: timed.latencies,
            detail: Some(timed.detail),
        })
    }

    /// A buffer with its size in pages.
    fn resolve(&self, spec: &BufferSpec) -> Result<ResolvedBuffer, SimError> {
        let Space { logical_pages, page_bytes, pages_per_block, .. } = self.ssd.space();
        let pages = match spec.is_none() {
            true => 0,
            false => buffer_total(spec)?.frames(self.trace.footprint_pages, page_bytes.into()),
        };
        if u64::from(pages) > logical_pages {
            return Err(SimError::Usage(format!(
                "write buffer {} has {pages} pages and drive {} only {logical_pages}; give it a smaller total",
                spec.written(),
                self.ssd.written
            )));
        }
        let pages_per_block =
            PagesPerBlock::new(pages_per_block).expect("a power of two that is at most 64");
        let size = BufferSize {
            pages,
            pages_per_block,
            distinct_pages: self.trace.footprint_pages,
            drive_pages: logical_pages,
        };
        Ok(spec.resolve(size, self.ssd.cost_ratio()?)?)
    }

    fn row(
        &self,
        spec: &BufferSpec,
        resolved: &ResolvedBuffer,
        finished: &Finished,
        (counts, (flash, mapping)): &SsdCounts,
    ) -> SsdRow {
        let OnDrive { experiment, trace, ssd, .. } = self;
        let Finished { drive, course, .. } = finished;
        let write_references = counts.write_hits + counts.write_misses;
        let references = write_references + counts.read_hits + counts.read_misses;
        let logical_pages = drive.capacity().logical_pages;
        let wear = drive.wear();
        let hits = counts.read_hits + counts.write_hits;
        let share = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
        let life = Life::new(self, finished);
        let steady = course.steady(flash.erases);
        let kind = &ssd.ssd.options().mapping;
        let of_log_blocks = matches!(kind, Mapping::Bast(_) | Mapping::Fast(_));
        let of_map_on_flash = matches!(kind, Mapping::Dftl(_));
        let (has_slc, has_zones) = (kind.slc().is_some(), matches!(kind, Mapping::Zoned(_)));
        SsdRow {
            trace: self.name.to_owned(),
            buffer: spec.written().to_owned(),
            buffer_pages: resolved.size().pages,
            ssd: ssd.written.clone(),
            references,
            read_hits: counts.read_hits,
            write_hits: counts.write_hits,
            dirty_pages_flushed: counts.dirty_pages_flushed,
            clean_pages_flushed: counts.clean_pages_flushed,
            batches: counts.batches,
            nvm_writes: counts.nvm_writes,
            residual_dirty: counts.residual_dirty,
            host_writes: flash.host_writes,
            flash_programs: flash.flash_programs(),
            erases: flash.erases,
            waf: flash.write_amplification(),
            read_references: references - write_references,
            write_references,
            hit_ratio: hits as f64 / references as f64,
            write_hit_ratio: share(counts.write_hits, write_references),
            nvm_hits: counts.nvm_hits,
            padding_reads: counts.padding_reads,
            migrations: counts.migrations,
            relocations: flash.relocations,
            flash_reads: flash.flash_reads(),
            collection_started: flash.collection_started(),
            erases_mean: wear.erases_mean(),
            erases_max: wear.erases_max(),
            life_repetitions: life.repetitions,
            life_repetitions_first_block: life.repetitions_first_block,
            life_years: life.years,
            drive_writes_per_day_5_years: life.drive_writes_per_day,
            nvm_life_repetitions: life.nvm_repetitions,
            nvm_life_years: life.nvm_years,
            dram_pages: counts.dram_pages,
            nvm_pages: counts.nvm_pages,
            page_bytes: drive.capacity().page_bytes,
            footprint_pages: trace.footprint_pages,
            buffer_resolved: resolved.to_string(),
            ssd_resolved: ssd.ssd.resolved(),
            precondition: experiment.precondition.to_string(),
            map: experiment.map.name(),
            drain: experiment.drain,
            repetitions: course.repetitions(),
            drive_writes: flash.host_writes as f64 / logical_pages as f64,
            is_steady: steady.is_some(),
            steady_waf: steady.map(|steady| steady.write_amplification),
            device_busy_us: ssd.device_busy_us(flash),
            switch_merges: of_log_blocks.then_some(mapping.switch_merges),
            partial_merges: of_log_blocks.then_some(mapping.partial_merges),
            full_merges: of_log_blocks.then_some(mapping.full_merges),
            cmt_hits: of_map_on_flash.then_some(mapping.cmt_hits),
            cmt_misses: of_map_on_flash.then_some(mapping.cmt_misses),
            translation_reads: of_map_on_flash.then_some(flash.translation_reads),
            translation_programs: of_map_on_flash.then_some(flash.translation_programs),
            translation_relocations: of_map_on_flash.then_some(flash.translation_relocations),
            folded_pages: has_slc.then_some(mapping.folded_pages),
            slc_erases: has_slc.then_some(mapping.slc_erases),
            ignored_trims: has_zones.then_some(mapping.ignored_trims),
            misplaced_writes: has_zones.then_some(mapping.misplaced_writes),
            skipped_requests: self.list.report.skipped_records,
            ..SsdRow::default()
        }
    }
}
