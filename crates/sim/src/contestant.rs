//! The subject of a row: a policy of the catalog, or an end of the bracket of the optimum.

use std::sync::OnceLock;

use clockhand_policy::buffer::catalog::{self as buffer_catalog, BUFFERS, BufferSpec};
use clockhand_policy::catalog::{self, CATALOG, Entry, Kind, PolicySpec};
use clockhand_policy::parameters::{Parameter, SettingsError, name_and_settings};

mod effort;

pub use effort::Effort;

use crate::error::SimError;

/// Finds a policy that stands in no catalog, by its name.
pub type FindOwn = fn(&str) -> Result<Option<&'static Entry>, SimError>;

/// Finders of policies that are not in the catalog.
static FIND_OWN: OnceLock<FindOwn> = OnceLock::new();

/// A policy of the catalog with what the user set of it, or an end of the bracket of the optimum.
#[derive(Clone, Debug)]
pub enum Contestant {
    /// A policy.
    Policy(PolicySpec),
    /// The bound that no policy can beat.
    Bound(EndOfBracket),
    /// A schedule near the optimum.
    Feasible(EndOfBracket),
}

/// What the user set of an end of the bracket.
#[derive(Clone, Debug)]
pub struct EndOfBracket {
    written: String,
    /// That of the run if `None`.
    effort: Option<Effort>,
}

impl EndOfBracket {
    /// What the user wrote.
    pub fn written(&self) -> &str {
        &self.written
    }

    /// The effort, where the run's is `default`.
    pub(crate) fn effort(&self, default: Effort) -> Effort {
        self.effort.unwrap_or(default)
    }

    /// The name with every default.
    pub(crate) fn resolved(&self, default: Effort) -> String {
        let (name, _) = name_and_settings(&self.written);
        format!("{name}:effort={}", self.effort(default))
    }

    /// Reads `NAME` or `NAME:effort=SECONDS`; `None` if it is another name.
    fn parse(name: &str, text: &str) -> Result<Option<Self>, SimError> {
        let settings = match text.strip_prefix(name) {
            Some("") => return Ok(Some(EndOfBracket { written: text.to_owned(), effort: None })),
            Some(rest) => rest.strip_prefix(':'),
            None => None,
        };
        let Some(settings) = settings else { return Ok(None) };
        let Some(seconds) = settings.strip_prefix("effort=") else {
            return Err(SimError::usage(
                format!("policy {name}: {settings:?} is not its parameter"),
                "it takes effort=SECONDS",
            ));
        };
        let effort = Effort::parse(format!("policy {name}: effort="), seconds)?;
        Ok(Some(EndOfBracket { written: text.to_owned(), effort: Some(effort) }))
    }
}

/// What the column `kind` calls policies of a kind.
pub(crate) fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::BitDriven => "bits",
        Kind::AccessDriven => "access",
        Kind::Offline => "offline",
    }
}

/// What the column `kind` calls an end of the bracket.
pub(crate) const BOUND_KIND: &str = "bound";

impl Contestant {
    /// The name of the bound.
    pub const BOUND: &'static str = "bound";
    /// What the bound is, in one line.
    pub const BOUND_SUMMARY: &'static str =
        "what no policy can do better: fewest reads, fewest writes, least time";
    /// Where the bound comes from.
    pub const BOUND_PAPER: &'static str =
        "Belady 1966, applied to reads and to writes; prices by the volume algorithm";
    /// The name of the schedule near the optimum.
    pub const FEASIBLE: &'static str = "opt-feasible";
    /// What the schedule is, in one line.
    pub const FEASIBLE_SUMMARY: &'static str =
        "a schedule near the optimum, which lies between bound and this";
    /// Where the schedule comes from.
    pub const FEASIBLE_PAPER: &'static str = "the prices of bound";

    /// Has policies that stand in no catalog looked for by `find` from now on; the first caller decides.
    pub fn find_own_by(find: FindOwn) {
        FIND_OWN.get_or_init(|| find);
    }

    /// Reads `NAME` or `NAME:parameter=value,...`.
    ///
    /// # Errors
    ///
    /// A sentence that names the nearest policy or parameter, or the allowed range.
    pub fn parse(text: &str) -> Result<Self, SimError> {
        if let Some(end) = EndOfBracket::parse(Self::BOUND, text)? {
            return Ok(Contestant::Bound(end));
        }
        if let Some(end) = EndOfBracket::parse(Self::FEASIBLE, text)? {
            return Ok(Contestant::Feasible(end));
        }
        let (name, _) = name_and_settings(text);
        if let (None, Some(find)) = (catalog::find(name), FIND_OWN.get())
            && let Some(entry) = find(name)?
        {
            let parameters = |_: &str| Some(entry.description.parameters);
            let policy =
                PolicySpec::of(entry, text).map_err(|error| explained(&error, parameters))?;
            return Ok(Contestant::Policy(policy));
        }
        let parameters =
            |policy: &str| catalog::find(policy).map(|entry| entry.description.parameters);
        let policy = PolicySpec::parse(text).map_err(|error| explained(&error, parameters))?;
        Ok(Contestant::Policy(policy))
    }

