//! What an operation costs on a storage device.
//!
//! A [`Device`] is a profile, read from TOML, with its options settled. It prices one page:
//! [`Device::page_cost`] gives exact times, energies and the write/read ratio. A [`RequestCost`] prices requests of several
//! pages, which are set up once. Built-in profiles are
//! the files of `profiles/`; a new file there is a new device.
//!
//! A flash drive with garbage collection is a [`flash::Drive`]; an [`Ssd`] is one that a file of `ssd-profiles/` or the
//! user's own describes. [`MemoryTiers`] are fast and slow memory, as a file of `tier-profiles/` describes them.
//!
//! This crate knows nothing of policies or traces.
//!
//! ```
//! use clockhand_device::Device;
//!
//! let device = Device::named_or_file("slc-nand")?;
//! let cost = device.page_cost(4096)?;
//! assert_eq!(cost.time_us(3, 2), 3.0 * 50.0 + 2.0 * 400.0);
//! # Ok::<(), clockhand_device::DeviceError>(())
//! ```

mod cost;
mod description;
mod device;
mod error;
mod exact;
pub mod flash;
mod measured;
mod profile;
mod request;
mod selection;
mod ssd;
mod ssd_mapping;
mod ssd_profile;
mod ssd_settings;
mod ssd_times;
mod tiers;

pub use cost::PageCost;
pub use device::{BuiltIn, Device, built_in};
pub use error::DeviceError;
pub use exact::Exact;
pub use request::{Joined, RequestCost};
pub use ssd::{Ssd, built_in_ssds};
pub use ssd_profile::{FlashTimes, NonVolatileMemory};
pub use tiers::{MemoryTiers, TierSoftware, TierSpeed, built_in_tiers};
