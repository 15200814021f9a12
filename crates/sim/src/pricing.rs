//! Devices, and what they mean for pages of one size.

use clockhand_device::{Device, Exact, PageCost};
use clockhand_policy::{Ratio, RatioError};

use crate::error::SimError;

/// A device, and what it means for pages of one size.
pub(crate) struct Pricing {
    pub(crate) device: Device,
    pub(crate) page_cost: PageCost,
    /// The default of the policies' `c`.
    pub(crate) device_ratio: Ratio,
}

impl Pricing {
    pub(crate) fn new(device: &str, page_bytes: u64) -> Result<Self, SimError> {
        let named = Device::named_or_file(device)?;
        let page_cost = named.page_cost(page_bytes)?;
        let ratio = page_cost.write_read_ratio();
        let exact = Exact::new((*ratio.numer()).into(), (*ratio.denom()).into());
        let device_ratio = policy_ratio(&exact).map_err(|error| {
            SimError::usage(
                format!("device {device}: the write/read cost ratio is unusable: {error}"),
                "name another device",
            )
        })?;
        Ok(Pricing { device: named, page_cost, device_ratio })
    }
}

/// What a write costs over a read, as policies take it.
pub(crate) fn policy_ratio(ratio: &Exact) -> Result<Ratio, RatioError> {
    Ratio::new(*ratio.numer(), *ratio.denom())
}
