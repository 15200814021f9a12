//! Times and lives from counts: exact rationals, rounded once.

use clockhand_device::{Exact, MemoryTiers, PageCost, TierSpeed};
use clockhand_policy::Op;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};

use super::counts::TierCounts;

const NS_PER_US: u64 = 1000;
const SECONDS_PER_YEAR: u64 = 31_557_600;

/// What each operation costs at one page size, in ns.
#[derive(Clone, Debug)]
pub(crate) struct TierPrices {
    pub(crate) fast: [BigRational; 2],
    pub(crate) slow: [BigRational; 2],
    pub(crate) promotion: BigRational,
    pub(crate) demotion: BigRational,
    pub(crate) free_demotion: BigRational,
    hint_fault: BigRational,
    sample: BigRational,
    scan: BigRational,
    storage_fault: BigRational,
    storage_write: BigRational,
    page_bytes: u64,
    write_unit_bytes: u64,
    endurance_writes: Option<BigRational>,
    wear_leveling: BigRational,
}

/// The parts of the time of a replay, in ns.
#[derive(Clone, Debug)]
pub(crate) struct TierTimes {
    pub(crate) access: BigRational,
    pub(crate) migration: BigRational,
    pub(crate) overhead: BigRational,
    pub(crate) storage: BigRational,
}

/// What wears the slow tier.
#[derive(Clone, Debug)]
pub(crate) struct TierLife {
    pub(crate) slow_bytes_written: u64,
    pub(crate) traces: Option<BigRational>,
    pub(crate) traces_unleveled: Option<BigRational>,
    pub(crate) years: Option<BigRational>,
}

pub(crate) fn exact(value: &Exact) -> BigRational {
    BigRational::new((*value.numer()).into(), (*value.denom()).into())
}

fn whole(number: u64) -> BigRational {
    BigRational::from_integer(number.into())
}

/// The nearest binary64.
pub(crate) fn rounded(value: &BigRational) -> f64 {
    value.to_f64().expect("a finite fraction has a nearest number")
}

/// The time to copy a page at this number of bytes per ns.
fn copying(page_bytes: u64, gbps: &Exact) -> BigRational {
    whole(page_bytes) / exact(gbps)
}

impl TierPrices {
    /// Prices of tiers for pages of one size, with this storage below them.
    pub(crate) fn new(tiers: &MemoryTiers, storage: &PageCost, page_bytes: u64) -> Self {
        let latencies = |speed: &TierSpeed| [exact(&speed.read_ns), exact(&speed.write_ns)];
        let (fast, slow, software) = (&tiers.fast, &tiers.slow, &tiers.software);
        let of_us = |time: &Exact| {
            BigRational::new(BigInt::from(*time.numer()) * NS_PER_US, (*time.denom()).into())
        };
        let moved = |read: &Exact, written: &Exact| {
            copying(page_bytes, read) + copying(page_bytes, written) + exact(&software.migrate_ns)
        };
        TierPrices {
            fast: latencies(fast),
            slow: latencies(slow),
            promotion: moved(&slow.read_gbps, &fast.write_gbps),
            demotion: moved(&fast.read_gbps, &slow.write_gbps),
            free_demotion: exact(&software.remap_ns),
            hint_fault: exact(&software.hint_fault_ns),
            sample: exact(&software.sample_ns),
            scan: exact(&software.scan_ns),
            storage_fault: of_us(&storage.read_time_us) + exact(&software.fault_ns),
            storage_write: of_us(&storage.write_time_us),
            page_bytes,
            write_unit_bytes: tiers.write_unit_bytes,
            endurance_writes: tiers.endurance_writes.as_ref().map(exact),
            wear_leveling: exact(&tiers.wear_leveling),
        }
    }

    /// What an access costs more in the slow tier.
    pub(crate) fn gain(&self, op: Op) -> BigRational {
        &self.slow[op as usize] - &self.fast[op as usize]
    }

    pub(crate) fn times(&self, counts: &TierCounts, reads_first_touches: bool) -> TierTimes {
        let accesses = |numbers: &[u64; 2], costs: &[BigRational; 2]| {
            whole(numbers[0]) * &costs[0] + whole(numbers[1]) * &costs[1]
        };
        let copied = counts.demotions - counts.free_demotions;
        let from_storage =
            counts.storage_faults + if reads_first_touches { counts.first_touches } else { 0 };
        TierTimes {
            access: accesses(&counts.fast, &self.fast) + accesses(&counts.slow, &self.slow),
            migration: whole(counts.promotions) * &self.promotion
                + whole(copied) * &self.demotion
                + whole(counts.free_demotions) * &self.free_demotion,
            overhead: whole(counts.hint_faults) * &self.hint_fault
                + whole(counts.samples) * &self.sample
                + whole(counts.scanned_pages) * &self.scan,
            storage: whole(from_storage) * &self.storage_fault
                + whole(counts.storage_writes) * &self.storage_write,
        }
    }

    /// The life of the slow tier; `wear` has for each page its lines written and the times that it was written whole.
    pub(crate) fn life(
        &self,
        counts: &TierCounts,
        wear: &[[u32; 2]],
        slow_frames: Option<u32>,
        seconds: Option<&BigRational>,
    ) -> TierLife {
        let bytes =
            |lines: u64, pages: u64| lines * self.write_unit_bytes + pages * self.page_bytes;
        let slow_bytes_written = bytes(counts.slow[Op::Write as usize], counts.slow_entries);
        let of_page = |&[lines, pages]: &[u32; 2]| bytes(lines.into(), pages.into());
        let most = wear.iter().map(of_page).max().unwrap_or(0);
        let frames = slow_frames.unwrap_or(counts.slow_pages_peak);
        let endurance = self.endurance_writes.as_ref().filter(|_| slow_bytes_written > 0);
        let traces = endurance.map(|endurance| {
            endurance * whole(self.page_bytes) * whole(frames.into()) * &self.wear_leveling
                / whole(slow_bytes_written)
        });
        let years = |traces: &BigRational| {
            let seconds = seconds.filter(|seconds| !seconds.is_zero())?;
            Some(traces * seconds / whole(SECONDS_PER_YEAR))
        };
        TierLife {
            slow_bytes_written,
            years: traces.as_ref().and_then(years),
            traces,
            traces_unleveled: endurance
                .map(|endurance| endurance * whole(self.page_bytes) / whole(most)),
        }
    }
}

impl TierTimes {
    pub(crate) fn total(&self) -> BigRational {
        &self.access + &self.migration + &self.overhead + &self.storage
    }
}
