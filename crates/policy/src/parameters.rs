//! What a user may set of a policy: named, with a range and a default, checked once.

mod settings;

use alloc::format;
use alloc::string::String;
use core::fmt;

use crate::Ratio;
pub use settings::{Settings, SettingsError, name_and_settings};
pub(crate) use settings::{Surroundings, complete, parse_settings};

/// A parameter as the catalog lists it.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The name in `policy:name=value`.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Which values are allowed.
    pub domain: Domain,
    /// The value when none is given.
    pub default: Default,
    /// Another parameter and its value without which this one has no effect and is refused.
    pub only_with: Option<(&'static str, &'static str)>,
}

impl Parameter {
    /// The cost of a write as policies know it: at least that of a read, and the device's if none is given.
    pub(crate) const WRITE_COST: Parameter = Parameter {
        name: "c",
        summary: "cost of a page write over that of a page read",
        domain: Domain::Ratio { min: Ratio::whole(1), max: None },
        default: Default::DeviceRatio,
        only_with: None,
    };

    /// A share of something, from 0 to 1.
    pub const fn share(name: &'static str, summary: &'static str, default: &'static str) -> Self {
        Parameter {
            name,
            summary,
            domain: Domain::Ratio { min: Ratio::whole(0), max: Some(Ratio::whole(1)) },
            default: Default::Value(default),
            only_with: None,
        }
    }
}

/// The allowed values of a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Domain {
    /// A whole number in this range.
    Count {
        /// The smallest value.
        min: u64,
        /// The largest value.
        max: u64,
    },
    /// An exact rational number in this range; no upper end if `max` is `None`.
    Ratio {
        /// The smallest value.
        min: Ratio,
        /// The largest value.
        max: Option<Ratio>,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
}

/// The value of a parameter that is not given.
#[derive(Clone, Copy, Debug)]
pub enum Default {
    /// This value.
    Value(&'static str),
    /// The device's cost of a page write over that of a page read.
    DeviceRatio,
    /// `max(1, floor(frames / divisor))`.
    FramesOver(u32),
    /// `frames * factor`.
    FramesTimes(u32),
    /// `max(1, min(most, floor(frames / 4)))`: how many pages a kernel frees at once.
    QuarterOfFrames {
        /// The most that it is.
        most: u32,
    },
    /// The seed of the run.
    Seed,
    /// None: the parameter replaces another one, which then has no value.
    InsteadOf(&'static str),
}

/// A checked value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A whole number.
    Count(u64),
    /// An exact rational number.
    Ratio(Ratio),
    /// One of the words of a [`Domain::Choice`].
    Choice(&'static str),
    /// True or false.
    Flag(bool),
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Count(value) => write!(formatter, "{value}"),
            Value::Ratio(value) => write!(formatter, "{value}"),
            Value::Choice(value) => formatter.write_str(value),
            Value::Flag(value) => write!(formatter, "{value}"),
        }
    }
}

/// The words as a sentence gives a choice of them: `a`, `a or b` or `a, b or c`.
pub fn one_of(words: &[&str]) -> String {
    match words {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => words.concat(),
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Domain::Count { min, max: u64::MAX } => write!(formatter, "a whole number from {min}"),
            Domain::Count { min, max } => write!(formatter, "a whole number from {min} to {max}"),
            Domain::Ratio { min, max: None } => {
                write!(formatter, "a number such as 8, 13.3 or 40/3, from {min}")
            }
            Domain::Ratio { min, max: Some(max) } => {
                write!(formatter, "a number such as 1/3 or 0.25, from {min} to {max}")
            }
            Domain::Choice(words) => formatter.write_str(&one_of(words)),
            Domain::Flag => formatter.write_str("true or false"),
        }
    }
}

impl fmt::Display for Default {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Default::Value(value) => formatter.write_str(value),
            Default::DeviceRatio => formatter.write_str("the device's write/read cost ratio"),
            Default::FramesOver(divisor) => write!(formatter, "max(1, floor(frames / {divisor}))"),
            Default::FramesTimes(factor) => write!(formatter, "{factor} * frames"),
            Default::QuarterOfFrames { most } => {
                write!(formatter, "max(1, min({most}, floor(frames / 4)))")
            }
            Default::Seed => formatter.write_str("the seed of the run"),
            Default::InsteadOf(other) => write!(formatter, "none; takes the place of {other}"),
        }
    }
}

impl Domain {
    /// Reads a value; `None` if it is not of the domain.
    pub(crate) fn parse(&self, text: &str) -> Option<Value> {
        match *self {
            Domain::Count { min, max } => {
                let digits = text.bytes().all(|byte| byte.is_ascii_digit());
                let value = text.parse().ok().filter(|_| digits)?;
                (min..=max).contains(&value).then_some(Value::Count(value))
            }
            Domain::Ratio { min, max } => {
                let value: Ratio = text.parse().ok()?;
                let below = max.is_none_or(|max| value <= max);
                (value >= min && below).then_some(Value::Ratio(value))
            }
            Domain::Choice(words) => {
                words.iter().find(|&&word| word == text).map(|word| Value::Choice(word))
            }
            Domain::Flag => match text {
                "true" | "1" => Some(Value::Flag(true)),
                "false" | "0" => Some(Value::Flag(false)),
                _ => None,
            },
        }
    }
}
