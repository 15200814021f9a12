//! The notation that names the columns of any table: `csv:sep=;,op=cmd,address=lba*512,time=when_ms:ms`.

mod words;

use super::fields::Separator;
use crate::decode::scan;
use crate::quantity::bytes_with_unit;
use crate::request::Op;
pub(super) use words::{meaning_for_object, usual_meaning};

/// A table as its user describes it.
#[derive(Debug)]
pub(super) struct Notation {
    pub(super) separator: Separator,
    /// True if the first line names the columns; it does if a column is given by its name.
    pub(super) has_header: bool,
    /// Lines in front of all that.
    pub(super) skip_lines: u64,
    /// None if the requests have no operation.
    pub(super) op: Option<OpSource>,
    /// The place of a request, or the object that it is for.
    pub(super) place: Addressed,
    pub(super) size: Size,
    pub(super) time: Option<Column>,
    /// The columns that tell streams apart, together.
    pub(super) stream: Vec<Column>,
    /// Lifetime of the content of an object.
    pub(super) lifetime: Option<Column>,
    pub(super) words: Words,
}

/// What a request addresses.
#[derive(Debug, PartialEq)]
pub(super) enum Addressed {
    /// Bytes from an address on.
    Bytes(Column),
    /// An object with this key, which is alone in its blocks.
    Object(Column),
}

impl Addressed {
    pub(super) fn column(&self) -> &Column {
        match self {
            Self::Bytes(column) | Self::Object(column) => column,
        }
    }
}

/// Where operations come from.
#[derive(Debug)]
pub(super) enum OpSource {
    Column(Column),
    /// All requests have the same.
    Same(Op),
}

/// Where sizes come from.
#[derive(Debug)]
pub(super) enum Size {
    Column(Column),
    /// All requests have as many bytes.
    Same(u64),
}

/// A column, and what its numbers are multiplied with.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) place: Place,
    pub(super) factor: u64,
    /// The unit of times.
    pub(super) unit_ns: Option<u64>,
    pub(super) is_hexadecimal: bool,
}

/// Which column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Place {
    Name(String),
    /// From 1.
    Number(usize),
}

/// What the words of the column of operations mean.
#[derive(Debug, Default)]
pub(super) struct Words {
    given: Vec<(Vec<u8>, Meaning)>,
}

/// What a request does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    Request(Op),
    /// It deletes an object.
    Delete,
    /// It moves no data; such requests have this name in the plural.
    Other(&'static str),
}

const KEYS: &str = "sep, header, skip, op, address, object, size, time, stream, ttl, read, write, delete, discard, ignore";

impl Notation {
    /// Reads the text behind `csv:`.
    ///
    /// # Errors
    /// What is wrong and what to write, as one sentence.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut given = Given::default();
        for part in split(text, ',') {
            let part = part.trim();
            if part.is_empty() {
                continue;
            }
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| format!("{part:?} has no =; give parts such as address=lba*512"))?;
            given.take(key.trim(), value.trim())?;
        }
        given.finish()
    }
}

/// What was given so far.
#[derive(Default)]
struct Given {
    separator: Option<Separator>,
    header: Option<bool>,
    skip_lines: u64,
    op: Option<OpSource>,
    address: Option<Column>,
    object: Option<Column>,
    size: Option<Size>,
    time: Option<Column>,
    stream: Vec<Column>,
    lifetime: Option<Column>,
    words: Words,
}

