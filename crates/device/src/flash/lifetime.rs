//! How long a drive lasts if the workload continues unchanged.

use super::drive::Drive;

/// The writes that a drive bears until its blocks reach their endurance, if the workload so far is repeated. Unit:
/// drive writes; one writes as many pages as the drive has logical ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lifetime {
    /// If all blocks wear alike: perfect wear levelling.
    pub drive_writes: f64,
    /// Until the most worn block reaches its endurance: wear as it was measured.
    pub drive_writes_to_first_block: f64,
}

impl Lifetime {
    /// Drive writes per day (DWPD) with which the drive lasts this many years, with perfect wear levelling.
    pub fn drive_writes_per_day(&self, years: f64) -> f64 {
        self.drive_writes / (years * DAYS_PER_YEAR)
    }

    /// Years that the drive lasts with this many drive writes per day, with perfect wear levelling.
    pub fn years(&self, drive_writes_per_day: f64) -> f64 {
        self.drive_writes / (drive_writes_per_day * DAYS_PER_YEAR)
    }
}

/// As warranties count: TBW = DWPD × capacity × 365 × years.
const DAYS_PER_YEAR: f64 = 365.0;

impl Drive {
    /// How long the drive lasts at `endurance_erases` per block, by its counters and wear so far; none if no block was erased.
    pub fn lifetime(&self, endurance_erases: u32) -> Option<Lifetime> {
        if !self.counters().collection_started() {
            return None;
        }
        let wear = self.wear();
        let written = self.counters().host_writes as f64 / self.capacity().logical_pages as f64;
        let repetitions = |erases: f64| f64::from(endurance_erases) / erases;
        Some(Lifetime {
            drive_writes: written * repetitions(wear.erases_mean()),
            drive_writes_to_first_block: written * repetitions(wear.erases_max().into()),
        })
    }
}
