//! Repeats a trace on a drive, and finds whether the drive has become steady.
//!
//! A run that writes little reflects how the drive was aged and not the trace. So its writes are divided into
//! *windows* of a drive write or a little more: it is steady once the write amplification of a window differs by less
//! than 1 % from that of the previous window. In a run that repeats the trace, windows are whole repetitions, so that
//! the phases of a trace are not taken for unsteadiness.

use clockhand_quantity::option;
use std::fmt;
use std::str::FromStr;

use clockhand_device::flash::Counters;

use crate::error::SimError;

/// A window's write amplification that differs by less from the one before is steady.
const STEADY_CHANGE: f64 = 0.01;
/// After this many windows a run until steady gives up, as preconditioning does.
const MOST_WINDOWS: u32 = 100;
const MOST_REPETITIONS: u32 = 1_000_000;

/// The number of runs of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// This many times.
    Times(u32),
    /// Until two windows are alike, but at most 100 windows.
    UntilSteady,
}

impl Default for Repeat {
    fn default() -> Self {
        Repeat::Times(1)
    }
}

impl FromStr for Repeat {
    type Err = SimError;

    fn from_str(text: &str) -> Result<Repeat, SimError> {
        if text == "until-steady" {
            return Ok(Repeat::UntilSteady);
        }
        let times = text.parse().ok().filter(|times| (1..=MOST_REPETITIONS).contains(times));
        times.map(Repeat::Times).ok_or_else(|| {
            SimError::usage(
                option("repeat") + format!(" {text:?} is no number of repetitions"),
                format!("give 1 to {MOST_REPETITIONS}, or until-steady"),
            )
        })
    }
}

impl fmt::Display for Repeat {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Repeat::Times(times) => write!(formatter, "{times}"),
            Repeat::UntilSteady => formatter.write_str("until-steady"),
        }
    }
}

/// A window that was looked at.
#[derive(Clone, Copy, Debug)]
struct Window {
    write_amplification: f64,
    erases: u64,
    repetitions: u32,
}

/// The work of a steady run in each repetition of its trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Steady {
    pub(super) write_amplification: f64,
    pub(super) erases_per_repetition: f64,
}

/// The windows of a run.
pub(super) struct Course {
    repeat: Repeat,
    /// Pages of a drive write.
    logical_pages: u64,
    /// The counters when the window began.
    began: (u64, u64, u64),
    repetitions: u32,
    repetitions_before: u32,
    /// Windows inside the only repetition.
    windows: u32,
    last: Option<Window>,
    is_steady: bool,
    /// Host writes when the last repetition ended.
    written: u64,
    is_idle: bool,
}

impl Course {
    pub(super) fn new(repeat: Repeat, logical_pages: u64) -> Self {
        Course {
            repeat,
            logical_pages,
            began: (0, 0, 0),
            repetitions: 0,
            repetitions_before: 0,
            windows: 0,
            last: None,
            is_steady: false,
            written: 0,
            is_idle: false,
        }
    }

    /// After each request: whether a window inside the only repetition is over after this many host writes.
    #[inline]
    pub(super) fn is_window_over(&self, host_writes: u64) -> bool {
        self.repeat == Repeat::Times(1) && host_writes - self.began.0 >= self.logical_pages
    }

    /// Ends a window inside the only repetition.
    pub(super) fn end_window_inside(&mut self, counters: &Counters) {
        self.end_window(counters, 1);
    }

    /// After each repetition: whether another one is to follow.
    pub(super) fn continues(&mut self, counters: &Counters) -> bool {
        self.repetitions += 1;
        self.is_idle = counters.host_writes == self.written;
        self.written = counters.host_writes;
        if self.repeat != Repeat::Times(1)
            && counters.host_writes - self.began.0 >= self.logical_pages
        {
            let repetitions = self.repetitions - self.repetitions_before;
            self.repetitions_before = self.repetitions;
            self.end_window(counters, repetitions);
        }
        match self.repeat {
            Repeat::Times(times) => self.repetitions < times,
            Repeat::UntilSteady => {
                !self.is_steady
                    && !self.is_idle
                    && self.windows < MOST_WINDOWS
                    && self.repetitions < MOST_REPETITIONS
            }
        }
    }

    fn end_window(&mut self, counters: &Counters, repetitions: u32) {
        let now = (counters.host_writes, counters.flash_programs(), counters.erases);
        let (host, programs) = (now.0 - self.began.0, now.1 - self.began.1);
        let write_amplification = programs as f64 / host as f64;
        let erases = now.2 - self.began.2;
        self.is_steady = self.last.is_some_and(|last| {
            (write_amplification / last.write_amplification - 1.0).abs() < STEADY_CHANGE
        });
        self.last = Some(Window { write_amplification, erases, repetitions });
        self.began = now;
        self.windows += 1;
    }

    pub(super) fn repetitions(&self) -> u32 {
        self.repetitions
    }

    /// The work of each repetition, if the run ended steady; `erases` are those of the whole run.
    pub(super) fn steady(&self, erases: u64) -> Option<Steady> {
        let last = self.last.filter(|_| self.is_steady)?;
        let erases_per_repetition = match self.repeat {
            Repeat::Times(1) => erases as f64,
            _ => last.erases as f64 / f64::from(last.repetitions),
        };
        Some(Steady { write_amplification: last.write_amplification, erases_per_repetition })
    }
}
