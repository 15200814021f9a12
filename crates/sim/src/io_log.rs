//! The I/O of one cell as a trace of its own: every page that is read from or written to a device, in order.
//!
//! A page is a request of one page. Its address is its place among the pages of the trace in the order of their
//! addresses, so that neighbours stay neighbours and the log fits on a device as large as the footprint.

use std::path::Path;

use clockhand_quantity::option;
use clockhand_trace::{
    Op, OptionalColumns, Request, TraceWriter, WriteOptions, find_target, target_of_path,
};

use crate::error::SimError;

/// Requests that go to the file together.
const BATCH_REQUESTS: usize = 1 << 12;

/// The endings that mean a log of fio.
const OF_FIO: &str = "iolog";

/// A log that is being written; what is dropped before [`IoLog::finish`] leaves no file.
pub(crate) struct IoLog {
    writer: TraceWriter,
    batch: Vec<Request>,
    devices: Vec<String>,
    page_bytes: u32,
    /// The first failure; nothing is written after it.
    written: Result<(), SimError>,
}

impl IoLog {
    /// Begins a log at `path`, in the format that its ending means, of pages on these devices.
    ///
    /// # Errors
    ///
    /// The ending means no format, or nothing can be written there.
    pub(crate) fn create(
        path: &str,
        page_bytes: u64,
        devices: &[&str],
        has_times: bool,
    ) -> Result<Self, SimError> {
        let path = Path::new(path);
        let of_path = target_of_path(path).map_err(|_| {
            let problem = format!(" {} has no ending that tells a format to write", path.display());
            SimError::usage(option("io-log") + problem, "give .iolog for fio, or .parquet")
        })?;
        // Version 3 of fio's log has times; without any, fio would wait for what is not there.
        let is_untimed_fio = of_path.name().contains(OF_FIO) && !has_times;
        let target = if is_untimed_fio { find_target("fio-iolog-v2")? } else { of_path };
        let options = WriteOptions { target, widen: false, labels: Vec::new() };
        let columns = OptionalColumns { times: has_times, ..OptionalColumns::default() };
        Ok(IoLog {
            writer: TraceWriter::create(path, &options, columns)?,
            batch: Vec::with_capacity(BATCH_REQUESTS),
            devices: devices.iter().map(|&device| device.to_owned()).collect(),
            page_bytes: u32::try_from(page_bytes).map_err(|_| {
                SimError::usage(option("io-log") + " has pages below 4 GiB", "give smaller pages")
            })?,
            written: Ok(()),
        })
    }

    /// A page is read or written, of one of the devices.
    pub(crate) fn page(&mut self, op: Op, device: u32, place: u32, time_ns: Option<u64>) {
        let address = u64::from(place) * u64::from(self.page_bytes);
        let request = Request::new(op, address, self.page_bytes).in_stream(device);
        self.batch.push(Request { time_ns, ..request });
        if self.batch.len() == BATCH_REQUESTS {
            self.write();
        }
    }

    fn write(&mut self) {
        if self.written.is_ok() {
            self.written = self.writer.write(&self.batch, &self.devices).map_err(SimError::from);
        }
        self.batch.clear();
    }

    /// Completes the file and puts it at its path.
    ///
    /// # Errors
    ///
    /// The disk has refused something, or the format cannot hold it.
    pub(crate) fn finish(mut self) -> Result<(), SimError> {
        self.write();
        self.written?;
        self.writer.finish()?;
        Ok(())
    }
}

/// Refuses a log of several cells, which one file would mix.
///
/// # Errors
///
/// There are several traces, memory sizes or contenders.
pub(crate) fn check_one_cell(
    is_wanted: bool,
    counts: [(&'static str, usize); 3],
) -> Result<(), SimError> {
    match counts.into_iter().find(|(_, count)| is_wanted && *count > 1) {
        Some((what, count)) => Err(SimError::usage(
            option("io-log") + format!(" is of one run and there are {count} {what}"),
            "give one of each",
        )),
        None => Ok(()),
    }
}
