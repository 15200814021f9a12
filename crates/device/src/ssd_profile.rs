//! The TOML format of a drive's profile. It is described for users in `docs/devices.md`.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use crate::error::DeviceError;
use crate::exact::{Decimal, Exact};
use crate::profile::{Fault, fault};
use crate::ssd_settings::Settings;

/// The times of a flash chip's operations; `None` if they are not published. The counts do not depend on them.
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
    dram: Option<DramFile>,
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

/// A time as a profile writes it; a list has one of each page type.
#[derive(Deserialize)]
#[serde(untagged)]
enum Time {
    Whole(u64),
    Decimal(f64),
    List(Vec<Time>),
}

impl Time {
    /// As an option writes it.
    fn text(&self) -> String {
        match self {
            Time::Whole(number) => number.to_string(),
            // Rust prints the shortest decimal that reads back as the same float.
            Time::Decimal(number) => number.to_string(),
            Time::List(times) => times.iter().map(Time::text).collect::<Vec<_>>().join("/"),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TimesFile {
    read_us: Option<Spanned<Time>>,
    program_us: Option<Spanned<Time>>,
    erase_us: Option<Spanned<Time>>,
    command_us: Option<Spanned<Time>>,
    suspend_us: Option<Spanned<Time>>,
    resume_us: Option<Spanned<Time>>,
    request_us: Option<Spanned<Time>>,
    idle_us: Option<Spanned<Time>>,
    bus_mb_s: Option<Spanned<Time>>,
    link_mb_s: Option<Spanned<Time>>,
    slc_read_us: Option<Spanned<Time>>,
    slc_program_us: Option<Spanned<Time>>,
    slc_erase_us: Option<Spanned<Time>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DramFile {
    read_ns: Decimal,
    write_ns: Decimal,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NvmFile {
    read_ns: Decimal,
    write_ns: Decimal,
    endurance_writes: Decimal,
}

impl TimesFile {
    fn entries(&self) -> [(&'static str, &Option<Spanned<Time>>); 13] {
        [
            ("read_us", &self.read_us),
            ("program_us", &self.program_us),
            ("erase_us", &self.erase_us),
            ("command_us", &self.command_us),
            ("suspend_us", &self.suspend_us),
            ("resume_us", &self.resume_us),
            ("request_us", &self.request_us),
            ("idle_us", &self.idle_us),
            ("bus_mb_s", &self.bus_mb_s),
            ("link_mb_s", &self.link_mb_s),
            ("slc_read_us", &self.slc_read_us),
            ("slc_program_us", &self.slc_program_us),
            ("slc_erase_us", &self.slc_erase_us),
        ]
    }
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
    for (name, time) in file.times.entries() {
        let Some(time) = time else { continue };
        let text = time.get_ref().text();
        settings.set(name, &text).map_err(|problem| Fault { span: time.span(), problem })?;
    }
    let memories = [
        ("dram_read_ns", file.dram.as_ref().map(|dram| dram.read_ns)),
        ("dram_write_ns", file.dram.as_ref().map(|dram| dram.write_ns)),
        ("nvm_read_ns", file.nvm.as_ref().map(|nvm| nvm.read_ns)),
        ("nvm_write_ns", file.nvm.as_ref().map(|nvm| nvm.write_ns)),
    ];
    for (name, time) in memories {
        settings.times.set_number(name, time.map(|time| time.0));
    }
    Ok(SsdProfile {
        summary: file.summary,
        source: file.source,
        limits: file.limits,
        endurance_erases: file.endurance_erases,
        settings,
        nvm: file.nvm.map(|nvm| NonVolatileMemory {
            read_ns: nvm.read_ns.0,
            write_ns: nvm.write_ns.0,
            endurance_writes: nvm.endurance_writes.0,
        }),
    })
}
