//! Names the streams of a trace in the written file.

use clockhand_quantity::{Text, option};
use rustc_hash::FxHashMap;

use super::Reason;
use crate::write::target::{StreamField, Target};

/// The streams that were written, and how each is named.
#[derive(Default)]
pub(super) struct Streams {
    names: FxHashMap<u32, String>,
    numbers_of_names: FxHashMap<String, u32>,
    last: Option<u32>,
    pub(super) last_name: String,
    has_given_names: bool,
    has_lost_names: bool,
}

impl Streams {
    /// Prepares to write a request of this stream; true when it is the stream's first.
    pub(super) fn take(
        &mut self,
        stream: u32,
        target: &Target,
        given_names: &[String],
    ) -> Result<bool, Reason> {
        if self.last == Some(stream) {
            return Ok(false);
        }
        let is_new = !self.names.contains_key(&stream);
        if is_new {
            self.add(stream, target, given_names)?;
        }
        self.last = Some(stream);
        self.last_name.clone_from(&self.names[&stream]);
        Ok(is_new)
    }

    fn add(&mut self, stream: u32, target: &Target, given_names: &[String]) -> Result<(), Reason> {
        self.has_given_names |= !given_names.is_empty();
        let given_name = given_names.get(stream as usize);
        let name = match target.streams {
            StreamField::None => {
                if let Some(first) = self.last {
                    return Err(Text::from(format!(
                        "is of stream {stream} and those before of stream {first}, and {} has no streams; \
                         choose one with ",
                        target.name
                    )) + option("streams"));
                }
                String::new()
            }
            StreamField::Numbers { highest } => {
                if stream > highest {
                    return Err(Text::from(format!(
                        "is of stream {stream} and {} has streams up to {highest}; choose others with ",
                        target.name
                    )) + option("streams"));
                }
                String::new()
            }
            StreamField::NumbersOrNames { .. } if !self.has_given_names => stream.to_string(),
            StreamField::Names { given, numbered }
            | StreamField::NumbersOrNames { given, numbered } => {
                let written = given_name.and_then(|name| given(name));
                self.has_lost_names |= written.is_none() && given_name.is_some();
                written.unwrap_or_else(|| numbered(stream))
            }
        };
        let is_name = !matches!(target.streams, StreamField::None | StreamField::Numbers { .. });
        if is_name && let Some(other) = self.numbers_of_names.insert(name.clone(), stream) {
            return Err(format!(
                "is of stream {stream}, which would be written {name:?} as stream {other} is; \
                 choose another format"
            )
            .into());
        }
        self.names.insert(stream, name);
        Ok(())
    }

    pub(super) fn lost(&self, target: &Target) -> Option<String> {
        let name = target.name;
        match target.streams {
            StreamField::None if self.last.is_some_and(|stream| stream != 0) => {
                Some(format!("the stream's number is lost: {name} has no streams"))
            }
            StreamField::None | StreamField::Numbers { .. } if self.has_given_names => {
                Some(format!("the names of streams are lost: {name} has none"))
            }
            _ if self.has_lost_names => {
                Some(format!("names of streams that {name} cannot hold are replaced"))
            }
            StreamField::Names { .. } if !self.has_given_names && self.names.len() > 1 => {
                Some(format!("stream numbers become names, which {name} has instead"))
            }
            _ => None,
        }
    }
}
