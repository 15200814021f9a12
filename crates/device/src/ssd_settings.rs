//! The settings of a drive, which a profile's `[drive]` table and the options after a drive's name give in the same words.

use clockhand_quantity::{bytes_text_in_any_unit, bytes_with_unit};
use num_traits::{One, ToPrimitive, Zero};

use crate::exact::{Exact, parse_decimal, readable};
use crate::flash::{Allocation, Frontiers, FtlOptions, Geometry, Mapping, MinimumFree, VictimRule};
use crate::ssd_mapping::{self, MappingSettings};
use crate::ssd_times::{self, TimeSettings};

/// The base of over-provisioning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShareOf {
    /// Spare / raw, as DiskSim, MQSim and SimpleSSD say it.
    Raw,
    /// Spare / logical, as FEMU, NVMeVirt and most papers say it.
    Logical,
}

impl ShareOf {
    fn name(self) -> &'static str {
        match self {
            ShareOf::Raw => "raw",
            ShareOf::Logical => "logical",
        }
    }
}

/// Which of the two capacities is given; the other follows from the over-provisioning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GivenSize {
    /// Bytes that the host sees.
    Size(u64),
    /// Raw, in blocks of each plane.
    BlocksPerPlane(u32),
}

/// What hosts address; pages of flash hold whole ones.
const SECTOR_BYTES: u32 = 512;

/// A drive's settings. The required ones are `None` until they are given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    given_size: Option<GivenSize>,
    channels: u32,
    dies_per_channel: u32,
    planes_per_die: u32,
    pages_per_block: Option<u32>,
    page_bytes: Option<u32>,
    /// True if a write of a part of a page reads the rest first.
    reads_rest: bool,
    over_provisioning: Option<Exact>,
    share_of: ShareOf,
    minimum_free: MinimumFree,
    allocation: Allocation,
    victim: VictimRule,
    frontiers: Frontiers,
    wear_limit: Option<u32>,
    wear_levelling: Option<u32>,
    mapping: MappingSettings,
    pub(crate) times: TimeSettings,
}

/// Names of all settings, in the order of lists.
pub(crate) const SETTINGS: [&str; 16] = [
    "size",
    "blocks_per_plane",
    "channels",
    "dies_per_channel",
    "planes_per_die",
    "pages_per_block",
    "page_bytes",
    "mapping_unit",
    "over_provisioning",
    "over_provisioning_of",
    "minimum_free",
    "allocation",
    "victim",
    "frontiers",
    "wear_limit",
    "wear_levelling",
];

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            given_size: None,
            channels: 1,
            dies_per_channel: 1,
            planes_per_die: 1,
            pages_per_block: None,
            page_bytes: None,
            reads_rest: false,
            over_provisioning: None,
            share_of: ShareOf::Logical,
            minimum_free: MinimumFree::Blocks(2),
            allocation: Allocation::OnePool,
            victim: VictimRule::Greedy,
            frontiers: Frontiers::Shared,
            wear_limit: None,
            wear_levelling: None,
            mapping: MappingSettings::default(),
            times: TimeSettings::default(),
        }
    }
}

