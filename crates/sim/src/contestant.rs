//! What stands in a column of results: a policy of the catalog, or the bound.

use clockhand_policy::buffer::catalog::{self as buffer_catalog, BUFFERS, BufferSpec};
use clockhand_policy::catalog::{self, CATALOG, PolicySpec};
use clockhand_policy::parameters::{Parameter, SettingsError};

use crate::SimError;

/// A policy of the catalog with what the user set of it, or the offline bound.
#[derive(Clone, Debug)]
pub enum Contestant {
    /// A policy.
    Policy(PolicySpec),
    /// What no policy can do better.
    Bound,
}

impl Contestant {
    /// The name of the bound.
    pub const BOUND: &'static str = "bound";
    /// What the bound is, in one line.
    pub const BOUND_SUMMARY: &'static str =
        "what no policy can do better: fewest reads, fewest writes";
    /// Where the bound comes from.
    pub const BOUND_PAPER: &'static str = "Belady 1966, applied to reads and to writes";

    /// Reads `NAME` or `NAME:parameter=value,...`.
    ///
    /// # Errors
    ///
    /// A sentence that names the nearest policy or parameter, or the allowed range.
    pub fn parse(text: &str) -> Result<Self, SimError> {
        if text == Self::BOUND {
            return Ok(Contestant::Bound);
        }
        let parameters =
            |policy: &str| catalog::find(policy).map(|entry| entry.description.parameters);
        let policy = PolicySpec::parse(text).map_err(|error| explained(&error, parameters))?;
        Ok(Contestant::Policy(policy))
    }

    /// What the user wrote.
    pub fn written(&self) -> &str {
        match self {
            Contestant::Policy(policy) => policy.written(),
            Contestant::Bound => Self::BOUND,
        }
    }

    /// The documentation page.
    pub fn page(&self) -> String {
        match self {
            Contestant::Policy(policy) => policy.entry().page(),
            Contestant::Bound => catalog::page_of(include_str!("pages/bound.rs")),
        }
    }
}

/// Reads a write buffer, `NAME:total=SIZE` with further parameters; whether the total is a size shows later.
///
/// # Errors
///
/// A sentence that names the nearest write buffer or parameter, or the allowed range.
pub fn parse_buffer(text: &str) -> Result<BufferSpec, SimError> {
    let parameters =
        |buffer: &str| buffer_catalog::find(buffer).map(|entry| entry.description.parameters);
    BufferSpec::parse(text).map_err(|error| explained(&error, parameters))
}

fn explained(
    error: &SettingsError,
    parameters: impl Fn(&str) -> Option<&'static [Parameter]>,
) -> SimError {
    let (name, names): (&str, Vec<&str>) = match error {
        SettingsError::UnknownPolicy { name } => {
            let policies = CATALOG.iter().map(|entry| entry.description.name);
            (name, policies.chain([Contestant::BOUND]).collect())
        }
        SettingsError::UnknownBuffer { name } => {
            (name, BUFFERS.iter().map(|entry| entry.description.name).collect())
        }
        SettingsError::UnknownParameter { policy, name } => {
            let parameters = parameters(policy).unwrap_or_default();
            (name, parameters.iter().map(|parameter| parameter.name).collect())
        }
        SettingsError::Refused(sentence) => return SimError::Usage(sentence.clone()),
    };
    SimError::Usage(format!("{error}{}", suggestion(name, &names)))
}

/// `; did you mean "clock"? There are: …`
pub(crate) fn suggestion(name: &str, names: &[&str]) -> String {
    if names.is_empty() {
        return "; it takes none".to_owned();
    }
    let nearest = names
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .min()
        .filter(|(distance, candidate)| *distance <= candidate.len() / 2 + 1)
        .map_or(String::new(), |(_, candidate)| format!("did you mean {candidate:?}? "));
    format!("; {nearest}there are: {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_policy_names_the_nearest() {
        let error = Contestant::parse("crow").unwrap_err().to_string();
        assert!(
            error.starts_with(r#"there is no policy "crow"; did you mean "craw"? "#),
            "{error}"
        );
        let error = Contestant::parse("clock:insert=1").unwrap_err().to_string();
        assert!(error.contains(r#"did you mean "insert_ref"?"#), "{error}");
        assert!(Contestant::parse("lru:x=1").unwrap_err().to_string().ends_with("it takes none"));
    }

    #[test]
    fn an_unknown_write_buffer_or_parameter_of_one_names_the_nearest() {
        let error = parse_buffer("clock-dvn:total=4").unwrap_err().to_string();
        assert!(error.contains(r#"did you mean "clock-dnv"?"#), "{error}");
        let error = parse_buffer("lru:cache_read=true").unwrap_err().to_string();
        assert!(error.contains(r#"did you mean "cache_reads"?"#), "{error}");
    }
}
