//! The driver of all text formats: finds lines, passes each to the format, and counts the
//! results.

use memchr::memchr;

use crate::decode::output::{Fault, Output};
use crate::decode::time_check::{TimeCheck, TimeUnit};
use crate::error::TraceError;
use crate::format::{Confidence, Decoder};
use crate::report::ReadReport;
use crate::source::Source;
use crate::source::sample::{BYTE_ORDER_MARK, Sample, quoted};

/// The result of a line.
pub(crate) enum Line {
    /// It was a record of the trace, whose requests are in the output.
    Taken,
    /// The format, and its page, say that such lines contain no request: blank lines,
    /// comments, headers. All except blank lines are counted with
    /// [`ReadReport::pass_over`](crate::report::ReadReport::pass_over).
    Passed,
}

/// A text format: how one line becomes requests. The driver counts malformed lines, finds cut files
/// and reads ahead.
pub(crate) trait LineFormat: Send {
    /// The unit of the times where it can be mistaken; they are then checked for plausibility.
    const TIME_UNIT: Option<TimeUnit> = None;

    /// True if one malformed line makes the whole trace unreadable, because what it would have changed is unknown.
    const IS_STRICT: bool = false;

    /// Puts the requests of one line, given without its end, into `output`.
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<Line, Fault>;

    /// The bytes that it keeps of earlier lines, besides the report; 0 if they do not grow with the lines.
    fn kept_bytes(&self) -> u64 {
        0
    }

    /// Reports what only the whole trace can show.
    fn end(&mut self, _report: &mut ReadReport) {}
}

/// Twice what the source buffers, so that it reads into this buffer and not into its own first.
const BUFFER_BYTES: usize = 512 * 1024;
/// No format has lines nearly as long; a binary file read as text must not fill the memory.
const LONGEST_LINE_BYTES: usize = 1024 * 1024;

/// The reason given for a last line that may be the first part of a longer one.
const LAST_LINE_NOTE: &str =
    "the last line has no line end; it is read as it stands, and may be cut";

/// Reads a trace line by line.
struct Lines<F> {
    format: F,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

/// Opens a text trace; one that is not text is refused.
pub(crate) fn open<F: LineFormat + Default + 'static>(
    source: &mut Source,
    output: &mut Output,
) -> Result<Box<dyn Decoder>, TraceError> {
    open_as(F::default(), source, output)
}

/// Opens a text trace as a format that already knows something from the head of the trace.
pub(crate) fn open_as<F: LineFormat + 'static>(
    format: F,
    source: &mut Source,
    output: &mut Output,
) -> Result<Box<dyn Decoder>, TraceError> {
    let sample = Sample::new(source.head(), source.head_is_all());
    if !sample.is_text() {
        return Err(TraceError::NotText {
            file: source.file().to_owned(),
            format: output.report.format,
            looks_like: sample.looks_like(),
        });
    }
    if sample.has_only_carriage_returns() {
        return Err(TraceError::Content {
            file: source.file().to_owned(),
            place: "line 1".to_owned(),
            reason: "its lines end in carriage returns alone, so that all of it is one line; convert them to line \
                     feeds (tr '\\r' '\\n')".into(),
        });
    }
    output.time_check = F::TIME_UNIT.map(TimeCheck::new);
    let mut lines = Lines { format, buffer: vec![0; BUFFER_BYTES], start: 0, end: 0 };
    lines.refill(source, output)?;
    if lines.buffer[..lines.end].starts_with(BYTE_ORDER_MARK) {
        lines.start = BYTE_ORDER_MARK.len();
    }
    Ok(Box::new(lines))
}

