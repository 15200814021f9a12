//! Two tiers of memory as a profile describes them: latencies, bandwidths, endurance, and what software adds.
//! The format is described for users in `docs/memory.md`.

use std::collections::BTreeMap;

use include_dir::{Dir, include_dir};
use num_traits::{One, Zero};
use serde::Deserialize;
use toml::Spanned;

use crate::device::{BuiltIn, file_stem, nearest_name, read_text, texts_of};
use crate::error::DeviceError;
use crate::exact::{Exact, parse_decimal, readable};
use crate::profile::{Fault, parse_shape};
use crate::selection::Selection;

/// Every file here is a built-in profile; there is no other list.
static PROFILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/tier-profiles");

/// How fast one tier is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierSpeed {
    /// ns to read a line.
    pub read_ns: Exact,
    /// ns to write a line.
    pub write_ns: Exact,
    /// Bytes per ns that a copy of a page reads.
    pub read_gbps: Exact,
    /// Bytes per ns that a copy of a page writes.
    pub write_gbps: Exact,
}

/// What software takes, in ns each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierSoftware {
    /// Moving a page, beside copying it.
    pub migrate_ns: Exact,
    /// Demoting a page whose shadow is there.
    pub remap_ns: Exact,
    /// A hint fault.
    pub hint_fault_ns: Exact,
    /// A sample.
    pub sample_ns: Exact,
    /// Looking at the bits of a page.
    pub scan_ns: Exact,
    /// A fault that reads from storage, beside reading.
    pub fault_ns: Exact,
}

/// Two tiers with every option settled.
#[derive(Debug, Clone)]
pub struct MemoryTiers {
    name: String,
    target: String,
    summary: String,
    source: String,
    limits: Option<String>,
    values: Values,
    /// The fast tier.
    pub fast: TierSpeed,
    /// The slow tier.
    pub slow: TierSpeed,
    /// Writes that a cell of the slow tier endures, if that is known.
    pub endurance_writes: Option<Exact>,
    /// Bytes that a write of a line wears.
    pub write_unit_bytes: u64,
    /// Which share of the ideal life wear levelling reaches.
    pub wear_leveling: Exact,
    /// What software takes.
    pub software: TierSoftware,
}

/// The least value of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Least {
    Positive,
    Zero,
}

/// A key of a profile with its section, its least value, and its default.
struct Key(&'static str, &'static str, Least, Option<&'static str>);

impl Key {
    /// As an option writes it.
    fn option(&self) -> String {
        format!("{}_{}", self.0, self.1)
    }
}

const KEYS: [Key; 17] = [
    Key("fast", "read_ns", Least::Positive, None),
    Key("fast", "write_ns", Least::Positive, None),
    Key("fast", "read_gbps", Least::Positive, None),
    Key("fast", "write_gbps", Least::Positive, None),
    Key("slow", "read_ns", Least::Positive, None),
    Key("slow", "write_ns", Least::Positive, None),
    Key("slow", "read_gbps", Least::Positive, None),
    Key("slow", "write_gbps", Least::Positive, None),
    Key("slow", "endurance_writes", Least::Positive, Some("")),
    Key("slow", "write_unit_bytes", Least::Positive, Some("64")),
    Key("slow", "wear_leveling", Least::Positive, Some("1")),
    Key("software", "migrate_ns", Least::Zero, Some("2000")),
    Key("software", "remap_ns", Least::Zero, Some("1000")),
    Key("software", "hint_fault_ns", Least::Zero, Some("1000")),
    Key("software", "sample_ns", Least::Zero, Some("100")),
    Key("software", "scan_ns", Least::Zero, Some("10")),
    Key("software", "fault_ns", Least::Zero, Some("0")),
];

/// Values by the position of their keys.
type Values = [Option<Exact>; KEYS.len()];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileFile {
    summary: String,
    source: String,
    limits: Option<String>,
    fast: Spanned<Section>,
    slow: Spanned<Section>,
    software: Option<Spanned<Section>>,
}

type Section = BTreeMap<String, Spanned<toml::Value>>;

/// What a profile's file says.
struct Profile {
    summary: String,
    source: String,
    limits: Option<String>,
    values: Values,
}

impl Profile {
    fn parse(path: &str, text: &str) -> Result<Profile, DeviceError> {
        parse_shape(text).and_then(check).map_err(|fault| fault.into_error(path, text))
    }
}

fn check(file: ProfileFile) -> Result<Profile, Fault> {
    let mut values: Values = [None; KEYS.len()];
    let sections = [
        ("fast", Some(&file.fast)),
        ("slow", Some(&file.slow)),
        ("software", file.software.as_ref()),
    ];
    for (section, entries) in sections {
        let Some(entries) = entries else { continue };
        for (key, value) in entries.get_ref() {
            let fault = |problem| Fault { span: value.span(), problem };
            let known = |known: &Key| known.0 == section && known.1 == key;
            let Some(place) = KEYS.iter().position(known) else {
                return Err(fault(format!(
                    "[{section}] has no key {key}; it has {}",
                    keys(section)
                )));
            };
            values[place] = Some(parsed(place, &text_of(value.get_ref())).map_err(fault)?);
        }
        for (place, key) in KEYS.iter().enumerate().filter(|(_, key)| key.0 == section) {
            if values[place].is_none() && key.3.is_none() {
                let problem = format!("[{section}] has no {}; add it", key.1);
                return Err(Fault { span: entries.span(), problem });
            }
        }
    }
    let ProfileFile { summary, source, limits, .. } = file;
    Ok(Profile { summary, source, limits, values })
}

fn keys(section: &str) -> String {
    let names: Vec<&str> = KEYS.iter().filter(|key| key.0 == section).map(|key| key.1).collect();
    names.join(", ")
}

/// A number as its author wrote it.
fn text_of(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        number => number.to_string(),
    }
}

