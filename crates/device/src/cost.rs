//! The cost of one page: how a profile prices it, and sums of it.

use num_bigint::BigInt;
use num_rational::{BigRational, Ratio};
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul, One, ToPrimitive, Zero};

use crate::exact::Exact;
use crate::profile::{Charging, Operation, Profile, Speed};
use crate::request::{Joined, RequestCost};

/// What reading or writing one page costs, exactly.
///
/// `None` means that the device's profile does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageCost {
    /// Time to read the page by itself, in µs.
    pub read_time_us: Exact,
    /// Time to write the page by itself, in µs; includes the erase where the device charges it.
    pub write_time_us: Exact,
    /// What the time of a read consists of.
    pub read: RequestCost,
    /// What the time of a write consists of.
    pub write: RequestCost,
    /// Energy to read the page, in µJ.
    pub read_energy_uj: Option<Exact>,
    /// Energy to write the page, in µJ; includes the erase where the device charges it.
    pub write_energy_uj: Option<Exact>,
    write_read_ratio: Ratio<u64>,
}

impl PageCost {
    /// `energies_uj` are (read, write). `None` if the write/read ratio is too long a fraction for 64-bit terms.
    fn new(
        read: RequestCost,
        write: RequestCost,
        energies_uj: (Option<Exact>, Option<Exact>),
    ) -> Option<Self> {
        let (read_time_us, write_time_us) = (read.of_one_page()?, write.of_one_page()?);
        let ratio = write_time_us.checked_div(&read_time_us)?;
        let write_read_ratio = Ratio::new(ratio.numer().to_u64()?, ratio.denom().to_u64()?);
        Some(PageCost {
            read_time_us,
            write_time_us,
            read,
            write,
            read_energy_uj: energies_uj.0,
            write_energy_uj: energies_uj.1,
            write_read_ratio,
        })
    }

    /// Cost of a page write over cost of a page read, in time: the papers' `c`.
    pub fn write_read_ratio(&self) -> Ratio<u64> {
        self.write_read_ratio
    }

    /// Time of this many page reads and writes, in µs, summed exactly and rounded once.
    pub fn time_us(&self, read_ios: u64, write_ios: u64) -> f64 {
        rounded_sum(&self.read_time_us, read_ios, &self.write_time_us, write_ios)
    }

    /// Time of requests on several devices, in µs, summed exactly and rounded once. Each part has the pages that were moved
    /// in one direction, and which of them shared requests.
    pub fn total_time_us(parts: &[(&RequestCost, u64, &Joined)]) -> f64 {
        let sum = parts.iter().map(|(cost, pages, joined)| cost.time_us(*pages, joined));
        let sum = sum.sum::<BigRational>();
        sum.to_f64().expect("a sum of I/O times is in the range of binary64")
    }

    /// Energy of reads and writes on several devices, in µJ, summed exactly and rounded once; `None` unless every device
    /// knows the energy of both.
    pub fn total_energy_uj(parts: &[(&PageCost, u64, u64)]) -> Option<f64> {
        let mut terms = Vec::new();
        for (cost, reads, writes) in parts {
            terms.push((cost.read_energy_uj.as_ref()?, *reads));
            terms.push((cost.write_energy_uj.as_ref()?, *writes));
        }
        Some(rounded_total(terms.into_iter()))
    }

    /// Time of this many shares of a page read, in µs, rounded once. A page read has as many shares as the
    /// denominator of [`write_read_ratio`](PageCost::write_read_ratio), a page write as many as its numerator.
    pub fn time_us_of_shares(&self, shares: u128) -> f64 {
        let read_time_us = &self.read_time_us;
        let numerator = BigInt::from(*read_time_us.numer()) * shares;
        let denominator = BigInt::from(*read_time_us.denom()) * *self.write_read_ratio.denom();
        let time_us = BigRational::new(numerator, denominator);
        time_us.to_f64().expect("a sum of I/O times is in the range of binary64")
    }

    /// Energy of this many page reads and writes, in µJ, summed exactly and rounded once; `None` unless
    /// the device knows the energy of both.
    pub fn energy_uj(&self, read_ios: u64, write_ios: u64) -> Option<f64> {
        let read_energy_uj = self.read_energy_uj.as_ref()?;
        let write_energy_uj = self.write_energy_uj.as_ref()?;
        Some(rounded_sum(read_energy_uj, read_ios, write_energy_uj, write_ios))
    }
}

/// `read × reads + write × writes`. Big integers where they are needed: 64-bit counts times 128-bit terms do not fit
/// 128 bits.
fn rounded_sum(read: &Exact, reads: u64, write: &Exact, writes: u64) -> f64 {
    short_sum(read, reads, write, writes)
        .unwrap_or_else(|| rounded_total([(read, reads), (write, writes)].into_iter()))
}

