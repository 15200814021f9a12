//! The columns of a table of requests: which name means what. Every format that names its columns
//! shares this.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::decode::output::Fault;
use crate::decode::scan;
use crate::report::ReadReport;

/// The use of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Op,
    Address,
    Size,
    /// A time; without a unit in its name only the column's type can tell it.
    Time {
        unit_ns: Option<u64>,
    },
    Stream,
    /// Why a cache let the request through.
    Class,
    /// A place on a device in a unit that the name does not tell.
    UnitUnknown,
    Other,
}

impl Role {
    /// The role of a column; case and blanks around its name do not matter.
    pub(crate) fn of(column_name: &str) -> Self {
        match column_name.trim().to_ascii_lowercase().as_str() {
            "op" | "operation" | "rw" => Self::Op,
            "address" | "addr" | "offset" | "byte_addr" | "byte_offset" => Self::Address,
            "size" | "bytes" | "length" | "len" | "byte_len" => Self::Size,
            "time_ns" => Self::Time { unit_ns: Some(1) },
            "time_us" => Self::Time { unit_ns: Some(1_000) },
            "time_ms" => Self::Time { unit_ns: Some(1_000_000) },
            "time_s" => Self::Time { unit_ns: Some(1_000_000_000) },
            "time" | "timestamp" => Self::Time { unit_ns: None },
            "stream" | "stream_id" | "device" | "volume" | "disk" => Self::Stream,
            "class" => Self::Class,
            "lba" | "block" | "sector" => Self::UnitUnknown,
            _ => Self::Other,
        }
    }

    fn article_and_name(self) -> &'static str {
        match self {
            Self::Op => "an operation",
            Self::Address => "an address",
            Self::Size => "a size",
            Self::Time { .. } => "a time",
            Self::Stream => "a stream",
            Self::Class => "a class",
            Self::UnitUnknown | Self::Other => "a column",
        }
    }
}

/// A column of times.
#[derive(Clone, Copy)]
pub(crate) struct TimeColumn {
    pub(crate) index: usize,
    /// What its name says about the unit.
    pub(crate) unit_ns: Option<u64>,
}

/// Where the columns stand, by index.
#[derive(Clone, Copy)]
pub(crate) struct Columns {
    pub(crate) op: usize,
    pub(crate) address: usize,
    pub(crate) size: Option<usize>,
    pub(crate) time: Option<TimeColumn>,
    pub(crate) stream: Option<usize>,
    pub(crate) class: Option<usize>,
    /// The number of columns, ignored ones included.
    pub(crate) count: usize,
}

impl Columns {
    /// Finds the columns by their names and reports those that are ignored.
    ///
    /// # Errors
    /// Why the table cannot be read and what to do: no operation, no address, two columns for one
    /// thing, or a place whose unit is unknown.
    pub(crate) fn find<'a>(
        names: impl Iterator<Item = Cow<'a, str>>,
        report: &mut ReadReport,
    ) -> Result<Self, String> {
        let (mut op, mut address, mut size, mut time, mut stream) = (None, None, None, None, None);
        let mut class = None;
        let mut count = 0;
        for (index, name) in names.enumerate() {
            count += 1;
            let role = Role::of(&name);
            let earlier = match role {
                Role::Op => op.replace(index).is_some(),
                Role::Address => address.replace(index).is_some(),
                Role::Size => size.replace(index).is_some(),
                Role::Time { unit_ns } => time.replace(TimeColumn { index, unit_ns }).is_some(),
                Role::Stream => stream.replace(index).is_some(),
                Role::Class => class.replace(index).is_some(),
                Role::UnitUnknown => return Err(unit_unknown(name.trim())),
                Role::Other => {
                    report.ignored_columns.push(name.trim().to_owned());
                    false
                }
            };
            if earlier {
                return Err(format!(
                    "two columns are {}; rename all but one",
                    role.article_and_name()
                ));
            }
        }
        let (Some(op), Some(address)) = (op, address) else {
            let missing = if op.is_none() { "op" } else { "address" };
            return Err(format!(
                "there is no column `{missing}`; name the columns op,address,size"
            ));
        };
        if size.is_none() {
            report.notes.push("there is no size column: each request touches 1 byte".to_owned());
        }
        Ok(Self { op, address, size, time, stream, class, count })
    }

    /// Leaves the times out because nothing tells their unit.
    pub(crate) fn ignore_time(&mut self, name: &str, report: &mut ReadReport) {
        report.ignored_columns.push(name.trim().to_owned());
        report.notes.push(format!(
            "the unit of column `{}` is unknown: name it time_ns to time_s",
            name.trim()
        ));
        self.time = None;
    }
}

