//! A pager with memory for everything: it never evicts a page, but drops translations at random whenever the program has
//! got the last ones back, so that it faults as under a real one. Read-only pages become writable by a fault of their own, and a fork copies the
//! memory while it is frozen.

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
use std::time::Duration;

use clockhand_pager_protocol::{
    CONNECT, Mapped, NO_TOKEN, PAGE_BYTES, Packet, PageRange, Reply, Request, RequestKind,
    SOCKET_VARIABLE, Token, UNMAP_RANGES, UNMAPPED, UNPAGED, Unmap,
};

/// `linux/userfaultfd.h`, as far as it is needed.
mod userfaultfd {
    pub const API: u64 = 0xAA;
    pub const UFFDIO_API: libc::c_ulong = 0xC018_AA3F;
    pub const UFFDIO_REGISTER: libc::c_ulong = 0xC020_AA00;
    pub const UFFDIO_UNREGISTER: libc::c_ulong = 0x8010_AA01;
    pub const UFFDIO_WAKE: libc::c_ulong = 0x8010_AA02;
    pub const UFFDIO_WRITEPROTECT: libc::c_ulong = 0xC018_AA06;
    pub const UFFDIO_CONTINUE: libc::c_ulong = 0xC020_AA07;
    pub const FEATURE_PAGEFAULT_FLAG_WP: u64 = 1;
    pub const FEATURE_MISSING_SHMEM: u64 = 1 << 5;
    pub const FEATURE_MINOR_SHMEM: u64 = 1 << 10;
    pub const FEATURE_WP_HUGETLBFS_SHMEM: u64 = 1 << 12;
    pub const REGISTER_MISSING: u64 = 1;
    pub const REGISTER_WP: u64 = 2;
    pub const REGISTER_MINOR: u64 = 4;
    pub const WRITEPROTECT_MODE_WP: u64 = 1;
    pub const CONTINUE_MODE_WP: u64 = 2;
    pub const EVENT_PAGEFAULT: u8 = 0x12;
    pub const FLAG_WRITE: u64 = 1;
    pub const FLAG_WP: u64 = 2;

    #[repr(C)]
    pub struct Message {
        pub event: u8,
        pub reserved: [u8; 7],
        pub flags: u64,
        pub address: u64,
        pub thread: u64,
    }
}

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

/// A connected socket.
struct Socket(OwnedFd);

impl Socket {
    fn send(&self, packet: &[u8], descriptor: Option<RawFd>) -> io::Result<()> {
        let mut control = [0_u64; 3];
        let mut part =
            libc::iovec { iov_base: packet.as_ptr().cast_mut().cast(), iov_len: packet.len() };
        // SAFETY: zero is valid; all pointers are to what lives here.
        unsafe {
            let mut message: libc::msghdr = zeroed();
            message.msg_iov = &mut part;
            message.msg_iovlen = 1;
            if let Some(descriptor) = descriptor {
                message.msg_control = control.as_mut_ptr().cast();
                message.msg_controllen = size_of_val(&control);
                let header = libc::CMSG_FIRSTHDR(&message);
                (*header).cmsg_level = libc::SOL_SOCKET;
                (*header).cmsg_type = libc::SCM_RIGHTS;
                (*header).cmsg_len = libc::CMSG_LEN(4) as usize;
                *libc::CMSG_DATA(header).cast::<RawFd>() = descriptor;
            }
            let sent = libc::sendmsg(self.0.as_raw_fd(), &message, libc::MSG_NOSIGNAL);
            check(sent as libc::c_int)?;
        }
        Ok(())
    }

    fn receive(&self, packet: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
        let mut control = [0_u64; 3];
        let mut part = libc::iovec { iov_base: packet.as_mut_ptr().cast(), iov_len: packet.len() };
        // SAFETY: as in `send`.
        unsafe {
            let mut message: libc::msghdr = zeroed();
            message.msg_iov = &mut part;
            message.msg_iovlen = 1;
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = size_of_val(&control);
            let bytes = libc::recvmsg(self.0.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC);
            check(bytes as libc::c_int)?;
            let header = libc::CMSG_FIRSTHDR(&message);
            let descriptor = (!header.is_null())
                .then(|| OwnedFd::from_raw_fd(*libc::CMSG_DATA(header).cast::<RawFd>()));
            Ok((bytes as usize, descriptor))
        }
    }

    fn reply(&self, reply: &Reply, descriptor: Option<RawFd>) -> io::Result<()> {
        self.send(reply.as_bytes(), descriptor)
    }
}

/// Holds up faults while the memory is frozen.
#[derive(Default)]
struct Freeze {
    frozen: bool,
    /// Addresses of pages that wait to be written.
    waiting: Vec<u64>,
}

