//! From the files of a capture of memory and the log of the same program's calls to one trace of events.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::TraceError;
use crate::decode::lines::LineFormat;
use crate::decode::output::{Fault, Output};
use crate::event::{Action, Event};
use crate::formats::strace::{Log, MemoryReference};
use crate::processor::view::{Convention, View};
use crate::progress::{Phase, Progress};
use crate::request::Request;
use crate::source::capture::CaptureReader;
use crate::write::capture_conversion::stream_label;
use crate::write::event_writer::ObjectNames;
use crate::write::parquet_writer::OptionalColumns;
use crate::write::target::find_target;
use crate::write::writer::{TraceWriter, WriteOptions};

/// A page cache has what page tables see.
const VIEW: View = View { convention: Convention::Fault, fetches: true };

/// What a program did to memory and to files.
#[derive(Clone, Debug, Serialize)]
pub struct CapturedTimeline {
    /// Reading and writing calls, O_DIRECT ones not among them.
    pub calls: u64,
    /// Records of references to memory.
    pub references: u64,
    /// What was met, a sentence each.
    pub notes: Vec<String>,
}

/// Writes the references to memory in the files of a front end, and the calls in the log of a tracer, as one
/// table of events in the order of their times. The log's clock is that of the front end, which begins a
/// block behind each call: so the order is that of the program.
///
/// # Errors
///
/// Those of the reader and the writer, or [`TraceError::Interrupted`]; then there is not a file at `out`,
/// or still the old one.
pub fn convert_timeline(
    paths: Vec<PathBuf>,
    log: &Path,
    out: &Path,
    labels: &[(String, String)],
    progress: &Progress,
) -> Result<CapturedTimeline, TraceError> {
    let capture = CaptureReader::open(paths)?;
    let file = File::open(log).map_err(|source| failed(log, "opening", 0, source))?;
    let options =
        WriteOptions { target: find_target("parquet")?, widen: false, labels: labels.to_vec() };
    let writer = TraceWriter::create(out, &options, OptionalColumns::EVENTS)?;
    progress.enter(Phase::Reading, capture.progress().1);
    let output = Output { events: Some(Vec::new()), holds_events: true, ..Output::default() };
    let mut timeline = Timeline {
        path: log,
        log: Log::with_memory(),
        capture,
        output,
        writer,
        batch: Vec::new(),
        calls: 0,
        references: 0,
        progress,
    };
    timeline.merge(BufReader::new(file))?;
    timeline.finish()
}

fn failed(path: &Path, doing: &'static str, byte: u64, source: std::io::Error) -> TraceError {
    TraceError::Io { file: path.display().to_string(), doing, byte, source }
}

struct Timeline<'a> {
    path: &'a Path,
    log: Log,
    capture: CaptureReader,
    output: Output,
    writer: TraceWriter,
    batch: Vec<Request>,
    calls: u64,
    references: u64,
    progress: &'a Progress,
}

impl Timeline<'_> {
    fn merge(&mut self, mut lines: impl BufRead) -> Result<(), TraceError> {
        let (mut line, mut at_byte) = (Vec::new(), 0);
        loop {
            line.clear();
            let read = lines.read_until(b'\n', &mut line);
            let bytes = read.map_err(|source| failed(self.path, "reading", at_byte, source))?;
            // A tracer that was killed leaves half a line.
            if bytes == 0 || line.pop() != Some(b'\n') {
                return self.take_blocks(u64::MAX);
            }
            if let Some(time_ns) = Log::time_of(&line) {
                self.take_blocks(time_ns)?;
            }
            let taken = self.log.line(&line, &mut self.output).map(drop);
            self.check(taken, at_byte)?;
            self.write_if_full()?;
            at_byte += bytes as u64;
        }
    }

    /// Takes the references that happened before a time.
    fn take_blocks(&mut self, before_ns: u64) -> Result<(), TraceError> {
        while let Some((begun_ns, stream)) =
            self.capture.next_block().filter(|(time_ns, _)| *time_ns < before_ns)
        {
            self.capture.next_batch(&mut self.batch)?;
            let of = &self.capture.streams()[stream as usize];
            let process = of.process;
            let name = format!("memory of {process}: {}", of.command.join(" "));
            self.log.name_memory(process, &name);
            let batch = std::mem::take(&mut self.batch);
            let mut time_ns = Some(begun_ns);
            for request in &batch {
                let op = request.class.and_then(|class| VIEW.op(class));
                let Request { address, bytes, .. } = *request;
                let Some(op) = op else { continue };
                let reference =
                    MemoryReference { process, op, address, bytes, time_ns: time_ns.take() };
                let taken = self.log.refer(reference, &mut self.output);
                self.check(taken, 0)?;
            }
            self.references += batch.len() as u64;
            self.batch = batch;
            self.write_if_full()?;
            self.progress.set_done(self.capture.progress().0);
            if self.progress.is_cancelled() {
                return Err(TraceError::Interrupted);
            }
        }
        Ok(())
    }

    fn check(&self, taken: Result<(), Fault>, at_byte: u64) -> Result<(), TraceError> {
        let reason = match taken {
            Ok(()) => return Ok(()),
            Err(Fault::Record(reason)) => format!("a line {reason}; capture again").into(),
            Err(Fault::Trace(reason)) => reason,
        };
        let file = self.path.display().to_string();
        Err(TraceError::Content { file, place: format!("byte {at_byte}"), reason })
    }

    fn write_if_full(&mut self) -> Result<(), TraceError> {
        if self.output.is_full() { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), TraceError> {
        let Output { events, report, .. } = &mut self.output;
        let Some(events) = events else { return Ok(()) };
        let objects = ObjectNames { names: &report.stream_names, kinds: &report.object_kinds };
        let is_call = |event: &&Event| matches!(event.action, Action::Call { .. });
        self.calls += events.iter().filter(is_call).count() as u64;
        self.writer.write_events(events, objects)?;
        events.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<CapturedTimeline, TraceError> {
        self.write()?;
        self.log.end(&mut self.output.report);
        for stream in self.capture.streams() {
            let key = format!("memory of process {}", stream.process);
            self.writer.add_label(&key, &stream_label(stream));
        }
        self.writer.finish()?;
        let Self { calls, references, output, .. } = self;
        Ok(CapturedTimeline { calls, references, notes: output.report.notes })
    }
}
