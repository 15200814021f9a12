//! `--record`: what enters the buffer, as a trace that `clockhand ssd` reads.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Instant;

use clockhand_quantity::option;
use clockhand_serve::{Recorded, Recorder, ServeError};
use clockhand_trace::{
    Action, Event, ObjectKind, ObjectNames, Op, OptionalColumns, TraceError, TraceWriter,
    WriteOptions, target_of_path,
};

/// Events that are handed over together.
const BATCH: usize = 4096;

/// A trace that is being written.
pub(super) struct Recording {
    thread: JoinHandle<Result<(), TraceError>>,
}

/// Collects events under the engine's lock, in the order of the sequence.
struct Collector {
    began: Instant,
    batch: Vec<Event>,
    sender: SyncSender<Vec<Event>>,
}

impl Recording {
    /// Begins a trace at `path`, and returns its observer, which sees each request. The trace is whole when that is
    /// dropped.
    ///
    /// # Errors
    ///
    /// A sentence if the file cannot be made.
    pub(super) fn begin(path: &Path, disk: &str) -> Result<(Recording, Recorder), ServeError> {
        let failed = |error: &dyn std::fmt::Display| {
            ServeError::Failed((option("record") + format!(": {error}")).into())
        };
        let target = target_of_path(path).ok().filter(|target| target.holds_events());
        let target = target.ok_or_else(|| {
            ServeError::usage(
                option("record")
                    + format!(" {}: a trace of this kind holds no syncs", path.display()),
                "give a name that ends in .parquet",
            )
        })?;
        let options = WriteOptions { target, widen: false, labels: Vec::new() };
        let writer = TraceWriter::create(path, &options, OptionalColumns::EVENTS)
            .map_err(|error| failed(&error))?;
        let (sender, receiver) = sync_channel(64);
        let name = disk.to_owned();
        let thread = std::thread::Builder::new()
            .name("serve-record".to_owned())
            .spawn(move || write(writer, &receiver, name))
            .map_err(|error| failed(&error))?;
        let mut collector = Collector { began: Instant::now(), batch: Vec::new(), sender };
        Ok((Recording { thread }, Box::new(move |recorded| collector.take(recorded))))
    }

    /// The trace is whole.
    ///
    /// # Errors
    ///
    /// A sentence if it could not be written.
    pub(super) fn finish(self) -> Result<(), ServeError> {
        let written = self.thread.join().expect("the recording does not panic");
        written
            .map_err(|error| ServeError::Failed((option("record") + format!(": {error}")).into()))
    }
}

impl Collector {
    fn take(&mut self, recorded: Recorded) {
        let action = match recorded {
            Recorded::Read(address, bytes) => Action::Memory { op: Op::Read, address, bytes },
            Recorded::Write(address, bytes) => Action::Memory { op: Op::Write, address, bytes },
            Recorded::ForcedWrite(address, bytes) => Action::ForcedWrite { address, bytes },
            Recorded::Sync => Action::SyncAll,
            Recorded::Discard(address, bytes) => Action::Discard { address, bytes },
        };
        let time_ns = Some(self.began.elapsed().as_nanos() as u64);
        self.batch.push(Event { object: 0, time_ns, action });
        if self.batch.len() == BATCH {
            // A writer that has failed says so at the end.
            let _ = self.sender.send(std::mem::take(&mut self.batch));
        }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.sender.send(std::mem::take(&mut self.batch));
    }
}

fn write(
    mut writer: TraceWriter,
    batches: &Receiver<Vec<Event>>,
    disk: String,
) -> Result<(), TraceError> {
    let (names, kinds) = ([disk], [ObjectKind::File]);
    for batch in batches {
        writer.write_events(&batch, ObjectNames { names: &names, kinds: &kinds })?;
    }
    writer.finish().map(drop)
}
