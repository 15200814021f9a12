//! Gives memory to programs that ask for it: each process is served by a thread of its own.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use clockhand_pager_protocol::PAGE_BYTES;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen, socket_with,
};

use crate::connection::serve_connection;
use crate::driver::{Command, Control, Progress, Settings};
use crate::paging::InitialPages;
use crate::reference_log::ReferenceLog;
use crate::store::{CompressedRam, Store, StoreError, SwapFile};

/// Where all programs' pages are that are not in memory.
#[derive(Clone, Debug)]
pub enum Swap {
    /// In a file.
    File(SwapFile),
    /// Compressed, in the pager's own memory.
    Ram(CompressedRam),
}

impl Swap {
    pub(crate) fn store(&self) -> Result<Box<dyn Store>, StoreError> {
        Ok(match self {
            Swap::File(file) => Box::new(file.store()?),
            Swap::Ram(ram) => Box::new(ram.store()?),
        })
    }
}

/// A process that has, or had, paged memory.
#[derive(Clone, Debug)]
pub struct PagedProcess {
    /// Its process id.
    pub process: i32,
    /// The name of its program.
    pub name: String,
    /// Whether it began as a private copy of another.
    pub is_fork: bool,
    /// How long it has had its memory, or had it.
    pub lifetime: Duration,
    /// What its pager has counted.
    pub progress: Progress,
}

/// A process with paged memory, as the server knows it.
pub(crate) struct Member {
    pub(crate) process: i32,
    pub(crate) name: String,
    pub(crate) is_fork: bool,
    pub(crate) started: Instant,
    /// `None` as long as it lives.
    pub(crate) lifetime: Option<Duration>,
    pub(crate) control: Control,
}

impl From<&Member> for PagedProcess {
    fn from(member: &Member) -> Self {
        PagedProcess {
            process: member.process,
            name: member.name.clone(),
            is_fork: member.is_fork,
            lifetime: member.lifetime.unwrap_or_else(|| member.started.elapsed()),
            progress: member.control.progress(),
        }
    }
}

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) memory_pages: u32,
    pub(crate) swap: Swap,
    pub(crate) log: Option<ReferenceLog>,
    members: Mutex<Vec<Member>>,
    forks: Mutex<HashMap<u64, InitialPages>>,
    next_fork: AtomicU64,
}

impl Shared {
    fn members(&self) -> MutexGuard<'_, Vec<Member>> {
        self.members.lock().expect("nobody panics with this lock")
    }

    fn forks(&self) -> MutexGuard<'_, HashMap<u64, InitialPages>> {
        self.forks.lock().expect("nobody panics with this lock")
    }

    /// Takes a process up; its memory's number, from 1, in the order of taking up.
    pub(crate) fn join(&self, member: Member) -> u64 {
        let mut members = self.members();
        members.push(member);
        members.len() as u64
    }

    /// The memory with this number has ended.
    pub(crate) fn leave(&self, memory: u64) {
        if let Some(member) = self.members().get_mut(memory as usize - 1) {
            member.lifetime = Some(member.started.elapsed());
        }
    }

    /// How to give commands to the pager of a memory.
    pub(crate) fn control(&self, memory: u64) -> Option<Control> {
        let index = usize::try_from(memory).ok()?.checked_sub(1)?;
        self.members().get(index).map(|member| member.control.clone())
    }

    /// Keeps the copy of a memory until the forked child asks for it; the number by which it does.
    pub(crate) fn keep_for_child(&self, copies: InitialPages) -> u64 {
        let fork = self.next_fork.fetch_add(1, Ordering::Relaxed);
        self.forks().insert(fork, copies);
        fork
    }

    /// The copy of a memory that was kept under this number.
    pub(crate) fn take_copy(&self, fork: u64) -> Option<InitialPages> {
        self.forks().remove(&fork)
    }
}

