//! Only a program's own process can reach its memory: not another user, and not another process that has seen a token.

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::thread;

use clockhand_pager::store::{CompressedRam, DEFAULT_LEVEL};
use clockhand_pager::{Server, Swap};
use clockhand_pager_protocol::{
    CONNECT, Mapped, NO_TOKEN, PAGE_BYTES, Packet, REFUSED, Reply, Request, RequestKind, Token,
    UNMAPPED, UNPAGED, Unmap,
};

use crate::decisions::settings;
use crate::real_memory::is_refused;

const PAGES: usize = 64;
const FRAMES: u32 = 16;
const NOBODY: libc::uid_t = 65534;

fn check(result: libc::c_long) -> io::Result<RawFd> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as RawFd) }
}

/// A connection as the preloaded library makes it; only system calls, so that a forked child can use it.
struct Connection(OwnedFd);

impl Connection {
    fn through(inherited_socket: RawFd) -> io::Result<Connection> {
        let mut sockets = [-1; 2];
        // SAFETY: the kernel writes two descriptors, which are new.
        let [ours, theirs] = unsafe {
            let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
            check(libc::socketpair(libc::AF_UNIX, kind, 0, sockets.as_mut_ptr()).into())?;
            sockets.map(|socket| OwnedFd::from_raw_fd(socket))
        };
        send(inherited_socket, &[CONNECT], Some(theirs.as_raw_fd()))?;
        Ok(Connection(ours))
    }

    fn ask(&self, request: &Request, descriptor: Option<RawFd>) -> io::Result<Reply> {
        send(self.0.as_raw_fd(), request.as_bytes(), descriptor)?;
        self.reply().map(|(reply, _)| reply)
    }

    fn reply(&self) -> io::Result<(Reply, Option<OwnedFd>)> {
        let mut reply = Reply::ZERO;
        let (bytes, descriptor) = receive(self.0.as_raw_fd(), reply.as_bytes_mut())?;
        if bytes != size_of::<Reply>() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok((reply, descriptor))
    }
}

fn send(socket: RawFd, packet: &[u8], descriptor: Option<RawFd>) -> io::Result<()> {
    let mut control = [0_u64; 3];
    let mut part =
        libc::iovec { iov_base: packet.as_ptr().cast_mut().cast(), iov_len: packet.len() };
    // SAFETY: zero is valid; all pointers are to what lives here.
    unsafe {
        let mut message: libc::msghdr = zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        if let Some(descriptor) = descriptor {
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = size_of_val(&control);
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(4) as usize;
            *libc::CMSG_DATA(header).cast::<RawFd>() = descriptor;
        }
        check(libc::sendmsg(socket, &raw const message, libc::MSG_NOSIGNAL) as libc::c_long)?;
    }
    Ok(())
}

fn receive(socket: RawFd, packet: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut control = [0_u64; 3];
    let mut part = libc::iovec { iov_base: packet.as_mut_ptr().cast(), iov_len: packet.len() };
    // SAFETY: as in `send`.
    unsafe {
        let mut message: libc::msghdr = zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control);
        let bytes = libc::recvmsg(socket, &raw mut message, libc::MSG_CMSG_CLOEXEC);
        check(bytes as libc::c_long)?;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        let descriptor = (!header.is_null())
            .then(|| OwnedFd::from_raw_fd(*libc::CMSG_DATA(header).cast::<RawFd>()));
        Ok((bytes as usize, descriptor))
    }
}

fn userfaultfd() -> OwnedFd {
    // SAFETY: takes no addresses; the descriptor is new.
    unsafe {
        let flags = libc::O_CLOEXEC | libc::O_NONBLOCK;
        let descriptor = check(libc::syscall(libc::SYS_userfaultfd, flags));
        OwnedFd::from_raw_fd(descriptor.expect("this kernel pages"))
    }
}

/// Paged memory of this process, by the protocol. Its first page holds 42, and the others what the test wrote.
struct Program {
    server: Server,
    token: Token,
    memory: *mut u64,
    _userfaultfd: OwnedFd,
}

