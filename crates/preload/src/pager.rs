//! Requests to the pager, each over a short connection of its own, so that the program's table of descriptors holds
//! nothing of ours between them.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::zeroed;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use clockhand_pager_protocol::{Packet, Reply, Request, RequestKind, VERSION};
use libc::{iovec, msghdr, sockaddr_un};

use crate::sentence::Sentence;
use crate::system::{self, ErrorNumber, Result};

/// Where the pager listens, kept because the program may change its environment.
struct PagerAddress {
    /// 0 until it is known.
    name_bytes: AtomicUsize,
    address: UnsafeCell<sockaddr_un>,
}

// SAFETY: the address is written once, by the thread that attaches the program, before `name_bytes` says that it is
// there.
unsafe impl Sync for PagerAddress {}

static PAGER_ADDRESS: PagerAddress = PagerAddress {
    name_bytes: AtomicUsize::new(0),
    address: UnsafeCell::new(sockaddr_un {
        sun_family: libc::AF_UNIX as libc::sa_family_t,
        sun_path: [0; 108],
    }),
};

/// By which number requests name the program's memory; 0 before there is one.
pub static MEMORY: AtomicU64 = AtomicU64::new(0);

/// Keeps the pager's address; false if it is empty or too long for one.
pub fn set_address(name: &[u8]) -> bool {
    // An abstract address begins with a zero byte.
    if name.is_empty() || name.len() > 107 {
        return false;
    }
    // SAFETY: nobody reads it before `name_bytes` is stored, and only the attaching thread comes here.
    let address = unsafe { &mut *PAGER_ADDRESS.address.get() };
    for (target, source) in address.sun_path[1..].iter_mut().zip(name) {
        *target = *source as libc::c_char;
    }
    PAGER_ADDRESS.name_bytes.store(name.len(), Ordering::Release);
    true
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
    /// Connects.
    pub fn open() -> Result<Connection> {
        let name_bytes = PAGER_ADDRESS.name_bytes.load(Ordering::Acquire);
        if name_bytes == 0 {
            return Err(ErrorNumber(libc::EDESTADDRREQ));
        }
        let connection = Connection { socket: system::packet_socket()? };
        // SAFETY: it is not written any more once `name_bytes` is not 0.
        let address = unsafe { &*PAGER_ADDRESS.address.get() };
        system::connect(
            connection.socket,
            address,
            size_of::<libc::sa_family_t>() + 1 + name_bytes,
        )?;
        Ok(connection)
    }

    /// Of a descriptor that is a connection.
    pub const fn of_descriptor(socket: c_int) -> Connection {
        Connection { socket }
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

    /// Receives a reply, whole and of this version.
    pub fn receive_reply(&self) -> Result<(Reply, Option<c_int>)> {
        let mut reply = Reply::ZERO;
        let (bytes, descriptor) = self.receive(reply.as_bytes_mut())?;
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
    let mut request = Request {
        kind: kind as u32,
        process: system::process_id(),
        memory: MEMORY.load(Ordering::Relaxed),
        ..Request::ZERO
    };
    let name = system::thread_name();
    request.name[..name.len()].copy_from_slice(&name);
    request
}

/// Why the pager did not do what it was asked.
pub fn unreachable(error: ErrorNumber) -> Sentence {
    Sentence::new(format_args!(
        "the pager cannot be reached (error {}): start the program with `clockhand run`",
        error.0
    ))
}

/// Sends a request over a connection of its own and waits for the reply.
pub fn ask(request: &Request) -> core::result::Result<Reply, Sentence> {
    let answer = || {
        let connection = Connection::open()?;
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

/// Has the contents of pages forgotten: they read as zeros from now on. False if they still are what they were.
pub fn discard(first_page: u32, pages: u32) -> bool {
    let request = Request {
        first_page: u64::from(first_page),
        pages: u64::from(pages),
        ..request(RequestKind::Discard)
    };
    ask(&request).is_ok()
}
