//! Lifetimes of a drive's flash and NVM if a trace is repeated forever.

use clockhand_device::{Exact, Ssd};
use num_traits::ToPrimitive;

use super::cell::Finished;
use super::on_drive::OnDrive;

/// Nanoseconds of a year of 365 days, as warranties count.
const YEAR_NS: f64 = 365.0 * 24.0 * 3600.0 * 1e9;
/// The warranty for which drive writes per day are stated.
const WARRANTY_DAYS: f64 = 5.0 * 365.0;

/// How long flash and NVM last.
pub(super) struct Life {
    pub(super) repetitions: Option<f64>,
    pub(super) repetitions_first_block: Option<f64>,
    pub(super) years: Option<f64>,
    pub(super) drive_writes_per_day: Option<f64>,
    pub(super) nvm_repetitions: Option<f64>,
    pub(super) nvm_years: Option<f64>,
}

impl Life {
    pub(super) fn new(grid: &OnDrive<'_>, finished: &Finished) -> Life {
        let Finished { counts, drive, course, .. } = finished;
        let (ssd, wear) = (&grid.ssd.ssd, drive.wear());
        let endurance = grid.experiment.endurance_erases.or(ssd.endurance_erases());
        let until =
            |erases: f64| endurance.filter(|_| erases > 0.0).map(|all| f64::from(all) / erases);
        let run_repetitions = f64::from(course.repetitions());
        let erases = drive.counters().erases;
        let steady = course.steady(erases);
        // The average block wears as fast as all blocks together, one by one.
        let share = steady
            .filter(|_| erases > 0)
            .map_or(1.0 / run_repetitions, |steady| steady.erases_per_repetition / erases as f64);
        let repetitions = until(wear.erases_mean() * share);
        let span_ns = grid.list.span_ns.filter(|&span_ns| span_ns > 0);
        let years = |repetitions: Option<f64>| {
            repetitions.zip(span_ns).map(|(times, span_ns)| times * span_ns as f64 / YEAR_NS)
        };
        let drive_writes = grid.trace.write_references as f64 / ssd.capacity().logical_pages as f64;
        let nvm_repetitions = nvm_endurance(ssd).filter(|_| counts.nvm_writes > 0).map(|writes| {
            writes * f64::from(counts.nvm_pages) / (counts.nvm_writes as f64 / run_repetitions)
        });
        Life {
            repetitions,
            repetitions_first_block: until(f64::from(wear.erases_max()) / run_repetitions),
            years: years(repetitions.filter(|_| steady.is_some())),
            drive_writes_per_day: repetitions.map(|times| times * drive_writes / WARRANTY_DAYS),
            nvm_repetitions,
            nvm_years: years(nvm_repetitions),
        }
    }
}

/// Writes that a cell of the drive's NVM endures.
fn nvm_endurance(ssd: &Ssd) -> Option<f64> {
    let writes: Exact = ssd.nvm()?.endurance_writes;
    Some(writes.numer().to_f64()? / writes.denom().to_f64()?)
}