impl Program {
    fn begin() -> Program {
        let swap = Swap::Ram(CompressedRam::new(DEFAULT_LEVEL, None).expect("there is memory"));
        let bytes = PAGES * PAGE_BYTES;
        let server = Server::start(settings("clock", FRAMES, 0), bytes as u64, swap, None)
            .expect("the settings are right");
        let connection =
            Connection::through(server.inherited_socket().as_raw_fd()).expect("the socket is open");
        let userfaultfd = userfaultfd();
        let attach = Request { kind: RequestKind::Attach as u32, ..Request::ZERO };
        let sent = send(connection.0.as_raw_fd(), attach.as_bytes(), Some(userfaultfd.as_raw_fd()));
        sent.expect("the pager listens");
        let (reply, file) = connection.reply().expect("the pager answers");
        assert_eq!(reply.refused, 0, "{}", String::from_utf8_lossy(&reply.sentence));
        let file = file.expect("a memory file");
        let (rights, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping.
        let memory =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes, rights, flags, file.as_raw_fd(), 0) };
        let mapped = Mapped { address: memory as u64 };
        send(connection.0.as_raw_fd(), mapped.as_bytes(), None).expect("the pager listens");
        connection.reply().expect("the memory is served");
        let base = memory as usize;
        thread::spawn(move || drop_translations(&connection, base));
        let program = Program {
            server,
            token: reply.memory,
            memory: memory.cast(),
            _userfaultfd: userfaultfd,
        };
        (0..PAGES).for_each(|page| program.write(page, 42 + page as u64));
        program
    }

    fn word(&self, page: usize) -> *mut u64 {
        assert!(page < PAGES);
        // SAFETY: the page lies in the mapping.
        unsafe { self.memory.add(page * PAGE_BYTES / 8) }
    }

    fn write(&self, page: usize, value: u64) {
        // SAFETY: memory that only the test uses.
        unsafe { self.word(page).write_volatile(value) }
    }

    /// All pages are as they were written, and can be written: they have not been wiped or frozen.
    fn check(&self) {
        let words = Words(self.memory);
        let (done, is_done) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let words = words;
            for page in 0..PAGES {
                // SAFETY: the page lies in the mapping, and the test waits for this thread.
                unsafe {
                    let word = words.0.add(page * PAGE_BYTES / 8);
                    assert_eq!(word.read_volatile(), 42 + page as u64, "page {page}");
                    word.write_volatile(42 + page as u64);
                }
            }
            done.send(()).expect("the test waits");
        });
        let patience = std::time::Duration::from_secs(20);
        is_done.recv_timeout(patience).expect("pages can be read and written");
    }
}

struct Words(*mut u64);

// SAFETY: memory that the test hands to one thread at a time.
unsafe impl Send for Words {}

/// Does what the helper thread of a program does, until the pager ends.
fn drop_translations(connection: &Connection, base: usize) {
    let mut unmap = Unmap::ZERO;
    while let Ok((bytes, _)) = receive(connection.0.as_raw_fd(), unmap.as_bytes_mut()) {
        if bytes == 0 {
            return;
        }
        for range in &unmap.ranges[..unmap.ranges_used as usize] {
            let (first, pages) = (range.first_page as usize, range.pages as usize);
            let address = (base + first * PAGE_BYTES) as *mut libc::c_void;
            // SAFETY: translations of a shared mapping lose no content.
            unsafe { libc::madvise(address, pages * PAGE_BYTES, libc::MADV_DONTNEED) };
        }
        let _ = send(connection.0.as_raw_fd(), &[UNMAPPED], None);
    }
}

/// The answer to a forked child of this user or another; the child uses nothing but system calls.
fn in_child(user: Option<libc::uid_t>, act: impl FnOnce() -> u64) -> u64 {
    let mut pipe = [-1; 2];
    // SAFETY: the kernel writes two descriptors; the child ends without what the parent wants to do at its end.
    unsafe {
        check(libc::pipe(pipe.as_mut_ptr()).into()).expect("a pipe");
        let child = libc::fork();
        if child == 0 {
            let changed = user.is_none_or(|user| libc::setuid(user) == 0);
            let answer = if changed { act() } else { u64::MAX };
            libc::write(pipe[1], (&raw const answer).cast(), 8);
            libc::_exit(0);
        }
        libc::close(pipe[1]);
        let mut answer = 0_u64;
        assert_eq!(libc::read(pipe[0], (&raw mut answer).cast(), 8), 8, "the child has answered");
        libc::close(pipe[0]);
        libc::waitpid(child, std::ptr::null_mut(), 0);
        answer
    }
}

fn is_root() -> bool {
    // SAFETY: takes nothing.
    let is_root = unsafe { libc::geteuid() } == 0;
    if !is_root {
        eprintln!("SKIPPED: only root can become another user");
    }
    is_root
}

/// Asks for everything that can be asked of a memory, and counts what was not refused.
fn attacks_that_worked(inherited_socket: RawFd, memory: Token) -> u64 {
    let mut worked = 0;
    for kind in [RequestKind::Discard, RequestKind::BeginFork, RequestKind::EndFork] {
        let request = Request { kind: kind as u32, memory, pages: PAGES as u64, ..Request::ZERO };
        let answer = Connection::through(inherited_socket)
            .and_then(|connection| connection.ask(&request, None));
        worked += u64::from(!answer.is_ok_and(|reply| reply.refused == REFUSED));
    }
    worked
}

