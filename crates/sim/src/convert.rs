//! Conversion of traces to the project's own Parquet.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use clockhand_trace::{ParquetWriter, ReadReport, Request};

use crate::{Progress, SimError, TraceInput};

/// How many batches are read while an earlier one is written.
const BATCHES_AHEAD: usize = 4;
/// Labels of an input that the file keeps: they say that its requests are synthetic, and how they were made.
const LASTING_LABELS: [&str; 4] = ["synthetic", "kind", "recipe", "stands for"];
/// How often a conversion whose input stalls looks whether it is to end.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Writes `inputs` to one Parquet file, one after the other as one timeline, and gives what was met in each.
///
/// A single input keeps its streams and times. Those of several never alias: their streams are numbered in the
/// order of their first request, and they have no times, since their clocks have no common origin. Whatever is made of a
/// synthetic trace keeps the labels that say so.
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
        is_single: inputs.len() == 1,
        out,
        labels,
        writer: None,
        streams: BTreeMap::new(),
    };
    let mut reports = Vec::new();
    for (input, trace) in inputs.iter().enumerate() {
        reports.push(read_ahead(trace, progress, &mut |batch| conversion.write(input, batch))?);
    }
    let nothing = || SimError::Usage("no trace is given; name one to convert".to_owned());
    let mut writer = conversion.writer.ok_or_else(nothing)?;
    let lasting: BTreeSet<_> = reports
        .iter()
        .flat_map(|report| &report.labels)
        .filter(|(key, _)| LASTING_LABELS.contains(&key.as_str()))
        .collect();
    lasting.into_iter().for_each(|(key, value)| writer.add_label(key, value));
    writer.finish()?;
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
    is_single: bool,
    out: &'a Path,
    labels: &'a [(String, String)],
    writer: Option<ParquetWriter>,
    /// (input, its stream) → stream in the file.
    streams: BTreeMap<(usize, u32), u32>,
}

impl Conversion<'_> {
    fn write(&mut self, input: usize, mut requests: Vec<Request>) -> Result<(), SimError> {
        for request in requests.iter_mut().filter(|_| !self.is_single) {
            let next_stream = self.streams.len() as u32;
            request.stream = *self.streams.entry((input, request.stream)).or_insert(next_stream);
            request.time_ns = None;
        }
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => {
                let has_times = requests.first().is_some_and(|request| request.time_ns.is_some());
                none.insert(ParquetWriter::create(self.out, self.labels, has_times)?)
            }
        };
        Ok(writer.write(&requests)?)
    }
}
