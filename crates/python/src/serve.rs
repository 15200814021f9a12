//! `serve`: an NBD server whose write buffer is that of `ssd`; Python waits for signals and shows what it does.

mod record;

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use clockhand_quantity::{Text, option};
use clockhand_serve::latency::{BUCKETS_US, Timed};
use clockhand_serve::{Options, Place, Report, ServeError, Server, Teller, TlsFiles};
use clockhand_sim::ServeRow;
use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};
use serde::{Deserialize, Serialize};

use crate::errors::{failure, usage_error};
use record::Recording;

fn exception(error: ServeError) -> PyErr {
    match error {
        ServeError::Usage(sentence) => usage_error(sentence),
        ServeError::Failed(sentence) => failure(sentence),
    }
}

/// The options of the command, by their names.
#[derive(Deserialize)]
struct Given {
    disk: PathBuf,
    size_bytes: Option<u64>,
    nvm: Option<PathBuf>,
    buffer: String,
    socket: Option<PathBuf>,
    listen: Option<String>,
    private: Option<PathBuf>,
    inherited: Option<i32>,
    export: String,
    read_only: bool,
    connections: NonZeroU32,
    allowed_users: Vec<u32>,
    tls_certificate: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    tls_clients: Option<PathBuf>,
    direct: bool,
    keep: bool,
    adopt: bool,
    salvage: bool,
    record: Option<PathBuf>,
}

impl Given {
    fn options(self) -> Result<(Options, Option<PathBuf>), ServeError> {
        let mut places = [
            self.socket.map(Place::Socket),
            self.listen.map(Place::Address),
            self.private.map(Place::Socket),
            self.inherited.map(Place::Inherited),
        ]
        .into_iter()
        .flatten();
        let place = match (places.next(), places.next()) {
            (Some(place), None) => place,
            _ => {
                return Err(ServeError::usage(
                    Text::from("give one of ")
                        + option("socket")
                        + " PATH, "
                        + option("listen")
                        + " ADDRESS:PORT and -- CMD...",
                    "",
                ));
            }
        };
        let tls = match (self.tls_certificate, self.tls_key) {
            (Some(certificate), Some(key)) => {
                Some(TlsFiles { certificate, key, clients: self.tls_clients })
            }
            (None, None) if self.tls_clients.is_none() => None,
            _ => {
                return Err(ServeError::usage(
                    Text::from("TLS needs both ")
                        + option("tls-certificate")
                        + " FILE and "
                        + option("tls-key")
                        + " FILE",
                    "",
                ));
            }
        };
        let options = Options {
            disk: self.disk,
            size: self.size_bytes,
            nvm: self.nvm,
            buffer: self.buffer,
            place,
            export: self.export,
            read_only: self.read_only,
            connections: self.connections,
            allowed_users: self.allowed_users,
            tls,
            direct: self.direct,
            keep: self.keep,
            adopt: self.adopt,
            salvage: self.salvage,
        };
        Ok((options, self.record))
    }
}

/// The gauges of a server at a moment, besides its row.
#[derive(Serialize)]
struct Gauges {
    dram_pages_used: u32,
    nvm_pages_used: u32,
    dirty_pages: u32,
    held_pages: u64,
    free_slots: Option<u64>,
    open_connections: u64,
    degraded: bool,
}

/// The times of one command: upper bounds in microseconds with the requests up to them, all, and their sum.
#[derive(Serialize)]
struct TimesOf {
    command: &'static str,
    buckets: Vec<(u64, u64)>,
    count: u64,
    sum_seconds: f64,
}

/// A server that runs until it is finished.
#[pyclass(frozen)]
pub(crate) struct BlockServer {
    server: Mutex<Option<(Server, Option<Recording>)>>,
    uri: String,
    notes: Arc<Mutex<Vec<String>>>,
    hurry: Arc<AtomicBool>,
    disk: String,
    buffer: String,
}

