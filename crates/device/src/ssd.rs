//! A drive: a profile with its options settled.

use std::path::Path;

use include_dir::{Dir, include_dir};

use crate::device::{BuiltIn, file_stem, nearest_name, read_text};
use crate::error::DeviceError;
use crate::exact::{Exact, readable};
use crate::flash::time::TimeOptions;
use crate::flash::{Allocation, Mapping};
use crate::flash::{Capacity, Drive, FtlOptions, Geometry};
use crate::selection::{Selection, parse_options};
use crate::ssd_profile::{FlashTimes, NonVolatileMemory, SsdProfile};
use crate::ssd_times;

/// Every file here is a built-in drive; there is no other list.
static PROFILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/ssd-profiles");

/// The built-in drives, in the order of their names.
pub fn built_in_ssds() -> Vec<BuiltIn> {
    built_in_texts()
        .into_iter()
        .map(|(name, text)| {
            let profile = SsdProfile::parse(&format!("{name}.toml"), text)
                .expect("a test reads every built-in profile");
            BuiltIn { name: name.to_owned(), summary: profile.summary, source: profile.source }
        })
        .collect()
}

fn built_in_texts() -> Vec<(&'static str, &'static str)> {
    crate::device::texts_of(&PROFILES)
}

/// A flash drive as a profile and options describe it: geometry, translation layer, endurance, and where the numbers come from.
#[derive(Debug, Clone)]
pub struct Ssd {
    name: String,
    /// The built-in name or the path, as given.
    target: String,
    profile: SsdProfile,
    geometry: Geometry,
    options: FtlOptions,
    /// Options about time as they were given after the name: `,queue_depth=4,…`.
    given_times: String,
}

impl Ssd {
    /// Finds a drive by `NAME[:option=value,...]`, such as `dnv-textbook:size=8GiB,over_provisioning=15%`.
    ///
    /// NAME is a built-in drive, or else a path that ends in `.toml` or is an existing file. Options are the keys of a
    /// profile's `[drive]` table; `size` and `blocks_per_plane` replace each other.
    ///
    /// # Errors
    ///
    /// An unknown name (with the nearest known one), a file that cannot be read, a fault in the profile (with its line), an
    /// option that does not exist or a value it does not take, a description that contradicts itself.
    pub fn named_or_file(text: &str) -> Result<Ssd, DeviceError> {
        let selection = split(text)?;
        let Selection { target, options } = &selection;
        let target = *target;
        let known = built_in_texts().into_iter().find(|(name, _)| *name == target);
        let (name, mut profile) = if let Some((name, text)) = known {
            (name.to_owned(), SsdProfile::parse(&format!("{name}.toml"), text)?)
        } else if selection.is_file() {
            (file_stem(target), SsdProfile::parse(target, &read_text(target)?)?)
        } else {
            return Err(unknown(target));
        };
        let fault = |problem| DeviceError::Ssd { ssd: target.to_owned(), problem };
        let has = |wanted: &str| options.iter().any(|(option, _)| *option == wanted);
        if has("size") && has("blocks_per_plane") {
            return Err(fault(
                "size, which the host sees, and blocks_per_plane, which is raw, contradict each other; keep one".to_owned(),
            ));
        }
        let mut given_times = String::new();
        for (option, value) in options {
            profile.settings.set(option, value).map_err(fault)?;
            if ssd_times::names().any(|name| name == *option) {
                given_times.push_str(&format!(",{option}={value}"));
            }
        }
        let (geometry, options) = profile.settings.build().map_err(fault)?;
        Ok(Ssd { name, target: target.to_owned(), profile, geometry, options, given_times })
    }

    /// The built-in name, or the file's name without `.toml`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text that gives this drive again, with every option. For a file it starts with the path as given.
    pub fn resolved(&self) -> String {
        format!("{}:{}{}", self.target, self.profile.settings.resolved(), self.given_times)
    }

    /// The drive in one line.
    pub fn summary(&self) -> &str {
        &self.profile.summary
    }

    /// The source of the profile's numbers, and which are assumed.
    pub fn source(&self) -> &str {
        &self.profile.source
    }

    /// The amount of flash and its division.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Options of the translation layer; blocks last forever unless the caller sets the endurance.
    pub fn options(&self) -> &FtlOptions {
        &self.options
    }

    /// True if a write of a part of a page reads the rest (`mapping_unit`); otherwise a part counts as the page.
    pub fn reads_rest(&self) -> bool {
        self.profile.settings.reads_rest()
    }

    /// The parts of the drive's capacity.
    pub fn capacity(&self) -> Capacity {
        self.options.capacity(&self.geometry)
    }

    /// How long operations take.
    pub fn times(&self) -> FlashTimes {
        self.profile.settings.times.of_flash()
    }

    /// How the drive works in time. `needs_nvm` says that the write buffer before it has NVM.
    ///
    /// # Errors
    ///
    /// A time is missing, or options contradict each other.
    pub fn time_options(&self, needs_nvm: bool) -> Result<TimeOptions, DeviceError> {
        let times = &self.profile.settings.times;
        let fault = |problem| DeviceError::Ssd { ssd: self.target.clone(), problem };
        let mapping = &self.options.mapping;
        let slc_blocks = mapping.slc().map_or(0, |slc| slc.blocks);
        let options = times.build(&self.geometry, slc_blocks, needs_nvm).map_err(fault)?;
        let Some(free) = options.background_free else { return Ok(options) };
        if !matches!(mapping, Mapping::Page(_)) {
            return Err(fault(format!(
                "collection=background is for mapping=page, and this drive has mapping={}; leave one of them out",
                mapping.name()
            )));
        }
        let pool_blocks = (self.geometry.blocks() / self.pools()) as u32;
        let (least, free) =
            (self.options.minimum_free.blocks(pool_blocks), free.blocks(pool_blocks));
        if free <= least {
            return Err(fault(format!(
                "background_free is {free} blocks and minimum_free {least}; give background_free more than minimum_free"
            )));
        }
        Ok(options)
    }

