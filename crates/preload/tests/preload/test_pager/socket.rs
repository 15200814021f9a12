//! A connected socket.

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use clockhand_pager_protocol::{Packet, Reply};

use super::check;

/// A connected socket.
pub(super) struct Socket(pub(super) OwnedFd);

impl Socket {
    pub(super) fn send(&self, packet: &[u8], descriptor: Option<RawFd>) -> io::Result<()> {
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

    pub(super) fn receive(&self, packet: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
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

    pub(super) fn reply(&self, reply: &Reply, descriptor: Option<RawFd>) -> io::Result<()> {
        self.send(reply.as_bytes(), descriptor)
    }
}
