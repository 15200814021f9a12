//! The one table of policies. A new policy is its file and one line here; the command, Python, the tests
//! and the documentation read this table.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::Ratio;
use crate::own::{self, Make};
use crate::page::{self, AccessDriven, BitDriven, Capabilities, Offline};
use crate::parameters::{self, Parameter, Settings, SettingsError, Value};

/// What a policy's own file says about it.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// The name in the command, with hyphens.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Where it was published.
    pub paper: &'static str,
    /// What can be set.
    pub parameters: &'static [Parameter],
    /// The source of the policy's file, whose head is its documentation page.
    pub source: &'static str,
}

/// The size of the memory that a policy is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Page frames, at least 1.
    pub frames: u32,
    /// Distinct pages: page ids are below this.
    pub pages: u32,
}

/// A policy of the catalog: its description, and how to build it.
pub trait Cataloged: Sized {
    /// What its file says of it.
    const DESCRIPTION: Description;

    /// Builds it from checked settings.
    fn build(settings: &Settings, size: Size) -> Self;
}

/// A policy in its own type, of the catalog or not. `parameters` are those behind the colon of `--policy`, such as
/// `c=8,ghosts=literal`. Others have their defaults; the default of some is the write/read ratio of the device.
///
/// # Errors
///
/// A sentence that names the parameter and its range.
pub fn built<P: Cataloged>(
    parameters: &str,
    size: Size,
    write_read_ratio: Ratio,
) -> Result<P, SettingsError> {
    let Description { name, parameters: known, .. } = P::DESCRIPTION;
    let given = match parameters {
        "" => Vec::new(),
        given => parameters::parse_settings(name, known, given)?,
    };
    let frames = size.frames;
    let surroundings = parameters::Surroundings { frames, device_ratio: write_read_ratio, seed: 0 };
    let settings = parameters::complete(name, known, &given, surroundings)?;
    Ok(P::build(&settings, size))
}

/// Input that a policy needs, which determines where it can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Needs faults only; can drive real memory.
    BitDriven,
    /// Needs every hit; simulation only.
    AccessDriven,
    /// Needs the future; simulation of recorded traces only.
    Offline,
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Kind::BitDriven => "bit-driven",
            Kind::AccessDriven => "access-driven",
            Kind::Offline => "offline",
        })
    }
}

/// An entry of the catalog.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What the policy's file says of it.
    pub description: Description,
    /// The input that it needs.
    pub kind: Kind,
    /// True if [`peek_victim`](crate::memory::fast::FastMemory::peek_victim) tells which page would leave.
    pub can_peek: bool,
    /// Its maker, if it is not in the catalog.
    pub own: Option<&'static dyn Make>,
}

impl Entry {
    /// The policy's documentation page: the head of its source file.
    pub fn page(&self) -> String {
        page_of(self.description.source)
    }
}

/// The documentation page in the head of a source file.
pub fn page_of(source: &str) -> String {
    let mut page = String::new();
    for line in source.lines() {
        let Some(text) = line.strip_prefix("//!") else { break };
        page.push_str(text.strip_prefix(' ').unwrap_or(text));
        page.push('\n');
    }
    page
}

/// Receives a policy as its concrete type, so that the code that uses it is compiled for it.
pub trait Visitor {
    /// The result.
    type Output;
    /// The policy is bit-driven.
    fn bit_driven<P: BitDriven + 'static>(self, policy: P) -> Self::Output;
    /// The policy is access-driven.
    fn access_driven<P: AccessDriven + 'static>(self, policy: P) -> Self::Output;
    /// The policy must know the future.
    fn offline<P: Offline + 'static>(self, policy: P) -> Self::Output;
}

macro_rules! catalog {
    ($($method:ident $kind:ident $policy:ty;)*) => {
        /// All policies, in the order they are listed.
        pub static CATALOG: &[Entry] = &[
            $(Entry {
                description: <$policy as Cataloged>::DESCRIPTION,
                kind: Kind::$kind,
                can_peek: <$policy as Capabilities>::CAN_PEEK,
                own: None,
            },)*
        ];

        impl ResolvedPolicy {
            /// Builds the policy for a memory and passes it to `visitor`.
            pub fn build<V: Visitor>(&self, size: Size, visitor: V) -> V::Output {
                if let Some(make) = self.entry.own {
                    return own::build(make, self.entry.kind, &self.settings, size, visitor);
                }
                let name = self.entry.description.name;
                $(if name == <$policy as Cataloged>::DESCRIPTION.name {
                    return visitor.$method(<$policy as Cataloged>::build(&self.settings, size));
                })*
                unreachable!("{name} stands in the catalog")
            }
        }
    };
}

