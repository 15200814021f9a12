//! Reads a table of which the user names the columns.

mod words;

use clockhand_quantity::{Text, option};

use super::fields::{Fields, Separator};
use super::notation::{Addressed, Column, Meaning, Notation, OpSource, Place, Size};
use crate::decode::columns::Streams;
use crate::decode::lines::{Line, LineFormat};
use crate::decode::objects::{ObjectOp, ObjectRequest, Objects};
use crate::decode::output::{Fault, Output};
use crate::decode::scan;
use crate::report::ReadReport;
use crate::request::{Op, Request};
use crate::source::sample::quoted;
use words::{Walk, hashed, is_comment, lifetime_ns, no_number, number, object_number};

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
    /// The columns of objects, if the requests are for objects.
    objects: Option<Objects>,
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
    Object,
    Size { factor: u64, is_hexadecimal: bool },
    Time { unit_ns: u64 },
    Lifetime { unit_ns: u64 },
    Stream,
}

/// What a line says.
struct Said<'a> {
    /// Its address is the number of the object, if it is for one.
    request: Request,
    size_bytes: u64,
    stream: Option<&'a [u8]>,
    deletes: bool,
    lifetime_ns: u64,
}

impl Named {
    /// A reader of such a table.
    pub(super) fn new(notation: Notation, output: &mut Output) -> Self {
        let op = match &notation.op {
            Some(OpSource::Same(op)) => *op,
            _ => Op::Read,
        };
        let is_of_objects = matches!(notation.place, Addressed::Object(_));
        let mut named = Self {
            objects: is_of_objects.then(|| Objects::of(output)),
            lines_before: notation.skip_lines + u64::from(notation.has_header),
            fields: Fields::between(notation.separator),
            notation,
            wanted: Vec::new(),
            same: Request::new(op, 0, 1),
            streams: Streams::default(),
            stream: Vec::new(),
        };
        if named.notation.stream.len() > 1 && !is_of_objects {
            named.streams = Streams::of_names();
        }
        if !named.notation.has_header {
            named.wanted = named.find(&[]).unwrap_or_default();
        }
        named
    }

    /// Finds the columns by the names in the header.
    fn find(&self, names: &[String]) -> Result<Vec<Wanted>, Text> {
        let Notation { op, place: addressed, size, time, stream, lifetime, .. } = &self.notation;
        let mut wanted = Vec::new();
        let mut want = |column: &Column, what: What| -> Result<(), Text> {
            wanted.push(Wanted { column: place(column, names)?, what });
            Ok(())
        };
        if let Some(OpSource::Column(column)) = op {
            want(column, What::Op)?;
        }
        match addressed {
            Addressed::Object(column) => want(column, What::Object)?,
            Addressed::Bytes(column) => {
                let Column { factor, is_hexadecimal, .. } = *column;
                want(column, What::Address { factor, is_hexadecimal })?;
            }
        }
        if let Size::Column(column) = size {
            let Column { factor, is_hexadecimal, .. } = *column;
            want(column, What::Size { factor, is_hexadecimal })?;
        }
        if let Some(column) = time {
            want(column, What::Time { unit_ns: column.unit_ns.unwrap_or(1) })?;
        }
        if let Some(column) = lifetime {
            want(column, What::Lifetime { unit_ns: column.unit_ns.unwrap_or(1) })?;
        }
        stream.iter().try_for_each(|column| want(column, What::Stream))?;
        wanted.sort_by_key(|wanted| wanted.column);
        Ok(wanted)
    }

