//! A trace format that can be written: what it holds, and the form of one request.

use std::io::Write;
use std::path::Path;

use crate::error::TraceError;
use crate::formats::formats;
use crate::request::Op;
use crate::write::sink::Compression;
use clockhand_quantity::{Text, option};

/// A format that traces can be written in. Some formats have two versions, each a target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub(crate) name: &'static str,
    /// File endings, beside the name, that mean this target.
    pub(crate) endings: &'static [&'static str],
    pub(crate) extent: Extent,
    pub(crate) time: Option<TimeField>,
    pub(crate) streams: StreamField,
    /// True if key and value pairs can be kept, as comments.
    pub(crate) keeps_labels: bool,
    /// True if its readers put requests into the order of their times.
    pub(crate) orders_by_time: bool,
    /// A column that has to be there and whose content is not known.
    pub(crate) made_up: Option<&'static str>,
    pub(crate) encoding: Encoding,
}

impl Target {
    /// Returns whether the classes of records can be kept.
    pub fn holds_classes(&self) -> bool {
        matches!(self.encoding, Encoding::Parquet)
    }

    /// Returns whether events that are not requests can be kept.
    pub fn holds_events(&self) -> bool {
        matches!(self.encoding, Encoding::Parquet | Encoding::Events)
    }

    /// A target without times, streams and labels, one line per request of any bytes.
    pub(crate) const fn new(name: &'static str, entry: WriteEntry) -> Self {
        Self {
            name,
            endings: &[],
            extent: Extent::BYTES,
            time: None,
            streams: StreamField::None,
            keeps_labels: false,
            orders_by_time: false,
            made_up: None,
            encoding: Encoding::Entries { head: no_head, entry, tail: b"" },
        }
    }

    /// A target of traces of block devices, in sectors with times from the start, a line per request.
    pub(crate) const fn of_sectors(name: &'static str, entry: WriteEntry) -> Self {
        Self {
            extent: Extent::SECTORS,
            time: Some(TimeField::NANOSECONDS.counted_from_start()),
            streams: StreamField::NUMBERS,
            ..Self::new(name, entry)
        }
    }

    /// The table of the project's own traces, which holds everything but the names of streams.
    pub(crate) const fn parquet(name: &'static str) -> Self {
        Self {
            name,
            endings: &[],
            extent: Extent::BYTES,
            time: Some(TimeField::OPTIONAL),
            streams: StreamField::NUMBERS,
            keeps_labels: true,
            orders_by_time: false,
            made_up: None,
            encoding: Encoding::Parquet,
        }
    }

    /// The text of events, which holds everything.
    pub(crate) const fn events(name: &'static str) -> Self {
        Self {
            streams: StreamField::Names {
                given: |name| Some(name.to_owned()),
                numbered: |stream| format!("a{stream}"),
            },
            encoding: Encoding::Events,
            ..Self::parquet(name)
        }
    }

    /// The same with other entries.
    pub(crate) const fn with_entry(self, entry: WriteEntry) -> Self {
        match self.encoding {
            Encoding::Entries { head, tail, .. } => {
                Self { encoding: Encoding::Entries { head, entry, tail }, ..self }
            }
            Encoding::Parquet | Encoding::Events => self,
        }
    }

    /// The same with something before the first entry.
    pub(crate) const fn with_head(self, head: WriteHead) -> Self {
        match self.encoding {
            Encoding::Entries { entry, tail, .. } => {
                Self { encoding: Encoding::Entries { head, entry, tail }, ..self }
            }
            Encoding::Parquet | Encoding::Events => self,
        }
    }

    /// What it can hold, in words.
    pub(crate) fn holds(&self) -> String {
        let Extent { address_unit, size_unit, stretch_bytes } = self.extent;
        let place = match (address_unit, size_unit, stretch_bytes) {
            (1, _, None) => "addresses and sizes in bytes".to_owned(),
            (_, 1, None) => format!("addresses in units of {address_unit} bytes, sizes in bytes"),
            (_, _, None) => format!("addresses and sizes in units of {address_unit} bytes"),
            (1, _, Some(bytes)) => {
                format!("addresses in bytes and no sizes, an entry per {bytes} bytes of a request")
            }
            (_, _, Some(bytes)) => format!("whole units of {bytes} bytes, an entry each"),
        };
        let time = match self.time {
            None => "no times".to_owned(),
            Some(TimeField { unit, .. }) => format!("times in {unit}"),
        };
        let streams = match self.streams {
            StreamField::None => "no streams",
            StreamField::Numbers { .. } => "streams by number",
            StreamField::Names { .. } => "streams by name",
            StreamField::NumbersOrNames { .. } => "streams by number or name",
        };
        let labels = if self.keeps_labels { "labels" } else { "no labels" };
        let made_up = self.made_up.map_or_else(String::new, |what| format!("; {what}"));
        format!("{place}; {time}; {streams}; {labels}{made_up}")
    }

