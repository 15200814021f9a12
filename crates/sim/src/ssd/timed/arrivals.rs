//! When requests arrive.

use clockhand_quantity::{Text, option};
use std::str::FromStr;

use clockhand_device::Exact;
use clockhand_device::flash::time::Arrivals;
use num_traits::ToPrimitive;

use crate::error::SimError;
use crate::ssd::placement::Placed;
use crate::ssd::requests::RequestList;

/// How requests arrive, as `--arrivals` says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimedArrivals {
    /// At the trace's times, this many times as fast.
    Trace(Exact),
    /// So many are on their way at any time.
    Closed(u64),
    /// So many a second, evenly.
    Rate(Exact),
}

impl Default for TimedArrivals {
    fn default() -> Self {
        TimedArrivals::Trace(Exact::from_integer(1))
    }
}

impl FromStr for TimedArrivals {
    type Err = SimError;

    fn from_str(text: &str) -> Result<TimedArrivals, SimError> {
        let (name, value) = match text.split_once(':') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let arrivals = match (name, value) {
            ("trace", None) => Some(TimedArrivals::default()),
            ("trace", Some(speed)) => decimal(speed).map(TimedArrivals::Trace),
            ("rate", Some(rate)) => decimal(rate).map(TimedArrivals::Rate),
            ("closed", Some(requests)) => {
                let requests = requests.parse().ok().filter(|requests| *requests > 0);
                requests.map(TimedArrivals::Closed)
            }
            _ => None,
        };
        arrivals.ok_or_else(|| {
            SimError::usage(option("arrivals") + format!(" {text:?} is unknown"), "give trace, trace:SPEED, rate:X with X requests a second, or closed:Q with Q from 1")
        })
    }
}

/// A decimal above 0.
fn decimal(text: &str) -> Option<Exact> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_decimal = !whole.is_empty()
        && whole.len() <= 15
        && fraction.len() <= 12
        && whole.bytes().chain(fraction.bytes()).all(|digit| digit.is_ascii_digit());
    if !is_decimal || text.ends_with('.') {
        return None;
    }
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let value = Exact::new(digits, 10_u128.pow(fraction.len() as u32));
    (digits > 0).then_some(value)
}

/// The latest arrival, so that 64 bits hold the nanoseconds of all that follows; and the years until then.
const LATEST_NS: u64 = 1 << 62;
const LATEST_YEARS: u64 = LATEST_NS / 1_000_000_000 / 86_400 / 365;

/// When each request of a trace arrives, in each repetition.
#[derive(Clone, Debug)]
pub(in crate::ssd) enum ArrivalTimes {
    /// At these times, later by this span for each repetition before.
    Trace {
        /// In nanoseconds from the first.
        times_ns: Vec<u64>,
        /// Between the beginnings of two repetitions.
        period_ns: u64,
    },
    /// Request i at floor(10^9 · i / rate).
    Rate {
        /// Requests a second.
        rate: Exact,
        /// Requests of a repetition.
        requests: u64,
    },
    /// So many at 0, and another one whenever one is complete.
    Closed(u64),
}

impl ArrivalTimes {
    /// Whether requests say when they arrive.
    pub(in crate::ssd) fn arrivals(&self) -> Arrivals {
        match self {
            ArrivalTimes::Closed(requests) => Arrivals::Closed(*requests),
            ArrivalTimes::Trace { .. } | ArrivalTimes::Rate { .. } => Arrivals::Open,
        }
    }

    /// When a request of a repetition arrives; 0 if that depends on others.
    #[inline]
    pub(super) fn of(&self, repetition: u64, request: u64) -> u64 {
        match self {
            ArrivalTimes::Trace { times_ns, period_ns } => {
                times_ns[request as usize].saturating_add(repetition.saturating_mul(*period_ns))
            }
            ArrivalTimes::Rate { rate, requests } => {
                let index = u128::from(repetition) * u128::from(*requests) + u128::from(request);
                let ns = index * 1_000_000_000 * rate.denom() / rate.numer();
                ns.to_u64().unwrap_or(u64::MAX)
            }
            ArrivalTimes::Closed(_) => 0,
        }
    }

