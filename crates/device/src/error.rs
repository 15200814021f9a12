//! The one error type of the crate.

use clockhand_quantity::{Sentence, Text};

/// Why a device cannot be used. Each message is one sentence: the place, the fault, the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The text is neither a built-in device nor a file.
    #[error("unknown device '{name}', {remedy}")]
    UnknownName {
        /// The name as given.
        name: String,
        /// The nearest device, or where to find the list.
        remedy: Text,
    },
    /// The profile's file cannot be read.
    #[error("device profile {path} cannot be read ({reason}), check the path")]
    Unreadable {
        /// The path as given.
        path: String,
        /// What the operating system said.
        reason: String,
    },
    /// The profile's text is wrong.
    #[error("device profile {path}, line {line}: {problem}")]
    Profile {
        /// The path as given, or the file name of a built-in profile.
        path: String,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong and what to do.
        problem: String,
    },
    /// An option after the colon is wrong.
    #[error("device '{device}': {problem}")]
    Option {
        /// The device as given, without its options.
        device: String,
        /// What is wrong and what to do.
        problem: String,
    },
    /// The text is neither a built-in drive nor a file.
    #[error("unknown SSD '{name}', {remedy}")]
    UnknownSsd {
        /// The name as given.
        name: String,
        /// The nearest drive, or all of them.
        remedy: String,
    },
    /// The text is neither built-in tiers nor a file.
    #[error("unknown tiers '{name}', {remedy}")]
    UnknownTiers {
        /// The name as given.
        name: String,
        /// The nearest tiers, or all of them.
        remedy: String,
    },
    /// A drive's profile and options contradict each other.
    #[error("SSD '{ssd}': {problem}")]
    Ssd {
        /// The drive as given.
        ssd: String,
        /// What is wrong and what to do.
        problem: String,
    },
    /// A page has no bytes.
    #[error("a page of 0 bytes has no cost, give a page size of at least 1 byte")]
    EmptyPage,
    /// The exact cost is a fraction too long for its type.
    #[error(
        "device '{device}': the exact cost of a page of {page_bytes} bytes is too long a fraction, \
         write the profile's numbers with fewer digits or use a smaller page"
    )]
    TooLong {
        /// The device as given, with its options.
        device: String,
        /// The page size, in bytes.
        page_bytes: u64,
    },
}

impl DeviceError {
    /// What it says, with the commands that it refers to apart from its words.
    pub fn sentence(&self) -> Sentence {
        match self {
            Self::UnknownName { name, remedy } => {
                (Text::from(format!("unknown device '{name}', ")) + remedy.clone()).into()
            }
            in_words_alone => in_words_alone.to_string().into(),
        }
    }
}
