//! Requests to the pager, each over a short connection of its own, so that the program's table of descriptors holds
//! nothing of ours between them except the inherited socket.

use core::ffi::{c_int, c_void};
use core::mem::zeroed;
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use clockhand_pager_protocol::{
    CONNECT, NO_TOKEN, PAGE_BYTES, Packet, Reply, Request, RequestKind, Token, VERSION,
};
use libc::{iovec, msghdr};

use crate::sentence::Sentence;
use crate::system::{self, ErrorNumber, Result};
use crate::{memory, private_copy};

/// The descriptor through which the pager can be reached, or -1.
static INHERITED_SOCKET: AtomicI32 = AtomicI32::new(-1);
/// Its inode, which distinguishes it from anything else that may get its number.
static SOCKET_INODE: AtomicU64 = AtomicU64::new(0);

/// The token by which requests name the program's memory.
static MEMORY: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// Keeps the token of the program's memory. Called by the thread that attaches the program, or its child.
pub fn set_memory(token: Token) {
    for (word, value) in MEMORY.iter().zip(token) {
        word.store(value, Ordering::Relaxed);
    }
}

/// What the environment says about the inherited socket.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum InheritedSocket {
    /// It is there.
    Open,
    /// It has been closed between the pager and this program.
    Closed,
    /// The environment does not describe a socket.
    Unknown,
}

/// Keeps number and inode of the inherited socket, given as `NUMBER:INODE`.
pub fn set_inherited_socket(address: &[u8]) -> InheritedSocket {
    let parsed = core::str::from_utf8(address).ok().and_then(|address| {
        let (number, inode) = address.split_once(':')?;
        Some((number.parse().ok()?, inode.parse().ok()?))
    });
    let Some((number, inode)) = parsed else { return InheritedSocket::Unknown };
    if system::inode_of_socket(number) != Ok(inode) {
        return InheritedSocket::Closed;
    }
    SOCKET_INODE.store(inode, Ordering::Relaxed);
    INHERITED_SOCKET.store(number, Ordering::Release);
    InheritedSocket::Open
}

/// The program goes on without its pager, and may use the number of the inherited socket as it likes.
pub fn forget_inherited_socket() {
    INHERITED_SOCKET.store(-1, Ordering::Release);
}

/// Returns whether this descriptor is the inherited socket, which programs started by this one will need.
#[inline]
pub fn is_inherited_socket(descriptor: c_int) -> bool {
    descriptor >= 0 && descriptor == INHERITED_SOCKET.load(Ordering::Relaxed)
}

/// The number of the inherited socket, or -1.
pub fn inherited_socket() -> c_int {
    INHERITED_SOCKET.load(Ordering::Relaxed)
}

/// Room for one descriptor beside a packet, as the kernel lays it out.
#[repr(C)]
struct ControlMessage {
    length: usize,
    level: c_int,
    kind: c_int,
    descriptor: c_int,
    padding: c_int,
}

impl ControlMessage {
    const LENGTH: usize = 20;

    fn new(descriptor: c_int) -> ControlMessage {
        ControlMessage {
            length: ControlMessage::LENGTH,
            level: libc::SOL_SOCKET,
            kind: libc::SCM_RIGHTS,
            descriptor,
            padding: 0,
        }
    }
}

/// A connection to the pager; closed when dropped.
pub struct Connection {
    socket: c_int,
}

impl Drop for Connection {
    fn drop(&mut self) {
        system::close(self.socket);
    }
}

impl Connection {
    /// Connects: sends one end of a new pair of sockets through the inherited socket.
    pub fn open() -> Result<Connection> {
        let number = INHERITED_SOCKET.load(Ordering::Acquire);
        if system::inode_of_socket(number)? != SOCKET_INODE.load(Ordering::Relaxed) {
            return Err(ErrorNumber(libc::EDESTADDRREQ));
        }
        let [ours, theirs] = system::packet_sockets()?.map(Connection::of_descriptor);
        // It is not this value's to close.
        let inherited_socket = core::mem::ManuallyDrop::new(Connection::of_descriptor(number));
        inherited_socket.send(&[CONNECT], Some(theirs.socket))?;
        Ok(ours)
    }

    /// Of a descriptor that is a connection.
    pub const fn of_descriptor(socket: c_int) -> Connection {
        Connection { socket }
    }

    /// Its descriptor, which is the caller's to close from now on.
    pub fn into_descriptor(self) -> c_int {
        core::mem::ManuallyDrop::new(self).socket
    }

    /// Its descriptor.
    pub fn descriptor(&self) -> c_int {
        self.socket
    }

    /// Sends one packet, with a descriptor or without.
    pub fn send(&self, packet: &[u8], descriptor: Option<c_int>) -> Result<()> {
        let mut control = ControlMessage::new(descriptor.unwrap_or(-1));
        let mut part = iovec { iov_base: packet.as_ptr().cast_mut().cast(), iov_len: packet.len() };
        let mut message = empty_message(&mut part);
        if descriptor.is_some() {
            message.msg_control = (&raw mut control).cast::<c_void>();
            message.msg_controllen = size_of::<ControlMessage>();
        }
        // SAFETY: the message names the packet and the structure above, no more.
        unsafe { system::send(self.socket, &message) }?;
        Ok(())
    }

    /// Receives one packet and the descriptor that may come with it: how many bytes, 0 when the pager has ended.
    pub fn receive(&self, packet: &mut [u8]) -> Result<(usize, Option<c_int>)> {
        let mut control = ControlMessage::new(-1);
        let mut part = iovec { iov_base: packet.as_mut_ptr().cast(), iov_len: packet.len() };
        let mut message = empty_message(&mut part);
        message.msg_control = (&raw mut control).cast::<c_void>();
        message.msg_controllen = size_of::<ControlMessage>();
        // SAFETY: the message names the packet and the structure above, no more.
        let bytes = unsafe { system::receive(self.socket, &mut message) }?;
        let came = message.msg_controllen >= ControlMessage::LENGTH
            && control.level == libc::SOL_SOCKET
            && control.kind == libc::SCM_RIGHTS;
        Ok((bytes, came.then_some(control.descriptor)))
    }

