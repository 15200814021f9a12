//! What inserting a block takes: the SCM paper prints no number, and its readings differ.

use clockhand_device::{Device, Exact};
use clockhand_quantity::option;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::One;

use super::cost::rational;
use crate::error::SimError;

/// A reading of what inserting a block takes.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Insert {
    /// Half a hit, made so that storage as fast as memory needs the paper's two hits.
    Half,
    /// A hit: the block is copied to the cache, and a hit copies it from there.
    #[default]
    Copy,
    /// A read of storage that is as fast as memory, software included.
    Storage,
    /// A read of a device, as the user wrote it.
    Device(String),
    /// Nanoseconds.
    Ns(u64),
}

impl Insert {
    /// The readings of the paper's text; `all` means them.
    pub const READINGS: [&'static str; 3] = ["half", "copy", "storage"];
    /// The most nanoseconds: more are taken for a mistake.
    const NS_MAX: u64 = 1_000_000_000_000;

    /// Reads one of `--insert`.
    pub fn parse(text: &str) -> Self {
        match text {
            "half" => Insert::Half,
            "copy" => Insert::Copy,
            "storage" => Insert::Storage,
            device => Insert::Device(device.to_owned()),
        }
    }

    /// As rows name it.
    pub fn written(&self) -> String {
        match self {
            Insert::Half => "half".to_owned(),
            Insert::Copy => "copy".to_owned(),
            Insert::Storage => "storage".to_owned(),
            Insert::Device(device) => device.clone(),
            Insert::Ns(insert_ns) => format!("{insert_ns}ns"),
        }
    }

    /// The time of inserting a block in µs, if a hit takes `hit_us`.
    pub(super) fn time_us(
        &self,
        hit_us: &BigRational,
        stack_share: &Exact,
        block_bytes: u64,
    ) -> Result<BigRational, SimError> {
        Ok(match self {
            Insert::Half => hit_us / BigInt::from(2),
            Insert::Copy => hit_us.clone(),
            Insert::Storage => (rational(stack_share) + BigRational::one()) * hit_us,
            Insert::Device(device) => {
                let device = Device::named_or_file(device).map_err(|error| {
                    SimError::usage(
                        option("insert") + ": " + error.sentence().problem,
                        "give half, copy, storage, all, or a device",
                    )
                })?;
                rational(&device.page_cost(block_bytes)?.read_time_us)
            }
            Insert::Ns(insert_ns) => BigRational::new((*insert_ns).into(), 1000.into()),
        })
    }

    /// Refuses what is out of range.
    pub(super) fn check(&self) -> Result<(), SimError> {
        match self {
            Insert::Ns(insert_ns) if *insert_ns > Self::NS_MAX => Err(SimError::usage(
                option("insert-ns") + format!(" is above {}", Self::NS_MAX),
                "give the nanoseconds that inserting a block takes",
            )),
            _ => Ok(()),
        }
    }
}
