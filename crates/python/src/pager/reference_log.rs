//! The accesses that pagers have seen, as a trace.

use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use clockhand_pager::{Event, EventLog, EventSink, PAGE_BYTES};
use clockhand_trace::{OptionalColumns, ParquetWriter, Request, TraceError};

/// Records that are handed to the writer at once.
const BATCH_REQUESTS: usize = 1 << 16;

/// Writes what several pagers see to one trace, in the order they see it, each as a stream of its own.
///
/// The file is written by a thread of its own, so that faults do not wait for it.
pub struct ReferenceLog {
    shared: Arc<Shared>,
    /// `None` when the log has been finished.
    writer: Mutex<Option<JoinHandle<Result<ParquetWriter, TraceError>>>>,
}

struct Shared {
    started: Instant,
    /// `None` when the log has been finished.
    batches: Mutex<Option<Batches>>,
}

struct Batches {
    batch: Vec<Request>,
    full: Sender<Vec<Request>>,
}

impl ReferenceLog {
    /// Begins a trace that is moved to `path` when it is finished.
    ///
    /// # Errors
    ///
    /// If nothing can be written beside `path`.
    pub fn create(path: &Path, labels: &[(String, String)]) -> Result<Self, TraceError> {
        let columns = OptionalColumns { times: true, ..OptionalColumns::default() };
        let mut writer = ParquetWriter::create(path, labels, columns)?;
        let (full, batches) = channel::<Vec<Request>>();
        let writer = thread::spawn(move || {
            for batch in batches {
                writer.write(&batch)?;
            }
            Ok(writer)
        });
        let batches = Batches { batch: Vec::with_capacity(BATCH_REQUESTS), full };
        let shared = Shared { started: Instant::now(), batches: Mutex::new(Some(batches)) };
        Ok(ReferenceLog { shared: Arc::new(shared), writer: Mutex::new(Some(writer)) })
    }
}

impl EventLog for ReferenceLog {
    fn sink(&self, stream: u32, base: u64) -> Box<dyn EventSink> {
        Box::new(LogSink { shared: self.shared.clone(), stream, base })
    }

    /// If the trace cannot be written, there is not a file, or the old one is unchanged.
    fn finish(&self, streams: &[String]) -> Result<(), String> {
        let batches = self.shared.batches.lock().expect("the lock is never poisoned").take();
        if let Some(Batches { batch, full }) = batches {
            // A writer that has failed reports its error below.
            let _ = full.send(batch);
        }
        let writer = self.writer.lock().expect("the lock is never poisoned").take();
        let writer = writer.expect("the log is finished once");
        let writer = writer.join().expect("the writer does not panic");
        let mut writer = writer.map_err(|error| error.to_string())?;
        for (number, stream) in streams.iter().enumerate() {
            writer.add_label(&format!("stream {number}"), stream);
        }
        writer.finish().map_err(|error| error.to_string())
    }
}

struct LogSink {
    shared: Arc<Shared>,
    stream: u32,
    base: u64,
}

impl EventSink for LogSink {
    fn event(&mut self, event: Event) {
        let Event::Reference { page, op, .. } = event else { return };
        let mut batches = self.shared.batches.lock().expect("the lock is never poisoned");
        let Some(Batches { batch, full }) = &mut *batches else { return };
        let op = match op {
            clockhand_policy::Op::Read => clockhand_trace::Op::Read,
            clockhand_policy::Op::Write => clockhand_trace::Op::Write,
        };
        let address = self.base + page.index() as u64 * PAGE_BYTES as u64;
        let time_ns = self.shared.started.elapsed().as_nanos() as u64;
        let request = Request::new(op, address, PAGE_BYTES as u32);
        batch.push(Request { stream: self.stream, time_ns: Some(time_ns), ..request });
        if batch.len() == BATCH_REQUESTS {
            let next = Vec::with_capacity(BATCH_REQUESTS);
            // A writer that has failed reports its error when the log is finished.
            let _ = full.send(std::mem::replace(batch, next));
        }
    }
}