#[test]
fn nothing_of_a_pager_has_a_name_that_others_could_connect_to() {
    if is_refused() {
        return;
    }
    let program = Program::begin();
    let named = std::fs::read_to_string("/proc/net/unix").expect("a list of sockets");
    let ours = format!("clockhand-pager-{}", std::process::id());
    assert!(!named.contains(&ours), "{named}");
    program.check();
}

#[test]
fn another_user_can_neither_attach_nor_wipe_nor_copy_nor_freeze() {
    if is_refused() || !is_root() {
        return;
    }
    let program = Program::begin();
    let inherited_socket = program.server.inherited_socket().as_raw_fd();
    // Made by the privileged parent, so that nothing but its user stands in the child's way.
    let userfaultfd = userfaultfd();
    let attach = |fork: Token| Request { kind: RequestKind::Attach as u32, fork, ..Request::ZERO };
    let code = in_child(Some(NOBODY), || {
        let connection = Connection::through(inherited_socket);
        let descriptor = Some(userfaultfd.as_raw_fd());
        let answer =
            connection.and_then(|connection| connection.ask(&attach(NO_TOKEN), descriptor));
        answer.map_or(100, |reply| reply.refused.into())
    });
    assert_eq!(code, u64::from(UNPAGED), "an attaching of another user");
    for number in 0..4 {
        // Numbers as they once were, when they could be guessed.
        for guessed in [[number, 0], [0, number]] {
            let worked = in_child(Some(NOBODY), || attacks_that_worked(inherited_socket, guessed));
            assert_eq!(worked, 0, "with the token {guessed:?}");
            let code = in_child(Some(NOBODY), || {
                let connection = Connection::through(inherited_socket);
                let descriptor = Some(userfaultfd.as_raw_fd());
                let answer =
                    connection.and_then(|connection| connection.ask(&attach(guessed), descriptor));
                answer.map_or(100, |reply| reply.refused.into())
            });
            assert_ne!(code, 0, "a copy for {guessed:?}");
        }
    }
    program.check();
}

#[test]
fn a_token_is_of_no_use_to_another_process() {
    if is_refused() {
        return;
    }
    let program = Program::begin();
    let (inherited_socket, token) = (program.server.inherited_socket().as_raw_fd(), program.token);
    assert_eq!(in_child(None, || attacks_that_worked(inherited_socket, token)), 0);
    if is_root() {
        assert_eq!(in_child(Some(NOBODY), || attacks_that_worked(inherited_socket, token)), 0);
    }
    program.check();
}

#[test]
fn a_fork_whose_connection_ends_freezes_nothing_and_leaves_no_copy() {
    if is_refused() {
        return;
    }
    let program = Program::begin();
    let inherited_socket = program.server.inherited_socket().as_raw_fd();
    let begin =
        Request { kind: RequestKind::BeginFork as u32, memory: program.token, ..Request::ZERO };
    for _ in 0..3 {
        let connection = Connection::through(inherited_socket).expect("the socket is open");
        let reply = connection.ask(&begin, None).expect("the pager answers");
        assert_eq!(reply.refused, 0);
        drop(connection);
        program.check();
        let attach =
            Request { kind: RequestKind::Attach as u32, fork: reply.fork, ..Request::ZERO };
        let connection = Connection::through(inherited_socket).expect("the socket is open");
        let userfaultfd = userfaultfd();
        let reply = connection.ask(&attach, Some(userfaultfd.as_raw_fd())).expect("an answer");
        assert_eq!(reply.refused, REFUSED, "the copy went with its connection");
    }
}

#[test]
fn a_copy_that_a_program_gives_back_ends_while_the_connection_is_open() {
    if is_refused() {
        return;
    }
    let program = Program::begin();
    let inherited_socket = program.server.inherited_socket().as_raw_fd();
    let begin =
        Request { kind: RequestKind::BeginFork as u32, memory: program.token, ..Request::ZERO };
    let connection = Connection::through(inherited_socket).expect("the socket is open");
    let copy = connection.ask(&begin, None).expect("the pager answers").fork;
    let end = Request { kind: RequestKind::EndFork as u32, fork: copy, ..begin };
    assert_eq!(connection.ask(&end, None).expect("the pager answers").refused, 0);
    program.check();
    let attach = Request { kind: RequestKind::Attach as u32, fork: copy, ..Request::ZERO };
    let other = Connection::through(inherited_socket).expect("the socket is open");
    let userfaultfd = userfaultfd();
    let reply = other.ask(&attach, Some(userfaultfd.as_raw_fd())).expect("an answer");
    assert_eq!(reply.refused, REFUSED, "a fork that begins again has room for its second copy");
    drop(connection);
}
