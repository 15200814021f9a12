//! How long requests take, from their arrival to their answer.

use std::time::Duration;

use hdrhistogram::Histogram;

/// The command that a time is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timed {
    /// READ.
    Read,
    /// WRITE.
    Write,
    /// FLUSH.
    Flush,
    /// TRIM and WRITE_ZEROES.
    Trim,
}

impl Timed {
    /// All, in the order of their values.
    pub const ALL: [Timed; 4] = [Timed::Read, Timed::Write, Timed::Flush, Timed::Trim];

    /// Its name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Timed::Read => "read",
            Timed::Write => "write",
            Timed::Flush => "flush",
            Timed::Trim => "trim",
        }
    }
}

/// Upper bounds of the metrics' buckets, in microseconds.
pub const BUCKETS_US: [u64; 12] =
    [10, 25, 50, 100, 250, 500, 1_000, 5_000, 25_000, 100_000, 500_000, 2_500_000];

/// The times of one command.
#[derive(Clone, Debug)]
pub struct Times {
    nanoseconds: Histogram<u64>,
    sum: Duration,
}

impl Times {
    fn new() -> Self {
        let nanoseconds = Histogram::new(3).expect("3 digits are few enough");
        Times { nanoseconds, sum: Duration::ZERO }
    }

    /// The time within which this share of the requests was answered, if there was one.
    pub fn quantile_us(&self, share: f64) -> Option<f64> {
        let is_empty = self.nanoseconds.is_empty();
        (!is_empty).then(|| self.nanoseconds.value_at_quantile(share) as f64 / 1000.0)
    }

    /// Requests.
    pub fn count(&self) -> u64 {
        self.nanoseconds.len()
    }

    /// The time of all requests together.
    pub fn sum(&self) -> Duration {
        self.sum
    }

    /// Requests that took at most so long, about.
    pub fn count_up_to_us(&self, bound_us: u64) -> u64 {
        self.nanoseconds.count_between(0, bound_us * 1000)
    }

    /// Forgets what was timed.
    pub fn reset(&mut self) {
        self.nanoseconds.reset();
        self.sum = Duration::ZERO;
    }
}

/// The times of all commands.
#[derive(Clone, Debug)]
pub struct Latencies([Times; 4]);

impl Default for Latencies {
    fn default() -> Self {
        Latencies([Times::new(), Times::new(), Times::new(), Times::new()])
    }
}

impl Latencies {
    /// A request was answered.
    pub fn add(&mut self, timed: Timed, took: Duration) {
        let times = &mut self.0[timed as usize];
        times.sum += took;
        times.nanoseconds.saturating_record(took.as_nanos().try_into().unwrap_or(u64::MAX));
    }

    /// The times of one command.
    pub fn of(&self, timed: Timed) -> &Times {
        &self.0[timed as usize]
    }

    /// Forgets what was timed.
    pub fn reset(&mut self) {
        self.0.iter_mut().for_each(Times::reset);
    }
}
