//! Why a policy of a library cannot be used.

use std::error::Error;
use std::fmt;

/// A sentence that names the policy or the library, what is wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(String);

impl Refusal {
    pub(crate) fn of(name: &str, wrong: String) -> Self {
        let word = if name.contains(crate::IN_FILE) { "policy" } else { "policy library" };
        Refusal(format!("{word} {name}: {wrong}"))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Error for Refusal {}
