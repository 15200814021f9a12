//! The geometry of a TLB, as the user writes it: `64`, `1536/12`, `64/4:plru`.

use clockhand_quantity::option;
use std::fmt;

use crate::error::SimError;

/// Which entry of a set is replaced by a new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Replacement {
    /// The one that was used least recently.
    #[default]
    Lru,
    /// The one that was inserted first.
    Fifo,
    /// One that is drawn at random.
    Random,
    /// The one that a binary tree over the ways points to.
    Plru,
}

impl Replacement {
    const ALL: [Replacement; 4] =
        [Replacement::Lru, Replacement::Fifo, Replacement::Random, Replacement::Plru];

    /// The name that `--tlb` takes.
    pub fn name(self) -> &'static str {
        match self {
            Replacement::Lru => "lru",
            Replacement::Fifo => "fifo",
            Replacement::Random => "random",
            Replacement::Plru => "plru",
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Entries of a TLB and how they are divided into sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TlbGeometry {
    entries: u32,
    ways: u32,
    replacement: Replacement,
}

impl TlbGeometry {
    /// The most entries of a TLB, or of a level of one.
    pub const LIMIT_ENTRIES: u32 = 1 << 20;

    /// One set of `entries` ways with LRU replacement.
    pub(crate) fn fully_associative(entries: u32) -> Self {
        TlbGeometry { entries, ways: entries, replacement: Replacement::Lru }
    }

    /// Reads `--tlb`: `ENTRIES[/WAYS][:lru|fifo|random|plru]`.
    ///
    /// # Errors
    ///
    /// A sentence that names the text and what is allowed.
    pub fn parse(text: &str) -> Result<Self, SimError> {
        let (size, kind) = match text.split_once(':') {
            Some((size, kind)) => (size, Some(kind)),
            None => (text, None),
        };
        let replacement = match kind {
            None => Replacement::default(),
            Some(kind) => Replacement::of_name(kind).ok_or_else(|| {
                SimError::usage(
                    option("tlb") + format!(" {text:?}: there is no replacement {kind:?}"),
                    "give lru, fifo, random or plru",
                )
            })?,
        };
        Self::of_size("tlb", size, replacement)
    }

    /// Reads `--tlb2`: `ENTRIES[/WAYS]`, replaced as the first level is.
    ///
    /// # Errors
    ///
    /// A sentence that names the text and what is allowed.
    pub fn parse_second(text: &str, first: Self) -> Result<Self, SimError> {
        if text.contains(':') {
            return Err(SimError::usage(
                option("tlb2") + format!(" {text:?}: the second level is replaced as the first"),
                "give ENTRIES or ENTRIES/WAYS",
            ));
        }
        Self::of_size("tlb2", text, first.replacement)
    }

    fn of_size(name: &'static str, text: &str, replacement: Replacement) -> Result<Self, SimError> {
        let refused = |problem: String, remedy: &str| {
            SimError::usage(option(name) + format!(" {text:?}: {problem}"), remedy)
        };
        let (entries, ways) = match text.split_once('/') {
            Some((entries, ways)) => (entries, Some(ways)),
            None => (text, None),
        };
        let limit = Self::LIMIT_ENTRIES;
        let entries = entries.trim().parse().ok().filter(|&entries: &u32| entries <= limit);
        let entries = entries.ok_or_else(|| {
            refused(
                format!("the entries are no whole number from 0 to {limit}"),
                "give such as 64, 64/4 or 64/4:plru",
            )
        })?;
        let ways = match ways {
            None => entries,
            Some(ways) => ways.trim().parse().ok().filter(|&ways| ways > 0).ok_or_else(|| {
                refused("the ways are no whole number from 1 on".to_owned(), "give such as 64/4")
            })?,
        };
        if entries > 0 && !entries.is_multiple_of(ways) {
            return Err(refused(
                format!("{entries} entries cannot be divided into sets of {ways} ways"),
                "give a multiple of the ways",
            ));
        }
        if replacement == Replacement::Plru && entries > 0 && !ways.is_power_of_two() {
            return Err(refused(
                format!("plru needs a number of ways that is a power of two, and {ways} is none"),
                "give such ways or another replacement",
            ));
        }
        Ok(TlbGeometry { entries, ways: ways.min(entries), replacement })
    }

    /// All entries.
    pub fn entries(self) -> u32 {
        self.entries
    }

    /// Entries of a set.
    pub fn ways(self) -> u32 {
        self.ways
    }

    /// Sets; 0 without entries.
    pub fn sets(self) -> u32 {
        self.entries.checked_div(self.ways).unwrap_or(0)
    }

    /// The rule that chooses the entry of a set that leaves.
    pub fn replacement(self) -> Replacement {
        self.replacement
    }
}

impl fmt::Display for TlbGeometry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.entries)?;
        if self.ways != self.entries {
            write!(formatter, "/{}", self.ways)?;
        }
        match self.replacement {
            Replacement::Lru => Ok(()),
            other => write!(formatter, ":{}", other.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tlb_is_written_as_entries_ways_and_replacement() {
        for (text, entries, ways, replacement) in [
            ("64", 64, 64, Replacement::Lru),
            ("1536/12", 1536, 12, Replacement::Lru),
            ("64/4:plru", 64, 4, Replacement::Plru),
            ("6/2:random", 6, 2, Replacement::Random),
            ("0", 0, 0, Replacement::Lru),
            ("8:fifo", 8, 8, Replacement::Fifo),
        ] {
            let tlb = TlbGeometry::parse(text).unwrap();
            assert_eq!(
                (tlb.entries(), tlb.ways(), tlb.replacement()),
                (entries, ways, replacement)
            );
            assert_eq!(tlb.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_tlb_is_refused_with_the_text() {
        for text in
            ["", "x", "64/", "64/0", "64/5", "12:plru", "64:mru", "64/-4", "1048577", "64/4:", "-1"]
        {
            let error = TlbGeometry::parse(text).unwrap_err().to_string();
            assert!(error.starts_with("--tlb \""), "{text}: {error}");
        }
        let first = TlbGeometry::parse("64/4:plru").unwrap();
        assert_eq!(
            TlbGeometry::parse_second("64/8", first).unwrap().replacement(),
            Replacement::Plru
        );
        for text in ["1536/12", "1536:lru", "7/2"] {
            let error = TlbGeometry::parse_second(text, first).unwrap_err().to_string();
            assert!(error.starts_with("--tlb2 \""), "{text}: {error}");
        }
    }
}