catalog! {
    bit_driven BitDriven page::fifo::Fifo;
    access_driven AccessDriven page::lru::Lru;
    bit_driven BitDriven page::clock::Clock;
    bit_driven BitDriven page::nru::Nru;
    bit_driven BitDriven page::car::Car;
    bit_driven BitDriven page::random::Random;
    access_driven AccessDriven page::lfu::Lfu;
    access_driven AccessDriven page::two_q::TwoQ;
    access_driven AccessDriven page::arc::Arc;
    access_driven AccessDriven page::lirs::Lirs;
    bit_driven BitDriven page::clock_pro::ClockPro;
    access_driven AccessDriven page::w_tinylfu::WTinyLfu;
    access_driven AccessDriven page::s3_fifo::S3Fifo;
    bit_driven BitDriven page::sieve::Sieve;
    access_driven AccessDriven page::cflru::Cflru;
    access_driven AccessDriven page::cflru_dynamic::CflruDynamic;
    bit_driven BitDriven page::cfclock::Cfclock;
    access_driven AccessDriven page::lru_wsr::LruWsr;
    access_driven AccessDriven page::lirs_wsr::LirsWsr;
    access_driven AccessDriven page::ccf_lru::CcfLru;
    access_driven AccessDriven page::cfdc::Cfdc;
    access_driven AccessDriven page::casa::Casa;
    access_driven AccessDriven page::ad_lru::AdLru;
    access_driven AccessDriven page::for_::For;
    access_driven AccessDriven page::ace::Ace;
    bit_driven BitDriven page::ace_clock::AceClock;
    bit_driven BitDriven page::linux24::Linux24;
    bit_driven BitDriven page::linux24_cflru::Linux24Cflru;
    bit_driven BitDriven page::linux_lru::LinuxLru;
    bit_driven BitDriven page::linux_mglru::LinuxMglru;
    bit_driven BitDriven page::craw::Craw;
    bit_driven BitDriven page::craw_a::CrawA;
    bit_driven BitDriven page::weighted_clock::WeightedClock;
    access_driven AccessDriven page::wa_landlord::WaLandlord;
    bit_driven BitDriven page::credit_clock::CreditClock;
    offline Offline page::min::Min;
}

/// The entry of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    CATALOG.iter().find(|entry| entry.description.name == name)
}

/// A policy with what the user set of it: `craw:c=8,ghosts=literal`.
#[derive(Clone, Debug)]
pub struct PolicySpec {
    written: String,
    entry: &'static Entry,
    given: Vec<(&'static str, Value)>,
    seed: u64,
}

impl PolicySpec {
    /// Reads `NAME` or `NAME:parameter=value,...` and checks every value.
    ///
    /// # Errors
    ///
    /// A sentence that names the policy, the parameter and the allowed range.
    pub fn parse(text: &str) -> Result<Self, SettingsError> {
        let (name, _) = parameters::name_and_settings(text);
        let entry =
            find(name).ok_or_else(|| SettingsError::UnknownPolicy { name: name.to_owned() })?;
        Self::of(entry, text)
    }

    /// As [`PolicySpec::parse`], where `text` names the policy of `entry`.
    ///
    /// # Errors
    ///
    /// A sentence that names the policy, the parameter and the allowed range.
    pub fn of(entry: &'static Entry, text: &str) -> Result<Self, SettingsError> {
        let (_, settings) = parameters::name_and_settings(text);
        let Description { name, parameters, .. } = entry.description;
        let given = match settings {
            Some(settings) => parameters::parse_settings(name, parameters, settings)?,
            None => Vec::new(),
        };
        Ok(PolicySpec { written: text.to_owned(), entry, given, seed: 0 })
    }

    /// The same policy, with this seed if it draws random numbers and none was given; 0 without.
    pub fn with_seed(self, seed: u64) -> Self {
        PolicySpec { seed, ..self }
    }

    /// What the user wrote.
    pub fn written(&self) -> &str {
        &self.written
    }

    /// The policy's entry in the catalog.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// Adds every default, some of which depend on the number of frames and on the device's cost of a page
    /// write over that of a page read.
    ///
    /// # Errors
    ///
    /// A sentence if a default is out of the parameter's range on this device.
    pub fn resolve(
        &self,
        frames: u32,
        device_ratio: Ratio,
    ) -> Result<ResolvedPolicy, SettingsError> {
        let Description { name, parameters, .. } = self.entry.description;
        let surroundings = parameters::Surroundings { frames, device_ratio, seed: self.seed };
        let settings = parameters::complete(name, parameters, &self.given, surroundings)?;
        Ok(ResolvedPolicy { entry: self.entry, settings })
    }
}

/// A policy with a value for every parameter that applies.
#[derive(Clone, Debug)]
pub struct ResolvedPolicy {
    entry: &'static Entry,
    settings: Settings,
}

impl ResolvedPolicy {
    /// The policy's entry in the catalog.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// The value of every parameter that applies.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The policy for a sample of the pages, `numerator` of `denominator`: what its parameters count in pages or in
    /// references is scaled in the same way. Shares of the frames scale by themselves.
    #[must_use]
    pub fn scaled(&self, numerator: u64, denominator: u64) -> Self {
        ResolvedPolicy { entry: self.entry, settings: self.settings.scaled(numerator, denominator) }
    }
}

impl fmt::Display for ResolvedPolicy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settings.write_behind(self.entry.description.name, formatter)
    }
}
