//! The options of `ssd`, as users write them, and the experiment that they make.

use clockhand_device::flash::Precondition;
use clockhand_policy::buffer::catalog::BufferSpec;
use clockhand_quantity::{Text, option};

use super::{AddressMap, Repeat, SsdExperiment, SsdTiming};
use crate::contestant::parse_buffer;
use crate::error::SimError;
use crate::intervals::Intervals;
use crate::options::{Domain, options};
use clockhand_trace::TraceInput;

options! {
    /// Options of `ssd`, beside traces and threads.
    pub struct SsdOptions {
        /// NAME:total=SIZE[,parameter=value,...], the size in pages (4096), bytes (16MiB) or a share of the footprint (10%),
        /// with commas or a range (4MiB..64MiB) if there are several;
        /// give the option once per buffer. See: clockhand policies.
        ///
        /// Names with their size and parameters, such as ``"clock-dnv:total=16MiB,dram_share=0.1"``. ``total`` is in
        /// pages, bytes with a unit or a share of the trace's footprint (``"10%"``).
        buffer as "buffers", required: Vec<String> = Domain::Names { of: "write_buffers" };
        /// NAME[:option=value,...] or FILE.toml; give the option once per drive. See: clockhand devices.
        ///
        /// Drives with options, such as ``"dnv-textbook:size=8GiB"``, or TOML files.
        ssd as "ssds": Vec<String> = Domain::Names { of: "ssds" }, "dnv-textbook";
        /// Ageing of drives: fill (written once, in order), random:N (filled, then N drive writes of random
        /// overwrites), random (until steady), none.
        ///
        /// Ageing of drives: ``"fill"``, ``"random:N"`` (filled, then N drive writes), ``"random"`` (until steady) or
        /// ``"none"``.
        precondition: String = Domain::Text, "fill";
        /// Addresses beyond the drive's end. original: refuse the trace; wrap: take blocks modulo the drive's; compact:
        /// renumber the blocks that the trace touches.
        ///
        /// Where addresses beyond a drive's end go: ``"original"`` refuses them, ``"wrap"`` takes blocks modulo the
        /// drive's, ``"compact"`` numbers the touched blocks.
        map: String = Domain::Text, "original";
        /// Write dirty pages when the trace ends.
        drain: bool = Domain::Flag;
        /// Run each trace N times, or with until-steady until its write amplification no longer changes.
        ///
        /// Runs of each trace, one after the other. ``"until-steady"`` ends when the write amplification of a
        /// drive write differs by less than 1 % from that of the one before, after at most 100 of them. Counts are
        /// of all repetitions together.
        repeat: String = Domain::Number, "1";
        /// Erases that a block endures, such as 3000; the profile's if not given.
        endurance: Option<u32> = Domain::Whole { least: 1, most: u32::MAX as u64 };
        /// Time every operation: latencies, throughput and utilisation beside the counts.
        ///
        /// Time every operation: latencies, throughput and utilisation beside the counts. The drive's read, program
        /// and erase times are needed; ``buffers="none"`` is possible. ``arrivals``, ``clamp_times``, ``latencies``
        /// and ``every`` are of timed runs only.
        timed: bool = Domain::Flag;
        /// With --timed: trace (by its times), trace:SPEED, rate:X (X requests a second) or closed:Q (always Q in
        /// flight). Several with commas or a range (rate:10000..80000/7, in 7 steps) give a row each.
        ///
        /// Arrivals of requests: ``"trace"`` (at its times), ``"trace:SPEED"`` (SPEED times as fast), ``"rate:X"``
        /// (X a second) or ``"closed:Q"`` (always Q in flight). Several, or a range such as
        /// ``"rate:10000..80000/7"``, give a row each.
        arrivals: Vec<String> = Domain::Names { of: "arrivals" }, "trace";
        /// With --timed: raise a time that runs back to the one before it, instead of an error.
        ///
        /// Raise a time that runs back to the one before it, instead of an error.
        clamp_times: bool = Domain::Flag;
        /// With --timed: FILE.parquet or FILE.csv for a row per request, with what it waited for.
        ///
        /// A file, ``.parquet`` or ``.csv``, that gets a row per request with what it waited for.
        latencies: Option<String> = Domain::File;
        /// Write every page that the drive is asked for to this file: a trace, or FILE.iolog for fio.
        ///
        /// A file that gets every page that the buffer reads from and writes to the drive, in order, as a trace in the
        /// format of its ending (``.iolog`` for fio); of one trace, buffer and drive.
        io_log: Option<String> = Domain::File;
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
            precondition: self
                .precondition
                .parse::<Precondition>()
                .map_err(|sentence| SimError::Usage(sentence.into()))?,
            map: self.map.parse::<AddressMap>()?,
            drain: self.drain,
            repeat: self.repeat.parse::<Repeat>()?,
            endurance_erases: self.endurance,
            seed: self.seed,
            timing: self.timing()?,
            intervals: if self.timed { Intervals::default() } else { self.intervals()? },
            io_log: self.io_log.clone(),
            jobs,
        })
    }

    fn timing(&self) -> Result<Option<SsdTiming>, SimError> {
        if !self.timed {
            let given = [
                ("arrivals", self.arrivals != SsdOptions::default().arrivals),
                ("clamp-times", self.clamp_times),
                ("latencies", self.latencies.is_some()),
            ];
            return match given.into_iter().find(|(_, is_given)| *is_given) {
                Some((name, _)) => Err(SimError::usage(
                    option(name) + " is for runs in time",
                    Text::from("add ") + option("timed") + ", or leave " + option(name) + " out",
                )),
                None => Ok(None),
            };
        }
        if let Some(file) = &self.latencies
            && !file.ends_with(".parquet")
            && !file.ends_with(".csv")
        {
            return Err(SimError::usage(
                option("latencies") + format!(" {file:?} is no file of latencies"),
                "give a name that ends in .parquet or .csv",
            ));
        }
        if self.latencies.is_some() && self.arrivals.len() > 1 {
            return Err(SimError::usage(
                option("latencies")
                    + " would hold requests of several "
                    + option("arrivals")
                    + ", which its columns do not tell apart",
                "give one",
            ));
        }
        let window_ns = self.intervals()?.windows_ns()?;
        let written = |text: &String| Ok::<_, SimError>((text.clone(), text.parse()?));
        let arrivals = self.arrivals.iter().map(written).collect::<Result<Vec<_>, _>>()?;
        Ok(Some(SsdTiming {
            arrivals,
            clamps_times: self.clamp_times,
            window_ns,
            keeps_latencies: self.latencies.is_some(),
        }))
    }
}
