//! A pager with memory for everything: it never evicts a page, but drops translations at random whenever the program has
//! got the last ones back, so that it faults as under a real one. Read-only pages become writable by a fault of their own, and a fork copies the
//! memory while it is frozen.

mod memory;
mod socket;
mod userfaultfd;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::mem::zeroed;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use clockhand_pager_protocol::{
    CONNECT, Mapped, NO_TOKEN, PAGE_BYTES, Packet, PageRange, Reply, Request, RequestKind,
    SOCKET_VARIABLE, Token, UNMAP_RANGES, UNMAPPED, UNPAGED, Unmap,
};

use self::memory::{ProgramMemory, memory_file};
use self::socket::Socket;

/// The result of a C library call.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// May this process handle faults that the kernel has on a program's behalf? If not, why.
pub fn refusal() -> Option<String> {
    // SAFETY: takes no addresses.
    let descriptor = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC) };
    if descriptor < 0 {
        return Some(format!("userfaultfd: {}", io::Error::last_os_error()));
    }
    // SAFETY: just opened, and not used by anything else.
    drop(unsafe { OwnedFd::from_raw_fd(descriptor as RawFd) });
    None
}

/// What a test can see and decide.
#[derive(Default)]
pub struct Behaviour {
    /// The pager refuses forks with this sentence.
    pub refuse_forks: Option<&'static str>,
    /// Each program gets this signal while the pager copies its memory for a child.
    pub signal_in_forks: Option<libc::c_int>,
    /// The pager refuses programs with this sentence.
    pub refuse_programs: Option<&'static str>,
    /// The pager says with this sentence that programs run without it.
    pub leave_programs: Option<&'static str>,
}

/// What has happened so far.
#[derive(Default)]
pub struct Counts {
    /// Programs and forked children that got memory.
    pub attached: AtomicUsize,
    /// Of these, forked children.
    pub forked: AtomicUsize,
    /// Copies for children that were begun.
    pub copies: AtomicUsize,
    /// Pages whose translation was to be dropped.
    pub unmapped_pages: AtomicUsize,
    /// Requests to forget pages.
    pub discards: AtomicUsize,
    /// Requests to give pages away.
    pub given_away: AtomicUsize,
    /// Bytes in the memory file of the largest program, from time to time.
    pub largest_bytes: AtomicU64,
}

/// The content of a memory, and which pages of it were given away.
type Copied = (File, Vec<Range<u64>>);

struct Shared {
    memory_bytes: usize,
    behaviour: Behaviour,
    counts: Counts,
    memories: Mutex<HashMap<Token, Arc<ProgramMemory>>>,
    copies: Mutex<HashMap<Token, Copied>>,
    next_number: AtomicU64,
    ended: AtomicBool,
}

impl Shared {
    fn next_token(&self) -> Token {
        [self.next_number.fetch_add(1, Ordering::Relaxed), 0]
    }
}

/// The pager, on threads of this process.
pub struct TestPager {
    /// What programs inherit.
    inherited_socket: Option<OwnedFd>,
    shared: Arc<Shared>,
}

impl TestPager {
    /// Starts to serve programs that inherit its socket.
    pub fn start(memory_bytes: usize, behaviour: Behaviour) -> TestPager {
        let [inner, outer] = pair_of_sockets();
        let mut pager = TestPager::behind(inner, memory_bytes, behaviour);
        pager.inherited_socket = Some(outer);
        pager
    }

    /// Starts to serve programs that connect through the other side of this socket.
    pub fn behind(inner: OwnedFd, memory_bytes: usize, behaviour: Behaviour) -> TestPager {
        let shared = Arc::new(Shared {
            memory_bytes,
            behaviour,
            counts: Counts::default(),
            memories: Mutex::default(),
            copies: Mutex::default(),
            next_number: AtomicU64::new(1),
            ended: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || accept(&Socket(inner), &accepting));
        TestPager { inherited_socket: None, shared }
    }

    /// Lets a program that is to be started inherit the socket.
    pub fn give_door(&self, command: &mut Command) {
        give(command, self.inherited_socket.as_ref().expect("the socket is open"));
    }

    /// What has happened so far.
    pub fn counts(&self) -> &Counts {
        &self.shared.counts
    }
}

impl Drop for TestPager {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
    }
}