    /// The name users write after `--to`.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

/// How requests become bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Encoding {
    /// One after the other.
    Entries { head: WriteHead, entry: WriteEntry, tail: &'static [u8] },
    /// In columns.
    Parquet,
    /// As lines of events.
    Events,
}

pub(crate) type WriteHead = fn(&Head, &mut Vec<u8>);
/// Appends an entry; an error is the end of a sentence that begins with the request.
pub(crate) type WriteEntry = fn(&Entry, &mut Vec<u8>) -> Result<(), &'static str>;

/// Nothing before the first entry.
pub(crate) fn no_head(_: &Head, _: &mut Vec<u8>) {}

/// What is known before the first request.
pub(crate) struct Head<'a> {
    pub(crate) labels: &'a [(String, String)],
    pub(crate) has_times: bool,
}

/// One line or record.
pub(crate) struct Entry<'a> {
    pub(crate) op: Op,
    pub(crate) address: u64,
    pub(crate) bytes: u32,
    pub(crate) stream: u32,
    /// The written form of the stream, for targets whose streams are names.
    pub(crate) stream_name: &'a str,
    /// True if no entry of the stream came before.
    pub(crate) begins_stream: bool,
    /// Cut to the unit of the target; 0 where the target has no times.
    pub(crate) time_ns: u64,
    pub(crate) has_time: bool,
    /// Index of the entry, from 0.
    pub(crate) index: u64,
    pub(crate) previous_op: Option<Op>,
}

/// Which bytes an entry can name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// Addresses are multiples of this.
    pub(crate) address_unit: u64,
    /// Sizes are multiples of this.
    pub(crate) size_unit: u64,
    /// Entries have no size: a request becomes one for each stretch of this many bytes that it
    /// touches.
    pub(crate) stretch_bytes: Option<u64>,
}

impl Extent {
    /// Any bytes.
    pub(crate) const BYTES: Self = Self { address_unit: 1, size_unit: 1, stretch_bytes: None };
    /// Whole sectors.
    pub(crate) const SECTORS: Self =
        Self { address_unit: 512, size_unit: 512, stretch_bytes: None };
    /// Any number of bytes from the start of a sector.
    pub(crate) const FROM_SECTORS: Self = Self { size_unit: 1, ..Self::SECTORS };
    /// One byte; a request becomes an entry per page of the usual size.
    pub(crate) const FIRST_BYTES: Self = Self { stretch_bytes: Some(4096), ..Self::BYTES };
    /// Whole units, each an entry.
    pub(crate) const fn units(bytes: u64) -> Self {
        Self { address_unit: bytes, size_unit: bytes, stretch_bytes: Some(bytes) }
    }
}

/// The times that an entry can have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeField {
    pub(crate) unit_ns: u64,
    /// The unit's name: `seconds`.
    pub(crate) unit: &'static str,
    /// The highest number of units.
    pub(crate) highest: u64,
    /// True if times count from the start of the trace, so that dates of its own mean nothing.
    pub(crate) is_from_start: bool,
    /// True if a trace without times is written without them.
    pub(crate) is_optional: bool,
}

impl TimeField {
    pub(crate) const NANOSECONDS: Self = Self::of(1, "nanoseconds");
    pub(crate) const OPTIONAL: Self = Self { is_optional: true, ..Self::NANOSECONDS };
    pub(crate) const MICROSECONDS: Self = Self::of(1_000, "microseconds");
    pub(crate) const SECONDS: Self = Self::of(1_000_000_000, "seconds");

    pub(crate) const fn of(unit_ns: u64, unit: &'static str) -> Self {
        Self { unit_ns, unit, highest: u64::MAX, is_from_start: false, is_optional: false }
    }

    /// The same, counted from the start of the trace.
    pub(crate) const fn counted_from_start(self) -> Self {
        Self { is_from_start: true, ..self }
    }
}

/// How an entry names its stream.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StreamField {
    /// It does not.
    None,
    /// By a number up to this.
    Numbers { highest: u32 },
    /// By a name: how a name that the trace has is written, if it can be; and the name of a stream
    /// that has none.
    Names { given: fn(&str) -> Option<String>, numbered: fn(u32) -> String },
    /// By numbers, or by names if the trace has them.
    NumbersOrNames { given: fn(&str) -> Option<String>, numbered: fn(u32) -> String },
}

impl StreamField {
    pub(crate) const NUMBERS: Self = Self::Numbers { highest: u32::MAX };
}

