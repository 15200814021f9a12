//! Prices a file cache's references, and finds after how many hits caching a block has paid.
//!
//! Let t be the time of a hit, T that of a reference past the cache, and T_m that of a miss that enters it. One miss
//! and h hits cost T_m + h·t with a cache and (h + 1)·T without. Caching pays if h > (T_m − T) / (T − t).

use clockhand_device::{Device, Exact, RequestCost};
use clockhand_quantity::option;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive, Zero};

use super::asked::Asked;
use super::insert::Insert;
use crate::error::SimError;
use crate::replay::Counts;

/// What writes cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Writes {
    /// The same as reads, and a dirty block leaves at no cost: the paper's rule.
    #[default]
    Free,
    /// The device's write cost where a block is written to it.
    Cost,
}

impl Writes {
    /// As the command writes it.
    pub fn name(self) -> &'static str {
        match self {
            Writes::Free => "free",
            Writes::Cost => "cost",
        }
    }
}

/// What is charged beside the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCacheCosts {
    /// The cache device as the user wrote it; its read cost is the time of a hit.
    pub cache_device: String,
    /// The software stack's part of a reference to the device, in times of a hit.
    pub stack_share: Exact,
    /// What inserting a block takes: a row for each reading.
    pub inserts: Vec<Insert>,
    /// What writes cost.
    pub writes: Writes,
}

impl FileCacheCosts {
    /// DRAM as the paper takes it: 50 ns per 64 bytes.
    pub const CACHE_DEVICE: &'static str = "scm:ratio=1";
    /// The largest share of the software stack: more is taken for a mistake.
    const STACK_SHARE_MAX: u128 = 1_000_000;

    /// Refuses values out of range.
    pub(crate) fn check(&self) -> Result<(), SimError> {
        if self.stack_share > Exact::from_integer(Self::STACK_SHARE_MAX) {
            return Err(SimError::usage(
                option("stack-share") + format!(" is above {}", Self::STACK_SHARE_MAX),
                "give the software's part of a reference in times of a hit, such as 0.3",
            ));
        }
        self.inserts.iter().try_for_each(Insert::check)
    }
}

/// Reads `--stack-share`: a decimal number such as 0.3, or a fraction such as 3/10.
///
/// # Errors
///
/// A sentence that says what is accepted.
pub fn parse_stack_share(text: &str) -> Result<Exact, SimError> {
    let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
    let parts = decimal(numerator).zip(decimal(denominator)).filter(|(_, below)| !below.is_zero());
    parts.map(|(above, below)| above / below).ok_or_else(|| {
        SimError::usage(
            option("stack-share") + format!(" {text:?} is not a share"),
            "give a number from 0, such as 0.3 or 3/10, with at most 9 digits before and after the point",
        )
    })
}

fn decimal(text: &str) -> Option<Exact> {
    const DIGITS_MAX: usize = 9;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = [whole, fraction].iter().all(|part| {
        (1..=DIGITS_MAX).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    });
    let numerator = is_number.then(|| format!("{whole}{fraction}").parse().ok()).flatten()?;
    Some(Exact::new(numerator, 10_u128.pow(fraction.len() as u32)))
}

/// What each kind of reference to a block costs on one device, exactly and in µs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockCosts {
    /// t: the block is in the cache.
    pub hit_us: BigRational,
    /// T: the block is read past the cache.
    pub bypass_us: BigRational,
    /// T_m: the block is read and enters the cache.
    pub admit_us: BigRational,
    /// W: the block is written to the device.
    pub write_us: BigRational,
    writes: Writes,
    /// What the device's part of T consists of.
    read: RequestCost,
    /// What W consists of.
    write: RequestCost,
}

impl BlockCosts {
    /// The costs of blocks of `block_bytes` on `device`, with one reading of what inserting a block takes.
    pub(crate) fn new(
        costs: &FileCacheCosts,
        insert: &Insert,
        cache: &Device,
        device: &Device,
        block_bytes: u64,
    ) -> Result<Self, SimError> {
        let hit_us = rational(&cache.page_cost(block_bytes)?.read_time_us);
        let on_device = device.page_cost(block_bytes)?;
        let bypass_us = rational(&on_device.read_time_us) + rational(&costs.stack_share) * &hit_us;
        let insert_us = insert.time_us(&hit_us, &costs.stack_share, block_bytes)?;
        Ok(BlockCosts {
            admit_us: &bypass_us + insert_us,
            write_us: rational(&on_device.write_time_us),
            hit_us,
            bypass_us,
            writes: costs.writes,
            read: on_device.read,
            write: on_device.write,
        })
    }

    /// Returns whether a request of several blocks costs less than one for each.
    pub(super) fn have_set_up(&self) -> bool {
        let writes = self.writes == Writes::Cost && !self.write.setup_us.is_zero();
        writes || !self.read.setup_us.is_zero()
    }

    /// What writes cost.
    pub(super) fn writes(&self) -> Writes {
        self.writes
    }

    /// What inserting a block takes, in µs.
    pub(super) fn insert_us(&self) -> BigRational {
        &self.admit_us - &self.bypass_us
    }

    /// The time of all references with the cache, in µs; `asked` says which misses shared a request.
    pub(super) fn time_us(&self, hits: u64, counts: &Counts, asked: &Asked) -> BigRational {
        let bypassed = counts.bypassed_reads + counts.bypassed_writes;
        let admitted = counts.read_misses + counts.write_misses;
        let cached = &self.hit_us * BigInt::from(hits) + &self.admit_us * BigInt::from(admitted);
        let one_each = cached
            + match self.writes {
                Writes::Free => &self.bypass_us * BigInt::from(bypassed),
                Writes::Cost => {
                    let written = counts.bypassed_writes + counts.write_ios();
                    &self.bypass_us * BigInt::from(counts.bypassed_reads)
                        + &self.write_us * BigInt::from(written)
                }
            };
        one_each - self.read.saved_us(&asked.read) - self.write.saved_us(&asked.written)
    }

