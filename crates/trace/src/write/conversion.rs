//! Conversion of traces to any format that can be written.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde::Serialize;

use crate::TraceError;
use crate::event::{Event, ObjectKind};
use crate::pages::anonymous::AnonymousPages;
use crate::progress::Progress;
use crate::report::ReadReport;
use crate::request::Request;
use crate::source::input::{Batch as InputBatch, TraceInput, Wanted};
use crate::write::event_writer::ObjectNames;
use crate::write::parquet_writer::OptionalColumns;
use crate::write::target::{Target, find_target, target_of_path};
use crate::write::writer::{TraceWriter, WriteOptions};

/// The number of batches that are read while an earlier one is written.
const BATCHES_AHEAD: usize = 4;
/// The interval between checks for the end while the input stalls.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The label that says which command wrote a trace.
const MADE_BY: &str = "made by";
/// The same about the trace that another was made from.
const MADE_FROM: &str = "made from";

/// The beginning of labels that describe one stream.
const OF_STREAM: &str = "stream ";

/// What to write, and where.
#[derive(Clone, Debug)]
pub struct Conversion {
    /// The file, compressed as its ending says.
    pub out: PathBuf,
    /// The name of the format; the ending of the file tells it if `None`.
    pub to: Option<String>,
    /// True if requests are widened to whole sectors, blocks or cache lines where the format has no others.
    pub widen: bool,
    /// Key and value pairs to keep with the trace; those of the inputs are kept too.
    pub labels: Vec<(String, String)>,
}

/// What a conversion found and did.
#[derive(Clone, Debug, Serialize)]
pub struct Converted {
    /// What was met in each input.
    #[serde(rename = "traces")]
    pub reports: Vec<ReadReport>,
    /// The format that was written.
    pub format: &'static str,
    /// What it could not hold, a sentence each.
    pub losses: Vec<String>,
}

/// Writes `inputs` to one file, one after the other as one timeline.
///
/// The streams of a single input keep their numbers. Those of several never alias: they are numbered in the
/// order of their first request, and times are left out, since the clocks have no common origin. Classes of
/// records are kept where the format can, unless an input is seen in a view of its own.
///
/// # Errors
///
/// Those of the readers and the writer, or [`TraceError::Interrupted`]; then there is not a file at the place, or
/// still the old one.
pub fn convert(
    inputs: &[TraceInput],
    conversion: &Conversion,
    progress: &Arc<Progress>,
) -> Result<Converted, TraceError> {
    let target = match &conversion.to {
        Some(name) => find_target(name)?,
        None => target_of_path(&conversion.out)?,
    };
    let mut writing = Writing {
        is_single: inputs.len() == 1,
        out: &conversion.out,
        target,
        widen: conversion.widen,
        labels: conversion.labels.clone(),
        given_labels: conversion.labels.len(),
        writer: None,
        streams: BTreeMap::new(),
        stream_names: Vec::new(),
        object_kinds: Vec::new(),
    };
    let mut reports = Vec::new();
    for (input, trace) in inputs.iter().enumerate() {
        let trace = if target.holds_classes() { trace.keeping_classes() } else { trace.clone() };
        let takes_events = writing.takes_events();
        let report =
            read_ahead(&trace, takes_events, progress, &mut |batch| writing.write(input, batch))?;
        reports.push(report);
    }
    writing.keep_address_spaces(&reports);
    let nothing = || TraceError::NothingToConvert;
    let mut losses = writing.writer.ok_or_else(nothing)?.finish()?;
    let viewed = reports.iter().find_map(|report| report.view).filter(|_| !target.holds_classes());
    losses.extend(viewed.map(|view| {
        format!(
            "classes of records are lost: {} has none, and the requests are those of view {view}",
            target.name()
        )
    }));
    Ok(Converted { reports, format: target.name(), losses })
}

/// What is handed from the thread that reads to the one that writes.
struct Batch {
    content: Content,
    /// Labels of the trace, with its first batch.
    labels: Vec<(String, String)>,
    /// Names of streams that no batch before has brought.
    new_stream_names: Vec<String>,
    /// The streams that no earlier batch has brought.
    new_object_kinds: Vec<ObjectKind>,
}

enum Content {
    Requests(Vec<Request>),
    Events(Vec<Event>),
}

