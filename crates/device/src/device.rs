//! A device: a profile with its options settled.

use std::path::Path;

use clockhand_quantity::{Text, command};
use include_dir::{Dir, include_dir};
use num_traits::One;

use crate::cost::{PageCost, page_cost};
use crate::error::DeviceError;
use crate::exact::{Exact, exact_text, parse_fraction, readable};
use crate::profile::Profile;
use crate::selection::Selection;

/// Every file here is a built-in device; there is no other list.
static PROFILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/profiles");

/// One line of the list of built-in devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltIn {
    /// The name that `--device` takes.
    pub name: String,
    /// One line.
    pub summary: String,
    /// Where the numbers come from.
    pub source: String,
}

/// The built-in devices, in the order of their names.
pub fn built_in() -> Vec<BuiltIn> {
    built_in_texts()
        .into_iter()
        .map(|(name, text)| {
            let profile = Profile::parse(&format!("{name}.toml"), text)
                .expect("a test reads every built-in profile");
            BuiltIn { name: name.to_owned(), summary: profile.summary, source: profile.source }
        })
        .collect()
}

fn built_in_texts() -> Vec<(&'static str, &'static str)> {
    texts_of(&PROFILES)
}

/// Name and text of every profile in a folder, in the order of their names.
pub(crate) fn texts_of(folder: &'static Dir<'_>) -> Vec<(&'static str, &'static str)> {
    let mut texts: Vec<_> = folder
        .files()
        .filter_map(|file| {
            let name = file.path().to_str()?.strip_suffix(".toml")?;
            Some((name, file.contents_utf8()?))
        })
        .collect();
    texts.sort_unstable();
    texts
}

/// A resolved device profile: what a page costs, and where the numbers come from.
#[derive(Debug, Clone)]
pub struct Device {
    name: String,
    /// The built-in name or the path, as given.
    target: String,
    pub(crate) profile: Profile,
    pub(crate) ratio: Exact,
    pub(crate) erase_charged: bool,
    pub(crate) cost_of_4_kib: PageCost,
}

impl Device {
    /// Finds a device by `NAME[:option=value,...]`.
    ///
    /// NAME is a built-in device, or else a path that ends in `.toml` or is an existing file. Options:
    /// `erase=true|false` where the profile has an erase, `ratio=NUMBER` where it has a ratio.
    ///
    /// # Errors
    ///
    /// An unknown name (with the nearest known one), a file that cannot be read, a fault in the
    /// profile (with its line), an option that the device does not have or a value it does not take.
    pub fn named_or_file(text: &str) -> Result<Device, DeviceError> {
        let selection = Selection::parse(text)?;
        let target = selection.target;
        let known = built_in_texts().into_iter().find(|(name, _)| *name == target);
        let (name, profile) = if let Some((name, text)) = known {
            (name.to_owned(), Profile::parse(&format!("{name}.toml"), text)?)
        } else if selection.is_file() {
            (file_stem(target), Profile::parse(target, &read_text(target)?)?)
        } else {
            return Err(unknown(target));
        };
        Device::resolve(name, &selection, profile)
    }

    fn resolve(
        name: String,
        selection: &Selection<'_>,
        profile: Profile,
    ) -> Result<Device, DeviceError> {
        let mut ratio = profile.ratio.as_ref().map_or_else(Exact::one, |option| option.default);
        let mut erase_charged = profile.erase_charged;
        for (key, value) in &selection.options {
            let parsed = match *key {
                "ratio" if profile.ratio.is_some() => {
                    parse_ratio(&profile, value).map(|value| ratio = value)
                }
                "erase" if profile.erase.is_some() => {
                    parse_erase(value).map(|value| erase_charged = value)
                }
                _ => Err(unknown_option(&profile, key)),
            };
            parsed.map_err(|problem| DeviceError::Option {
                device: selection.target.to_owned(),
                problem,
            })?;
        }
        let target = selection.target.to_owned();
        let resolved = resolved_text(&target, &profile, erase_charged, &ratio);
        // Pricing one page here means that a profile with absurd numbers fails when it is read.
        let cost_of_4_kib = page_cost(&profile, erase_charged, &ratio, 4096)
            .ok_or(DeviceError::TooLong { device: resolved, page_bytes: 4096 })?;
        Ok(Device { name, target, profile, ratio, erase_charged, cost_of_4_kib })
    }

    /// The built-in name, or the file's name without `.toml`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text that gives this device again, with every option: `scm:ratio=10`. For a file it starts
    /// with the path as given.
    pub fn resolved(&self) -> String {
        resolved_text(&self.target, &self.profile, self.erase_charged, &self.ratio)
    }

