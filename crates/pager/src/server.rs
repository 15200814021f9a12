//! Gives memory to programs that ask for it: each process is served by a thread of its own.

use std::collections::HashMap;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use clockhand_pager_protocol::{PAGE_BYTES, Token};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::process::geteuid;

use crate::anonymous::anonymous_bytes;
use crate::connection::serve_connection;
use crate::device_reads::{DeviceReads, Means, sentence};
use crate::driver::{Bits, Command, Control, ForkCopy, Progress, Settings};
use crate::inherited_socket::{InheritedSocket, random_token};
use crate::interrupts::Interrupts;
use crate::parts::EventSink;
use crate::store::{CompressedRam, EmulatedDevice, Store, StoreError, SwapFile};
use crate::unpaged::Unpaged;
use crate::watchdog::Watchdog;

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

/// A process that has, or had, paged memory.
#[derive(Clone, Debug)]
pub struct PagedProcess {
    /// Its process id.
    pub process: i32,
    /// The name of its program.
    pub name: String,
    /// True if it began as a private copy of another.
    pub is_fork: bool,
    /// The origin of its read and write bits: mapped, if the kernel does not let its page map be read.
    pub bits: Bits,
    /// The time for which it has had its memory.
    pub lifetime: Duration,
    /// Its pager's counts.
    pub progress: Progress,
    /// A sentence without its subject: how devices may have written into its memory unseen, so that pages may have been
    /// lost. `None` if nothing was noticed.
    pub device_reads: Option<String>,
    /// The most anonymous, unpaged memory that was seen: stacks, data, small mappings, and memory that was reserved
    /// without rights and committed later.
    pub unpaged_bytes: u64,
}

/// A process with paged memory, as the server knows it.
pub(crate) struct Member {
    /// The only process whose requests for the memory are accepted, by the process id that the kernel reports.
    pub(crate) process: i32,
    /// The token by which the process names the memory.
    pub(crate) token: Token,
    pub(crate) name: String,
    pub(crate) is_fork: bool,
    pub(crate) bits: Bits,
    pub(crate) started: Instant,
    /// `None` while it lives.
    pub(crate) lifetime: Option<Duration>,
    pub(crate) control: Control,
    pub(crate) device_reads: Vec<Means>,
    pub(crate) unpaged_bytes: u64,
}

impl From<&Member> for PagedProcess {
    fn from(member: &Member) -> Self {
        PagedProcess {
            process: member.process,
            name: member.name.clone(),
            is_fork: member.is_fork,
            bits: member.bits,
            lifetime: member.lifetime.unwrap_or_else(|| member.started.elapsed()),
            progress: member.control.progress(),
            device_reads: (!member.device_reads.is_empty()).then(|| sentence(&member.device_reads)),
            unpaged_bytes: member.unpaged_bytes,
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

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) memory_pages: u32,
    pub(crate) swap: Swap,
    pub(crate) log: Option<Box<dyn EventLog>>,
    /// The user whose programs are paged: the pager's own.
    pub(crate) user: u32,
    pub(crate) unpaged: Unpaged,
    members: Mutex<Vec<Member>>,
    forks: Mutex<HashMap<Token, ForkCopy>>,
}

impl Shared {
    fn members(&self) -> MutexGuard<'_, Vec<Member>> {
        self.members.lock().expect("the lock is never poisoned")
    }