/// The memory of one program.
struct ProgramMemory {
    file: File,
    userfaultfd: OwnedFd,
    address: u64,
    bytes: usize,
    /// Pages over which the program has mapped something else. Held while translations are dropped.
    given_away: Mutex<Vec<Range<u64>>>,
    freeze: Mutex<Freeze>,
    thawed: Condvar,
    /// The number of faults that have been served.
    faults: AtomicU64,
    ended: AtomicBool,
}

/// A program that faults less often has got back the pages that it uses.
const FAULTS_OF_THE_SETTLED: u64 = 4;

/// For how many milliseconds a program that does not settle, because it fills new pages, is left alone.
const MOST_LEFT_ALONE: usize = 50;

impl ProgramMemory {
    /// Waits until the program seldom faults. If its translations were dropped faster than it can fault for them, it would
    /// do nothing else.
    fn let_settle(&self) {
        for _ in 0..MOST_LEFT_ALONE {
            let before = self.faults.load(Ordering::Relaxed);
            thread::sleep(Duration::from_millis(1));
            if self.faults.load(Ordering::Relaxed) - before < FAULTS_OF_THE_SETTLED {
                return;
            }
        }
    }

    fn control<T>(&self, number: libc::c_ulong, argument: &mut T) -> io::Result<()> {
        loop {
            // SAFETY: each number goes with its structure, below.
            let result =
                unsafe { libc::ioctl(self.userfaultfd.as_raw_fd(), number, &raw mut *argument) };
            match check(result) {
                Ok(_) => return Ok(()),
                // A page table has just gone, because all of its translations have been dropped.
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => thread::yield_now(),
                Err(error) => return Err(error),
            }
        }
    }

    fn register(&self) -> io::Result<()> {
        let features = userfaultfd::FEATURE_PAGEFAULT_FLAG_WP
            | userfaultfd::FEATURE_MISSING_SHMEM
            | userfaultfd::FEATURE_MINOR_SHMEM
            | userfaultfd::FEATURE_WP_HUGETLBFS_SHMEM;
        self.control(userfaultfd::UFFDIO_API, &mut [userfaultfd::API, features, 0])?;
        let modes =
            userfaultfd::REGISTER_MISSING | userfaultfd::REGISTER_MINOR | userfaultfd::REGISTER_WP;
        for pages in self.watched() {
            let [address, bytes] = self.addresses_of(&pages);
            self.control(userfaultfd::UFFDIO_REGISTER, &mut [address, bytes, modes, 0])?;
        }
        Ok(())
    }

    /// The pages that were not given away, as ranges.
    fn watched(&self) -> Vec<Range<u64>> {
        let given_away = self.given_away.lock().unwrap();
        let is_given = |page: &u64| given_away.iter().any(|range| range.contains(page));
        let watched: Vec<_> =
            (0..(self.bytes / PAGE_BYTES) as u64).filter(|page| !is_given(page)).collect();
        let rows = watched.chunk_by(|page, next| page + 1 == *next);
        rows.map(|row| row[0]..row[row.len() - 1] + 1).collect()
    }

    fn addresses_of(&self, pages: &Range<u64>) -> [u64; 2] {
        let page_bytes = PAGE_BYTES as u64;
        [self.address + pages.start * page_bytes, (pages.end - pages.start) * page_bytes]
    }

    /// Forgets pages and watches them no longer.
    fn give_away(&self, first_page: u64, pages: u64) {
        self.discard(first_page, pages);
        let mut given_away = self.given_away.lock().unwrap();
        let mut range = self.addresses_of(&(first_page..first_page + pages));
        self.control(userfaultfd::UFFDIO_UNREGISTER, &mut range).expect("they are watched");
        given_away.push(first_page..first_page + pages);
    }