    /// The device in one line.
    pub fn summary(&self) -> &str {
        &self.profile.summary
    }

    /// Where the profile's numbers come from: paper and table, or datasheet.
    pub fn source(&self) -> &str {
        &self.profile.source
    }

    /// Returns whether the profile knows what an erase is.
    pub fn has_erase(&self) -> bool {
        self.profile.erase.is_some()
    }

    /// What reading or writing one page of `page_bytes` bytes costs.
    ///
    /// # Errors
    ///
    /// A page of 0 bytes; an exact cost whose fraction does not fit (see [`DeviceError::TooLong`]).
    pub fn page_cost(&self, page_bytes: u64) -> Result<PageCost, DeviceError> {
        if page_bytes == 0 {
            return Err(DeviceError::EmptyPage);
        }
        page_cost(&self.profile, self.erase_charged, &self.ratio, page_bytes)
            .ok_or_else(|| DeviceError::TooLong { device: self.resolved(), page_bytes })
    }
}

pub(crate) fn file_stem(path: &str) -> String {
    Path::new(path).file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Reads a profile's file.
pub(crate) fn read_text(path: &str) -> Result<String, DeviceError> {
    std::fs::read_to_string(path).map_err(|error| DeviceError::Unreadable {
        path: path.to_owned(),
        reason: match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
            std::io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
            std::io::ErrorKind::PermissionDenied => "permission is denied".to_owned(),
            std::io::ErrorKind::InvalidData => "it is not text".to_owned(),
            _ => error.to_string(),
        },
    })
}

/// The known name that was probably meant.
pub(crate) fn nearest_name<'a>(known: &[&'a str], name: &str) -> Option<&'a str> {
    let distances = known.iter().map(|known| (strsim::damerau_levenshtein(known, name), *known));
    // A few typing errors; a less similar suggestion would only mislead.
    let near =
        distances.min().filter(|(distance, known)| *distance <= 3 && 2 * distance < known.len());
    near.map(|(_, known)| known)
}

fn unknown(name: &str) -> DeviceError {
    let known: Vec<&str> = built_in_texts().into_iter().map(|(known, _)| known).collect();
    let remedy = match nearest_name(&known, name) {
        Some(known) => format!("did you mean '{known}'?").into(),
        None => {
            Text::from("list the known ones with ")
                + command("`clockhand devices`")
                + " or give a FILE.toml"
        }
    };
    DeviceError::UnknownName { name: name.to_owned(), remedy }
}

fn unknown_option(profile: &Profile, key: &str) -> String {
    let known: Vec<&str> = [("erase", profile.erase.is_some()), ("ratio", profile.ratio.is_some())]
        .into_iter()
        .filter_map(|(option, present)| present.then_some(option))
        .collect();
    if known.is_empty() {
        format!("there is no option '{key}', and this device has none; remove it")
    } else {
        format!("there is no option '{key}'; this device has: {}", known.join(", "))
    }
}

fn parse_ratio(profile: &Profile, value: &str) -> Result<Exact, String> {
    let choices = profile.ratio.as_ref().map_or(&[][..], |option| &option.choices);
    let least = profile.ratio.as_ref().and_then(|option| option.least);
    let ratio = parse_fraction(value);
    if let (Ok(ratio), Some(least)) = (&ratio, &least)
        && ratio < least
    {
        let least = readable(least);
        return Err(format!(
            "ratio '{value}' is below {least}; give a number from {least}, such as 2.5 or 40/3"
        ));
    }
    if choices.is_empty() {
        return ratio.map_err(|problem| format!("ratio: {problem}"));
    }
    ratio.ok().filter(|ratio| choices.contains(ratio)).ok_or_else(|| {
        let choices: Vec<String> = choices.iter().map(readable).collect();
        format!("ratio '{value}' is not one of its choices; use {}", choices.join(", "))
    })
}

fn parse_erase(value: &str) -> Result<bool, String> {
    value.parse().map_err(|_| format!("erase '{value}' is neither true nor false; use one of them"))
}

fn resolved_text(target: &str, profile: &Profile, erase_charged: bool, ratio: &Exact) -> String {
    let erase = profile.erase.as_ref().map(|_| format!("erase={erase_charged}"));
    let ratio = profile.ratio.as_ref().map(|_| format!("ratio={}", exact_text(ratio)));
    let options: Vec<String> = erase.into_iter().chain(ratio).collect();
    if options.is_empty() { target.to_owned() } else { format!("{target}:{}", options.join(",")) }
}