/// The sum where binary64 holds its numerator and its denominator exactly, so that their division rounds once; an exact
/// miss curve has a row for each page of a trace.
fn short_sum(read: &Exact, reads: u64, write: &Exact, writes: u64) -> Option<f64> {
    let term = |cost: &Exact, count: u64, other: &Exact| {
        u128::checked_mul(*cost.numer(), count.into())?.checked_mul(*other.denom())
    };
    let numerator = u128::checked_add(term(read, reads, write)?, term(write, writes, read)?)?;
    let denominator = u128::checked_mul(*read.denom(), *write.denom())?;
    let is_held = |term: u128| term <= 1 << f64::MANTISSA_DIGITS;
    (is_held(numerator) && is_held(denominator)).then(|| numerator as f64 / denominator as f64)
}

fn rounded_total<'a>(terms: impl Iterator<Item = (&'a Exact, u64)>) -> f64 {
    let term = |(cost, count): (&Exact, u64)| {
        BigRational::new(BigInt::from(*cost.numer()) * count, BigInt::from(*cost.denom()))
    };
    let sum = terms.map(term).sum::<BigRational>();
    sum.to_f64().expect("a sum below 2^193 is in the range of binary64")
}

/// Prices a page of at least one byte; `None` where an exact term does not fit its type.
pub(crate) fn page_cost(
    profile: &Profile,
    erase_charged: bool,
    ratio: &Exact,
    page_bytes: u64,
) -> Option<PageCost> {
    let units = units_per_page(profile, page_bytes);
    let half_rotation_time_us = half_rotation_time_us(profile)?;
    let request_cost = |operation: &Operation, erase_us: Exact| {
        let setup_us = operation.setup_time_us.checked_add(&half_rotation_time_us)?;
        Some(RequestCost {
            setup_us: setup_us.checked_mul(ratio)?,
            transfer_us: units_time_us(profile, operation, &units)?.checked_mul(ratio)?,
            erase_us: erase_us.checked_mul(ratio)?,
        })
    };
    let energy_uj = |operation: &Operation| match &operation.energy_uj {
        Some(energy) => energy.checked_mul(&units).map(Some),
        None => Some(None),
    };
    let mut erase_us = Exact::zero();
    let mut write_energy_uj = energy_uj(&profile.write)?;
    if let (Some(erase), true) = (&profile.erase, erase_charged) {
        let units_us = units_time_us(profile, erase, &units)?;
        erase_us = erase.setup_time_us.checked_add(&units_us)?;
        write_energy_uj = match (write_energy_uj, energy_uj(erase)?) {
            (Some(write), Some(erase)) => Some(write.checked_add(&erase)?),
            _ => None,
        };
    }
    let read = request_cost(&profile.read, Exact::zero())?;
    let write = request_cost(&profile.write, erase_us)?;
    PageCost::new(read, write, (energy_uj(&profile.read)?, write_energy_uj))
}

fn units_per_page(profile: &Profile, page_bytes: u64) -> Exact {
    match profile.charged {
        Charging::Unit => Exact::from_integer(page_bytes.div_ceil(profile.unit_bytes).into()),
        Charging::Byte => Exact::new(page_bytes.into(), profile.unit_bytes.into()),
        Charging::Page => Exact::one(),
    }
}

/// A sought sector is on average half a turn away: 30 s over the rotations per minute.
fn half_rotation_time_us(profile: &Profile) -> Option<Exact> {
    match &profile.rotations_per_minute {
        Some(rotations) => Exact::from_integer(30_000_000).checked_div(rotations),
        None => Some(Exact::zero()),
    }
}

/// The time of the units themselves, without what is spent before the first.
fn units_time_us(profile: &Profile, operation: &Operation, units: &Exact) -> Option<Exact> {
    let unit_time_us = match &operation.speed {
        Speed::TimeUs(time_us) => *time_us,
        Speed::Iops(iops) => Exact::from_integer(1_000_000).checked_div(iops)?,
        // A megabyte per second is a byte per microsecond.
        Speed::MegabytesPerSecond(rate) => {
            Exact::from_integer(profile.unit_bytes.into()).checked_div(rate)?
        }
    };
    unit_time_us.checked_mul(units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_sums_are_rounded_as_long_ones() {
        let mut number = 7_u64;
        let mut random = |bits: u32| {
            number = number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (number >> 20) >> (44 - bits)
        };
        let mut short = 0;
        for round in 0..20_000 {
            let (cost_bits, count_bits) = (1 + round % 20, 1 + round % 37);
            let mut cost = || Exact::new(random(cost_bits).into(), (random(cost_bits) + 1).into());
            let (read, write) = (cost(), cost());
            let (reads, writes) = (random(count_bits), random(count_bits));
            if let Some(sum) = short_sum(&read, reads, &write, writes) {
                short += 1;
                let exact = rounded_total([(&read, reads), (&write, writes)].into_iter());
                assert_eq!(sum, exact, "{read} x {reads} + {write} x {writes}");
            }
        }
        assert!((5_000..19_000).contains(&short), "both kinds were tried: {short}");
    }
}