/// All targets, in the order of their formats.
pub fn targets() -> impl Iterator<Item = &'static Target> {
    formats().iter().flat_map(|format| format.targets)
}

/// The target of this name; the name of a format with several means the first.
///
/// # Errors
/// [`TraceError::UnknownFormat`] for a name that no format has, and [`TraceError::NotWritable`] for
/// a format that can only be read.
pub fn find_target(name: &str) -> Result<&'static Target, TraceError> {
    if let Some(target) = targets().find(|target| target.name == name) {
        return Ok(target);
    }
    let format = crate::formats::find_format(name)?;
    format
        .targets
        .first()
        .ok_or_else(|| not_writable(format!("{name} traces can be read and not written").into()))
}

/// The target that the ending of a file name means, a compression behind it aside.
///
/// # Errors
/// [`TraceError::NotWritable`] when the ending means none.
pub fn target_of_path(path: &Path) -> Result<&'static Target, TraceError> {
    let (_, name) = Compression::of(path);
    let ending = name.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let ending = ending.to_ascii_lowercase();
    let means = |target: &&Target| target.name == ending || target.endings.contains(&&*ending);
    targets().find(means).or_else(|| find_target(&ending).ok()).ok_or_else(|| {
        let file = path.display();
        let what = if ending.is_empty() {
            format!("{file}: no ending tells the format to write")
        } else {
            format!("{file}: the ending .{ending} tells no format that can be written")
        };
        not_writable(Text::from(what) + "; name it with " + option("to"))
    })
}

fn not_writable(reason: Text) -> TraceError {
    let writable = targets().map(|target| target.name).collect::<Vec<_>>().join(", ");
    TraceError::NotWritable { reason, writable }
}

/// Appends text; memory takes what it is given.
pub(crate) fn append(to: &mut Vec<u8>, text: std::fmt::Arguments) -> Result<(), &'static str> {
    to.write_fmt(text).map_err(|_| "cannot be put into words; report this as a bug")
}

/// The words of formats that name an operation by one letter.
pub(crate) fn letter(op: Op) -> char {
    match op {
        Op::Read => 'R',
        Op::Write => 'W',
    }
}

/// A time in seconds or milliseconds with as many decimals as it needs, in groups of three.
pub(crate) struct Decimal {
    pub(crate) time_ns: u64,
    pub(crate) unit_ns: u64,
    /// The fewest decimals that are written.
    pub(crate) decimals: usize,
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Self { time_ns, unit_ns, .. } = *self;
        let most = unit_ns.ilog10() as usize;
        let fits = |&decimals: &usize| time_ns % 10_u64.pow((most - decimals) as u32) == 0;
        let decimals = (self.decimals..most).step_by(3).find(fits).unwrap_or(most);
        let fraction = time_ns % unit_ns / 10_u64.pow((most - decimals) as u32);
        write!(formatter, "{}.{fraction:0decimals$}", time_ns / unit_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_and_as_few_as_they_may_be() {
        for (time_ns, unit_ns, decimals, text) in [
            (1_500_000_000, 1_000_000_000, 6, "1.500000"),
            (1_000_000_001, 1_000_000_000, 6, "1.000000001"),
            (12_754_000_000, 1_000_000, 3, "12754.000"),
            (7, 1_000_000, 3, "0.000007"),
            (u64::MAX, 1_000_000_000, 9, "18446744073.709551615"),
        ] {
            assert_eq!(Decimal { time_ns, unit_ns, decimals }.to_string(), text);
        }
    }

    #[test]
    fn endings_and_names_mean_targets() {
        for (path, name) in [
            ("a.parquet", "parquet"),
            ("a.csv.gz", "csv"),
            ("a.din", "dinero"),
            ("a.tencent.zst", "tencent"),
            ("a.fio-iolog", "fio-iolog-v3"),
            ("a.fio-iolog-v2", "fio-iolog-v2"),
            ("a.VSCSI", "vscsi-v1"),
        ] {
            assert_eq!(target_of_path(Path::new(path)).unwrap().name, name);
        }
        for path in ["a", "a.gz", "a.trace", "a.hp-srt"] {
            let message = target_of_path(Path::new(path)).unwrap_err().to_string();
            assert!(message.contains("--to") && message.contains("heimdall-raw"), "{message}");
        }
        let message = find_target("champsim").unwrap_err().to_string();
        assert!(message.contains("can be read and not written; traces can be written as alibaba"));
        assert!(matches!(find_target("spcc"), Err(TraceError::UnknownFormat { .. })));
    }

    #[test]
    fn names_of_targets_are_unique() {
        let mut names: Vec<_> = targets().map(|target| target.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
