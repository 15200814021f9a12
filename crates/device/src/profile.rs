//! The TOML format of a device profile, and its checks.
//!
//! The format is described for users in `docs/devices.md`. Parsing has two steps: the shape (serde)
//! and what must hold between keys (here). Both know the line of every fault.

use std::ops::Range;

use clockhand_quantity::{deep_toml_key, plain_toml_message};
use num_traits::{ToPrimitive, Zero};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;

use crate::error::DeviceError;
use crate::exact::{Decimal, Exact};
use crate::measured::{Measured, MeasuredFile, check_measured};

/// The charging of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Charging {
    /// Whole units: ceil(page_bytes / unit_bytes) of them.
    #[serde(rename = "per-unit")]
    Unit,
    /// Linear in bytes: page_bytes / unit_bytes units, not rounded.
    #[serde(rename = "per-byte")]
    Byte,
    /// One unit, whatever the page size.
    #[serde(rename = "per-page")]
    Page,
}

/// How fast an operation is, as the profile writes it.
#[derive(Debug, Clone)]
pub(crate) enum Speed {
    /// µs per unit.
    TimeUs(Exact),
    /// Units per second.
    Iops(Exact),
    /// Millions of bytes per second.
    MegabytesPerSecond(Exact),
}

/// A checked operation: read, write or erase.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    /// µs spent once, before the first byte moves; zero if the profile has none.
    pub(crate) setup_time_us: Exact,
    pub(crate) speed: Speed,
    /// µJ per unit.
    pub(crate) energy_uj: Option<Exact>,
}

/// A checked latency multiplier.
#[derive(Debug, Clone)]
pub(crate) struct RatioOption {
    pub(crate) default: Exact,
    /// Accepted values; empty if every number from `least` on is.
    pub(crate) choices: Vec<Exact>,
    /// The least accepted value; every positive one is if `None`.
    pub(crate) least: Option<Exact>,
}

