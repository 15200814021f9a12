//! The TOML format of a drive's profile. It is described for users in `docs/ssd.md`.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use crate::error::DeviceError;
use crate::exact::{Decimal, Exact};
use crate::profile::{Fault, fault};
use crate::ssd_settings::Settings;

/// How long the operations of a flash chip take; `None` if it is not published. The counts do not depend on them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlashTimes {
    /// µs to read a flash page.
    pub read_us: Option<Exact>,
    /// µs to program a flash page.
    pub program_us: Option<Exact>,
    /// µs to erase a block.
    pub erase_us: Option<Exact>,
}

/// The non-volatile memory of a drive's write buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NonVolatileMemory {
    /// ns to read.
    pub read_ns: Exact,
    /// ns to write.
    pub write_ns: Exact,
    /// Writes that a cell endures.
    pub endurance_writes: Exact,
}

/// A checked profile: what its file says, nothing changed by options yet.
#[derive(Debug, Clone)]
pub(crate) struct SsdProfile {
    pub(crate) summary: String,
    pub(crate) source: String,
    pub(crate) limits: Option<String>,
    pub(crate) endurance_erases: Option<u32>,
    pub(crate) settings: Settings,
    pub(crate) times: FlashTimes,
    pub(crate) nvm: Option<NonVolatileMemory>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileFile {
    summary: String,
    source: String,
    limits: Option<String>,
    endurance_erases: Option<u32>,
    drive: BTreeMap<String, Spanned<Value>>,
    #[serde(default)]
    times: TimesFile,
    nvm: Option<NvmFile>,
}

/// A setting as a profile writes it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    Number(u32),
    Flag(bool),
    Text(String),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TimesFile {
    read_us: Option<Decimal>,
    program_us: Option<Decimal>,
    erase_us: Option<Decimal>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NvmFile {
    read_ns: Decimal,
    write_ns: Decimal,
    endurance_writes: Decimal,
}

impl SsdProfile {
    /// Reads a profile; `path` is for error messages.
    pub(crate) fn parse(path: &str, text: &str) -> Result<SsdProfile, DeviceError> {
        crate::profile::parse_shape(text)
            .and_then(check)
            .map_err(|fault| fault.into_error(path, text))
    }
}

fn check(file: ProfileFile) -> Result<SsdProfile, Fault> {
    if let (Some(size), Some(_)) = (file.drive.get("size"), file.drive.get("blocks_per_plane")) {
        return fault(
            size.span(),
            "size, which the host sees, and blocks_per_plane, which is raw, contradict each other; keep one",
        );
    }
    let mut settings = Settings::default();
    for (name, value) in &file.drive {
        let text = match value.get_ref() {
            Value::Number(number) => number.to_string(),
            Value::Flag(flag) => flag.to_string(),
            Value::Text(text) => text.clone(),
        };
        settings.set(name, &text).map_err(|problem| Fault { span: value.span(), problem })?;
    }
    let exact = |number: Option<Decimal>| number.map(|number| number.0);
    Ok(SsdProfile {
        summary: file.summary,
        source: file.source,
        limits: file.limits,
        endurance_erases: file.endurance_erases,
        settings,
        times: FlashTimes {
            read_us: exact(file.times.read_us),
            program_us: exact(file.times.program_us),
            erase_us: exact(file.times.erase_us),
        },
        nvm: file.nvm.map(|nvm| NonVolatileMemory {
            read_ns: nvm.read_ns.0,
            write_ns: nvm.write_ns.0,
            endurance_writes: nvm.endurance_writes.0,
        }),
    })
}