/// The value of the key at this place.
fn parsed(place: usize, text: &str) -> Result<Exact, String> {
    let Key(_, name, least, _) = KEYS[place];
    let is_zero =
        least == Least::Zero && text.trim_start_matches(['0', '.']).is_empty() && !text.is_empty();
    let value = if is_zero { Exact::zero() } else { parse_decimal(text)? };
    match name {
        "wear_leveling" if value > Exact::one() => {
            Err(format!("{name} {text} is above 1; give a share above 0 and at most 1"))
        }
        "write_unit_bytes" if !value.is_integer() => {
            Err(format!("{name} {text} is not whole; give a number of bytes"))
        }
        _ => Ok(value),
    }
}

/// The built-in profiles, in the order of their names.
pub fn built_in_tiers() -> Vec<BuiltIn> {
    let of_text = |(name, text): (&'static str, &'static str)| {
        let profile = Profile::parse(&format!("{name}.toml"), text)
            .expect("a test reads every built-in profile");
        BuiltIn { name: name.to_owned(), summary: profile.summary, source: profile.source }
    };
    texts_of(&PROFILES).into_iter().map(of_text).collect()
}

impl MemoryTiers {
    /// Finds two tiers by `NAME[:section_key=value,...]`, such as `cxl:slow_read_ns=250,software_migrate_ns=1500`. A key that
    /// only one section has may go without its section: `migrate_ns=1500`.
    ///
    /// NAME is a built-in profile, or else a path that ends in `.toml` or is an existing file.
    ///
    /// # Errors
    ///
    /// An unknown name (with the nearest known one), a file that cannot be read, a fault in the profile (with its line), an
    /// option that does not exist or a value that it does not take.
    pub fn named_or_file(text: &str) -> Result<MemoryTiers, DeviceError> {
        let selection = Selection::parse(text)?;
        let target = selection.target;
        let known = texts_of(&PROFILES).into_iter().find(|(name, _)| *name == target);
        let (name, mut profile) = if let Some((name, text)) = known {
            (name.to_owned(), Profile::parse(&format!("{name}.toml"), text)?)
        } else if selection.is_file() {
            (file_stem(target), Profile::parse(target, &read_text(target)?)?)
        } else {
            return Err(unknown(target));
        };
        for &(option, value) in &selection.options {
            let fault = |problem| DeviceError::Option { device: target.to_owned(), problem };
            let place = place_of(option).map_err(fault)?;
            let named = |problem| fault(format!("{option}={value}: {problem}"));
            profile.values[place] = Some(parsed(place, value).map_err(named)?);
        }
        Ok(MemoryTiers::of(name, target.to_owned(), profile))
    }