    /// Reads each of some texts.
    ///
    /// # Errors
    ///
    /// The sentence about the first that is refused.
    pub fn parse_all(texts: &[String]) -> Result<Vec<Self>, SimError> {
        texts.iter().map(|text| Self::parse(text)).collect()
    }

    /// The name without parameters.
    pub fn name(&self) -> &str {
        name_and_settings(self.written()).0
    }

    /// What the user wrote.
    pub fn written(&self) -> &str {
        match self {
            Contestant::Policy(policy) => policy.written(),
            Contestant::Bound(end) | Contestant::Feasible(end) => end.written(),
        }
    }

    /// The documentation page.
    pub fn page(&self) -> String {
        match self {
            Contestant::Policy(policy) => policy.entry().page(),
            Contestant::Bound(_) => catalog::page_of(include_str!("pages/bound.rs")),
            Contestant::Feasible(_) => catalog::page_of(include_str!("pages/opt_feasible.rs")),
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

/// The sentence of an error about a policy's text, with the names that there are.
pub(crate) fn explained(
    error: &SettingsError,
    parameters: impl Fn(&str) -> Option<&'static [Parameter]>,
) -> SimError {
    let (name, names): (&str, Vec<&str>) = match error {
        SettingsError::UnknownPolicy { name } => {
            let policies = CATALOG.iter().map(|entry| entry.description.name);
            (name, policies.chain([Contestant::BOUND, Contestant::FEASIBLE]).collect())
        }
        SettingsError::UnknownBuffer { name } => {
            (name, BUFFERS.iter().map(|entry| entry.description.name).collect())
        }
        SettingsError::UnknownParameter { policy, name } => {
            let parameters = parameters(policy).unwrap_or_default();
            (name, parameters.iter().map(|parameter| parameter.name).collect())
        }
        SettingsError::Refused(sentence) => return SimError::Usage(sentence.clone().into()),
    };
    SimError::usage(error.to_string(), suggestion(name, &names))
}

/// `did you mean "clock"? there are: …`
pub(crate) fn suggestion(name: &str, names: &[&str]) -> String {
    if names.is_empty() {
        return "it takes none".to_owned();
    }
    let nearest = names
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .min()
        .filter(|(distance, candidate)| *distance <= candidate.len() / 2 + 1)
        .map_or(String::new(), |(_, candidate)| format!("did you mean {candidate:?}? "));
    format!("{nearest}there are: {}", names.join(", "))
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
    fn the_ends_of_the_bracket_take_an_effort_and_nothing_else() {
        for (text, resolved) in [
            ("bound", "bound:effort=2"),
            ("bound:effort=0", "bound:effort=0"),
            ("opt-feasible", "opt-feasible:effort=2"),
            ("opt-feasible:effort=2.5", "opt-feasible:effort=5/2"),
        ] {
            let contestant = Contestant::parse(text).unwrap();
            assert_eq!(contestant.written(), text);
            let (Contestant::Bound(end) | Contestant::Feasible(end)) = contestant else {
                panic!("{text} is an end of the bracket");
            };
            assert_eq!(end.resolved(Effort::default()), resolved);
        }
        for (text, expected) in [
            ("bound:", r#"policy bound: "" is not its parameter; it takes effort=SECONDS"#),
            ("bound:c=8", r#"policy bound: "c=8" is not its parameter; it takes effort=SECONDS"#),
            (
                "opt-feasible:effort=-1",
                "policy opt-feasible: effort=-1 is out of range; it takes seconds per memory size, such as 2 or \
                 0.5, from 0 to 3600",
            ),
        ] {
            assert_eq!(Contestant::parse(text).unwrap_err().to_string(), expected);
        }
        assert!(
            Contestant::parse("bounds").unwrap_err().to_string().contains("did you mean \"bound\"")
        );
    }

    #[test]
    fn an_unknown_write_buffer_or_parameter_of_one_names_the_nearest() {
        let error = parse_buffer("clock-dvn:total=4").unwrap_err().to_string();
        assert!(error.contains(r#"did you mean "clock-dnv"?"#), "{error}");
        let error = parse_buffer("lru:cache_read=true").unwrap_err().to_string();
        assert!(error.contains(r#"did you mean "cache_reads"?"#), "{error}");
    }
}