    /// Refuses arrivals so late that times behind them could not be told.
    ///
    /// # Errors
    ///
    /// A sentence that says what to change.
    pub(in crate::ssd) fn check_last(
        &self,
        trace: &str,
        repetitions: u32,
        requests: u64,
    ) -> Result<(), SimError> {
        if self.of(u64::from(repetitions) - 1, requests - 1) < LATEST_NS {
            return Ok(());
        }
        Err(SimError::usage(
            format!("{trace}: its last request would arrive after more than {LATEST_YEARS} years"),
            Text::from("give ")
                + option("arrivals")
                + " a higher speed or rate, or fewer repetitions",
        ))
    }

    /// At these times, this many times as fast.
    pub(super) fn at(times_ns: &[u64], speed: &Exact) -> ArrivalTimes {
        let first = times_ns.first().copied().unwrap_or(0);
        let times_ns: Vec<u64> = times_ns
            .iter()
            .map(|time| {
                let ns = u128::from(time - first) * speed.denom() / speed.numer();
                ns.to_u64().unwrap_or(u64::MAX)
            })
            .collect();
        let span_ns = times_ns.last().copied().unwrap_or(0);
        let gaps = (times_ns.len() as u64).saturating_sub(1).max(1);
        ArrivalTimes::Trace { period_ns: span_ns + span_ns / gaps, times_ns }
    }
}

/// When the requests of a trace arrive.
///
/// # Errors
///
/// The trace's own times are wanted, and it has none, or they run backwards and are not to be clamped.
pub(in crate::ssd) fn arrival_times(
    trace: &str,
    list: &RequestList,
    placed: &Placed,
    arrivals: &TimedArrivals,
    clamps_times: bool,
) -> Result<ArrivalTimes, SimError> {
    match arrivals {
        TimedArrivals::Closed(requests) => Ok(ArrivalTimes::Closed(*requests)),
        TimedArrivals::Rate(rate) => {
            let requests = super::requests::count(placed);
            Ok(ArrivalTimes::Rate { rate: *rate, requests })
        }
        TimedArrivals::Trace(speed) => {
            let mut times_ns = in_order(list).ok_or_else(|| {
                SimError::usage(format!("{trace}: the trace has no times of its own, so requests cannot arrive by them"), Text::from("give ") + option("arrivals") + " closed:Q or rate:X")
            })?;
            check_order(trace, &mut times_ns, clamps_times)?;
            Ok(ArrivalTimes::at(&times_ns, speed))
        }
    }
}

/// The times of requests and commands in their order; a command without one has that of the next request.
fn in_order(list: &RequestList) -> Option<Vec<u64>> {
    list.span_ns?;
    let times = list.times.as_ref()?;
    let mut commands = list.commands.iter().zip(&times.of_commands).peekable();
    let mut all = Vec::with_capacity(list.requests.len() + list.commands.len());
    for (index, &time) in times.of_requests.iter().enumerate() {
        while let Some((_, own)) = commands.next_if(|(command, _)| command.before <= index) {
            all.push(own.unwrap_or(time));
        }
        all.push(time);
    }
    for (_, own) in commands {
        let before = all.last().copied().unwrap_or(0);
        all.push(own.unwrap_or(before));
    }
    Some(all)
}

fn check_order(trace: &str, times_ns: &mut [u64], clamps: bool) -> Result<(), SimError> {
    for index in 1..times_ns.len() {
        let (before, time) = (times_ns[index - 1], times_ns[index]);
        if time < before {
            if !clamps {
                return Err(SimError::usage(
                    format!(
                        "{trace}: request {} comes at {time} ns, before request {index} at {before} ns",
                        index + 1
                    ),
                    Text::from("sort the trace, or add ") + option("clamp-times"),
                ));
            }
            times_ns[index] = before;
        }
    }
    Ok(())
}
