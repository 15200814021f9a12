//! # linux24-cflru: CFLRU in the reclaim of Linux 2.4, simplified
//!
//! This is an approximation of a kernel, defined by this text: `linux24` as the authors of CFLRU changed it.
//!
//! **What it keeps.** What `linux24` keeps, and a share of the lists in which clean pages leave first. Shown as by
//! `linux24`, with `share`.
//!
//! **Victim.** A call of reclaim first frees the clean pages that are not mapped among the
//! `max(1, floor(share * |inactive|))` pages nearest the tail of `inactive`; the others keep their places. If that is
//! not enough, a swap-out as in `linux24` looks at `max(1, floor(share * |mapped|))` pages and passes over dirty ones
//! with their bits untouched, and the first step is done once more. If that is not enough either, `linux24` does the rest.
//!
//! **On a write.** Nothing; a dirty page is kept before a clean one.
//!
//! **Parameters.**
//!
//! * `share`: the window as a share of the frames (default 1/4).
//!
//! * `dynamic`: with `true` the share is not fixed: it begins at 1/6 and takes the values 1/6, 1/5,
//!   … 1/1. After each `period` of references (default ten times the frames) the cost of all I/Os
//!   in it is compared with that of the period before. A read costs `cost_read` (1), a write
//!   `cost_write` (8).
//!
//! * `threshold`: the largest change of cost, as a share, that leaves the window as it is (default
//!   1/20). A larger fall moves it one more step in the same direction, a larger rise one step in
//!   the other. After the first period it becomes one step wider. At the ends share and direction
//!   stay.
//!
//! * `batch`: as in `linux24`.
//!
//! **Cost per hit and per victim.** As `linux24`, and up to twice the share of the lists per call.
//!
//! **Deviations from the paper.** The paper gives the share of the first priorities and says that the window follows the
//! cost; steps, threshold and period are ours. The deviations of `linux24` from its kernel apply here too.
//!
//! **Reference.** S.-Y. Park, D. Jung, J.-U. Kang, J.-S. Kim, J. Lee: CFLRU: a replacement algorithm for flash memory.
//! CASES 2006, section 5.2.

use core::num::NonZeroU64;

use super::linux24::{BATCH, Call, Linux24, one_page};
use super::{BitDriven, Capabilities, Fault, Inspector, PagePolicy, Reclaim};
use crate::catalog::{Cataloged, Description, Size};
use crate::parameters::{Default, Domain, Parameter, Settings, Value};
use crate::{Frame, Frames, HitBits, Ratio};

const WEIGHT: Domain = Domain::Ratio { min: Ratio::whole(0), max: None };

const fn only_dynamic(
    name: &'static str,
    summary: &'static str,
    domain: Domain,
    default: Default,
) -> Parameter {
    Parameter { name, summary, domain, default, only_with: Some(("dynamic", "true")) }
}

/// `linux24` with a clean-first share.
#[derive(Clone, Debug)]
pub struct Linux24Cflru {
    kernel: Linux24,
    share: Share,
}

#[derive(Clone, Debug)]
enum Share {
    Static(Ratio),
    Dynamic(Controller),
}

/// Moves the share by the cost of periods.
#[derive(Clone, Debug)]
struct Controller {
    /// The share is one over this.
    divisor: u32,
    widens: bool,
    period: NonZeroU64,
    threshold: Ratio,
    /// Both in units of the product of their denominators.
    read_cost: u128,
    write_cost: u128,
    cost: u128,
    previous_cost: Option<u128>,
}

/// Also where `dynamic=false` is given in place of the share.
const DEFAULT_SHARE: &str = "1/4";

/// The narrowest share is 1/6.
const NARROWEST: u32 = 6;

impl Cataloged for Linux24Cflru {
    const DESCRIPTION: Description = Description {
        name: "linux24-cflru",
        summary: "CFLRU in the reclaim of Linux 2.4, simplified: clean pages leave first",
        paper: "Park, Jung, Kang, Kim, Lee 2006",
        parameters: &[
            Parameter::share(
                "share",
                "part of the lists in which clean pages leave first",
                DEFAULT_SHARE,
            ),
            Parameter {
                name: "dynamic",
                summary: "whether the share follows the cost, in place of the given one",
                domain: Domain::Flag,
                default: Default::InsteadOf("share"),
                only_with: None,
            },
            only_dynamic(
                "period",
                "references per period",
                Domain::Count { min: 1, max: u64::MAX },
                Default::FramesTimes(10),
            ),
            only_dynamic(
                "threshold",
                "change of cost, as a share, that is taken as none",
                WEIGHT,
                Default::Value("1/20"),
            ),
            only_dynamic("cost_read", "weight of a page read", WEIGHT, Default::Value("1")),
            only_dynamic("cost_write", "weight of a page write", WEIGHT, Default::Value("8")),
            BATCH,
        ],
        source: include_str!("linux24_cflru.rs"),
    };

    fn build(settings: &Settings, size: Size) -> Self {
        let share = match settings.get("dynamic") {
            Some(Value::Flag(true)) => Share::Dynamic(Controller::new(settings)),
            _ => {
                let default = || DEFAULT_SHARE.parse().expect("the default is a ratio");
                Share::Static(settings.ratio("share").unwrap_or_else(default))
            }
        };
        Linux24Cflru { kernel: Linux24::build(settings, size), share }
    }
}

