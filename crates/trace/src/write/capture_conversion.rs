//! From the files of a capture's front end to the project's own Parquet.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, Builder, Thread};
use std::time::Duration;

use crate::TraceError;
use crate::progress::{Phase, Progress};
use crate::request::Request;
use crate::source::capture::{CaptureReader, CapturedStream, StreamEnd};
use crate::write::parquet_writer::{OptionalColumns, ParquetWriter};

/// The level of zstd: at level 9 the addresses take 8 % fewer bytes and twice the time.
const LEVEL: i32 = 3;
/// The interval between looks at the files, and at the thread's progress.
const LOOK_EVERY: Duration = Duration::from_millis(10);

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
    let mut records = Records::to(out, CaptureReader::open(paths)?)?;
    progress.enter(Phase::Reading, records.capture.progress().1);
    records.write(|records| {
        progress.set_done(records.capture.progress().0);
        progress.is_cancelled()
    })?;
    records.finish(labels)
}

/// Records on their way from the files of a capture to the Parquet file.
struct Records {
    capture: CaptureReader,
    writer: ParquetWriter,
    batch: Vec<Request>,
}

impl Records {
    fn to(out: &Path, capture: CaptureReader) -> Result<Self, TraceError> {
        let columns = OptionalColumns { classes: true, ..OptionalColumns::default() };
        let writer = ParquetWriter::create_at(LEVEL, out, &[], columns)?;
        Ok(Self { capture, writer, batch: Vec::new() })
    }

    /// Writes the blocks that can be read; gives how many. `is_cancelled` is asked after each.
    fn write(&mut self, mut is_cancelled: impl FnMut(&Self) -> bool) -> Result<u64, TraceError> {
        let mut blocks = 0;
        while self.capture.next_batch(&mut self.batch)? {
            self.writer.write(&self.batch)?;
            blocks += 1;
            if is_cancelled(self) {
                return Err(TraceError::Interrupted);
            }
        }
        Ok(blocks)
    }

    fn finish(mut self, labels: &[(String, String)]) -> Result<Vec<CapturedStream>, TraceError> {
        let Self { capture, writer, .. } = &mut self;
        for (key, value) in labels {
            writer.add_label(key, value);
        }
        for (number, stream) in capture.streams().iter().enumerate() {
            writer.add_label(&format!("stream {number}"), &stream_label(stream));
        }
        if let Some(pages) = capture.anonymous_pages() {
            writer.keep_address_space(&capture.segments(), &pages);
        }
        self.writer.finish()?;
        Ok(self.capture.streams().to_vec())
    }
}

/// The conversion of a capture beside the captured program: a thread that follows the growing files of the front end.
pub struct CaptureConversion {
    shared: Arc<Shared>,
    thread: Thread,
    done: Receiver<Result<Records, TraceError>>,
}

#[derive(Default)]
struct Shared {
    /// The front end writes nothing any more.
    is_complete: AtomicBool,
    is_cancelled: AtomicBool,
    given_blocks: AtomicU64,
    all_blocks: AtomicU64,
}

impl CaptureConversion {
    /// Begins to convert files in `folder` whose names begin with `prefix` and a dot, which need not be there yet.
    ///
    /// # Errors
    ///
    /// [`TraceError::Io`] when nothing can be written beside `out`, or a thread cannot start.
    pub fn begin(folder: &Path, prefix: &str, out: &Path) -> Result<Self, TraceError> {
        let records = Records::to(out, CaptureReader::of_no_file())?;
        let shared = Arc::new(Shared::default());
        let (finished, done) = mpsc::channel();
        let (of_thread, folder, prefix) =
            (Arc::clone(&shared), folder.to_owned(), format!("{prefix}."));
        let thread = Builder::new().name("conversion".to_owned()).spawn(move || {
            // The receiver is gone when the conversion was given up.
            _ = finished.send(follow(records, &folder, &prefix, &of_thread));
        });
        let thread = thread.map_err(|source| failed(out, "converting", source))?;
        Ok(Self { shared, thread: thread.thread().clone(), done })
    }

    /// Converts what is left, now that the program has ended, and completes the trace; gives the processes in the order
    /// they began, which is that of the stream numbers.
    ///
    /// # Errors
    ///
    /// As [`convert_capture`].
    pub fn finish(
        self,
        labels: &[(String, String)],
        progress: &Progress,
    ) -> Result<Vec<CapturedStream>, TraceError> {
        let get = |number: &AtomicU64| number.load(Ordering::Relaxed);
        self.shared.is_complete.store(true, Ordering::Release);
        self.thread.unpark();
        loop {
            match self.done.recv_timeout(LOOK_EVERY) {
                Ok(records) => return records?.finish(labels),
                Err(RecvTimeoutError::Disconnected) => {
                    unreachable!("the thread ends without a result only by a panic")
                }
                Err(RecvTimeoutError::Timeout) if progress.is_cancelled() => {
                    return Err(TraceError::Interrupted);
                }
                Err(RecvTimeoutError::Timeout) => {
                    progress.enter(Phase::Reading, get(&self.shared.all_blocks));
                    progress.set_done(get(&self.shared.given_blocks));
                }
            }
        }
    }
}

impl Drop for CaptureConversion {
    /// Ends the thread, which removes what it has written, before the files that it follows vanish.
    fn drop(&mut self) {
        self.shared.is_cancelled.store(true, Ordering::Relaxed);
        self.thread.unpark();
        _ = self.done.recv();
    }
}

/// Writes what the files get, until they are complete.
fn follow(
    mut records: Records,
    folder: &Path,
    prefix: &str,
    shared: &Shared,
) -> Result<Records, TraceError> {
    loop {
        let is_complete = shared.is_complete.load(Ordering::Acquire);
        records.capture.follow(|| listed(folder, prefix), is_complete)?;
        let blocks = records.write(|records| {
            let (given, all) = records.capture.progress();
            shared.given_blocks.store(given, Ordering::Relaxed);
            shared.all_blocks.store(all, Ordering::Relaxed);
            shared.is_cancelled.load(Ordering::Relaxed)
        })?;
        if is_complete {
            return Ok(records);
        }
        if shared.is_cancelled.load(Ordering::Relaxed) {
            return Err(TraceError::Interrupted);
        }
        if blocks == 0 {
            thread::park_timeout(LOOK_EVERY);
        }
    }
}

/// The files in a folder whose names begin so.
fn listed(folder: &Path, prefix: &str) -> Result<Vec<PathBuf>, TraceError> {
    let reading = |source| failed(folder, "reading", source);
    let mut paths = Vec::new();
    for entry in folder.read_dir().map_err(reading)? {
        let entry = entry.map_err(reading)?;
        if entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes()) {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

fn failed(path: &Path, doing: &'static str, source: io::Error) -> TraceError {
    TraceError::Io { file: path.display().to_string(), doing, byte: 0, source }
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
