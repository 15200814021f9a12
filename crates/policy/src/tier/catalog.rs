//! The one table of policies for two tiers, made like that of page policies.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::{TierPolicy, fixed};
use crate::Ratio;
use crate::catalog::{Description, page_of};
use crate::parameters::{self, Default, Domain, Parameter, Settings, SettingsError, Value};

/// The sizes of the tiers that a policy is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TierSize {
    /// Frames of the fast tier, from 0.
    pub fast_frames: u32,
    /// Pages are numbered below this.
    pub pages: u32,
}

/// A policy of the catalog: its description, and how to build it.
pub(crate) trait Cataloged: Sized {
    const DESCRIPTION: Description;
    fn build(settings: &Settings, size: TierSize) -> Self;
}

/// A parameter that counts something, from 1.
pub(super) const fn count(
    name: &'static str,
    summary: &'static str,
    default: &'static str,
) -> Parameter {
    Parameter {
        name,
        summary,
        domain: Domain::Count { min: 1, max: u32::MAX as u64 },
        default: Default::Value(default),
        only_with: None,
    }
}

/// Receives a policy in its own type, so that what uses it is compiled for it.
pub trait Visitor {
    /// What comes of it.
    type Output;
    /// The policy, before the first reference.
    fn visit<P: TierPolicy + 'static>(self, policy: P) -> Self::Output;
}

macro_rules! catalog {
    ($($policy:ty;)*) => {
        /// All policies that are made for two tiers, in the order they are listed.
        pub static TIER_POLICIES: &[Description] =
            &[$(<$policy as Cataloged>::DESCRIPTION,)* fixed::DESCRIPTION];

        impl TierSpec {
            /// Builds the policy and hands it to `visitor`.
            ///
            /// # Panics
            ///
            /// For `static`, which a driver builds from the whole trace.
            pub fn build<V: Visitor>(&self, size: TierSize, visitor: V) -> V::Output {
                let name = self.description.name;
                $(if name == <$policy as Cataloged>::DESCRIPTION.name {
                    return visitor.visit(<$policy as Cataloged>::build(&self.settings, size));
                })*
                unreachable!("{name} is built by its driver")
            }
        }
    };
}

catalog! {
    super::clock_dwf::ClockDwf;
    super::m_clock::MClock;
    super::tpp::Tpp;
    super::memtis::Memtis;
    super::hemem::Hemem;
}

/// What the catalog says of a name.
pub fn find(name: &str) -> Option<&'static Description> {
    TIER_POLICIES.iter().find(|description| description.name == name)
}

/// The documentation page of a policy: the head of its source file.
pub fn page(description: &Description) -> String {
    page_of(description.source)
}

/// A policy for two tiers with what the user set of it, and every default: `tpp:rule=first`.
#[derive(Clone, Debug)]
pub struct TierSpec {
    written: String,
    description: &'static Description,
    settings: Settings,
}

impl TierSpec {
    /// Reads `NAME` or `NAME:parameter=value,...`; `None` if the name is of no such policy.
    ///
    /// # Errors
    ///
    /// A sentence that names the policy, the parameter and the allowed range.
    pub fn parse(text: &str) -> Option<Result<Self, SettingsError>> {
        let (name, settings) = parameters::name_and_settings(text);
        Some(Self::of(find(name)?, text, settings))
    }

    fn of(
        description: &'static Description,
        text: &str,
        settings: Option<&str>,
    ) -> Result<Self, SettingsError> {
        let Description { name, parameters, .. } = *description;
        let given: Vec<(&'static str, Value)> = match settings {
            Some(settings) => parameters::parse_settings(name, parameters, settings)?,
            None => Vec::new(),
        };
        // No default depends on them.
        let surroundings =
            parameters::Surroundings { frames: 1, device_ratio: Ratio::whole(1), seed: 0 };
        let settings = parameters::complete(name, parameters, &given, surroundings)?;
        Ok(TierSpec { written: text.to_owned(), description, settings })
    }

    /// What the user wrote.
    pub fn written(&self) -> &str {
        &self.written
    }

    /// What the catalog says of the policy.
    pub fn description(&self) -> &'static Description {
        self.description
    }
}

impl fmt::Display for TierSpec {
    /// With every parameter.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settings.write_behind(self.description.name, formatter)
    }
}