/// A server of paged memories.
pub struct Server {
    shared: Arc<Shared>,
    address: String,
    stop: Arc<OwnedFd>,
    acceptor: Option<JoinHandle<()>>,
}

/// Distinguishes the servers of one process.
static NEXT_SERVER: AtomicU64 = AtomicU64::new(1);

/// How many packets of programs wait at most to be taken up.
const BACKLOG: i32 = 128;

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
        log: Option<ReferenceLog>,
    ) -> Result<Self, String> {
        settings.check()?;
        let most = u64::from(u32::MAX) / 2 * PAGE_BYTES as u64;
        let memory_pages = (memory_bytes.min(most) / PAGE_BYTES as u64) as u32;
        let number = NEXT_SERVER.fetch_add(1, Ordering::Relaxed);
        let address = format!("clockhand-pager-{}-{number}", std::process::id());
        let listening = |error: io::Error| format!("the pager cannot listen for programs: {error}");
        let listener = listener(&address).map_err(listening)?;
        let stop =
            Arc::new(eventfd(0, EventfdFlags::CLOEXEC).map_err(|error| listening(error.into()))?);
        let shared = Arc::new(Shared {
            settings,
            memory_pages,
            swap,
            log,
            members: Mutex::default(),
            forks: Mutex::default(),
            next_fork: AtomicU64::new(1),
        });
        let acceptor = {
            let (shared, stop) = (shared.clone(), stop.clone());
            thread::spawn(move || accept_programs(&shared, &listener, &stop))
        };
        Ok(Server { shared, address, stop, acceptor: Some(acceptor) })
    }

    /// What a program finds in the variable [`SOCKET_VARIABLE`](clockhand_pager_protocol::SOCKET_VARIABLE).
    pub fn address(&self) -> &str {
        &self.address
    }

    /// All processes that have or had memory, in the order in which they asked for it.
    pub fn processes(&self) -> Vec<PagedProcess> {
        self.shared.members().iter().map(PagedProcess::from).collect()
    }

    /// Takes no more programs, waits until the memories have ended, completes the log, and tells of all processes.
    /// `is_cancelled` is asked now and then: when it says so, the programs that are left are ended.
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
        self.stop_accepting();
        let processes = self.processes();
        if let Some(log) = &self.shared.log {
            let label =
                |process: &PagedProcess| format!("{}, process {}", process.name, process.process);
            let labels: Vec<_> = processes.iter().map(label).collect();
            log.finish(&labels).map_err(|error| error.to_string())?;
        }
        Ok(processes)
    }

    fn stop_members(&self) {
        for member in self.shared.members().iter().filter(|member| member.lifetime.is_none()) {
            // One that has just ended needs no command.
            let _ = member.control.command(Command::Stop);
        }
    }

    fn stop_accepting(&mut self) {
        if let Some(acceptor) = self.acceptor.take() {
            let _ = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
            let _ = acceptor.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop_members();
        self.stop_accepting();
    }
}

fn listener(address: &str) -> io::Result<OwnedFd> {
    let listener =
        socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    bind(&listener, &SocketAddrUnix::new_abstract_name(address.as_bytes())?)?;
    listen(&listener, BACKLOG)?;
    Ok(listener)
}

/// Takes programs up until the server stops.
fn accept_programs(shared: &Arc<Shared>, listener: &OwnedFd, stop: &OwnedFd) {
    loop {
        let mut polled = [listener, stop].map(|descriptor| PollFd::new(descriptor, PollFlags::IN));
        match poll(&mut polled, None) {
            Ok(_) if !polled[1].revents().is_empty() => return,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
        if polled[0].revents().is_empty() {
            continue;
        }
        // A program that has gone before it was taken up is none.
        let Ok(connection) = accept_with(listener.as_fd(), SocketFlags::CLOEXEC) else { continue };
        let shared = shared.clone();
        thread::spawn(move || serve_connection(&shared, connection));
    }
}
