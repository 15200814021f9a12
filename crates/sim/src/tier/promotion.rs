//! Which references to slow pages promote them, where a page policy keeps the fast tier.

use clockhand_quantity::option;
use std::collections::VecDeque;
use std::fmt;

use clockhand_policy::{Op, PageId};

use crate::error::SimError;
use crate::sketch::Sketch;

/// A rule of promotion, as a cell of the grid has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PromotionRule {
    /// No page is promoted.
    Never,
    /// Any reference promotes.
    FirstTouch,
    /// Writes promote.
    Write,
    /// The `touches`-th reference since the page entered the slow tier promotes, if all of them lie within `within`
    /// references; 0: whenever they were.
    KTouch {
        /// References, from 1.
        touches: u32,
        /// References of the trace; 0 means no limit.
        within: u64,
    },
    /// A page promotes whose counter is high enough; all counters are halved now and then.
    Threshold {
        /// The least counter, from 1.
        least: u32,
        /// References of the trace after which counters are halved, from 1.
        halve_every: u64,
    },
    /// A page promotes that was referenced more often, recently, than the one that it would replace.
    TinyLfu,
}

impl PromotionRule {
    /// Reads a rule: `never`, `first-touch`, `write`, `k-touch[:K[:W]]`, `threshold[:T[:H]]`, `tinylfu`.
    ///
    /// # Errors
    ///
    /// A sentence that says what there is and what numbers it takes.
    pub fn parse(text: &str) -> Result<Self, SimError> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let numbers: Vec<&str> = parts.collect();
        let number = |place: usize, default: u64, least: u64, most: u64| {
            let Some(digits) = numbers.get(place) else { return Ok(default) };
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
            let value = digits.parse().ok().filter(|_| is_number);
            value.filter(|value| (least..=most).contains(value)).ok_or_else(|| {
                SimError::usage(
                    option("promote")
                        + format!(
                            " {text}: {digits:?} is not a whole number from {least} to {most}"
                        ),
                    "give one",
                )
            })
        };
        let most = |allowed: usize, rule: Self| match numbers.len() <= allowed {
            true => Ok(rule),
            false => Err(SimError::usage(
                option("promote")
                    + format!(
                        " {text}: {name} takes {allowed} {}",
                        if allowed == 1 { "number" } else { "numbers" }
                    ),
                "leave the others out",
            )),
        };
        match name {
            "never" => most(0, PromotionRule::Never),
            "first-touch" => most(0, PromotionRule::FirstTouch),
            "write" => most(0, PromotionRule::Write),
            "tinylfu" => most(0, PromotionRule::TinyLfu),
            "k-touch" => {
                let touches = number(0, 2, 1, u32::MAX.into())? as u32;
                most(2, PromotionRule::KTouch { touches, within: number(1, 0, 0, u64::MAX)? })
            }
            "threshold" => {
                let least = number(0, 4, 1, u32::MAX.into())? as u32;
                let halve_every = number(1, 100_000, 1, u64::MAX)?;
                most(2, PromotionRule::Threshold { least, halve_every })
            }
            _ => {
                let names = ["never", "first-touch", "write", "k-touch", "threshold", "tinylfu"];
                Err(SimError::usage(
                    format!("there is no rule of promotion {name:?}"),
                    crate::contestant::suggestion(name, &names),
                ))
            }
        }
    }
}

impl fmt::Display for PromotionRule {
    /// With every number.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PromotionRule::Never => formatter.write_str("never"),
            PromotionRule::FirstTouch => formatter.write_str("first-touch"),
            PromotionRule::Write => formatter.write_str("write"),
            PromotionRule::KTouch { touches, within } => {
                write!(formatter, "k-touch:{touches}:{within}")
            }
            PromotionRule::Threshold { least, halve_every } => {
                write!(formatter, "threshold:{least}:{halve_every}")
            }
            PromotionRule::TinyLfu => formatter.write_str("tinylfu"),
        }
    }
}

/// The memory of a rule about the references that it saw.
pub(super) enum Memory<'a> {
    /// The operation says all.
    Nothing {
        never: bool,
        only_writes: bool,
    },
    Touches {
        touches: u32,
        of_page: Vec<u32>,
    },
    RecentTouches {
        touches: usize,
        within: u64,
        of_page: Vec<VecDeque<u64>>,
    },
    Counters {
        least: u32,
        halve_every: u64,
        of_page: Vec<Counter>,
    },
    Sketch {
        sketch: Sketch,
        keys: &'a [u64],
    },
}