impl Given {
    fn take(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "sep" => self.separator = Some(separator(value)?),
            "header" => {
                self.header = Some(match value {
                    "yes" => true,
                    "no" => false,
                    _ => return Err(format!("header={value} is neither yes nor no; give one")),
                });
            }
            "skip" => {
                let lines = scan::decimal(value.as_bytes());
                self.skip_lines =
                    lines.ok_or_else(|| format!("skip={value} is no number of lines; give one"))?;
            }
            "op" => self.op = Some(op_source(value)?),
            "address" => self.address = Some(Column::parse(key, value)?),
            "object" => self.object = Some(Column::parse(key, value)?),
            "size" => self.size = Some(size(value)?),
            "time" => self.time = Some(time(key, value)?),
            "ttl" => self.lifetime = Some(time(key, value)?),
            "stream" => {
                let columns = split(value, '+').into_iter().map(|one| Column::parse(key, one));
                self.stream = columns.collect::<Result<_, _>>()?;
            }
            "read" => self.words.add(value, Meaning::Request(Op::Read)),
            "write" => self.words.add(value, Meaning::Request(Op::Write)),
            "delete" => self.words.add(value, Meaning::Delete),
            "discard" => self.words.add(value, Meaning::Other("discards")),
            "ignore" => self.words.add(value, Meaning::Other("rows that are to be ignored")),
            _ => return Err(format!("{key:?} is unknown; give some of {KEYS}")),
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Notation, String> {
        let place = self.place()?;
        let size = self.size.unwrap_or(Size::Same(1));
        let mut columns: Vec<&Column> = vec![place.column()];
        columns.extend(self.time.iter().chain(&self.stream).chain(&self.lifetime));
        if let Some(OpSource::Column(column)) = &self.op {
            columns.push(column);
        }
        if let Size::Column(column) = &size {
            columns.push(column);
        }
        let is_named = columns.iter().any(|column| matches!(column.place, Place::Name(_)));
        if is_named && self.header == Some(false) {
            return Err(
                "columns have names although header=no; give their numbers, from 1".to_owned()
            );
        }
        Ok(Notation {
            separator: self.separator.unwrap_or(Separator::Byte(b',')),
            has_header: self.header.unwrap_or(is_named),
            skip_lines: self.skip_lines,
            op: self.op,
            place,
            size,
            time: self.time,
            stream: self.stream,
            lifetime: self.lifetime,
            words: self.words,
        })
    }

    /// What requests address, if the other columns fit it.
    fn place(&mut self) -> Result<Addressed, String> {
        let place = match (self.address.take(), self.object.take()) {
            (Some(column), None) => Addressed::Bytes(column),
            (None, Some(column)) => Addressed::Object(column),
            (Some(_), Some(_)) => {
                return Err("both address= and object= are given; give one of them".to_owned());
            }
            (None, None) => {
                return Err(
                    "no column is given for the address; add address=COLUMN, address=COLUMN*512 if it counts sectors, or \
                     object=COLUMN if it names objects of a cache"
                        .to_owned(),
                );
            }
        };
        let deletes = self.words.given.iter().any(|(_, meaning)| *meaning == Meaning::Delete);
        if matches!(place, Addressed::Bytes(_)) && (deletes || self.lifetime.is_some()) {
            let key = if deletes { "delete=" } else { "ttl=" };
            return Err(format!(
                "{key} is about objects; name their column with object= in place of address="
            ));
        }
        if self.lifetime.is_some() && self.time.is_none() {
            return Err("ttl= counts from the time of a request; add time=COLUMN:s".to_owned());
        }
        Ok(place)
    }
}

/// The parts between separators that are not in quotes.
fn split(text: &str, separator: char) -> Vec<&str> {
    let mut quote = None;
    let mut parts = text.split(move |character: char| {
        match quote {
            Some(open) if character == open => quote = None,
            None if character == '"' || character == '\'' => quote = Some(character),
            _ => {}
        }
        quote.is_none() && character == separator
    });
    parts.by_ref().collect()
}

fn separator(value: &str) -> Result<Separator, String> {
    Ok(match value {
        // The comma itself ended the part.
        "" | "comma" => Separator::Byte(b','),
        "tab" | "\\t" | "\t" => Separator::Byte(b'\t'),
        "blank" | "blanks" | "space" | "spaces" => Separator::Blanks,
        "semicolon" => Separator::Byte(b';'),
        _ => match value.as_bytes() {
            [byte] if byte.is_ascii_punctuation() && *byte != b'"' => Separator::Byte(*byte),
            _ => {
                return Err(format!(
                    "sep={value} is no separator; give one character such as ;, or comma, tab, blank"
                ));
            }
        },
    })
}

fn op_source(value: &str) -> Result<OpSource, String> {
    let Some(word) = value.strip_prefix('=') else {
        return Column::parse("op", value).map(OpSource::Column);
    };
    let op = scan::op(word.trim().as_bytes());
    op.map(OpSource::Same)
        .ok_or_else(|| format!("op={value} is neither =read nor =write; give one"))
}

fn size(value: &str) -> Result<Size, String> {
    let Some(bytes) = value.strip_prefix('=') else {
        return Column::parse("size", value).map(Size::Column);
    };
    let bytes = number_of_bytes(bytes.trim()).filter(|&bytes| bytes > 0);
    bytes
        .map(Size::Same)
        .ok_or_else(|| format!("size={value} is no size; give one such as size==4KiB"))
}

/// A column of times or durations.
fn time(key: &str, value: &str) -> Result<Column, String> {
    let column = Column::parse(key, value)?;
    match column.unit_ns {
        Some(_) => Ok(column),
        None => Err(format!(
            "{key}={value} has no unit; write {key}={value}:s, or :ms, :us, :ns, :100ns"
        )),
    }
}

fn number_of_bytes(text: &str) -> Option<u64> {
    scan::decimal(text.as_bytes()).or_else(|| bytes_with_unit(text))
}

impl Column {
    /// A name in quotes or not, or a number; then `*512`, `:ms`, `:hex`.
    fn parse(key: &str, value: &str) -> Result<Self, String> {
        let (name, mut rest) = name_of(value);
        if name.is_empty() {
            return Err(format!(
                "{key}={value} names no column; give its name or its number from 1"
            ));
        }
        let is_quoted = value.starts_with(['"', '\'']);
        let number = scan::decimal(name.as_bytes()).filter(|_| !is_quoted);
        let place = match number.map(usize::try_from) {
            Some(Ok(0)) => {
                return Err(format!("{key}={value}: columns are counted from 1; give 1 or more"));
            }
            Some(Ok(number)) => Place::Number(number),
            _ => Place::Name(name.to_owned()),
        };
        let mut column = Column { place, factor: 1, unit_ns: None, is_hexadecimal: false };
        while let Some(mark) = rest.chars().next() {
            let end = rest[1..].find(['*', ':']).map_or(rest.len(), |end| end + 1);
            let (what, behind) = (rest[1..end].trim(), &rest[end..]);
            match (mark, what) {
                ('*', _) => {
                    column.factor = number_of_bytes(what).filter(|&factor| factor > 0).ok_or_else(|| {
                        format!("{key}={value}: {what:?} is no factor; give one such as *512 or *4KiB")
                    })?;
                }
                (':', "hex") => column.is_hexadecimal = true,
                (':', _) if key == "time" || key == "ttl" => {
                    column.unit_ns = Some(unit_ns(what).ok_or_else(|| {
                        format!("{key}={value}: {what:?} is no unit; give s, ms, us, ns or 100ns")
                    })?);
                }
                _ => {
                    return Err(format!(
                        "{key}={value}: {:?} is not understood; write COLUMN, COLUMN*512 or COLUMN:hex",
                        &rest[..end]
                    ));
                }
            }
            rest = behind;
        }
        Ok(column)
    }
}

/// The name at the start of a value, and the rest.
fn name_of(value: &str) -> (&str, &str) {
    if let Some(quote) = value.chars().next().filter(|&first| first == '"' || first == '\'')
        && let Some(end) = value[1..].find(quote)
    {
        return (&value[1..=end], value[end + 2..].trim_start());
    }
    let end = value.find(['*', ':']).unwrap_or(value.len());
    (value[..end].trim(), &value[end..])
}

fn unit_ns(text: &str) -> Option<u64> {
    Some(match text {
        "ns" => 1,
        "100ns" => 100,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