    /// A line in front of the requests. Comments stand before a header, but count as lines that are skipped.
    fn before(&mut self, line: &[u8]) -> Result<(), Fault> {
        let is_header = self.lines_before == 1 && self.notation.has_header;
        if is_header && is_comment(line) {
            return Ok(());
        }
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
        let mut said = self.said();
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
                What::Op => match self.meaning(walk.field()?)? {
                    Meaning::Request(op) => said.request.op = op,
                    Meaning::Delete => said.deletes = true,
                    Meaning::Other(_) => return None,
                },
                What::Object => said.request.address = object_number(walk.field()?),
                What::Lifetime { unit_ns } => said.lifetime_ns = walk.time_ns(unit_ns)?,
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
    fn meaning(&self, word: &[u8]) -> Option<Meaning> {
        match self.objects {
            None => self.notation.words.meaning(word),
            Some(_) => self.notation.words.meaning_for_object(word),
        }
    }

    /// What every line says in which no column does.
    #[inline]
    fn said<'a>(&self) -> Said<'a> {
        Said {
            request: self.same,
            size_bytes: self.same_bytes(),
            stream: None,
            deletes: false,
            lifetime_ns: 0,
        }
    }

    fn same_bytes(&self) -> u64 {
        match self.notation.size {
            Size::Same(bytes) => bytes,
            Size::Column(_) => 0,
        }
    }

    /// What any other line says, with its stream in `self.stream`; none if it moves no data.
    fn other(
        &mut self,
        line: &[u8],
        output: &mut Output,
    ) -> Result<Option<(Said<'static>, bool)>, Fault> {
        self.fields.split(line);
        let mut said = self.said();
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
                What::Op => match self.meaning(field) {
                    Some(Meaning::Request(op)) => said.request.op = op,
                    Some(Meaning::Delete) => said.deletes = true,
                    Some(Meaning::Other(what)) => {
                        output.report.pass_over(what);
                        return Ok(None);
                    }
                    None => return Err(self.not_an_op(field)),
                },
                What::Object => said.request.address = object_number(field),
                What::Address { factor, is_hexadecimal } => {
                    said.request.address = number(field, factor, is_hexadecimal)
                        .ok_or_else(|| no_number("address", *column))?;
                }
                What::Size { factor, is_hexadecimal } => {
                    let of_nothing = (self.objects.is_some() && field.is_empty()).then_some(0);
                    said.size_bytes = number(field, factor, is_hexadecimal)
                        .or(of_nothing)
                        .ok_or_else(|| no_number("size", *column))?;
                }
                What::Time { unit_ns } => {
                    let time_ns = self.time_ns(field, unit_ns);
                    let time_ns = time_ns.or(field.is_empty().then_some(scan::UNREADABLE_TIME_NS));
                    said.request.time_ns = Some(time_ns.ok_or_else(|| no_number("time", *column))?);
                }
                What::Lifetime { unit_ns } => {
                    said.lifetime_ns = lifetime_ns(field, unit_ns, *column)?
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
        Ok(Some((said, has_stream)))
    }

    /// A time; where commas do not separate fields, one may also be the point.
    fn time_ns(&self, field: &[u8], unit_ns: u64) -> Option<u64> {
        scan::time_ns(field, unit_ns).or_else(|| {
            let may_have_commas = self.notation.separator != Separator::Byte(b',');
            let point = |&byte: &u8| if byte == b',' { b'.' } else { byte };
            let with_point: Vec<u8> = field.iter().map(point).collect();
            scan::time_ns(&with_point, unit_ns).filter(|_| may_have_commas)
        })
    }

    /// Takes what a line says.
    #[inline]
    fn take(
        &mut self,
        said: &Said<'_>,
        stream: Option<&[u8]>,
        output: &mut Output,
    ) -> Result<(), Fault> {
        let Some(objects) = &mut self.objects else {
            let stream = match stream {
                Some(field) => self.streams.number(field, &mut output.report)?,
                None => 0,
            };
            return output.request_of(said.size_bytes, Request { stream, ..said.request });
        };
        let Request { op, address: number, time_ns, .. } = said.request;
        let op = match op {
            _ if said.deletes => ObjectOp::Delete,
            Op::Read => ObjectOp::Read,
            Op::Write => ObjectOp::Write,
        };
        let time_ns = match time_ns {
            Some(scan::UNREADABLE_TIME_NS) => Some(output.time_before()),
            time_ns => time_ns,
        };
        let request = ObjectRequest {
            op,
            // Equal keys of two streams are different objects.
            id: stream.map_or(number, |stream| hashed(number, stream)),
            owner: 0,
            size_bytes: said.size_bytes,
            time_ns,
            lifetime_ns: said.lifetime_ns,
        };
        objects.request(request, output)
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
            self.take(&said, said.stream, output)?;
        } else {
            if is_comment(line) {
                return Ok(Line::Passed);
            }
            let Some((said, has_stream)) = self.other(line, output)? else {
                return Ok(Line::Passed);
            };
            let stream = std::mem::take(&mut self.stream);
            let taken = self.take(&said, has_stream.then_some(&stream), output);
            self.stream = stream;
            taken?;
        }
        if self.notation.op.is_none() {
            output.report.assumed_reads += 1;
        }
        Ok(Line::Taken)
    }

    fn end(&mut self, report: &mut ReadReport) {
        if let Some(objects) = &self.objects {
            objects.note(report);
        }
    }
}

fn place(column: &Column, names: &[String]) -> Result<usize, Text> {
    match &column.place {
        Place::Number(number) => Ok(number - 1),
        Place::Name(wanted) => {
            let exact = names.iter().position(|name| name == wanted);
            let found =
                exact.or_else(|| names.iter().position(|name| name.eq_ignore_ascii_case(wanted)));
            found.ok_or_else(|| {
                Text::from(format!(
                    "there is no column {wanted:?}, only {}; correct ",
                    names.join(", ")
                )) + option("trace-format")
            })
        }
    }
}