#[pymethods]
impl BlockServer {
    /// Opens the files, recovers, and listens.
    #[staticmethod]
    fn start(py: Python<'_>, options: &Bound<'_, PyAny>) -> PyResult<Self> {
        let given: Given = depythonize(options)?;
        let (disk, buffer) = (given.disk.display().to_string(), given.buffer.clone());
        let (options, record) = given.options().map_err(exception)?;
        let notes = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&notes);
        let teller: Teller = Arc::new(move |sentence: &str| {
            heard.lock().unwrap_or_else(PoisonError::into_inner).push(sentence.to_owned());
        });
        let start = || {
            let (recording, recorder) = match record {
                Some(path) => {
                    let (recording, recorder) = Recording::begin(&path, &disk)?;
                    (Some(recording), Some(recorder))
                }
                None => (None, None),
            };
            let server = Server::start(&options, recorder, teller)?;
            Ok((server, recording))
        };
        let (server, recording) = py.detach(start).map_err(exception)?;
        let uri = server.uri().to_owned();
        let hurry = server.hurry();
        let server = Mutex::new(Some((server, recording)));
        Ok(BlockServer { server, uri, notes, hurry, disk, buffer })
    }

    /// How clients name it.
    #[getter]
    fn uri(&self) -> &str {
        &self.uri
    }

    /// Sentences since this was last asked.
    fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The row so far, what it has at this moment, and its times; none after the end.
    fn figures<'py>(&self, py: Python<'py>, latest: bool) -> PyResult<Option<Bound<'py, PyAny>>> {
        let taken = py.detach(|| {
            let server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
            server.as_ref().map(|(server, _)| {
                let mut report = server.report();
                if latest {
                    report.latencies = server.take_latest();
                }
                report
            })
        });
        let Some(report) = taken else { return Ok(None) };
        let figures = (self.row(&report), gauges(&report), times(&report));
        Ok(Some(pythonize(py, &figures)?))
    }

    /// Ends as if pages were to stay in NVM, if a drain is under way.
    fn hurry(&self) {
        self.hurry.store(true, Ordering::SeqCst);
    }

    /// Answers what entered, brings every page to the disk and closes; the row, and why it did not end well.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let ended = py.detach(|| {
            let taken = self.server.lock().unwrap_or_else(PoisonError::into_inner).take();
            taken.map(|(server, recording)| {
                let mut ended = server.finish();
                let recorded = recording.map_or(Ok(()), Recording::finish);
                if let Err(error) = recorded {
                    ended.failure.get_or_insert(error.to_string());
                }
                ended
            })
        });
        let Some(ended) = ended else { return Ok(None) };
        Ok(Some(pythonize(py, &(self.row(&ended.report), ended.failure))?))
    }
}

impl BlockServer {
    fn row(&self, report: &Report) -> ServeRow {
        let counts = &report.counts;
        let references = counts.read_references + counts.write_references;
        let hits = counts.read_hits + counts.write_hits;
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let quantile = |timed, share| report.latencies.of(timed).quantile_us(share);
        ServeRow {
            disk: self.disk.clone(),
            buffer: self.buffer.clone(),
            buffer_pages: report.buffer_pages,
            references,
            read_hits: counts.read_hits,
            write_hits: counts.write_hits,
            dirty_pages_flushed: counts.dirty_pages_flushed,
            clean_pages_flushed: counts.clean_pages_flushed,
            batches: counts.batches,
            nvm_writes: counts.nvm_writes,
            residual_dirty: report.occupancy.dirty_pages.into(),
            host_writes: counts.dirty_pages_flushed + counts.clean_pages_flushed,
            read_references: counts.read_references,
            write_references: counts.write_references,
            hit_ratio: share(hits, references).unwrap_or(0.0),
            write_hit_ratio: share(counts.write_hits, counts.write_references),
            nvm_hits: counts.nvm_hits,
            padding_reads: counts.padding_reads,
            migrations: counts.migrations,
            dram_pages: report.capacity.dram_pages,
            nvm_pages: report.capacity.nvm_pages,
            page_bytes: 4096,
            buffer_resolved: report.buffer_resolved.clone(),
            seconds: report.seconds,
            connections: report.connections,
            read_requests: counts.read_requests,
            write_requests: counts.write_requests,
            forced_writes: counts.forced_writes,
            flushes: counts.flushes,
            trims: counts.trims,
            zeroes: counts.zeroes,
            read_bytes: counts.read_bytes,
            written_bytes: counts.written_bytes,
            trimmed_pages: counts.trimmed_pages,
            fill_reads: counts.fill_reads,
            disk_pages_read: report.store.disk_pages_read,
            disk_pages_written: report.store.disk_pages_written,
            disk_syncs: report.store.disk_syncs,
            nvm_syncs: report.store.nvm_syncs,
            nvm_bytes_written: report.nvm_bytes_written,
            read_us_p50: quantile(Timed::Read, 0.5),
            read_us_p99: quantile(Timed::Read, 0.99),
            write_us_p50: quantile(Timed::Write, 0.5),
            write_us_p99: quantile(Timed::Write, 0.99),
            flush_us_p50: quantile(Timed::Flush, 0.5),
            flush_us_p99: quantile(Timed::Flush, 0.99),
            errors: counts.errors,
            recovered_pages: report.recovered.pages,
            torn_versions: report.recovered.torn_versions,
            damaged_pages: report.recovered.damaged_pages,
        }
    }
}

fn gauges(report: &Report) -> Gauges {
    Gauges {
        dram_pages_used: report.occupancy.dram_pages,
        nvm_pages_used: report.occupancy.nvm_pages,
        dirty_pages: report.occupancy.dirty_pages,
        held_pages: report.held_pages,
        free_slots: report.free_slots,
        open_connections: report.open_connections,
        degraded: report.is_degraded,
    }
}

fn times(report: &Report) -> Vec<TimesOf> {
    Timed::ALL
        .into_iter()
        .map(|timed| {
            let times = report.latencies.of(timed);
            TimesOf {
                command: timed.name(),
                buckets: BUCKETS_US
                    .into_iter()
                    .map(|bound_us| (bound_us, times.count_up_to_us(bound_us)))
                    .collect(),
                count: times.count(),
                sum_seconds: times.sum().as_secs_f64(),
            }
        })
        .collect()
}
