//! # CFLRU, dynamic window
//!
//! **What it keeps.** The list of `cflru`, and the cost of the I/Os in this period and in the one before.
//!
//! **Victim.** As `cflru`, with the current window.
//!
//! **On a write.** As on a read.
//!
//! **Parameters.**
//!
//! * `period`: references per period (default 1000).
//!
//! * `cost_read`, `cost_write`: the weights of a page read and a page write in the cost (default 1
//!   and 8, whatever the device).
//!
//! * `step`: pages by which the window moves (default a sixteenth of the frames).
//!
//! * `threshold`: the largest change of cost that counts as no change (default 0).
//!
//! **Cost per hit and per victim.** As `cflru`; `step` list steps per period.
//!
//! **Deviations from the paper.** The paper says only that the sign of the change of
//! `v_W · C_W + v_R · C_R` between adjacent periods steers the window. The rule here: the window starts at a
//! third of the frames, growing. After the first period it moves one step further. After each later period, if
//! the cost rose by more than the threshold the direction is reversed and the window moves one step; if it fell
//! by more than the threshold the window moves one step further; else it stays. The window is kept between
//! 0 and all frames, which does not reverse the direction.
//!
//! **Reference.** S.-Y. Park, D. Jung, J.-U. Kang, J.-S. Kim, J. Lee: CFLRU: a replacement algorithm for
//! flash memory. CASES 2006, section 3.2.

use core::num::NonZeroU64;

use super::cflru::CleanFirstList;
use super::{AccessDriven, Capabilities, Fault, Inspector, PagePolicy};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Default, Domain, Parameter, Settings};
use crate::{Frame, Frames, Op, Ratio};

const COST: Domain = Domain::Ratio { min: Ratio::whole(0), max: None };

const fn parameter(
    name: &'static str,
    summary: &'static str,
    domain: Domain,
    default: Default,
) -> Parameter {
    Parameter { name, summary, domain, default, only_with: None }
}

/// CFLRU whose window follows the change of the I/O cost from period to period.
#[derive(Clone, Debug)]
pub struct CflruDynamic {
    list: CleanFirstList,
    frames: u32,
    period: NonZeroU64,
    step_pages: u32,
    growing: bool,
    /// All costs are whole multiples of one exact unit: the least common fraction of the three weights.
    read_cost: u128,
    write_cost: u128,
    threshold: u128,
    cost: u128,
    previous_cost: Option<u128>,
}

impl Cataloged for CflruDynamic {
    const DESCRIPTION: Description = Description {
        name: "cflru-dynamic",
        summary: "CFLRU whose window follows the change of the I/O cost",
        paper: "Park, Jung, Kang, Kim, Lee 2006",
        parameters: &[
            parameter(
                "period",
                "references per period",
                Domain::Count { min: 1, max: u64::MAX },
                Default::Value("1000"),
            ),
            parameter("cost_read", "weight of a page read", COST, Default::Value("1")),
            parameter("cost_write", "weight of a page write", COST, Default::Value("8")),
            parameter(
                "step",
                "pages by which the window moves",
                Domain::Count { min: 1, max: u32::MAX as u64 },
                Default::FramesOver(16),
            ),
            parameter(
                "threshold",
                "change of cost that is taken as none",
                COST,
                Default::Value("0"),
            ),
        ],
        source: include_str!("cflru_dynamic.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        let weight = |name| settings.ratio(name).expect("a weight has a default");
        let weights = [weight("cost_read"), weight("cost_write"), weight("threshold")];
        let unit: u128 = weights.iter().map(|weight| u128::from(weight.denominator())).product();
        let scaled = |weight: Ratio| {
            u128::from(weight.numerator()) * (unit / u128::from(weight.denominator()))
        };
        let period =
            settings.count("period").and_then(NonZeroU64::new).expect("a period is at least 1");
        CflruDynamic {
            list: CleanFirstList::new(size.frames, size.frames / 3),
            frames: size.frames,
            period,
            step_pages: settings.count("step").expect("a step has a default") as u32,
            growing: true,
            read_cost: scaled(weights[0]),
            write_cost: scaled(weights[1]),
            threshold: scaled(weights[2]),
            cost: 0,
            previous_cost: None,
        }
    }
}

impl PagePolicy for CflruDynamic {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        self.list.take_victim(frames)
    }

    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, frames: &mut F) {
        if fault.fetched {
            self.cost = self.cost.saturating_add(self.read_cost);
        }
        self.list.push(frame, frames);
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, frames: &F) {
        self.list.remove(frame, frames);
    }

    fn written_back<F: Frames>(&mut self, frame: Frame, _: &F) {
        self.cost = self.cost.saturating_add(self.write_cost);
        self.list.became_clean(frame);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        self.list.inspect(inspector);
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("window_pages", self.list.window_pages().into());
    }

    fn check_invariants<F: Frames>(&self, frames: &F) {
        self.list.check_invariants(frames);
    }
}

impl Capabilities for CflruDynamic {
    const TAKES_MORE_PAGES: bool = true;

    fn period(&self) -> Option<NonZeroU64> {
        Some(self.period)
    }

    fn tick<F: Frames>(&mut self, frames: &mut F) {
        let cost = core::mem::take(&mut self.cost);
        let moves = match self.previous_cost.replace(cost) {
            None => true,
            Some(previous) if cost > previous.saturating_add(self.threshold) => {
                self.growing = !self.growing;
                true
            }
            Some(previous) => previous > cost.saturating_add(self.threshold),
        };
        if moves {
            let window = self.list.window_pages();
            let window = match self.growing {
                true => window.saturating_add(self.step_pages).min(self.frames),
                false => window.saturating_sub(self.step_pages),
            };
            self.list.set_window_pages(window, frames);
        }
    }
}

impl AccessDriven for CflruDynamic {
    #[inline]
    fn hit<F: Frames>(&mut self, _: Op, frame: Frame, frames: &F) {
        self.list.touch(frame, frames);
    }
}