    /// Maps the page, which is in the file; that it is there already is not an error.
    fn map(&self, page_address: u64, read_only: bool) {
        let mode = if read_only { userfaultfd::CONTINUE_MODE_WP } else { 0 };
        let mut argument = [page_address, PAGE_BYTES as u64, mode, 0];
        match self.control(userfaultfd::UFFDIO_CONTINUE, &mut argument) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EEXIST) => {
                let mut range = [page_address, PAGE_BYTES as u64];
                let _ = self.control(userfaultfd::UFFDIO_WAKE, &mut range);
            }
            // The program has ended.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            Err(error) => panic!("test pager: UFFDIO_CONTINUE at {page_address:#x}: {error}"),
        }
    }

    fn protect(&self, address: u64, bytes: usize, read_only: bool) {
        let mode = if read_only { userfaultfd::WRITEPROTECT_MODE_WP } else { 0 };
        let mut argument = [address, bytes as u64, mode];
        match self.control(userfaultfd::UFFDIO_WRITEPROTECT, &mut argument) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            // The page's translation has just been dropped: the program's next try says so.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
            Err(error) => panic!("test pager: UFFDIO_WRITEPROTECT: {error}"),
        }
    }

    fn make_writable(&self, page_address: u64) {
        self.map(page_address, false);
        self.protect(page_address, PAGE_BYTES, false);
    }

    /// Brings the page into the file, of zeros if it has never been there.
    fn bring(&self, page_address: u64) {
        let offset = (page_address - self.address) as libc::off_t;
        // SAFETY: takes no addresses.
        let allocated =
            unsafe { libc::fallocate(self.file.as_raw_fd(), 0, offset, PAGE_BYTES as libc::off_t) };
        check(allocated).expect("the test pager has no memory");
    }

    /// Serves faults until the program has ended.
    fn serve(&self) {
        while !self.ended.load(Ordering::Relaxed) {
            let mut poll =
                libc::pollfd { fd: self.userfaultfd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one structure, which lives here.
            unsafe { libc::poll(&mut poll, 1, 20) };
            // SAFETY: zero is valid for a message.
            let mut message: userfaultfd::Message = unsafe { zeroed() };
            let size = size_of::<userfaultfd::Message>();
            // SAFETY: the kernel writes one whole message, or nothing.
            let read = unsafe {
                libc::read(self.userfaultfd.as_raw_fd(), (&raw mut message).cast(), size)
            };
            if read == size as isize && message.event == userfaultfd::EVENT_PAGEFAULT {
                self.fault(message.address & !(PAGE_BYTES as u64 - 1), message.flags);
                self.faults.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn fault(&self, page_address: u64, flags: u64) {
        let mut freeze = self.freeze.lock().unwrap();
        self.bring(page_address);
        if flags & (userfaultfd::FLAG_WRITE | userfaultfd::FLAG_WP) == 0 {
            self.map(page_address, true);
        } else if freeze.frozen {
            freeze.waiting.push(page_address);
        } else {
            self.make_writable(page_address);
        }
    }

    /// No page changes until [`ProgramMemory::thaw`]; a copy of all of them.
    fn freeze(&self) -> File {
        let mut freeze = self.freeze.lock().unwrap();
        while freeze.frozen {
            freeze = self.thawed.wait(freeze).unwrap();
        }
        freeze.frozen = true;
        for pages in self.watched() {
            let [address, bytes] = self.addresses_of(&pages);
            self.protect(address, bytes as usize, true);
        }
        let copy = memory_file(self.bytes);
        copy_data(&self.file, &copy);
        copy
    }

    fn thaw(&self) {
        let mut freeze = self.freeze.lock().unwrap();
        freeze.frozen = false;
        for page_address in std::mem::take(&mut freeze.waiting) {
            self.make_writable(page_address);
        }
        self.thawed.notify_all();
    }

    /// Makes holes in the file: the next access of the program finds no page.
    fn discard(&self, first_page: u64, pages: u64) {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let page_bytes = PAGE_BYTES as u64;
        let (offset, bytes) = (first_page * page_bytes, pages * page_bytes);
        let _freeze = self.freeze.lock().unwrap();
        // SAFETY: takes no addresses.
        let punched =
            unsafe { libc::fallocate(self.file.as_raw_fd(), mode, offset as i64, bytes as i64) };
        check(punched).expect("a memory file can have holes");
    }
}

/// An empty memory file.
fn memory_file(bytes: usize) -> File {
    // SAFETY: the name ends with a zero byte; the descriptor is new.
    let file = unsafe {
        let descriptor = libc::memfd_create(c"test pager".as_ptr(), libc::MFD_CLOEXEC);
        File::from_raw_fd(check(descriptor).expect("a memory file"))
    };
    file.set_len(bytes as u64).expect("a memory file of that size");
    file
}

/// The parts of a file that are not holes.
fn copy_data(from: &File, to: &File) {
    use std::os::unix::fs::FileExt;
    let seek = |offset: i64, whence| {
        // SAFETY: takes no addresses.
        unsafe { libc::lseek(from.as_raw_fd(), offset, whence) }
    };
    let mut end = 0;
    loop {
        let start = seek(end, libc::SEEK_DATA);
        if start < 0 {
            return;
        }
        end = seek(start, libc::SEEK_HOLE);
        let mut data = vec![0; (end - start) as usize];
        from.read_exact_at(&mut data, start as u64).expect("data of a memory file");
        to.write_all_at(&data, start as u64).expect("room in a memory file");
    }
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
