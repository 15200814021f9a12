//! What a user may set of a policy: named, with a range and a default, checked once.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::Ratio;

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

/// The parameters that count pages or references, and therefore shrink with a sample of the pages.
const SCALED: [&str; 5] = ["period", "window_pages", "step", "batch", "cluster_pages"];

/// The parameters of one policy with their checked values, in the order of the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings(Vec<(&'static str, Value)>);

impl Settings {
    pub(crate) fn new(values: Vec<(&'static str, Value)>) -> Self {
        Settings(values)
    }

    /// The same settings for a sample of the pages: counts of pages and of references are multiplied by `numerator` /
    /// `denominator` and rounded; what was at least 1 stays so.
    pub(crate) fn scaled(&self, numerator: u64, denominator: u64) -> Self {
        let scale = |count: u64| {
            let exact = u128::from(count) * u128::from(numerator);
            let rounded = (exact + u128::from(denominator) / 2) / u128::from(denominator);
            u64::try_from(rounded).unwrap_or(u64::MAX).max(count.min(1))
        };
        let value_of = |(name, value)| match value {
            Value::Count(count) if SCALED.contains(&name) => (name, Value::Count(scale(count))),
            other => (name, other),
        };
        Settings(self.0.iter().copied().map(value_of).collect())
    }

    /// The value of `name`, if it has one.
    pub fn get(&self, name: &str) -> Option<Value> {
        self.0.iter().find(|(own, _)| *own == name).map(|&(_, value)| value)
    }

    /// The values that a parameter's name, as used by the policy's own code, must have.
    pub(crate) fn count(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(Value::Count(value)) => Some(value),
            None => None,
            other => panic!("{name} is no count: {other:?}"),
        }
    }

    pub(crate) fn ratio(&self, name: &str) -> Option<Ratio> {
        match self.get(name) {
            Some(Value::Ratio(value)) => Some(value),
            None => None,
            other => panic!("{name} is no ratio: {other:?}"),
        }
    }

    pub(crate) fn choice(&self, name: &str) -> &'static str {
        match self.get(name) {
            Some(Value::Choice(value)) => value,
            other => panic!("{name} is no choice: {other:?}"),
        }
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        match self.get(name) {
            Some(Value::Flag(value)) => value,
            other => panic!("{name} is no flag: {other:?}"),
        }
    }

    /// Iterates over names and values in the order of the catalog.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Value)> + '_ {
        self.0.iter().copied()
    }
}

/// Why a policy's text or settings are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingsError {
    /// No policy has this name.
    UnknownPolicy {
        /// What was written.
        name: String,
    },
    /// There is no write buffer of this name, and no policy either.
    UnknownBuffer {
        /// What was written.
        name: String,
    },
    /// The policy has no parameter of this name.
    UnknownParameter {
        /// The policy.
        policy: &'static str,
        /// What was written.
        name: String,
    },
    /// Anything else, as a sentence.
    Refused(String),
}

impl fmt::Display for SettingsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingsError::UnknownPolicy { name } => {
                write!(formatter, "there is no policy {name:?}")
            }
            SettingsError::UnknownBuffer { name } => {
                write!(formatter, "there is no write buffer {name:?}")
            }
            SettingsError::UnknownParameter { policy, name } => {
                write!(formatter, "policy {policy} has no parameter {name:?}")
            }
            SettingsError::Refused(sentence) => formatter.write_str(sentence),
        }
    }
}

impl core::error::Error for SettingsError {}

/// What ends the file of a policy in Python, or of a library of policies, and begins its name there.
const BEFORE_NAME: [&str; 2] = [".py:", ".so:"];

/// The name of a policy or a write buffer in its text, and what stands behind the colon. A policy in Python has the
/// name `FILE.py:CLASS`, and one of a library `FILE.so:NAME`.
pub fn name_and_settings(text: &str) -> (&str, Option<&str>) {
    let ends = BEFORE_NAME.iter().filter_map(|end| text.find(end).map(|start| start + end.len()));
    let own = ends.min().unwrap_or(0);
    match text[own..].find(':') {
        Some(length) => (&text[..own + length], Some(&text[own + length + 1..])),
        None => (text, None),
    }
}