/// A text format fits when at least three in four lines of the sample are well-formed and one is a
/// request.
pub(crate) fn sniff<F: LineFormat + Default>(sample: &Sample) -> Confidence {
    const LINES_TRIED: usize = 400;
    if !sample.is_text() {
        return Confidence::Unfit;
    }
    let mut format = F::default();
    let mut output = Output::default();
    let (mut taken, mut malformed) = (0, 0);
    for line in sample.lines().take(LINES_TRIED) {
        match format.line(line, &mut output) {
            Ok(Line::Taken) => taken += 1,
            Ok(Line::Passed) => {}
            Err(Fault::Record(_)) => malformed += 1,
            Err(Fault::Trace(_)) => return Confidence::Unfit,
        }
    }
    if taken > 0 && taken >= 3 * malformed { Confidence::Likely } else { Confidence::Unfit }
}

impl<F: LineFormat> Decoder for Lines<F> {
    fn decode(&mut self, source: &mut Source, output: &mut Output) -> Result<bool, TraceError> {
        loop {
            while let Some(length) = memchr(b'\n', &self.buffer[self.start..self.end]) {
                let line = &self.buffer[self.start..self.start + length];
                self.start += length + 1;
                output.report.records += 1;
                if let Err(fault) = self.format.line(without_return(line), output) {
                    skip(strict::<F>(fault, line), line, source, output)?;
                }
                if output.is_full() {
                    return Ok(true);
                }
            }
            output.check_kept(self.format.kept_bytes(), source)?;
            if !self.refill(source, output)? {
                self.last_line(source, output)?;
                self.format.end(&mut output.report);
                return Ok(false);
            }
        }
    }
}

impl<F: LineFormat> Lines<F> {
    /// Moves the unfinished line to the front and reads on; false at the end of the trace.
    fn refill(&mut self, source: &mut Source, output: &Output) -> Result<bool, TraceError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end > LONGEST_LINE_BYTES {
            return Err(TraceError::LongLine {
                file: source.file().to_owned(),
                line: output.report.records + 1,
                limit_bytes: LONGEST_LINE_BYTES,
                format: output.report.format,
            });
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(2 * self.buffer.len(), 0);
        }
        let count = source.read(&mut self.buffer[self.end..])?;
        self.end += count;
        Ok(count > 0)
    }

    /// The last line need not have an end, but if it is malformed then the file was cut in it.
    fn last_line(&mut self, source: &Source, output: &mut Output) -> Result<(), TraceError> {
        let line = &self.buffer[self.start..self.end];
        if line.is_empty() {
            return Ok(());
        }
        output.report.records += 1;
        match self.format.line(without_return(line), output) {
            // A file full of malformed lines has another format, whether or not its last line has an
            // end.
            Err(Fault::Record(reason)) if F::IS_STRICT || !output.report.skipped_too_many() => {
                Err(TraceError::CutLine {
                    file: source.file().to_owned(),
                    line: output.report.records,
                    reason: described(&reason, line),
                })
            }
            Err(fault) => skip(fault, line, source, output),
            Ok(Line::Passed) => Ok(()),
            Ok(Line::Taken) => {
                output.report.notes.push(LAST_LINE_NOTE.to_owned());
                Ok(())
            }
        }?;
        self.start = self.end;
        Ok(())
    }
}

/// How the format treats a malformed line.
#[cold]
fn strict<F: LineFormat>(fault: Fault, line: &[u8]) -> Fault {
    match fault {
        Fault::Record(reason) if F::IS_STRICT => Fault::Trace(
            format!("the line {}; correct or remove it", described(&reason, line)).into(),
        ),
        fault => fault,
    }
}

/// Counts a malformed line; a fault of the whole trace is an error at once.
#[cold]
fn skip(fault: Fault, line: &[u8], source: &Source, output: &mut Output) -> Result<(), TraceError> {
    match fault {
        Fault::Record(reason) => {
            output.report.skip(|| described(&reason, line));
            Ok(())
        }
        Fault::Trace(reason) => {
            let place = format!("line {}", output.report.records);
            Err(TraceError::Content { file: source.file().to_owned(), place, reason })
        }
    }
}

fn described(reason: &str, line: &[u8]) -> String {
    format!("{reason}: {}", quoted(line))
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}
