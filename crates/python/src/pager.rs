//! `run`: paged memory for programs, and its statistics.

mod reference_log;

use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clockhand_pager::store::{CompressedRam, DEFAULT_LEVEL, EmulatedDevice, SwapFile};
use clockhand_pager::{
    Bits, Counts, EventLog, PagedProcess, Predictor, PredictorSet, SOCKET_VARIABLE, Server,
    Settings, Swap, obstacle,
};
use clockhand_policy::Ratio;
use clockhand_sim::{Contestant, choose};
use pyo3::prelude::*;
use pythonize::pythonize;
use serde::Serialize;

use crate::errors::{ClockhandError, UsageError, exception};
use reference_log::ReferenceLog;

/// The library that programs are given, beside this module.
const PRELOADED_LIBRARY: &str = "libclockhand_preload.so";

/// For how long a swap file that fails is asked again.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why this machine does not let programs be paged, or `None`.
#[pyfunction]
pub(crate) fn pager_obstacle() -> Option<String> {
    obstacle()
}

/// What a process's pager counted, and where its time went.
#[derive(Serialize)]
struct ProcessFacts {
    process: i32,
    name: String,
    forked: bool,
    running: bool,
    failure: Option<String>,
    device_reads: Option<String>,
    unpaged_bytes: u64,
    policy_resolved: String,
    frames: u32,
    reserve: u32,
    read_ahead: u32,
    bits: &'static str,
    seconds: f64,
    #[serde(flatten)]
    counts: Counts,
    read_wait_us: f64,
    write_wait_us: f64,
    service_us: f64,
    fault_us_p50: f64,
    fault_us_p90: f64,
    fault_us_p99: f64,
    gauges: std::collections::BTreeMap<&'static str, f64>,
    swap_bytes: u64,
}

fn microseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

impl ProcessFacts {
    fn new(process: PagedProcess, settings: &Settings) -> Self {
        let progress = process.progress;
        let times = progress.times;
        let quantile = |share| times.fault_ns.value_at_quantile(share) as f64 / 1e3;
        ProcessFacts {
            process: process.process,
            name: process.name,
            forked: process.is_fork,
            running: !progress.has_ended,
            failure: progress.failure,
            device_reads: process.device_reads,
            unpaged_bytes: process.unpaged_bytes,
            policy_resolved: settings.policy.to_string(),
            frames: settings.frames,
            reserve: settings.reserve,
            read_ahead: settings.read_ahead,
            bits: process.bits.word(),
            seconds: process.lifetime.as_secs_f64(),
            counts: progress.counts,
            read_wait_us: microseconds(times.read_wait),
            write_wait_us: microseconds(times.write_wait),
            service_us: microseconds(times.service),
            fault_us_p50: quantile(0.5),
            fault_us_p90: quantile(0.9),
            fault_us_p99: quantile(0.99),
            gauges: progress.gauges.into_iter().collect(),
            swap_bytes: progress.occupied_bytes,
        }
    }
}

/// A server of paged memories; one memory per process that runs under it.
#[pyclass(module = "clockhand._engine")]
pub(crate) struct Pager {
    server: Option<Server>,
    settings: Settings,
    library: PathBuf,
    is_direct: bool,
}

#[pymethods]
impl Pager {
    #[new]
    #[pyo3(signature = (
        policy, *, frames, reserve, read_ahead, predictors, bits, swap, swap_limit_bytes, memory_bytes, write_read_ratio,
        record, seed, emulated_us=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "these are the options of one command")]
    fn new(
        py: Python<'_>,
        policy: &str,
        frames: u32,
        reserve: u32,
        read_ahead: u32,
        predictors: Option<Vec<String>>,
        bits: &str,
        swap: Option<PathBuf>,
        swap_limit_bytes: Option<u64>,
        memory_bytes: u64,
        write_read_ratio: Option<&str>,
        record: Option<PathBuf>,
        seed: u64,
        emulated_us: Option<(f64, f64)>,
    ) -> PyResult<Self> {
        let bits = choose("bits", bits, Bits::WORDS).map_err(exception)?;
        let settings = settings(policy, [frames, reserve, read_ahead], write_read_ratio, seed)?;
        let settings = Settings { bits, predictors: chosen(predictors)?, ..settings };
        let library = library(py)?;
        let failed = |sentence: String| ClockhandError::new_err(sentence);
        let mut is_direct = true;
        let swap = match swap {
            Some(path) => {
                let file = SwapFile::open(&path, swap_limit_bytes);
                let file = file.map_err(|error| failed(error.to_string()))?;
                is_direct = file.is_direct();
                Swap::File(file)
            }
            None => {
                let ram = CompressedRam::new(DEFAULT_LEVEL, swap_limit_bytes);
                let ram = ram.map_err(|error| failed(error.to_string()))?;
                match emulated_us {
                    Some((read_us, write_us)) => {
                        let (read, write) = (emulated(read_us)?, emulated(write_us)?);
                        Swap::Emulated(ram, EmulatedDevice::new(read, write))
                    }
                    None => Swap::Ram(ram),
                }
            }
        };
        let log = record.map(|path| ReferenceLog::create(&path, &[]));
        let log = log.transpose().map_err(exception)?.map(|log| Box::new(log) as Box<dyn EventLog>);
        let server = Server::start(settings.clone(), memory_bytes, swap, log).map_err(failed)?;
        Ok(Pager { server: Some(server), settings, library, is_direct })
    }

    /// The descriptor that a program must inherit, under the same number, to be given memory.
    fn inherited_socket(&self) -> PyResult<i32> {
        Ok(self.server()?.inherited_socket().as_raw_fd())
    }

    /// Variables that a program needs in its environment to be given memory.
    fn environment(&self) -> PyResult<Vec<(&'static str, String)>> {
        let address = self.server()?.address().to_owned();
        Ok(vec![(SOCKET_VARIABLE, address), ("LD_PRELOAD", self.library.display().to_string())])
    }

    /// Returns whether the swap file is read and written past the page cache.
    fn is_direct(&self) -> bool {
        self.is_direct
    }

    /// What has been counted until now, for each process.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.facts(self.server()?.processes()))?)
    }

    /// Waits until all processes have ended, completes the trace, and gives the final counts. Interrupted, it ends the
    /// processes that are left.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let server = self.server.take().ok_or_else(has_finished)?;
        let mut interruption = None;
        let mut is_cancelled = || {
            if interruption.is_none() {
                interruption = Python::attach(|py| py.check_signals()).err();
            }
            interruption.is_some()
        };
        let processes = py.detach(|| server.finish(&mut is_cancelled));
        let processes = processes.map_err(ClockhandError::new_err)?;
        match interruption {
            Some(interruption) => Err(interruption),
            None => Ok(pythonize(py, &self.facts(processes))?),
        }
    }
}