    fn of(name: String, target: String, profile: Profile) -> MemoryTiers {
        let Profile { summary, source, limits, values } = profile;
        let optional = |section, name| {
            let place = KEYS.iter().position(|key| key.0 == section && key.1 == name);
            let place = place.expect("it is a key");
            let default = KEYS[place].3.filter(|text| !text.is_empty());
            values[place].or_else(|| default.map(|text| parsed(place, text).expect("a default")))
        };
        let value = |section, name| optional(section, name).expect("a required key is there");
        let speed = |section| TierSpeed {
            read_ns: value(section, "read_ns"),
            write_ns: value(section, "write_ns"),
            read_gbps: value(section, "read_gbps"),
            write_gbps: value(section, "write_gbps"),
        };
        MemoryTiers {
            fast: speed("fast"),
            slow: speed("slow"),
            endurance_writes: optional("slow", "endurance_writes"),
            write_unit_bytes: value("slow", "write_unit_bytes").to_integer() as u64,
            wear_leveling: value("slow", "wear_leveling"),
            software: TierSoftware {
                migrate_ns: value("software", "migrate_ns"),
                remap_ns: value("software", "remap_ns"),
                hint_fault_ns: value("software", "hint_fault_ns"),
                sample_ns: value("software", "sample_ns"),
                scan_ns: value("software", "scan_ns"),
                fault_ns: value("software", "fault_ns"),
            },
            name,
            target,
            summary,
            source,
            limits,
            values,
        }
    }

    /// The built-in name, or the file's name without `.toml`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The tiers in one line.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// The source of the numbers, and which are assumed.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The text that gives these tiers again, with every value that the profile or an option gives.
    pub fn resolved(&self) -> String {
        let given = KEYS.iter().zip(&self.values).filter_map(|(key, value)| {
            let value = (*value)?;
            let text = readable(&value);
            Some(format!("{}={}", key.option(), text.split(' ').next().unwrap_or(&text)))
        });
        format!("{}:{}", self.target, given.collect::<Vec<_>>().join(","))
    }

    /// What a line costs more to write in the slow tier than to read, at least 1: the default of the policies' `c`.
    pub fn write_read_ratio(&self) -> Exact {
        (self.slow.write_ns / self.slow.read_ns).max(Exact::one())
    }

    /// All facts as plain text, one per line.
    pub fn description(&self) -> String {
        let mut lines = vec![format!("{}: {}", self.name, self.summary), String::new()];
        lines.push(format!("source: {}", self.source));
        lines.extend(self.limits.as_ref().map(|limits| format!("limits: {limits}")));
        for (key, value) in KEYS.iter().zip(&self.values) {
            let text = match (value, key.3) {
                (Some(value), _) => readable(value),
                (None, Some("")) | (None, None) => "not stated".to_owned(),
                (None, Some(default)) => format!("{default} (default)"),
            };
            lines.push(format!("{}: {text}", key.option()));
        }
        lines.push(String::new());
        lines.join("\n")
    }
}

/// The place of the key that an option names.
fn place_of(option: &str) -> Result<usize, String> {
    let places = |matches: &dyn Fn(&Key) -> bool| {
        KEYS.iter()
            .enumerate()
            .filter(|(_, key)| matches(key))
            .map(|(at, _)| at)
            .collect::<Vec<_>>()
    };
    let exact = places(&|key| key.option() == option);
    let short = places(&|key| key.1 == option);
    match (exact.as_slice(), short.as_slice()) {
        (&[place], _) | (_, &[place]) => Ok(place),
        _ => {
            let names: Vec<String> = KEYS.iter().map(Key::option).collect();
            Err(format!("there is no option {option}; there are {}", names.join(", ")))
        }
    }
}

fn unknown(name: &str) -> DeviceError {
    let names: Vec<&str> = texts_of(&PROFILES).into_iter().map(|(name, _)| name).collect();
    let remedy = nearest_name(&names, name).map_or_else(
        || format!("use {} or a file ending in .toml", names.join(", ")),
        |nearest| format!("did you mean '{nearest}'?"),
    );
    DeviceError::UnknownTiers { name: name.to_owned(), remedy }
}

#[cfg(test)]
mod tests;
