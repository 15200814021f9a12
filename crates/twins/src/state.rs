//! A policy's complete state as a tree.

use std::fmt;

/// A policy's complete state; displayed as JSON with the keys of the golden files.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// A page number, a count, or a bit as 0 or 1.
    Integer(u64),
    /// A desired size or CAR's p.
    Real(f64),
    /// Entries from the head (under the hand, LRU end, oldest) to the tail.
    List(Vec<State>),
    /// Named parts, in the golden files' order.
    Object(Vec<(&'static str, State)>),
}

impl State {
    /// The part of an object that is called `name`.
    pub fn get(&self, name: &str) -> Option<&State> {
        match self {
            State::Object(parts) => {
                parts.iter().find(|(part, _)| *part == name).map(|(_, state)| state)
            }
            _ => None,
        }
    }

    /// A list of pages.
    pub(crate) fn pages<'a>(pages: impl IntoIterator<Item = &'a u64>) -> State {
        State::List(pages.into_iter().map(|page| State::Integer(*page)).collect())
    }

    /// A flag for each page of a list, as a number.
    pub(crate) fn flags(flags: impl IntoIterator<Item = bool>) -> State {
        let number = |flag| State::Real(f64::from(u8::from(flag)));
        State::List(flags.into_iter().map(number).collect())
    }

    /// One list entry, `[page, bit …]`.
    pub(crate) fn entry(page: u64, bits: &[bool]) -> State {
        let bits = bits.iter().map(|bit| State::Integer(u64::from(*bit)));
        State::List(std::iter::once(State::Integer(page)).chain(bits).collect())
    }
}

impl fmt::Display for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::Integer(integer) => write!(formatter, "{integer}"),
            // `{:?}` keeps the ".0" that tells a real from an integer.
            State::Real(real) => write!(formatter, "{real:?}"),
            State::List(entries) => {
                for (index, entry) in entries.iter().enumerate() {
                    let before = if index == 0 { "[" } else { "," };
                    write!(formatter, "{before}{entry}")?;
                }
                formatter.write_str(if entries.is_empty() { "[]" } else { "]" })
            }
            State::Object(parts) => {
                for (index, (name, part)) in parts.iter().enumerate() {
                    let before = if index == 0 { "{" } else { "," };
                    write!(formatter, "{before}\"{name}\":{part}")?;
                }
                formatter.write_str(if parts.is_empty() { "{}" } else { "}" })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_displayed_as_json() {
        let state = State::Object(vec![
            ("p", State::Real(1.0)),
            ("T1", State::List(vec![State::entry(7, &[true, false])])),
            ("B1", State::pages(&[])),
        ]);
        assert_eq!(state.to_string(), r#"{"p":1.0,"T1":[[7,1,0]],"B1":[]}"#);
        assert_eq!(state.get("p"), Some(&State::Real(1.0)));
    }
}