    /// The time of all references without a cache, in µs: all blocks of a record are one request.
    pub(super) fn time_without_cache_us(
        &self,
        (reads, writes): (u64, u64),
        asked: &Asked,
    ) -> BigRational {
        let nothing =
            Counts { bypassed_reads: reads, bypassed_writes: writes, ..Counts::default() };
        self.time_us(0, &nothing, asked)
    }

    /// T*: no miss costs less, where a record has at most `most_blocks` blocks.
    pub(super) fn cheapest_miss_us(&self, most_blocks: u64) -> BigRational {
        let setup_us = rational(&self.read.setup_us);
        &self.bypass_us - &setup_us + setup_us / BigInt::from(most_blocks)
    }

    /// The fewest hits for which caching a block pays; `None` if it never does.
    pub fn required_hits(&self) -> Option<u64> {
        let gain_us = &self.bypass_us - &self.hit_us;
        if gain_us <= BigRational::zero() {
            return None;
        }
        let level = (&self.admit_us - &self.bypass_us) / gain_us;
        (level.floor() + BigRational::one()).to_integer().to_u64()
    }
}

/// The nearest number in binary64.
pub(super) fn rounded(time_us: &BigRational) -> f64 {
    time_us.to_f64().expect("times are in the range of binary64")
}

pub(super) fn rational(value: &Exact) -> BigRational {
    BigRational::new((*value.numer()).into(), (*value.denom()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(stack_share: &str) -> FileCacheCosts {
        FileCacheCosts {
            cache_device: FileCacheCosts::CACHE_DEVICE.to_owned(),
            stack_share: parse_stack_share(stack_share).unwrap(),
            inserts: vec![Insert::default()],
            writes: Writes::Free,
        }
    }

    fn required(device: &str, stack_share: &str, insert: &Insert) -> Option<u64> {
        let cache = Device::named_or_file(FileCacheCosts::CACHE_DEVICE).unwrap();
        let device = Device::named_or_file(device).unwrap();
        let costs = costs(stack_share);
        BlockCosts::new(&costs, insert, &cache, &device, 4096).unwrap().required_hits()
    }

    #[test]
    fn the_readings_of_an_insertion_give_two_four_or_five_hits_for_scm() {
        let of = |device: &str| {
            Insert::READINGS.map(|reading| required(device, "0.3", &Insert::parse(reading)))
        };
        // t = 3.2 µs, T = 1.3 t: h > I / 0.3.
        assert_eq!(of("scm:ratio=1"), [Some(2), Some(4), Some(5)]);
        assert_eq!(of("scm:ratio=2"), [Some(1), Some(1), Some(2)]);
        for device in ["scm:ratio=2.1", "scm:ratio=10", "slc-nand", "hdd"] {
            assert_eq!(of(device), [Some(1); 3], "{device}");
        }
        // A copy that takes a read of a device: 32 µs are ten hits.
        assert_eq!(required("scm:ratio=1", "0.3", &Insert::parse("scm")), Some(34));
        let error = Insert::parse("thrice").time_us(&BigRational::one(), &Exact::zero(), 4096);
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("--insert:") && error.contains("'thrice'"), "{error}");
    }

    #[test]
    fn the_inequality_is_strict() {
        // An insertion of 0.3 t = 960 ns: h > 1; a nanosecond less: h > 0.999.
        assert_eq!(required("scm:ratio=1", "0.3", &Insert::Ns(960)), Some(2));
        assert_eq!(required("scm:ratio=1", "0.3", &Insert::Ns(959)), Some(1));
        // 0.6 t: h > 2.
        assert_eq!(required("scm:ratio=1", "0.3", &Insert::Ns(1920)), Some(3));
        // Ratio 10: T = 10.3 t, so that 9.3 t = 29760 ns is level 1.
        assert_eq!(required("scm:ratio=10", "0.3", &Insert::Ns(29_760)), Some(2));
        assert_eq!(required("scm:ratio=10", "0.3", &Insert::Ns(29_759)), Some(1));
        assert_eq!(required("scm:ratio=10", "0.3", &Insert::Ns(0)), Some(1));
    }

    #[test]
    fn where_the_device_is_as_fast_as_the_cache_caching_never_pays() {
        assert_eq!(required("scm:ratio=1", "0", &Insert::Half), None);
        // h > 0.5 / 0.001
        assert_eq!(required("scm:ratio=1", "0.001", &Insert::Half), Some(501));
    }

    #[test]
    fn shares_are_exact_and_bounded() {
        assert_eq!(parse_stack_share("0.3").unwrap(), Exact::new(3, 10));
        assert_eq!(parse_stack_share("1/3").unwrap(), Exact::new(1, 3));
        assert_eq!(parse_stack_share("0").unwrap(), Exact::zero());
        for text in ["", "-1", "1/0", "nan", ".5", "1e3", "1.0000000000", "1/2/3"] {
            let error = parse_stack_share(text).unwrap_err().to_string();
            assert!(error.starts_with("--stack-share"), "{text}: {error}");
        }
        assert!(costs("999999999").check().is_err());
        let large = FileCacheCosts { inserts: vec![Insert::Ns(u64::MAX)], ..costs("0.3") };
        assert!(large.check().is_err());
    }
}
