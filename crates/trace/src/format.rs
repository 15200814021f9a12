//! A trace format: how it is recognized, and how its bytes become requests.

use crate::decode::lines::{self, LineFormat};
use crate::decode::output::Output;
use crate::error::TraceError;
use crate::source::Source;
use crate::source::sample::Sample;
use crate::write::target::Target;

/// How well the first bytes of a file fit a format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Confidence {
    /// They do not.
    Unfit,
    /// They can be read as this format, but perhaps also as another.
    Likely,
    /// They carry a mark that only this format has.
    Certain,
}

/// Reads the records of an opened trace.
pub(crate) trait Decoder: Send {
    /// Adds requests to `output` until it is full or the trace ends; true when there may be more.
    fn decode(&mut self, source: &mut Source, output: &mut Output) -> Result<bool, TraceError>;

    /// Returns whether a record takes a few instructions.
    fn is_quick(&self) -> bool {
        false
    }
}

/// Prepares to read an opened trace; what the head already shows goes into the report of the output.
pub(crate) type Open = fn(&mut Source, &mut Output) -> Result<Box<dyn Decoder>, TraceError>;

/// For formats that nothing else is like.
pub(crate) fn no_doubt(_sample: &Sample) -> Option<String> {
    None
}

/// One trace format that can be read.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    /// The source of the format's module, whose first comment is its page.
    pub(crate) module: &'static str,
    /// What the trace consists of: `line`, `record` or `row`.
    pub(crate) record_noun: &'static str,
    pub(crate) holds_processor_accesses: bool,
    /// What a stream number counts: `volume`, for example.
    pub(crate) stream_noun: &'static str,
    /// The targets as which the format can be written.
    pub(crate) targets: &'static [Target],
    pub(crate) sniff: fn(&Sample) -> Confidence,
    /// Evidence against this format, if it is only likely and has no mark: a clause such as `its times do not rise`.
    /// Without any, the columns are evidence enough.
    pub(crate) doubt: fn(&Sample) -> Option<String>,
    pub(crate) open: Open,
}

impl Format {
    /// A format in which every line stands for itself.
    pub(crate) const fn text<F: LineFormat + Default + 'static>(
        name: &'static str,
        summary: &'static str,
        module: &'static str,
    ) -> Self {
        let (sniff, open) = (lines::sniff::<F>, lines::open::<F>);
        Self { record_noun: "line", ..Self::records(name, summary, module, sniff, open) }
    }

    /// A format of records.
    pub(crate) const fn records(
        name: &'static str,
        summary: &'static str,
        module: &'static str,
        sniff: fn(&Sample) -> Confidence,
        open: Open,
    ) -> Self {
        Self {
            name,
            summary,
            module,
            record_noun: "record",
            holds_processor_accesses: false,
            stream_noun: "stream",
            targets: &[],
            sniff,
            doubt: no_doubt,
            open,
        }
    }

    /// The same format, which other tables may be mistaken for.
    pub(crate) const fn doubted_by(self, doubt: fn(&Sample) -> Option<String>) -> Self {
        Self { doubt, ..self }
    }

    /// The same format, which can also be written.
    pub(crate) const fn written_as(self, targets: &'static [Target]) -> Self {
        Self { targets, ..self }
    }

    /// The same format, with this name for what stream numbers count.
    pub(crate) const fn with_streams_of(self, stream_noun: &'static str) -> Self {
        Self { stream_noun, ..self }
    }

    /// The name users write after `--trace-format`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// One line about where such traces come from.
    pub fn summary(&self) -> &'static str {
        self.summary
    }

    /// The things that a stream number counts: `volume`, `device`; `stream` if the format has none.
    pub fn stream_noun(&self) -> &'static str {
        self.stream_noun
    }

    /// The targets as which the format can be written; none if it can only be read.
    pub fn targets(&self) -> &'static [Target] {
        self.targets
    }

    /// Returns whether the requests are what a processor issues, so that a [`CpuCache`](crate::CpuCache) can be put
    /// behind.
    pub fn holds_processor_accesses(&self) -> bool {
        self.holds_processor_accesses
    }

    /// The documentation page, in Markdown: fields, units, traps and what is skipped.
    pub fn page(&self) -> String {
        let comment = self.module.lines().map_while(|line| line.strip_prefix("//!"));
        let page = comment.map(|line| line.strip_prefix(' ').unwrap_or(line));
        let mut page = page.collect::<Vec<_>>().join("\n");
        page += "\n\n**Written** by `clockhand trace convert`: ";
        page += if self.targets.is_empty() { "no.\n" } else { "yes.\n\n" };
        for target in self.targets {
            page += &format!("- As `{}`: {}.\n", target.name, target.holds());
        }
        page
    }
}
