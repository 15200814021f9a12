//! Reads a table of which the user names the columns.

use memchr::memchr2;

use super::fields::{Fields, Separator};
use super::notation::{Column, Meaning, Notation, OpSource, Place, Size};
use crate::columns::Streams;
use crate::lines::{Line, LineFormat};
use crate::output::{Fault, Output};
use crate::request::{Op, Request};
use crate::sample::quoted;
use crate::scan;

/// A table with the columns that its user names.
pub(super) struct Named {
    notation: Notation,
    /// The wanted columns of each line, in their order; none before the header is read.
    wanted: Vec<Wanted>,
    /// Properties of every request that no column has.
    same: Request,
    lines_before: u64,
    fields: Fields,
    streams: Streams,
    stream: Vec<u8>,
}

/// A column that is wanted.
#[derive(Clone, Copy)]
struct Wanted {
    /// From 0.
    column: usize,
    what: What,
}

/// The use of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Op,
    Address { factor: u64, is_hexadecimal: bool },
    Size { factor: u64, is_hexadecimal: bool },
    Time { unit_ns: u64 },
    Stream,
}

/// What a line says.
struct Said<'a> {
    request: Request,
    size_bytes: u64,
    stream: Option<&'a [u8]>,
}

impl Named {
    /// A reader of such a table.
    pub(super) fn new(notation: Notation) -> Self {
        let op = match &notation.op {
            Some(OpSource::Same(op)) => *op,
            _ => Op::Read,
        };
        let mut named = Self {
            lines_before: notation.skip_lines + u64::from(notation.has_header),
            fields: Fields::between(notation.separator),
            notation,
            wanted: Vec::new(),
            same: Request::new(op, 0, 1),
            streams: Streams::default(),
            stream: Vec::new(),
        };
        if named.notation.stream.len() > 1 {
            named.streams = Streams::of_names();
        }
        if !named.notation.has_header {
            named.wanted = named.find(&[]).unwrap_or_default();
        }
        named
    }

    /// Finds the columns by the names in the header.
    fn find(&self, names: &[String]) -> Result<Vec<Wanted>, String> {
        let Notation { op, address, size, time, stream, .. } = &self.notation;
        let mut wanted = Vec::new();
        let mut want = |column: &Column, what: What| -> Result<(), String> {
            wanted.push(Wanted { column: place(column, names)?, what });
            Ok(())
        };
        if let Some(OpSource::Column(column)) = op {
            want(column, What::Op)?;
        }
        let Column { factor, is_hexadecimal, .. } = *address;
        want(address, What::Address { factor, is_hexadecimal })?;
        if let Size::Column(column) = size {
            let Column { factor, is_hexadecimal, .. } = *column;
            want(column, What::Size { factor, is_hexadecimal })?;
        }
        if let Some(column) = time {
            want(column, What::Time { unit_ns: column.unit_ns.unwrap_or(1) })?;
        }
        stream.iter().try_for_each(|column| want(column, What::Stream))?;
        wanted.sort_by_key(|wanted| wanted.column);
        Ok(wanted)
    }

    /// A line in front of the requests.
    fn before(&mut self, line: &[u8]) -> Result<(), Fault> {
        self.lines_before -= 1;
        if self.lines_before == 0 && self.notation.has_header {
            self.fields.split(line);
            let names: Vec<_> = self
                .fields
                .iter()
                .map(|name| String::from_utf8_lossy(name).trim().to_owned())
                .collect();
            self.wanted = self.find(&names).map_err(Fault::Trace)?;
        }
        Ok(())
    }

