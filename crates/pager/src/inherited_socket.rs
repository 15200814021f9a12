//! How programs connect to the pager: through an inherited socket without a name.
//!
//! A process that does not inherit the socket cannot reach it. The kernel tells the process and the user of each
//! connection.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use clockhand_pager_protocol::{CONNECT, Token};
use rustix::fs::fstat;
use rustix::io::{fcntl_dupfd_cloexec, retry_on_intr};
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType,
    recvmsg, socketpair,
};
use rustix::rand::{GetRandomFlags, getrandom};

/// The socket takes the first free number from here on: programs use the small ones for files of their own.
const FIRST_NUMBER: i32 = 1000;

/// A pair of sockets: programs inherit one, the pager keeps the other.
pub(crate) struct InheritedSocket {
    inner: OwnedFd,
    outer: OwnedFd,
    address: String,
}

/// A process that has connected through the socket.
pub(crate) struct Peer {
    pub(crate) connection: OwnedFd,
    /// Its process id and its effective user when it made the connection, as the kernel says.
    pub(crate) process: i32,
    pub(crate) user: u32,
}

impl InheritedSocket {
    pub(crate) fn new() -> io::Result<Self> {
        let (inner, outer) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        // If numbers this large are not allowed, any number will do.
        let outer = fcntl_dupfd_cloexec(&outer, FIRST_NUMBER).unwrap_or(outer);
        let address = format!("{}:{}", outer.as_raw_fd(), fstat(&outer)?.st_ino);
        Ok(InheritedSocket { inner, outer, address })
    }

    /// The end on which connections arrive.
    pub(crate) fn inner(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }

    /// The end that programs inherit.
    pub(crate) fn outer(&self) -> BorrowedFd<'_> {
        self.outer.as_fd()
    }

    /// How programs find their end.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The next process that has connected, without waiting.
    ///
    /// A connection for which this process has no descriptor left is closed, so that its program does not wait forever.
    pub(crate) fn peer(&self) -> io::Result<Peer> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut packet = [0];
        let mut parts = [IoSliceMut::new(&mut packet)];
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        let received =
            retry_on_intr(|| recvmsg(self.inner(), &mut parts, &mut ancillary, flags))?.bytes;
        let descriptors = ancillary.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        });
        let connection = descriptors.flatten().next();
        let Some(connection) = connection.filter(|_| received == 1 && packet == [CONNECT]) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "this is not a connection"));
        };
        let peer = socket_peercred(&connection)?;
        let (process, user) = (peer.pid.as_raw_nonzero().get(), peer.uid.as_raw());
        Ok(Peer { connection, process, user })
    }
}

/// Random bits that cannot be guessed.
///
/// # Panics
///
/// If the kernel has no random numbers, without which no connection is secure.
pub(crate) fn random_token() -> Token {
    let mut bytes = [0; size_of::<Token>()];
    let got =
        getrandom(&mut bytes, GetRandomFlags::empty()).expect("the kernel has random numbers");
    assert_eq!(got, bytes.len(), "so few random bytes come at once");
    let word = |half: &[u8]| u64::from_ne_bytes(half.try_into().expect("eight bytes"));
    [word(&bytes[..8]), word(&bytes[8..])]
}
