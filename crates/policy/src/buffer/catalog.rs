//! The one table of write buffers, made like that of page policies.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::none::{NONE, Unbuffered};
use super::{BufferSize, WriteBuffer};
use crate::Ratio;
use crate::catalog::{Description, page_of};
use crate::parameters::{self, Settings, SettingsError, Value};

/// A write buffer of the catalog: its description, and how to build it.
pub(crate) trait Cataloged: Sized {
    const DESCRIPTION: Description;
    /// True if it has NVM beside its DRAM, and so a `dram_share` and at least two pages.
    const IS_HYBRID: bool = false;
    /// True if it needs the future.
    const IS_OFFLINE: bool = false;
    fn build(settings: &Settings, size: BufferSize) -> Self;
}

/// An entry of the catalog.
#[derive(Clone, Copy, Debug)]
pub struct BufferEntry {
    /// What the buffer's file says of it.
    pub description: Description,
    /// True if it has NVM beside its DRAM.
    pub is_hybrid: bool,
    /// True if it must [foresee](WriteBuffer::foresee) what is written, so that no device can run it.
    pub is_offline: bool,
}

impl BufferEntry {
    /// The buffer's documentation page: the head of its source file.
    pub fn page(&self) -> String {
        page_of(self.description.source)
    }
}

/// Receives a write buffer in its own type, so that what uses it is compiled for it.
pub trait Visitor {
    /// What comes of it.
    type Output;
    /// The buffer, empty.
    fn visit<B: WriteBuffer + Send + 'static>(self, buffer: B) -> Self::Output;
}

macro_rules! catalog {
    ($($buffer:ty;)*) => {
        /// All write buffers, in the order they are listed.
        pub static BUFFERS: &[BufferEntry] = &[
            $(BufferEntry {
                description: <$buffer as Cataloged>::DESCRIPTION,
                is_hybrid: <$buffer as Cataloged>::IS_HYBRID,
                is_offline: <$buffer as Cataloged>::IS_OFFLINE,
            },)*
        ];

        impl ResolvedBuffer {
            /// Builds the buffer and hands it to `visitor`.
            pub fn build<V: Visitor>(&self, visitor: V) -> V::Output {
                let name = self.entry.description.name;
                if name == NONE.description.name {
                    return visitor.visit(Unbuffered::new());
                }
                $(if name == <$buffer as Cataloged>::DESCRIPTION.name {
                    return visitor.visit(<$buffer as Cataloged>::build(&self.settings, self.size));
                })*
                unreachable!("{name} stands in the catalog")
            }
        }
    };
}

catalog! {
    super::clock_dnv::ClockDnv;
    super::fab::Fab;
    super::cbm::Cbm;
    super::bplru::Bplru;
    super::clc::Clc;
    super::lb_clock::LbClock;
    super::pud_lru::PudLru;
    super::bpac::Bpac;
    super::block_min::BlockMin;
    super::lru::Lru;
    super::clock::Clock;
    super::cflru::Cflru;
    super::lru_wsr::LruWsr;
    super::craw::Craw;
    super::credit_clock::CreditClock;
}

/// The entry of this name.
pub fn find(name: &str) -> Option<&'static BufferEntry> {
    BUFFERS.iter().find(|entry| entry.description.name == name)
}

/// A write buffer with what the user set of it: `clock-dnv:total=16MiB,dram_share=0.1`.
#[derive(Clone, Debug)]
pub struct BufferSpec {
    written: String,
    entry: &'static BufferEntry,
    total: Option<String>,
    given: Vec<(&'static str, Value)>,
}

impl BufferSpec {
    /// Reads `NAME` or `NAME:parameter=value,...` and checks every value, but that of `total`: the driver
    /// knows the size of a page. `none` stands for no buffer.
    ///
    /// # Errors
    ///
    /// A sentence that names the buffer, the parameter and the allowed range.
    pub fn parse(text: &str) -> Result<Self, SettingsError> {
        let (name, settings) = parameters::name_and_settings(text);
        if name == NONE.description.name {
            return match settings {
                None => Ok(BufferSpec::none()),
                Some(_) => Err(SettingsError::Refused(
                    "write buffer none is no buffer and has neither size nor parameter; write none alone"
                        .to_owned(),
                )),
            };
        }
        let entry = find(name).ok_or_else(|| unknown(name))?;
        let Description { name, parameters, .. } = entry.description;
        let (total, others) = match settings {
            Some(settings) => split_total(name, settings)?,
            None => (None, None),
        };
        let given = match others {
            Some(others) => parameters::parse_settings(name, parameters, &others)?,
            None => Vec::new(),
        };
        Ok(BufferSpec { written: text.to_owned(), entry, total, given })
    }