    /// The usual line: no quotes, whole numbers, columns that are wanted once. It is read in one go.
    #[inline]
    fn plain<'a>(&self, line: &'a [u8]) -> Option<Said<'a>> {
        let (separator, rest) = match self.notation.separator {
            Separator::Byte(byte) => (byte, line),
            Separator::Blanks => (b' ', scan::after_blanks(line)),
        };
        let mut walk = Walk { rest, separator, has_ended: false };
        let mut said = Said { request: self.same, size_bytes: self.same_bytes(), stream: None };
        let mut column = 0;
        for wanted in &self.wanted {
            while column < wanted.column {
                walk.skip_field()?;
                column += 1;
            }
            if column > wanted.column || walk.has_ended {
                return None;
            }
            match wanted.what {
                What::Op => said.request.op = self.plain_op(walk.field()?)?,
                What::Address { factor, is_hexadecimal: false } => {
                    said.request.address = walk.decimal()?.checked_mul(factor)?;
                }
                What::Size { factor, is_hexadecimal: false } => {
                    said.size_bytes = walk.decimal()?.checked_mul(factor)?;
                }
                What::Time { unit_ns } => said.request.time_ns = Some(walk.time_ns(unit_ns)?),
                What::Stream if said.stream.is_none() => said.stream = Some(walk.field()?),
                _ => return None,
            }
            column += 1;
        }
        Some(said)
    }

    #[inline]
    fn plain_op(&self, word: &[u8]) -> Option<Op> {
        match self.notation.words.meaning(word)? {
            Meaning::Request(op) => Some(op),
            Meaning::Other(_) => None,
        }
    }

    fn same_bytes(&self) -> u64 {
        match self.notation.size {
            Size::Same(bytes) => bytes,
            Size::Column(_) => 0,
        }
    }

    /// What any other line says; none if it moves no data.
    fn other(&mut self, line: &[u8], output: &mut Output) -> Result<Option<(Request, u64)>, Fault> {
        self.fields.split(line);
        let (mut request, mut size_bytes) = (self.same, self.same_bytes());
        self.stream.clear();
        let mut has_stream = false;
        for Wanted { column, what } in &self.wanted {
            if *column >= self.fields.len() {
                return Err(format!(
                    "has {} fields where field {} is wanted",
                    self.fields.len(),
                    column + 1
                )
                .into());
            }
            let field = scan::trimmed(self.fields.get(*column));
            match *what {
                What::Op => match self.notation.words.meaning(field) {
                    Some(Meaning::Request(op)) => request.op = op,
                    Some(Meaning::Other(what)) => {
                        output.report.pass_over(what);
                        return Ok(None);
                    }
                    None => return Err(self.not_an_op(field)),
                },
                What::Address { factor, is_hexadecimal } => {
                    request.address = number(field, factor, is_hexadecimal)
                        .ok_or_else(|| no_number("address", *column))?;
                }
                What::Size { factor, is_hexadecimal } => {
                    size_bytes = number(field, factor, is_hexadecimal)
                        .ok_or_else(|| no_number("size", *column))?;
                }
                What::Time { unit_ns } => {
                    let time_ns = scan::time_ns(field, unit_ns);
                    let time_ns = time_ns.or(field.is_empty().then_some(scan::UNREADABLE_TIME_NS));
                    request.time_ns = Some(time_ns.ok_or_else(|| no_number("time", *column))?);
                }
                What::Stream => {
                    if has_stream {
                        self.stream.push(b'/');
                    }
                    self.stream.extend_from_slice(field);
                    has_stream = true;
                }
            }
        }
        if has_stream {
            request.stream = self.streams.number(&self.stream, &mut output.report)?;
        }
        Ok(Some((request, size_bytes)))
    }

    fn not_an_op(&self, field: &[u8]) -> Fault {
        let remedy = match field {
            b"0" | b"1" => "say which with read=0,write=1 or read=1,write=0",
            _ => "say what it does with read=, write=, discard= or ignore=",
        };
        format!("has the operation {}; {remedy}", quoted(field)).into()
    }
}

