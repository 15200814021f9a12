//! Unix sockets, on which the program and its pager talk.

use core::ffi::c_int;

use libc::msghdr;

use super::{ErrorNumber, Result, call, call_to_the_end, status_of};

/// A pair of Unix sockets of sequenced packets that are closed on exec.
pub fn packet_sockets() -> Result<[c_int; 2]> {
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    let mut sockets = [-1; 2];
    let pointer = sockets.as_mut_ptr() as usize;
    // SAFETY: the kernel writes two numbers.
    unsafe {
        call(libc::SYS_socketpair, [libc::AF_UNIX as usize, kind as usize, 0, pointer, 0, 0])?;
    }
    Ok(sockets)
}

/// The inode of a descriptor that is a socket.
pub fn inode_of_socket(descriptor: c_int) -> Result<u64> {
    let status = status_of(descriptor)?;
    match status.st_mode & libc::S_IFMT {
        libc::S_IFSOCK => Ok(status.st_ino),
        _ => Err(ErrorNumber(libc::ENOTSOCK)),
    }
}

/// `sendmsg`, without `SIGPIPE`.
///
/// # Safety
/// The memory that the message refers to is readable.
pub unsafe fn send(socket: c_int, message: &msghdr) -> Result<usize> {
    let pointer = &raw const *message as usize;
    let arguments = [socket as usize, pointer, libc::MSG_NOSIGNAL as usize, 0, 0, 0];
    // SAFETY: as the caller promises.
    unsafe { call_to_the_end(libc::SYS_sendmsg, arguments) }
}

/// `recvmsg`; descriptors that come are closed on exec.
///
/// # Safety
/// The memory that the message refers to is writable.
pub unsafe fn receive(socket: c_int, message: &mut msghdr) -> Result<usize> {
    let pointer = &raw mut *message as usize;
    let arguments = [socket as usize, pointer, libc::MSG_CMSG_CLOEXEC as usize, 0, 0, 0];
    // SAFETY: as the caller promises.
    unsafe { call_to_the_end(libc::SYS_recvmsg, arguments) }
}
