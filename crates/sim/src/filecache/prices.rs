//! What all devices of a study cost at all block sizes.

use clockhand_device::Device;
use clockhand_policy::Ratio;

use super::cost::{BlockCosts, FileCacheCosts};
use crate::error::SimError;
use crate::pricing::Pricing;

/// What all devices cost at all block sizes.
pub(super) struct Prices {
    pub(super) cache_device: Device,
    pub(super) devices: Vec<Device>,
    /// By block size.
    pub(super) at: Vec<PricesAt>,
}

/// What all devices cost at one block size.
pub(super) struct PricesAt {
    pub(super) block_bytes: u64,
    /// Each device with each reading of what inserting a block takes.
    pub(super) devices: Vec<PricedDevice>,
}

/// A device with a reading of what inserting a block takes.
pub(super) struct PricedDevice {
    /// As the user wrote it.
    pub(super) written: String,
    pub(super) resolved: String,
    /// The reading of what inserting a block takes.
    pub(super) insert: String,
    pub(super) costs: BlockCosts,
    /// The default of the policies' `c`.
    pub(super) ratio: Ratio,
}

impl Prices {
    pub(super) fn new(
        costs: &FileCacheCosts,
        devices: &[String],
        block_sizes_bytes: &[u64],
    ) -> Result<Self, SimError> {
        costs.check()?;
        let cache_device = Device::named_or_file(&costs.cache_device)?;
        let (mut resolved, mut at) = (Vec::new(), Vec::new());
        for &block_bytes in block_sizes_bytes {
            let mut priced = Vec::new();
            for written in devices {
                let Pricing { device, device_ratio, .. } = Pricing::new(written, block_bytes)?;
                for insert in &costs.inserts {
                    let costs =
                        BlockCosts::new(costs, insert, &cache_device, &device, block_bytes)?;
                    priced.push(PricedDevice {
                        written: written.clone(),
                        resolved: device.resolved(),
                        insert: insert.written(),
                        costs,
                        ratio: device_ratio,
                    });
                }
                if at.is_empty() {
                    resolved.push(device);
                }
            }
            at.push(PricesAt { block_bytes, devices: priced });
        }
        Ok(Prices { cache_device, devices: resolved, at })
    }

    /// Returns whether requests of several blocks cost less than one for each, on any device.
    pub(super) fn have_set_up(&self) -> bool {
        self.at.iter().flat_map(|at| &at.devices).any(|device| device.costs.have_set_up())
    }
}
