//! Gives memory to programs that ask for it: each process is served by a thread of its own.

mod shared;

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use clockhand_pager_protocol::PAGE_BYTES;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::process::geteuid;

pub use self::shared::PagedProcess;
pub(crate) use self::shared::{Member, Shared};
use crate::connection::serve_connection;
use crate::control::Command;
use crate::device_reads::DeviceReads;
use crate::inherited_socket::InheritedSocket;
use crate::pace::{Interrupts, Watchdog};
use crate::parts::EventSink;
use crate::settings::Settings;
use crate::store::{CompressedRam, EmulatedDevice, Store, StoreError, SwapFile};
use crate::unpaged::Unpaged;

/// The store of all programs' pages that are not in memory.
#[derive(Clone, Debug)]
pub enum Swap {
    /// In a file.
    File(SwapFile),
    /// Compressed, in the pager's own memory.
    Ram(CompressedRam),
    /// In RAM, with the times of a device.
    Emulated(CompressedRam, EmulatedDevice),
}

impl Swap {
    pub(crate) fn store(&self) -> Result<Box<dyn Store>, StoreError> {
        Ok(match self {
            Swap::File(file) => Box::new(file.store()?),
            Swap::Ram(ram) => Box::new(ram.store()?),
            Swap::Emulated(ram, device) => Box::new(device.store(Box::new(ram.store()?))),
        })
    }

    /// Those of the drive, if there is one.
    pub(crate) fn interrupts(&self) -> Option<Interrupts> {
        match self {
            Swap::File(file) => file.interrupts(),
            Swap::Ram(_) | Swap::Emulated(..) => None,
        }
    }
}

/// Keeps the events of several memories, each as a stream of its own.
pub trait EventLog: Send + Sync {
    /// An event sink for the pager of a memory, which becomes `stream` and begins at the address `base`.
    fn sink(&self, stream: u32, base: u64) -> Box<dyn EventSink>;

    /// Completes the log, with a label for each stream.
    ///
    /// # Errors
    ///
    /// If the log cannot be written: a sentence that says why.
    fn finish(&self, streams: &[String]) -> Result<(), String>;
}

/// A server of paged memories.
pub struct Server {
    shared: Arc<Shared>,
    inherited_socket: Arc<InheritedSocket>,
    stop: Arc<OwnedFd>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Begins to serve. Every process gets `memory_bytes` of address space and `settings.frames` frames.
    ///
    /// # Errors
    ///
    /// If the settings cannot page (a sentence that says what to do), or there is no socket.
    pub fn start(
        settings: Settings,
        memory_bytes: u64,
        swap: Swap,
        log: Option<Box<dyn EventLog>>,
    ) -> Result<Self, String> {
        settings.check()?;
        let most = u64::from(u32::MAX) / 2 * PAGE_BYTES as u64;
        let memory_pages = (memory_bytes.min(most) / PAGE_BYTES as u64) as u32;
        let listening = |error| format!("the pager cannot listen for programs: {error}");
        let inherited_socket = Arc::new(InheritedSocket::new().map_err(listening)?);
        let stop = eventfd(0, EventfdFlags::CLOEXEC).map_err(|error| listening(error.into()))?;
        let stop = Arc::new(stop);
        let shared = Arc::new(Shared {
            settings,
            memory_pages,
            swap,
            log,
            user: geteuid().as_raw(),
            unpaged: Unpaged::default(),
            members: Mutex::default(),
            forks: Mutex::default(),
        });
        let acceptor = {
            let (shared, inherited_socket, stop) =
                (shared.clone(), inherited_socket.clone(), stop.clone());
            thread::spawn(move || accept_programs(&shared, &inherited_socket, &stop))
        };
        let watcher = {
            let (shared, stop) = (shared.clone(), stop.clone());
            thread::spawn(move || watch_programs(&shared, &stop))
        };
        Ok(Server { shared, inherited_socket, stop, threads: vec![acceptor, watcher] })
    }

    /// The descriptor that programs must inherit under the same number. It is close-on-exec until that is changed in the
    /// process that is to become the program.
    pub fn inherited_socket(&self) -> BorrowedFd<'_> {
        self.inherited_socket.outer()
    }

    /// What a program finds in the variable [`SOCKET_VARIABLE`](clockhand_pager_protocol::SOCKET_VARIABLE).
    pub fn address(&self) -> &str {
        self.inherited_socket.address()
    }

    /// All processes that have or had memory, in the order they asked for it.
    pub fn processes(&self) -> Vec<PagedProcess> {
        self.shared.members().iter().map(PagedProcess::from).collect()
    }

    /// Accepts no more programs, waits until the memories have ended, completes the log, and describes all processes.
    /// `is_cancelled` is called now and then: when it returns true, the programs that are left are ended.
    ///
    /// # Errors
    ///
    /// If the log cannot be written.
    pub fn finish(
        mut self,
        is_cancelled: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<PagedProcess>, String> {
        while self.shared.members().iter().any(|member| member.lifetime.is_none()) {
            if is_cancelled() {
                self.stop_members();
            }
            thread::sleep(Duration::from_millis(5));
        }
        self.stop_threads();
        self.shared.unpaged.tell_of_memory();
        let processes = self.processes();
        if let Some(log) = &self.shared.log {
            let label =
                |process: &PagedProcess| format!("{}, process {}", process.name, process.process);
            let labels: Vec<_> = processes.iter().map(label).collect();
            log.finish(&labels)?;
        }
        Ok(processes)
    }

    fn stop_members(&self) {
        for member in self.shared.members().iter().filter(|member| member.lifetime.is_none()) {
            // A memory that has just ended needs no command.
            let _ = member.control.command(Command::Stop);
        }
    }

    fn stop_threads(&mut self) {
        let _ = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop_members();
        self.stop_threads();
    }
}

/// Accepts programs until the server stops.
fn accept_programs(shared: &Arc<Shared>, inherited_socket: &InheritedSocket, stop: &OwnedFd) {
    loop {
        let inner = PollFd::from_borrowed_fd(inherited_socket.inner(), PollFlags::IN);
        let mut polled = [inner, PollFd::new(stop, PollFlags::IN)];
        match poll(&mut polled, None) {
            Ok(_) if !polled[1].revents().is_empty() => return,
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
        }
        // Ignored: a process that does not connect as a program does, and one that ended before it was accepted.
        let Ok(peer) = inherited_socket.peer() else { continue };
        let shared = shared.clone();
        thread::spawn(move || serve_connection(&shared, &peer));
    }
}

/// The least pause between two looks at the programs, also as a multiple of a look's duration.
const LOOK_EVERY: Duration = Duration::from_millis(100);
const PAUSE_PER_LOOK: u32 = 200;

/// Watches the programs until the server stops.
fn watch_programs(shared: &Shared, stop: &OwnedFd) {
    let mut watchdog = Watchdog::default();
    let mut device_reads = DeviceReads::default();
    loop {
        let began = Instant::now();
        shared.tell_of_long_waits(&mut watchdog);
        shared.tell_of_device_reads(&mut device_reads);
        shared.look_for_unpaged();
        let pause = LOOK_EVERY.max(began.elapsed() * PAUSE_PER_LOOK);
        let pause =
            Timespec { tv_sec: pause.as_secs() as i64, tv_nsec: pause.subsec_nanos().into() };
        match poll(&mut [PollFd::new(stop, PollFlags::IN)], Some(&pause)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            _ => return,
        }
    }
}