/// A counter, and how often it had been halved when it last changed.
#[derive(Clone, Copy, Default)]
pub(super) struct Counter {
    count: u32,
    halvings: u64,
}

impl<'a> Memory<'a> {
    /// The memory of a rule for `pages` pages; `keys` are their numbers in a sketch.
    pub(super) fn new(rule: PromotionRule, fast_frames: u32, pages: u32, keys: &'a [u64]) -> Self {
        let pages = pages as usize;
        match rule {
            PromotionRule::Never => Memory::Nothing { never: true, only_writes: false },
            PromotionRule::FirstTouch => Memory::Nothing { never: false, only_writes: false },
            PromotionRule::Write => Memory::Nothing { never: false, only_writes: true },
            PromotionRule::KTouch { touches, within: 0 } => {
                Memory::Touches { touches, of_page: vec![0; pages] }
            }
            PromotionRule::KTouch { touches, within } => {
                let of_page = vec![VecDeque::new(); pages];
                Memory::RecentTouches { touches: touches as usize, within, of_page }
            }
            PromotionRule::Threshold { least, halve_every } => {
                Memory::Counters { least, halve_every, of_page: vec![Counter::default(); pages] }
            }
            PromotionRule::TinyLfu => {
                Memory::Sketch { sketch: Sketch::new(fast_frames.max(1)), keys }
            }
        }
    }

    /// The rule sees a reference; `is_slow` if the page is in the slow tier.
    #[inline]
    pub(super) fn note(&mut self, page: PageId, is_slow: bool, now: u64) {
        match self {
            Memory::Nothing { .. } => {}
            Memory::Touches { of_page, .. } if is_slow => {
                let touches = &mut of_page[page.index()];
                *touches = touches.saturating_add(1);
            }
            Memory::RecentTouches { touches, of_page, .. } if is_slow => {
                let of_page = &mut of_page[page.index()];
                if of_page.len() == *touches {
                    of_page.pop_front();
                }
                of_page.push_back(now);
            }
            Memory::Touches { .. } | Memory::RecentTouches { .. } => {}
            Memory::Counters { halve_every, of_page, .. } => {
                let counter = &mut of_page[page.index()];
                let halvings = (now - 1) / *halve_every;
                let shift = (halvings - counter.halvings).min(31) as u32;
                let halved =
                    if halvings - counter.halvings > 31 { 0 } else { counter.count >> shift };
                *counter = Counter { count: halved.saturating_add(1), halvings };
            }
            Memory::Sketch { sketch, keys } => sketch.note(keys[page.index()]),
        }
    }

    /// Returns whether the reference that was just seen promotes its page; `would_leave` is asked for the page to make
    /// room, `None` if a frame is free.
    #[inline]
    pub(super) fn promotes(
        &self,
        page: PageId,
        op: Op,
        now: u64,
        would_leave: impl FnOnce() -> Option<PageId>,
    ) -> bool {
        match self {
            Memory::Nothing { never, only_writes } => !never && (op == Op::Write || !only_writes),
            Memory::Touches { touches, of_page } => of_page[page.index()] >= *touches,
            Memory::RecentTouches { touches, within, of_page } => {
                let of_page = &of_page[page.index()];
                let first = of_page.front().filter(|_| of_page.len() == *touches);
                first.is_some_and(|first| now - first < *within)
            }
            Memory::Counters { least, of_page, .. } => of_page[page.index()].count >= *least,
            Memory::Sketch { sketch, keys } => {
                let estimate = |page: PageId| sketch.estimate(keys[page.index()]);
                would_leave().is_none_or(|victim| estimate(page) > estimate(victim))
            }
        }
    }

    /// A page has entered the slow tier.
    #[inline]
    pub(super) fn entered_slow(&mut self, page: PageId) {
        match self {
            Memory::Touches { of_page, .. } => of_page[page.index()] = 0,
            Memory::RecentTouches { of_page, .. } => of_page[page.index()].clear(),
            _ => {}
        }
    }

    /// A page has left for storage.
    pub(super) fn evicted(&mut self, page: PageId) {
        if let Memory::Counters { of_page, .. } = self {
            of_page[page.index()] = Counter::default();
        }
    }
}