impl Controller {
    fn new(settings: &Settings) -> Self {
        let ratio = |name| settings.ratio(name).expect("it has a default where it applies");
        let (read, write) = (ratio("cost_read"), ratio("cost_write"));
        let product = |left: u64, right: u64| u128::from(left) * u128::from(right);
        let period = settings.count("period").and_then(NonZeroU64::new);
        Controller {
            divisor: NARROWEST,
            widens: true,
            period: period.expect("a period is at least 1"),
            threshold: ratio("threshold"),
            read_cost: product(read.numerator(), write.denominator()),
            write_cost: product(write.numerator(), read.denominator()),
            cost: 0,
            previous_cost: None,
        }
    }

    fn end_period(&mut self) {
        let cost = core::mem::take(&mut self.cost);
        if let Some(previous) = self.previous_cost.replace(cost) {
            let change = cost.abs_diff(previous);
            let bearable = previous.saturating_mul(self.threshold.numerator().into());
            if change.saturating_mul(self.threshold.denominator().into()) <= bearable {
                return;
            }
            self.widens ^= cost > previous;
        }
        self.divisor = match self.widens {
            true => (self.divisor - 1).max(1),
            false => (self.divisor + 1).min(NARROWEST),
        };
    }
}

impl Linux24Cflru {
    fn share_of(&self, pages: u32) -> u64 {
        let share = match &self.share {
            Share::Static(share) => share.floor_of(pages),
            Share::Dynamic(controller) => (pages / controller.divisor).into(),
        };
        share.max(1)
    }

    fn shrink<F: Frames>(&mut self, mut call: Call, frames: &mut F) {
        let pages = self.share_of(self.kernel.inactive_pages());
        self.kernel.free_clean(pages, &mut call, frames);
        if !call.is_done() {
            let looked_at = self.share_of(self.kernel.mapped_pages()) as u32;
            self.kernel.swap_out(looked_at, true, frames);
            let pages = self.share_of(self.kernel.inactive_pages());
            self.kernel.free_clean(pages, &mut call, frames);
        }
        if !call.is_done() {
            self.kernel.shrink(call, frames);
        }
    }

    fn pay(&mut self, cost: impl Fn(&Controller) -> u128) {
        if let Share::Dynamic(controller) = &mut self.share {
            controller.cost = controller.cost.saturating_add(cost(controller));
        }
    }

    fn share(&self) -> f64 {
        match &self.share {
            Share::Static(share) => share.numerator() as f64 / share.denominator() as f64,
            Share::Dynamic(controller) => 1.0 / f64::from(controller.divisor),
        }
    }
}

impl PagePolicy for Linux24Cflru {
    fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
        self.kernel.begin_call();
        one_page(self, frames, Self::shrink)
    }

    fn loaded<F: Frames>(&mut self, fault: Fault, frame: Frame, frames: &mut F) {
        if fault.fetched {
            self.pay(|controller| controller.read_cost);
        }
        self.kernel.loaded(fault, frame, frames);
    }

    fn dropped<F: Frames>(&mut self, frame: Frame, frames: &F) {
        self.kernel.dropped(frame, frames);
    }

    fn written_back<F: Frames>(&mut self, _: Frame, _: &F) {
        self.pay(|controller| controller.write_cost);
    }

    fn inspect(&self, inspector: &mut dyn Inspector) {
        self.kernel.inspect(inspector);
        inspector.value("share", self.share());
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.kernel.gauges(show);
        show("share", self.share());
    }

    fn check_invariants<F: Frames>(&self, frames: &F) {
        self.kernel.check_invariants(frames);
    }
}

impl Capabilities for Linux24Cflru {
    const PAGE_NUMBERS_MATTER: bool = true;
    const RECLAIMS_IN_BATCHES: bool = true;

    fn reclaim<F: Frames>(&mut self, wanted: Reclaim<'_>, frames: &mut F) {
        self.kernel.begin_call();
        self.shrink(Call::new(self.kernel.batch(), wanted), frames);
    }

    fn unmapped<F: Frames>(&mut self, frame: Frame, frames: &mut F) {
        self.kernel.unmapped(frame, frames);
    }

    fn period(&self) -> Option<NonZeroU64> {
        match &self.share {
            Share::Static(_) => None,
            Share::Dynamic(controller) => Some(controller.period),
        }
    }

    fn tick<F: Frames>(&mut self, _: &mut F) {
        if let Share::Dynamic(controller) = &mut self.share {
            controller.end_period();
        }
    }
}

impl BitDriven for Linux24Cflru {
    const HIT_BITS: HitBits = HitBits::Reference;
    const SEES_FIRST_ACCESSES: bool = true;
    const SEES_CALLS: bool = true;

    #[inline]
    fn first_access<F: Frames>(&mut self, frame: Frame, frames: &mut F) {
        self.kernel.first_access(frame, frames);
    }

    fn called<F: Frames>(&mut self, frame: Frame, frames: &mut F) {
        self.kernel.called(frame, frames);
    }
}
