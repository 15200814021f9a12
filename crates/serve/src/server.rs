//! The server: sockets, connections, and an orderly end.

mod accepting;
mod connection;
mod core;
mod durability;
mod ending;
mod options;
mod outbox;
mod payloads;
mod reads;
mod sockets;
#[cfg(test)]
mod tests;
mod tls;

use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};

use self::accepting::{Accepting, Sockets};
pub use self::core::Teller;
use self::core::{Core, FileEngine};
use self::ending::end;
pub use self::options::{Ended, Options, Report};
use self::options::{check, open_files, pages_of, resolved_text, tell_recovered};
use self::sockets::Listener;
pub use self::sockets::Place;
use self::tls::Tls;
pub use self::tls::TlsFiles;
use crate::buffer::{ServedBuffer, build};
use crate::files::{self, Opened, PAGE_BYTES, Recovered};
use crate::latency::Latencies;
use crate::protocol::negotiation::Offer;
use crate::store::Store;
use crate::{Engine, Recorder, ServeError};

/// A server that runs.
pub struct Server {
    core: Arc<Core>,
    listener: Arc<Listener>,
    uri: String,
    stop: Arc<std::os::fd::OwnedFd>,
    accepting: Option<JoinHandle<()>>,
    committing: Option<JoinHandle<()>>,
    writing: Option<JoinHandle<()>>,
    reading: Option<JoinHandle<()>>,
    sockets: Sockets,
    recovered: Recovered,
    began: Instant,
    keep: bool,
    read_only: bool,
    about: About,
}

/// What does not change.
struct About {
    buffer_resolved: String,
    buffer_pages: u32,
    disk_bytes: u64,
    /// They are given up when the server has ended.
    _locks: Vec<files::Lock>,
}

impl Server {
    /// Opens the files, recovers, and listens. `recorder` gets every request that enters, and is dropped at the end.
    ///
    /// # Errors
    ///
    /// A sentence; then nothing listens.
    pub fn start(
        options: &Options,
        recorder: Option<Recorder>,
        teller: Teller,
    ) -> Result<Server, ServeError> {
        let buffer = ServedBuffer::parse(&options.buffer)?;
        check(options, &buffer)?;
        let tls = options.tls.as_ref().map(Tls::new).transpose()?;
        let opened = open_files(options, &buffer)?;
        let Opened { disk, disk_bytes, nvm, image, recovered, locks } = opened;
        let resolved = buffer.resolve(pages_of(disk_bytes)?)?;
        let failed = |error: std::io::Error| ServeError::Failed(error.to_string().into());
        let disk_syncer = disk.syncer().map_err(failed)?;
        let nvm_syncer = match &nvm {
            Some((nvm, ..)) => Some(nvm.syncer().map_err(failed)?),
            None => None,
        };
        let (nvm, lost) = match nvm {
            Some((nvm, header, lost)) => (Some((nvm, header)), lost),
            None => (None, Vec::new()),
        };
        let page_bytes = PAGE_BYTES as usize;
        let disk = Arc::new(disk);
        let mut store =
            Store::with_lost_pages(Arc::clone(&disk), disk_bytes, page_bytes, nvm, &lost);
        if let Some(image) = &image {
            store.take_image(image);
        }
        store.write_behind();
        let mut engine = Engine::new(build(&resolved), store);
        if options.read_only {
            let pages = image.iter().flat_map(|image| &image.pages);
            engine.serve_reads_only(pages.map(|found| found.page));
        }
        if let Some(recorder) = recorder {
            engine.record(recorder);
        }
        tell_recovered(&teller, options, recovered);
        let about = About {
            buffer_resolved: resolved_text(&resolved.to_string(), &buffer),
            buffer_pages: buffer.pages(),
            disk_bytes,
            _locks: locks,
        };
        let core = Core::new(engine, disk, disk_syncer, nvm_syncer, teller);
        Self::listen(options, core, tls, about, recovered)
    }