/// Two sockets of packets, each the other's peer.
pub fn pair_of_sockets() -> [OwnedFd; 2] {
    let mut sockets = [-1; 2];
    // SAFETY: the kernel writes two descriptors, which are new.
    unsafe {
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
        check(libc::socketpair(libc::AF_UNIX, kind, 0, sockets.as_mut_ptr())).expect("two sockets");
        sockets.map(|socket| OwnedFd::from_raw_fd(socket))
    }
}

/// Lets a program that is to be started inherit a socket, and tells it where it is. The socket must be open until then.
pub fn give(command: &mut Command, inherited_socket: &OwnedFd) {
    let number = inherited_socket.as_raw_fd();
    // SAFETY: zero is valid for the structure, which the kernel fills.
    let status = unsafe {
        let mut status: libc::stat = zeroed();
        check(libc::fstat(number, &mut status)).expect("the socket is open");
        status
    };
    command.env(SOCKET_VARIABLE, format!("{number}:{}", status.st_ino));
    // SAFETY: only system calls are made between fork and exec.
    unsafe {
        command.pre_exec(move || check(libc::fcntl(number, libc::F_SETFD, 0)).map(drop));
    }
}

fn accept(inner: &Socket, shared: &Arc<Shared>) {
    while !shared.ended.load(Ordering::Relaxed) {
        let mut poll = libc::pollfd { fd: inner.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure, which lives here.
        if unsafe { libc::poll(&mut poll, 1, 20) } != 1 {
            continue;
        }
        let mut packet = [0];
        let (bytes, connection) = inner.receive(&mut packet).expect("the socket is open");
        if bytes == 0 {
            return;
        }
        let socket = Socket(connection.expect("a connection comes with the packet"));
        assert_eq!(packet, [CONNECT]);
        let shared = Arc::clone(shared);
        thread::spawn(move || {
            // A program that ends while it is served is not an error of the pager.
            let _ = answer(&socket, &shared);
        });
    }
}

/// Serves one connection, to its end.
fn answer(socket: &Socket, shared: &Shared) -> io::Result<()> {
    let mut request = Request::ZERO;
    let (_, descriptor) = socket.receive(request.as_bytes_mut())?;
    let memory = shared.memories.lock().unwrap().get(&request.memory).cloned();
    let mut reply = Reply::ZERO;
    match (request.kind, memory) {
        (kind, _) if kind == RequestKind::Attach as u32 => {
            return attach(socket, shared, &request, descriptor);
        }
        (kind, Some(memory)) if kind == RequestKind::Discard as u32 => {
            memory.discard(request.first_page, request.pages);
            shared.counts.discards.fetch_add(1, Ordering::Relaxed);
        }
        (kind, Some(memory)) if kind == RequestKind::GiveAway as u32 => {
            memory.give_away(request.first_page, request.pages);
            shared.counts.given_away.fetch_add(1, Ordering::Relaxed);
        }
        (kind, Some(memory)) if kind == RequestKind::BeginFork as u32 => {
            if let Some(sentence) = shared.behaviour.refuse_forks {
                refuse(&mut reply, sentence);
            } else {
                reply.fork = shared.next_token();
                let given_away = memory.given_away.lock().unwrap().clone();
                let copy = (memory.freeze(), given_away);
                shared.copies.lock().unwrap().insert(reply.fork, copy);
                shared.counts.copies.fetch_add(1, Ordering::Relaxed);
                if let Some(signal) = shared.behaviour.signal_in_forks {
                    send_signal(socket, signal)?;
                }
                socket.reply(&reply, None)?;
                let ended = socket.receive(request.as_bytes_mut());
                memory.thaw();
                ended?;
                assert_eq!(request.kind, RequestKind::EndFork as u32);
                reply = Reply::ZERO;
            }
        }
        (kind, _) => panic!("test pager: request {kind} for no memory"),
    }
    socket.reply(&reply, None)
}

/// Sends a signal to the program that opened the connection.
fn send_signal(socket: &Socket, signal: libc::c_int) -> io::Result<()> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut bytes = size_of::<libc::ucred>() as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
    // SAFETY: the kernel writes one structure, which lives here.
    unsafe {
        let descriptor = socket.0.as_raw_fd();
        check(libc::getsockopt(descriptor, level, option, (&raw mut peer).cast(), &mut bytes))?;
        assert_ne!(peer.pid, libc::getpid(), "the program opens its connections itself");
        check(libc::kill(peer.pid, signal)).map(drop)
    }
}

