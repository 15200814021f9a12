//! What errors of traces say, with their options apart from the words.

use clockhand_quantity::{Sentence, Text, option};

use super::TraceError;

impl TraceError {
    /// What it says, with its options apart from its words.
    pub fn sentence(&self) -> Sentence {
        match self {
            Self::Unrecognized { .. } | Self::Ambiguous { .. } | Self::Doubtful { .. } => {
                self.about_the_format()
            }
            Self::NoClasses { .. } | Self::NoAddressSpace { .. } | Self::NoOperations { .. } => {
                self.about_what_is_missing()
            }
            Self::NothingToConvert => Sentence::new("no trace is given", "name one to convert"),
            Self::UnknownFormat { name, nearest, known } => Sentence::new(
                format!("there is no trace format named {name:?}{}", did_you_mean(nearest)),
                format!("use one of {known}"),
            ),
            Self::PageSize { page_bytes } => Sentence::new(
                format!("page size {page_bytes} bytes: a page size must be a power of two"),
                "use 4096, for example",
            ),
            Self::NoScratch => Sentence::new(
                "scratch files are for page policies, in simulate and sweep",
                Text::from("leave ") + option("scratch") + " out",
            ),
            Self::ColumnsOfText { reason } => {
                (option("trace-format") + format!(" csv: {reason}")).into()
            }
            Self::NoOperationColumn { file } => Sentence::new(
                format!("{file}: no column tells reads from writes"),
                Text::from("add op=COLUMN, or take all requests as reads with ")
                    + option("assume-reads"),
            ),
            Self::TooManyBadRecords { file, format, skipped, records, place, reason } => {
                Sentence::new(
                    format!(
                        "{file}: {skipped} of {records} {format} records are malformed, the first in {place}, which \
                         {reason}"
                    ),
                    Text::from("repair the file or name another format with ")
                        + option("trace-format"),
                )
            }
            Self::Content { file, place, reason } => {
                (Text::from(format!("{file}, {place}: ")) + reason.clone()).into()
            }
            Self::TooMuchMemory { file, what, remedy, limit } => Sentence::new(
                Text::from(format!("{file}: "))
                    + what.clone()
                    + format!(" more than the memory limit of {limit}"),
                remedy.clone() + ", or raise " + option("memory-limit"),
            ),
            Self::Selection { sentence } | Self::Recipe { sentence } => sentence.clone(),
            Self::NotWritable { reason, writable } => {
                Sentence::new(reason.clone(), format!("traces can be written as {writable}"))
            }
            Self::Unwritable { file, index, reason } => {
                (Text::from(format!("{file}: request {index} ")) + reason.clone()).into()
            }
            in_words_alone => in_words_alone.to_string().into(),
        }
    }

    /// What it says when the trace does not tell what is asked for.
    fn about_what_is_missing(&self) -> Sentence {
        match self {
            Self::NoClasses { file, format, view } => Sentence::new(
                format!(
                    "{file}: the view {view} needs records with classes and this {format} trace has none"
                ),
                Text::from("leave ")
                    + option("view")
                    + " and "
                    + option("fetches")
                    + " out, or use a trace of clockhand trace capture",
            ),
            Self::NoAddressSpace { file } => Sentence::new(
                format!("{file}: the trace does not tell which pages are anonymous"),
                Text::from("leave ")
                    + option("only")
                    + " anonymous out, or use a trace of clockhand trace capture",
            ),
            Self::NoOperations { file, format } => Sentence::new(
                format!("{file}: {format} traces do not tell reads from writes"),
                Text::from("use the original trace, or take all requests as reads with ")
                    + option("assume-reads"),
            ),
            other => other.sentence(),
        }
    }

    /// What it says when no one format fits.
    fn about_the_format(&self) -> Sentence {
        let format = || option("trace-format");
        match self {
            Self::Unrecognized { file, looks_like, known, offer } => Sentence::new(
                format!("{file}: not a trace in any known format (it looks like {looks_like})"),
                name_columns(offer)
                    + "name the format with "
                    + format()
                    + format!(", one of {known}"),
            ),
            Self::Ambiguous { file, candidates, readings } => Sentence::new(
                format!("{file}: this could be {candidates}"),
                Text::from("say which with ") + format() + format!(" NAME ({readings})"),
            ),
            Self::Doubtful { file, doubts, offer } => Sentence::new(
                format!("{file}: this could be {doubts}"),
                name_columns(offer) + "if it is such a trace then name the format with " + format(),
            ),
            other => other.sentence(),
        }
    }
}

fn name_columns(offer: &Option<String>) -> Text {
    offer.as_ref().map_or_else(Text::default, |offer| {
        Text::from("name its columns with ")
            + option("trace-format")
            + format!(" '{offer}' (see: clockhand formats csv), or ")
    })
}

fn did_you_mean(nearest: &Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |name| format!(" (did you mean {name:?}?)"))
}
