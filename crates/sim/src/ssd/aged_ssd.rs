//! Drives as they are aged before a trace runs.

use clockhand_quantity::{Text, option};
use std::ops::ControlFlow;
use std::sync::OnceLock;

use clockhand_device::flash::{Counters, Drive, Mapping, Precondition, Preconditioned, Separation};
use clockhand_device::{Exact, FlashTimes, Ssd};
use clockhand_policy::Ratio;
use num_traits::ToPrimitive;

use super::SsdExperiment;
use super::placement::Space;
use crate::error::SimError;
use crate::pricing::policy_ratio;
use crate::study::check_given;
use clockhand_trace::progress::{Phase, Progress};

/// Pages of a block as the papers' write buffers see it.
const BUFFER_BLOCK_PAGES: u32 = 64;

/// Stands for no write buffer.
const NO_BUFFER: &str = "none";

/// A policy's cost of a write over a read if the drive's profile states no times: the ratio of the SLC NAND
/// flash that the papers price.
const DEFAULT_COST_RATIO: u32 = 8;

/// A drive, aged when it is first needed; every cell begins with a copy.
pub(super) struct AgedSsd {
    /// As the user wrote it.
    pub(super) written: String,
    pub(super) ssd: Ssd,
    aged: OnceLock<(Drive, Preconditioned)>,
}

impl AgedSsd {
    pub(super) fn new(text: &str) -> Result<Self, SimError> {
        Ok(AgedSsd {
            written: text.to_owned(),
            ssd: Ssd::named_or_file(text)?,
            aged: OnceLock::new(),
        })
    }

    pub(super) fn space(&self) -> Space {
        let capacity = self.ssd.capacity();
        Space {
            logical_pages: capacity.logical_pages,
            page_bytes: capacity.page_bytes,
            pages_per_block: self.pages_per_block(),
            streams: match self.ssd.options().mapping.separation() {
                Separation::Stream(streams) => streams.into(),
                Separation::Off | Separation::Temperature { .. } => 1,
            },
            reads_rest: self.ssd.reads_rest(),
        }
    }

    /// Zones are written as the host says and begin empty.
    pub(super) fn check_zones(&self, experiment: &SsdExperiment) -> Result<(), SimError> {
        if !matches!(self.ssd.options().mapping, Mapping::Zoned(_)) {
            return Ok(());
        }
        if let Some(buffer) = experiment.buffers.iter().find(|buffer| buffer.written() != NO_BUFFER)
        {
            return Err(SimError::usage(
                format!(
                    "drive {} has zones, which a write buffer such as {} would write out of order",
                    self.written,
                    buffer.written()
                ),
                Text::from("give ") + option("buffer") + format!(" {NO_BUFFER}"),
            ));
        }
        if experiment.precondition != Precondition::None {
            return Err(SimError::usage(
                format!("drive {} has zones, which the host itself fills", self.written),
                Text::from("give ") + option("precondition") + " none",
            ));
        }
        Ok(())
    }

    /// The papers' 64, or less where the drive's own blocks are smaller.
    pub(super) fn pages_per_block(&self) -> u32 {
        let drive_block_pages = self.ssd.geometry().pages_per_block;
        match drive_block_pages.is_power_of_two() {
            true => drive_block_pages.min(BUFFER_BLOCK_PAGES),
            false => BUFFER_BLOCK_PAGES,
        }
    }

    pub(super) fn drive(
        &self,
        experiment: &SsdExperiment,
        progress: &Progress,
    ) -> Result<&(Drive, Preconditioned), SimError> {
        if let Some(aged) = self.aged.get() {
            return Ok(aged);
        }
        progress.enter(Phase::Preconditioning, 0);
        let mut drive = self.ssd.drive(experiment.seed);
        let done = drive.precondition(experiment.precondition, experiment.seed, |pages| {
            progress.set_done(pages);
            match progress.is_cancelled() {
                true => ControlFlow::Break(SimError::Interrupted),
                false => ControlFlow::Continue(()),
            }
        })?;
        Ok(self.aged.get_or_init(|| (drive, done)))
    }

    /// How long all operations of a drive take one after the other, if its profile states the times.
    pub(super) fn device_busy_us(&self, counters: &Counters) -> Option<f64> {
        let FlashTimes { read_us, program_us, erase_us } = self.ssd.times();
        // The times of an SLC region are others, and counts do not say which operations were there.
        if self.ssd.options().mapping.slc().is_some() {
            return None;
        }
        let operations = [
            (counters.flash_reads(), read_us?),
            (counters.flash_programs(), program_us?),
            (counters.erases, erase_us?),
        ];
        let exact = |count: u64| Exact::from_integer(count.into());
        let busy_us: Exact = operations.into_iter().map(|(count, us)| exact(count) * us).sum();
        busy_us.to_f64()
    }

    /// What a page write costs over a page read.
    pub(super) fn cost_ratio(&self) -> Result<Ratio, SimError> {
        let times = self.ssd.times();
        let (Some(read), Some(program)) = (times.read_us, times.program_us) else {
            return Ok(Ratio::whole(DEFAULT_COST_RATIO));
        };
        policy_ratio(&(program / read)).map_err(|_| {
            SimError::usage(
                format!(
                    "drive {}: its program time over its read time is unusable as a cost ratio",
                    self.written
                ),
                "change the times of the profile",
            )
        })
    }

    /// The drive, and what preconditioning did, if a cell needed it.
    pub(super) fn into_aged(self) -> Option<(Ssd, Preconditioned)> {
        self.aged.into_inner().map(|(_, done)| (self.ssd, done))
    }
}

/// Checks that each drive can be timed with each buffer.
pub(super) fn check_timing(experiment: &SsdExperiment, ssds: &[AgedSsd]) -> Result<(), SimError> {
    let Some(timing) = &experiment.timing else { return Ok(()) };
    check_given(&timing.arrivals, "kind of arrivals", option("arrivals") + " trace")?;
    let needs_nvm = experiment.buffers.iter().any(|buffer| buffer.entry().is_hybrid);
    ssds.iter().try_for_each(|ssd| Ok(ssd.ssd.time_options(needs_nvm).map(drop)?))
}
