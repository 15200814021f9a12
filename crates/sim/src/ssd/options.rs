//! The options of `ssd`, as users write them, and the experiment that they make.

use clockhand_device::flash::Precondition;
use clockhand_policy::buffer::catalog::BufferSpec;

use super::{AddressMap, Repeat, SsdExperiment};
use crate::options::{Domain, options};
use crate::{SimError, TraceInput, parse_buffer};

options! {
    /// What `ssd` takes beside traces and threads.
    pub struct SsdOptions {
        /// NAME:total=SIZE[,parameter=value,...], the size in pages (4096), bytes (16MiB) or a share of the footprint (10%),
        /// with commas or a range (4MiB..64MiB) if there are several;
        /// give the option once per buffer. See: clockhand policies.
        buffer: Vec<String> = Domain::Names { of: "write_buffers" };
        /// NAME[:option=value,...] or FILE.toml; give the option once per drive. See: clockhand devices.
        ssd: Vec<String> = Domain::Names { of: "ssds" }, "dnv-textbook";
        /// How drives are aged: fill (written once, in order), random:N (and N drive writes of random overwrites), random (until
        /// steady), none.
        precondition: String = Domain::Text, "fill";
        /// original: a trace beyond the drive's end is refused; wrap: blocks modulo the drive's; compact: the blocks that the
        /// trace touches, one after the other.
        map: String = Domain::Text, "original";
        /// Write dirty pages when the trace ends.
        drain: bool = Domain::Flag;
        /// N or until-steady: run each trace so often, or until its write amplification no longer changes.
        repeat: String = Domain::Text, "1";
        /// Erases that a block endures, such as 3000; the profile's if not given.
        endurance: Option<u32> = Domain::Whole { least: 1, most: u32::MAX as u64 };
        /// Seed of ageing and of random victims, from 0.
        seed: u64 = Domain::Whole { least: 0, most: u64::MAX }, "0";
    }
}

impl SsdOptions {
    /// The write buffers.
    ///
    /// # Errors
    ///
    /// A sentence that names the buffer or its parameter.
    pub fn buffers(&self) -> Result<Vec<BufferSpec>, SimError> {
        self.buffer.iter().map(|text| parse_buffer(text)).collect()
    }

    /// The experiment.
    ///
    /// # Errors
    ///
    /// A sentence that names the option and what it takes.
    pub fn experiment(
        &self,
        traces: Vec<TraceInput>,
        jobs: Option<usize>,
    ) -> Result<SsdExperiment, SimError> {
        Ok(SsdExperiment {
            traces,
            buffers: self.buffers()?,
            ssds: self.ssd.clone(),
            precondition: self.precondition.parse::<Precondition>().map_err(SimError::Usage)?,
            map: self.map.parse::<AddressMap>()?,
            drain: self.drain,
            repeat: self.repeat.parse::<Repeat>()?,
            endurance_erases: self.endurance,
            seed: self.seed,
            jobs,
        })
    }
}