/// Splits `name=value` pairs and checks each against the table; refuses doubles and contradictions.
pub(crate) fn parse_settings(
    policy: &'static str,
    parameters: &'static [Parameter],
    text: &str,
) -> Result<Vec<(&'static str, Value)>, SettingsError> {
    let mut given = Vec::new();
    for pair in text.split(',') {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(SettingsError::Refused(format!(
                "policy {policy}: {pair:?} is not of the form parameter=value"
            )));
        };
        let Some(parameter) = parameters.iter().find(|parameter| parameter.name == name) else {
            return Err(SettingsError::UnknownParameter { policy, name: name.to_owned() });
        };
        let Some(value) = parameter.domain.parse(value) else {
            return Err(SettingsError::Refused(format!(
                "policy {policy}: {name}={value} is out of range; it takes {}",
                parameter.domain
            )));
        };
        if given.iter().any(|(other, _)| *other == parameter.name) {
            return Err(SettingsError::Refused(format!("policy {policy}: {name} is given twice")));
        }
        given.push((parameter.name, value));
    }
    check_combination(policy, parameters, &given)?;
    Ok(given)
}

fn check_combination(
    policy: &'static str,
    parameters: &'static [Parameter],
    given: &[(&'static str, Value)],
) -> Result<(), SettingsError> {
    let is_given = |name: &str| given.iter().find(|(other, _)| *other == name);
    for parameter in parameters.iter().filter(|parameter| is_given(parameter.name).is_some()) {
        let name = parameter.name;
        if let Default::InsteadOf(other) = parameter.default
            && is_given(other).is_some()
        {
            return Err(SettingsError::Refused(format!(
                "policy {policy}: {name} and {other} exclude each other; give one of them"
            )));
        }
        if let Some((other, needed)) = parameter.only_with
            && is_given(other).is_none_or(|(_, value)| value.to_string() != needed)
        {
            return Err(SettingsError::Refused(format!(
                "policy {policy}: {name} has an effect only with {other}={needed}; add it or leave {name} out"
            )));
        }
    }
    Ok(())
}

/// What defaults may depend on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings {
    pub(crate) frames: u32,
    pub(crate) device_ratio: Ratio,
    pub(crate) seed: u64,
}

/// Adds the default of each parameter that is not given.
pub(crate) fn complete(
    policy: &'static str,
    parameters: &'static [Parameter],
    given: &[(&'static str, Value)],
    surroundings: Surroundings,
) -> Result<Settings, SettingsError> {
    let find = |name: &str| given.iter().find(|(other, _)| *other == name).map(|&(_, value)| value);
    let replaced = |name: &str| {
        parameters.iter().any(|other| {
            matches!(other.default, Default::InsteadOf(mine) if mine == name)
                && find(other.name).is_some()
        })
    };
    let mut values: Vec<(&'static str, Value)> = Vec::new();
    for parameter in parameters {
        if let Some(value) = find(parameter.name) {
            values.push((parameter.name, value));
            continue;
        }
        let unused = parameter.only_with.is_some_and(|(other, needed)| {
            !values.iter().any(|(name, value)| *name == other && value.to_string() == needed)
        });
        if unused || replaced(parameter.name) {
            continue;
        }
        let text = match parameter.default {
            Default::Value(text) => text.to_owned(),
            Default::DeviceRatio => surroundings.device_ratio.to_string(),
            Default::FramesOver(divisor) => (surroundings.frames / divisor).max(1).to_string(),
            Default::FramesTimes(factor) => {
                (u64::from(surroundings.frames) * u64::from(factor)).to_string()
            }
            Default::QuarterOfFrames { most } => {
                (surroundings.frames / 4).clamp(1, most).to_string()
            }
            Default::Seed => surroundings.seed.to_string(),
            Default::InsteadOf(_) => continue,
        };
        let Some(value) = parameter.domain.parse(&text) else {
            return Err(SettingsError::Refused(format!(
                "policy {policy}: {} would be {text}, from {}, but takes {}; give {}=VALUE",
                parameter.name, parameter.default, parameter.domain, parameter.name
            )));
        };
        values.push((parameter.name, value));
    }
    Ok(Settings::new(values))
}