    /// Sends one packet by `write`, which hardly any sandbox refuses. The calling thread has blocked `SIGPIPE`.
    pub fn write(&self, packet: &[u8]) -> Result<()> {
        system::write(self.socket, packet).map(drop)
    }

    /// Receives one packet by `read`, which hardly any sandbox refuses: how many bytes, 0 when the pager has ended.
    pub fn read(&self, packet: &mut [u8]) -> Result<usize> {
        system::read(self.socket, packet)
    }

    /// Receives a reply, whole and of this version.
    pub fn receive_reply(&self) -> Result<(Reply, Option<c_int>)> {
        let mut reply = Reply::ZERO;
        let (bytes, descriptor) = self.receive(reply.as_bytes_mut())?;
        if bytes == 0 {
            return Err(ErrorNumber(libc::ECONNRESET));
        }
        if bytes != size_of::<Reply>() || reply.version != VERSION {
            if let Some(descriptor) = descriptor {
                system::close(descriptor);
            }
            return Err(ErrorNumber(libc::EPROTO));
        }
        Ok((reply, descriptor))
    }
}

/// A message of one part.
fn empty_message(part: &mut iovec) -> msghdr {
    // SAFETY: a structure of numbers and pointers, for which zero is valid.
    let mut message: msghdr = unsafe { zeroed() };
    message.msg_iov = part;
    message.msg_iovlen = 1;
    message
}

/// A request of this process for its memory.
pub fn request(kind: RequestKind) -> Request {
    let [first, second] = &MEMORY;
    let memory = [first.load(Ordering::Relaxed), second.load(Ordering::Relaxed)];
    let mut request = Request { kind: kind as u32, memory, ..Request::ZERO };
    let name = system::thread_name();
    request.name[..name.len()].copy_from_slice(&name);
    request
}

/// A request for a memory that this process has not yet: with a token, for the copy that it names.
pub fn request_to_attach(fork: Option<Token>) -> Request {
    let fork = fork.unwrap_or(NO_TOKEN);
    Request { fork, memory: NO_TOKEN, ..request(RequestKind::Attach) }
}

/// Why the pager did not do what it was asked.
pub fn unreachable(error: ErrorNumber) -> Sentence {
    match error.0 {
        libc::ECONNRESET => Sentence::new(format_args!(
            "the pager did not answer: it has ended, or has no descriptors left (raise `ulimit -n`)"
        )),
        libc::EMFILE => Sentence::new(format_args!(
            "the program has no descriptors left to reach its pager: raise `ulimit -n`"
        )),
        error => Sentence::new(format_args!(
            "the pager cannot be reached (error {error}): start the program with `clockhand run`"
        )),
    }
}

/// Sends a request over a connection and waits for the reply.
pub fn ask_over(
    connection: &Connection,
    request: &Request,
) -> core::result::Result<Reply, Sentence> {
    let answer = || {
        connection.send(request.as_bytes(), None)?;
        let (reply, descriptor) = connection.receive_reply()?;
        if let Some(descriptor) = descriptor {
            system::close(descriptor);
        }
        Ok(reply)
    };
    let reply = answer().map_err(unreachable)?;
    if reply.refused != 0 {
        return Err(Sentence::of_packet(&reply.sentence));
    }
    Ok(reply)
}

/// Has the program's threads let go from the processor that they share with the pager; for good if it `chooses` its own.
pub fn part(chooses: bool) {
    if private_copy::is_in_use() {
        return;
    }
    let request = Request { pages: u64::from(chooses), ..request(RequestKind::Part) };
    // A pager that cannot be reached holds no thread.
    let _ = Connection::open().map(|connection| ask_over(&connection, &request));
}

/// Tells the pager of memory that is not paged. The program is about to end, so that nothing comes of an error.
pub fn tell_unpaged(bytes: usize) {
    let pages = bytes.div_ceil(PAGE_BYTES) as u64;
    let request = Request { pages, ..request(RequestKind::Unpaged) };
    let signals = system::block_signals();
    let _ = Connection::open().map(|connection| ask_over(&connection, &request));
    system::restore_signals(signals);
}

/// Has the contents of pages forgotten: they read as zeros from now on. False if they still are what they were.
pub fn discard(first_page: u32, pages: u32) -> bool {
    if private_copy::is_in_use() {
        let address = memory::start() + first_page as usize * PAGE_BYTES;
        return private_copy::forget(address, pages as usize * PAGE_BYTES);
    }
    is_done(RequestKind::Discard, first_page, pages)
}

/// Has the contents of pages forgotten, which the pager watches no longer, so that something else can be mapped over them:
/// whether it has been done.
pub fn give_away(first_page: u32, pages: u32) -> bool {
    private_copy::is_in_use() || is_done(RequestKind::GiveAway, first_page, pages)
}

/// True if the pager has carried out the request for these pages.
fn is_done(kind: RequestKind, first_page: u32, pages: u32) -> bool {
    let request =
        Request { first_page: u64::from(first_page), pages: u64::from(pages), ..request(kind) };
    // If a signal handler forked now, the child would also wait for the answer.
    let signals = system::block_signals();
    let is_done =
        Connection::open().is_ok_and(|connection| ask_over(&connection, &request).is_ok());
    system::restore_signals(signals);
    is_done
}
