//! When requests arrive.

use std::fmt;

use super::random::Random;
use crate::error::TraceError;
use crate::quantity;

/// The times of requests, from a rate in requests per second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrivals {
    process: Process,
    /// Requests in 10^9 seconds.
    per_gigasecond: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Process {
    Constant,
    Poisson,
}

impl Arrivals {
    const DECIMALS: usize = 9;
    /// Ten years; a longer trace is a mistyped rate, and 64 bits would soon not hold its times.
    const LONGEST_SECONDS: u64 = 10 * 365 * 24 * 3600;

    /// Reads `constant:RATE` or `poisson:RATE`, in requests per second.
    ///
    /// # Errors
    /// [`TraceError::Recipe`] that quotes the text and says what is allowed.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let refused = || {
            TraceError::recipe(format!(
                "arrivals {text:?} are not known; write constant:RATE or poisson:RATE with the requests \
                 per second, such as poisson:1000"
            ))
        };
        let (process, rate) = text.trim().split_once(':').ok_or_else(refused)?;
        let process = match process {
            "constant" => Process::Constant,
            "poisson" => Process::Poisson,
            _ => return Err(refused()),
        };
        let rate = quantity::decimal(rate, Self::DECIMALS).filter(|&rate| rate > 0);
        Ok(Self { process, per_gigasecond: rate.ok_or_else(refused)? })
    }

    /// Refuses rates at which this many requests take too long.
    pub(super) fn check(self, requests: u64) -> Result<(), TraceError> {
        let seconds = u128::from(requests) * 1_000_000_000 / u128::from(self.per_gigasecond);
        if seconds <= u128::from(Self::LONGEST_SECONDS) {
            return Ok(());
        }
        Err(TraceError::recipe(format!(
            "{requests} requests with arrivals {self} take more than ten years; give a higher rate"
        )))
    }
}

impl fmt::Display for Arrivals {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let process = match self.process {
            Process::Constant => "constant",
            Process::Poisson => "poisson",
        };
        write!(
            formatter,
            "{process}:{}",
            quantity::decimal_text(self.per_gigasecond, Self::DECIMALS)
        )
    }
}

/// A clock that moves from request to request; the first one arrives at 0.
#[derive(Clone, Debug)]
pub(super) struct ArrivalClock {
    arrivals: Arrivals,
    random: Random,
    arrived: u64,
    poisson_ns: u64,
}

impl ArrivalClock {
    pub(super) fn new(arrivals: Arrivals, random: Random) -> Self {
        Self { arrivals, random, arrived: 0, poisson_ns: 0 }
    }

    /// The time of the next request in nanoseconds.
    pub(super) fn next_ns(&mut self) -> u64 {
        let index = self.arrived;
        self.arrived += 1;
        let rate = self.arrivals.per_gigasecond;
        match self.arrivals.process {
            Process::Constant => {
                (u128::from(index) * 1_000_000_000_000_000_000 / u128::from(rate)) as u64
            }
            Process::Poisson => {
                let now_ns = self.poisson_ns;
                let mean_gap_ns = 1e18 / rate as f64;
                let gap_ns = -libm::log(self.random.positive_unit()) * mean_gap_ns;
                self.poisson_ns = now_ns.saturating_add((gap_ns + 0.5) as u64);
                now_ns
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(text: &str, count: usize) -> Vec<u64> {
        let mut clock = ArrivalClock::new(Arrivals::parse(text).unwrap(), Random::new(5));
        (0..count).map(|_| clock.next_ns()).collect()
    }

    #[test]
    fn constant_arrivals_never_drift() {
        assert_eq!(times("constant:3", 4), [0, 333_333_333, 666_666_666, 1_000_000_000]);
        assert_eq!(times("constant:0.5", 3), [0, 2_000_000_000, 4_000_000_000]);
    }

    #[test]
    fn gaps_of_poisson_arrivals_have_the_mean_and_deviation_of_an_exponential() {
        const GAPS: usize = 200_000;
        let times = times("poisson:1000", GAPS + 1);
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / GAPS as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / GAPS as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.01, "mean {mean} ns");
        assert!((variance.sqrt() / 1e6 - 1.0).abs() < 0.015, "deviation {} ns", variance.sqrt());
    }

    #[test]
    fn what_is_no_rate_is_refused_with_the_text() {
        for text in ["", "1000", "poisson", "poisson:0", "poisson:-1", "poisson:fast", "burst:9"] {
            let message = Arrivals::parse(text).unwrap_err().to_string();
            assert!(message.contains(&format!("arrivals {text:?}")), "{message}");
        }
        assert!(Arrivals::parse("constant:0.001").unwrap().check(1_000_000).is_err());
        assert_eq!(Arrivals::parse("poisson:0.25").unwrap().to_string(), "poisson:0.25");
    }
}