    /// No buffer.
    pub fn none() -> Self {
        let written = NONE.description.name.to_owned();
        BufferSpec { written, entry: &NONE, total: None, given: Vec::new() }
    }

    /// Returns whether it is not a buffer, and so has no size.
    pub fn is_none(&self) -> bool {
        core::ptr::eq(self.entry, &NONE)
    }

    /// What the user wrote.
    pub fn written(&self) -> &str {
        &self.written
    }

    /// The value of `total` as it was written, if it was given.
    pub fn total(&self) -> Option<&str> {
        self.total.as_deref()
    }

    /// The buffer's entry in the catalog.
    pub fn entry(&self) -> &'static BufferEntry {
        self.entry
    }

    /// Adds every default, some of which depend on the buffer's size and on the drive's cost of a page write
    /// over that of a page read.
    ///
    /// # Errors
    ///
    /// A sentence if the buffer cannot have this size, or a default is out of its range.
    pub fn resolve(
        &self,
        size: BufferSize,
        device_ratio: Ratio,
    ) -> Result<ResolvedBuffer, SettingsError> {
        let Description { name, parameters, .. } = self.entry.description;
        let surroundings = parameters::Surroundings { frames: size.pages, device_ratio, seed: 0 };
        let settings = parameters::complete(name, parameters, &self.given, surroundings)?;
        if size.pages == 0 && !self.is_none() {
            return Err(SettingsError::Refused(format!(
                "write buffer {name}: its total is less than a page; give it more"
            )));
        }
        if self.entry.is_hybrid && media_pages(&settings, size.pages).1 == 0 {
            return Err(SettingsError::Refused(format!(
                "write buffer {name}: a total of {} pages with this dram_share leaves no page of NVM; \
                 give a larger total or a smaller dram_share",
                size.pages
            )));
        }
        Ok(ResolvedBuffer { entry: self.entry, settings, size })
    }
}

fn unknown(name: &str) -> SettingsError {
    match crate::catalog::find(name) {
        Some(_) => SettingsError::Refused(format!(
            "policy {name} is no write buffer; the write buffers are {}",
            BUFFERS.iter().map(|entry| entry.description.name).collect::<Vec<_>>().join(", ")
        )),
        None => SettingsError::UnknownBuffer { name: name.to_owned() },
    }
}

/// Takes `total=VALUE` out of the settings.
fn split_total(
    name: &str,
    settings: &str,
) -> Result<(Option<String>, Option<String>), SettingsError> {
    let (mut total, mut others) = (None, Vec::new());
    for pair in settings.split(',') {
        match pair.strip_prefix("total=") {
            Some(_) if total.is_some() => {
                return Err(SettingsError::Refused(format!("policy {name}: total is given twice")));
            }
            Some(value) => total = Some(value.to_owned()),
            None => others.push(pair),
        }
    }
    let others = if total.is_some() && others.is_empty() { None } else { Some(others.join(",")) };
    Ok((total, others))
}

/// The pages of DRAM and of NVM: DRAM = max(1, floor(`dram_share` × total)), NVM is the rest.
pub(crate) fn media_pages(settings: &Settings, total_pages: u32) -> (u32, u32) {
    let share = settings.ratio("dram_share").expect("dram_share has a default");
    let dram_pages = share.floor_of(total_pages).clamp(1, total_pages.into()) as u32;
    (dram_pages, total_pages - dram_pages)
}

/// A write buffer with its size and a value for every parameter that applies.
#[derive(Clone, Debug)]
pub struct ResolvedBuffer {
    entry: &'static BufferEntry,
    settings: Settings,
    size: BufferSize,
}

impl ResolvedBuffer {
    /// The buffer's entry in the catalog.
    pub fn entry(&self) -> &'static BufferEntry {
        self.entry
    }

    /// The value of every parameter that applies.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The size that it is built for.
    pub fn size(&self) -> BufferSize {
        self.size
    }
}

impl fmt::Display for ResolvedBuffer {
    /// As it could be written, without `total`, whose unit is the driver's.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settings.write_behind(self.entry.description.name, formatter)
    }
}
