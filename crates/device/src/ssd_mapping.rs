//! The settings of a drive that say how it maps pages.

use crate::flash::{
    CachePolicy, DftlOptions, LogBlocks, Mapping, PageOptions, Separation, SlcFull, SlcOptions,
    ZoneOptions, ZoneWrites,
};

/// Names of these settings, in the order they are shown, each with the mappings that look at it.
const SETTINGS: [(&str, &[&str]); 14] = [
    ("mapping", &["page", "bast", "fast", "dftl", "zoned"]),
    ("log_blocks", &["bast", "fast"]),
    ("cmt_entries", &["dftl"]),
    ("cmt_policy", &["dftl"]),
    ("entry_bytes", &["dftl"]),
    ("batch_eviction", &["dftl"]),
    ("zone_blocks", &["zoned"]),
    ("zone_writes", &["zoned"]),
    ("max_open_zones", &["zoned"]),
    ("slc_blocks", &["page"]),
    ("bits_per_cell", &["page"]),
    ("slc_full", &["page"]),
    ("separate", &["page"]),
    ("hot_within", &["page"]),
];

const BITS_PER_CELL: u32 = 3;
const ENTRY_BYTES: u32 = 4;
const STREAMS_MAX: u32 = u8::MAX as u32;

/// The mapping of a drive, as far as given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MappingSettings {
    /// By setting, as text that was checked.
    given: Vec<(&'static str, String)>,
}

/// Names of these settings.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    SETTINGS.into_iter().map(|(name, _)| name)
}

impl MappingSettings {
    /// Sets one setting from text; none if it is none of these.
    ///
    /// # Errors
    ///
    /// The sentence that says what is wrong with the value, and what to write.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Option<Result<(), String>> {
        let (name, _) = SETTINGS.into_iter().find(|(known, _)| *known == name)?;
        Some(check(name, value).map(|()| {
            self.given.retain(|(given, _)| *given != name);
            self.given.push((name, value.to_owned()));
        }))
    }

    fn get(&self, name: &str) -> Option<&str> {
        let given = self.given.iter().find(|(given, _)| *given == name);
        given.map(|(_, value)| value.as_str())
    }

    /// The settings that were given, as options after a drive's name: `,mapping=fast,log_blocks=8`.
    pub(crate) fn resolved(&self) -> String {
        names().filter_map(|name| Some(format!(",{name}={}", self.get(name)?))).collect()
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.get(name).map(|value| value.parse().expect("it was checked"))
    }

    fn named<T: std::str::FromStr>(&self, name: &str, default: T) -> T {
        self.get(name).map_or(default, |value| value.parse().ok().expect("it was checked"))
    }

    /// The name of the mapping.
    pub(crate) fn mapping(&self) -> &str {
        self.get("mapping").unwrap_or("page")
    }

    /// The mapping.
    ///
    /// # Errors
    ///
    /// The sentence that says which setting is missing or belongs to another mapping.
    pub(crate) fn build(&self) -> Result<Mapping, String> {
        let mapping = self.mapping();
        for (name, mappings) in SETTINGS {
            if self.get(name).is_some() && !mappings.contains(&mapping) {
                return Err(format!(
                    "{name} belongs to mapping={} and the drive has mapping={mapping}; change the mapping or leave {name} out",
                    mappings.join(" or mapping=")
                ));
            }
        }
        let required = |name: &str, what: &str| {
            let missing = || format!("mapping={mapping} needs {name}, {what}; add {name}=NUMBER");
            self.number(name).ok_or_else(missing)
        };
        let log = LogBlocks { log_blocks: self.number("log_blocks") };
        Ok(match mapping {
            "bast" => Mapping::Bast(log),
            "fast" => Mapping::Fast(log),
            "dftl" => Mapping::Dftl(DftlOptions {
                cmt_entries: required("cmt_entries", "how many entries of the map are cached")?,
                cmt_policy: self.named("cmt_policy", CachePolicy::SegmentedLru),
                entry_bytes: self.number("entry_bytes").unwrap_or(ENTRY_BYTES),
                batch_eviction: self.named("batch_eviction", false),
            }),
            "zoned" => Mapping::Zoned(ZoneOptions {
                zone_blocks: required("zone_blocks", "how many blocks a zone has")?,
                writes: self.named("zone_writes", ZoneWrites::Strict),
                max_open_zones: self.number("max_open_zones"),
            }),
            _ => Mapping::Page(PageOptions { slc: self.slc(), separation: self.separation()? }),
        })
    }

    fn slc(&self) -> Option<SlcOptions> {
        let blocks = self.number("slc_blocks").filter(|blocks| *blocks > 0)?;
        Some(SlcOptions {
            blocks,
            bits_per_cell: self.number("bits_per_cell").unwrap_or(BITS_PER_CELL),
            full: self.named("slc_full", SlcFull::Fold),
        })
    }

    fn separation(&self) -> Result<Separation, String> {
        let hot_within = self.number("hot_within");
        match self.get("separate").unwrap_or("off") {
            "temperature" => Ok(Separation::Temperature { hot_within }),
            _ if hot_within.is_some() => Err(
                "hot_within says what is hot for separate=temperature; add that or leave it out"
                    .to_owned(),
            ),
            "off" => Ok(Separation::Off),
            streams => Ok(Separation::Stream(streams_of(streams).expect("it was checked"))),
        }
    }
}

fn streams_of(value: &str) -> Option<u8> {
    value.strip_prefix("stream:")?.parse().ok().filter(|streams| *streams > 0)
}

/// Checks that a setting takes this value.
fn check(name: &str, value: &str) -> Result<(), String> {
    let known = |mappings: &[&str]| match mappings.contains(&value) {
        true => Ok(()),
        false => Err(format!(
            "{name} '{value}' is unknown; use {}",
            mappings.join(", ").replacen(", zoned", " or zoned", 1)
        )),
    };
    match name {
        "mapping" => known(SETTINGS[0].1),
        "cmt_policy" => value.parse::<CachePolicy>().map(drop),
        "zone_writes" => value.parse::<ZoneWrites>().map(drop),
        "slc_full" => value.parse::<SlcFull>().map(drop),
        "batch_eviction" => match value.parse::<bool>() {
            Ok(_) => Ok(()),
            Err(_) => Err(format!("{name} '{value}' is unknown; use true or false")),
        },
        "separate" => match (value, streams_of(value)) {
            ("off" | "temperature", _) | (_, Some(_)) => Ok(()),
            _ => Err(format!(
                "separate '{value}' is unknown; use off, temperature or stream:S with S from 1 to {STREAMS_MAX}"
            )),
        },
        _ => {
            let least = u32::from(name != "slc_blocks" && name != "hot_within");
            let number = value.parse().ok().filter(|number: &u32| *number >= least);
            number.map(drop).ok_or_else(|| {
                format!(
                    "{name} '{value}' is not a number; give a whole number from {least} to {}",
                    u32::MAX
                )
            })
        }
    }
}
