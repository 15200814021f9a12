//! Settings: parameters with their values, as text and checked.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use super::{Default, Parameter, Value};
use crate::Ratio;

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

    /// Writes a policy as it could be written, with all its values.
    pub(crate) fn write_behind(&self, policy: &str, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(policy)?;
        for (position, (name, value)) in self.iter().enumerate() {
            let separator = if position == 0 { ':' } else { ',' };
            write!(to, "{separator}{name}={value}")?;
        }
        Ok(())
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