fn refuse(reply: &mut Reply, sentence: &str) {
    reply.refused = 1;
    reply.sentence[..sentence.len()].copy_from_slice(sentence.as_bytes());
}

fn attach(
    socket: &Socket,
    shared: &Shared,
    request: &Request,
    userfaultfd: Option<OwnedFd>,
) -> io::Result<()> {
    let mut reply = Reply::ZERO;
    if let Some(sentence) = shared.behaviour.refuse_programs {
        refuse(&mut reply, sentence);
        return socket.reply(&reply, None);
    }
    if let Some(sentence) = shared.behaviour.leave_programs {
        refuse(&mut reply, sentence);
        reply.refused = UNPAGED;
        return socket.reply(&reply, None);
    }
    let userfaultfd = userfaultfd.expect("a userfaultfd, as this process has one");
    let (file, given_away) = match request.fork {
        NO_TOKEN => (memory_file(shared.memory_bytes), Vec::new()),
        fork => shared.copies.lock().unwrap().remove(&fork).expect("a copy for the child"),
    };
    reply.memory = shared.next_token();
    reply.memory_bytes = shared.memory_bytes as u64;
    socket.reply(&reply, Some(file.as_raw_fd()))?;
    let mut mapped = Mapped::ZERO;
    socket.receive(mapped.as_bytes_mut())?;
    let memory = Arc::new(ProgramMemory {
        file,
        userfaultfd,
        address: mapped.address,
        bytes: shared.memory_bytes,
        given_away: Mutex::new(given_away),
        freeze: Mutex::default(),
        thawed: Condvar::new(),
        faults: AtomicU64::new(0),
        ended: AtomicBool::new(false),
    });
    memory.register()?;
    shared.memories.lock().unwrap().insert(reply.memory, Arc::clone(&memory));
    shared.counts.attached.fetch_add(1, Ordering::Relaxed);
    shared.counts.forked.fetch_add(usize::from(request.fork != NO_TOKEN), Ordering::Relaxed);
    let serving = Arc::clone(&memory);
    let server = thread::spawn(move || {
        // Otherwise the program would wait forever.
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| serving.serve())).is_err() {
            std::process::abort();
        }
    });
    socket.reply(&reply, None)?;

    let result = unmap_at_random(
        socket,
        shared,
        &memory,
        (mapped.address / PAGE_BYTES as u64) ^ reply.memory[0],
    );
    memory.ended.store(true, Ordering::Relaxed);
    server.join().expect("faults are served");
    shared.memories.lock().unwrap().remove(&reply.memory);
    result
}

/// Has translations dropped until the program has ended.
fn unmap_at_random(
    socket: &Socket,
    shared: &Shared,
    memory: &ProgramMemory,
    seed: u64,
) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let mut state = seed | 1;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let pages = (memory.bytes / PAGE_BYTES) as u64;
    loop {
        let bytes = memory.file.metadata()?.blocks() * 512;
        shared.counts.largest_bytes.fetch_max(bytes, Ordering::Relaxed);
        let mut unmap = Unmap::ZERO;
        unmap.ranges_used = (random() % UNMAP_RANGES as u64 + 1) as u32;
        for range in &mut unmap.ranges[..unmap.ranges_used as usize] {
            // Half of them in the low part, where the heap lies.
            let low = random() % 2 == 0;
            let first = random() % if low { pages.min(8192) } else { pages };
            let most = 1 + random() % if low { 4 } else { 64 };
            *range = PageRange { first_page: first as u32, pages: most.min(pages - first) as u32 };
        }
        let given_away = memory.given_away.lock().unwrap();
        for range in &mut unmap.ranges[..unmap.ranges_used as usize] {
            let start = u64::from(range.first_page);
            let end = start + u64::from(range.pages);
            if given_away.iter().any(|given| start < given.end && given.start < end) {
                range.pages = 0;
            }
        }
        socket.send(unmap.used_bytes(), None)?;
        let mut answer = [0];
        let (bytes, _) = socket.receive(&mut answer)?;
        drop(given_away);
        if bytes == 0 {
            return Ok(());
        }
        assert_eq!(answer[0], UNMAPPED, "the answer to Unmap");
        let unmapped = unmap.ranges[..unmap.ranges_used as usize].iter().map(|range| range.pages);
        shared.counts.unmapped_pages.fetch_add(unmapped.sum::<u32>() as usize, Ordering::Relaxed);
        memory.let_settle();
    }
}
