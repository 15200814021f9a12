//! Warm-up and intervals of any study: where within a trace counts begin, and where those of one interval end.
//!
//! ```text
//! options → places within the trace → replay, which notes its counts there → rows of what they grew by
//! ```

mod arrivals;
mod notes;

pub(crate) use arrivals::{Arrivals, ArrivalsAtSizes};
pub use notes::Rows;
pub(crate) use notes::{Cut, Cuts, Grows, IntervalRow, Noted, Notes, Part, grows};

use crate::error::SimError;
use crate::memory_size::MemorySize;
use clockhand_quantity::{Text, option};

/// Length of a part of a trace, in references or in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Span {
    References(u64),
    /// Nanoseconds.
    Time(u64),
}

impl Span {
    /// Reads `10000`, `500us`, `10ms`, `2.5s`, `5min` or `1h`; `None` if it is no such text or nothing.
    fn parse(text: &str) -> Option<Self> {
        match text.parse() {
            Ok(0) => None,
            Ok(references) => Some(Span::References(references)),
            Err(_) => span_ns(text).map(Span::Time),
        }
    }
}

/// A span of time such as `500us`, `10ms` or `2.5s`, in nanoseconds; `None` if it is no such text or nothing.
fn span_ns(text: &str) -> Option<u64> {
    let units = [
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000_u64),
    ];
    let (number, unit_ns) =
        units.iter().find_map(|(unit, ns)| Some((text.strip_suffix(unit)?, *ns)))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let is_number = |digits: &str| {
        !digits.is_empty() && digits.len() <= 15 && digits.bytes().all(|b| b.is_ascii_digit())
    };
    if !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let span = digits * u128::from(unit_ns) / 10_u128.pow(fraction.len() as u32);
    u64::try_from(span).ok().filter(|span| *span > 0)
}

/// A share such as `20%` or `0.2`, as a fraction; `None` for other text, and code within for a share that cannot be
/// read.
fn share_of(text: &str) -> Option<Option<(u64, u64)>> {
    if let Some(digits) = text.strip_prefix("0.").filter(|digits| digits.parse::<u64>().is_ok()) {
        let denominator = 10_u64.checked_pow(digits.len() as u32);
        return Some(digits.parse().ok().zip(denominator));
    }
    text.ends_with('%').then(|| match MemorySize::parse_memory(text).as_deref() {
        Ok(&[MemorySize::Share { numerator, denominator }]) => Some((numerator, denominator)),
        _ => None,
    })
}

/// Before which reference counts begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum WarmUp {
    #[default]
    None,
    Span(Span),
    /// So much of all references.
    Share {
        numerator: u64,
        denominator: u64,
    },
}

/// From where counts are taken, and whether for each interval too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Intervals {
    warm_up: WarmUp,
    every: Option<Span>,
}

/// More rows than anyone looks at.
const LIMIT_INTERVALS: usize = 1 << 20;

impl Intervals {
    /// Reads the options `--warm-up` and `--every`.
    ///
    /// # Errors
    ///
    /// A sentence that names the option and what it takes.
    pub fn parse(warm_up: Option<&str>, every: Option<&str>) -> Result<Self, SimError> {
        let of_warm_up = |text: &str| {
            if let Some(share) = share_of(text) {
                let wrong = || {
                    SimError::usage(
                        option("warm-up") + format!(" {text} is no share below 100%"),
                        "give one such as 20%",
                    )
                };
                return share
                    .filter(|(part, whole)| part < whole)
                    .ok_or_else(wrong)
                    .map(|(numerator, denominator)| WarmUp::Share { numerator, denominator });
            }
            Span::parse(text).map(WarmUp::Span).ok_or_else(|| {
                SimError::usage(
                    option("warm-up") + format!(" {text:?} is no part of a trace"),
                    "give references (10000), a share of them (20%) or a time with its unit (10ms, 2.5s)",
                )
            })
        };
        let of_every = |text: &str| {
            Span::parse(text).ok_or_else(|| {
                SimError::usage(
                    option("every") + format!(" {text:?} is no interval"),
                    "give references (10000) or a time with its unit (10ms, 2.5s)",
                )
            })
        };
        Ok(Intervals {
            warm_up: warm_up.map(of_warm_up).transpose()?.unwrap_or_default(),
            every: every.map(of_every).transpose()?,
        })
    }

    /// True if all counts are those of the whole trace.
    pub(crate) fn is_off(&self) -> bool {
        *self == Intervals::default()
    }