impl Settings {
    /// Sets one setting from text. A later size replaces an earlier one.
    ///
    /// # Errors
    ///
    /// The sentence that says what is wrong with the name or the value, and what to write.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let count = || parse_count(name, value);
        match name {
            "size" => self.given_size = Some(GivenSize::Size(parse_size(value)?)),
            "blocks_per_plane" => self.given_size = Some(GivenSize::BlocksPerPlane(count()?)),
            "channels" => self.channels = count()?,
            "dies_per_channel" => self.dies_per_channel = count()?,
            "planes_per_die" => self.planes_per_die = count()?,
            "pages_per_block" => self.pages_per_block = Some(count()?),
            "page_bytes" => self.page_bytes = Some(count()?),
            "mapping_unit" => {
                self.page_bytes = Some(parse_unit(value)?);
                self.reads_rest = true;
            }
            "over_provisioning" => self.over_provisioning = Some(parse_over_provisioning(value)?),
            "over_provisioning_of" => self.share_of = parse_share_of(value)?,
            "minimum_free" => self.minimum_free = value.parse()?,
            "allocation" => self.allocation = value.parse()?,
            "victim" => self.victim = value.parse()?,
            "frontiers" => self.frontiers = value.parse()?,
            "wear_limit" => self.wear_limit = Some(count()?),
            "wear_levelling" => self.wear_levelling = Some(count()?),
            _ => {
                let set = self.mapping.set(name, value).or_else(|| self.times.set(name, value));
                return set.unwrap_or_else(|| {
                    let known = SETTINGS.into_iter().chain(ssd_mapping::names());
                    let known = known.chain(ssd_times::names()).collect::<Vec<_>>().join(", ");
                    Err(format!("there is no setting '{name}'; use {known}"))
                });
            }
        }
        Ok(())
    }

    /// The setting as text that [`Settings::set`] takes; none if it is not set.
    fn get(&self, name: &str) -> Option<String> {
        let number = |number: u32| Some(number.to_string());
        match name {
            "size" => match self.given_size? {
                GivenSize::Size(bytes) => Some(bytes_text_in_any_unit(bytes)),
                GivenSize::BlocksPerPlane(_) => None,
            },
            "blocks_per_plane" => match self.given_size? {
                GivenSize::Size(_) => None,
                GivenSize::BlocksPerPlane(blocks) => number(blocks),
            },
            "channels" => number(self.channels),
            "dies_per_channel" => number(self.dies_per_channel),
            "planes_per_die" => number(self.planes_per_die),
            "pages_per_block" => number(self.pages_per_block?),
            "page_bytes" => number(self.page_bytes?),
            "mapping_unit" => {
                let bytes = self.page_bytes.filter(|_| self.reads_rest)?;
                Some(bytes_text_in_any_unit(bytes.into()))
            }
            "over_provisioning" => {
                let percent = self.over_provisioning? * Exact::from_integer(100);
                Some(format!("{}%", readable(&percent)))
            }
            "over_provisioning_of" => Some(self.share_of.name().to_owned()),
            "minimum_free" => Some(self.minimum_free.to_string()),
            "allocation" => Some(self.allocation.to_string()),
            "victim" => Some(self.victim.to_string()),
            "frontiers" => Some(self.frontiers.to_string()),
            "wear_limit" => number(self.wear_limit?),
            "wear_levelling" => number(self.wear_levelling?),
            _ => None,
        }
    }

    /// Every setting, as options after a drive's name: `size=4GiB,channels=1,…`.
    pub(crate) fn resolved(&self) -> String {
        let options =
            SETTINGS.iter().filter_map(|name| Some(format!("{name}={}", self.get(name)?)));
        options.collect::<Vec<_>>().join(",") + &self.mapping.resolved()
    }

    /// True if a write of a part of a page reads the rest.
    pub(crate) fn reads_rest(&self) -> bool {
        self.reads_rest
    }

    /// The drive of these settings: its geometry, and the options of its translation layer.
    ///
    /// # Errors
    ///
    /// The sentence that says which setting is missing or what contradicts what, and what to do.
    pub(crate) fn build(&self) -> Result<(Geometry, FtlOptions), String> {
        let missing = |name: &str| format!("{name} is not given; add it");
        let mapping = self.mapping.build()?;
        let share = match (&mapping, self.over_provisioning) {
            // Zones have no spare blocks.
            (Mapping::Zoned(_), _) => Exact::zero(),
            (_, share) => share.ok_or_else(|| missing("over_provisioning"))?,
        };
        if self.share_of == ShareOf::Raw && share >= Exact::one() {
            return Err(
                "over_provisioning of all the raw capacity leaves no logical page; give less than 100%"
                    .to_owned(),
            );
        }
        let page_bytes = self.page_bytes.ok_or_else(|| missing("page_bytes"))?;
        if page_bytes % SECTOR_BYTES != 0 {
            return Err(format!(
                "page_bytes {page_bytes} is no multiple of a sector's {SECTOR_BYTES} bytes; give one such as 4096"
            ));
        }
        let mut geometry = Geometry {
            channels: self.channels,
            dies_per_channel: self.dies_per_channel,
            planes_per_die: self.planes_per_die,
            blocks_per_plane: 1,
            pages_per_block: self.pages_per_block.ok_or_else(|| missing("pages_per_block"))?,
            page_bytes,
        };
        let options = |logical_pages: u32| FtlOptions {
            mapping: mapping.clone(),
            allocation: self.allocation,
            victim: self.victim,
            frontiers: self.frontiers,
            minimum_free: self.minimum_free,
            wear_limit: self.wear_limit,
            wear_levelling: self.wear_levelling,
            ..FtlOptions::new(logical_pages)
        };
        let options = match self.given_size.ok_or_else(|| missing("size (or blocks_per_plane)"))? {
            GivenSize::BlocksPerPlane(blocks) => {
                geometry.blocks_per_plane = blocks;
                let raw_pages = Exact::from_integer(geometry.raw_pages().into());
                let logical_pages = match self.share_of {
                    ShareOf::Raw => raw_pages * (Exact::one() - share),
                    ShareOf::Logical => raw_pages / (Exact::one() + share),
                };
                // More pages than can be numbered are refused below, with the raw ones.
                options(logical_pages.to_integer().to_u32().unwrap_or(u32::MAX))
            }
            GivenSize::Size(bytes) => {
                let options = options(logical_pages(bytes, geometry.page_bytes)?);
                geometry.blocks_per_plane = self.blocks_per_plane(share, &options, &geometry)?;
                options
            }
        };
        let options = match &options.mapping {
            Mapping::Zoned(zones) => {
                let zone_pages = u64::from(zones.zone_blocks) * u64::from(geometry.pages_per_block);
                let pages = geometry.raw_pages() / zone_pages * zone_pages;
                FtlOptions { logical_pages: u32::try_from(pages).unwrap_or(u32::MAX), ..options }
            }
            _ => options,
        };
        options.check(&geometry).map_err(|error| error.to_string())?;
        Ok((geometry, options))
    }

    /// Blocks that a plane needs for this many logical pages: rule A-77, for any number of planes.
    fn blocks_per_plane(
        &self,
        share: Exact,
        options: &FtlOptions,
        geometry: &Geometry,
    ) -> Result<u32, String> {
        let pages = Exact::from_integer(options.logical_pages.into());
        let raw_pages = match self.share_of {
            ShareOf::Raw => pages / (Exact::one() - share),
            ShareOf::Logical => pages * (Exact::one() + share),
        };
        let pages_per_block = Exact::from_integer(geometry.pages_per_block.into());
        let planes = Exact::from_integer(geometry.planes().into());
        let blocks = (raw_pages / pages_per_block).ceil();
        let least = Exact::from_integer(options.blocks_min(geometry).into());
        let blocks_per_plane = (blocks.max(least) / planes).ceil();
        blocks_per_plane.to_integer().to_u32().ok_or_else(|| {
            format!(
                "size {} needs more blocks than can be numbered; make it smaller or its pages larger",
                bytes_text_in_any_unit(u64::from(options.logical_pages) * u64::from(geometry.page_bytes))
            )
        })
    }
}

