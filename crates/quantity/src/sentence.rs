//! Sentences about options, which the command, Python and files of experiments each spell in their own way.

use std::fmt;
use std::ops::Add;

/// A text that refers to options by their names, so that who shows it chooses how they are spelled.
///
/// ```
/// use clockhand_quantity::option;
///
/// let text = option("page-size") + " 3 is no power of two";
/// assert_eq!(text.to_string(), "--page-size 3 is no power of two");
/// assert_eq!(text.options().collect::<Vec<_>>(), ["page-size"]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text(Vec<Piece>);

/// A part of a [`Text`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Words, the same for everyone.
    Words(String),
    /// An option, by its long name in the command: `page-size`.
    Option(&'static str),
    /// A command that Python has a function for, as text shows it.
    Command(&'static str),
}

/// An option in a text, by its long name in the command without the dashes.
pub fn option(name: &'static str) -> Text {
    Text(vec![Piece::Option(name)])
}

/// A command in a text, as it is shown there.
pub fn command(line: &'static str) -> Text {
    Text(vec![Piece::Command(line)])
}

impl Text {
    /// Its parts, in their order.
    pub fn pieces(&self) -> &[Piece] {
        &self.0
    }

    /// The options that it refers to, in their order.
    pub fn options(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Option(name) => Some(*name),
            Piece::Words(_) | Piece::Command(_) => None,
        })
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<String> for Text {
    fn from(words: String) -> Self {
        Text(if words.is_empty() { Vec::new() } else { vec![Piece::Words(words)] })
    }
}

impl From<&str> for Text {
    fn from(words: &str) -> Self {
        words.to_owned().into()
    }
}

impl<More: Into<Text>> Add<More> for Text {
    type Output = Text;

    fn add(mut self, more: More) -> Text {
        self.0.extend(more.into().0);
        self
    }
}

/// As the command spells it.
impl fmt::Display for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            Piece::Words(words) => formatter.write_str(words),
            Piece::Option(name) => write!(formatter, "--{name}"),
            Piece::Command(line) => formatter.write_str(line),
        })
    }
}

/// What is wrong, and what helps: the one sentence of an error.
///
/// It is about the [options](Text::options) of its problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// What is wrong, and where.
    pub problem: Text,
    /// What to do; empty if the problem says it.
    pub remedy: Text,
}

impl Sentence {
    /// The sentence of a problem and its remedy.
    pub fn new(problem: impl Into<Text>, remedy: impl Into<Text>) -> Self {
        Sentence { problem: problem.into(), remedy: remedy.into() }
    }
}

impl<Problem: Into<Text>> From<Problem> for Sentence {
    fn from(problem: Problem) -> Self {
        Sentence { problem: problem.into(), remedy: Text::default() }
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.problem)?;
        if !self.remedy.is_empty() {
            write!(formatter, "; {}", self.remedy)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_keeps_its_options_apart_from_words_that_look_like_them() {
        let sentence = Sentence::new(
            option("frames") + format!(" {:?} is no number", "--memory"),
            Text::from("give one, or ") + option("memory"),
        );
        assert_eq!(
            sentence.to_string(),
            "--frames \"--memory\" is no number; give one, or --memory"
        );
        assert_eq!(sentence.problem.options().collect::<Vec<_>>(), ["frames"]);
        assert_eq!(sentence.remedy.options().collect::<Vec<_>>(), ["memory"]);
    }

    #[test]
    fn a_problem_without_a_remedy_stands_alone() {
        assert_eq!(Sentence::from("there is no such study").to_string(), "there is no such study");
        assert_eq!(
            (Text::from("see ") + command("clockhand devices")).to_string(),
            "see clockhand devices"
        );
    }
}
