//! How programs come to the pager: through an inherited socket without a name.
//!
//! Whoever does not inherit the door has no way to it, and the kernel says of each connection that comes through it which
//! process of which user made it.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use clockhand_pager_protocol::{KNOCK, Token};
use rustix::fs::fstat;
use rustix::io::{fcntl_dupfd_cloexec, retry_on_intr};
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType,
    recvmsg, socketpair,
};
use rustix::rand::{GetRandomFlags, getrandom};

/// From which number on the door looks for a place: programs use the small ones for files of their own.
const FIRST_NUMBER: i32 = 1000;

/// A pair of sockets: programs inherit one, the pager keeps the other.
pub(crate) struct Door {
    inner: OwnedFd,
    outer: OwnedFd,
    address: String,
}

/// A process that has come through the door.
pub(crate) struct Visitor {
    pub(crate) connection: OwnedFd,
    /// Its process id and its effective user when it made the connection, as the kernel says.
    pub(crate) process: i32,
    pub(crate) user: u32,
}

impl Door {
    pub(crate) fn new() -> io::Result<Self> {
        let (inner, outer) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        // Where so many descriptors are not allowed any number will do.
        let outer = fcntl_dupfd_cloexec(&outer, FIRST_NUMBER).unwrap_or(outer);
        let address = format!("{}:{}", outer.as_raw_fd(), fstat(&outer)?.st_ino);
        Ok(Door { inner, outer, address })
    }

    /// The end on which visitors are to be expected.
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

    /// Who has knocked, without waiting.
    ///
    /// A connection for which this process has no descriptor left is closed, so that its program does not wait for ever.
    pub(crate) fn visitor(&self) -> io::Result<Visitor> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut knock = [0];
        let mut parts = [IoSliceMut::new(&mut knock)];
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        let received =
            retry_on_intr(|| recvmsg(self.inner(), &mut parts, &mut ancillary, flags))?.bytes;
        let descriptors = ancillary.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        });
        let connection = descriptors.flatten().next();
        let Some(connection) = connection.filter(|_| received == 1 && knock == [KNOCK]) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "nobody has knocked"));
        };
        let peer = socket_peercred(&connection)?;
        let (process, user) = (peer.pid.as_raw_nonzero().get(), peer.uid.as_raw());
        Ok(Visitor { connection, process, user })
    }
}

/// Bits that nobody can guess.
///
/// # Panics
///
/// If the kernel has no random numbers, without which nothing is safe here.
pub(crate) fn random_token() -> Token {
    let mut bytes = [0; size_of::<Token>()];
    let got =
        getrandom(&mut bytes, GetRandomFlags::empty()).expect("the kernel has random numbers");
    assert_eq!(got, bytes.len(), "so few random bytes come at once");
    let word = |half: &[u8]| u64::from_ne_bytes(half.try_into().expect("eight bytes"));
    [word(&bytes[..8]), word(&bytes[8..])]
}
