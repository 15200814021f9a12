//! What to run, and what comes of it.

use clockhand_device::Ssd;
use clockhand_device::flash::{Precondition, Preconditioned, Wear};
use clockhand_policy::buffer::catalog::BufferSpec;
use clockhand_quantity::{Text, option};
use clockhand_trace::{TraceInput, bytes_with_unit};

use super::placement::AddressMap;
use super::timed::{LatencyRows, TimeDetail, TimedArrivals};
use super::{Repeat, SsdRow};
use crate::error::SimError;
use crate::intervals::Intervals;
use crate::io_log::check_one_cell;
use crate::memory_size::MemorySize;
use crate::read_trace::ReadTrace;
use crate::study::{Cells, check_given};

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
    /// Where every page is logged that the drive is asked for; of one cell that is not timed.
    pub io_log: Option<String>,
    /// Threads; all cores if `None`.
    pub jobs: Option<usize>,
}

impl Cells for SsdExperiment {
    fn lengths(&self) -> Vec<usize> {
        let arrivals = self.timing.as_ref().map_or(0, |timing| timing.arrivals.len());
        vec![self.ssds.len(), self.buffers.len(), arrivals.max(1)]
    }
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

/// Checks what the options say by themselves.
pub(super) fn check(experiment: &SsdExperiment) -> Result<(), SimError> {
    check_given(&experiment.ssds, "drive", option("ssd") + " NAME")?;
    check_given(&experiment.buffers, "write buffer", option("buffer") + " NAME:total=SIZE")?;
    if experiment.repeat != Repeat::Times(1) && !experiment.intervals.is_off() {
        return Err(SimError::usage(
            option("warm-up") + " and " + option("every") + " are of a trace that runs once",
            Text::from("leave out ") + option("repeat"),
        ));
    }
    check_log(experiment)?;
    if experiment.endurance_erases == Some(0) {
        return Err(SimError::usage(
            option("endurance") + " is 0",
            "give erases per block, from 1",
        ));
    }
    experiment.buffers.iter().try_for_each(|buffer| buffer_total(buffer).map(drop))
}

fn check_log(experiment: &SsdExperiment) -> Result<(), SimError> {
    let SsdExperiment { traces, buffers, ssds, io_log, timing, repeat, .. } = experiment;
    let counts = [("traces", traces.len()), ("buffers", buffers.len()), ("drives", ssds.len())];
    check_one_cell(io_log.is_some(), counts)?;
    if io_log.is_some() && (timing.is_some() || *repeat != Repeat::Times(1)) {
        return Err(SimError::usage(
            option("io-log") + " is of a trace that runs once and is not timed",
            Text::from("leave out ") + option("timed") + " and " + option("repeat"),
        ));
    }
    Ok(())
}

/// The size that a buffer was given: pages, bytes or a share of the trace's footprint.
pub(super) fn buffer_total(buffer: &BufferSpec) -> Result<MemorySize, SimError> {
    let remedy =
        "give pages (4096), bytes with a unit (16MiB) or a share of the trace's footprint (10%)";
    if buffer.is_none() {
        return Ok(MemorySize::Frames(0));
    }
    let Some(total) = buffer.total() else {
        return Err(SimError::usage(
            format!("write buffer {} has no size", buffer.written()),
            format!("add total=SIZE, such as {}:total=16MiB", buffer.entry().description.name),
        ));
    };
    let wrong = || {
        SimError::usage(
            format!("write buffer {}: total={total} is not a size", buffer.written()),
            remedy,
        )
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