    /// The length of windows of a run in time, whose counts begin with it.
    ///
    /// # Errors
    ///
    /// A warm-up is asked for, or intervals are of references.
    pub(crate) fn windows_ns(&self) -> Result<Option<u64>, SimError> {
        if self.warm_up != WarmUp::None {
            return Err(SimError::usage(
                option("warm-up") + " is of runs that are counted",
                Text::from("leave it out, or ") + option("timed"),
            ));
        }
        match self.every {
            None => Ok(None),
            Some(Span::Time(ns)) => Ok(Some(ns)),
            Some(Span::References(every)) => Err(SimError::usage(
                option("every")
                    + format!(" {every} is no span of time, which ")
                    + option("timed")
                    + " needs",
                "give a number and its unit, such as 500us, 10ms or 2.5s",
            )),
        }
    }

    /// Whether counts begin after a warm-up.
    pub(crate) fn has_warm_up(&self) -> bool {
        self.warm_up != WarmUp::None
    }

    /// Refuses what is known of a whole trace only.
    ///
    /// # Errors
    ///
    /// A warm-up or intervals are asked for of `what`.
    pub(crate) fn refuse(&self, what: Text) -> Result<(), SimError> {
        match self.is_off() {
            true => Ok(()),
            false => Err(SimError::usage(
                what.clone() + " knows only a whole trace",
                Text::from("leave out ")
                    + option("warm-up")
                    + " and "
                    + option("every")
                    + ", or "
                    + what,
            )),
        }
    }

    /// The places where counters are read, in a trace of the given number of references.
    ///
    /// # Errors
    ///
    /// Nothing is left after the warm-up, the trace has no times and they are needed, or there are too many intervals.
    pub(crate) fn cuts(
        &self,
        trace: &str,
        references: u64,
        arrivals: &Arrivals,
    ) -> Result<Cuts, SimError> {
        if self.is_off() {
            return Ok(Cuts::default());
        }
        let needs_times = matches!(self.warm_up, WarmUp::Span(Span::Time(_)))
            || matches!(self.every, Some(Span::Time(_)));
        if needs_times && !arrivals.has_times() {
            return Err(SimError::usage(
                Text::from(format!("{trace}: the trace has no times, so that "))
                    + option("warm-up")
                    + " and "
                    + option("every")
                    + " take references of it, such as 10000",
                "",
            ));
        }
        let begin = match self.warm_up {
            WarmUp::None => 0,
            WarmUp::Span(Span::References(warm_up)) => warm_up,
            WarmUp::Span(Span::Time(ns)) => arrivals.reference_from(ns).unwrap_or(references),
            WarmUp::Share { numerator, denominator } => {
                let warm_up = u128::from(references) * u128::from(numerator);
                (warm_up / u128::from(denominator)) as u64
            }
        };
        if begin >= references {
            return Err(SimError::usage(
                Text::from(format!("{trace}: "))
                    + option("warm-up")
                    + format!(" leaves nothing to count of its {references} references"),
                "give a shorter one",
            ));
        }
        let begin_ns = match self.warm_up {
            WarmUp::None => Some(0),
            WarmUp::Span(Span::Time(ns)) => Some(ns),
            _ => arrivals.time_of(begin),
        };
        let cuts = match self.every {
            None => vec![Cut { interval: 0, reference: begin, time_ns: begin_ns }],
            Some(Span::References(every)) => by_references(begin, every, references, arrivals),
            Some(Span::Time(every)) => by_time(begin_ns.unwrap_or(0), every, arrivals),
        };
        if cuts.len() > LIMIT_INTERVALS {
            return Err(SimError::usage(
                Text::from(format!("{trace}: "))
                    + option("every")
                    + format!(" gives more than {LIMIT_INTERVALS} intervals"),
                "give a longer one",
            ));
        }
        Ok(Cuts { cuts, has_intervals: self.every.is_some() })
    }
}

/// One interval after the other, the last one shorter.
fn by_references(begin: u64, every: u64, references: u64, arrivals: &Arrivals) -> Vec<Cut> {
    let starts = (0..).map_while(|interval: u64| {
        let start = interval.checked_mul(every)?.checked_add(begin)?;
        (start < references).then_some((interval, start))
    });
    let cut =
        |(interval, reference)| Cut { interval, reference, time_ns: arrivals.time_of(reference) };
    starts.take(LIMIT_INTERVALS + 1).map(cut).collect()
}

/// Spans of time, those without a reference left out.
fn by_time(begin_ns: u64, every_ns: u64, arrivals: &Arrivals) -> Vec<Cut> {
    let mut cuts = Vec::new();
    let mut next = arrivals.reference_from(begin_ns);
    while let Some(reference) = next
        && cuts.len() <= LIMIT_INTERVALS
    {
        let time_ns = arrivals.time_of(reference).unwrap_or(begin_ns);
        let interval = (time_ns - begin_ns) / every_ns;
        let from_ns = begin_ns + interval * every_ns;
        cuts.push(Cut { interval, reference, time_ns: Some(from_ns) });
        next = from_ns.checked_add(every_ns).and_then(|end_ns| arrivals.reference_from(end_ns));
    }
    cuts
}
