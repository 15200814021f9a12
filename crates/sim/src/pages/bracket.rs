//! Where the optimum lies: a lower bound of the cost by Lagrangian relaxation, and a schedule whose cost is not far
//! above.
//!
//! While a page is referenced, at most `frames - 1` others can stay in memory. With a price on each such place, every
//! page can be considered by itself at the least cost. The total cost of all pages, less the prices of all existing
//! places, is never more than a policy's cost, whatever the prices. Costs and prices are whole numbers, so that a bound
//! is exact for its prices.

mod ascent;
mod relaxation;
mod schedule;
mod spans;
#[cfg(test)]
mod tests;

use clockhand_trace::Record;
use num_rational::Ratio;

use crate::contestant::Effort;
use crate::error::SimError;
use crate::replay::{Counts, ReplayOptions};
use ascent::Ascent;
use clockhand_trace::progress::Progress;
use relaxation::Relaxation;
use schedule::{Saved, Soon, replay};
use spans::Spans;

/// What is known of the least I/O time of any policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bracket {
    /// No policy costs less than this many shares of a page read; a share is one over the denominator of the cost
    /// ratio.
    pub(crate) lower_shares: u128,
    /// The counts of a schedule that can be carried out.
    pub(crate) feasible: Counts,
}

/// Costs of a page read and a page write in units that prices are whole numbers of.
#[derive(Clone, Copy, Debug)]
struct Costs {
    read: i64,
    write: i64,
}

/// The dearer of the two costs has about this many units, which is fine enough for prices.
const UNITS: u64 = 1 << 28;

/// The units of a share of a page read: a read is as many shares as the write/read cost ratio's denominator, a write as
/// many as its numerator.
#[derive(Clone, Copy, Debug)]
struct Scale {
    units: u64,
    shares: u64,
}

impl Scale {
    fn of(ratio: Ratio<u64>) -> Self {
        let largest = *ratio.numer().max(ratio.denom());
        match UNITS / largest {
            0 => Scale { units: UNITS, shares: largest },
            units => Scale { units, shares: 1 },
        }
    }

    /// Rounded down, which can only lower a bound.
    fn units(self, shares: u64) -> i64 {
        (u128::from(shares) * u128::from(self.units) / u128::from(self.shares)) as i64
    }

    /// Rounded up, since every cost is a whole number of shares.
    fn shares(self, units: i128) -> u128 {
        let units = units.max(0) as u128 * u128::from(self.shares);
        units.div_ceil(self.units.into())
    }
}

/// A trace, a memory and the costs.
#[derive(Clone, Copy)]
pub(crate) struct Problem<'a> {
    pub(crate) records: &'a [Record],
    /// An entry per record.
    pub(crate) next_use: &'a [u32],
    pub(crate) pages: u32,
    /// At most as many as pages.
    pub(crate) frames: u32,
    /// What a page write costs over what a page read costs.
    pub(crate) ratio: Ratio<u64>,
    pub(crate) options: ReplayOptions,
}

impl Problem<'_> {
    fn is_charged(&self, record: Record) -> bool {
        self.options.fetches(record.first_is_write())
    }

    fn costs(&self) -> Costs {
        let scale = Scale::of(self.ratio);
        Costs { read: scale.units(*self.ratio.denom()), write: scale.units(*self.ratio.numer()) }
    }

    /// What this many page reads and writes cost, in shares of a page read.
    pub(crate) fn cost_shares(&self, read_ios: u64, write_ios: u64) -> u128 {
        u128::from(read_ios) * u128::from(*self.ratio.denom())
            + u128::from(write_ios) * u128::from(*self.ratio.numer())
    }
}

/// Schedules that are tried on the way, besides Belady's.
const TRIALS: u32 = 8;

/// Narrows the bracket until its ends meet or the effort is spent. `known_shares` bounds the cost from below already.
pub(crate) fn bracket(
    problem: Problem,
    known_shares: u128,
    effort: Effort,
    progress: &Progress,
) -> Result<Bracket, SimError> {
    let mut search = Search {
        problem,
        lower_shares: known_shares,
        feasible: replay(&problem, &Soon(problem.next_use)),
    };
    if search.is_open() && effort != Effort::NONE {
        search.climb(effort, progress)?;
    }
    Ok(Bracket { lower_shares: search.lower_shares, feasible: search.feasible })
}

struct Search<'a> {
    problem: Problem<'a>,
    lower_shares: u128,
    feasible: Counts,
}

impl Search<'_> {
    fn upper_shares(&self) -> u128 {
        self.problem.cost_shares(self.feasible.read_ios, self.feasible.write_ios())
    }

    fn is_open(&self) -> bool {
        self.lower_shares < self.upper_shares()
    }

    fn climb(&mut self, effort: Effort, progress: &Progress) -> Result<(), SimError> {
        let Problem { records, pages, frames, .. } = self.problem;
        let (scale, costs) = (Scale::of(self.problem.ratio), self.problem.costs());
        let spans = Spans::of(records, pages, frames, |record| self.problem.is_charged(record));
        let steps = effort.steps(spans.len() + spans.priced_steps());
        let relaxation = Relaxation::new(&spans, costs, self.problem.options.flush_at_end);
        let mut ascent = Ascent::new(relaxation, frames - 1, costs.read + costs.write);
        for step in 0..=steps {
            self.lower_shares = self.lower_shares.max(scale.shares(ascent.best()));
            if step.is_multiple_of((steps / TRIALS).max(1)) {
                let saved = Saved::under(&self.problem, &spans.upto, ascent.best_prices());
                let schedule = replay(&self.problem, &saved);
                let cost = self.problem.cost_shares(schedule.read_ios, schedule.write_ios());
                if cost < self.upper_shares() {
                    self.feasible = schedule;
                }
            }
            if !self.is_open() || step == steps {
                break;
            }
            if progress.is_cancelled() {
                return Err(SimError::Interrupted);
            }
            let shares = self.upper_shares();
            let target = shares * u128::from(scale.units) / u128::from(scale.shares);
            ascent.climb(target as i128);
        }
        Ok(())
    }
}

impl Counts {
    fn load(&mut self, record: Record, is_charged: bool) {
        self.read_misses += u64::from(!record.first_is_write());
        self.write_misses += u64::from(record.first_is_write());
        self.read_ios += u64::from(is_charged);
    }

    fn evict(&mut self, is_dirty: bool) {
        self.clean_evictions += u64::from(!is_dirty);
        self.dirty_evictions += u64::from(is_dirty);
    }
}