impl Pager {
    fn server(&self) -> PyResult<&Server> {
        self.server.as_ref().ok_or_else(has_finished)
    }

    fn facts(&self, processes: Vec<PagedProcess>) -> Vec<ProcessFacts> {
        processes.into_iter().map(|process| ProcessFacts::new(process, &self.settings)).collect()
    }
}

fn has_finished() -> PyErr {
    ClockhandError::new_err("the pager has finished; start another one")
}

/// The predictors of these names; all without a list.
fn chosen(names: Option<Vec<String>>) -> PyResult<PredictorSet> {
    let Some(names) = names else { return Ok(PredictorSet::ALL) };
    let named = |name: &String| choose("--read-ahead", name, Predictor::NAMES).map_err(exception);
    names.iter().map(named).collect()
}

fn settings(
    policy: &str,
    [frames, reserve, read_ahead]: [u32; 3],
    write_read_ratio: Option<&str>,
    seed: u64,
) -> PyResult<Settings> {
    let Contestant::Policy(spec) = Contestant::parse(policy).map_err(exception)? else {
        return Err(UsageError::new_err((
            "bound is no policy",
            "choose one such as clock, cfclock or craw",
        )));
    };
    if spec.entry().own.is_some_and(|make| !make.can_page()) {
        return Err(UsageError::new_err((
            format!("policy {policy} is written in Python, which pages no real memory"),
            "choose one such as clock, cfclock or craw",
        )));
    }
    let ratio: Ratio =
        write_read_ratio.map_or(Ok(Ratio::whole(8)), str::parse).map_err(|error| {
            UsageError::new_err(format!("the write/read ratio {write_read_ratio:?}: {error}"))
        })?;
    let refused = |sentence: String| UsageError::new_err(sentence);
    let policy_frames = frames.saturating_sub(reserve).saturating_sub(read_ahead).max(1);
    let policy = spec
        .with_seed(seed)
        .resolve(policy_frames, ratio)
        .map_err(|error| refused(error.to_string()))?;
    let (bits, patience) = (Bits::default(), PATIENCE);
    let settings = Settings {
        policy,
        frames,
        reserve,
        read_ahead,
        predictors: PredictorSet::ALL,
        bits,
        patience,
    };
    settings.check().map_err(refused)?;
    Ok(settings)
}

/// The longest time for a page that is emulated; a faulting program waits for it.
const LONGEST_EMULATED_US: f64 = 1e6;

fn emulated(time_us: f64) -> PyResult<Duration> {
    if !(0.0..=LONGEST_EMULATED_US).contains(&time_us) {
        return Err(UsageError::new_err((
            format!("a device that takes {time_us} µs for a page is not emulated"),
            "take one of a second at most",
        )));
    }
    Ok(Duration::from_secs_f64(time_us / 1e6))
}

/// Where the preloaded library is.
fn library(py: Python<'_>) -> PyResult<PathBuf> {
    let module: PathBuf = py.import("clockhand._engine")?.getattr("__file__")?.extract()?;
    let library = module.parent().unwrap_or(Path::new("/")).join(PRELOADED_LIBRARY);
    if library.exists() {
        return Ok(library);
    }
    let sentence = format!("{} is missing; build it with: make setup", library.display());
    Err(ClockhandError::new_err(sentence))
}