fn unit_unknown(name: &str) -> String {
    format!(
        "the unit of column `{name}` is unknown; convert it to a byte address (512 bytes per sector on most devices) \
         in a column named `address`"
    )
}

/// Numbers the streams. Numbers and names never mix, or a name's number could be that of another
/// stream.
#[derive(Default)]
pub(crate) enum Streams {
    /// The first stream decides.
    #[default]
    Undecided,
    /// Each is its own number.
    Numbers,
    /// Names are numbered in the order of their appearance.
    Names(Box<Names>),
}

/// The number of names that are remembered beside their table.
const REMEMBERED: usize = 16;

/// Numbers that names were given.
#[derive(Default)]
pub(crate) struct Names {
    numbers: FxHashMap<Vec<u8>, u32>,
    /// Those that were asked for last, which are often asked for again, by their last letters, and their numbers.
    last: [Option<(Vec<u8>, u32)>; REMEMBERED],
}

impl Streams {
    /// Takes every stream as a name, also `7`.
    pub(crate) fn of_names() -> Self {
        Self::Names(Box::default())
    }

    /// The number of a stream that was met by its name.
    pub(crate) fn known(&self, name: &[u8]) -> Option<u32> {
        match self {
            Self::Names(names) => names.numbers.get(name).copied(),
            Self::Undecided | Self::Numbers => None,
        }
    }

    /// The number of a stream.
    pub(crate) fn number(&mut self, field: &[u8], report: &mut ReadReport) -> Result<u32, Fault> {
        if let Self::Undecided = self {
            *self = if scan::decimal(field).is_some() { Self::Numbers } else { Self::of_names() };
        }
        let Self::Names(names) = self else {
            let number = scan::decimal(field)
                .ok_or("has a stream that is no number, unlike those before")?;
            return Ok(u32::try_from(number).map_err(|_| "has a stream number above 4294967295")?);
        };
        names.number(field, report)
    }
}

impl Names {
    #[inline]
    fn number(&mut self, name: &[u8], report: &mut ReadReport) -> Result<u32, Fault> {
        let place = usize::from(name.last().copied().unwrap_or_default()) % REMEMBERED;
        match &self.last[place] {
            Some((last, number)) if last == name => Ok(*number),
            _ => self.number_from_table(name, place, report),
        }
    }

    #[inline(never)]
    fn number_from_table(
        &mut self,
        name: &[u8],
        place: usize,
        report: &mut ReadReport,
    ) -> Result<u32, Fault> {
        let number = match self.numbers.get(name) {
            Some(&number) => number,
            None => {
                let number = u32::try_from(self.numbers.len())
                    .map_err(|_| "has one stream name more than 4294967296")?;
                self.numbers.insert(name.to_vec(), number);
                report.stream_names.push(String::from_utf8_lossy(name).into_owned());
                number
            }
        };
        let (last, its_number) = self.last[place].get_or_insert_default();
        last.clear();
        last.extend_from_slice(name);
        *its_number = number;
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_the_same_last_letter_keep_their_numbers() {
        let (mut streams, mut report) = (Streams::of_names(), ReadReport::default());
        let numbers = ["", "a1", "b1", "", "a1", "a1", "b1", "1", "b1", "a1"]
            .map(|name| streams.number(name.as_bytes(), &mut report).unwrap());
        assert_eq!(numbers, [0, 1, 2, 0, 1, 1, 2, 3, 2, 1]);
        assert_eq!(report.stream_names, ["", "a1", "b1", "1"]);
    }
}
