//! What was written to a drive before the workload: a new drive collects nothing, so its figures say nothing of later.

use std::fmt;
use std::ops::ControlFlow;
use std::str::FromStr;

use num_traits::ToPrimitive;

use super::drive::Drive;
use super::geometry::LogicalPage;
use super::operations::Counters;
use super::random::SplitMix64;
use crate::exact::{Exact, parse_decimal, readable};

/// The ageing of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precondition {
    /// Not at all: a new drive.
    None,
    /// Each logical page is written once, in order.
    Fill,
    /// Filled, then overwritten uniformly at random with this many times its logical pages.
    Random(Exact),
    /// Filled, then overwritten uniformly at random until the write amplification of a drive write differs by less than
    /// 1 % from that of the one before.
    Steady,
}

/// What preconditioning did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Preconditioned {
    /// Pages written, the fill included.
    pub host_writes: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Write amplification of the last complete drive write of random overwrites, if there was one.
    pub write_amplification: Option<f64>,
    /// True if the last two drive writes of random overwrites differed by less than 1 %.
    pub is_steady: bool,
}

/// Drive writes after which [`Precondition::Steady`] gives up: a drive of a few hundred pages may never become steady.
const STEADY_DRIVE_WRITES_MAX: u64 = 100;

/// No drive is overwritten more often than this before it is used.
const DRIVE_WRITES_MAX: u128 = 1_000_000;

/// The pages between two progress reports.
const PROGRESS_PAGES: u64 = 1 << 20;

/// Pages that a drive is sent at once: it finds many in less time than one after the other.
const WRITTEN_TOGETHER: usize = 256;

impl Drive {
    /// Writes what `precondition` says, then sets the counters and the erase counts to 0. No block is retired during
    /// this.
    ///
    /// `progress` receives the pages written so far, about once per million, and may break it off.
    ///
    /// # Errors
    ///
    /// The value that `progress` broke off with; the drive is then left as it is.
    pub fn precondition<B>(
        &mut self,
        precondition: Precondition,
        seed: u64,
        mut progress: impl FnMut(u64) -> ControlFlow<B>,
    ) -> Result<Preconditioned, B> {
        self.ftl.endurance_counts = false;
        let done = self.age(precondition, seed, &mut progress);
        self.ftl.endurance_counts = true;
        let done = done?;
        self.ftl.forget_past();
        self.counters = Counters::default();
        Ok(done)
    }

    /// Writes these pages, then sets the counters and the erase counts to 0. No block is retired during this.
    pub fn precondition_with(&mut self, pages: &[LogicalPage]) {
        self.ftl.endurance_counts = false;
        self.write_all(pages).expect("no block is retired while a drive is preconditioned");
        self.ftl.endurance_counts = true;
        self.ftl.forget_past();
        self.counters = Counters::default();
    }

    fn age<B>(
        &mut self,
        precondition: Precondition,
        seed: u64,
        progress: &mut impl FnMut(u64) -> ControlFlow<B>,
    ) -> Result<Preconditioned, B> {
        let logical_pages = self.ftl.options().logical_pages;
        let drive_write = u64::from(logical_pages);
        if precondition != Precondition::None {
            let mut in_order = (0..logical_pages).map(LogicalPage);
            self.age_pages(drive_write, || in_order.next().expect("a page is left"), progress)?;
        }
        let mut left = match precondition {
            Precondition::None | Precondition::Fill => 0,
            Precondition::Steady => STEADY_DRIVE_WRITES_MAX * drive_write,
            Precondition::Random(drive_writes) => {
                let pages = drive_writes * Exact::from_integer(drive_write.into());
                pages.to_integer().to_u64().unwrap_or(u64::MAX)
            }
        };
        let mut random = SplitMix64::new(seed);
        let mut before = self.counters;
        let mut write_amplification = None;
        let mut is_steady = false;
        while left > 0 {
            let overwrites = left.min(drive_write);
            let draw = || LogicalPage(random.below(logical_pages));
            self.age_pages(overwrites, draw, progress)?;
            left -= overwrites;
            if overwrites == drive_write {
                let now = self.counters.since(&before).write_amplification();
                let started = before.collection_started();
                is_steady = started && is_close(write_amplification, now);
                (before, write_amplification) = (self.counters, now);
                if is_steady && precondition == Precondition::Steady {
                    break;
                }
            }
        }
        let Counters { host_writes, erases, .. } = self.counters;
        Ok(Preconditioned { host_writes, erases, write_amplification, is_steady })
    }

    /// Writes this many pages, as `next` tells them.
    fn age_pages<B>(
        &mut self,
        mut left: u64,
        mut next: impl FnMut() -> LogicalPage,
        progress: &mut impl FnMut(u64) -> ControlFlow<B>,
    ) -> Result<(), B> {
        let mut pages = [LogicalPage(0); WRITTEN_TOGETHER];
        while left > 0 {
            let until_shown = PROGRESS_PAGES - self.counters.host_writes % PROGRESS_PAGES;
            let together = left.min(until_shown).min(WRITTEN_TOGETHER as u64);
            let pages = &mut pages[..together as usize];
            pages.fill_with(&mut next);
            self.write_all(pages).expect("no block is retired while a drive is preconditioned");
            left -= together;
            if together == until_shown
                && let ControlFlow::Break(reason) = progress(self.counters.host_writes)
            {
                return Err(reason);
            }
        }
        Ok(())
    }
}

/// Returns whether two write amplifications differ by less than 1 %.
fn is_close(before: Option<f64>, now: Option<f64>) -> bool {
    match (before, now) {
        (Some(before), Some(now)) => (now - before).abs() < before / 100.0,
        _ => false,
    }
}

impl Counters {
    /// What was counted since `before`.
    pub fn since(&self, before: &Counters) -> Counters {
        Counters {
            host_writes: self.host_writes - before.host_writes,
            host_reads: self.host_reads - before.host_reads,
            relocations: self.relocations - before.relocations,
            erases: self.erases - before.erases,
            translation_reads: self.translation_reads - before.translation_reads,
            translation_programs: self.translation_programs - before.translation_programs,
            translation_relocations: self.translation_relocations - before.translation_relocations,
        }
    }
}

impl fmt::Display for Precondition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Precondition::None => formatter.write_str("none"),
            Precondition::Fill => formatter.write_str("fill"),
            Precondition::Random(drive_writes) => {
                write!(formatter, "random:{}", readable(drive_writes))
            }
            Precondition::Steady => formatter.write_str("random"),
        }
    }
}

impl FromStr for Precondition {
    type Err = String;

    fn from_str(text: &str) -> Result<Precondition, String> {
        let unknown = || {
            format!(
                "precondition '{text}' is unknown; use fill, random (until steady), random:N for N drive writes, up to \
                 {DRIVE_WRITES_MAX}, or none"
            )
        };
        match text {
            "none" => Ok(Precondition::None),
            "fill" => Ok(Precondition::Fill),
            "random" => Ok(Precondition::Steady),
            _ => {
                let drive_writes = text.strip_prefix("random:").ok_or_else(unknown)?;
                let drive_writes = parse_decimal(drive_writes).map_err(|_| unknown())?;
                let sensible = drive_writes <= Exact::from_integer(DRIVE_WRITES_MAX);
                if sensible { Ok(Precondition::Random(drive_writes)) } else { Err(unknown()) }
            }
        }
    }
}