    fn forks(&self) -> MutexGuard<'_, HashMap<Token, ForkCopy>> {
        self.forks.lock().expect("the lock is never poisoned")
    }

    /// Adds a process; returns its memory's number, counted from 0 in the order of joining.
    pub(crate) fn join(&self, member: Member) -> usize {
        let mut members = self.members();
        members.push(member);
        members.len() - 1
    }

    /// The memory with this number has ended.
    pub(crate) fn leave(&self, memory: usize) {
        if let Some(member) = self.members().get_mut(memory) {
            member.lifetime = Some(member.started.elapsed());
            self.unpaged.has_ended(member.process);
        }
    }

    /// The control of a memory's pager, if the memory is this process's own.
    pub(crate) fn control(&self, memory: Token, process: i32) -> Option<Control> {
        let members = self.members();
        let is_meant = |member: &&Member| member.token == memory && member.process == process;
        members.iter().find(is_meant).map(|member| member.control.clone())
    }

    /// Reports on standard error which of the living processes have waited for long, and for what.
    fn tell_of_long_waits(&self, watchdog: &mut Watchdog) {
        let members = self.members();
        let living = members.iter().enumerate().filter(|(_, member)| member.lifetime.is_none());
        for (memory, member) in living {
            let activity = member.control.activity();
            if let Some(said) = watchdog.look(memory, activity, member.process, &member.name) {
                eprintln!("clockhand: {said}");
            }
        }
    }

    /// Reports on standard error into which of the living processes' memory a device may write unseen.
    fn tell_of_device_reads(&self, device_reads: &mut DeviceReads) {
        let what_to_look_at = |(memory, member): (usize, &Member)| {
            let (evictions, known) = (member.control.evictions(), member.device_reads.clone());
            member.lifetime.is_none().then_some((memory, evictions, member.process, known))
        };
        // Looking takes long if a process has many descriptors, and the lock is needed for others to join.
        let living: Vec<_> =
            self.members().iter().enumerate().filter_map(what_to_look_at).collect();
        for (memory, evictions, process, known) in living {
            let seen = device_reads.look(memory, evictions, process, &known);
            if !seen.is_empty() {
                let member = &mut self.members()[memory];
                eprintln!("clockhand: {} (process {process}) {}", member.name, sentence(&seen));
                member.device_reads.extend(seen);
            }
        }
    }

    /// Reports on standard error which processes have gone on as programs that are not paged.
    fn tell_of_unpaged(&self) {
        self.unpaged.tell_of_replaced(|process| {
            let is_it = |member: &Member| member.process == process && member.lifetime.is_none();
            self.members().iter().any(is_it)
        });
    }

    /// Looks how much memory of the living processes is not paged.
    fn look_for_unpaged(&self) {
        let living = |(memory, member): (usize, &Member)| {
            member.lifetime.is_none().then_some((memory, member.process))
        };
        let living: Vec<_> = self.members().iter().enumerate().filter_map(living).collect();
        for (memory, process) in living {
            let Some(bytes) = anonymous_bytes(process) else { continue };
            let member = &mut self.members()[memory];
            // Another program may run in the process by now.
            if member.lifetime.is_none() {
                member.unpaged_bytes = member.unpaged_bytes.max(bytes);
            }
        }
    }

    /// Keeps in mind how much memory of a process is not paged.
    pub(crate) fn note_unpaged(&self, memory: Token, bytes: u64) {
        for member in self.members().iter_mut().filter(|member| member.token == memory) {
            member.unpaged_bytes = member.unpaged_bytes.max(bytes);
        }
    }

    /// Keeps the copy of a memory until the forked child asks for it with the token that this returns.
    pub(crate) fn keep_for_child(&self, copies: ForkCopy) -> Token {
        let fork = random_token();
        self.forks().insert(fork, copies);
        fork
    }

    /// Returns whether a copy is kept under this token.
    pub(crate) fn has_copy(&self, fork: Token) -> bool {
        self.forks().contains_key(&fork)
    }

    /// The copy of a memory that was kept under this token.
    pub(crate) fn take_copy(&self, fork: Token) -> Option<ForkCopy> {
        self.forks().remove(&fork)
    }

    /// Releases the copy of a memory that no child has asked for.
    pub(crate) fn forget_copy(&self, fork: Token) {
        let Some(copies) = self.take_copy(fork) else { return };
        // Without a store the slots stay in use until the end.
        let Ok(mut store) = self.swap.store() else { return };
        copies.pages.into_iter().for_each(|(_, slot)| store.release(slot));
    }
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
        shared.tell_of_unpaged();
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
