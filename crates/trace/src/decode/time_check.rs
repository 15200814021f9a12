//! Whether the times of a trace can be right.
//!
//! Formats that share their columns differ in the unit of time, and traces get rescaled or saved
//! with another unit. A factor of a thousand or a million shows in how fast the requests seem to
//! arrive. The times stay as they are; a note says what is odd about them.

/// Requests of a device that is in use come closer than this, on average.
const LONGEST_GAP_S: f64 = 100.0;
/// Block traces are taken for hours to weeks.
const LONGEST_SPAN_S: f64 = 366.0 * SECONDS_PER_DAY;
const SECONDS_PER_DAY: f64 = 86_400.0;
/// With fewer requests than this the rate is not judged.
const FEWEST_REQUESTS: u64 = 10;

/// The unit of a format's times, if makers or readers of such traces mistake it for another.
#[derive(Clone, Copy)]
pub(crate) struct TimeUnit {
    plural: &'static str,
    /// More requests in a second, on average, are a sign of another unit.
    fastest_per_second: f64,
}

impl TimeUnit {
    /// For traces that were recorded while devices were in use: no published one comes near
    /// 10,000 requests per second.
    pub(crate) const fn of_recordings(plural: &'static str) -> Self {
        Self { plural, fastest_per_second: 10_000.0 }
    }

    /// For traces of benchmarks, which drive fast devices to their limit.
    pub(crate) const fn of_benchmarks(plural: &'static str) -> Self {
        Self { plural, fastest_per_second: 10_000_000.0 }
    }
}

/// Watches the times of all requests.
pub(crate) struct TimeCheck {
    unit: TimeUnit,
    requests: u64,
    earliest_ns: u64,
    latest_ns: u64,
}

impl TimeCheck {
    pub(crate) fn new(unit: TimeUnit) -> Self {
        Self { unit, requests: 0, earliest_ns: u64::MAX, latest_ns: 0 }
    }

    pub(crate) fn observe(&mut self, times_ns: impl Iterator<Item = Option<u64>>) {
        for time_ns in times_ns.flatten() {
            self.requests += 1;
            self.earliest_ns = self.earliest_ns.min(time_ns);
            self.latest_ns = self.latest_ns.max(time_ns);
        }
    }

    /// What is implausible about the times of the whole trace, as a note.
    pub(crate) fn doubt(&self) -> Option<String> {
        if self.requests < FEWEST_REQUESTS {
            return None;
        }
        let span_s = (self.latest_ns - self.earliest_ns) as f64 / 1e9;
        let gap_s = span_s / self.requests as f64;
        let what = if span_s == 0.0 {
            "all requests have the same time".to_owned()
        } else if gap_s < 1.0 / self.unit.fastest_per_second {
            format!(
                "{} requests take only {}, {:.0} in a second",
                self.requests,
                duration(span_s),
                1.0 / gap_s
            )
        } else if gap_s > LONGEST_GAP_S || span_s > LONGEST_SPAN_S {
            format!(
                "{} requests take {}, one in {}",
                self.requests,
                duration(span_s),
                duration(gap_s)
            )
        } else {
            return None;
        };
        Some(format!(
            "check the unit of the times: read as {}, {what}; if that is wrong then trust only their order",
            self.unit.plural
        ))
    }
}

/// A time in the unit that suits it.
fn duration(time_s: f64) -> String {
    match time_s {
        _ if time_s >= 2.0 * SECONDS_PER_DAY => format!("{:.1} days", time_s / SECONDS_PER_DAY),
        _ if time_s >= 1.0 => format!("{time_s:.1} s"),
        _ if time_s >= 1e-3 => format!("{:.1} ms", time_s * 1e3),
        _ => format!("{:.3} us", time_s * 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The doubt about `requests` requests in steps of `step_ns`.
    fn doubt(requests: u64, step_ns: u64) -> Option<String> {
        let mut check = TimeCheck::new(TimeUnit::of_recordings("nanoseconds"));
        for index in 0..requests {
            let time_ns = Some(1_000_000_000_000_000_000 + index * step_ns);
            check.observe([time_ns].into_iter());
        }
        check.doubt()
    }

    #[test]
    fn a_day_of_milliseconds_read_as_nanoseconds_gets_a_note() {
        let note = doubt(86_400, 1_000).unwrap();
        assert!(note.contains("read as nanoseconds"), "{note}");
        assert!(note.contains("86400 requests take only 86.4 ms, 1000012 in a second"), "{note}");
    }

    #[test]
    fn a_second_of_nanoseconds_read_as_milliseconds_gets_a_note() {
        let note = doubt(5_000, 200_000 * 1_000_000).unwrap();
        assert!(note.contains("5000 requests take 11.6 days, one in 200.0 s"), "{note}");
    }

    #[test]
    fn years_of_requests_get_a_note() {
        let note = doubt(1_000_000, 40_000_000_000).unwrap();
        assert!(note.contains("463.0 days"), "{note}");
    }

    #[test]
    fn one_time_for_all_gets_a_note() {
        assert!(doubt(10, 0).unwrap().contains("all requests have the same time"));
    }

    #[test]
    fn usual_rates_and_few_requests_get_none() {
        for step_ns in [120_000, 1_000_000, 13_500_000_000] {
            assert_eq!(doubt(44_519, step_ns), None);
        }
        assert_eq!(doubt(9, 1), None);
    }
}