/// A checked profile: what its file says, nothing settled by options yet.
#[derive(Debug, Clone)]
pub(crate) struct Profile {
    pub(crate) summary: String,
    pub(crate) source: String,
    pub(crate) limits: Option<String>,
    pub(crate) charged: Charging,
    /// The unit, in bytes; 1 where the profile needs none.
    pub(crate) unit_bytes: u64,
    pub(crate) rotations_per_minute: Option<Exact>,
    pub(crate) read: Operation,
    pub(crate) write: Operation,
    pub(crate) erase: Option<Operation>,
    /// True if the erase is charged when the user does not say.
    pub(crate) erase_charged: bool,
    pub(crate) ratio: Option<RatioOption>,
    /// The measurement behind the numbers, if there was one.
    pub(crate) measured: Option<Measured>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileFile {
    summary: String,
    source: String,
    limits: Option<String>,
    charged: Spanned<Charging>,
    unit_bytes: Option<Spanned<Decimal>>,
    rotations_per_minute: Option<Decimal>,
    erase_charged: Option<Spanned<bool>>,
    read: Spanned<OperationFile>,
    write: Spanned<OperationFile>,
    erase: Option<Spanned<OperationFile>>,
    ratio: Option<RatioFile>,
    measured: Option<MeasuredFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OperationFile {
    setup_time_us: Option<Decimal>,
    time_us: Option<Spanned<Decimal>>,
    iops: Option<Spanned<Decimal>>,
    megabytes_per_second: Option<Spanned<Decimal>>,
    energy_uj: Option<Spanned<Decimal>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RatioFile {
    default: Spanned<Decimal>,
    #[serde(default)]
    choices: Vec<Decimal>,
    least: Option<Decimal>,
}

/// A fault at a place in the file, as byte offsets.
pub(crate) struct Fault {
    pub(crate) span: Range<usize>,
    pub(crate) problem: String,
}

impl Fault {
    /// The error that names the file and the line.
    pub(crate) fn into_error(self, path: &str, text: &str) -> DeviceError {
        let before = text.bytes().take(self.span.start);
        DeviceError::Profile {
            path: path.to_owned(),
            line: 1 + before.filter(|&byte| byte == b'\n').count(),
            problem: self.problem,
        }
    }
}

pub(crate) fn fault<T>(span: Range<usize>, problem: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { span, problem: problem.into() })
}

impl Profile {
    /// Reads a profile; `path` is for error messages.
    pub(crate) fn parse(path: &str, text: &str) -> Result<Profile, DeviceError> {
        parse_shape(text).and_then(check).map_err(|fault| fault.into_error(path, text))
    }
}

/// Reads the keys of a profile, of a device or a drive.
pub(crate) fn parse_shape<File: DeserializeOwned>(text: &str) -> Result<File, Fault> {
    if let Some(place) = deep_toml_key(text) {
        return fault(place..place, "a key has more than a hundred parts; correct it");
    }
    toml::from_str(text).map_err(|error| {
        let message = plain_toml_message(error.message());
        let remedy = if message.ends_with(" is missing") { "add it" } else { "correct it" };
        Fault { span: error.span().unwrap_or(0..0), problem: format!("{message}; {remedy}") }
    })
}

fn check(file: ProfileFile) -> Result<Profile, Fault> {
    let unit_bytes = check_unit_bytes(&file)?;
    let charged = *file.charged.get_ref();
    let rotates = file.rotations_per_minute.is_some();
    let read = check_operation("read", file.read, charged, rotates)?;
    let write = check_operation("write", file.write, charged, rotates)?;
    if let (Some(key), None) = (&file.erase_charged, &file.erase) {
        return fault(key.span(), "erase_charged without [erase]; add [erase] or remove it");
    }
    // A disk's rotation delays requests, not erases: no rotating device erases.
    let erase = file
        .erase
        .map(|operation| check_operation("erase", operation, charged, false))
        .transpose()?;
    Ok(Profile {
        summary: file.summary,
        source: file.source,
        limits: file.limits,
        charged,
        unit_bytes,
        rotations_per_minute: file.rotations_per_minute.map(|number| number.0),
        read,
        write,
        erase,
        erase_charged: file.erase_charged.is_some_and(Spanned::into_inner),
        ratio: file.ratio.map(check_ratio).transpose()?,
        measured: file.measured.map(check_measured).transpose()?,
    })
}

fn check_unit_bytes(file: &ProfileFile) -> Result<u64, Fault> {
    let charged = *file.charged.get_ref();
    let Some(unit_bytes) = &file.unit_bytes else {
        return match charged {
            Charging::Unit => fault(
                file.charged.span(),
                "charged = \"per-unit\" without unit_bytes; add unit_bytes, the flash page or I/O size",
            ),
            Charging::Byte => check_unit_is_not_needed(file).map(|()| 1),
            Charging::Page => Ok(1),
        };
    };
    if charged == Charging::Page {
        return fault(
            unit_bytes.span(),
            "unit_bytes contradicts charged = \"per-page\"; remove one of the two",
        );
    }
    let value = unit_bytes.get_ref().0;
    match value.is_integer().then(|| value.to_integer().to_u64()).flatten() {
        Some(bytes) => Ok(bytes),
        None => fault(unit_bytes.span(), "unit_bytes must be whole; give a number of bytes"),
    }
}

fn check_unit_is_not_needed(file: &ProfileFile) -> Result<(), Fault> {
    let operations = [Some(&file.read), Some(&file.write), file.erase.as_ref()];
    for operation in operations.into_iter().flatten().map(Spanned::get_ref) {
        let per_unit = [
            ("time_us", &operation.time_us),
            ("iops", &operation.iops),
            ("energy_uj", &operation.energy_uj),
        ];
        for (key, number) in per_unit {
            if let Some(number) = number {
                return fault(
                    number.span(),
                    format!("{key} is per unit, and unit_bytes is missing; add unit_bytes"),
                );
            }
        }
    }
    Ok(())
}

fn check_operation(
    name: &str,
    operation: Spanned<OperationFile>,
    charged: Charging,
    rotates: bool,
) -> Result<Operation, Fault> {
    let span = operation.span();
    let file = operation.into_inner();
    if let (Some(energy), true) = (&file.energy_uj, file.setup_time_us.is_some() || rotates) {
        return fault(
            energy.span(),
            "energy_uj is per unit and says nothing of setup or rotation; remove it or those",
        );
    }
    Ok(Operation {
        speed: check_speed(name, span, &file, charged)?,
        setup_time_us: file.setup_time_us.map_or_else(Exact::zero, |number| number.0),
        energy_uj: file.energy_uj.map(|number| number.into_inner().0),
    })
}

fn check_speed(
    name: &str,
    span: Range<usize>,
    file: &OperationFile,
    charged: Charging,
) -> Result<Speed, Fault> {
    match (&file.time_us, &file.iops, &file.megabytes_per_second) {
        (Some(time_us), None, None) => Ok(Speed::TimeUs(time_us.get_ref().0)),
        (None, Some(iops), None) => Ok(Speed::Iops(iops.get_ref().0)),
        (None, None, Some(rate)) if charged == Charging::Byte => {
            Ok(Speed::MegabytesPerSecond(rate.get_ref().0))
        }
        (None, None, Some(rate)) => fault(
            rate.span(),
            "megabytes_per_second is linear in bytes; set charged = \"per-byte\"",
        ),
        (None, None, None) => fault(
            span,
            format!("[{name}] has no cost; add one of time_us, iops, megabytes_per_second"),
        ),
        (_, Some(second), _) | (_, None, Some(second)) => fault(
            second.span(),
            format!("[{name}] has two costs; keep one of time_us, iops, megabytes_per_second"),
        ),
    }
}

fn check_ratio(file: RatioFile) -> Result<RatioOption, Fault> {
    let choices: Vec<Exact> = file.choices.iter().map(|number| number.0).collect();
    let default = file.default.get_ref().0;
    if !choices.is_empty() && !choices.contains(&default) {
        return fault(file.default.span(), "default is not among choices; add it or change it");
    }
    let least = file.least.map(|number| number.0);
    if least.is_some_and(|least| default < least) {
        return fault(file.default.span(), "default is below least; raise it or lower least");
    }
    Ok(RatioOption { default, choices, least })
}
