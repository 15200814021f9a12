//! Conversion of traces to the project's own Parquet.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use clockhand_trace::{AnonymousPages, ParquetWriter, ReadReport, Request};

use crate::{Progress, SimError, TraceInput};

/// How many batches are read while an earlier one is written.
const BATCHES_AHEAD: usize = 4;
/// How often a conversion whose input stalls looks whether it is to end.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Writes `inputs` to one Parquet file, one after the other as one timeline, and gives what was met in each.
///
/// The streams of different inputs never alias: they are numbered in the order of their first request. Times
/// are kept only for a single input, since the clocks of several have no common origin. Classes of records are
/// kept, unless an input is seen in a view of its own.
///
/// # Errors
///
/// Those of the readers and the writer, or [`SimError::Interrupted`]; then there is no file at `out`, or
/// still the old one.
pub fn convert_to_parquet(
    inputs: &[TraceInput],
    out: &Path,
    labels: &[(String, String)],
    progress: &Arc<Progress>,
) -> Result<Vec<ReadReport>, SimError> {
    let mut conversion = Conversion {
        keeps_times: inputs.len() == 1,
        out,
        labels,
        writer: None,
        streams: BTreeMap::new(),
    };
    let mut reports = Vec::new();
    for (input, trace) in inputs.iter().enumerate() {
        let trace = trace.keeping_classes();
        reports.push(read_ahead(&trace, progress, &mut |batch| conversion.write(input, batch))?);
    }
    conversion.keep_address_spaces(&reports);
    let nothing = || SimError::Usage("no trace is given; name one to convert".to_owned());
    conversion.writer.ok_or_else(nothing)?.finish()?;
    Ok(reports)
}

/// Hands all requests to `take` while another thread reads on: a conversion whose pipe has stalled can still be
/// cancelled, and then removes its unfinished file.
fn read_ahead(
    trace: &TraceInput,
    progress: &Arc<Progress>,
    take: &mut dyn FnMut(Vec<Request>) -> Result<(), SimError>,
) -> Result<ReadReport, SimError> {
    let (sender, receiver) = mpsc::sync_channel(BATCHES_AHEAD);
    let (trace, reading) = (trace.clone(), Arc::clone(progress));
    let reader = thread::spawn(move || {
        trace.for_each_batch(&reading, &mut |batch| {
            sender.send(batch.to_vec()).map_err(|_| SimError::Interrupted)
        })
    });
    loop {
        match receiver.recv_timeout(LOOK_EVERY) {
            Ok(batch) => take(batch)?,
            Err(RecvTimeoutError::Disconnected) => {
                return reader.join().unwrap_or_else(|panic| resume_unwind(panic));
            }
            Err(RecvTimeoutError::Timeout) if progress.is_cancelled() => {
                return Err(SimError::Interrupted);
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

struct Conversion<'a> {
    keeps_times: bool,
    out: &'a Path,
    labels: &'a [(String, String)],
    writer: Option<ParquetWriter>,
    /// (input, its stream) → stream in the file.
    streams: BTreeMap<(usize, u32), u32>,
}

impl Conversion<'_> {
    fn write(&mut self, input: usize, mut requests: Vec<Request>) -> Result<(), SimError> {
        for request in &mut requests {
            let next_stream = self.streams.len() as u32;
            request.stream = *self.streams.entry((input, request.stream)).or_insert(next_stream);
            request.time_ns = request.time_ns.filter(|_| self.keeps_times);
        }
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => {
                let has_times = requests.first().is_some_and(|request| request.time_ns.is_some());
                let has_classes = requests.first().is_some_and(|request| request.class.is_some());
                none.insert(if has_classes {
                    ParquetWriter::create_with_classes(self.out, self.labels, has_times)?
                } else {
                    ParquetWriter::create(self.out, self.labels, has_times)?
                })
            }
        };
        Ok(writer.write(&requests)?)
    }

    /// Keeps the address spaces of captured programs, if each input tells its own.
    fn keep_address_spaces(&mut self, reports: &[ReadReport]) {
        let (mut segments, mut all_pages) = (Vec::new(), AnonymousPages::default());
        for (input, report) in reports.iter().enumerate() {
            let Some(pages) = &report.anonymous_pages else { return };
            let new_stream = |stream| self.streams.get(&(input, stream)).copied();
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
