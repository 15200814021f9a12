//! Memory of its own for the child of a program whose sandbox refuses what the pager needs: ordinary memory, with the same
//! contents at the same addresses, and not paged. The kernel gives it to the child with everything else.
//!
//! A seccomp filter may refuse sockets, a userfaultfd or `close_range` from any moment on, and applies to the child as
//! well. Then the forking thread makes the copy before the fork. Writes of other threads during the copy may be in it
//! or not.

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::address_space::{self, Mapped};
use crate::memory;
use crate::system::{self, ErrorNumber, Result};

const READ_AND_WRITE: c_int = libc::PROT_READ | libc::PROT_WRITE;

/// Set if this process has such memory; its forked children have it too.
static IN_USE: AtomicBool = AtomicBool::new(false);

/// Returns whether the memory is the process's own, and no pager has to do with it any more.
pub fn is_in_use() -> bool {
    IN_USE.load(Ordering::Acquire)
}

/// Returns whether an error is of the kind that sandboxes give, and not a lack of anything.
pub fn is_of_sandbox(error: ErrorNumber) -> bool {
    matches!(
        error.0,
        libc::EPERM
            | libc::EACCES
            | libc::ENOSYS
            | libc::EINVAL
            | libc::EAFNOSUPPORT
            | libc::EOPNOTSUPP
    )
}

/// The error with which a sandbox refuses what a forked child needs to be paged; `None` if it does not.
///
/// It needs sockets as well, which show by themselves.
pub fn refusal() -> Option<ErrorNumber> {
    let userfaultfd = system::userfaultfd().map(system::close).err();
    // There is no such descriptor, so that nothing is closed or received, and no memory, so that nothing is advised.
    let close_range = system::close_range(u32::MAX, u32::MAX, 0).err();
    // SAFETY: as above.
    let (receive, madvise) = unsafe {
        let mut message = core::mem::zeroed();
        let madvise = system::madvise(memory::start(), 0, libc::MADV_DONTFORK).err();
        (system::receive(-1, &mut message).err(), madvise)
    };
    let refusals = [userfaultfd, close_range, receive, madvise];
    refusals.into_iter().flatten().find(|&error| is_of_sandbox(error))
}

/// A copy of the paged memory at other addresses, before it is used.
#[derive(Clone, Copy)]
pub struct PrivateCopy {
    address: usize,
}

impl PrivateCopy {
    /// Copies all memory that is in use. The caller holds the memory's lock.
    pub fn make() -> Result<PrivateCopy> {
        let (start, bytes) = (memory::start(), memory::total_bytes());
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping.
        let address = unsafe { system::mmap(0, bytes, READ_AND_WRITE, flags, -1, 0) }?;
        let copy = PrivateCopy { address };
        let mut copied_to = start;
        let copied = address_space::for_each_mapped(start, start + bytes, |from, end, mapped| {
            if !mapped.is_memory_file {
                return Ok(());
            }
            copy.leave_out(copied_to, from)?;
            copied_to = end;
            copy.take(from, end, mapped)
        });
        match copied.and_then(|()| copy.leave_out(copied_to, start + bytes)) {
            Ok(()) => Ok(copy),
            Err(error) => {
                copy.give_back();
                Err(error)
            }
        }
    }

    /// The address in the copy for one of the memory.
    fn place_of(self, address: usize) -> usize {
        self.address + (address - memory::start())
    }

    /// Something else is mapped here, which the child gets as it is.
    fn leave_out(self, from: usize, end: usize) -> Result<()> {
        if from < end {
            // SAFETY: a part of the copy that nothing uses.
            unsafe { system::munmap(self.place_of(from), end - from) }?;
        }
        Ok(())
    }

    /// Copies a part of the memory that is mapped alike.
    fn take(self, from: usize, end: usize, mapped: Mapped) -> Result<()> {
        let place = self.place_of(from);
        let is_readable = mapped.protection & libc::PROT_READ != 0;
        // SAFETY: the program may only do more with its memory than before, while it is copied. The heap's lock is held, so
        // that no range comes or goes.
        unsafe {
            if !is_readable {
                system::mprotect(from, end - from, mapped.protection | libc::PROT_READ)?;
            }
            memory::for_each_used(from, end, |from, bytes| {
                memory::copy_pages(from, self.place_of(from), bytes);
            });
            if !is_readable {
                system::mprotect(from, end - from, mapped.protection)?;
            }
            if mapped.protection != READ_AND_WRITE {
                system::mprotect(place, end - from, mapped.protection)?;
            }
        }
        Ok(())
    }

    /// The parent, or a fork that begins again, does not need it.
    pub fn give_back(self) {
        // SAFETY: a mapping of ours that nothing uses. If unmapping fails, the rest is never touched.
        let _ = unsafe { system::munmap(self.address, memory::total_bytes()) };
    }

    /// Puts the copy in the place of the memory, which the child has not inherited.
    pub fn put_in_place(self) -> Result<()> {
        let (start, bytes) = (memory::start(), memory::total_bytes());
        let end = self.address + bytes;
        address_space::for_each_mapped(self.address, end, |from, end, _| {
            let flags = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as usize;
            let (bytes, to) = (end - from, start + (from - self.address));
            // SAFETY: in the child nothing is mapped where the memory was, and nothing uses the copy where it is.
            unsafe { system::call(libc::SYS_mremap, [from, bytes, bytes, flags, to, 0]) }.map(drop)
        })?;
        IN_USE.store(true, Ordering::Release);
        Ok(())
    }
}

/// Makes zeros of whole pages of memory that is the process's own: whether it could.
pub fn forget(address: usize, bytes: usize) -> bool {
    // SAFETY: the caller does not need the contents any more.
    unsafe { system::madvise(address, bytes, libc::MADV_DONTNEED) }.is_ok()
}
