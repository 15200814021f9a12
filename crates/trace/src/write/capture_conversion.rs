//! From the files of a capture's front end to the project's own Parquet.

use std::path::{Path, PathBuf};

use crate::TraceError;
use crate::capture::{CaptureReader, CapturedStream, StreamEnd};
use crate::parquet_writer::{OptionalColumns, ParquetWriter};
use crate::progress::{Phase, Progress};

/// Writes the records of all processes of a capture to one Parquet file, with their classes, a label
/// for each process, and the address spaces. Gives the processes, in the order of `paths`, which is
/// that of the stream numbers.
///
/// # Errors
///
/// Those of the reader and the writer, or [`TraceError::Interrupted`]; then there is not a file at `out`,
/// or still the old one.
pub fn convert_capture(
    paths: Vec<PathBuf>,
    out: &Path,
    labels: &[(String, String)],
    progress: &Progress,
) -> Result<Vec<CapturedStream>, TraceError> {
    let mut capture = CaptureReader::open(paths)?;
    let mut writer = ParquetWriter::create(
        out,
        labels,
        OptionalColumns { classes: true, ..OptionalColumns::default() },
    )?;
    progress.enter(Phase::Reading, capture.progress().1);
    let mut batch = Vec::new();
    while capture.next_batch(&mut batch)? {
        writer.write(&batch)?;
        progress.set_done(capture.progress().0);
        if progress.is_cancelled() {
            return Err(TraceError::Interrupted);
        }
    }
    for (number, stream) in capture.streams().iter().enumerate() {
        writer.add_label(&format!("stream {number}"), &stream_label(stream));
    }
    if let Some(pages) = capture.anonymous_pages() {
        writer.keep_address_space(&capture.segments(), &pages);
    }
    writer.finish()?;
    Ok(capture.streams().to_vec())
}

/// A process as people read it: `gzip -c file: exit code 0; I 12, R 3400, A 560, W 700`.
pub(crate) fn stream_label(stream: &CapturedStream) -> String {
    let end = match stream.end {
        StreamEnd::Exit(code) => format!("exit code {code}"),
        StreamEnd::Exec => "became another program".to_owned(),
        StreamEnd::Signal => "ended by a signal".to_owned(),
        StreamEnd::Cut => "cut, because it was killed".to_owned(),
    };
    format!("{}: {end}; {}", stream.command.join(" "), stream.classes)
}
