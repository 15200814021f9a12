//! Recipes in TOML: the notation, and what goes with it.

use std::fs;
use std::io;
use std::path::Path;

use clockhand_quantity::{deep_toml_key, plain_toml_message};
use serde::Deserialize;

use crate::error::TraceError;

/// The fields of a recipe's TOML file; those that are absent can be given in the command.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecipeFile {
    /// The file's name without its ending; not a field.
    #[serde(skip)]
    pub(super) name: Option<String>,
    /// The purpose of the recipe.
    pub(super) summary: Option<String>,
    /// The workload that it stands in for.
    pub(super) stands_for: Option<String>,
    /// The phases, in the notation.
    pub(super) pattern: String,
    /// Such as `20M`.
    pub(super) requests: Option<String>,
    pub(super) seed: Option<u64>,
    /// Such as `poisson:1000`.
    pub(super) arrivals: Option<String>,
}

impl RecipeFile {
    /// A recipe of patterns alone.
    pub(super) fn of_pattern(pattern: &str) -> Self {
        Self { pattern: pattern.to_owned(), ..Self::default() }
    }

    pub(super) fn read(path: &Path) -> Result<Self, TraceError> {
        let file = path.display().to_string();
        let text = fs::read_to_string(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => TraceError::NotFound { file: file.clone() },
            io::ErrorKind::IsADirectory => TraceError::Directory { file: file.clone() },
            _ => TraceError::Io { file: file.clone(), doing: "reading", byte: 0, source },
        })?;
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        Self::parse(&text, &file, name.unwrap_or_default())
    }

    pub(super) fn parse(text: &str, file: &str, name: String) -> Result<Self, TraceError> {
        let content = |before: usize, reason| {
            let before = &text.as_bytes()[..before.min(text.len())];
            let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
            TraceError::Content { file: file.to_owned(), place: format!("line {line}"), reason }
        };
        if let Some(place) = deep_toml_key(text) {
            return Err(content(place, "a key has more than a hundred parts".into()));
        }
        let parsed: Self = toml::from_str(text).map_err(|error| {
            let reason = format!(
                "{}; a recipe has pattern and, if wanted, requests, seed, arrivals, summary, stands_for",
                plain_toml_message(error.message())
            );
            content(error.span().map_or(0, |span| span.start), reason.into())
        })?;
        Ok(Self { name: Some(name), ..parsed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_recipe_is_refused_with_the_line() {
        for (text, words) in [
            ("", "r.toml, line 1: the key pattern is missing; a recipe has pattern and"),
            ("pattern = \"uniform\"\nrequest = \"1M\"", "r.toml, line 2: there is no key request"),
            ("pattern = \"uniform\"\n\nseed = -1", "r.toml, line 3: the number -1 stands where"),
            ("pattern = 7", "r.toml, line 1: the number 7 stands where a text belongs"),
            ("pattern = \"uniform", "r.toml, line 1: "),
        ] {
            let message = RecipeFile::parse(text, "r.toml", "r".into()).unwrap_err().to_string();
            assert!(message.starts_with(words), "{message}");
            assert!(!message.contains('\n'), "{message}");
        }
    }
}
