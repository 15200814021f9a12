//! The effort of narrowing the bracket of the optimum.

use std::fmt;
use std::str::FromStr;

use clockhand_policy::Ratio;
use clockhand_quantity::Text;

use crate::error::SimError;

/// Seconds that a cell may take about, on a machine that takes 50 million steps a second. They are turned into a number of
/// steps that depends on nothing but the trace and the memory size, so that results are the same everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort(Ratio);

impl Effort {
    /// No effort: the bounds that need no prices.
    pub const NONE: Effort = Effort(Ratio::whole(0));
    /// Spans and priced steps that a common machine goes over in a second.
    const WORK_PER_SECOND: u64 = 50_000_000;
    const LARGEST: Ratio = Ratio::whole(3600);
    const MOST_STEPS: u64 = 1_000_000;

    /// Reads seconds.
    ///
    /// # Errors
    ///
    /// A sentence with the allowed range; `what` is what was given, up to the value.
    pub fn parse(what: impl Into<Text>, seconds: &str) -> Result<Self, SimError> {
        let ratio = Ratio::from_str(seconds).ok().filter(|&ratio| ratio <= Self::LARGEST);
        ratio.map(Effort).ok_or_else(|| {
            SimError::usage(
                what.into() + format!("{seconds} is out of range"),
                "it takes seconds per memory size, such as 2 or 0.5, from 0 to 3600",
            )
        })
    }

    /// The number of price adjustments, if each goes over `work` spans and priced steps.
    pub(crate) fn steps(self, work: usize) -> u32 {
        let all = u128::from(self.0.numerator()) * u128::from(Self::WORK_PER_SECOND)
            / u128::from(self.0.denominator());
        (all / (work as u128 + 1)).min(Self::MOST_STEPS.into()) as u32
    }
}

impl Default for Effort {
    fn default() -> Self {
        Effort(Ratio::whole(2))
    }
}

impl fmt::Display for Effort {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use clockhand_quantity::option;

    use super::*;

    #[test]
    fn seconds_become_steps_by_the_size_of_the_problem_alone() {
        let effort = |text| Effort::parse("effort=", text).expect("seconds");
        assert_eq!(effort("2").steps(999_999), 100);
        assert_eq!(effort("0.5").steps(999_999), 25);
        assert_eq!(effort("3600").steps(0), 1_000_000);
        assert_eq!(effort("0").steps(10), 0);
    }

    #[test]
    fn what_is_no_number_of_seconds_is_refused() {
        for text in ["", "-1", "x", "3601", "1e3", "1/0"] {
            let error = Effort::parse(option("bound-effort") + " ", text).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("--bound-effort {text} is out of range; ")),
                "{error}"
            );
        }
    }
}
