//! A recipe: everything that decides what the requests of a synthetic trace are.

use std::fmt;
use std::path::Path;

use super::arrivals::Arrivals;
use super::notation::{parse_phases, parse_requests};
use super::pattern::Phase;
use super::recipe_file::RecipeFile;
use super::recipes::named_recipe;
use crate::error::TraceError;
use clockhand_quantity::{Sentence, Text, option};

/// Everything that decides what the requests of a synthetic trace are.
///
/// Its text is what `clockhand trace synthesize` takes to make the same trace again.
#[derive(Clone, PartialEq, Debug)]
pub struct Recipe {
    /// The name of a recipe of the package or of a file; `None` for a notation.
    pub name: Option<String>,
    /// The purpose of the recipe.
    pub summary: Option<String>,
    /// The workload that the trace stands in for and must not be mistaken for.
    pub stands_for: Option<String>,
    /// What happens, in turn; at least one phase.
    pub phases: Vec<Phase>,
    /// The number of requests that are made.
    pub requests: u64,
    /// The seed of all random choices.
    pub seed: u64,
    /// When requests arrive; without it they have no times.
    pub arrivals: Option<Arrivals>,
}

/// What replaces parts of a recipe.
#[derive(Clone, Debug, Default)]
pub struct Overrides<'a> {
    /// The number of requests that are made, such as `20M`.
    pub requests: Option<&'a str>,
    /// The seed, a whole number below 2^64.
    pub seed: Option<&'a str>,
    /// When requests arrive, such as `poisson:1000`; `none` drops the recipe's.
    pub arrivals: Option<&'a str>,
}

impl Recipe {
    /// Reads a recipe: the name of one of [`named_recipes`](super::named_recipes), a TOML file, or
    /// the notation itself.
    ///
    /// # Errors
    /// [`TraceError::Recipe`] when it makes no sense or does not say how many requests are wanted;
    /// an error about the file when it cannot be read.
    pub fn open(text: &str, overrides: &Overrides) -> Result<Self, TraceError> {
        let file = if let Some(named) = named_recipe(text) {
            named?
        } else if Path::new(text).extension().is_some_and(|ending| ending == "toml") {
            RecipeFile::read(Path::new(text))?
        } else {
            RecipeFile::of_pattern(text)
        };
        Self::from_file(file, overrides)
    }

    pub(super) fn from_file(file: RecipeFile, overrides: &Overrides) -> Result<Self, TraceError> {
        let phases = parse_phases(&file.pattern)?;
        let requests = match overrides.requests.or(file.requests.as_deref()) {
            Some(text) => requests(text)?,
            None => {
                phases.iter().map(|phase| phase.requests).sum::<Option<u64>>().ok_or_else(|| {
                    TraceError::recipe(Sentence::new(
                        "the number of requests is not given",
                        Text::from("add it, such as ") + option("requests") + " 20M",
                    ))
                })?
            }
        };
        let seed = overrides.seed.map(seed).transpose()?.or(file.seed).unwrap_or(0);
        let arrivals = match overrides.arrivals.or(file.arrivals.as_deref()) {
            None | Some("none") => None,
            Some(text) => Some(Arrivals::parse(text)?),
        };
        if let Some(arrivals) = arrivals {
            arrivals.check(requests)?;
        }
        Ok(Self {
            name: file.name,
            summary: file.summary,
            stands_for: file.stands_for,
            phases,
            requests,
            seed,
            arrivals,
        })
    }

    /// The patterns alone, in the notation.
    pub fn pattern(&self) -> String {
        let phases: Vec<String> = self.phases.iter().map(Phase::to_string).collect();
        phases.join(" then ")
    }

    /// The key and value pairs that every trace of this recipe carries: `synthetic` with the whole
    /// recipe, `kind` (`synthetic` or `stand-in`) and, if it has one, its name.
    pub fn labels(&self) -> Vec<(String, String)> {
        let kind = if self.stands_for.is_some() { "stand-in" } else { "synthetic" };
        let mut labels =
            vec![("synthetic".to_owned(), self.to_string()), ("kind".to_owned(), kind.to_owned())];
        labels.extend(self.name.iter().map(|name| ("recipe".to_owned(), name.clone())));
        labels.extend(self.stands_for.iter().map(|original| {
            ("stands for".to_owned(), format!("{original}; this is not that workload"))
        }));
        labels
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (pattern, requests, seed) = (self.pattern(), self.requests, self.seed);
        write!(formatter, "\"{pattern}\" --requests {requests} --seed {seed}")?;
        match self.arrivals {
            Some(arrivals) => write!(formatter, " --arrivals {arrivals}"),
            None => Ok(()),
        }
    }
}

fn seed(text: &str) -> Result<u64, TraceError> {
    text.parse().map_err(|_| {
        TraceError::recipe(Sentence::new(
            option("seed") + format!(" {text} is out of range"),
            format!("give a whole number from 0 to {}", u64::MAX),
        ))
    })
}

fn requests(text: &str) -> Result<u64, TraceError> {
    parse_requests(text).ok_or_else(|| {
        TraceError::recipe(Sentence::new(
            option("requests") + format!(" {text} is no number of requests from 1 to 1000G"),
            "give one such as 20M",
        ))
    })
}