    fn listen(
        options: &Options,
        core: Core,
        tls: Option<Tls>,
        about: About,
        recovered: Recovered,
    ) -> Result<Server, ServeError> {
        let failed = |error: std::io::Error| ServeError::Failed(error.to_string().into());
        let listener =
            Arc::new(Listener::new(&options.place, &options.allowed_users, tls.is_some())?);
        let uri = listener.uri(&options.export, tls.is_some());
        let core = Arc::new(core);
        if listener.is_tcp() && tls.is_none() {
            (core.teller)(&format!("every user of this machine can reach {uri}"));
        }
        let stop = eventfd(0, EventfdFlags::CLOEXEC)
            .map_err(|error| failed(error.into()))
            .map(Arc::new)?;
        let sockets = Sockets::default();
        let accepting = Accepting {
            core: Arc::clone(&core),
            listener: Arc::clone(&listener),
            stop: Arc::clone(&stop),
            sockets: Arc::clone(&sockets),
            most: options.connections.get(),
            offer: Offer {
                export: options.export.clone(),
                bytes: about.disk_bytes,
                page_bytes: PAGE_BYTES,
                is_read_only: options.read_only,
                needs_tls: tls.is_some(),
            },
            tls,
        };
        let spawn = |name: &str, body: Box<dyn FnOnce() + Send>| {
            std::thread::Builder::new().name(name.to_owned()).spawn(body).map_err(failed)
        };
        let writes = Arc::clone(&core);
        let writing = spawn("serve-writes", Box::new(move || writes.write_behind()))?;
        let commits = Arc::clone(&core);
        let committing = spawn("serve-commits", Box::new(move || commits.commit()))?;
        let reads = Arc::clone(&core);
        let reading = match core.reads {
            Some(_) => Some(spawn("serve-reads", Box::new(move || reads.run_reads()))?),
            None => None,
        };
        let accepting = spawn("serve-accepts", Box::new(move || accepting.run()))?;
        Ok(Server {
            core,
            listener,
            uri,
            stop,
            accepting: Some(accepting),
            committing: Some(committing),
            writing: Some(writing),
            reading,
            sockets,
            recovered,
            began: Instant::now(),
            keep: options.keep,
            read_only: options.read_only,
            about,
        })
    }

    /// How clients name it.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// What it has done so far.
    pub fn report(&self) -> Report {
        let latencies = self.core.latencies();
        let engine = self.core.engine();
        self.report_of(&engine, latencies)
    }

    /// The times of the requests since this was last asked.
    pub fn take_latest(&self) -> Latencies {
        self.core.take_latest()
    }

    fn report_of(&self, engine: &FileEngine, latencies: Latencies) -> Report {
        Report {
            counts: engine.counts(),
            store: engine.store().counts(),
            nvm_bytes_written: engine.store().nvm_bytes_written(),
            recovered: self.recovered,
            seconds: self.began.elapsed().as_secs_f64(),
            connections: self.core.connections.load(Ordering::Relaxed),
            open_connections: self.core.open_connections.load(Ordering::Relaxed),
            latencies,
            capacity: engine.buffer().capacity(),
            occupancy: engine.buffer().occupancy(),
            held_pages: engine.store().held_count() as u64,
            free_slots: engine.store().free_slots().map(|slots| slots as u64),
            is_degraded: engine.is_degraded(),
            buffer_resolved: self.about.buffer_resolved.clone(),
            buffer_pages: self.about.buffer_pages,
            disk_bytes: self.about.disk_bytes,
        }
    }

    /// When it is set, a drain that is under way ends as if pages were to stay in NVM.
    pub fn hurry(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.core.is_hurried)
    }

    /// Refuses new requests, answers those that entered, brings every page to the disk, and closes. What it did.
    pub fn finish(mut self) -> Ended {
        self.core.begin_to_end();
        // Earlier requests have their places among those who wait.
        drop(self.core.engine());
        self.core.end_commits();
        let _ = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
        let committed = self.committing.take().map_or(Ok(()), JoinHandle::join);
        self.core.end_writes();
        let written = self.writing.take().map_or(Ok(()), JoinHandle::join);
        let failed = committed.and(written).err();
        let mut failure = failed.map(|_| "a thread of the server failed".to_owned());
        if !self.read_only {
            let ended = end(&self.core, self.keep);
            failure = failure.or(ended.err());
        }
        self.listener.remove();
        let _ = self.accepting.take().map(JoinHandle::join);
        self.core.tell_notes();
        self.close_connections();
        self.core.end_reads();
        if self.core.open_connections.load(Ordering::SeqCst) == 0 {
            let _ = self.reading.take().map(JoinHandle::join);
        }
        let report = self.report();
        self.core.engine().stop_recording();
        Ended { report, failure }
    }

    /// Clients have a moment to hear that their requests are refused.
    fn close_connections(&self) {
        let close = |how| {
            let sockets = self.sockets.lock().unwrap_or_else(PoisonError::into_inner);
            sockets.values().for_each(|socket| drop(socket.shutdown(how)));
        };
        close(Shutdown::Read);
        let began = Instant::now();
        while self.core.open_connections.load(Ordering::SeqCst) > 0 {
            if began.elapsed() > Duration::from_secs(1) {
                close(Shutdown::Both);
            }
            if began.elapsed() > Duration::from_secs(5) {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}
