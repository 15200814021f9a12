//! Locks of whole files that belong to their open file descriptions: the kernel gives them up when a server dies.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// A lock of a file. It ends with this value, even if a process that is just being started still has the file.
pub struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = set(&self.0, libc::F_UNLCK);
    }
}

/// Locks a file, for others to read at most if `shared`; none if another has it.
///
/// # Errors
///
/// The file system has no locks.
pub(super) fn lock(file: &File, shared: bool) -> io::Result<Option<Lock>> {
    match set(file, if shared { libc::F_RDLCK } else { libc::F_WRLCK }) {
        Ok(()) => file.try_clone().map(|file| Some(Lock(file))),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn set(file: &File, kind: i32) -> io::Result<()> {
    // SAFETY: all of a flock's fields are numbers, for which zeros are values.
    let mut whole: libc::flock = unsafe { std::mem::zeroed() };
    whole.l_type = kind as libc::c_short;
    whole.l_whence = libc::SEEK_SET as libc::c_short;
    // SAFETY: the descriptor is open, and the kernel only reads the structure.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const whole) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