fn logical_pages(size_bytes: u64, page_bytes: u32) -> Result<u32, String> {
    let pages = size_bytes / u64::from(page_bytes);
    match u32::try_from(pages) {
        Ok(0) => Err(format!(
            "size {} is smaller than a page of {page_bytes} bytes; make it larger",
            bytes_text_in_any_unit(size_bytes)
        )),
        Ok(pages) => Ok(pages),
        Err(_) => Err(format!(
            "size {} has more pages than the {} that are supported; make it smaller or its pages larger",
            bytes_text_in_any_unit(size_bytes),
            Geometry::RAW_PAGES_MAX
        )),
    }
}

fn parse_count(name: &str, value: &str) -> Result<u32, String> {
    value.parse().ok().filter(|count| *count > 0).ok_or_else(|| {
        format!("{name} '{value}' is not a number; give a whole number from 1 to {}", u32::MAX)
    })
}

/// More than this many times the logical capacity is taken for a mistake.
const OVER_PROVISIONING_MAX: u128 = 10;

fn parse_over_provisioning(value: &str) -> Result<Exact, String> {
    let percent = value.strip_suffix('%').and_then(|percent| parse_decimal(percent).ok());
    let share = percent.map(|percent| percent / Exact::from_integer(100));
    share.filter(|share| *share <= Exact::from_integer(OVER_PROVISIONING_MAX)).ok_or_else(|| {
        format!(
            "over_provisioning '{value}' is not a share above 0% and up to {OVER_PROVISIONING_MAX}00%; write it as 15%, for \
             without spare blocks no garbage can be collected"
        )
    })
}

fn parse_share_of(value: &str) -> Result<ShareOf, String> {
    [ShareOf::Raw, ShareOf::Logical].into_iter().find(|known| known.name() == value).ok_or_else(
        || format!("over_provisioning_of '{value}' is neither raw nor logical; use one of them"),
    )
}

/// A mapping unit such as `16KiB`, in bytes.
fn parse_unit(value: &str) -> Result<u32, String> {
    let bytes = bytes_with_unit(value).and_then(|bytes| u32::try_from(bytes).ok());
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| {
        format!(
            "mapping_unit '{value}' is not a size of a page; write it with its unit, such as 16KiB"
        )
    })
}

/// A size such as `8GiB` or `1.6TB`, in bytes.
fn parse_size(value: &str) -> Result<u64, String> {
    bytes_with_unit(value).filter(|bytes| *bytes > 0).ok_or_else(|| {
        format!("size '{value}' is not a capacity; write it with its unit, such as 8GiB or 512MB")
    })
}