/// Hands all requests to `take` while another thread reads on: a conversion whose pipe has stalled can still be
/// cancelled, and then removes its unfinished file.
fn read_ahead(
    trace: &TraceInput,
    takes_events: bool,
    progress: &Arc<Progress>,
    take: &mut dyn FnMut(Batch) -> Result<(), TraceError>,
) -> Result<ReadReport, TraceError> {
    let (sender, receiver) = mpsc::sync_channel(BATCHES_AHEAD);
    let (trace, reading) = (trace.clone(), Arc::clone(progress));
    let reader = thread::spawn(move || {
        let (mut labels_sent, mut names_sent, mut kinds_sent) = (0, 0, 0);
        let mut send = |content, report: &ReadReport| {
            let batch = Batch {
                content,
                labels: report.labels[labels_sent..].to_vec(),
                new_stream_names: report.stream_names[names_sent..].to_vec(),
                new_object_kinds: report.object_kinds[kinds_sent..].to_vec(),
            };
            (labels_sent, names_sent) = (report.labels.len(), report.stream_names.len());
            kinds_sent = report.object_kinds.len();
            sender.send(batch).map_err(|_| TraceError::Interrupted)
        };
        let wanted = if takes_events { Wanted::Fitting } else { Wanted::Requests };
        trace.pull(wanted, &reading, &mut |batch, report| {
            let content = match batch {
                InputBatch::Requests(requests) => Content::Requests(requests.to_vec()),
                InputBatch::Events(events) => Content::Events(events.to_vec()),
            };
            send(content, report)
        })
    });
    loop {
        match receiver.recv_timeout(LOOK_EVERY) {
            Ok(batch) => take(batch)?,
            Err(RecvTimeoutError::Disconnected) => {
                return reader.join().unwrap_or_else(|panic| resume_unwind(panic));
            }
            Err(RecvTimeoutError::Timeout) if progress.is_cancelled() => {
                return Err(TraceError::Interrupted);
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

struct Writing<'a> {
    is_single: bool,
    out: &'a Path,
    target: &'static Target,
    widen: bool,
    labels: Vec<(String, String)>,
    /// How many of the labels, from the first on, the caller gave.
    given_labels: usize,
    writer: Option<TraceWriter>,
    /// (input, its stream) → stream in the file.
    streams: BTreeMap<(usize, u32), u32>,
    /// Of a single input, whose streams keep their numbers.
    stream_names: Vec<String>,
    /// As far as the inputs say.
    object_kinds: Vec<ObjectKind>,
}

impl Writing<'_> {
    /// Returns whether events are kept: the target holds them, and the file was not begun as one of requests.
    fn takes_events(&self) -> bool {
        self.target.holds_events() && self.writer.as_ref().is_none_or(TraceWriter::takes_events)
    }

    /// The stream in the file, of several inputs.
    fn stream(&mut self, input: usize, stream: u32) -> u32 {
        let next = self.streams.len() as u32;
        *self.streams.entry((input, stream)).or_insert(next)
    }

    fn write(&mut self, input: usize, mut batch: Batch) -> Result<(), TraceError> {
        if self.is_single {
            self.stream_names.append(&mut batch.new_stream_names);
            self.object_kinds.append(&mut batch.new_object_kinds);
        } else {
            match &mut batch.content {
                Content::Requests(requests) => {
                    for request in requests {
                        request.stream = self.stream(input, request.stream);
                        request.time_ns = None;
                    }
                }
                Content::Events(events) => {
                    for event in events {
                        event.object = self.stream(input, event.object);
                        event.time_ns = None;
                    }
                }
            }
        }
        for (key, value) in batch.labels {
            self.keep_label(input, key, value);
        }
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => {
                let options = WriteOptions {
                    target: self.target,
                    widen: self.widen,
                    labels: self.labels.clone(),
                };
                let columns = match &batch.content {
                    Content::Requests(requests) => OptionalColumns::of(requests),
                    Content::Events(_) => OptionalColumns::EVENTS,
                };
                none.insert(TraceWriter::create(self.out, &options, columns)?)
            }
        };
        match &batch.content {
            Content::Requests(requests) => writer.write(requests, &self.stream_names)?,
            Content::Events(events) => {
                let objects = ObjectNames { names: &self.stream_names, kinds: &self.object_kinds };
                writer.write_events(events, objects)?;
            }
        }
        Ok(())
    }

    /// Keeps a label of an input unless it is known or the caller gave another of its key.
    fn keep_label(&mut self, input: usize, key: String, value: String) {
        let key = match key.as_str() {
            MADE_BY => MADE_FROM.to_owned(),
            // Numbers of streams are those of the input.
            stream if stream.starts_with(OF_STREAM) && !self.is_single => {
                format!("{stream} of trace {}", input + 1)
            }
            _ => key,
        };
        let label = (key, value);
        let is_given = self.labels[..self.given_labels].iter().any(|(given, _)| *given == label.0);
        if is_given || self.labels.contains(&label) {
            return;
        }
        let (key, value) = label;
        if let Some(writer) = &mut self.writer {
            writer.add_label(&key, &value);
        }
        self.labels.push((key, value));
    }

    /// Keeps the address spaces of captured programs, if each input tells its own.
    fn keep_address_spaces(&mut self, reports: &[ReadReport]) {
        let (mut segments, mut all_pages) = (Vec::new(), AnonymousPages::default());
        for (input, report) in reports.iter().enumerate() {
            let Some(pages) = &report.anonymous_pages else { return };
            let new_stream = |stream| match self.is_single {
                true => Some(stream),
                false => self.streams.get(&(input, stream)).copied(),
            };
            all_pages = all_pages.joined(pages.renumbered(new_stream));
            segments.extend(report.segments.iter().filter_map(|segment| {
                let (stream, rest) = segment.split_once(' ')?;
                Some(format!("{} {rest}", new_stream(stream.parse().ok()?)?))
            }));
        }
        if let Some(writer) = &mut self.writer {
            writer.keep_address_space(&segments, &all_pages);
        }
    }
}
