//! Times from counts: exact rationals, rounded once.

use clockhand_device::{Device, Exact, PageCost};
use clockhand_policy::Ratio;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::ToPrimitive;

use super::paging::PagingCounts;
use super::translator::TranslationCounts;

/// Bytes that memory moves in one access.
const MEMORY_UNIT_BYTES: u64 = 64;
const NS_PER_US: u64 = 1000;

/// What accesses take, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TranslationTimes {
    /// A look-up in the first level of the TLB.
    pub tlb_ns: Ratio,
    /// A look-up in the second level.
    pub tlb2_ns: Ratio,
    /// A memory access of 64 bytes: a page-table read, or the reference itself.
    pub memory_ns: Ratio,
    /// What software adds to a page fault, whatever it reads.
    pub fixed_ns: Ratio,
}

impl Default for TranslationTimes {
    fn default() -> Self {
        TranslationTimes {
            tlb_ns: Ratio::whole(1),
            tlb2_ns: Ratio::whole(7),
            memory_ns: Ratio::whole(50),
            fixed_ns: Ratio::whole(0),
        }
    }
}

/// The storage of pages that are not in memory.
#[derive(Clone, Debug)]
pub enum Storage {
    /// This many times slower than memory, linear in bytes, reads and writes alike.
    Ratio(Ratio),
    /// A device, as the user wrote it.
    Device(String),
}

/// Storage with what moving one page costs.
#[derive(Clone, Debug)]
pub(super) struct PricedStorage {
    pub(super) storage: Storage,
    pub(super) device: Option<(Device, PageCost)>,
    /// The default of the policies' `c`.
    pub(super) device_ratio: Ratio,
    /// Reading a page by itself, without software.
    read_ns: BigRational,
    write_ns: BigRational,
    fixed_ns: BigRational,
}

/// Mean times per reference, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MeanTimes {
    pub(super) address_ns: f64,
    pub(super) data_ns: f64,
    pub(super) total_ns: f64,
}

fn exact(ratio: Ratio) -> BigRational {
    BigRational::new(ratio.numerator().into(), ratio.denominator().into())
}

fn whole(number: u64) -> BigRational {
    BigRational::from_integer(number.into())
}

fn of_us(time_us: &Exact) -> BigRational {
    BigRational::new(BigInt::from(*time_us.numer()) * NS_PER_US, (*time_us.denom()).into())
}

impl PricedStorage {
    /// Storage that is `ratio` times slower than memory, without a set-up; a write of a page takes what a fault of one
    /// takes.
    pub(super) fn of_ratio(ratio: Ratio, times: &TranslationTimes, page_bytes: u64) -> Self {
        let units = BigRational::new(page_bytes.into(), MEMORY_UNIT_BYTES.into());
        let read_ns = exact(ratio) * exact(times.memory_ns) * units;
        PricedStorage {
            storage: Storage::Ratio(ratio),
            device: None,
            device_ratio: Ratio::whole(1),
            write_ns: &read_ns + exact(times.fixed_ns),
            read_ns,
            fixed_ns: exact(times.fixed_ns),
        }
    }

    /// A device whose pages cost `cost`.
    pub(super) fn of_device(
        written: &str,
        device: Device,
        cost: PageCost,
        device_ratio: Ratio,
        times: &TranslationTimes,
    ) -> Self {
        PricedStorage {
            storage: Storage::Device(written.to_owned()),
            device_ratio,
            read_ns: of_us(&cost.read_time_us),
            write_ns: of_us(&cost.write_time_us),
            fixed_ns: exact(times.fixed_ns),
            device: Some((device, cost)),
        }
    }

    /// The time of moving pages in all, in nanoseconds. All that one reference reads is one request.
    pub(super) fn moving_ns(&self, paging: &PagingCounts, charge_write_back: bool) -> BigRational {
        let pages_read = paging.page_faults + paging.prefetched + paging.promotion_fetches;
        let reading_ns = match &self.device {
            None => whole(pages_read) * &self.read_ns,
            Some((_, cost)) => cost.read.time_us(pages_read, &paging.joined) * whole(NS_PER_US),
        };
        let charged = if charge_write_back { paging.write_ios } else { 0 };
        whole(paging.page_faults) * &self.fixed_ns + reading_ns + whole(charged) * &self.write_ns
    }
}

/// Mean times of a cell; `None` without references.
pub(super) fn mean_times(
    references: u64,
    paging: &PagingCounts,
    translation: (&TranslationCounts, bool),
    times: &TranslationTimes,
    storage: (&PricedStorage, bool),
) -> Option<MeanTimes> {
    if references == 0 {
        return None;
    }
    let (address_ns, data_ns) = exact_times(references, paging, translation, times, storage);
    let rounded = |time: &BigRational| time.to_f64().expect("a time is in the range of binary64");
    Some(MeanTimes {
        address_ns: rounded(&address_ns),
        data_ns: rounded(&data_ns),
        total_ns: rounded(&(&address_ns + &data_ns)),
    })
}

/// T_ADDR and T_DATA of at least one reference. A second level costs its look-ups, one for each miss of the first.
pub(super) fn exact_times(
    references: u64,
    paging: &PagingCounts,
    (translation, has_second): (&TranslationCounts, bool),
    times: &TranslationTimes,
    (storage, charge_write_back): (&PricedStorage, bool),
) -> (BigRational, BigRational) {
    let second_look_ups = if has_second { translation.tlb_misses } else { 0 };
    let memory_ns = exact(times.memory_ns);
    let walking = whole(second_look_ups) * exact(times.tlb2_ns)
        + whole(translation.walk_accesses) * &memory_ns;
    let address_ns = exact(times.tlb_ns) + walking / whole(references);
    let data_ns = memory_ns + storage.moving_ns(paging, charge_write_back) / whole(references);
    (address_ns, data_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_references_there_is_no_mean() {
        let times = TranslationTimes::default();
        let storage = PricedStorage::of_ratio(Ratio::whole(10), &times, 4096);
        let (paging, translation) = (PagingCounts::default(), TranslationCounts::default());
        let mean = |references| {
            mean_times(references, &paging, (&translation, true), &times, (&storage, true))
        };
        assert_eq!(mean(0), None);
        assert_eq!(mean(1), Some(MeanTimes { address_ns: 1.0, data_ns: 50.0, total_ns: 51.0 }));
    }
}