impl LineFormat for Named {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault> {
        if self.lines_before > 0 {
            return self.before(line).map(|()| Line::Passed);
        }
        if let Some(said) = self.plain(line) {
            let stream = match said.stream {
                Some(field) => self.streams.number(field, &mut output.report)?,
                None => 0,
            };
            output.request_of(said.size_bytes, Request { stream, ..said.request })?;
        } else {
            if scan::trimmed(line).is_empty() {
                return Ok(Line::Passed);
            }
            match self.other(line, output)? {
                Some((request, size_bytes)) => output.request_of(size_bytes, request)?,
                None => return Ok(Line::Passed),
            }
        }
        if self.notation.op.is_none() {
            output.report.assumed_reads += 1;
        }
        Ok(Line::Taken)
    }
}

/// The fields of a line, one after the other.
struct Walk<'a> {
    rest: &'a [u8],
    separator: u8,
    has_ended: bool,
}

impl<'a> Walk<'a> {
    #[inline(always)]
    fn skip_field(&mut self) -> Option<()> {
        self.field().map(|_| ())
    }

    /// A field as it stands; none if it has quotes or blanks around it.
    #[inline(always)]
    fn field(&mut self) -> Option<&'a [u8]> {
        if self.has_ended {
            return None;
        }
        let mut end = 0;
        // Most fields are shorter than a search with vectors takes to begin.
        while end < self.rest.len().min(SHORT_FIELD_BYTES)
            && self.rest[end] != self.separator
            && self.rest[end] != b'"'
            && self.rest[end] != b'\t'
        {
            end += 1;
        }
        if end == SHORT_FIELD_BYTES {
            end +=
                memchr2(self.separator, b'"', &self.rest[end..]).unwrap_or(self.rest.len() - end);
        }
        let (field, behind) = self.rest.split_at(end);
        if matches!(field, [b' ', ..] | [.., b' ']) {
            return None;
        }
        self.pass(behind)?;
        Some(field)
    }

    #[inline(always)]
    fn decimal(&mut self) -> Option<u64> {
        let (number, behind) = scan::leading_decimal(self.rest)?;
        self.pass(behind)?;
        Some(number)
    }

    #[inline(always)]
    fn time_ns(&mut self, unit_ns: u64) -> Option<u64> {
        let (time_ns, behind) = scan::leading_time_ns(self.rest, unit_ns)?;
        self.pass(behind)?;
        Some(time_ns)
    }

    /// Goes on behind the separator that must stand here, or the end.
    #[inline(always)]
    fn pass(&mut self, behind: &'a [u8]) -> Option<()> {
        match behind {
            [] => (self.rest, self.has_ended) = (behind, true),
            [byte, behind @ ..] if *byte == self.separator => {
                self.rest =
                    if self.separator == b' ' { scan::after_blanks(behind) } else { behind };
            }
            _ => return None,
        }
        Some(())
    }
}

const SHORT_FIELD_BYTES: usize = 24;

fn place(column: &Column, names: &[String]) -> Result<usize, String> {
    match &column.place {
        Place::Number(number) => Ok(number - 1),
        Place::Name(wanted) => {
            let exact = names.iter().position(|name| name == wanted);
            let found =
                exact.or_else(|| names.iter().position(|name| name.eq_ignore_ascii_case(wanted)));
            found.ok_or_else(|| {
                format!(
                    "there is no column {wanted:?}, only {}; correct --trace-format",
                    names.join(", ")
                )
            })
        }
    }
}

/// A whole number times a factor.
fn number(field: &[u8], factor: u64, is_hexadecimal: bool) -> Option<u64> {
    let number = match is_hexadecimal {
        true => scan::hex(scan::without_hex_prefix(field).unwrap_or(field)),
        false => scan::decimal_or_hex(field).or_else(|| scan::whole_number(field)),
    };
    number?.checked_mul(factor)
}

#[cold]
fn no_number(what: &str, column: usize) -> Fault {
    format!("has no {what} that is a number of 64 bits in field {}", column + 1).into()
}
