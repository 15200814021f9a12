//! Conversion of traces to the project's own Parquet.

use std::collections::BTreeMap;
use std::path::Path;

use clockhand_trace::{ParquetWriter, Request};

use crate::{Progress, SimError, TraceInput};

/// Writes `inputs` to one Parquet file, one after the other as one timeline, and says how many requests.
///
/// The streams of different inputs never alias: they are numbered in the order of their first request. Times
/// are kept only for a single input, since the clocks of several have no common origin.
///
/// # Errors
///
/// Those of the readers and the writer, or [`SimError::Interrupted`]; then there is no file at `out`, or
/// still the old one.
pub fn convert_to_parquet(
    inputs: &[TraceInput],
    out: &Path,
    labels: &[(String, String)],
    progress: &Progress,
) -> Result<u64, SimError> {
    let mut conversion = Conversion {
        keeps_times: inputs.len() == 1,
        out,
        labels,
        writer: None,
        streams: BTreeMap::new(),
    };
    let mut requests = 0;
    for (input, trace) in inputs.iter().enumerate() {
        let report = trace.for_each_batch(progress, &mut |batch| conversion.write(input, batch))?;
        requests += report.requests;
    }
    conversion.writer.expect("a trace without requests is an error of its reader").finish()?;
    Ok(requests)
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
    fn write(&mut self, input: usize, batch: &[Request]) -> Result<(), SimError> {
        let mut requests = batch.to_vec();
        for request in &mut requests {
            let next_stream = self.streams.len() as u32;
            request.stream = *self.streams.entry((input, request.stream)).or_insert(next_stream);
            request.time_ns = request.time_ns.filter(|_| self.keeps_times);
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