    /// Pools that are collected each by itself.
    fn pools(&self) -> u64 {
        match self.options.allocation {
            Allocation::OnePool => 1,
            Allocation::Striped => self.geometry.dies(),
        }
    }

    /// The non-volatile memory of the write buffer, if the profile has one.
    pub fn nvm(&self) -> Option<NonVolatileMemory> {
        self.profile.nvm
    }

    /// Erases that a block endures, if the profile states it.
    pub fn endurance_erases(&self) -> Option<u32> {
        self.profile.endurance_erases
    }

    /// Bytes that a drive takes in memory, about.
    pub fn memory_bytes(&self) -> u64 {
        self.options.memory_bytes(&self.geometry)
    }

    /// A new drive, erased, whose blocks last forever. `seed` decides what is drawn at random.
    pub fn drive(&self, seed: u64) -> Drive {
        self.drive_with(FtlOptions { seed, ..self.options.clone() })
    }

    /// A new drive, erased, whose blocks are retired after this many erases.
    ///
    /// # Panics
    ///
    /// The endurance is 0.
    pub fn drive_that_wears_out(&self, seed: u64, endurance_erases: u32) -> Drive {
        let endurance_erases = Some(endurance_erases);
        self.drive_with(FtlOptions { seed, endurance_erases, ..self.options.clone() })
    }

    fn drive_with(&self, options: FtlOptions) -> Drive {
        Drive::new(self.geometry, options).expect("geometry and options were checked")
    }

    /// All facts about the drive as plain text, one per line.
    pub fn description(&self) -> String {
        let head = [format!("{}: {}", self.name(), self.summary()), String::new()];
        let facts = self.facts().into_iter().map(|(name, text)| fact(name, &text));
        head.into_iter().chain(facts).chain([String::new()]).collect::<Vec<_>>().join("\n")
    }

    /// The facts of the description, by name.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let page_bytes = self.geometry.page_bytes;
        let capacity = self.capacity();
        let reserve = format!(
            "{}, {:.2} % of raw, {:.2} % of logical",
            bytes(capacity.reserve_pages, page_bytes),
            100.0 * capacity.reserve_of_raw(),
            100.0 * capacity.reserve_of_logical()
        );
        let mut facts = vec![("source", self.source().to_owned())];
        facts.extend(self.profile.limits.as_ref().map(|limits| ("limits", limits.clone())));
        facts.extend([
            ("geometry", self.geometry.to_string()),
            ("raw", bytes(capacity.raw_pages, page_bytes)),
            ("logical", bytes(capacity.logical_pages, page_bytes)),
            ("reserve", reserve),
            ("kept free", bytes(capacity.minimum_free_pages, page_bytes)),
            ("alpha", format!("{:.4} = (raw - kept free) / logical", capacity.alpha())),
            ("times", self.times_text()),
            ("endurance", self.endurance_text()),
        ]);
        facts.extend(self.nvm().map(|nvm| ("NVM", nvm_text(&nvm))));
        facts.push((
            "settings",
            format!("{}{}", self.profile.settings.resolved(), self.given_times),
        ));
        facts
    }

    fn times_text(&self) -> String {
        let FlashTimes { read_us, program_us, erase_us } = self.times();
        let time = |name: &str, time: Option<Exact>| match time {
            Some(time) => format!("{name} {} µs", readable(&time)),
            None => format!("{name} not published"),
        };
        [time("read", read_us), time("program", program_us), time("erase", erase_us)].join(", ")
    }

    fn endurance_text(&self) -> String {
        match self.endurance_erases() {
            Some(erases) => format!("{erases} erases per block"),
            None => "not stated".to_owned(),
        }
    }
}

fn nvm_text(nvm: &NonVolatileMemory) -> String {
    let NonVolatileMemory { read_ns, write_ns, endurance_writes } = nvm;
    format!(
        "read {} ns, write {} ns, endurance {} writes",
        readable(read_ns),
        readable(write_ns),
        readable(endurance_writes)
    )
}

fn fact(name: &str, text: &str) -> String {
    format!("  {name:<13}{text}")
}

fn bytes(pages: u64, page_bytes: u32) -> String {
    let gib = pages as f64 * f64::from(page_bytes) / f64::from(1 << 30);
    format!("{pages} pages, {gib:.3} GiB")
}

/// Splits off the options, at the first colon after something that names a drive: a path and a victim rule may hold
/// a colon themselves.
fn split(text: &str) -> Result<Selection<'_>, DeviceError> {
    let whole = Selection { target: text, options: Vec::new() };
    if Path::new(text).is_file() {
        return Ok(whole);
    }
    let colons = || text.match_indices(':').map(|(position, _)| position);
    let names = |position: &usize| {
        let target = &text[..*position];
        built_in_texts().iter().any(|(name, _)| *name == target)
            || Selection { target, options: Vec::new() }.is_file()
    };
    match colons().find(names).or_else(|| colons().next()) {
        Some(position) => {
            let target = &text[..position];
            Ok(Selection { target, options: parse_options(target, &text[position + 1..])? })
        }
        None => Ok(whole),
    }
}

fn unknown(name: &str) -> DeviceError {
    let known: Vec<&str> = built_in_texts().into_iter().map(|(known, _)| known).collect();
    let remedy = match nearest_name(&known, name) {
        Some(nearest) => format!("did you mean '{nearest}'?"),
        None => format!("use {} or a FILE.toml", known.join(", ")),
    };
    DeviceError::UnknownSsd { name: name.to_owned(), remedy }
}
